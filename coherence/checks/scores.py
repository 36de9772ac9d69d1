"""Scores of forecasts of one model, what they are made of, and a test of their calibration.

The Brier score is the sum of miscalibration less discrimination plus uncertainty, where forecasts
are recalibrated by isotonic regression (CORP; Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8),
section 4). None of the three has an interval: a bootstrap never covers a miscalibration of 0. That
it is 0 is tested instead, by outcomes redrawn from the forecasts, and the same draws give the
consistency band of the reliability diagram (their section 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

from coherence.checks.calibration import as_state, calibration_estimates
from coherence.checks.check import (
    ANY,
    NEVER,
    Call,
    CallsAndNotes,
    Check,
    Facts,
    NotRun,
    Sentences,
)
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_belief,
    as_contexts,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
    whole_number,
)
from coherence.result import CheckResult, Family, ForecastScores
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import NUMBERS_HELD, Seed, Units, as_generator, as_units
from coherence.table.needs import TARGETS
from coherence.table.runs import Runs

N_DRAWS = 1_999
MOST_DRAWN = 200
"""Forecasts at which the reliability curve and its band are kept."""
DEPENDENT = (
    "outcomes of a group may depend on each other, and redrawn ones do not: calibration was not "
    "tested"
)
# With outcomes that happen in 2.4% of cases, intervals held the true score in none of the tables in
# which none happened, of 30 to 200 cases, and in nearly all others.
ONE_OUTCOME = "no interval of scores, because all cases had the same outcome"
_NOTHING = 1e-12  # ties of redrawn and observed statistic, but for rounding


def calibration_test(
    belief: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> CheckResult:
    """Score forecasts, and test whether outcomes happen as often as they say.

    Null: the outcome of each case is drawn, independently of the others, with the probability that
    was forecast (the mean where a case has several forecasts).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of the state `positive`.
    truth : array-like, shape (n,)
        Labels of the realised state, one for each case.
    context : array-like, shape (n,), optional
        Ids of the cases; each counts once, however many rows it has.
    group : array-like, shape (n,), optional
        What cases share: the intervals of scores then take groups for their units, and calibration
        is not tested. Constant within a case.
    positive : Any
        Label of the state that the belief is in. May be left out where the labels are 0 and 1, no
        and yes, or false and true.
    n_draws : int
        Sets of outcomes that are redrawn from the forecasts.
    rng : Generator, int or None
        Source of the outcomes; None draws fresh entropy.

    Returns
    -------
    CheckResult
        `statistic` is the miscalibration (MCB, squared error), without an interval; `pvalue` is
        (1 + b) / (1 + `n_draws`) with b redrawn sets of outcomes of at least that miscalibration.
        `fitted` holds the scores: ``brier`` and ``log_score`` with intervals over cases,
        ``n_infinite``, ``calibration_error``, ``miscalibration``, ``discrimination`` and
        ``uncertainty``. `details` is the reliability curve at up to 200 forecasts: ``forecast``,
        ``recalibrated`` (isotonic regression), and the ends ``low`` and ``high`` of the pointwise
        95% consistency band, in which the curve of a calibrated forecaster lies.

    Raises
    ------
    InputError
        An array breaks its rule, or nothing says which label of `truth` the belief is in.

    Notes
    -----
    The test sees no single forecast of 0 or 1 that was wrong where many others were right: the
    log score is then infinite.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8), for decomposition and band.

    Examples
    --------
    >>> result = calibration_test([0.2, 0.6] * 20, [0, 1] * 20, rng=1)
    >>> scores = result.fitted
    >>> round(scores.brier, 3), round(scores.miscalibration - scores.discrimination + 0.25, 3)
    (0.1, 0.1)
    >>> result.pvalue
    0.0005
    """
    require_aligned(belief=belief, truth=truth, context=context, group=group)
    values = as_belief(belief)
    require(values.ndim == 1, "belief and truth must be one-dimensional and of equal length.")
    n_draws = whole_number(n_draws, "n_draws", 19)
    generator = as_generator(rng)
    state = as_state(truth, len(values), positive)
    of_row, contexts = as_contexts(context, len(values))
    of_contexts(
        *(state.astype(np.int64), (0, 1), of_row, contexts, "truth"),
        "Name what has an outcome of its own as context, and what such cases share as group.",
    )
    units = as_units(group, of_row, contexts)
    too_few = len(contexts) < MIN_CONTEXTS  # scores and test are then undefined
    cases = _Cases.of(values, state, of_row, len(contexts))
    _, error, _ = calibration_estimates(values, state, context=context, group=group)
    losses = _losses(values, state, of_row, contexts)
    if group is not None:
        losses["group"] = pd.Series(np.asarray(group)).groupby(of_row).first().to_numpy()
    scores = _scores(losses, int(np.isinf(losses["log"].to_numpy()).sum()), units, cases, error)
    untested = few_contexts(len(contexts)) if too_few else DEPENDENT if group is not None else ""
    same = "" if too_few or scores.uncertainty else ONE_OUTCOME
    pvalue, details = math.nan, pd.DataFrame()
    if not too_few:
        reached, details = _redrawn(cases, scores.miscalibration, n_draws, generator)
        if not untested:
            pvalue = (1 + reached) / (1 + n_draws)
        else:  # the band holds for independent outcomes, as the test does
            details[["low", "high"]] = math.nan
    return CheckResult(
        check="scores",
        null="outcomes happen as often as forecast",
        statistic=math.nan if too_few else scores.miscalibration,
        unit="squared error (MCB)",
        interval=None,
        pvalue=pvalue,
        n_rows=len(values),
        n_contexts=len(contexts),
        settings={"n_draws": n_draws, "unit of resampling": units.name},
        details=details,
        assumptions=("outcomes of different contexts are independent, given the forecasts",),
        reason="; ".join(filter(None, [untested, same])),
        fitted=scores,
    )


@dataclass(frozen=True)
class _Cases:
    """Forecasts pooled by their value, a case counting once."""

    forecasts: Floats  # shape (k,): values that occur, ascending
    weight: Floats  # shape (k,): share of cases; sums to 1
    happened: Floats  # shape (k,): share of it in which the state came true
    # what a case adds to the weight of each value, shape (k, n_cases); None where each case has one
    # forecast, and all have equal shares
    shares: csr_array | None
    mean: Floats  # shape (n_cases,): mean forecast

    @classmethod
    def of(cls, values: Floats, state: Floats, case: Codes, n_cases: int) -> _Cases:
        """Pool the rows of all cases."""
        forecasts, of_row = np.unique(values, return_inverse=True)
        rows = np.bincount(case, minlength=n_cases).astype(np.float64)
        share = 1 / (rows[case] * n_cases)
        size = (len(forecasts), n_cases)
        weight: Floats = np.bincount(of_row, weights=share).astype(np.float64)
        return cls(
            forecasts,
            weight,
            np.bincount(of_row, weights=share * state) / weight,
            None if len(values) == n_cases else csr_array((share, (of_row, case)), shape=size),
            np.bincount(case, weights=values, minlength=n_cases) / rows,
        )

    def redrawn(self, n_draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw outcomes of all cases from their forecasts; yield the share that came true."""
        n_cases, size = len(self.mean), len(self.forecasts)
        batch = max(1, NUMBERS_HELD // (size if self.shares is None else n_cases))
        for start in range(0, n_draws, batch):
            number = min(batch, n_draws - start)
            if self.shares is None:
                counts = np.rint(self.weight * n_cases).astype(np.int64)
                yield from rng.binomial(counts, self.forecasts, size=(number, size)) / counts
            else:
                outcomes = rng.random((number, n_cases)) < self.mean
                yield from (self.shares @ outcomes.T.astype(np.float64)).T / self.weight


def recalibrated(happened: Floats, weight: Floats) -> Floats:
    """Return the isotonic regression of outcomes on the forecasts, whose order they have."""
    return np.asarray(isotonic_regression(happened, weights=weight).x)


def decomposition(cases: _Cases) -> tuple[float, float, float]:
    """Return miscalibration, discrimination and uncertainty; their sum is the Brier score."""
    happened, weight = cases.happened, cases.weight
    base = float(weight @ happened)
    of_curve = weight @ (recalibrated(happened, weight) - happened) ** 2
    miscalibration = float(weight @ (cases.forecasts - happened) ** 2 - of_curve)
    discrimination = float(weight @ (base - happened) ** 2 - of_curve)
    # Neither can lie below 0, but for rounding.
    return max(miscalibration, 0.0), max(discrimination, 0.0), base * (1 - base)


def _redrawn(
    cases: _Cases, observed: float, n_draws: int, rng: np.random.Generator
) -> tuple[int, pd.DataFrame]:
    """Count the redrawn outcomes that reach the miscalibration; return curve and band."""
    forecasts, weight = cases.forecasts, cases.weight
    n_shown = min(len(forecasts), MOST_DRAWN)
    shown = np.unique(np.linspace(0, len(forecasts) - 1, n_shown).round().astype(np.int64))
    curves, reached = np.empty((n_draws, len(shown))), 0
    for draw, happened in enumerate(cases.redrawn(n_draws, rng)):
        curve = recalibrated(happened, weight)
        curves[draw] = curve[shown]
        square = weight @ ((forecasts - happened) ** 2 - (curve - happened) ** 2)
        reached += bool(square >= observed - _NOTHING)
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    table = {
        "forecast": forecasts[shown],
        "recalibrated": recalibrated(cases.happened, weight)[shown],
        "low": low,
        "high": high,
    }
    return reached, pd.DataFrame(table)


def _losses(values: Floats, state: Floats, case: Codes, contexts: tuple[Any, ...]) -> pd.DataFrame:
    """Return the mean losses of each case."""
    given = np.where(state == 1, values, 1 - values)  # probability of what happened
    with np.errstate(divide="ignore"):
        of_row = pd.DataFrame({"brier": (1 - given) ** 2, "log": -np.log(given)})
    losses = of_row.groupby(case).mean()
    losses.index = pd.Index(list(contexts), tupleize_cols=False)
    return losses


def _scores(
    losses: pd.DataFrame, n_infinite: int, units: Units, cases: _Cases, error: CheckResult
) -> ForecastScores:
    """Score forecasts; of fewer cases than intervals take, scores are undefined."""
    if len(losses) < MIN_CONTEXTS:
        undefined = (math.nan, None)
        parts = (math.nan, math.nan, math.nan)
        return ForecastScores(*undefined, *undefined, n_infinite, *undefined, *parts, losses)
    brier, log = (losses[name].to_numpy(dtype=np.float64) for name in ("brier", "log"))
    parts = decomposition(cases)
    of_brier = of_log = None
    if parts[2]:  # uncertainty
        of_brier = interval_or_reason(brier, units, "error")[0]
        of_log = None if n_infinite else interval_or_reason(log, units, "score")[0]
    return ForecastScores(
        float(brier.mean()),
        None if of_brier is None else of_brier.within(0.0, 1.0),
        float(log.mean()),
        None if of_log is None else of_log.within(0.0, math.inf),
        n_infinite,
        error.statistic,
        error.interval,
        *parts,
        losses,
    )


def forecasts_alone(runs: Runs) -> bool:
    """Tell whether a table holds beliefs and nothing but a truth to compare them with."""
    plain = runs.believed & ~runs.given_z
    return bool(plain.any() and not runs.given_z.any() and not runs.asked_to_act.any())


def _plan(facts: Facts) -> CallsAndNotes:
    """Score the beliefs under the reference prompt, and those under each other prompt."""
    known = facts.state.notna()
    if not known.any():
        yield NotRun("no outcome is known: forecasts were not scored.", ("scores",))
        return
    group = None if facts.group is None else facts.group[known]
    options = {"context": facts.context[known], "group": group}
    belief = facts.belief[known.to_numpy()]
    yield Call(
        partial(_under_prompt, "", facts.reference, belief, facts.state[known], **options),
        n_dropped=facts.n_asked - int(known.sum()),
        twins=NEVER,
    )
    table = facts.runs.table
    if "prompt" not in table or "p" not in table or "theta" not in table:
        return
    # A state is coded as under the reference prompt.
    codes = dict(zip(facts.truth[known], facts.state[known], strict=True))
    plain = table[~facts.runs.given_z & (table["prompt"] != facts.reference)]
    for prompt, rows in plain.groupby("prompt", sort=True, observed=True):
        state = rows["theta"].astype(object).map(codes).astype(np.float64)
        used = rows[rows["p"].notna() & state.notna()]
        if used.empty:
            yield NotRun(
                f"no outcome or belief under {prompt!r}: not scored.", (f"scores:{prompt}",)
            )
            continue
        yield Call(
            partial(
                _under_prompt,
                f":{prompt}",
                str(prompt),
                used["p"].to_numpy(dtype=np.float64),
                state[used.index],
                context=used["context"],
                group=used.get("group"),
            ),
            n_dropped=len(rows) - len(used),
            twins=NEVER,
        )


def _under_prompt(variant: str, prompt: str, *beliefs: Any, **options: Any) -> CheckResult:
    """Score the forecasts under one prompt."""
    result = calibration_test(*beliefs, **options)
    settings = {**result.settings, "prompt": prompt}
    return replace(result, check=f"scores{variant}", settings=settings)


CHECK = Check(
    name="scores",
    needs=TARGETS,
    sentences={
        key: Sentences(
            rejected="Outcomes do not happen as often as the {belief}s say" + under + ".",
            sign="outcomes do not happen as often as the {belief}s say" + under,
            of_calibration=True,
            distance=True,
            untwinned="twins keep the calibration of the data",
        )
        for key, under in (("", ""), (ANY, " under {variant!r}"))
    },
    family=Family.SCORES,
    plan=_plan,
    states_named=True,
    every_prompt=True,
    by_itself=forecasts_alone,
)
