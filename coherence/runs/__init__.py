"""The runs table: its columns, what reads, checks and writes it, and logs of other programs."""
