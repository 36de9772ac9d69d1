"""What fitted utilities say: decision thresholds, and what one mistake costs in terms of another.

An action is best where its utility is highest. Going up from belief 0, the best action changes at
thresholds; at a threshold with weight w, choosing the action above it wrongly costs w / (1 - w)
times what choosing it rightly gains.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from coherence.inputs import Floats
from coherence.rational.choice import ChoiceModel

THRESHOLD_COLUMNS = ("below", "above", "belief", "weight", "cost_ratio")
CURVE = np.round(np.arange(0.05, 1, 0.05), 2)  # beliefs at which the weighting is shown


def best_in_turn(utilities: Floats) -> list[int]:
    """Return the actions that are best at some weight, from the lowest weight to the highest."""
    at_low = utilities[0] - utilities[1]
    here = max(range(utilities.shape[1]), key=lambda k: (at_low[k], utilities[1, k]))
    turns, weight = [here], -1.0
    while True:
        crossings = [
            ((utilities[0, here] - utilities[0, k]) / (utilities[1, k] - utilities[1, here]), k)
            for k in range(utilities.shape[1])
            if utilities[1, k] > utilities[1, here]
        ]
        ahead = [crossing for crossing in crossings if weight < crossing[0] < 1]
        if not ahead:
            return turns
        # Where several lines cross at once, the steepest of them stays on top.
        weight, here = min(ahead, key=lambda crossing: (crossing[0], -utilities[1, crossing[1]]))
        turns.append(here)


def crossing(model: ChoiceModel, parameters: Floats, below: int, above: int) -> tuple[float, float]:
    """Return the belief and the weight at which one action overtakes another."""
    constant, slope = np.diff(model.utilities(parameters)[:, [below, above]], axis=1)[:, 0]
    if abs(slope) < 1e-12 or abs(constant / slope) > 1:
        return np.nan, np.nan
    weight = (1 - constant / slope) / 2
    shape = model.shape(parameters)

    def away(belief: float) -> float:
        columns = model.weighting.columns(np.array([belief]), shape, 0.0)
        return float((columns[0, 1] + 1) / 2 - weight)

    low, high = away(0.0), away(1.0)
    if low >= 0 or high <= 0:  # weights of 0 and 1 are kept a little inside
        return float(high <= 0), float(weight)
    return float(brentq(away, 0.0, 1.0, xtol=1e-12)), float(weight)


def threshold_table(
    model: ChoiceModel, parameters: Floats, actions: Sequence[Any]
) -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """List the thresholds between actions that are best in turn."""
    turns = best_in_turn(model.utilities(parameters))
    pairs = list(pairwise(turns))
    lines = []
    for below, above in pairs:
        belief, weight = crossing(model, parameters, below, above)
        ratio = weight / (1 - weight) if weight < 1 else np.inf
        lines.append((actions[below], actions[above], belief, weight, ratio))
    return pd.DataFrame(lines, columns=list(THRESHOLD_COLUMNS)), pairs
