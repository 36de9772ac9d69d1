"""Networks in and out of files and of pgmpy."""
