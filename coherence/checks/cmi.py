"""Belief sufficiency by nearest-neighbour conditional mutual information, I(action; truth | belief).

If the stated belief is the belief acted on, the realised state tells nothing more about the action
(belief-sufficiency proposition for random-utility agents). The estimate is Mesner and Shalizi's;
the null distribution comes from exchanging the realised states of whole contexts with similar
belief, so that repetitions of a context stay together.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import (
    ChoiceData,
    Codes,
    Floats,
    as_choices,
    one_dimensional,
    require,
    whole_number,
)
from coherence.result import EXACT_REPORT, CheckResult, Interval
from coherence.statistics.bins import belief_bins
from coherence.statistics.cmi_statistics import (
    TABLE_ROWS,
    Statistic,
    binned_statistic,
    calibrated,
    calibrated_statistic,
    general_statistic,
    one_dimensional_statistic,
    sorted_information,
)
from coherence.statistics.conditioning import Conditioning, condition
from coherence.statistics.grouping import vector_bins
from coherence.statistics.information import binned_information, information_bins
from coherence.statistics.knn_general import general_information
from coherence.statistics.resample import (
    Seed,
    as_generator,
    context_blocks,
    context_means,
    count_arrangements,
    percentile_interval,
    permutation_pvalue,
    permute_contexts,
)

NULL = "action and truth are independent given belief: I(action; truth | belief) = 0"
NULL_GIVEN_FEATURES = "action and truth are independent given belief and features: I(action; truth | belief, features) = 0"
UNIT = "nats"
TEST_SHARE = 0.15  # neighbours of the test statistic, as a share of the rows
# the same given several columns, as a share of the mean number of rows with one action and one
# truth
CELL_SHARE = 0.6
# rows, over all arrangements, of nearest-neighbour estimates that each need their own search
SEARCHED_ROWS = 200_000
# arrangements for which the nearest-neighbour estimate is computed beside the statistic of the test
PERMUTED_ESTIMATES = 199
# exchanges that give the information in bins its spread, and in bins of several columns its centre
CENTRED = 50


def neighbours_for_test(n_rows: int, k: int) -> int:
    """Return the number of neighbours of the test statistic.

    Three neighbours estimate with little bias but with so much variance that a test has hardly any
    power. A permutation test keeps its level whatever the statistic, so the test uses a fixed share
    of the rows, chosen before the data are seen.

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


def neighbours_for_general_test(n_rows: int, n_cells: int, k: int) -> int:
    """Return the number of neighbours of the test statistic given several columns.

    In several dimensions a neighbourhood widens faster, and more actions and truths leave fewer
    rows that share both.

    Parameters
    ----------
    n_rows : int
        Rows of the unit.
    n_cells : int
        Actions times truths.
    k : int
        Neighbours of the estimate, the smallest number used.

    Returns
    -------
    int
        ``max(k, round(.6 * n_rows / n_cells))``.

    Examples
    --------
    >>> neighbours_for_general_test(1000, 9, 3)
    67
    """
    return max(k, round(CELL_SHARE * n_rows / n_cells))


@dataclass(frozen=True)
class _Problem:
    """Validated data, what is conditioned on, and how beliefs are treated."""

    data: ChoiceData
    given: Conditioning
    belief: Floats | None  # one number per row where that is all that is conditioned on
    isotonic: bool
    null: str

    def estimate(self, rows: Codes, k: int) -> float:
        """Nearest-neighbour estimate from some rows, repeats allowed."""
        action, truth = (
            np.unique(codes[rows], return_inverse=True)[1]
            for codes in (self.data.action, self.data.truth)
        )
        if self.belief is None:
            return general_information(
                self.given.continuous[rows], self.given.stratum[rows], action, truth, k
            )
        belief = (
            calibrated(self.belief[rows], self.data.truth[rows])
            if self.isotonic
            else self.belief[rows]
        )
        return sorted_information(belief, action, truth, k)

    @property
    def summary(self) -> Floats:
        """Row by which contexts are compared: their mean belief, or their means of all columns."""
        if self.belief is None:
            return self.given.summary
        return context_means(self.belief, self.data.context, self.data.n_contexts)

    def bins(self) -> Codes:
        """Bin of each context."""
        wanted = information_bins(self.data.n_contexts)
        return (
            vector_bins(self.summary, wanted)
            if self.belief is None
            else belief_bins(self.summary, wanted)
        )

    def undefined(self, reason: str, settings: dict[str, object]) -> CheckResult:
        """Result without numbers."""
        counted = (self.data.n_rows, self.data.n_contexts)
        return CheckResult(
            "cmi",
            self.null,
            math.nan,
            UNIT,
            None,
            math.nan,
            *counted,
            settings=settings,
            reason=reason,
        )


