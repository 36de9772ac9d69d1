"""Exact posteriors of many rows at once."""
