"""What an empty action means: an answer that could not be read, unless its row says otherwise.

Under the reference prompt an empty cell beside others that are filled is an answer that is missing,
and widens the bounds. Only a row's own status can say that no action was asked for: a readable one,
beside a belief and no action. A program that writes statuses for a table that had none must not
turn the one into the other.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coherence.table.audit import asked_for_action
from coherence.table.prompts import REFERENCE, reference_prompt
from coherence.table.schema import READABLE, has_action


def with_empty_actions(runs: pd.DataFrame, told: Sequence[bool]) -> pd.DataFrame:
    """Give rows with an empty action the status of an answer that could not be read."""
    table = runs.reset_index(drop=True)
    if "z_state" not in table.columns:
        table = table.assign(z_state=None)
    prompt = table["prompt"] if "prompt" in table.columns else pd.Series(None, index=table.index)
    table = table.assign(prompt=prompt.astype(object).where(prompt.notna(), REFERENCE).astype(str))
    names = [name for name in ("task", "model") if name in table.columns]
    units = table.groupby(names, dropna=False, sort=False) if names else None
    unit_of = np.zeros(len(table)) if units is None else units.ngroup()
    missing = np.zeros(len(table), dtype=bool)
    for number in np.unique(unit_of):
        rows = np.flatnonzero(unit_of == number)
        unit = table.iloc[rows].drop(columns="status")
        asked = asked_for_action(unit, reference_prompt(unit))
        missing[rows] = asked & ~has_action(unit)
    readable = table["status"].isin(READABLE).to_numpy()
    changed = missing & readable & ~np.asarray(told, dtype=bool)
    status = table["status"].mask(changed, "unparsed")
    return runs.assign(status=status.to_numpy()).astype({"status": runs["status"].dtype})
