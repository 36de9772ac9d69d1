"""Belief sufficiency by nearest-neighbour conditional mutual information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action (belief-sufficiency proposition for
random-utility agents). The estimate is Mesner and Shalizi's; the null distribution comes from exchanging the realised states of whole
contexts with similar belief, so that repetitions of a context stay together.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.information import binned_information, information_bins
from coherence.inputs import ChoiceData, Codes, Floats, as_choices, one_dimensional, require, whole_number
from coherence.knn import as_levels, conditional_information, digamma_table
from coherence.monotone import belief_bins
from coherence.resample import (
    Seed,
    as_generator,
    context_blocks,
    context_means,
    percentile_interval,
    permutation_pvalue,
    permute_contexts,
)
from coherence.result import CheckResult, Interval

NULL = "action and truth are independent given belief: I(action; truth | belief) = 0"
UNIT = "nats"
TEST_SHARE = 0.15  # neighbours of the test statistic, as a share of the rows


def neighbours_for_test(n_rows: int, k: int) -> int:
    """Return the number of neighbours of the test statistic.

    Three neighbours estimate with little bias but with so much variance that a test has hardly any power. A permutation test keeps its
    level whatever the statistic, so the test uses a fixed share of the rows, chosen before the data are seen.

    Parameters
    ----------
    n_rows : int
        Rows of the unit.
    k : int
        Neighbours of the estimate, the smallest number used.

    Returns
    -------
    int
        ``max(k, round(.15 * n_rows))``.

    Examples
    --------
    >>> neighbours_for_test(1000, 3)
    150
    """
    return max(k, round(TEST_SHARE * n_rows))


def _sorted_by_belief(belief: Floats) -> tuple[Codes, Codes]:
    levels = as_levels(belief)
    order = np.argsort(levels, kind="stable")
    return order, levels[order]


def _estimate(belief: Floats, action: Codes, truth: Codes, k: int) -> float:
    order, levels = _sorted_by_belief(belief)
    return conditional_information(levels, action[order], truth[order], k)


def _undefined(data: ChoiceData, reason: str, settings: dict[str, object]) -> CheckResult:
    return CheckResult("cmi", NULL, math.nan, UNIT, None, math.nan, data.n_rows, data.n_contexts, settings=settings, reason=reason)


def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    k: int = 3,
    n_permutations: int = 999,
    published: bool = False,
    n_bootstraps: int = 500,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions carry information about the truth that the stated belief does not.

    Null: given the belief, action and truth are independent.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, 2)
        Stated probability of the second state, in [0, 1].
    action : array-like, shape (n,)
        Labels.
    truth : array-like, shape (n,)
        Realised state, two or more labels, constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    k : int
        Neighbours of the estimate.
    n_permutations : int
        Random exchanges of contexts.
    published : bool
        The published procedure instead: the raw estimate and a percentile interval over resampled rows, read as a rejection when it
        lies above 0. Its error rate is not controlled (rows of a context are treated as independent, and duplicated rows bias the
        estimate upwards).
    n_bootstraps : int
        Row resamples of the published interval.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the information in nats, estimated in belief bins with its bias removed by the jackknife over contexts, which also
        gives the interval (see `coherence.information`). `details` holds it beside the nearest-neighbour estimate, the mean of that
        estimate over the permutations, their difference (excess information), and the statistic of the test. With ``published=True``
        the statistic is the raw nearest-neighbour estimate and there is no p-value.

    Raises
    ------
    InputError
        An array breaks its rule, beliefs over more than two states, `k` not below the number of rows.

    Notes
    -----
    Assumes that contexts are independent and that, among contexts with similar belief, the truth is exchangeable under the null. The
    p-value uses more neighbours than the estimate; see `neighbours_for_test`. Ties in belief are exact to 1e-9. Beliefs that vary
    within a context are compared by their context mean when contexts are exchanged.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1; Runge (2018) for local permutation; Phipson and Smyth (2010) for the p-value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> belief = rng.integers(0, 21, 400) / 20
    >>> truth = rng.random(400) < belief
    >>> told = cmi_test(belief, rng.random(400) < belief, truth, rng=1)
    >>> hidden = cmi_test(belief, rng.random(400) < 0.5 * belief + 0.5 * truth, truth, rng=1)
    >>> told.pvalue > 0.05, hidden.pvalue
    (True, 0.001)
    """
    data = as_choices(belief, action, truth, context)
    k = whole_number(k, "k", 1)
    n_permutations = whole_number(n_permutations, "n_permutations", 1)
    n_bootstraps = whole_number(n_bootstraps, "n_bootstraps", 2)
    require(k < data.n_rows, f"k must be below the number of rows; received k={k} for {data.n_rows} rows. Use fewer neighbours.")
    values = one_dimensional(data, "cmi_test")
    generator = as_generator(rng)
    settings: dict[str, object] = {"k": k, "published": published}
    if data.degenerate:
        return _undefined(data, data.degenerate, settings)
    if published:
        return _published(data, values, k, n_bootstraps, generator, settings)

    k_test = min(neighbours_for_test(data.n_rows, k), data.n_rows - 1)
    settings |= {"k_test": k_test, "n_permutations": n_permutations}
    blocks = context_blocks(context_means(values, data.context, data.n_contexts))
    movable = int((np.bincount(blocks)[blocks] > 1).sum())
    if movable < data.n_contexts / 2:
        return _undefined(data, f"only {movable} of {data.n_contexts} contexts have a neighbour of similar belief to be exchanged with", settings)

    order, levels = _sorted_by_belief(values)
    sorted_action, sorted_context = data.action[order], data.context[order]
    psi = digamma_table(data.n_rows)
    state_of_context = np.zeros(data.n_contexts, dtype=np.int64)
    state_of_context[data.context] = data.truth
    permuted = np.empty((n_permutations, 2))
    for draw, source in enumerate(permute_contexts(blocks, n_permutations, generator)):
        moved = state_of_context[source][sorted_context]
        permuted[draw] = [conditional_information(levels, sorted_action, moved, neighbours, psi) for neighbours in (k, k_test)]
    observed = [conditional_information(levels, sorted_action, data.truth[order], neighbours, psi) for neighbours in (k, k_test)]
    bias = float(permuted[:, 0].mean())

    bins = belief_bins(context_means(values, data.context, data.n_contexts), information_bins(data.n_contexts))
    information = binned_information(bins, data.context, data.action, data.truth)
    half = float(stats.t.ppf(0.975, data.n_contexts - 1)) * information.standard_error
    details = pd.DataFrame(
        [
            ("information, jackknifed in belief bins", math.nan, information.corrected),
            ("plug-in information in belief bins", math.nan, information.plug_in),
            ("nearest-neighbour estimate", k, observed[0]),
            ("mean of permuted estimates", k, bias),
            ("excess information", k, observed[0] - bias),
            ("statistic of the test", k_test, observed[1]),
            ("mean of permuted statistics", k_test, float(permuted[:, 1].mean())),
        ],
        columns=["quantity", "neighbours", "nats"],
    )
    return CheckResult(
        check="cmi",
        null=NULL,
        statistic=information.corrected,
        unit=UNIT,
        interval=Interval(information.corrected - half, information.corrected + half, 0.95, "jackknife over contexts"),
        pvalue=permutation_pvalue(observed[1], permuted[:, 1]),
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings | {"n_blocks": int(blocks.max()) + 1, "n_bins": information.n_bins},
        details=details,
        assumptions=("contexts are independent", "among contexts of similar belief the truth is exchangeable under the null"),
    )


def _published(data: ChoiceData, values: Floats, k: int, n_bootstraps: int, rng: np.random.Generator, settings: dict[str, object]) -> CheckResult:
    estimate = _estimate(values, data.action, data.truth, k)
    draws = np.empty(n_bootstraps)
    for draw in range(n_bootstraps):
        rows = rng.integers(data.n_rows, size=data.n_rows)
        action = np.unique(data.action[rows], return_inverse=True)[1]
        truth = np.unique(data.truth[rows], return_inverse=True)[1]
        draws[draw] = _estimate(values[rows], action, truth, k)
    low, high = percentile_interval(draws)
    return CheckResult(
        check="cmi",
        null=NULL,
        statistic=estimate,
        unit=UNIT,
        interval=Interval(low, high, 0.95, f"percentile bootstrap over rows, {n_bootstraps} resamples"),
        pvalue=None,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings | {"n_bootstraps": n_bootstraps},
        details=pd.DataFrame({"quantity": ["estimate"], "neighbours": [k], "nats": [estimate]}),
        assumptions=("rows are independent", "duplicated rows do not bias the estimate (they do)"),
    )
