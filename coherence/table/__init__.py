"""The runs table: its columns, its validation, what it can be checked for, its files."""
