"""Commands of the command line, one file each: parse, read, call, write."""
