"""A finished analysis and its faces: terminal text, HTML, JSON, tables and figures."""

MOST_CONTEXTS = 1000
"""Cases of an evaluation whose answers are written, unless something else is asked for."""
