"""What the papers' tables show beyond the checks of a report, computed from the runs table.

The test of sufficiency under isotonic calibration, the scatter of repetitions, and the distance to
the exact posterior under every wording, for each (task, model).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.reading import as_runs, read_units
from coherence.analysis.unit import UnitRows
from coherence.checks.calibration import calibration_estimates
from coherence.checks.cmi import cmi_test
from coherence.errors import InputError
from coherence.inputs import MIN_CONTEXTS
from coherence.result import CheckResult
from coherence.statistics.mean_interval import mean_interval, why_none
from coherence.statistics.multiplicity import benjamini_hochberg, holm
from coherence.statistics.parallel import call, run_calls
from coherence.statistics.resample import Seed, as_generator
from coherence.table.needs import JUDGED_CHOICES
from coherence.table.runs import REFERENCE, Runs
from coherence.table.schema import COMPUTED_KINDS

ISOTONIC = "cmi:isotonic"
SCATTER = "repetition_sd"
SINGLE, NOISELESS = "truth_rmse", "truth_rmse_noise_removed"
_UNIT = "probability"
_PAPER_ORDER = (REFERENCE, "mse", "absolute", "bayes")

UnitResult = tuple[str, str, CheckResult]
"""Task, model, result."""


def in_paper_order(prompts: Sequence[str]) -> list[str]:
    """Return names of wordings with the paper's own first, the others sorted."""
    known = [name for name in _PAPER_ORDER if name in prompts]
    return known + sorted(set(prompts) - set(known))


def supplement(
    runs: Runs | pd.DataFrame,
    *,
    beside: Sequence[float] = (),
    published: bool = False,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    merge_labels: bool | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
) -> list[UnitResult]:
    """Compute what the papers' tables show beyond the checks of a report."""
    units, _ = read_units(
        as_runs(runs, merge_labels=merge_labels),
        ["cmi"],
        strict=strict,
        positive=positive,
        reference=reference,
    )
    jobs: list[tuple[str, str, Callable[..., CheckResult]]] = []
    for (key, unit), stream in zip(units, as_generator(rng).spawn(len(units)), strict=True):
        estimates = [] if published else list(_estimates(unit))
        for job in (*_isotonic(unit, published, stream), *estimates):
            jobs.append((str(key[0]), str(key[1]), job))
    results = list(run_calls(call, [(job,) for _, _, job in jobs], n_jobs))
    labelled = zip(jobs, _adjusted(results, beside), strict=True)
    return [(task, model, result) for (task, model, _), result in labelled]


def _adjusted(results: Sequence[CheckResult], beside: Sequence[float]) -> list[CheckResult]:
    """Adjust the p-values over all of them and those beside."""
    pvalues = [math.nan if result.pvalue is None else result.pvalue for result in results]
    family = [*pvalues, *beside]
    n_tests = sum(not math.isnan(pvalue) for pvalue in family)
    adjusted = zip(results, holm(family), benjamini_hochberg(family), strict=False)
    return [
        result
        if result.pvalue is None
        else replace(result, pvalue_holm=float(first), pvalue_bh=float(second), n_tests=n_tests)
        for result, first, second in adjusted
    ]


def _isotonic(
    unit: UnitRows, published: bool, rng: np.random.Generator
) -> Iterator[Callable[..., CheckResult]]:
    """Yield the test of sufficiency under isotonic calibration, where there are rows for it."""
    if len(unit.judged) == 0:
        return
    facts = unit.facts(JUDGED_CHOICES, published)
    if lack := _lack_of_pair(unit):
        yield partial(_uncalibrated, lack, facts.n_dropped, len(facts.belief))
        return
    options = {"context": facts.context, "positive": facts.positive, "published": published}
    test = partial(cmi_test, facts.belief, facts.action, facts.truth, isotonic=True, **options)
    yield partial(_isotonic_result, test, facts.n_dropped, len(facts.belief), rng)


def _lack_of_pair(unit: UnitRows) -> str:
    """Say why beliefs cannot be calibrated to the state; empty if they can."""
    if unit.policies:
        return "calibration takes chosen actions, and here actions are probabilities"
    if not unit.in_two_states:
        return f"calibration takes a belief in one of two states, and here are {len(unit.states)}"
    return unit.unpaired


def _uncalibrated(reason: str, n_dropped: int, n_rows: int) -> CheckResult:
    unit, what = "nats", "information after isotonic calibration"
    return CheckResult(
        ISOTONIC, what, math.nan, unit, None, math.nan, n_rows, 0, n_dropped, reason=reason
    )


def _isotonic_result(
    test: Callable[..., CheckResult], n_dropped: int, n_rows: int, rng: np.random.Generator
) -> CheckResult:
    try:
        result = test(rng=rng)
    except InputError as error:
        # Labels that do not say which state the belief is in: a cell without a number, whose
        # footnote says so, and not the end of all tables.
        return _uncalibrated(str(error), n_dropped, n_rows)
    return replace(result, check=ISOTONIC, n_dropped=n_dropped)


def _estimates(unit: UnitRows) -> Iterator[Callable[..., CheckResult]]:
    plain = unit.rows[unit.rows["z_state"].isna()]
    if "p" in unit.rows.columns or unit.states:
        yield partial(_scatter, unit)
    for prompt in in_paper_order(list(dict.fromkeys(plain["prompt"]))):
        asked = plain[plain["prompt"] == prompt]
        yield partial(_single, unit, asked, prompt)
        yield partial(_noiseless, unit, asked, prompt)


