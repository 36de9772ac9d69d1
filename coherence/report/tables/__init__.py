"""Tables and figures for documents: cells with footnotes, as Markdown, LaTeX and CSV."""
