"""Signs of reports in ASCII, for terminals and files that have no others."""

PLAIN = str.maketrans(
    {
        **dict.fromkeys("─–—−·", "-"),
        **dict.fromkeys("│┃", "|"),
        **dict.fromkeys("●○•", "*"),
        **dict.fromkeys("“”", '"'),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("\u00a0\u202f", " "),
        **{"…": "~", "×": "x", "→": ">", "≤": "<=", "≥": ">=", "±": "+-"},
    }
)
"""Nearly all of the same width, so that columns stay below each other."""
