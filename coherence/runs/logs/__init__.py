"""Answers that other programs elicited, as a runs table: logs of Inspect and of lm-eval."""
