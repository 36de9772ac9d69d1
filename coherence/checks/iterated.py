"""Law of iterated expectation: a belief must equal the average of the beliefs given a variable.

For each context the stated P(theta | x) is compared with sum_j P(theta | x, z = j) P(z = j | x),
all from the same model. The mean signed gap has test and interval from one procedure, the more
careful of Student's t and Hall's skewness-adjusted t. The size of gaps is the root of the mean
product of the gaps of different repetitions, which answer noise does not inflate, less what rounded
reports add (Sheppard's correction).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from coherence.checks.case_rows import require_probabilities
from coherence.checks.check import Call, CallsAndNotes, Check, Interpretation, Question
from coherence.checks.forest_baseline import CHECK as FOREST
from coherence.inputs import MIN_CONTEXTS, Codes, Floats, as_numbers, few_contexts, require
from coherence.public_names import rng_for_seed
from coherence.result import CheckResult, Interval, contributions_to_mean
from coherence.runs.needs import NEEDS_GIVEN_Z
from coherence.runs.read import with_columns
from coherence.runs.runs import Runs, all_computed
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import (
    MEDIAN_METHOD,
    METHOD,
    NO_SPREAD,
    PAIRED,
    difference_interval,
    difference_pvalue,
    interval_or_reason,
    median_interval,
)
from coherence.statistics.resample import (
    Clusters,
    Seed,
    check_stream,
    clusters_of,
    group_of_contexts,
    percentile_interval,
)

KEY = ["context", "rep"]
NULL = (
    "averaged over contexts, the expected belief equals the expected average of the beliefs given "
    "z: E[P(theta|x)] = E[sum_j P(theta|x,z=j) P(z=j|x)]"
)
ASSUMPTIONS = (
    "answers that form one gap are independent",
    "gaps are spread over contexts, of which twenty or more are asked where gaps are skewed",
)
UNIT = "probability"
ALONE = 0.005  # from 1: a value of z that has as much is all that z can be
STEPS = (0.25, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
COARSEST = 0.1  # step of reports above which Sheppard's correction is off by .01 and more
COARSE = "reports in steps above .1 are too coarse: the correction for rounding may be off by .01"
"""Grids of reports that are looked for, the widest first."""
TOO_FEW = "noise can be removed only with two repetitions per context"
NEVER_ABOVE_0 = f"fewer than {MIN_CONTEXTS} contexts have a belief above 0"
RELATIVE = "median of |gap| / belief"
SIGNED = "mean signed gap"
NOISELESS = "root-mean-square gap, noise removed"
FLOOR = "noise floor (root-mean-square gap from repetitions alone)"
ROUNDING = "rounding floor (root-mean-square gap that rounded reports alone imply)"
BEYOND = "root-mean-square gap, noise and rounding removed"
ONCE_BEYOND = "root-mean-square gap, rounding removed and noise not"
ROUNDING_METHOD = "root of the mean square less Sheppard's correction, " + METHOD
_PILED = 0.1  # share of reports at the lowest or highest value from which it is called a floor


@dataclass(frozen=True)
class Gaps:
    """Gaps of a table under one prompt."""

    # one row per context, repetition and z: ``p``, ``reconstructed``, ``gap``, and ``residual``, by
    # which the stated P(z) miss a sum of 1
    rows: pd.DataFrame
    pieces: pd.DataFrame  # one row per state of z behind these: ``p`` and ``p_z``
    n_dropped: int  # questions that were asked and are incomplete
    computed: bool  # whether all beliefs are expectations themselves, without the noise of drawing
    group: "pd.Series[Any] | None" = None  # of each context, by its id; None where none is named

    def clusters(self, contexts: "pd.Index[Any]") -> Clusters:
        """Return the clusters of resampling of some contexts."""
        return clusters_of(self.group, contexts)


def under_prompt(runs: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, list[str]]:
    """Rows under the reference prompt, and other prompts that asked for beliefs given z."""
    if "prompt" not in runs.columns:
        return runs, []
    conditional = runs["z_state"].notna()
    prompt = runs["prompt"].astype(str)
    wanted = (prompt == reference) | (conditional & runs["prompt"].isna())
    return runs[wanted], sorted(prompt[conditional & ~wanted].unique())


def gaps_of(runs: pd.DataFrame, states: "pd.Series[int]", *, computed: bool) -> Gaps:
    """Set beliefs against their reconstructions."""
    conditional = runs[runs["z_state"].notna()]
    plain = runs[runs["z_state"].isna()]
    n_asked = conditional.groupby([*KEY, "z"], observed=True).ngroups
    pieces = (
        conditional.dropna(subset=["p", "p_z"])
        .groupby([*KEY, "z", "z_state"], observed=True)[["p", "p_z"]]
        .mean()
        .reset_index()
    )
    pieces["product"] = pieces["p"] * pieces["p_z"]
    grouped = pieces.groupby([*KEY, "z"], observed=True).agg(
        answered=("z_state", "size"),
        total=("p_z", "sum"),
        weighted=("product", "sum"),
        lowest=("p", "min"),
        highest=("p", "max"),
    )
    grouped = grouped.reset_index()
    grouped["wanted"] = grouped["z"].map(states).astype(int)
    # One value of z is no average, unless it is sure.
    averaged = (grouped["answered"] > 1) | (grouped["total"] > 1 - ALONE)
    all_there = (grouped["answered"] == grouped["wanted"]) & (grouped["total"] > 0)
    whole = grouped[all_there & averaged]
    joined = whole.merge(plain[[*KEY, "p"]].dropna(subset="p"), on=KEY, how="inner")
    joined["residual"] = joined["total"] - 1
    # Stated distributions may sum to .99 or 1.01 from rounding; the residual is reported, the
    # reconstruction uses the normalised weights.
    joined["reconstructed"] = joined["weighted"] / joined["total"]
    joined["gap"] = joined["p"] - joined["reconstructed"]
    behind = joined[[*KEY, "z"]].drop_duplicates()
    pieces = pieces.merge(behind, on=[*KEY, "z"])
    return Gaps(joined, pieces, n_asked - len(joined), computed, group_of_contexts(runs))


def mean_over_contexts(values: "pd.Series[float]", context: "pd.Series[Any]") -> Floats:
    """Average rows within contexts, in the order of contexts."""
    return np.asarray(values.groupby(context, observed=True).mean(), dtype=np.float64)


@dataclass(frozen=True)
class Squares:
    """Squared gaps of each context, an entry per context in order."""

    context: "pd.Index[Any]"  # ids
    # raw, expected: shape (n_contexts,): squared gap, and unbiased squared expected gap; the latter
    # is the former where nothing was repeated
    raw: Floats
    expected: Floats
    rounding: Floats  # shape (n_contexts,): what rounded reports add to `expected`
    steps: dict[str, float]  # step of each kind of report, 0 for none

    @property
    def beyond(self) -> Floats:
        """Squared gap without noise and rounding; chance may push it below 0."""
        return np.asarray(self.expected - self.rounding)


def squares_of(gaps: Gaps, *, repeated: bool) -> Squares | None:
    """Square gaps by context; None where too few contexts have two repetitions, or a gap.

    The mean product of the gaps of different repetitions is free of the noise that one repetition
    carries. Gaps of different z in one repetition share its plain belief and with it the noise, so
    that products are taken within each z.
    """
    once = gaps.rows.groupby([*KEY, "z"], observed=True)[["gap", "p"]].mean().reset_index()
    n = once.groupby(["context", "z"], observed=True)["gap"].transform("size")
    once = once[n >= (2 if repeated else 1)]
    if once["context"].nunique() < MIN_CONTEXTS:
        return None
    sums = (
        once.assign(square=once["gap"] ** 2)
        .groupby(["context", "z"], observed=True)
        .agg(n=("gap", "size"), total=("gap", "sum"), square=("square", "sum"))
    )
    raw = sums["square"] / sums["n"]
    expected = raw
    if repeated:
        expected = (sums["total"] ** 2 - sums["square"]) / (sums["n"] * (sums["n"] - 1))
    added, steps = _rounding(gaps, repeated=repeated)
    table = pd.DataFrame({"raw": raw, "expected": expected, "rounding": added.reindex(raw.index)})
    means = table.groupby("context", observed=True).mean()
    of_context = means.to_numpy(dtype=np.float64).T
    return Squares(means.index, of_context[0], of_context[1], of_context[2], steps)


def _rounding(gaps: Gaps, *, repeated: bool) -> tuple["pd.Series[float]", dict[str, float]]:
    """Return what rounded reports add to the squared gap of each context and z, and the steps.

    Of p - sum_j w_j p_j the roundings of p, of every p_j and of the weights are independent and
    uniform (Sheppard): their variances are s^2 / 12 times 1, w_j^2 and (p_j - sum_k w_k p_k)^2. Two
    weights that sum to 1 were rounded once. Repetitions that vary take a part of it as noise.
    """
    rows, pieces = gaps.rows, gaps.pieces
    of_gaps = ["context", "z"]
    joined = pieces.merge(rows[[*KEY, "z", "total", "reconstructed"]], on=[*KEY, "z"])
    of_gap = (
        joined.assign(
            given=(joined["p_z"] / joined["total"]) ** 2,
            weight=((joined["p"] - joined["reconstructed"]) / joined["total"]) ** 2,
        )
        .groupby([*KEY, "z"], observed=True)
        .agg(
            given=("given", "sum"),
            weight=("weight", "sum"),
            total=("total", "first"),
            size=("p", "size"),
            low=("p", "min"),
            high=("p", "max"),
        )
    )
    once = (of_gap["size"] == 2) & ((of_gap["total"] - 1).abs() < 1e-9)
    span = (of_gap["high"] - of_gap["low"]) ** 2
    of_gap["weight"] = of_gap["weight"].where(~once, span)
    share = of_gap[["given", "weight"]].assign(belief=1.0).groupby(of_gaps, observed=True).mean()
    answers = rows.drop_duplicates(KEY)
    kinds = {
        "belief": (answers, "p", ["context"]),
        "given": (pieces, "p", [*of_gaps, "z_state"]),
        "weight": (pieces, "p_z", [*of_gaps, "z_state"]),
    }
    names = {"belief": "p", "given": "p given z", "weight": "p_z"}
    steps = {}
    added = pd.Series(0.0, index=share.index)
    for kind, (table, column, of) in kinds.items():
        step = grid_step(table[column].to_numpy(dtype=np.float64))
        steps[names[kind]] = step
        within = table.groupby(of, observed=True)[column].var(ddof=1).mean() if repeated else 0.0
        variance = lasting_rounding(step, 0.0 if math.isnan(within) else float(within))
        added += variance * share[kind]
    return added, steps


def grid_step(reports: Floats) -> float:
    """Return the widest of `STEPS` that all reports are multiples of; 0 where there is none.

    Fewer than three different values show no grid: what is always .5 may be exact.

    >>> grid_step(np.array([0.15, 0.3, 0.9])), grid_step(np.array([0.5, 0.5]))
    (0.05, 0.0)
    """
    values = np.unique(np.round(reports, 9))
    values = values[(values > 0) & (values < 1)]
    if values.size < 3:
        return 0.0
    for step in STEPS:
        if np.abs(values / step - np.round(values / step)).max() < 1e-6:
            return step
    return 0.0


def lasting_rounding(step: float, within: float) -> float:
    """Return the variance of rounding errors that repetitions of a question share.

    Answers vary around a value with variance v and are rounded to a grid of step s. Of the
    rounding variance s^2/12 the part (s^2 / 2 pi^2) sum_k exp(-4 pi^2 k^2 v / s^2) / k^2 is the
    same in all repetitions, and the rest is in their observed variance `within`, which tells v.

    >>> round(lasting_rounding(0.1, 0.0), 6), round(lasting_rounding(0.1, 0.01), 6)
    (0.000833, 0.0)
    """
    if not step:
        return 0.0
    k = np.arange(1, 2_000)

    def lasting(variance: float) -> float:
        terms = np.exp(-4 * np.pi**2 * k**2 * variance / step**2) / k**2
        return float(step**2 / (2 * np.pi**2) * terms.sum())

    def excess(variance: float) -> float:
        return variance + step**2 / 12 - lasting(variance) - within

    if excess(0.0) >= 0:
        return lasting(0.0)
    return lasting(float(optimize.brentq(excess, 0.0, within)))


def floors_of(gaps: Gaps) -> str:
    """Say where reports pile up at a lowest value above 0 or a highest below 1; empty if not.

    Beliefs that never go below a floor average to more than the belief, in a coherent agent too.
    """
    reports = np.round(np.concatenate([gaps.rows["p"], gaps.pieces["p"]]), 9)
    values, counts = np.unique(reports, return_counts=True)
    if values.size < 4:
        return ""
    said = []
    for end, beside, word in ((0, 1, "below"), (-1, -2, "above")):
        piled = counts[end] >= max(_PILED * reports.size, 2 * counts[beside])
        if piled and 0 < values[end] < 1:
            share = counts[end] / reports.size
            said.append(f"reports never go {word} {values[end]:g}, which {share:.0%} of them are")
    if not said:
        return ""
    return f"{' and '.join(said)}: such a limit alone keeps beliefs from averaging out"


_Measure = tuple[float, Interval | None, str]
"""A summary: value, interval, why it has none."""
_MISSING: _Measure = (math.nan, None, TOO_FEW)


def _mean(
    of_context: Floats,
    clusters: Clusters,
    least: float,
    most: float,
    *,
    root: bool = False,
    withheld: str = "",
) -> _Measure:
    """Return a mean over contexts, or its root; `withheld` says why there is no interval."""
    interval, reason = interval_or_reason(of_context, clusters, "gap", root=root)
    value = float(of_context.mean())
    # A mean square that chance has pushed below 0 stands for a root of 0.
    value = math.sqrt(max(value, 0.0)) if root else value
    bounded = None if interval is None or withheld else interval.within(least, most)
    return value, bounded, withheld or reason


def _median(values: Floats, cluster: Codes, context: "pd.Series[Any]", alike: str) -> _Measure:
    """Return the median of the rows whose value is known."""
    known = ~np.isnan(values)
    if context[known].nunique() < MIN_CONTEXTS:
        return math.nan, None, NEVER_ABOVE_0
    return float(np.median(values[known])), median_interval(values[known], cluster[known]), alike


def _measures_of(gaps: Gaps, relative: Floats) -> tuple[dict[str, _Measure], Squares | None]:
    """Summarise gaps of at least `MIN_CONTEXTS` contexts, with intervals over contexts."""
    rows, context = gaps.rows, gaps.rows["context"]
    squares = squares_of(gaps, repeated=not gaps.computed)
    contexts = pd.Index(np.unique(context))
    clusters = gaps.clusters(contexts)
    cluster = clusters.of_context[contexts.get_indexer(context)]
    alike = NO_SPREAD.format(what="gap", clusters=clusters.plural)
    signed, absolute = mean_over_contexts(rows["gap"], context), rows["gap"].abs()
    ends = difference_interval(clusters.values(signed))
    found: dict[str, _Measure] = {
        SIGNED: (float(signed.mean()), ends and ends.within(-1.0, 1.0), alike),
        "mean absolute gap": _mean(mean_over_contexts(absolute, context), clusters, 0.0, 1.0),
        "median absolute gap": _median(absolute.to_numpy(), cluster, context, alike),
        RELATIVE: _median(relative, cluster, context, alike),
    }

    def add_root(measure: str, square: Floats, of: "pd.Index[Any]", withheld: str = "") -> None:
        options: Any = {"root": True, "withheld": withheld}
        found[measure] = _mean(square, gaps.clusters(of), 0.0, 1.0, **options)

    add_root("root-mean-square gap", mean_over_contexts(rows["gap"] ** 2, context), contexts)
    used, measure = squares, BEYOND
    if squares is None:
        found |= dict.fromkeys((NOISELESS, FLOOR, BEYOND), _MISSING)
        used, measure = squares_of(gaps, repeated=False), ONCE_BEYOND
    else:
        add_root(NOISELESS, squares.expected, squares.context)
        add_root(FLOOR, squares.raw - squares.expected, squares.context)
    if used is not None:
        found[ROUNDING] = math.sqrt(float(used.rounding.mean())), None, "by the steps alone"
        coarse = max(used.steps.values()) > COARSEST
        add_root(measure, used.beyond, used.context, COARSE if coarse else "")
    residual = mean_over_contexts(rows["residual"], context)
    found["sum of P(z|x) minus 1"] = _mean(residual, clusters, -1.0, math.inf)
    if few := clusters.too_few:
        found = {name: (value, None, few) for name, (value, _, _) in found.items()}
    return found, used


def _tabulated(measures: dict[str, _Measure]) -> pd.DataFrame:
    """Return a row a summary."""
    rows = [
        (
            name,
            value,
            ends.low if ends else math.nan,
            ends.high if ends else math.nan,
            why * (not ends),
        )
        for name, (value, ends, why) in measures.items()
    ]
    return pd.DataFrame(rows, columns=["measure", "value", "low", "high", "reason"])


@dataclass(frozen=True, repr=False)
class IteratedResult(CheckResult):
    """Result of `coherence.iterated_expectation_test`."""

    steps: dict[str, float] | None = None  # of each kind of report, 0 for none
    share_of_largest_tenth: float | None = None  # of squared gaps, by the tenth of contexts
    floor: str | None = None  # where reports pile up at a limit; empty for nowhere


@rng_for_seed
def iterated_expectation_test(
    runs: pd.DataFrame,
    *,
    reference: str | None = None,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> IteratedResult:
    """Test whether beliefs average out over an auxiliary variable.

    Null: averaged over cases, the expected belief equals the expected average of the beliefs given
    z.

    Estimand: the mean difference between the belief and the average of the beliefs given z (a
    probability, from -1 to 1); cases count alike.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``rep``, ``p``, ``z``, ``z_state``, ``p_z``, optionally ``prompt``.
        Ordinary rows have no ``z_state``; the other rows hold P(theta | x, z = z_state) in ``p``
        and P(z = z_state | x) in ``p_z``. Where ``belief_kind``, if there is one, calls all beliefs
        computed (stated:exact, token, revealed) or fixed, there is no noise to be removed. Where
        there is a column ``group``, the same in all rows of a context, groups are the clusters, at
        least ten.
    reference : str, optional
        Prompt whose rows are used; None takes the one of `coherence.runs.runs`. Rows with a
        ``z_state`` and without a prompt belong to it.
    n_bootstraps : int
        Resamples of rows for the published interval.
    published : bool
        Report the median of ``|gap| / belief`` with a percentile interval over rows instead; no
        p-value.
    rng : Generator, int or None
        Source of the published resamples; the test draws nothing.

    Returns
    -------
    IteratedResult
        `statistic` is the mean signed gap, with an interval over contexts and the two-sided p-value
        at which the interval ends at 0. `details` holds, with intervals: the mean signed gap, the
        mean and the median absolute gap, the median of ``|gap| / belief``, the root-mean-square
        gap, the same after removing answer noise (needs two repetitions), the noise floor
        (root-mean-square gap that repetitions alone imply), the rounding floor (the one that the
        steps of the reports imply for a coherent agent), the root-mean-square gap after removing
        noise and rounding, and the mean of ``sum_j P(z = j | x) - 1``; ``reason`` there says what
        keeps a value or an interval from being known. Without repetitions rounding alone is
        removed, in a row that says so. Noise is removed within each auxiliary variable, then the
        variables of a context are averaged. `steps` says what steps each kind of
        column shows, `floor` where reports pile up at a limit.

    Raises
    ------
    InputError
        A column is missing, or beliefs are over several states.

    Notes
    -----
    Assumes independent contexts, and that the answers that form one gap are given independently of
    each other (separate contexts windows), so that the expected product of two answers is the
    product of their expectations. Test and interval are the more careful of Student's t and Hall's
    skewness-adjusted t, with fewer degrees of freedom where tails are heavy; where few contexts
    have a gap, p is no less than their signs allow. Symmetric gaps are rejected in at most the
    nominal share, skewed ones from about 20 contexts on. Fewer contexts may hold none of the rare
    large gaps that bring the mean to 0, and no test can see that.
    Gaps of opposite sign cancel in the mean; the corrected root-mean-square gap shows them.

    Reports in steps of s are wrong by a variance of s^2/12, alike in all repetitions that do not
    scatter. Sheppard's correction takes s^2/12 (1 + sum_j w_j^2 + D^2) off the mean square, with
    the weights w of the answers and D the difference between the beliefs given z, each with the
    step of its own column; where repetitions vary, only the part of it that they share. It
    assumes roundings that are independent, which those of beliefs that hardly depend on z are not:
    the correction is then too large.

    References
    ----------
    Hall (1992), On the removal of skewness by transformation, JRSS B 54(1), for the mean; Sheppard
    (1898), Proceedings of the London Mathematical Society 29, for the correction.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("wordbound", n_contexts=60, n_reps=3, rng=1)
    >>> result = iterated_expectation_test(runs)
    >>> result.check, result.n_contexts
    ('iterated_expectation', 60)
    """
    runs = with_columns(runs)
    states = Runs(runs).states
    require(
        len(states) < 2,
        "iterated_expectation_test needs a belief in one state in the column 'p'; received beliefs "
        f"over several states in {', '.join(states)}. "
        "Test one state at a time: rename its column to 'p'.",
    )
    runs = with_columns(runs, (*KEY, "p", "z", "z_state", "p_z"))
    for name in ("p", "p_z"):
        numbers = as_numbers(runs[name].astype(object).where(runs[name].notna()), name)
        require_probabilities(numbers, name)
        runs = runs.assign(**{name: numbers})
    table = Runs(runs)
    reference = table.reference() if reference is None else str(reference)
    options: dict[str, Any] = {"n_bootstraps": n_bootstraps, "published": published, "rng": rng}
    return _iterated_expectation(table, reference, **options)[0]


def _iterated_expectation(
    table: Runs,
    reference: str,
    *,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> list[IteratedResult]:
    """Run `iterated_expectation_test` on validated rows, and lift the sizes that people quote."""
    runs, generator = table.table, check_stream(rng, "iterated_expectation")
    used, elsewhere = under_prompt(runs, reference)
    # A state that only another prompt asked for is missing under this one.
    asked_states = runs[runs["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps = gaps_of(used, asked_states, computed=all_computed(used, ["p"]))
    n_contexts = int(gaps.rows["context"].nunique())
    result = IteratedResult(
        check="iterated_expectation",
        null=NULL,
        unit="of belief" if published else UNIT,
        pvalue=None if published else math.nan,
        n_rows=len(gaps.rows),
        n_contexts=n_contexts,
        n_dropped=gaps.n_dropped,
        settings={
            "reference": reference,
            "published": published,
            "n_bootstraps": n_bootstraps,
        },
    )
    if n_contexts < MIN_CONTEXTS:
        asked = bool(used["z_state"].notna().any())
        reason = _too_little(n_contexts, [] if asked else elsewhere, reference)
        return [replace(result, reason=reason)]
    rows = gaps.rows
    relative = (rows["gap"].abs() / rows["p"].where(rows["p"] > 0)).to_numpy(dtype=np.float64)
    if published:
        return [_published(result, rows, relative, n_bootstraps, generator)]

    measures, squares = _measures_of(gaps, relative)
    value, ends, why = measures[SIGNED]
    # Repetitions and variables of a context share its evidence.
    by_context = rows.groupby("context", observed=True)["gap"].mean()
    of_context, clusters = by_context.to_numpy(dtype=np.float64), gaps.clusters(by_context.index)
    pvalue = math.nan if clusters.too_few else difference_pvalue(clusters.values(of_context))
    reason = "" if ends else why
    if math.isnan(pvalue) and not clusters.too_few:
        reason = "every gap is exactly zero: nothing to test"
    method = PAIRED.format(clusters=clusters.plural)
    floor = floors_of(gaps)
    result = replace(
        result,
        statistic=value,
        interval=ends and replace(ends, method=method),
        pvalue=pvalue,
        settings={**result.settings, "cluster of resampling": clusters.name},
        steps={} if squares is None else squares.steps,
        share_of_largest_tenth=_of_largest_tenth(of_context),
        floor=floor,
        details=_tabulated(measures),
        assumptions=(clusters.independent, *ASSUMPTIONS),
        reason=reason or floor,
        contributions=contributions_to_mean(by_context),
    )
    return [result, *_lifted(result, measures, squares, clusters)]


def _of_largest_tenth(gaps: Floats) -> float:
    """Share of the squared gaps that the tenth of the contexts with the largest ones has."""
    squares = np.sort(gaps**2)[::-1]
    total = float(squares.sum())
    return float(squares[: math.ceil(squares.size / 10)].sum()) / total if total else math.nan


def _too_little(n_contexts: int, elsewhere: list[str], reference: str) -> str:
    if elsewhere:
        return (
            f"beliefs given z are there under {', '.join(map(repr, elsewhere))} only, "
            f"and none under the reference prompt {reference!r}"
        )
    return few_contexts(n_contexts, "with a belief and one given each value of z (two or more)")


def _published(
    result: IteratedResult,
    gaps: pd.DataFrame,
    relative: Floats,
    n_bootstraps: int,
    rng: np.random.Generator,
) -> IteratedResult:
    """Report the median relative gap with a percentile interval over rows."""
    known = relative[~np.isnan(relative)]  # of a belief of 0 there is no relative gap
    if gaps.loc[gaps["p"] > 0, "context"].nunique() < MIN_CONTEXTS:
        return replace(result, null=RELATIVE, reason=NEVER_ABOVE_0)
    draws = [np.median(rng.choice(known, known.size)) for _ in range(n_bootstraps)]
    return replace(
        result,
        null=RELATIVE,
        statistic=float(np.median(known)),
        interval=percentile_interval(np.array(draws), "rows"),
        details=gaps.drop(columns=["weighted", "answered", "wanted"]),
        assumptions=("rows are independent",),
    )


def _lifted(
    result: IteratedResult,
    measures: dict[str, _Measure],
    squares: Squares | None,
    clusters: Clusters,
) -> Iterator[IteratedResult]:
    """Make results of the two effect sizes that people quote."""
    for variant, measure, unit, method, lack in (
        ("relative", RELATIVE, "of belief", MEDIAN_METHOD, NEVER_ABOVE_0),
        ("noise_removed", BEYOND, "probability", ROUNDING_METHOD, TOO_FEW),
    ):
        value, ends, reason = measures[measure]
        reason = lack if math.isnan(value) else reason * (not ends)
        method = method.format(clusters=clusters.plural)
        lifted = replace(
            result,
            check=f"iterated_expectation:{variant}",
            null=measure,
            statistic=value,
            unit=unit,
            interval=ends and replace(ends, method=method),
            pvalue=None,
            details=pd.DataFrame(),
            reason=reason,
            assumptions=result.assumptions[:2],
            contributions=None,
        )
        if measure == BEYOND:
            # Of 30 to 50 contexts, a tenth with nearly all of the gap: held in .75 to .85.
            most = f"the largest tenth has {result.share_of_largest_tenth:.0%} of squares"
            said = (*lifted.assumptions, f"gaps are spread over contexts ({most})")
            lifted = replace(lifted, assumptions=said, reason=reason or result.floor or "")
            if squares is not None and not math.isnan(value):
                each = pd.Series(squares.beyond, index=squares.context)
                added, mean = contributions_to_mean(each), float(squares.beyond.mean())
                lifted = replace(lifted, contributions=added, mean_square=mean)
        yield lifted


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    assert data.runs is not None
    yield Call(partial(_iterated_expectation, data.runs, data.prompt, published=published))


_HALF = "Half of the gaps exceed {value:.1%} of the belief; answer noise is included."
CHECK = Check(
    name="iterated_expectation",
    origin="Adapted from the gap of Yamin et al.",
    needs=NEEDS_GIVEN_Z,
    sentences={
        "": Interpretation(
            rejected="Beliefs do not average out over the auxiliary variable: "
            "they are no single probability distribution.",
            nominal="beliefs do not average out over the auxiliary variable",
            not_rejected="No evidence of a gap in one direction; the size, noise removed, tells of "
            "others.",
            published=_HALF,
            words="average gap to the belief after evidence",
            row="gap after evidence, points",
        ),
        "relative": Interpretation(estimate=_HALF, words="gaps, relative to the belief"),
        # They cancel in the tested mean where they have both signs.
        "noise_removed": Interpretation(
            estimate="Beyond answer noise and rounding, beliefs and their averages differ by "
            "{value:.3f} (root mean square).",
            words="size of these gaps, report noise removed",
            leads_above_0=True,
        ),
    },
    question=Question.TOGETHER,
    planted="iterated_bias",
    plan=_plan,
    parts=(FOREST,),
)
