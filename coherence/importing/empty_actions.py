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
from coherence.table.runs import Runs
from coherence.table.schema import READABLE


def with_empty_actions(runs: pd.DataFrame, told: Sequence[bool]) -> pd.DataFrame:
    """Give rows with an empty action the status of an answer that could not be read."""
    # What is judged is the table as it would be without statuses, each task and model by itself.
    completed = Runs(runs.drop(columns="status")).completed()
    missing = pd.Series(False, index=completed.table.index)
    for _, unit in completed.units():
        asked = asked_for_action(unit, unit.reference())
        missing[unit.table.index] = asked & ~unit.acted
    changed = missing.to_numpy() & runs["status"].isin(READABLE) & ~np.asarray(told, dtype=bool)
    return runs.assign(status=runs["status"].mask(changed, "unparsed").astype(runs["status"].dtype))
