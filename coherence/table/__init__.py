"""The runs table: its columns, what it can be checked for, its faults, its files, its answers."""
