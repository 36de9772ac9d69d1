"""Scores of forecasts of one model, what they are made of, and a test of their calibration.

The forecast of a case is the mean of its forecasts: the test, its null, the parts and the curve are
of these means. Brier score, log score and calibration error are those of single forecasts.

Forecasts over three states and more are taken state by state: each has a Brier score of its own,
whose sum is the score of Brier (1950), and parts of its own, whose sums are its parts.

The Brier score of the means is the sum of miscalibration less discrimination plus uncertainty,
where forecasts are recalibrated by isotonic regression (CORP; Dimitriadis, Gneiting and Jordan
2021, PNAS 118(8), section 4). None of the three has an interval: a bootstrap never covers a
miscalibration of 0. Whether forecasts are calibrated is tested by Cox's (1958) score of the level
and the slope of their log-odds, against outcomes redrawn from the forecasts; the same draws give
the consistency band of the reliability diagram (section 3 of the former).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array

from coherence.checks.by_name import takes_columns
from coherence.checks.calibration import (
    ONE_OUTCOME,
    calibration_of,
    classwise_error,
)
from coherence.checks.check import (
    ANY,
    Call,
    CallsAndNotes,
    Check,
    Interpretation,
)
from coherence.errors import listing
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_codes,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
    whole_number,
)
from coherence.result import CheckResult, Family, ForecastScores
from coherence.statistics.evaluation import EvaluationData, evaluation_data, require_state
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import (
    NUMBERS_HELD,
    Clusters,
    Seed,
    check_stream,
    context_means,
)
from coherence.table.needs import FORECASTS
from coherence.table.notes import not_run
from coherence.table.runs import Runs
from coherence.table.states import in_order

N_DRAWS = 1_999
PARTS = ("miscalibration", "discrimination", "uncertainty")
MOST_DRAWN = 200
"""Forecasts at which the reliability curve and its band are kept."""
DEPENDENT = "outcomes of a group may depend on each other, and redrawn ones do not"
LOGIT_ENDS = 0.01, 0.99  # of the forecasts whose log-odds the test takes
_NOTHING = 1e-12
_TIE = 1e-9  # of redrawn and observed statistic, but for rounding


@takes_columns("belief", "truth", "context", "group")
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
) -> CheckResult:
    """Score forecasts, and test whether outcomes happen as often as they say.

    Null: each outcome is drawn, independently of the others, with the probability that was
    forecast; of several forecasts of a case, with their mean.

    Estimand: the miscalibration MCB, by how much isotonic recalibration would lower the Brier score
    of the mean forecasts (a squared error); cases count alike.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, n_states)
        Stated probability of the state `positive`, or of every state in rows that sum to 1.
    truth : array-like, shape (n,)
        Labels of the realised state, one for each case.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    context : array-like, shape (n,), optional
        Ids of the cases; each counts once, however many rows it has.
    group : array-like, shape (n,), optional
        What cases share: the intervals of scores then take groups for their clusters, and
        calibration is not tested. Constant within a case.
    positive : Any
        Label of the state that the belief is in. May be left out where the labels are 0 and 1, no
        and yes, or false and true.
    states : sequence, optional
        Labels of the columns of `belief`, as `truth` names them. None takes the names of columns of
        a DataFrame, else the labels of `truth` by value where all are numbers, or no and yes, or
        false and true, and as many as the columns.
    n_draws : int
        Sets of outcomes that are redrawn from the forecasts.
    rng : Generator, int or None
        Source of the outcomes; None draws fresh entropy.

    Returns
    -------
    CheckResult
        `statistic` is the miscalibration (MCB, squared error) of the mean forecasts of cases,
        without an interval; `pvalue` is (1 + b) / (1 + `n_draws`) with b redrawn sets of outcomes
        whose score is as large as that of the data. `fitted` holds ``miscalibration``,
        ``discrimination`` and ``uncertainty`` of the mean forecasts, whose sum (the second taken
        negative) is their Brier score, and the scores of single forecasts, averaged over a case:
        ``brier`` and ``log_score`` with intervals over cases, ``n_infinite`` and
        ``calibration_error``. Of three states and more these are sums over the states, the
        calibration error is the root mean square over them, and ``by_state`` holds those of the
        mean forecasts apart. `details` is
        the reliability curve at up to 200 forecasts: ``forecast``, ``recalibrated`` (isotonic
        regression), and the ends ``low`` and ``high`` of the pointwise 95% consistency band, in
        which the curve of a calibrated forecaster lies; of three states and more one below the
        other, with a column ``state``.

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

    Of three states and more the null is that all beliefs of a case are right together; scores of
    the states are summed, and what shows in several at once alone is missed.

    The log score is infinite where a forecast of 0 or 1 was wrong.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45(3/4), for
    the test; Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8), for decomposition and band; Brier (1950), Monthly Weather Review
    78(1), for the sum over states; Kull et al. (2019), Beyond temperature scaling, for the
    calibration of each state.

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
    checked = evaluation_data(belief, context=context, group=group)
    forecasts = _Forecasts.of(belief, checked.belief, truth, positive, states)
    of_contexts(
        *(forecasts.outcome, forecasts.labels, checked.context, checked.contexts, "truth"),
        "Name what has an outcome of its own as context, and what such cases share as group.",
    )
    n_draws = whole_number(n_draws, "n_draws", 19)
    return _calibration(forecasts, checked, n_draws=n_draws, rng=rng)