def _problem(
    data: ChoiceData, condition_on: ArrayLike | pd.DataFrame | None, isotonic: bool
) -> _Problem:
    several = data.belief.ndim == 2 and data.belief.shape[1] > 2
    belief = None if several or condition_on is not None else one_dimensional(data, "cmi_test")
    if isotonic:
        require(
            belief is not None and len(data.states) <= 2,
            "isotonic=True calibrates the belief in one of two states; received more states or features to condition on. Leave it out.",
        )
    columns = data.belief if several else one_dimensional(data, "cmi_test")
    given = condition(columns, condition_on, data.context, data.n_contexts)
    return _Problem(
        data, given, belief, isotonic, NULL if condition_on is None else NULL_GIVEN_FEATURES
    )


def _statistic(problem: _Problem, bins: Codes, k: int) -> tuple[Statistic, dict[str, object]]:
    """Choose the statistic by what is conditioned on and by the number of rows, and say which."""
    data = problem.data
    if problem.belief is not None:
        k_test = min(neighbours_for_test(data.n_rows, k), data.n_rows - 1)
        build = calibrated_statistic if problem.isotonic else one_dimensional_statistic
        return build(problem.belief, data.action, k, k_test), {"k_test": k_test}
    if data.n_rows <= TABLE_ROWS:
        k_test = min(
            neighbours_for_general_test(data.n_rows, len(data.actions) * len(data.states), k),
            data.n_rows - 1,
        )
        return general_statistic(problem.given, data.action, k, k_test), {"k_test": k_test}
    return binned_statistic(problem.given, bins[data.context], data.action, k), {"k_test": "binned"}


