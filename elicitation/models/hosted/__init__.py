"""Models behind services and servers, asked through Inspect."""
