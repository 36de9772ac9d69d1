"""Probabilities a hair outside [0, 1] by rounding, such as 1.0000000002: they count as 0 or 1.

More than `PROBABILITY_TOLERANCE` is no rounding error, and the validator refuses it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from coherence.table.schema import (
    PROBABILITIES,
    PROBABILITY_TOLERANCE,
    action_columns,
    state_columns,
)


def within_bounds(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Move probabilities a hair outside [0, 1] to its ends."""
    moved, notes = {}, []
    known = [name for name in PROBABILITIES if name in runs.columns]
    for name in (*known, *state_columns(runs), *action_columns(runs)):
        numbers = pd.to_numeric(runs[name], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        away = np.maximum(-numbers, numbers - 1)
        outside = (away > 0) & (away <= PROBABILITY_TOLERANCE)
        if outside.any():
            moved[name] = runs[name].mask(outside, (numbers > 0.5).astype(float))
            notes.append(_note(name, away[outside]))
    return (runs.assign(**moved) if moved else runs), notes


def _note(name: str, away: Sequence[float] | np.ndarray) -> str:
    count, verb = ("1 value", "lies") if len(away) == 1 else (f"{len(away)} values", "lie")
    counts = "counts" if len(away) == 1 else "count"
    return (
        f"{count} of {name!r} {verb} outside [0, 1] by at most {max(away):.1g}, a rounding error, "
        f"and {counts} as 0 or 1."
    )
