"""Which numbers are probabilities: what rounding may put them off, and what looks like percent."""

from typing import Any

ROUNDING = 1e-6
"""What rounding may put a probability outside [0, 1], and a sum of computed ones off 1."""
STATED_SUM = 0.02
"""By how much stated beliefs over several states, usually of two digits, may miss a sum of 1."""


def are_percentages(values: Any) -> bool:
    """Tell whether numbers of an array look like percentages: up to 100, and most above 1."""
    known = values[values == values]
    if not known.size or known.min() < 0 or not 10 <= known.max() <= 100:
        return False
    return bool((known[known > 0] > 1).mean() > 1 / 2)  # 0 is the same in both
