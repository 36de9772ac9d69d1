"""The Brier score of forecasts of one model, what it is made of, and a test of their calibration.

Parts and curve are those of isotonic recalibration, with the band of redrawn outcomes (CORP;
Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8), sections 3 and 4). No part has an interval: a
bootstrap never covers a miscalibration of 0.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from coherence.checks.by_name import takes_columns
from coherence.checks.calibration import ONE_OUTCOME
from coherence.checks.check import ANY, Check, Interpretation, Plan, Question, blank
from coherence.inputs import (
    Codes,
    Floats,
    as_codes,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
)
from coherence.result import CheckResult, Family, ForecastScores, joined_reasons
from coherence.runs.needs import FORECASTS
from coherence.runs.notes import not_run
from coherence.runs.runs import Runs
from coherence.statistics import resample
from coherence.statistics.evaluation import (
    EvaluationData,
    evaluation_data,
    require_state,
    states_of_columns,
)
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Seed

NAME = "scores"
N_DRAWS = 1_999
MOST_DRAWN = 200
"""Forecasts at which the reliability curve and its band are kept."""
SEVERAL_STATES = "of three states and more there is the Brier score alone"
DEPENDENT = "outcomes of a group may depend on each other, and redrawn ones do not"
LOGIT_ENDS = 0.01, 0.99  # of the forecasts whose log-odds the test takes
_NOTHING = 1e-12
_TIE = 1e-9  # of redrawn and observed statistic, but for rounding


@dataclass(frozen=True, repr=False)
class ScoresResult(CheckResult):
    """Result of `coherence.calibration_test`, whose scores are `fitted`."""

    fitted: ForecastScores | None = None
    averaged: bool | None = None  # whether a forecast is the mean of those of its case
    prompt: str | None = None  # of a report: under which the forecasts were made


@takes_columns("belief", "truth", "context", "group", n_draws=19)
def calibration_test(
    belief: ArrayLike,
    truth: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    states: Sequence[Any] | None = None,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> ScoresResult:
    """Score forecasts, and test whether outcomes happen as often as they say.

    Null: each outcome is drawn, independently of the others, with the probability that was
    forecast; of several forecasts of a case, with their mean.

    Estimand: the miscalibration MCB, by how much isotonic recalibration would lower the Brier score
    of the mean forecasts (a squared error); cases count alike.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, or of every state in rows that sum to 1.
    group : array-like, shape (n,), optional
        What cases share: the intervals of scores then take groups for their clusters, and
        calibration is not tested. Constant within a case.
    states : sequence, optional
        Labels of the columns of `belief`, as `truth` names them. None takes the names of columns of
        a DataFrame, else the labels of `truth` by value where all are numbers, or no and yes, or
        false and true, and as many as the columns.
    n_draws : int
        Sets of outcomes that are redrawn from the forecasts.

    Returns
    -------
    ScoresResult
        `statistic` is the miscalibration (MCB, squared error) of the mean forecasts of cases,
        without an interval; `pvalue` is (1 + b) / (1 + `n_draws`) with b redrawn sets of outcomes
        whose score is as large as that of the data. `fitted` holds ``miscalibration``,
        ``discrimination`` and ``uncertainty`` of the mean forecasts, whose sum (the second taken
        negative) is their Brier score, and ``brier``, that of single forecasts, averaged over a
        case, with an interval over cases. `details` is
        the reliability curve at up to 200 forecasts: ``forecast``, ``recalibrated`` (isotonic
        regression), and the ends ``low`` and ``high`` of the pointwise 95% consistency band, in
        which the curve of a calibrated forecaster lies. Of three states and more the Brier score,
        the sum over the states, is all there is: `statistic` with its interval, and no p-value.

    Raises
    ------
    InputError
        An array breaks its rule, or nothing says which label of `truth` the belief is in.

    Notes
    -----
    The test is the score test of a = 0 and b = 1 in logit P(outcome) = a + b logit(forecast), with
    log-odds of forecasts cut at .01 and .99: forecasts too high or too low, too extreme or not
    extreme enough. Its null distribution is that of the redrawn outcomes, because chi-square
    rejects too often with few cases of rare outcomes. It does not see a curve that crosses the
    diagonal twice; MCB and the curve show that.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45(3/4), for
    the test; Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8), for decomposition and band; Brier (1950), Monthly Weather Review
    78(1), for the sum over states.

    Examples
    --------
    >>> result = calibration_test([0.2, 0.6] * 20, [0, 1] * 20, rng=1)
    >>> scores = result.fitted
    >>> round(scores.brier, 3), round(scores.miscalibration - scores.discrimination + 0.25, 3)
    (0.1, 0.1)
    >>> result.pvalue
    0.0005
    """
    require_aligned(belief=belief, truth=truth)
    forecasts = evaluation_data(belief, context=context, group=group)
    if forecasts.belief.ndim == 1:
        require(
            states is None,
            f"states are the labels of several columns of belief; received {states!r} with one "
            "column. Name the state that it is in: positive=LABEL.",
        )
        named = evaluation_data(forecasts.belief, truth=truth, positive=positive, one_truth=False)
        outcome, labels = require_state(named).astype(np.int64), [0, 1]
    else:
        require(
            positive is None,
            f"positive names the state of a belief in one; received {positive!r} with beliefs in "
            f"{forecasts.belief.shape[1]} states. Leave it out; states= names the columns.",
        )
        codes, seen = as_codes(truth, "truth", forecasts.n_rows)
        labels = states_of_columns(belief, truth, states)
        outcome = np.array([labels.index(label) for label in seen], dtype=np.int64)[codes]
    remedy = "Name what has an outcome of its own as context, and what such cases share as group."
    of_contexts(outcome, labels, forecasts.context, forecasts.contexts, "truth", remedy)
    return _calibration(forecasts, outcome, n_draws=n_draws, rng=rng)


def _calibration(
    data: EvaluationData,
    outcome: Codes,
    *,
    name: str = NAME,
    prompt: str | None = None,
    n_draws: int = N_DRAWS,
    rng: Seed = None,
) -> ScoresResult:
    """Run `calibration_test` on validated data; outcomes number the columns of beliefs.

    Of a belief in one state, or in two, 1 is the outcome that it, or the second, is in.
    """
    n_rows, n_contexts, clusters = data.n_rows, len(data.contexts), data.clusters
    # A column for each state that is scored: of two states the one.
    values, happened = data.belief.reshape(n_rows, -1), outcome[:, None].astype(np.float64)
    n_states = max(values.shape[1], 2)
    if n_states == 2:
        values = values[:, -1:]
    else:
        happened = np.eye(n_states)[outcome]
    squares = ((values - happened) ** 2).sum(axis=1)
    losses = resample.context_means(squares, data.context, n_contexts)
    averaged = n_rows > n_contexts
    forecast = "mean forecast of its case" if averaged else "probability that was forecast"
    by_case = data.by_context(losses)
    scores = ForecastScores(math.nan, None, losses=by_case, n_states=n_states)
    result = blank(
        ScoresResult,
        data,
        name,
        f"each outcome is drawn, independently of the others, with the {forecast}",
        f"squared error ({'MCB' if n_states == 2 else 'Brier score'})",
        pvalue=math.nan,
        settings={"n_draws": n_draws, "cluster of resampling": clusters.name},
        averaged=averaged or None,
        prompt=prompt,
        assumptions=("outcomes of different contexts are independent, given the forecasts",),
        fitted=scores,
    )
    if few := few_contexts(n_contexts):
        return result(reason=few)
    one_outcome, interval = not np.ptp(happened, axis=0).any(), None
    if not one_outcome:
        interval = interval_or_reason(losses, clusters, "error")[0]
    interval = interval and interval.within(0.0, min(n_states - 1.0, 2.0))
    scores = replace(scores, brier=float(losses.mean()), brier_interval=interval)
    lacks = clusters.too_few, ONE_OUTCOME * one_outcome
    if n_states > 2:
        reason = joined_reasons(SEVERAL_STATES, *lacks)
        return result(statistic=scores.brier, interval=interval, fitted=scores, reason=reason)
    means = resample.context_means(values[:, 0], data.context, n_contexts)
    first = np.unique(data.context, return_index=True)[1]
    # Equal means of several forecasts differ in their last bits.
    cases = _Cases.of(means.round(9) if averaged else means, happened[first, 0])
    mcb, dsc, unc = cases.decomposition()
    scores = replace(scores, miscalibration=mcb, discrimination=dsc, uncertainty=unc)
    reached, details = _redrawn(cases, n_draws, resample.check_stream(rng, "calibration"))
    pvalue = (1 + reached) / (1 + n_draws)
    if data.group is not None:  # test and band hold for independent outcomes
        details[["low", "high"]] = pvalue = math.nan
    reason = joined_reasons(DEPENDENT * (data.group is not None), *lacks)
    return result(statistic=mcb, fitted=scores, details=details, pvalue=pvalue, reason=reason)


@dataclass(frozen=True)
class _Cases:
    """Cases pooled by their forecast."""

    forecasts: Floats  # shape (k,): values that occur, ascending
    weight: Floats  # shape (k,): share of cases; sums to 1
    happened: Floats  # shape (k,): share of it in which the state came true
    n_cases: int

    @classmethod
    def of(cls, values: Floats, state: Floats) -> "_Cases":
        """Pool all cases."""
        forecasts, of_case, counts = np.unique(values, return_inverse=True, return_counts=True)
        happened = np.bincount(of_case, weights=state) / counts
        return cls(forecasts, counts / len(values), happened, len(values))

    @cached_property
    def _score(self) -> tuple[Floats, Floats]:
        """Cox's regressors times the cases of each forecast, and the inverse of their variance."""
        cut = np.clip(self.forecasts, *LOGIT_ENDS)
        design = np.stack([np.ones(len(cut)), np.log(cut / (1 - cut))])
        counted = design * self.weight * self.n_cases
        variance = (counted * self.forecasts * (1 - self.forecasts)) @ design.T
        # What cannot happen under the null, as an outcome forecast with 0, has no variance there.
        return counted, np.linalg.inv(variance + _NOTHING * np.eye(2))

    def departure(self, happened: Floats) -> float:
        """Return Cox's score statistic of level and slope for the shares that came true."""
        counted, inverse = self._score
        score = counted @ (happened - self.forecasts)
        return float(score @ inverse @ score)

    def recalibrated(self, happened: Floats) -> Floats:
        """Return the isotonic regression of outcomes on the forecasts."""
        return np.asarray(isotonic_regression(happened, weights=self.weight).x)

    def redrawn(self, n_draws: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw outcomes of all cases from their forecasts; yield the share that came true."""
        counts, size = np.rint(self.weight * self.n_cases).astype(np.int64), len(self.forecasts)
        batch = max(1, resample.NUMBERS_HELD // size)
        for start in range(0, n_draws, batch):
            number = min(batch, n_draws - start)
            yield from rng.binomial(counts, self.forecasts, size=(number, size)) / counts

    def decomposition(self) -> tuple[float, float, float]:
        """Return miscalibration, discrimination and uncertainty; they make the Brier score."""
        happened, weight = self.happened, self.weight
        base = float(weight @ happened)
        of_curve = weight @ (self.recalibrated(happened) - happened) ** 2
        miscalibration = float(weight @ (self.forecasts - happened) ** 2 - of_curve)
        discrimination = float(weight @ (base - happened) ** 2 - of_curve)
        # Nothing can lie below 0, but for rounding.
        spread = base * (1 - base)
        uncertainty = spread if spread >= _NOTHING else 0.0  # 0: all had the same outcome
        return max(miscalibration, 0.0), max(discrimination, 0.0), uncertainty


def _redrawn(cases: _Cases, n_draws: int, rng: np.random.Generator) -> tuple[int, pd.DataFrame]:
    """Count the redrawn outcomes that depart as far as those seen; return curve and band."""
    n, reached = len(cases.forecasts), 0
    at = np.unique(np.linspace(0, n - 1, min(n, MOST_DRAWN)).round().astype(np.int64))  # evenly
    curves = np.empty((n_draws, len(at)))
    observed = cases.departure(cases.happened)
    least = observed - _TIE * max(observed, 1.0)
    for draw, happened in enumerate(cases.redrawn(n_draws, rng)):
        curves[draw] = cases.recalibrated(happened)[at]
        reached += cases.departure(happened) >= least
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    curve = cases.recalibrated(cases.happened)[at]
    return reached, pd.DataFrame(
        {"forecast": cases.forecasts[at], "recalibrated": curve, "low": low, "high": high}
    )


def forecasts_alone(runs: Runs) -> bool:
    """Tell whether a table holds beliefs and nothing but a truth to compare them with."""
    plain = runs.believed & ~runs.given_z
    asked = runs.asked_to_act.any() or runs.levels is not None
    return bool(plain.any() and not runs.given_z.any() and not asked)


def _plan(data: EvaluationData, published: bool) -> Plan:
    """Score the beliefs under the reference prompt, and those under each other prompt."""
    for prompt, each in {"": data, **data.other_prompts}.items():
        several = each.belief.ndim == 2
        rows = each.known("truth") if several else ~np.isnan(each.state)
        name = f"{NAME}:{prompt}" if prompt else NAME
        if rows.any():
            used = replace(each.subset(rows), other_prompts={})
            outcome = np.array(used.column_of)[used.truth] if several else require_state(used)
            options: dict[str, Any] = {"name": name, "prompt": used.prompt}
            yield partial(_calibration, used, outcome.astype(np.int64), **options)
        elif prompt:
            yield not_run(f"no outcome or belief under {prompt!r}: not scored.", name)
        else:
            lack = "no outcome is known: forecasts were not scored."
            if data.known("truth").any():
                lack = (
                    f"truth has {len(data.states)} states, and which of them the beliefs are in is "
                    "not known: forecasts were not scored. Name it (--positive LABEL)."
                )
            yield not_run(lack, name)
            return


CHECK = Check(
    name=NAME,
    origin="Adapted from the test of Cox (1958)",
    figure="plot_reliability",
    needs=FORECASTS,
    sentences={
        key: Interpretation(
            rejected="Outcomes do not happen as often as the {belief}s say" + under + ".",
            nominal="outcomes do not happen as often as the {belief}s say" + under,
            of_calibration=True,
            words="miscalibration; p of level and slope, by redrawn outcomes",
            heading="Brier score",
        )
        for key, under in (("", ""), (ANY, " under {variant!r}"))
    },
    family=Family.SCORES,
    plan=_plan,
    of_persons=True,
    states_named=True,
    every_prompt=True,
    question=Question.RIGHT,
    of_truth=True,
    by_itself=forecasts_alone,
)
