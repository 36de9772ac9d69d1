"""Batteries from the literature: scores, tables, words and figures of each, side by side."""
