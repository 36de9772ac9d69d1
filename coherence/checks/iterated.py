"""Law of iterated expectation: a belief must equal the average of the beliefs given a variable.

For each context the stated P(theta | x) is compared with sum_j P(theta | x, z = j) P(z = j | x),
all from the same model. A gap is read against that of random forests, which fit well and are not
coherent by construction.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from coherence.checks.check import Check, Interpretation, Plan, Question
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    few_contexts,
    probabilities_of,
    whole_number,
)
from coherence.public_names import rng_for_seed
from coherence.result import CheckResult, contributions_to_mean
from coherence.runs.needs import NEEDS_GIVEN_Z
from coherence.runs.notes import not_run
from coherence.runs.read import with_columns
from coherence.runs.runs import Runs, all_computed
from coherence.statistics import mean_interval, resample
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.resample import Seed

NAME = "iterated_expectation"
FOREST = f"{NAME}:random_forest"
NULL = (
    "averaged over contexts, the expected belief equals the expected average of the beliefs given "
    "z: E[P(theta|x)] = E[sum_j P(theta|x,z=j) P(z=j|x)]"
)
ASSUMPTIONS = (
    "answers that form one gap are independent",
    "gaps are spread over contexts, of which twenty or more are asked where gaps are skewed",
)
KEY = ["context", "rep", "z"]
ALONE = 0.005  # from 1: a value of z that has as much is all that z can be
RELATIVE = "median of |gap| / belief"
SIZE = "root-mean-square gap, noise and rounding removed"
TOO_FEW = "noise can be removed only with two repetitions per context"
COARSE = "reports in steps above .1 are too coarse: the correction for rounding may be off by .01"
STEPS = (0.25, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
COARSEST = 0.1  # step of reports above which Sheppard's correction is off by .01 and more
PARTS = 3  # of the contexts; a forest sees all but one


def gaps_of(runs: pd.DataFrame, states: "pd.Series[int]") -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Compare beliefs with their reconstructions; `states` is how many values each z has.

    Return a row per context, repetition and z (``p``, ``reconstructed``, ``gap``, and ``total``, to
    which the stated P(z) sum), the beliefs given z behind these (``p``, ``p_z``), and the number of
    questions that were asked and are incomplete.
    """
    given = runs[runs["z_state"].notna()]
    pieces = (
        given.dropna(subset=["p", "p_z"])
        .groupby([*KEY, "z_state"], observed=True)[["p", "p_z"]]
        .mean()
        .reset_index()
    )
    pieces["product"] = pieces["p"] * pieces["p_z"]
    whole = (
        pieces.groupby(KEY, observed=True)
        .agg(answered=("z_state", "size"), total=("p_z", "sum"), weighted=("product", "sum"))
        .reset_index()
    )
    # One value of z is no average, unless it is sure.
    averaged = (whole["answered"] > 1) | (whole["total"] > 1 - ALONE)
    complete = (whole["answered"] == whole["z"].map(states).astype(int)) & (whole["total"] > 0)
    plain = runs.loc[runs["z_state"].isna(), [*KEY[:2], "p"]].dropna(subset="p")
    rows = whole[complete & averaged].merge(plain, on=KEY[:2], how="inner")
    # Stated distributions may sum to .99 or 1.01 from rounding: weights are normalised.
    rows["reconstructed"] = rows.pop("weighted") / rows["total"]
    rows["gap"] = rows["p"] - rows["reconstructed"]
    pieces = pieces.merge(rows[[*KEY, "total", "reconstructed"]].drop_duplicates(KEY), on=KEY)
    return rows, pieces, given.groupby(KEY, observed=True).ngroups - len(rows)


def squares_of(
    rows: pd.DataFrame, pieces: pd.DataFrame, *, repeated: bool
) -> tuple["pd.Series[float]", float] | None:
    """Return the squared gap of each context without noise and rounding, and the widest step.

    None where fewer than ten contexts have a gap, or two where answers were `repeated`: the mean
    product of the gaps of different repetitions is free of the noise that one repetition carries.
    Gaps of different z in one repetition share its plain belief and with it the noise, so that
    products are taken within each z. Chance may push what is left below 0.
    """
    once = rows.groupby(KEY, observed=True)["gap"].mean().reset_index()
    n = once.groupby(["context", "z"], observed=True)["gap"].transform("size")
    once = once[n >= (2 if repeated else 1)]
    if once["context"].nunique() < MIN_CONTEXTS:
        return None
    sums = (
        once.assign(square=once["gap"] ** 2)
        .groupby(["context", "z"], observed=True)
        .agg(n=("gap", "size"), total=("gap", "sum"), square=("square", "sum"))
    )
    square = sums["square"] / sums["n"]
    if repeated:
        square = (sums["total"] ** 2 - sums["square"]) / (sums["n"] * (sums["n"] - 1))
    added, step = _rounding(rows, pieces, repeated=repeated)
    table = pd.DataFrame({"square": square, "rounding": added.reindex(square.index)})
    means = table.groupby("context", observed=True).mean()
    return means["square"] - means["rounding"], step


