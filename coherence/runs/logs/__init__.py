"""Answers that other programs elicited, as a runs table: Inspect and lm-eval.

Formats read files into `AnswerLog` records with named fields, `tool_calls` episodes of agents.
`answers` decodes what models said, `joining` compares and joins what two logs say of a sample, and
`assemble` makes the table of both, which is then read as any file is.
"""
