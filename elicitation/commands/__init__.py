"""Commands that ask or train models; each module is one word of the command line."""
