"""Our questions as tasks of Inspect (`tasks`), and its logs as our tables (`logs`)."""