def cmi_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    condition_on: ArrayLike | pd.DataFrame | None = None,
    isotonic: bool = False,
    k: int = 3,
    n_permutations: int = 999,
    published: bool = False,
    n_bootstraps: int = 500,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions carry information about the truth that the stated belief does not.

    Null: given the belief (and the features, if any are named), action and truth are independent.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the second state, in [0, 1], or of every state.
    action : array-like, shape (n,)
        Labels.
    truth : array-like, shape (n,)
        Realised state, two or more labels, constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    condition_on : DataFrame or array-like, shape (n,) or (n, n_features), optional
        Features of the evidence, for I(action; truth | belief, features). Numbers are scaled to a
        spread like that of beliefs; booleans, text and categories are labels. Contexts are then
        exchanged only with contexts of similar belief and features.
    isotonic : bool
        Replace the belief by its isotonic calibration, fitted anew in every permutation and
        resample. Two states and no features only.
    k : int
        Neighbours of the estimate.
    n_permutations : int
        Random exchanges of contexts. If the truths have no more arrangements than that, all of them
        are listed and the p-value is exact.
    published : bool
        The published procedure instead: the raw estimate and a percentile interval over resampled
        rows, read as a rejection when it lies above 0. Its error rate is not controlled (rows of a
        context are treated as independent, and duplicated rows bias the estimate upwards).
    n_bootstraps : int
        Row resamples of the published interval.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the information in nats, estimated in belief bins with its bias removed by
        the jackknife over contexts, which also gives the interval (see
        `coherence.statistics.information`). Given several columns, whose bins are wide, what it
        averages over permutations is subtracted; that leans towards 0, because contexts are
        exchanged among few. `details` holds it beside the nearest-neighbour estimate, the mean of
        that estimate over the permutations, their difference (excess information), and the
        statistic of the test. With ``published=True`` the statistic is the raw nearest-neighbour
        estimate and there is no p-value. NaN with a reason if fewer than half of the contexts have
        a neighbour to be exchanged with, or if exchanges change nothing.

    Raises
    ------
    InputError
        An array breaks its rule, `isotonic` with more than two states or with features, `k` not
        below the number of rows.

    Notes
    -----
    Assumes that contexts are independent and that, among contexts with similar belief, the truth is
    exchangeable under the null. The p-value uses more neighbours than the estimate; see
    `neighbours_for_test` and, given several columns, `neighbours_for_general_test`. Above 2,000
    rows, the test given several columns uses the plug-in information in bins, and the permuted
    nearest-neighbour estimates are averaged over the first 2 to 19 permutations. Ties in belief are
    exact to 1e-9. Beliefs and features that vary within a context are compared by their context
    mean when contexts are exchanged, within a tenth of the range of a belief (.4 standard
    deviations of a numeric feature). The information in bins is the same with and without
    `isotonic`: quantile bins of the belief are kept by an increasing calibration.

    References
    ----------
    Mesner and Shalizi (2021), algorithm 1; Runge (2018) for local permutation; Phipson and Smyth
    (2010) for the p-value.

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
    problem = _problem(data, condition_on, isotonic)
    generator = as_generator(rng)
    settings: dict[str, object] = {"k": k, "published": published}
    if isotonic:
        settings["isotonic"] = True
    if condition_on is not None:
        settings |= {
            "numeric_features": problem.given.numeric,
            "discrete_features": problem.given.discrete,
        }
    if data.degenerate:
        return problem.undefined(data.degenerate, settings)
    require(
        k < data.n_rows,
        f"k must be below the number of rows; received k={k} for {data.n_rows} rows. Use fewer neighbours.",
    )
    if published:
        return _published(problem, k, n_bootstraps, generator, settings)
    return _permuted(problem, k, n_permutations, generator, settings)


