"""How the answers of a unit were got, and how much probability the asked-for form had.

A belief may be drawn and read, drawn among the answers that have the form, or computed from the
distribution over them; an action may be chosen, or be the probabilities of all. `answer_mass` is
the probability of the form itself, before anything is conditioned on it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.table.schema import action_columns

STATED = "stated belief"
"""What a belief is called where the table does not tell how it was got."""


@dataclass(frozen=True)
class Answering:
    """The way of answering of one (task, model), as far as its table tells."""

    # kind of belief -> rows, in the order of the kinds; empty where the table does not tell
    kinds: Mapping[str, int]
    policies: bool = False  # whether actions are probabilities
    n_mass: int = 0  # rows whose `answer_mass` is known
    # median_mass, smallest_mass: over these rows; NaN where there are none
    median_mass: float = math.nan
    smallest_mass: float = math.nan

    @property
    def known(self) -> bool:
        """Whether the table tells anything."""
        return bool(self.kinds) or self.policies or self.n_mass > 0


def answering(unit: pd.DataFrame) -> Answering:
    """Read off how the answers of one (task, model) were got."""
    kinds: dict[str, int] = {}
    if "belief_kind" in unit.columns:
        counts = unit["belief_kind"].dropna().astype(str).value_counts()
        kinds = {name: int(counts[name]) for name in sorted(counts.index)}
    policies = any(unit[name].notna().any() for name in action_columns(unit))
    mass = np.empty(0)
    if "answer_mass" in unit.columns:
        mass = pd.to_numeric(unit["answer_mass"]).dropna().to_numpy(dtype=np.float64)
    if not mass.size:
        return Answering(kinds, policies)
    return Answering(kinds, policies, mass.size, float(np.median(mass)), float(mass.min()))
