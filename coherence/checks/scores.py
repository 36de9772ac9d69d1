"""Scores of forecasts of one model, what they are made of, and a test of their calibration.

Forecasts over three states and more are taken state by state: each has a Brier score of its own,
whose sum is the score of Brier (1950), and parts of its own, whose sums are its parts.

The Brier score is the sum of miscalibration less discrimination plus uncertainty, where forecasts
are recalibrated by isotonic regression (CORP; Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8),
section 4). None of the three has an interval: a bootstrap never covers a miscalibration of 0. That
it is 0 is tested instead, by outcomes redrawn from the forecasts, and the same draws give the
consistency band of the reliability diagram (their section 3).
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
from coherence.statistics.resample import NUMBERS_HELD, Clusters, Seed, check_stream
from coherence.table.needs import FORECASTS
from coherence.table.notes import not_run
from coherence.table.runs import Runs

N_DRAWS = 1_999
PARTS = ("miscalibration", "discrimination", "uncertainty")
MOST_DRAWN = 200
"""Forecasts at which the reliability curve and its band are kept."""
DEPENDENT = "outcomes of a group may depend on each other, and redrawn ones do not"
_NOTHING = 1e-12  # ties of redrawn and observed statistic, but for rounding


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
    forecast.

    Estimand: the miscalibration MCB, by how much isotonic recalibration would lower the Brier score
    (a squared error); cases count alike.

    Of several forecasts of a case the null is about their mean.

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
        a DataFrame, else the sorted labels of `truth`, where they are as many.
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
        ``uncertainty``; of three states and more these are sums over the states, the calibration
        error is the root mean square over them, and ``by_state`` holds them apart. `details` is
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
    Of three states and more the null is that all beliefs of a row are right together; the statistic
    looks at each state by itself, and misses what shows in several at once alone.

    The test sees no single forecast of 0 or 1 that was wrong where many others were right: the
    log score is then infinite.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
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
    cases = forecasts.cases(of_row, len(contexts))
    error, by_state = _errors(forecasts, cases, data)
    losses = _losses(forecasts, of_row, contexts)
    if data.group is not None:
        losses["group"] = pd.Series(list(data.groups))[data.group].to_numpy()
    n_infinite = int((forecasts.given == 0).sum())
    scores = _scores(losses, n_infinite, clusters, cases, error)
    scores = replace(scores, n_states=forecasts.n_states, by_state=by_state)
    untested = few_contexts(len(contexts)) if too_few else "" if data.group is None else DEPENDENT
    same = "" if too_few or scores.uncertainty else ONE_OUTCOME
    pvalue, details = math.nan, pd.DataFrame()
    if not too_few:
        reached, details = _redrawn(
            forecasts.names, cases, scores.miscalibration, n_draws, generator
        )
        if not untested:
            pvalue = (1 + reached) / (1 + n_draws)
        else:  # the band holds for independent outcomes, as the test does
            details[["low", "high"]] = math.nan
    return CheckResult(
        check="scores",
        null="each outcome is drawn, independently of the others, with the probability that was "
        "forecast",
        statistic=math.nan if too_few else scores.miscalibration,
        unit="squared error (MCB)",
        interval=None,
        pvalue=pvalue,
        n_rows=n_rows,
        n_contexts=len(contexts),
        settings={"n_draws": n_draws, "cluster of resampling": clusters.name},
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

    def cases(self, case: Codes, n_cases: int) -> list[_Cases]:
        """Pool the rows of all cases, for each column."""
        several = bool(self.names)
        return [
            _Cases.of(values, happened, case, n_cases, with_shares=several)
            for values, happened in zip(self.values.T, self.happened.T, strict=True)
        ]


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
    def of(
        cls, values: Floats, state: Floats, case: Codes, n_cases: int, *, with_shares: bool = False
    ) -> _Cases:
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
            csr_array((share, (of_row, case)), shape=size)
            if with_shares or len(values) > n_cases
            else None,
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
    names: Sequence[str],
    columns: Sequence[_Cases],
    observed: float,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[int, pd.DataFrame]:
    """Count the redrawn outcomes that reach the miscalibration; return curves and bands."""
    shown = [_evenly(cases.forecasts) for cases in columns]
    curves, reached = [np.empty((n_draws, len(at))) for at in shown], 0
    for draw, shares in enumerate(_redraws(columns, n_draws, rng)):
        square = 0.0
        for cases, happened, at, kept in zip(columns, shares, shown, curves, strict=True):
            curve = recalibrated(happened, cases.weight)
            kept[draw] = curve[at]
            squares = (cases.forecasts - happened) ** 2 - (curve - happened) ** 2
            square += float(cases.weight @ squares)
        reached += bool(square >= observed - _NOTHING)
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


def _errors(
    forecasts: _Forecasts,
    columns: Sequence[_Cases],
    data: EvaluationData,
) -> tuple[CheckResult, pd.DataFrame]:
    """Return the calibration error, and of several states the scores of each."""
    of_column = [
        calibration_of(replace(data, belief=values), state=happened, exact=None)[:2]
        for values, happened in zip(forecasts.values.T, forecasts.happened.T, strict=True)
    ]
    if not forecasts.names:
        return of_column[0][1], pd.DataFrame()
    resampled = data.context, data.contexts, data.clusters
    error = classwise_error(forecasts.values, forecasts.happened, *resampled)
    rows = []
    for name, cases, estimates in zip(forecasts.names, columns, of_column, strict=True):
        row: dict[str, Any] = {
            "state": name,
            "forecast": float(cases.mean.mean()),
            "happened": float(cases.weight @ cases.happened),
        }
        for label, ends, result in zip(
            ("brier", "calibration_error"), ("brier", "calibration"), estimates, strict=True
        ):
            row[label] = result.statistic
            interval = result.interval
            row[f"{ends}_low"] = math.nan if interval is None else interval.low
            row[f"{ends}_high"] = math.nan if interval is None else interval.high
        few = math.isnan(estimates[0].statistic)
        parts = (math.nan,) * 3 if few else decomposition(cases)
        rows.append(row | dict(zip(PARTS, parts, strict=True)))
    return error, pd.DataFrame(rows)


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
