"""The statistic of the residual covariance alone, of the effect that other data showed.

The test reports a hidden shift of belief where choices follow a smooth curve, and else the surest
difference in choice probability. A table that is compared with another must show the same of the
two, whatever its own choices are like.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.check import FEWEST_DRAWS, Original
from coherence.inputs import Floats
from coherence.result import CheckResult
from coherence.statistics.choices import ChoiceData, as_choices
from coherence.statistics.covariance_sums import (
    component_estimates,
    pair_components,
    sum_components,
)
from coherence.statistics.hidden_shift import hidden_shift
from coherence.statistics.residuals import residuals, separated


def shows_largest(result: CheckResult) -> bool:
    """Tell whether a result shows the surest of several differences, and no hidden shift."""
    return "component" in result.settings


def residual_covariance_effect(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    original: Original,
    rng: np.random.Generator,
    *,
    name: str,
    context: ArrayLike | None = None,
    positive: Any = None,
    of_means: bool = False,
) -> dict[str, float]:
    """Return the hidden shift, or the size of the surest difference in choice probability.

    Parameters
    ----------
    belief, action, truth, context, positive
        As for `coherence.checks.covariance.residual_covariance_test`.
    original : Original
        Its result decides which of the two it is.
    rng : Generator
        Source of the signs; folds are dealt by what contexts hold.
    name : str
        Name of the result.
    of_means : bool
        Whether a context becomes one row, with its mean belief and the shares of its actions.

    Returns
    -------
    dict
        By `name`; NaN where the effect is not identified, nothing where the original has no such
        result.
    """
    if name not in original.results:
        # A twin's reports may scatter enough for the test on context means, and the data's not.
        return {}
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    if of_means:
        averaged = means_of_contexts(data, belief, truth)
        data = as_choices(*averaged, None, positive=positive, oriented=True)
    surest = shows_largest(original.results[name])
    return {name: _effect(data, surest, rng)}


def _effect(data: ChoiceData, surest: bool, rng: np.random.Generator) -> float:
    if data.degenerate or separated(data):
        return math.nan
    remains, chooser = residuals(data)
    if not remains.action.any():
        return 0.0
    if not surest:
        if chooser is None or len(data.states) != 2:
            return math.nan
        return hidden_shift(data, remains, chooser, ends=False).estimate
    components = pair_components(data, remains)
    sums = sum_components(components, data, remains, FEWEST_DRAWS, rng)
    if not sums.draws.size:
        return math.nan
    table = component_estimates(sums, np.full(len(components), 1 / len(components)))
    return abs(float(table["estimate"][int(np.argmin(table["pvalue_single"]))]))


def means_of_contexts(
    data: ChoiceData, belief: ArrayLike, truth: ArrayLike
) -> tuple[Floats, pd.DataFrame, np.ndarray]:
    """Average beliefs and choices over the repetitions of each context.

    Parameters
    ----------
    data : ChoiceData
        Validated data.
    belief, truth : array-like
        What they were validated from.

    Returns
    -------
    belief : ndarray, shape (n_contexts,) or (n_contexts, n_states)
        Mean beliefs.
    action : DataFrame
        Shares of the actions.
    truth : ndarray, shape (n_contexts,)
        Labels.
    """
    sizes = np.bincount(data.context)

    def means(values: Floats) -> Floats:
        columns = values.reshape(data.n_rows, -1).T
        sums = [np.bincount(data.context, weights=column) for column in columns]
        return np.column_stack(sums) / sizes[:, None]

    first = np.unique(data.context, return_index=True)[1]
    beliefs = means(np.asarray(belief, dtype=np.float64))
    shares = pd.DataFrame(means(data.share), columns=list(data.actions))
    shares /= shares.to_numpy().sum(axis=1, keepdims=True)  # sums of thirds miss 1 by rounding
    plain = beliefs[:, 0] if beliefs.shape[1] == 1 else beliefs
    return plain, shares, np.asarray(truth)[first]