def _undefined(check: str, what: str, asked: pd.DataFrame, reason: str) -> CheckResult:
    n_contexts = int(asked["context"].nunique())
    return CheckResult(
        check, what, math.nan, _UNIT, None, None, len(asked), n_contexts, reason=reason
    )


def _of_squares(
    check: str, what: str, squares: pd.Series, used: pd.DataFrame, asked: pd.DataFrame, of: str
) -> CheckResult:
    """Return the root of a mean over contexts, with its interval."""
    values = squares.dropna().to_numpy(dtype=np.float64)
    result = _undefined(check, what, asked, "")
    result = replace(
        result, n_rows=len(used), n_contexts=len(values), n_dropped=len(asked) - len(used)
    )
    if len(values) < MIN_CONTEXTS:
        few = f"{len(values)} contexts with {of} are fewer than {MIN_CONTEXTS}"
        return replace(result, reason=few)
    interval = mean_interval(values, root=True)
    return replace(
        result,
        # A mean square without its noise may fall below 0 by chance; 0 is then the estimate.
        statistic=math.sqrt(max(float(values.mean()), 0.0)),
        interval=None if interval is None else interval.within(0.0, 1.0),
        assumptions=("contexts are independent",),
        reason="" if interval else why_none(values, "value"),
    )


def _by_context(unit: UnitRows, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, variance and number of the beliefs of each context."""
    table = pd.DataFrame({"context": rows["context"], "belief": unit.belief(rows)})
    beliefs = table.groupby("context", observed=True)["belief"]
    return pd.DataFrame({"mean": beliefs.mean(), "variance": beliefs.var(), "n": beliefs.count()})


def _is_computed(rows: pd.DataFrame) -> bool:
    """Tell whether beliefs were computed from a model's distribution, and have no noise."""
    kinds = set(rows["belief_kind"].dropna()) if "belief_kind" in rows.columns else set()
    return bool(kinds) and kinds <= set(COMPUTED_KINDS)


def _scatter(unit: UnitRows) -> CheckResult:
    what = f"root of the mean variance of repeated answers within contexts, {unit.reference}"
    if not unit.in_two_states:
        return _undefined(SCATTER, what, unit.asked, "beliefs over several states")
    if _is_computed(unit.stated):
        of_answers = "spread of the computed distribution over answers, which is not known of a "
        if "p_sd" not in unit.stated or unit.stated["p_sd"].isna().all():
            kind = f"{of_answers}belief that is one probability"
            return _undefined(SCATTER, what, unit.asked, f"no {kind}")
        # One answer drawn from the distribution would have this variance.
        rows = unit.stated.dropna(subset="p_sd")
        squares = (rows["p_sd"] ** 2).groupby(rows["context"], observed=True).mean()
        what = f"root of the mean variance of the computed distribution, {unit.reference}"
        return _of_squares(SCATTER, what, squares, rows, unit.asked, "a computed distribution")
    variance = _by_context(unit, unit.stated)["variance"]
    return _of_squares(SCATTER, what, variance, unit.stated, unit.asked, "two readable repetitions")


def _lack_of_truth(unit: UnitRows, asked: pd.DataFrame) -> str:
    """Say why answers cannot be compared with the exact posterior; empty if they can."""
    if not unit.in_two_states:
        return f"beliefs over {len(unit.states)} states"
    if not unit.paired:
        return unit.unpaired
    known = "p_true" in asked.columns and asked["p_true"].notna().any()
    return "" if known else "no exact posterior: p_true is missing or empty"


def _compared(unit: UnitRows, asked: pd.DataFrame) -> pd.DataFrame:
    return asked.dropna(subset=[*(unit.states or ["p"]), "p_true"])


def _single(unit: UnitRows, asked: pd.DataFrame, prompt: str) -> CheckResult:
    check, what = f"{SINGLE}:{prompt}", f"root-mean-square error of single answers, {prompt}"
    lack = _lack_of_truth(unit, asked)
    rows = asked if lack else _compared(unit, asked)
    if lack or rows.empty:
        return _undefined(check, what, asked, lack or "no readable answer")
    result = calibration_estimates(
        unit.belief(rows), p_true=rows["p_true"], context=rows["context"]
    )[0]
    n_dropped = len(asked) - len(rows)
    return replace(result, check=check, null=what, n_dropped=n_dropped, details=pd.DataFrame())


def _noiseless(unit: UnitRows, asked: pd.DataFrame, prompt: str) -> CheckResult:
    check, what = f"{NOISELESS}:{prompt}", f"root-mean-square error of expected answers, {prompt}"
    lack = _lack_of_truth(unit, asked)
    rows = asked if lack else _compared(unit, asked)
    if lack or rows.empty:
        return _undefined(check, what, asked, lack or "no readable answer")
    answers = _by_context(unit, rows)
    truth = rows.groupby("context", observed=True)["p_true"].mean()
    # The mean of n answers misses the expected one by their variance over n.
    noise = 0.0 if _is_computed(rows) else answers["variance"] / answers["n"]
    squares = (answers["mean"] - truth) ** 2 - noise
    return _of_squares(check, what, squares, rows, asked, "two readable repetitions")
