"""A finished analysis and its faces: terminal text, HTML, JSON, tables and figures."""
