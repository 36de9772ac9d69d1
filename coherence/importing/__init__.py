"""Answers that other programs elicited, as a runs table: Inspect, lm-eval, folktexts, plain tables.

`formats` reads files into `AnswerLog` records with named fields. `tasks` tells the logs of beliefs
from those of actions, `mapping` says which field becomes which column, `pairing` puts the actions
beside the beliefs, and `typed_table` makes the table; `assemble` calls them in turn. How free text
is read is the caller's, who knows what was asked: `assemble` takes functions.
"""