def _calibration(
    forecasts: _Forecasts, data: EvaluationData, *, n_draws: int = N_DRAWS, rng: Seed = None
) -> CheckResult:
    """Run `calibration_test` on validated forecasts, and the contexts and groups of their rows."""
    n_rows, generator, clusters = data.n_rows, check_stream(rng, "calibration"), data.clusters
    of_row, contexts = data.context, data.contexts
    too_few = len(contexts) < MIN_CONTEXTS  # scores and test are then undefined
    means = forecasts.means(of_row, len(contexts))
    cases = means.cases()
    error = _error(forecasts, data)
    by_state = _by_state(means, cases, data)
    losses = _losses(forecasts, of_row, contexts)
    if data.group is not None:
        losses["group"] = pd.Series(list(data.groups))[data.group].to_numpy()
    n_infinite = int((forecasts.given == 0).sum())
    scores = _scores(losses, n_infinite, clusters, cases, error)
    scores = replace(scores, n_states=forecasts.n_states, by_state=by_state)
    untested = few_contexts(len(contexts)) if too_few else "" if data.group is None else DEPENDENT
    same = "" if too_few or scores.uncertainty else ONE_OUTCOME
    pvalue, details = math.nan, pd.DataFrame()
    averaged = n_rows > len(contexts)
    forecast = "mean forecast of its case" if averaged else "probability that was forecast"
    if not too_few:
        reached, details = _redrawn(forecasts.names, cases, n_draws, generator)
        if not untested:
            pvalue = (1 + reached) / (1 + n_draws)
        else:  # the band holds for independent outcomes, as the test does
            details[["low", "high"]] = math.nan
    return CheckResult(
        check="scores",
        null=f"each outcome is drawn, independently of the others, with the {forecast}",
        statistic=math.nan if too_few else scores.miscalibration,
        unit="squared error (MCB)",
        interval=None,
        pvalue=pvalue,
        n_rows=n_rows,
        n_contexts=len(contexts),
        settings={
            "n_draws": n_draws,
            "cluster of resampling": clusters.name,
            **({"averaged": True} if averaged else {}),
        },
        details=details,
        assumptions=("outcomes of different contexts are independent, given the forecasts",),
        reason="; ".join(filter(None, [untested, "" if too_few else clusters.too_few, same])),
        fitted=scores,
    )


