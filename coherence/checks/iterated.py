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

from coherence.checks.check import FEWEST_DRAWS, Call, CallsAndNotes, Check, Facts, Sentences
from coherence.checks.forest_baseline import CHECK as FOREST
from coherence.checks.forest_baseline import GAP_COLUMNS, holds_conditionals
from coherence.checks.iterated_effect import NAME, iterated_effects
from coherence.checks.iterated_gaps import (
    KEY,
    gaps_of,
    mean_over_contexts,
    under_prompt,
    without_noise,
)
from coherence.checks.iterated_measures import (
    BEYOND,
    NEVER_ABOVE_0,
    RELATIVE,
    SIGNED,
    TOO_FEW,
    measures_of,
)
from coherence.errors import closest
from coherence.inputs import MIN_CONTEXTS, Floats, require, whole_number
from coherence.result import CheckResult, Interval
from coherence.statistics.mean_interval import MEDIAN_METHOD, METHOD, NO_SPREAD
from coherence.statistics.resample import Seed, as_generator, percentile_interval, sign_flip_pvalue
from coherence.statistics.rounding import ROUNDING_METHOD
from coherence.table.frames import require_frame, require_plain_table
from coherence.table.needs import CONDITIONALS
from coherence.table.prompts import reference_prompt
from coherence.table.schema import state_columns

