"""From a task or a table of questions to a runs table: planning, asking, resuming."""