@dataclass(frozen=True)
class _Forecasts:
    """Beliefs and what happened, a column for each state that is scored: of two states the one."""

    values: Floats  # shape (n, k)
    outcome: Codes  # of each row; of two states 1 is that of the column
    labels: tuple[Any, ...]  # of the outcomes
    names: tuple[str, ...]  # of the columns; empty for two states

    @classmethod
    def of(
        cls,
        belief: ArrayLike,
        values: Floats,
        truth: ArrayLike,
        positive: Any,
        states: Sequence[Any] | None,
    ) -> _Forecasts:
        """Validate truths, and tell which of the beliefs is in which state."""
        if values.ndim == 1:
            require(
                states is None,
                f"states are the labels of several columns of belief; received {states!r} with one "
                "column. Name the state that it is in: positive=LABEL.",
            )
            return cls.in_one(
                evaluation_data(values, truth=truth, positive=positive, one_truth=False)
            )
        require(
            positive is None,
            f"positive names the state of a belief in one; received {positive!r} with beliefs in "
            f"{values.shape[1]} states. Leave it out; states= names the columns.",
        )
        if states is None and isinstance(belief, pd.DataFrame):
            states = list(belief.columns)
        codes, seen = as_codes(truth, "truth", len(values))
        labels = list(seen) if states is None else list(states)
        require(
            len(labels) == len(set(labels)) == values.shape[1],
            f"states must name the {values.shape[1]} columns of belief, each by its own label of "
            f"truth; received {listing(map(repr, labels))}. Give states=[LABEL, ...] in the order "
            "of the columns.",
        )
        if states is None:
            ordered = in_order(seen)
            require(
                ordered is not None,
                "nothing says which column of belief is which state: truth has "
                f"{listing(map(repr, seen))}. Give states=[LABEL, ...] in the order of the "
                "columns, or a DataFrame whose columns are named so.",
            )
            labels = ordered or labels
        strange = [label for label in seen if label not in labels]
        require(
            not strange,
            f"truth must hold labels of states; received {listing(map(repr, strange))}, and the "
            f"columns of belief are {listing(map(repr, labels))}. Give states=[LABEL, ...] in the "
            "order of the columns.",
        )
        outcome = np.array([labels.index(label) for label in seen], dtype=np.int64)[codes]
        if len(labels) == 2:
            return cls(values[:, 1:], outcome, tuple(labels), ())
        return cls(values, outcome, tuple(labels), tuple(map(str, labels)))

    @classmethod
    def in_one(cls, data: EvaluationData) -> _Forecasts:
        """Return the forecasts of a belief in one of two states."""
        return cls(data.belief[:, None], require_state(data).astype(np.int64), (0, 1), ())

    @classmethod
    def in_columns(cls, data: EvaluationData) -> _Forecasts:
        """Return the forecasts of beliefs over three states and more, whose columns are named."""
        outcome = np.array(data.column_of, dtype=np.int64)[data.truth]
        return cls(data.belief, outcome, data.columns, data.columns)

    @property
    def n_states(self) -> int:
        return max(int(self.values.shape[1]), 2)

    @cached_property
    def happened(self) -> Floats:
        """Whether the state of each column came true, shape (n, k)."""
        if not self.names:
            return self.outcome[:, None].astype(np.float64)
        return np.eye(len(self.names))[self.outcome]

    @cached_property
    def given(self) -> Floats:
        """Probability of what happened, shape (n,)."""
        if not self.names:
            values = self.values[:, 0]
            return np.where(self.outcome == 1, values, 1 - values)
        return self.values[np.arange(len(self.values)), self.outcome]

    def means(self, case: Codes, n_cases: int) -> _Forecasts:
        """Return the mean forecast of each case, and its outcome."""
        first = np.unique(case, return_index=True)[1]
        values = context_means(self.values, case, n_cases)
        if len(case) > n_cases:  # equal means differ in their last bits
            values = values.round(9)
        return replace(self, values=values, outcome=self.outcome[first])

    def cases(self) -> list[_Cases]:
        """Pool the cases, a row each, for every column."""
        several = bool(self.names)
        return [
            _Cases.of(values, happened, with_shares=several)
            for values, happened in zip(self.values.T, self.happened.T, strict=True)
        ]


@dataclass(frozen=True)
class _Cases:
    """Cases pooled by their forecast."""

    forecasts: Floats  # shape (k,): values that occur, ascending
    weight: Floats  # shape (k,): share of cases; sums to 1
    happened: Floats  # shape (k,): share of it in which the state came true
    # what a case adds to the weight of each value, shape (k, n_cases); of one state None
    shares: csr_array | None
    mean: Floats  # shape (n_cases,): forecasts of cases

    @classmethod
    def of(cls, values: Floats, state: Floats, *, with_shares: bool = False) -> _Cases:
        """Pool all cases."""
        forecasts, of_case, counts = np.unique(values, return_inverse=True, return_counts=True)
        n_cases, size = len(values), (len(forecasts), len(values))
        share = np.full(n_cases, 1 / n_cases)
        return cls(
            forecasts,
            counts / n_cases,
            np.bincount(of_case, weights=state) / counts,
            csr_array((share, (of_case, np.arange(n_cases))), shape=size) if with_shares else None,
            values,
        )

    @cached_property
    def _score(self) -> tuple[Floats, Floats]:
        """Cox's regressors times the cases of each forecast, and the inverse of their variance."""
        cut = np.clip(self.forecasts, *LOGIT_ENDS)
        design = np.stack([np.ones(len(cut)), np.log(cut / (1 - cut))])
        counted = design * self.weight * len(self.mean)
        variance = (counted * self.forecasts * (1 - self.forecasts)) @ design.T
        # What cannot happen under the null, as an outcome forecast with 0, has no variance there.
        return counted, np.linalg.inv(variance + _NOTHING * np.eye(2))

    def departure(self, happened: Floats) -> float:
        """Return Cox's score statistic of level and slope for the shares that came true."""
        counted, inverse = self._score
        score = counted @ (happened - self.forecasts)
        return float(score @ inverse @ score)

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
                yield from self.came_true(rng.random((number, n_cases)) < self.mean)

    def came_true(self, outcomes: NDArray[np.bool_]) -> Floats:
        """Return the shares that came true of outcomes of cases, shape (n_draws, n_cases)."""
        assert self.shares is not None
        return np.asarray((self.shares @ outcomes.T.astype(np.float64)).T / self.weight)


