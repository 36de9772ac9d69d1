"""Studies: how large to make them, and what to make of several models together."""