FEWEST = {"n_flips": FEWEST_DRAWS}
NULL = "the mean over contexts of E[P(theta|x)] - E[sum_j P(theta|x,z=j) P(z=j|x)] is zero"
ASSUMPTIONS = (
    "contexts are independent",
    "answers that form one gap are independent",
    "gaps are symmetric about their mean",
)
UNIT = "probability"


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
        gap that repetitions alone imply), the rounding floor (the one that the steps of the reports
        imply for a coherent agent), the root-mean-square gap after removing noise and rounding, and
        the mean of ``sum_j P(z = j | x) - 1``; ``reason`` there says what keeps a value or an
        interval from being known. Without repetitions rounding alone is removed, in a row that says
        so. Noise is removed within each auxiliary variable, then the variables of a context are
        averaged. ``settings["grids"]`` says what steps each kind of column shows.

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

    Reports in steps of .05 are wrong by up to .025, alike in all repetitions. The grid is fitted to
    each kind of column (a mixture, where some reports are rougher), the scatter before rounding to
    repetitions; true values are drawn within the steps, and the gap is the one that explains the
    mean square (`coherence.statistics.rounding`). Columns with fewer than three different values
    show no grid: what is always .5 may be exact. Scatter wider than a step makes rounding part of
    the noise. Where steps are wider than the gaps, the interval holds what gaps of one size and
    gaps of normal size would be.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21, for the sign flips.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("wordbound", n_contexts=60, n_reps=3, rng=1)
    >>> result = iterated_expectation_test(runs, n_flips=999, n_bootstraps=200, rng=1)
    >>> result.check, result.n_contexts
    ('iterated_expectation', 60)
    """
    _require_columns(runs)
    n_flips = whole_number(n_flips, "n_flips", 99)
    generator = as_generator(rng)
    reference = reference_prompt(runs) if reference is None else str(reference)
    used, elsewhere = under_prompt(runs, reference)
    # A state that only another prompt asked for is missing under this one.
    states = runs[runs["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps = gaps_of(used, states, computed=without_noise(used))
    n_contexts = int(gaps.rows["context"].nunique())
    result = CheckResult(
        check="iterated_expectation",
        null=NULL,
        statistic=math.nan,
        unit="of belief" if published else UNIT,
        interval=None,
        pvalue=None if published else math.nan,
        n_rows=len(gaps.rows),
        n_contexts=n_contexts,
        n_dropped=gaps.n_dropped,
        settings={
            "reference": reference,
            "published": published,
            "n_flips": n_flips,
            "n_bootstraps": n_bootstraps,
        },
    )
    if n_contexts < MIN_CONTEXTS:
        asked = bool(used["z_state"].notna().any())
        return replace(
            result, reason=_too_little(n_contexts, [] if asked else elsewhere, reference)
        )
    rows = gaps.rows
    relative = (rows["gap"].abs() / rows["p"].where(rows["p"] > 0)).to_numpy(dtype=np.float64)
    if published:
        return _published(result, rows, relative, n_bootstraps, generator)

    details, grids = measures_of(gaps, relative)
    value, low, high = _measured(details, SIGNED)
    # Signs are flipped by context: repetitions and variables of one share its evidence.
    of_context = mean_over_contexts(rows["gap"], rows["context"])
    pvalue = sign_flip_pvalue(of_context, n_flips=n_flips, rng=generator)
    reason = NO_SPREAD.format(what="gap") if math.isnan(low) else ""
    if math.isnan(pvalue):
        reason = "every gap is exactly zero: nothing to test"
    found = {"grids": grids, "share_of_largest_tenth": _of_largest_tenth(of_context)}
    return replace(
        result,
        statistic=value,
        interval=None if math.isnan(low) else Interval(low, high, 0.95, METHOD),
        pvalue=pvalue,
        settings={**result.settings, **found},
        details=details,
        assumptions=ASSUMPTIONS,
        reason=reason,
    )


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
    few = f"{n_contexts} contexts with a belief and all beliefs given z are fewer than"
    return f"{few} {MIN_CONTEXTS}"


def _require_columns(runs: pd.DataFrame) -> None:
    require_frame(runs)
    require_plain_table(runs)
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


def _with_lifted(runs: pd.DataFrame, **options: Any) -> list[CheckResult]:
    """Run the test, and lift the two effect sizes that people quote out of its details."""
    result = iterated_expectation_test(runs, **options)
    if options.get("published") or math.isnan(result.statistic):
        return [result]
    results = [result]
    for variant, measure, unit, method, lack in (
        ("relative", RELATIVE, "of belief", MEDIAN_METHOD, NEVER_ABOVE_0),
        ("noise_removed", BEYOND, "probability", ROUNDING_METHOD, TOO_FEW),
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
        if variant == "noise_removed":
            share = result.settings["share_of_largest_tenth"]
            # Of 30 to 50 contexts, a tenth with nearly all of the gap: held in .75 to .85.
            spread = f"gaps are spread over contexts (the largest tenth has {share:.0%} of squares)"
            lifted = replace(lifted, assumptions=(*lifted.assumptions, spread))
        results.append(lifted)
    return results


def _plan(facts: Facts) -> CallsAndNotes:
    if not holds_conditionals(facts.runs):
        yield "no z, z_state and p_z columns: the law of iterated expectation was not checked."
        return
    options = {"reference": facts.reference, "published": facts.published}
    kind = ["belief_kind"] if "belief_kind" in facts.runs.columns else []
    runs = facts.runs[[*GAP_COLUMNS, *kind]]
    alone = partial(iterated_effects, runs, reference=facts.reference)
    yield Call(partial(_with_lifted, runs, **options), fewest=FEWEST, effects=alone)


_HALF = "Half of the gaps exceed {value:.1%} of the belief; answer noise is included."
CHECK = Check(
    name=NAME,
    needs=CONDITIONALS,
    sentences={
        "": Sentences(
            rejected="Beliefs do not average out over the auxiliary variable: "
            "they are no single probability distribution.",
            sign="beliefs do not average out over the auxiliary variable",
            kept="No sign of a gap in one direction; the noise-removed one shows gaps that cancel.",
            published=_HALF,
        ),
        "relative": Sentences(estimate=_HALF, discrepancy=True, distance=True),
        "noise_removed": Sentences(
            estimate="Beyond answer noise and rounding, beliefs and their averages differ by "
            "{value:.3f} (root mean square).",
            discrepancy=True,
            distance=True,
        ),
    },
    plan=_plan,
    parts=(FOREST,),
)
