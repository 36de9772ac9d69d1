"""Law of iterated expectation: a belief must equal the average of the beliefs given a variable.

For each context the stated P(theta | x) is compared with sum_j P(theta | x, z = j) P(z = j | x),
all from the same model. The gap may have any sign; its absolute value is inflated by answer noise,
so the signed gap carries the test and the noise is reported beside it.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.checks.check import Call, CallsAndNotes, Check, Facts, Sentences
from coherence.checks.forest_baseline import CHECK as FOREST
from coherence.checks.forest_baseline import GAP_COLUMNS, holds_conditionals
from coherence.errors import closest
from coherence.inputs import MIN_CONTEXTS, Floats, require, whole_number
from coherence.result import CheckResult, Interval
from coherence.statistics.mean_interval import (
    MEDIAN_METHOD,
    METHOD,
    NO_SPREAD,
    mean_interval,
    median_interval,
    why_none,
)
from coherence.statistics.resample import Seed, as_generator, percentile_interval, sign_flip_pvalue
from coherence.table.frames import require_frame
from coherence.table.needs import CONDITIONALS
from coherence.table.prompts import reference_prompt
from coherence.table.schema import COMPUTED_KINDS, state_columns

NULL = "the mean over contexts of E[P(theta|x)] - E[sum_j P(theta|x,z=j) P(z=j|x)] is zero"
UNIT = "probability"
KEY = ["context", "rep"]
TOO_FEW = "noise can be removed only with two repetitions per context"
NEVER_ABOVE_0 = f"fewer than {MIN_CONTEXTS} contexts have a belief above 0"
RELATIVE = "median of |gap| / belief"
NOISELESS = "root-mean-square gap, noise removed"


def _under(runs: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, list[str]]:
    """Rows under the reference prompt, and other prompts that asked for beliefs given z."""
    if "prompt" not in runs.columns:
        return runs, []
    conditional = runs["z_state"].notna()
    prompt = runs["prompt"].astype(str)
    wanted = (prompt == reference) | (conditional & runs["prompt"].isna())
    return runs[wanted], sorted(prompt[conditional & ~wanted].unique())


def _gaps(runs: pd.DataFrame, states: pd.Series) -> tuple[pd.DataFrame, int]:
    """Belief and reconstruction by context, repetition and z; and how many were incomplete.

    `states` counts the values of each z.
    """
    conditional = runs[runs["z_state"].notna()]
    plain = runs[runs["z_state"].isna()]
    n_asked = conditional.groupby([*KEY, "z"], observed=True).ngroups
    # A state that was asked for twice counts once, with the mean of its answers.
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
    whole = grouped[(grouped["answered"] == grouped["wanted"]) & (grouped["total"] > 0)]
    joined = whole.merge(plain[[*KEY, "p"]].dropna(subset="p"), on=KEY, how="inner")
    joined["residual"] = joined["total"] - 1
    # Stated distributions may sum to .99 or 1.01 from rounding; the residual is reported, the
    # reconstruction uses the normalised weights.
    joined["reconstructed"] = joined["weighted"] / joined["total"]
    joined["gap"] = joined["p"] - joined["reconstructed"]
    return joined, n_asked - len(joined)


def _mean_over_contexts(values: pd.Series, context: pd.Series) -> Floats:
    return values.groupby(context, observed=True).mean().to_numpy(dtype=np.float64)


def _computed(runs: pd.DataFrame) -> bool:
    """Tell whether all beliefs are expectations themselves, without the noise of drawing."""
    return "belief_kind" in runs and bool(runs["belief_kind"].isin(COMPUTED_KINDS).all())


def _squares(gaps: pd.DataFrame, computed: bool) -> tuple[Floats, Floats] | None:
    """Squared gap, and unbiased squared expected gap, of each context with two repetitions.

    None where those are too few; beliefs that are `computed` need no second one. The mean product
    of the gaps of different repetitions is free of the noise that one repetition carries. Gaps of
    different auxiliary variables in one repetition share its plain belief and with it the noise, so
    that products are taken within each variable.
    """
    once = gaps.groupby([*KEY, "z"], observed=True)["gap"].mean().reset_index()
    by_variable = once.assign(square=once["gap"] ** 2).groupby(["context", "z"], observed=True)
    sums = by_variable.agg(n=("gap", "size"), total=("gap", "sum"), square=("square", "sum"))
    sums = sums[sums["n"] >= (1 if computed else 2)]
    if sums.index.get_level_values("context").nunique() < MIN_CONTEXTS:
        return None
    squares = pd.DataFrame(
        {
            "raw": sums["square"] / sums["n"],
            "expected": sums["square"] / sums["n"]
            if computed
            else (sums["total"] ** 2 - sums["square"]) / (sums["n"] * (sums["n"] - 1)),
        }
    )
    of_context = squares.groupby("context", observed=True).mean()
    return of_context["raw"].to_numpy(dtype=np.float64), of_context["expected"].to_numpy(
        dtype=np.float64
    )


def iterated_expectation_test(
    runs: pd.DataFrame,
    *,
    reference: str | None = None,
    n_flips: int = 9_999,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether beliefs average out over an auxiliary variable.

    Null: averaged over contexts, the expected belief equals the expected reconstruction from the
    beliefs given z.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``rep``, ``p``, ``z``, ``z_state``, ``p_z``, optionally ``prompt``.
        Ordinary rows have no ``z_state``; the other rows hold P(theta | x, z = z_state) in ``p``
        and P(z = z_state | x) in ``p_z``. Where ``belief_kind``, if there is one, calls all beliefs
        computed (stated:exact, token, revealed), there is no noise to be removed.
    reference : str, optional
        Prompt whose rows are used; None takes the one of `coherence.table.prompts`. Rows with a
        ``z_state`` and without a prompt belong to it.
    n_flips : int
        Random sign assignments of the test.
    n_bootstraps : int
        Resamples of rows for the published interval.
    published : bool
        Report the median of ``|gap| / belief`` with a percentile interval over rows instead; no
        p-value.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the mean signed gap, with an interval over contexts and a two-sided sign-flip
        p-value over contexts. `details` holds, with intervals: the mean signed gap, the mean and
        the median absolute gap, the median of ``|gap| / belief``, the root-mean-square gap, the
        same after removing answer noise (needs two repetitions), the noise floor (root-mean-square
        gap that repetitions alone imply), and the mean of ``sum_j P(z = j | x) - 1``; ``reason``
        there says what keeps a value or an interval from being known. Noise is removed within each
        auxiliary variable, then the variables of a context are averaged.

    Raises
    ------
    InputError
        A column is missing, or beliefs are over several states.

    Notes
    -----
    Assumes independent contexts, and that the answers that form one gap are given independently of
    each other (separate contexts windows), so that the expected product of two answers is the
    product of their expectations. The sign-flip test also assumes gaps symmetric about their mean.
    Gaps of opposite sign cancel in the mean; the corrected root-mean-square gap shows them.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21, for the sign flips.
    """
    _require_columns(runs)
    n_flips = whole_number(n_flips, "n_flips", 99)
    generator = as_generator(rng)
    reference = reference_prompt(runs) if reference is None else str(reference)
    used, elsewhere = _under(runs, reference)
    # A state that only another prompt asked for is missing under this one.
    states = runs[runs["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps, dropped = _gaps(used, states)
    n_contexts = int(gaps["context"].nunique())
    result = CheckResult(
        check="iterated_expectation",
        null=NULL,
        statistic=math.nan,
        unit="of belief" if published else UNIT,
        interval=None,
        pvalue=None if published else math.nan,
        n_rows=len(gaps),
        n_contexts=n_contexts,
        n_dropped=dropped,
        settings={
            "reference": reference,
            "published": published,
            "n_flips": n_flips,
            "n_bootstraps": n_bootstraps,
        },
    )
    if n_contexts < MIN_CONTEXTS:
        few = f"{n_contexts} contexts with a belief and all beliefs given z are fewer than"
        reason = f"{few} {MIN_CONTEXTS}"
        if elsewhere and not used["z_state"].notna().any():
            reason = (
                f"beliefs given z are there under {', '.join(map(repr, elsewhere))} only, "
                f"and none under the reference prompt {reference!r}"
            )
        return replace(result, reason=reason)
    relative = (gaps["gap"].abs() / gaps["p"].where(gaps["p"] > 0)).to_numpy(dtype=np.float64)
    if published:
        return _published(result, gaps, relative, n_bootstraps, generator)

    details = _measures(gaps, relative, _computed(used))
    value, low, high = _measured(details, "mean signed gap")
    # Signs are flipped by context: repetitions and variables of one share its evidence.
    of_context = _mean_over_contexts(gaps["gap"], gaps["context"])
    pvalue = sign_flip_pvalue(of_context, n_flips=n_flips, rng=generator)
    reason = NO_SPREAD.format(what="gap") if math.isnan(low) else ""
    if math.isnan(pvalue):
        reason = "every gap is exactly zero: nothing to test"
    return replace(
        result,
        statistic=value,
        interval=None if math.isnan(low) else Interval(low, high, 0.95, METHOD),
        pvalue=pvalue,
        details=details,
        assumptions=(
            "contexts are independent",
            "answers that form one gap are independent",
            "gaps are symmetric about their mean",
        ),
        reason=reason,
    )


def _require_columns(runs: pd.DataFrame) -> None:
    require_frame(runs)
    states = state_columns(runs)
    require(
        len(states) < 2,
        "iterated_expectation_test needs a belief in one state in the column 'p'; received beliefs "
        f"over several states in {', '.join(states)}. "
        "Test one state at a time: rename its column to 'p'.",
    )
    for column in (*KEY, "p", "z", "z_state", "p_z"):
        lack = f"runs must have a column {column!r} for the iterated expectation. "
        require(column in runs.columns, lack + closest(column, runs.columns))


def _measured(details: pd.DataFrame, measure: str) -> tuple[float, float, float]:
    """Read one summary and the ends of its interval."""
    row = details.loc[details["measure"] == measure].iloc[0]
    return float(row["value"]), float(row["low"]), float(row["high"])


def _published(
    result: CheckResult,
    gaps: pd.DataFrame,
    relative: Floats,
    n_bootstraps: int,
    rng: np.random.Generator,
) -> CheckResult:
    """Report the median relative gap with a percentile interval over rows."""
    n = len(relative)
    draws = [np.nanmedian(relative[rng.integers(n, size=n)]) for _ in range(n_bootstraps)]
    method = f"percentile bootstrap over rows, {n_bootstraps} resamples"
    return replace(
        result,
        null=RELATIVE,
        statistic=float(np.nanmedian(relative)),
        interval=Interval(*percentile_interval(np.array(draws)), 0.95, method),
        details=gaps.drop(columns=["weighted", "answered", "wanted"]),
        assumptions=("rows are independent",),
    )


def _measures(gaps: pd.DataFrame, relative: Floats, computed: bool) -> pd.DataFrame:
    """All summaries of the gaps, each with an interval over contexts."""
    context = gaps["context"]
    squares = _squares(gaps, computed)
    square = _mean_over_contexts(gaps["gap"] ** 2, context)
    rows: list[tuple[str, float, float, float, str]] = []

    def record(measure: str, value: float, interval: Interval | None, reason: str) -> None:
        rows.append(
            (measure, value, math.nan, math.nan, reason)
            if interval is None
            else (measure, value, interval.low, interval.high, "")
        )

    def add(measure: str, per_context: Floats | None, root: bool = False) -> None:
        if per_context is None:
            record(measure, math.nan, None, TOO_FEW)
            return
        value = float(per_context.mean())
        # A mean square that chance has pushed below 0 stands for a root of 0.
        record(
            measure,
            math.sqrt(max(value, 0.0)) if root else value,
            mean_interval(per_context, root=root),
            why_none(per_context, "gap"),
        )

    add("mean signed gap", _mean_over_contexts(gaps["gap"], context))
    add("mean absolute gap", _mean_over_contexts(gaps["gap"].abs(), context))
    for measure, values in (
        ("median absolute gap", gaps["gap"].abs().to_numpy()),
        (RELATIVE, relative),
    ):
        known = ~np.isnan(values)
        if len(np.unique(context[known])) < MIN_CONTEXTS:
            record(measure, math.nan, None, NEVER_ABOVE_0)
            continue
        bounds = median_interval(values[known], pd.factorize(context[known])[0])
        record(measure, float(np.median(values[known])), bounds, NO_SPREAD.format(what="gap"))
    add("root-mean-square gap", square, root=True)
    add(NOISELESS, None if squares is None else squares[1], root=True)
    add(
        "noise floor (root-mean-square gap from repetitions alone)",
        None if squares is None else squares[0] - squares[1],
        root=True,
    )
    add("sum of P(z|x) minus 1", _mean_over_contexts(gaps["residual"], context))
    return pd.DataFrame(rows, columns=["measure", "value", "low", "high", "reason"])


def _with_lifted(runs: pd.DataFrame, **options: Any) -> list[CheckResult]:
    """Run the test, and lift the two effect sizes that people quote out of its details."""
    result = iterated_expectation_test(runs, **options)
    if options.get("published") or math.isnan(result.statistic):
        return [result]
    results = [result]
    for variant, measure, unit, method, lack in (
        ("relative", RELATIVE, "of belief", MEDIAN_METHOD, NEVER_ABOVE_0),
        ("noise_removed", NOISELESS, "probability", METHOD, TOO_FEW),
    ):
        value, low, high = _measured(result.details, measure)
        row = result.details["measure"] == measure
        reason = lack if math.isnan(value) else str(result.details.loc[row, "reason"].iloc[0])
        lifted = replace(
            result,
            check=f"iterated_expectation:{variant}",
            null=measure,
            statistic=value,
            unit=unit,
            interval=None if reason else Interval(low, high, 0.95, method),
            pvalue=None,
            details=pd.DataFrame(),
            reason=reason,
            assumptions=result.assumptions[:2],
        )
        results.append(lifted)
    return results


def _plan(facts: Facts) -> CallsAndNotes:
    if not holds_conditionals(facts.runs):
        yield "no z, z_state and p_z columns: the law of iterated expectation was not checked."
        return
    options = {"reference": facts.reference, "published": facts.published}
    kind = ["belief_kind"] if "belief_kind" in facts.runs.columns else []
    yield Call(partial(_with_lifted, facts.runs[[*GAP_COLUMNS, *kind]], **options))


_HALF = "Half of the gaps exceed {value:.1%} of the belief; answer noise is included."
CHECK = Check(
    name="iterated_expectation",
    needs=CONDITIONALS,
    sentences={
        "": Sentences(
            rejected="Beliefs do not average out over the auxiliary variable: "
            "they are no single probability distribution.",
            sign="beliefs do not average out over the auxiliary variable",
            powered=True,
            kept="No sign of a gap in one direction; the noise-removed one shows gaps that cancel.",
            published=_HALF,
        ),
        "relative": Sentences(estimate=_HALF),
        "noise_removed": Sentences(
            estimate="Beyond answer noise, beliefs and their averages differ by {value:.3f} "
            "(root mean square)."
        ),
    },
    plan=_plan,
    parts=(FOREST,),
)
