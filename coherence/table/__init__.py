"""The runs table: its columns, what each check needs of it, its faults, its files, and the count of its answers."""