def _permuted(
    problem: _Problem,
    k: int,
    n_permutations: int,
    rng: np.random.Generator,
    settings: dict[str, object],
) -> CheckResult:
    data = problem.data
    blocks = context_blocks(problem.summary)
    similar = "belief" if problem.null == NULL else "belief and features"
    movable = int((np.bincount(blocks)[blocks] > 1).sum())
    if movable < data.n_contexts / 2:
        return problem.undefined(
            f"only {movable} of {data.n_contexts} contexts have a neighbour of similar {similar} to be exchanged with",
            settings | {"k_test": None},
        )
    state_of_context = np.zeros(data.n_contexts, dtype=np.int64)
    state_of_context[data.context] = data.truth
    n_arrangements = count_arrangements(blocks, state_of_context, n_permutations)
    if n_arrangements == 1:
        return problem.undefined(
            f"contexts of similar {similar} all share their truth: exchanging them changes nothing",
            settings,
        )
    exact = n_arrangements <= n_permutations

    bins = problem.bins()
    statistic, chosen = _statistic(problem, bins, k)
    settings = settings | chosen | {"n_permutations": n_permutations, "exact": exact}
    observed = statistic(data.truth, True)
    sources = permute_contexts(blocks, n_permutations, rng, state=state_of_context)
    # The mean of the permuted estimates settles long before a p-value does; searching several
    # columns of many rows is dear.
    n_estimates = (
        PERMUTED_ESTIMATES
        if chosen["k_test"] != "binned"
        else int(np.clip(SEARCHED_ROWS // data.n_rows, 2, 20))
    )
    permuted = np.array(
        [
            statistic(state_of_context[source][data.context], number < n_estimates)
            for number, source in enumerate(sources)
        ]
    )
    bias = float(np.nanmean(permuted[:, 0]))

    information = binned_information(bins, data.context, data.action, data.truth)
    effect = information.corrected
    within: list[tuple[str, float, float]] = []
    if problem.belief is None:
        # Bins of several columns are wide, and belief moves both action and truth within them;
        # exchanges between neighbours keep that.
        moved = (
            state_of_context[source][data.context]
            for source in sources[rng.permutation(len(sources))[:CENTRED]]
        )
        centre = float(
            np.mean(
                [
                    binned_information(bins, data.context, data.action, truth).corrected
                    for truth in moved
                ]
            )
        )
        effect -= centre
        within = [
            ("mean of permuted information in bins", math.nan, centre),
            ("centred information in bins", math.nan, effect),
        ]
    half = float(stats.t.ppf(0.975, data.n_contexts - 1)) * max(
        information.standard_error, _spread_under_null(data, bins, state_of_context, sources)
    )
    k_test = chosen["k_test"] if isinstance(chosen["k_test"], int) else math.nan
    details = pd.DataFrame(
        [
            ("information, jackknifed in belief bins", math.nan, information.corrected),
            ("plug-in information in belief bins", math.nan, information.plug_in),
            ("nearest-neighbour estimate", k, observed[0]),
            ("mean of permuted estimates", k, bias),
            ("excess information", k, observed[0] - bias),
            ("statistic of the test", k_test, observed[1]),
            ("mean of permuted statistics", k_test, float(permuted[:, 1].mean())),
            *within,
        ],
        columns=["quantity", "neighbours", "nats"],
    )
    return CheckResult(
        check="cmi",
        null=problem.null,
        statistic=effect,
        unit=UNIT,
        interval=Interval(
            effect - half,
            effect + half,
            0.95,
            "jackknife over contexts, not below the spread under exchange",
        ),
        pvalue=permutation_pvalue(observed[1], permuted[:, 1], exact=exact),
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings=settings | {"n_blocks": int(blocks.max()) + 1, "n_bins": information.n_bins},
        details=details,
        assumptions=(
            "contexts are independent",
            EXACT_REPORT,
            f"among contexts of similar {similar} the truth is exchangeable under the null",
        ),
    )


def _spread_under_null(
    data: ChoiceData, bins: Codes, state_of_context: Codes, sources: Codes
) -> float:
    """Standard deviation of the information in bins over some of the exchanges.

    Near independence the information is a square of small numbers, of which leaving out single
    contexts shows too little.
    """
    some = np.unique(np.linspace(0, len(sources) - 1, CENTRED).astype(np.int64))
    moved = (state_of_context[sources[number]][data.context] for number in some)
    return float(
        np.std(
            [
                binned_information(bins, data.context, data.action, truth).corrected
                for truth in moved
            ]
        )
    )


def _published(
    problem: _Problem,
    k: int,
    n_bootstraps: int,
    rng: np.random.Generator,
    settings: dict[str, object],
) -> CheckResult:
    n_rows = problem.data.n_rows
    estimate = problem.estimate(np.arange(n_rows), k)
    draws = np.array(
        [problem.estimate(rng.integers(n_rows, size=n_rows), k) for _ in range(n_bootstraps)]
    )
    low, high = percentile_interval(draws)
    return CheckResult(
        check="cmi",
        null=problem.null,
        statistic=estimate,
        unit=UNIT,
        interval=Interval(
            low, high, 0.95, f"percentile bootstrap over rows, {n_bootstraps} resamples"
        ),
        pvalue=None,
        n_rows=n_rows,
        n_contexts=problem.data.n_contexts,
        settings=settings | {"n_bootstraps": n_bootstraps},
        details=pd.DataFrame({"quantity": ["estimate"], "neighbours": [k], "nats": [estimate]}),
        assumptions=("rows are independent", "duplicated rows do not bias the estimate (they do)"),
    )
