"""From a task to a runs table: questions, prompts, plan, and the one place that asks what the store lacks."""
