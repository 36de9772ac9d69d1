"""The "failure to mix" battery: whether a model draws at the rates it is asked for.

`score_mixing` scores a table of answers, whoever gave them; the questions are in
``elicitation.batteries.mixing``. What is measured and what is corrected: ``docs/batteries.md``.
"""
