"""The effects that models are compared by: estimates of the checks, case by case.

Every effect comes as one value per case whose mean is what is compared: the share of a case in a
mean, the unbiased square of a difference, or the estimate plus the influence of the case on it.
Estimates and intervals are those of the checks; what noise, rounding or chance would add is taken
off as they take it off.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.unit import UnitRows
from coherence.checks.calibration import (
    N_BINS,
    bin_totals,
    calibration_estimates,
    pseudo_values,
)
from coherence.checks.check import FEWEST_DRAWS
from coherence.checks.consistency import TOO_FEW, context_squares
from coherence.checks.covariance import residual_covariance_test
from coherence.checks.iterated_gaps import Gaps, gaps_of, squares_of, under_prompt, without_noise
from coherence.checks.iterated_measures import TOO_FEW as ASKED_ONCE
from coherence.inputs import Floats
from coherence.rational.fit import fit_rational_agent, lacking
from coherence.result import Interval
from coherence.statistics.bins import belief_bins
from coherence.statistics.choices import ChoiceData, as_choices
from coherence.statistics.hidden_shift import hidden_shift
from coherence.statistics.mean_interval import mean_interval, why_none
from coherence.statistics.residuals import residuals
from coherence.statistics.rounding import (
    SHAPES,
    expected_squares,
    root_before_rounding,
    rounded,
)
from coherence.table.audit import row_statuses
from coherence.table.needs import JUDGED_CHOICES
from coherence.table.schema import READABLE

SEVERAL = "beliefs are over more than two states"
BY_CONTEXT = "by context"
STEP = 1e-4  # of a mean square, over which the steepness of what rounding leaves is taken


class Unfit(Exception):  # noqa: N818, a reason and no fault
    """Why an effect cannot be estimated for a model."""


@dataclass(frozen=True)
class Estimate:
    """An effect of one model.

    Parameters
    ----------
    value : float
        Estimate, as the check reports it.
    interval : Interval or None
        Its own 95% interval.
    cases : ndarray, shape (n_contexts,)
        A value per case; their mean is compared. Of effects that are roots of mean squares it is
        the mean square, which orders models alike and may fall below 0 by chance.
    reason : str
        Why there is no interval.
    """

    value: float
    interval: Interval | None
    cases: Floats
    reason: str = ""


@dataclass(frozen=True)
class Answers:
    """What one model answered, and what may be compared with other models.

    Parameters
    ----------
    rows : DataFrame
        Rows of one task and model, with all that `UnitRows` needs.
    reference : str
        Wording of the beliefs that are held against anything else, the same of all models.
    prompts : tuple of str
        Other wordings that all models were asked.
    variables : tuple of str
        Auxiliary variables z that all models were asked about.
    positive : Any
        Label of the state that beliefs are in; None where the labels say it.
    labels : tuple
        All labels of theta.
    """

    rows: pd.DataFrame
    reference: str
    prompts: tuple[str, ...]
    variables: tuple[str, ...]
    positive: Any
    labels: tuple[Any, ...]

    @cached_property
    def unit(self) -> UnitRows:
        """The rows by what they can be used for."""
        return UnitRows(
            self.rows, positive=self.positive, labels=self.labels, reference=self.reference
        )

    def about(self, contexts: Sequence[str]) -> "Answers":
        """Return the answers about some cases."""
        return replace(self, rows=self.rows[self.rows["context"].isin(contexts)])


Values = Callable[[Answers], "pd.Series[float]"]
Estimating = Callable[[Answers, int], Estimate]


@dataclass(frozen=True)
class Effect:
    """One effect: which cases show it, and how it is estimated from them.

    Parameters
    ----------
    name : str
        Name of the result of `coherence.analyze`, where there is one.
    says : str
        What is estimated, in a phrase.
    usable : callable
        Answers -> ids of the cases that show it; raises `Unfit` where none can.
    estimate : callable
        Answers about cases that all show it, and a seed -> the estimate; raises `Unfit`.
    squared : bool
        Whether mean squares are compared, of which the estimate is the root.
    signed : bool
        Whether values on both sides of 0 are equally amiss; else lower is better.
    """

    name: str
    says: str
    usable: Callable[[Answers], "pd.Index[Any]"]
    estimate: Estimating
    squared: bool = False
    signed: bool = False

    @property
    def scale(self) -> str:
        """What differences are differences of."""
        return "mean square" if self.squared else "estimate"


def _mean_effect(
    name: str,
    says: str,
    values: Values,
    *,
    squared: bool = False,
    signed: bool = False,
    within: tuple[float, float] = (0.0, 1.0),
) -> Effect:
    """Declare an effect that is a mean over cases, or its root: each case counts once."""

    def estimate(answers: Answers, seed: int) -> Estimate:
        cases = values(answers).sort_index().to_numpy(dtype=np.float64)
        interval = mean_interval(cases, root=squared)
        mean = float(cases.mean())
        value = math.sqrt(max(mean, 0.0)) if squared else mean
        reason = "" if interval else why_none(cases, "value")
        return Estimate(value, interval and interval.within(*within), cases, reason)

    def usable(answers: Answers) -> "pd.Index[Any]":
        return values(answers).index

    return Effect(name, says, usable, estimate, squared, signed)


def _mean_by_context(values: Any, context: pd.Series) -> "pd.Series[float]":
    column = pd.Series(np.asarray(values, dtype=np.float64), index=context.index)
    return column.groupby(context, sort=True).mean()


def _against(answers: Answers, target: str) -> tuple[Floats, Floats, pd.Series]:
    """Beliefs in one of two states with what they are held against, and their contexts."""
    unit = answers.unit
    if not unit.in_two_states:
        raise Unfit(SEVERAL)
    if unit.unpaired:
        raise Unfit(unit.unpaired)
    known = unit.state if target == "theta" else unit.stated.get("p_true", unit.state * np.nan)
    rows = unit.stated[known.notna()]
    if rows.empty:
        raise Unfit("no readable belief" if unit.stated.empty else f"no {target}")
    return unit.belief(rows), known[rows.index].to_numpy(dtype=np.float64), rows["context"]


def _squared_error(answers: Answers, target: str) -> "pd.Series[float]":
    belief, aim, context = _against(answers, target)
    return _mean_by_context((belief - aim) ** 2, context)


def _calibration(answers: Answers, seed: int, target: str) -> Estimate:
    """Estimate the gaps of bins of belief without what chance adds, with its pseudo-values."""
    belief, aim, context = _against(answers, target)
    exact = target == "p_true"
    against: dict[str, Any] = {"p_true": aim} if exact else {"truth": aim}
    wanted = f"calibration:calibration_error{'_exact' if exact else ''}"
    results = calibration_estimates(belief, **against, context=context, positive=None)
    (result,) = [each for each in results if each.check == wanted]
    codes, contexts = pd.factorize(context, sort=True)
    totals = bin_totals(belief_bins(belief, N_BINS), belief - aim, codes, len(contexts))
    return Estimate(result.statistic, result.interval, pseudo_values(*totals), result.reason)


def _contexts_against(answers: Answers, target: str) -> "pd.Index[Any]":
    return pd.Index(_against(answers, target)[2].unique())


def _wordings(answers: Answers) -> "pd.Series[float]":
    unit = answers.unit
    if unit.states:
        raise Unfit("beliefs have a column for every state")
    if not answers.prompts:
        raise Unfit("no other wording was asked of every model")
    readable = set(unit.elsewhere.loc[unit.elsewhere["p"].notna(), "prompt"])
    unread = [name for name in answers.prompts if name not in readable]
    if unread or unit.stated.empty:
        raise Unfit(f"no readable belief under {(unread or [answers.reference])[0]!r}")
    plain = unit.rows[unit.rows["z_state"].isna()]
    squares = context_squares(plain, reference=answers.reference, prompts=answers.prompts)
    if squares.empty:
        raise Unfit(TOO_FEW.partition(";")[0])
    return squares


def _gaps(answers: Answers) -> Gaps:
    unit = answers.unit
    if unit.states:
        raise Unfit("beliefs have a column for every state")
    if not answers.variables:
        raise Unfit("beliefs given z were not asked of every model")
    rows = unit.rows
    rows = rows[rows["z_state"].isna() | rows["z"].astype(str).isin(answers.variables)]
    used, _ = under_prompt(rows, answers.reference)
    states = rows[rows["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps = gaps_of(used, states, computed=without_noise(used))
    if gaps.rows.empty:
        raise Unfit("no case has a readable belief and all beliefs given z")
    return gaps


def _signed_gap(answers: Answers) -> "pd.Series[float]":
    rows = _gaps(answers).rows
    return _mean_by_context(rows["gap"], rows["context"])


def _repeated_gaps(answers: Answers) -> "pd.Index[Any]":
    gaps = _gaps(answers)
    times = gaps.rows.groupby(["context", "z"], observed=True)["rep"].nunique()
    enough = times[times >= (1 if gaps.computed else 2)]
    if enough.empty:
        raise Unfit(ASKED_ONCE)
    return enough.index.get_level_values("context").unique()


def _gap_beyond(answers: Answers, seed: int) -> Estimate:
    """Estimate the gap beyond noise and rounding, as `iterated_expectation:noise_removed`."""
    gaps = _gaps(answers)
    squares = squares_of(gaps, repeated=not gaps.computed)
    if squares is None:
        raise Unfit(ASKED_ONCE)
    grids = squares.parts.grids()
    square = squares.expected
    if not rounded(grids):
        interval = mean_interval(square, root=True)
        value, reason = math.sqrt(max(float(square.mean()), 0.0)), why_none(square, "gap")
        reason = "" if interval else reason
        return Estimate(value, interval and interval.within(0.0, 1.0), square, reason)
    expected = expected_squares(squares.parts, grids, repeated=squares.repeated)

    def of_cases(root: float, shape: str) -> Floats:
        return squares.by_context(expected(root, shape))

    value, interval, reason = root_before_rounding(square, of_cases)
    cases = np.mean([_before_rounding(square, partial(of_cases, shape=s)) for s in SHAPES], axis=0)
    return Estimate(value, interval and interval.within(0.0, 1.0), cases, reason)


def _before_rounding(square: Floats, expected: Callable[[float], Floats]) -> Floats:
    """Return the mean square before rounding plus the influence of each case on it.

    Below what rounding alone gives the steepness at 0 is kept, so that means stay unbiased.
    """

    def mean(centre: float) -> float:
        return float(expected(math.sqrt(centre)).mean())

    centre, steepness = 0.0, 1.0
    # Newton's steps on a curve that is nearly straight: the mean square with and without rounding.
    for _ in range(20):
        below = max(centre - STEP, 0.0)
        steepness = max((mean(centre + STEP) - mean(below)) / (centre + STEP - below), 0.1)
        step = (float(square.mean()) - mean(centre)) / steepness
        if abs(step) < 1e-9 or centre + step < 0:
            break
        centre += step
    rest = square - expected(math.sqrt(centre))
    return np.asarray(centre + rest / steepness)


def _choices(answers: Answers) -> ChoiceData:
    unit = answers.unit
    if not unit.in_two_states:
        raise Unfit(SEVERAL)
    if unit.unpaired:
        raise Unfit(unit.unpaired)
    if unit.judged.empty:
        raise Unfit("no readable belief with a readable action and a known state")
    facts = unit.facts(JUDGED_CHOICES, False)
    options = {"positive": facts.positive, "oriented": True}
    return as_choices(facts.belief, facts.action, facts.truth, facts.context, **options)


def _judged_contexts(answers: Answers) -> "pd.Index[Any]":
    return pd.Index(_choices(answers).contexts)


def _stated_shift(answers: Answers, seed: int) -> Estimate:
    """Estimate the hidden shift at equal stated belief, as `residual_covariance`."""
    data = _choices(answers)
    facts = answers.unit.facts(JUDGED_CHOICES, False)
    options = {"context": facts.context, "positive": facts.positive, "rng": seed}
    arrays = facts.belief, facts.action, facts.truth
    result = residual_covariance_test(*arrays, **options, n_draws=FEWEST_DRAWS)
    why = str(result.settings.get("no_hidden_shift", "")) or result.reason
    if why or result.interval is None:
        raise Unfit(why or "there is no hidden shift")
    # The same folds as in the test above.
    remains, chooser = residuals(data, np.random.default_rng(seed))
    if chooser is None:
        raise Unfit("the belief is always the same")
    shift = hidden_shift(data, remains, chooser)
    cases = shift.estimate + shift.influence * data.n_contexts
    return Estimate(result.statistic, result.interval, cases)


def _held_shift(answers: Answers, seed: int) -> Estimate:
    """Estimate the hidden shift with the noise of reports taken off, as `rational_agent`."""
    data = _choices(answers)
    lack = lacking(data)
    if lack:
        raise Unfit(lack)
    facts = answers.unit.facts(JUDGED_CHOICES, False)
    agent = fit_rational_agent(
        facts.belief,
        facts.action,
        facts.truth,
        context=facts.context,
        positive=facts.positive,
        noise=0.0 if facts.computed else None,
    )
    value, interval = agent.hidden_shift
    if interval is None:
        raise Unfit("choices hardly follow the belief, or beliefs foretell nearly every state")
    return Estimate(value, interval.within(-1.0, 1.0), value + agent.shift_influence)


def _scatter(answers: Answers) -> "pd.Series[float]":
    """Variance of the reports of each case, the mean over states where there are several."""
    unit = answers.unit
    if unit.stated.empty:
        raise Unfit("no readable belief")
    beliefs = pd.DataFrame(unit.belief(unit.stated).reshape(len(unit.stated), -1))
    context = unit.stated["context"].to_numpy()
    variance = beliefs.groupby(context, sort=True).var(ddof=1).mean(axis="columns")
    if unit.computed:  # expectations themselves, which asking again would not change
        return variance.fillna(0.0)
    variance = variance.dropna()
    if variance.empty:
        raise Unfit("reports are not repeated")
    return variance


def _unread(answers: Answers) -> "pd.Series[float]":
    rows = answers.unit.rows
    lost = ~np.isin(row_statuses(rows, answers.reference), READABLE)
    return _mean_by_context(lost, rows["context"])


EFFECTS = {
    effect.name: effect
    for effect in (
        Effect(
            "residual_covariance",
            "hidden shift of belief at equal stated belief",
            _judged_contexts,
            _stated_shift,
            signed=True,
        ),
        Effect(
            "rational_agent",
            "hidden shift of belief, noise of reports taken off",
            _judged_contexts,
            _held_shift,
            signed=True,
        ),
        _mean_effect(
            "calibration:rmse",
            "root-mean-square error of belief to the exact posterior",
            partial(_squared_error, target="p_true"),
            squared=True,
        ),
        _mean_effect(
            "calibration:brier",
            "mean squared error of belief to the realised state",
            partial(_squared_error, target="theta"),
        ),
        *(
            Effect(
                f"calibration:calibration_error{suffix}",
                f"calibration error to {against}, chance removed",
                partial(_contexts_against, target=target),
                partial(_calibration, target=target),
                squared=True,
            )
            for suffix, against, target in (
                ("_exact", "the exact posterior", "p_true"),
                ("", "the realised state", "theta"),
            )
        ),
        _mean_effect(
            "prompt_consistency",
            "root-mean-square difference between wordings, noise removed",
            _wordings,
            squared=True,
        ),
        _mean_effect(
            "iterated_expectation",
            "mean gap between belief and average of beliefs given z",
            _signed_gap,
            signed=True,
            within=(-1.0, 1.0),
        ),
        Effect(
            "iterated_expectation:noise_removed",
            "root-mean-square of that gap, noise and rounding removed",
            _repeated_gaps,
            _gap_beyond,
            squared=True,
        ),
        _mean_effect(
            "report_noise",
            "standard deviation of repeated reports of a case",
            _scatter,
            squared=True,
        ),
        _mean_effect("unreadable", "share of answers that could not be read", _unread),
    )
}
"""Name -> effect, in the order of reports. The largest of several drops of a choice share is not
among them: noise raises it, and no estimate of it is free of that."""
