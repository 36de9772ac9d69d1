"""Answers that other programs elicited, as a runs table: Inspect logs, lm-eval samples, folktexts predictions, plain tables.

`formats` reads files into `AnswerLog` records with named fields, `roles` decides which task asked
for beliefs and which for actions, `assemble` maps fields to columns and joins the two. How free
text is read is the caller's: `assemble` takes functions, so that nothing here asks a model's
question.
"""
