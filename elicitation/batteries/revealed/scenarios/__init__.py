"""Little chance experiments told as unfinished texts, a module for each scenario."""