def _rounding(
    rows: pd.DataFrame, pieces: pd.DataFrame, *, repeated: bool
) -> tuple["pd.Series[float]", float]:
    """Return what rounded reports add to the squared gap of each context and z, and their step.

    Of p - sum_j w_j p_j the roundings of p, of every p_j and of the weights are independent and
    uniform (Sheppard): their variances are s^2 / 12 times 1, w_j^2 and (p_j - sum_k w_k p_k)^2. Two
    weights that sum to 1 were rounded once. Repetitions that vary take a part of it as noise.
    """
    of_gap = (
        pieces.assign(
            given=(pieces["p_z"] / pieces["total"]) ** 2,
            weight=((pieces["p"] - pieces["reconstructed"]) / pieces["total"]) ** 2,
        )
        .groupby(KEY, observed=True)
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
    of_gap["weight"] = of_gap["weight"].where(~once, (of_gap["high"] - of_gap["low"]) ** 2)
    shares = of_gap[["given", "weight"]].assign(belief=1.0)
    share = shares.groupby(["context", "z"], observed=True).mean()
    added, widest = pd.Series(0.0, index=share.index), 0.0
    for kind, table, column, of in (
        ("belief", rows.drop_duplicates(KEY[:2]), "p", ["context"]),
        ("given", pieces, "p", ["context", "z", "z_state"]),
        ("weight", pieces, "p_z", ["context", "z", "z_state"]),
    ):
        step = grid_step(table[column].to_numpy(dtype=np.float64))
        within = table.groupby(of, observed=True)[column].var(ddof=1).mean() if repeated else 0.0
        variance = lasting_rounding(step, 0.0 if math.isnan(within) else float(within))
        added, widest = added + variance * share[kind], max(widest, step)
    return added, widest


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
    fits = (step for step in STEPS if np.abs(values / step - np.round(values / step)).max() < 1e-6)
    return next(fits, 0.0)


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


def limits_of(reports: Floats) -> str:
    """Say where reports pile up at a lowest value above 0 or a highest below 1; empty if not.

    Beliefs that never go below a floor average to more than the belief, in a coherent agent too.
    """
    values, counts = np.unique(np.round(reports, 9), return_counts=True)
    said = [
        f"reports never go {word} {values[end]:g}, which {counts[end] / reports.size:.0%} of them "
        "are"
        for end, beside, word in ((0, 1, "below"), (-1, -2, "above"))
        if values.size > 3 and counts[end] >= max(0.1 * reports.size, 2 * counts[beside])
        if 0 < values[end] < 1
    ]
    alone = ": such a limit alone keeps beliefs from averaging out"
    return f"{' and '.join(said)}{alone}" if said else ""


@rng_for_seed
def iterated_expectation_test(
    runs: pd.DataFrame,
    *,
    reference: str | None = None,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
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
    CheckResult
        `statistic` is the mean signed gap, with an interval over contexts and the two-sided p-value
        at which the interval ends at 0. `details` holds, with intervals: the median of
        ``|gap| / belief``, the root-mean-square gap after removing noise (needs two repetitions)
        and rounding, and the mean of ``sum_j P(z = j | x) - 1``; ``reason`` there says what keeps a
        value or an interval from being known. Noise is removed within each auxiliary variable, then
        the variables of a context are averaged. `reason` says where reports pile up at a limit.

    Raises
    ------
    InputError
        A column is missing, or holds what is no probability.

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
    Reports with a floor or a ceiling average to another belief, in a coherent agent too.

    Sheppard's correction takes s^2/12 (1 + sum_j w_j^2 + D^2) off the mean square, with steps s of
    reports, the weights w of the answers and D the difference between the beliefs given z; where
    repetitions vary, only what they share. It assumes roundings that are independent, which those
    of beliefs that hardly depend on z are not: the correction is then too large.

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
    runs = with_columns(runs, (*KEY, "p", "z_state", "p_z"))
    for name in ("p", "p_z"):
        runs = runs.assign(**{name: probabilities_of(runs[name], name)})
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
) -> list[CheckResult]:
    """Run `iterated_expectation_test` on validated rows; the sizes that people quote follow it."""
    runs, given = table.table, table.table["z_state"].notna()
    # A state that only another prompt asked for is missing under this one.
    states = runs[given].groupby("z", observed=True)["z_state"].nunique()
    whole = "with a belief and one given each value of z (two or more)"
    if "prompt" in runs.columns:
        whole += f" under {reference!r}"
        asked = runs["prompt"].astype(str) == reference
        runs = runs[asked | (given & runs["prompt"].isna())]
    rows, pieces, n_dropped = gaps_of(runs, states)
    of_context = rows.groupby("context", observed=True)["gap"].mean()
    result = partial(
        CheckResult,
        check=NAME,
        null=RELATIVE if published else NULL,
        unit="of belief" if published else "probability",
        pvalue=None if published else math.nan,
        n_rows=len(rows),
        n_contexts=len(of_context),
        n_dropped=n_dropped,
        settings={"reference": reference, "published": published, "n_bootstraps": n_bootstraps},
    )
    if few := few_contexts(len(of_context), whole):
        return [result(reason=few)]
    if published:
        return [_published(result, rows, n_bootstraps, resample.check_stream(rng, NAME))]

    clusters = resample.clusters_of(runs, of_context.index)
    result = partial(
        result,
        settings={**result.keywords["settings"], "cluster of resampling": clusters.name},
        assumptions=(clusters.independent, *ASSUMPTIONS),
    )
    about = partial(result, pvalue=None)
    relative = about(
        check=f"{NAME}:relative",
        null=RELATIVE,
        unit="of belief",
        **median_of(rows, "p", runs, "belief"),
    )
    of_size = partial(about, check=f"{NAME}:noise_removed", null=SIZE, reason=TOO_FEW)
    if squares := squares_of(rows, pieces, repeated=not all_computed(runs, ["p"])):
        square, step = squares
        of = resample.clusters_of(runs, square.index)
        of_size = mean_interval.mean_result(of_size, square, of, "gap", root=True)
        if step > COARSEST:
            of_size = partial(of_size, interval=None, reason=COARSE)
    size = of_size(n_contexts=len(of_context))
    residual = (rows["total"] - 1).groupby(rows["context"], observed=True).mean().mean()
    sizes = relative, size
    measures = [(of.null, of.statistic, of.low, of.high, of.reason) for of in sizes]
    measures.append(("sum of P(z|x) minus 1", float(residual), math.nan, math.nan, ""))
    pvalue, ends, reason = math.nan, None, clusters.too_few
    if not reason:
        values = clusters.values(of_context.to_numpy(dtype=np.float64))
        pvalue = mean_interval.difference_pvalue(values)
        ends = mean_interval.difference_interval(values, clusters=clusters.plural)
        if math.isnan(pvalue):
            reason = "every gap is exactly zero: nothing to test"
        elif ends is None:
            reason = mean_interval.NO_SPREAD.format(what="gap", clusters=clusters.plural)
    tested = result(
        statistic=float(of_context.mean()),
        interval=ends and ends.within(-1.0, 1.0),
        pvalue=pvalue,
        details=pd.DataFrame(measures, columns=["measure", "value", "low", "high", "reason"]),
        reason=reason or limits_of(np.concatenate([rows["p"], pieces["p"]])),
        contributions=contributions_to_mean(of_context),
    )
    return [tested, relative, size]


def _published(
    result: partial[CheckResult], rows: pd.DataFrame, n_bootstraps: int, rng: np.random.Generator
) -> CheckResult:
    """Report the median relative gap with a percentile interval over rows."""
    found = median_of(rows, "p", pd.DataFrame(), "belief")  # without groups
    if "statistic" not in found:
        return result(**found)
    known = _relative(rows, "p").dropna().to_numpy()
    draws = [np.median(rng.choice(known, known.size)) for _ in range(n_bootstraps)]
    interval = resample.percentile_interval(np.array(draws), "rows")
    found |= {"interval": interval, "details": rows, "reason": ""}
    return result(assumptions=("rows are independent",), **found)


def _relative(rows: pd.DataFrame, belief: str) -> "pd.Series[float]":
    """Return the size of gaps relative to the belief; missing of a belief of 0."""
    return (rows["gap"].abs() / rows[belief].where(rows[belief] > 0)).astype(np.float64)


def median_of(rows: pd.DataFrame, belief: str, runs: pd.DataFrame, what: str) -> dict[str, Any]:
    """Return what a result holds of the median of relative gaps, in which `what` is the belief."""
    relative = _relative(rows, belief).dropna()
    codes, contexts = pd.factorize(rows.loc[relative.index, "context"])
    if len(contexts) < MIN_CONTEXTS:
        return {"reason": f"fewer than {MIN_CONTEXTS} contexts have a {what} above 0"}
    values: Floats = np.asarray(relative, dtype=np.float64)
    clusters, interval = resample.clusters_of(runs, contexts), None
    if not (reason := clusters.too_few):
        cluster, named = clusters.of_context[codes], clusters.plural
        interval = mean_interval.median_interval(values, cluster, clusters=named)
        reason = "" if interval else mean_interval.NO_SPREAD.format(what="gap", clusters=named)
    return {"statistic": float(np.median(values)), "interval": interval, "reason": reason}


# Forests


def _ordinal(column: pd.Series) -> pd.Series:
    """Numbers as they are (forests split on missing ones), labels as ordinal codes."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(np.float64)
    codes = pd.Categorical(column.astype("string")).codes  # a missing label has a code too: -1
    return pd.Series(codes, index=column.index, dtype=np.float64)


def _cases(runs: pd.DataFrame, names: list[str], target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per context, by its evidence, and one per context and value of z."""
    coded = runs.assign(**{name: _ordinal(runs[name]) for name in names})
    conditional = coded["z_state"].notna()
    # Repetitions and prompts share evidence and exact posterior; a stated P(z | x) is averaged over
    # them.
    by_context = coded[~conditional].dropna(subset="p_true").groupby("context", observed=True)
    plain = by_context[[*names, "p_true"]].first().reset_index()
    given = coded[conditional].dropna(subset=["p_true", target])
    by_state = given.groupby(["context", "z", "z_state"], observed=True)
    pieces = by_state[[*names, "p_true"]].first()
    pieces = pieces.assign(**{target: by_state[target].mean().round(12)}).reset_index()
    wanted = runs[conditional].groupby("z", observed=True)["z_state"].nunique()
    answered = pieces.groupby(["context", "z"], observed=True)["z_state"].transform("size")
    pieces = pieces[answered == pieces["z"].map(wanted).astype(int)]
    plain = plain[plain["context"].isin(pieces["context"])]
    plain = plain.sort_values([*names, "p_true"], kind="stable", ignore_index=True)
    rank = pd.Index(plain["context"]).get_indexer(pieces["context"])
    by_rank = np.argsort(rank, kind="stable")
    return plain, pieces.iloc[by_rank[rank[by_rank] >= 0]].reset_index(drop=True)


def _forest(features: Floats, target: Floats, context: Codes, parts: Codes, n_trees: int) -> Floats:
    """Predict every row by a forest that has seen no row of its context's part, shape (n,)."""
    from sklearn.ensemble import RandomForestRegressor

    predicted = np.empty(target.size)
    for part in range(PARTS):
        held = parts[context] == part
        # A fixed seed: what two models are compared with must not differ between them.
        forest = RandomForestRegressor(n_trees, random_state=0, n_jobs=1)
        predicted[held] = forest.fit(features[~held], target[~held]).predict(features[held])
    return predicted


def random_forest_baseline(runs: pd.DataFrame, *, n_trees: int = 50) -> CheckResult:
    """Estimate the iterated-expectation gap of random forests fitted to the exact posteriors.

    Estimates the median over contexts of ``|gap| / belief`` with predictions for contexts left out
    in the place of stated beliefs; no test.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``z``, ``z_state``, ``p_z``, ``p_true`` and evidence columns ``x_*``.
        ``p_true`` is P(theta | x) on ordinary rows and P(theta | x, z = z_state) on rows with a
        ``z_state``; ``p_z_true``, where present, is learned instead of the stated ``p_z``.
    n_trees : int
        Trees of each of the three forests: a context is predicted by the one that was grown on the
        other two thirds of the contexts.

    Returns
    -------
    CheckResult
        `statistic` is the median of ``|gap| / belief``, with an interval over contexts (the forests
        are kept). `details` has one row per context and z: the prediction given x, its
        reconstruction from the predictions given z, the gap, and the exact posterior. NaN with a
        reason without ``p_true``, without evidence columns, or with fewer than ten complete
        contexts.

    Raises
    ------
    InputError
        A column besides ``p_true`` and the evidence is missing, or `n_trees` is below 1.

    Notes
    -----
    Assumes independent contexts. Labels enter as ordinal codes, a missing label as a code of its
    own; the value of z as one indicator per variable and value. Predicted P(z | x) are normalised
    to sum to 1 over the values of a variable.

    The estimate belongs to the cases: given ``p_true`` and ``p_z_true`` it is the same for every
    model that was asked about them, whatever it answered, and for any order of rows and columns.

    References
    ----------
    Breiman (2001), Machine Learning 45(1), for the forests.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=60, n_reps=2, rng=1)
    >>> random_forest_baseline(runs, n_trees=10).unit
    'of belief'
    """
    runs = with_columns(runs, ("context", "z", "z_state", "p_z"))
    return _baseline(runs, Runs(runs).features, whole_number(n_trees, "n_trees", 1))


def _baseline(runs: pd.DataFrame, features: Sequence[str], n_trees: int = 50) -> CheckResult:
    """Run `random_forest_baseline` on validated rows."""
    names = sorted(features)  # forests draw columns by position: another order, another forest
    result = partial(
        CheckResult,
        check=FOREST,
        null=f"{RELATIVE} of random forests fitted to the exact posteriors",
        unit="of belief",
        n_rows=len(runs),
        n_contexts=int(runs["context"].nunique()),
        settings={"n_trees": n_trees},
    )
    if "p_true" not in runs.columns or not runs["p_true"].notna().any():
        return result(reason="no exact posterior: the column p_true is missing or empty")
    if not names:
        return result(reason="no evidence: no column starts with x_")
    target = "p_z_true" if "p_z_true" in runs.columns and runs["p_z_true"].notna().any() else "p_z"
    plain, pieces = _cases(runs, names, target)
    if few := few_contexts(len(plain), "with an exact posterior for every value of z"):
        return result(reason=few)

    order = pd.Index(plain["context"])
    context = order.get_indexer(pieces["context"])
    value_of_z = pieces["z"].astype(str) + "\x1f" + pieces["z_state"].astype(str)
    indicators = pd.get_dummies(value_of_z).to_numpy(dtype=np.float64)
    evidence = np.column_stack([pieces[names].to_numpy(dtype=np.float64), indicators])
    parts = resample.jackknife_groups(len(plain), PARTS, np.random.default_rng(0))
    fit = partial(_forest, parts=parts, n_trees=n_trees)
    exact = plain["p_true"].to_numpy()
    belief = fit(plain[names].to_numpy(dtype=np.float64), exact, np.arange(len(plain)))
    given_z = fit(evidence, pieces["p_true"].to_numpy(), context)
    weight = fit(evidence, pieces[target].to_numpy(dtype=np.float64), context)
    predicted = pieces[["context", "z"]].assign(product=given_z * weight, weight=weight)
    sums = predicted.groupby(["context", "z"], observed=True).sum().reset_index()
    position = order.get_indexer(sums["context"])
    details = sums[["context", "z"]].assign(
        belief=belief[position],
        # Forests fit each P(z | x) apart, so that they need not sum to 1.
        reconstructed=sums["product"] / sums["weight"].where(sums["weight"] > 0),
        p_true=exact[position],
    )
    details["gap"] = details["belief"] - details["reconstructed"]
    clusters = resample.clusters_of(runs, order)
    return result(
        n_rows=len(details),
        n_contexts=len(plain),
        settings={
            "n_trees": n_trees,
            "weights_from": target,
            "cluster of resampling": clusters.name,
        },
        details=details,
        assumptions=(clusters.independent,),
        **median_of(details, "belief", runs, "prediction"),
    )


def _plan_forest(data: EvaluationData, published: bool) -> Plan:
    assert data.runs is not None
    runs = data.runs.table
    features = [name for name in data.runs.features if runs[name].notna().any()]
    if "p_true" in runs.columns and features:
        yield partial(_baseline, runs, features)
        return
    note = "no p_true or no x_ columns: the gap of a fitted predictor was not computed "
    yield not_run(f"{note}alongside that of the model.", FOREST)


FOREST_CHECK = Check(
    name=FOREST,
    origin="Adapted from the forests of Yamin et al.",
    needs=NEEDS_GIVEN_Z,
    sentences={
        "": Interpretation(
            estimate="For comparison: forests fitted to the exact posteriors have a median gap "
            "of {value:.1%} of the belief.",
            words="gaps to a random forest, relative to the belief",
        )
    },
    question=Question.TOGETHER,
    plan=_plan_forest,
    # It takes a quarter of the time of a small table, and compares: it must be asked for.
    by_itself=lambda runs: False,
)


def _plan(data: EvaluationData, published: bool) -> Plan:
    assert data.runs is not None
    yield partial(_iterated_expectation, data.runs, data.prompt, published=published)


_HALF = "Half of the gaps exceed {value:.1%} of the belief; answer noise is included."
CHECK = Check(
    name=NAME,
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
        ),
    },
    question=Question.TOGETHER,
    planted="iterated_bias",
    plan=_plan,
    parts=(FOREST_CHECK,),
)
