"""Answers that other programs elicited, as a runs table: Inspect and lm-eval.

`log_format` reads files into `AnswerLog` records with named fields, `tool_calls` the episodes of
agents. `mapping` tells the logs of beliefs from those of actions and says which field becomes which
column; `cells` reads the answers, `assemble` puts the actions beside the beliefs, and `typed_table`
makes the table.
"""
