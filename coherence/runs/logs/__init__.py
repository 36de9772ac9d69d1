"""Answers that other programs elicited, as a runs table: Inspect and lm-eval.

Formats read files into `AnswerLog` records with named fields, `tool_calls` episodes of agents.
`answers` decodes what models said, and `assemble` joins what two logs say of a sample to one table,
which is then read as any file is.
"""
