"""Law of iterated expectation: the belief must equal the average of the beliefs given each value of an auxiliary variable.

For each context the stated P(theta | x) is compared with sum_j P(theta | x, z = j) P(z = j | x), all from the same model. The gap may
have any sign; its absolute value is inflated by answer noise, so the signed gap carries the test and the noise is reported beside it.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from coherence.inputs import MIN_CONTEXTS, Floats, require, whole_number
from coherence.mean_interval import METHOD, NO_SPREAD, mean_interval, median_interval
from coherence.resample import Seed, as_generator, percentile_interval, sign_flip_pvalue
from coherence.result import CheckResult, Interval
from coherence.schema import closest, state_columns

NULL = "the mean over contexts of E[P(theta|x)] - E[sum_j P(theta|x,z=j) P(z=j|x)] is zero"
UNIT = "probability"
KEY = ["context", "rep"]


def _gaps(runs: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, int]:
    """One row per context and repetition: belief, its reconstruction, residual of the z distribution; and how many were incomplete."""
    conditional = runs[runs["z_state"].notna()]
    plain = runs[runs["z_state"].isna()]
    if "prompt" in runs.columns:
        plain = plain[plain["prompt"] == reference]
    states = conditional.groupby("z", observed=True)["z_state"].nunique()
    pieces = conditional.assign(product=conditional["p"] * conditional["p_z"], complete=conditional["p"].notna() & conditional["p_z"].notna())
    grouped = pieces.groupby([*KEY, "z"], observed=True).agg(
        answered=("complete", "sum"), total=("p_z", "sum"), weighted=("product", "sum"), lowest=("p", "min"), highest=("p", "max")
    )
    grouped = grouped.reset_index()
    grouped["wanted"] = grouped["z"].map(states).astype(int)
    whole = grouped[(grouped["answered"] == grouped["wanted"]) & (grouped["total"] > 0)]
    joined = whole.merge(plain[[*KEY, "p"]].dropna(subset="p"), on=KEY, how="inner")
    joined["residual"] = joined["total"] - 1
    # Stated distributions may sum to .99 or 1.01 from rounding; the residual is reported, the reconstruction uses the normalised weights.
    joined["reconstructed"] = joined["weighted"] / joined["total"]
    joined["gap"] = joined["p"] - joined["reconstructed"]
    return joined, len(grouped) - len(joined)


def _mean_over_contexts(values: pd.Series, context: pd.Series) -> Floats:
    return values.groupby(context, observed=True).mean().to_numpy(dtype=np.float64)


def _squares(gaps: pd.DataFrame) -> tuple[Floats, Floats] | None:
    """Squared gap and unbiased squared expected gap of each context with two repetitions; None where those are too few.

    The mean product of the gaps of different repetitions is free of the noise that one repetition carries.
    """
    by_context = gaps.assign(square=gaps["gap"] ** 2).groupby("context", observed=True)
    sums = by_context[["gap", "square"]].sum()
    n = by_context.size()
    repeated = (n >= 2).to_numpy()
    if repeated.sum() < MIN_CONTEXTS:
        return None
    size, total, square = (column.to_numpy(dtype=np.float64)[repeated] for column in (n, sums["gap"], sums["square"]))
    return square / size, (total**2 - square) / (size * (size - 1))


def iterated_expectation_test(
    runs: pd.DataFrame,
    *,
    reference: str = "standard",
    n_flips: int = 9_999,
    n_bootstraps: int = 2000,
    published: bool = False,
    rng: Seed = None,
) -> CheckResult:
    """Test whether beliefs average out over an auxiliary variable.

    Null: averaged over contexts, the expected belief equals the expected reconstruction from the beliefs given z.

    Parameters
    ----------
    runs : DataFrame
        Columns ``context``, ``rep``, ``p``, ``z``, ``z_state``, ``p_z``, optionally ``prompt``. Ordinary rows have no ``z_state``; the
        other rows hold P(theta | x, z = z_state) in ``p`` and P(z = z_state | x) in ``p_z``.
    reference : str
        Prompt of the ordinary rows to use.
    n_flips : int
        Random sign assignments of the test.
    n_bootstraps : int
        Resamples of rows for the published interval.
    published : bool
        Report the median of ``|gap| / belief`` with a percentile interval over rows instead; no p-value.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    CheckResult
        `statistic` is the mean signed gap, with an interval over contexts and a two-sided sign-flip p-value over contexts.
        `details` holds, with intervals: the mean signed gap, the mean and the median absolute gap, the median of ``|gap| / belief``,
        the root-mean-square gap, the same after removing answer noise (needs two repetitions), the noise floor (root-mean-square gap
        that repetitions alone imply), and the mean of ``sum_j P(z = j | x) - 1``.

    Raises
    ------
    InputError
        A column is missing, or beliefs are over several states.

    Notes
    -----
    Assumes independent contexts, and that the answers that form one gap are given independently of each other (separate contexts
    windows), so that the expected product of two answers is the product of their expectations. The sign-flip test also assumes gaps
    symmetric about their mean. Gaps of opposite sign cancel in the mean; the corrected root-mean-square gap shows them.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21, for the sign flips.
    """
    states = state_columns(runs)
    refusal = (
        f"iterated_expectation_test needs a belief in one state in the column 'p'; received beliefs over several states in {', '.join(states)}. "
    )
    require(len(states) < 2, refusal + "Test one state at a time: rename its column to 'p'.")
    for column in (*KEY, "p", "z", "z_state", "p_z"):
        require(column in runs.columns, f"runs must have a column {column!r} for the iterated expectation. {closest(column, runs.columns)}")
    n_flips = whole_number(n_flips, "n_flips", 99)
    generator = as_generator(rng)
    gaps, dropped = _gaps(runs, reference)
    n_contexts = int(gaps["context"].nunique())
    settings: dict[str, Any] = {"reference": reference, "published": published, "n_flips": n_flips, "n_bootstraps": n_bootstraps}
    counted: dict[str, Any] = {"n_rows": len(gaps), "n_contexts": n_contexts, "n_dropped": dropped, "settings": settings}
    check = "iterated_expectation"
    unit = "of belief" if published else UNIT
    if n_contexts < MIN_CONTEXTS:
        reason = f"{n_contexts} contexts with a belief and all beliefs given z are fewer than {MIN_CONTEXTS}"
        return CheckResult(check, NULL, math.nan, unit, None, None if published else math.nan, reason=reason, **counted)

    relative = (gaps["gap"].abs() / gaps["p"].where(gaps["p"] > 0)).to_numpy(dtype=np.float64)
    if published:
        draws = np.array([np.nanmedian(relative[generator.integers(len(relative), size=len(relative))]) for _ in range(n_bootstraps)])
        interval = Interval(*percentile_interval(draws), 0.95, f"percentile bootstrap over rows, {n_bootstraps} resamples")
        return CheckResult(
            check, "median of |gap| / belief", float(np.nanmedian(relative)), unit, interval, None,
            details=gaps.drop(columns=["weighted", "answered", "wanted"]), assumptions=("rows are independent",), **counted,
        )  # fmt: skip

    details = _measures(gaps, relative)
    value, low, high = (float(number) for number in details.loc[details["measure"] == "mean signed gap", ["value", "low", "high"]].to_numpy()[0])
    pvalue = sign_flip_pvalue(_mean_over_contexts(gaps["gap"], gaps["context"]), n_flips=n_flips, rng=generator)
    reason = "every gap is exactly zero: nothing to test" if math.isnan(pvalue) else NO_SPREAD.format(what="gap") if math.isnan(low) else ""
    return CheckResult(
        check=check,
        null=NULL,
        statistic=value,
        unit=unit,
        interval=None if math.isnan(low) else Interval(low, high, 0.95, METHOD),
        pvalue=pvalue,
        details=details,
        assumptions=("contexts are independent", "answers that form one gap are independent", "gaps are symmetric about their mean"),
        reason=reason,
        **counted,
    )


def _measures(gaps: pd.DataFrame, relative: Floats) -> pd.DataFrame:
    """All summaries of the gaps, each with an interval over contexts."""
    context = gaps["context"]
    squares = _squares(gaps)
    square = _mean_over_contexts(gaps["gap"] ** 2, context)
    rows: list[tuple[str, float, float, float]] = []

    def add(measure: str, per_context: Floats | None, root: bool = False) -> None:
        if per_context is None:
            rows.append((measure, math.nan, math.nan, math.nan))
            return
        value = float(per_context.mean())
        interval = mean_interval(per_context, root=root)
        low, high = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
        # A mean square that chance has pushed below 0 stands for a root of 0.
        rows.append((measure, math.sqrt(max(value, 0.0)) if root else value, low, high))

    add("mean signed gap", _mean_over_contexts(gaps["gap"], context))
    add("mean absolute gap", _mean_over_contexts(gaps["gap"].abs(), context))
    for measure, values in (("median absolute gap", gaps["gap"].abs().to_numpy()), ("median of |gap| / belief", relative)):
        known = ~np.isnan(values)
        if len(np.unique(context[known])) < MIN_CONTEXTS:
            rows.append((measure, math.nan, math.nan, math.nan))
            continue
        bounds = median_interval(values[known], pd.factorize(context[known])[0])
        rows.append((measure, float(np.median(values[known])), bounds.low, bounds.high))
    add("root-mean-square gap", square, root=True)
    add("root-mean-square gap, noise removed", None if squares is None else squares[1], root=True)
    add("noise floor (root-mean-square gap from repetitions alone)", None if squares is None else squares[0] - squares[1], root=True)
    add("sum of P(z|x) minus 1", _mean_over_contexts(gaps["residual"], context))
    return pd.DataFrame(rows, columns=["measure", "value", "low", "high"])