def _redraws(
    columns: Sequence[_Cases], n_draws: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, ...]]:
    """Draw the outcomes of all cases anew; yield the share that came true of each column."""
    if len(columns) == 1:
        yield from ((happened,) for happened in columns[0].redrawn(n_draws, rng))
        return
    means = np.stack([cases.mean for cases in columns])
    ends = np.cumsum(means / means.sum(axis=0), axis=0)[:-1, None]
    n_cases = means.shape[1]
    batch = max(1, NUMBERS_HELD // (n_cases * len(columns)))
    for start in range(0, n_draws, batch):
        drawn = (rng.random((min(batch, n_draws - start), n_cases)) >= ends).sum(axis=0)
        of_state = (cases.came_true(drawn == at) for at, cases in enumerate(columns))
        yield from zip(*of_state, strict=True)


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
    uncertainty = base * (1 - base)
    if uncertainty < _NOTHING:  # all cases had the same outcome
        uncertainty = 0.0
    return max(miscalibration, 0.0), max(discrimination, 0.0), uncertainty


def _redrawn(
    names: Sequence[str], columns: Sequence[_Cases], n_draws: int, rng: np.random.Generator
) -> tuple[int, pd.DataFrame]:
    """Count the redrawn outcomes that depart as far as those seen; return curves and bands."""
    shown = [_evenly(cases.forecasts) for cases in columns]
    curves, reached = [np.empty((n_draws, len(at))) for at in shown], 0
    observed = sum(cases.departure(cases.happened) for cases in columns)
    least = observed - _TIE * max(observed, 1.0)
    for draw, shares in enumerate(_redraws(columns, n_draws, rng)):
        departure = 0.0
        for cases, happened, at, kept in zip(columns, shares, shown, curves, strict=True):
            kept[draw] = recalibrated(happened, cases.weight)[at]
            departure += cases.departure(happened)
        reached += departure >= least
    tables = []
    for cases, at, drawn in zip(columns, shown, curves, strict=True):
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        curve = recalibrated(cases.happened, cases.weight)[at]
        table = {"forecast": cases.forecasts[at], "recalibrated": curve, "low": low, "high": high}
        tables.append(pd.DataFrame(table))
    if not names:
        return reached, tables[0]
    tables = [
        table.assign(state=name)[["state", *table]]
        for name, table in zip(names, tables, strict=True)
    ]
    return reached, pd.concat(tables, ignore_index=True)


def _evenly(forecasts: Floats) -> NDArray[np.int64]:
    """Choose the forecasts at which a curve is kept."""
    n_shown = min(len(forecasts), MOST_DRAWN)
    return np.unique(np.linspace(0, len(forecasts) - 1, n_shown).round().astype(np.int64))


def _losses(forecasts: _Forecasts, case: Codes, contexts: tuple[Any, ...]) -> pd.DataFrame:
    """Return the mean losses of each case."""
    given = forecasts.given
    square = (1 - given) ** 2
    if forecasts.names:
        square = ((forecasts.values - forecasts.happened) ** 2).sum(axis=1)
    with np.errstate(divide="ignore"):
        of_row = pd.DataFrame({"brier": square, "log": -np.log(given)})
    losses = of_row.groupby(case).mean()
    losses.index = pd.Index(list(contexts), tupleize_cols=False)
    return losses


def _error(forecasts: _Forecasts, data: EvaluationData) -> CheckResult:
    """Return the calibration error of single forecasts."""
    if forecasts.names:
        resampled = data.context, data.contexts, data.clusters
        return classwise_error(forecasts.values, forecasts.happened, *resampled)
    single = replace(data, belief=forecasts.values[:, 0])
    return calibration_of(single, state=forecasts.happened[:, 0], exact=None)[1]


def _by_state(means: _Forecasts, columns: Sequence[_Cases], data: EvaluationData) -> pd.DataFrame:
    """Return the scores of each of several states, of the mean forecasts of cases."""
    rows = []
    of_cases = replace(data, context=np.arange(len(means.values)))
    for at, (name, cases) in enumerate(zip(means.names, columns, strict=False)):
        brier, error = calibration_of(
            replace(of_cases, belief=means.values[:, at]), state=means.happened[:, at], exact=None
        )[:2]
        row: dict[str, Any] = {
            "state": name,
            "forecast": float(cases.mean.mean()),
            "happened": float(cases.weight @ cases.happened),
        }
        for label, ends, result in (
            ("brier", "brier", brier),
            ("calibration_error", "calibration", error),
        ):
            interval = result.interval
            row[label] = result.statistic
            row[f"{ends}_low"] = math.nan if interval is None else interval.low
            row[f"{ends}_high"] = math.nan if interval is None else interval.high
        parts = (math.nan,) * 3 if math.isnan(brier.statistic) else decomposition(cases)
        rows.append(row | dict(zip(PARTS, parts, strict=True)))
    return pd.DataFrame(rows)


def _scores(
    losses: pd.DataFrame,
    n_infinite: int,
    clusters: Clusters,
    columns: Sequence[_Cases],
    error: CheckResult,
) -> ForecastScores:
    """Score forecasts; of fewer cases than intervals take, scores are undefined."""
    if len(losses) < MIN_CONTEXTS:
        undefined = (math.nan, None)
        parts = (math.nan, math.nan, math.nan)
        return ForecastScores(*undefined, *undefined, n_infinite, *undefined, *parts, losses)
    brier, log = (losses[name].to_numpy(dtype=np.float64) for name in ("brier", "log"))
    of_states = np.array([decomposition(cases) for cases in columns]).sum(axis=0)
    parts = (float(of_states[0]), float(of_states[1]), float(of_states[2]))
    of_brier = of_log = None
    if parts[2]:  # uncertainty
        of_brier = interval_or_reason(brier, clusters, "error")[0]
        of_log = None if n_infinite else interval_or_reason(log, clusters, "score")[0]
    return ForecastScores(
        float(brier.mean()),
        None if of_brier is None else of_brier.within(0.0, 1.0 if len(columns) == 1 else 2.0),
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
    asked = runs.asked_to_act.any() or runs.levels is not None
    return bool(plain.any() and not runs.given_z.any() and not asked)


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    """Score the beliefs under the reference prompt, and those under each other prompt."""
    if data.belief.ndim == 2 and data.unpaired:
        yield not_run(
            f"{data.unpaired}, so that it is not known which belief is in which state: forecasts "
            "were not scored. Name each column of beliefs p_<state> after a value of theta.",
            "scores",
        )
        return
    if not _scored(data).any():
        yield not_run("no outcome is known: forecasts were not scored.", "scores")
        return
    yield _under_prompt("", data)
    for prompt, other in data.other_prompts.items():
        if _scored(other).any():
            yield _under_prompt(f":{prompt}", other)
        else:
            yield not_run(f"no outcome or belief under {prompt!r}: not scored.", f"scores:{prompt}")


def _scored(data: EvaluationData) -> NDArray[np.bool_]:
    """Tell which rows have an outcome that a column of beliefs is in."""
    return data.known("truth") if data.belief.ndim == 2 else ~np.isnan(data.state)


def _under_prompt(variant: str, data: EvaluationData) -> Call:
    """Score the forecasts under one prompt."""
    used = replace(data.subset(_scored(data)), other_prompts={})
    several = used.belief.ndim == 2
    forecasts = _Forecasts.in_columns(used) if several else _Forecasts.in_one(used)
    score = partial(_named, f"scores{variant}", used.prompt, forecasts, used)
    return Call(score, n_dropped=used.n_dropped)


def _named(name: str, prompt: str, *forecasts: Any, **options: Any) -> CheckResult:
    """Name the scores of a prompt."""
    result = _calibration(*forecasts, **options)
    return replace(result, check=name, settings={**result.settings, "prompt": prompt})


CHECK = Check(
    name="scores",
    needs=FORECASTS,
    sentences={
        key: Interpretation(
            rejected="Outcomes do not happen as often as the {belief}s say" + under + ".",
            nominal="outcomes do not happen as often as the {belief}s say" + under,
            of_calibration=True,
        )
        for key, under in (("", ""), (ANY, " under {variant!r}"))
    },
    family=Family.SCORES,
    plan=_plan,
    of_persons=True,
    states_named=True,
    every_prompt=True,
    by_itself=forecasts_alone,
)
