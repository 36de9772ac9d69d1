"""Models behind OpenAI-compatible servers."""
