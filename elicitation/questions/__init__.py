"""What is asked: prompts, tasks, tables of questions, and the plan of a session."""
