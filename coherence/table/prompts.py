"""The reference prompt: the wording under which beliefs are held against anything else.

Beliefs under other wordings are compared with those under this one. Which it is must not depend on
the order of rows.
"""

import pandas as pd

from coherence.errors import InputError, closest
from coherence.table.schema import has_action

REFERENCE = "standard"
"""The usual wording; an empty cell in the column ``prompt`` stands for it."""


def reference_prompt(
    runs: pd.DataFrame, named: str | None = None, *, where: str = "the table"
) -> str:
    """Find the reference prompt of some rows; the user's wish comes first.

    "standard" where it was asked. Else the prompt with the most actions, for their beliefs are what
    actions are held against; of several, the one with the most rows; of those the first by name.
    """
    plain = runs[runs["z_state"].isna()] if "z_state" in runs.columns else runs
    if "prompt" in plain.columns:
        prompt = plain["prompt"].astype(object).where(plain["prompt"].notna(), REFERENCE)
    else:
        prompt = pd.Series(REFERENCE, index=plain.index, dtype=object)
    prompt = prompt.astype(str)
    seen = sorted(prompt.unique())
    if not seen:  # beliefs given z alone, which are held against nothing
        return REFERENCE if named is None else str(named)
    if named is not None:
        if str(named) not in seen:
            raise InputError(
                f"reference must be a prompt of {where}; received {named!r}. {closest(named, seen)}"
            )
        return str(named)
    if REFERENCE in seen:
        return REFERENCE
    answered = has_action(plain)
    if "raw_action" in plain.columns:  # what could not be read was asked for all the same
        answered |= plain["raw_action"].notna()
    actions, rows = answered.groupby(prompt).sum(), prompt.value_counts()
    by_use = sorted((-int(actions[name]), -int(rows[name]), str(name)) for name in seen)
    return by_use[0][-1]


def under_prompt(runs: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """Return the rows that were asked under a prompt, those given z left out."""
    plain = runs[runs["z_state"].isna()] if "z_state" in runs.columns else runs
    if "prompt" not in plain.columns:
        return plain if prompt == REFERENCE else plain.iloc[:0]
    named = plain["prompt"].astype(object).where(plain["prompt"].notna(), REFERENCE)
    return plain[named.astype(str) == prompt]
