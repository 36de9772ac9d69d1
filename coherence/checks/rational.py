"""The nearest rational agent as a check: whether choices know more than the belief behind reports.

Tests that take a report as the belief itself reject coherent agents whose reports scatter. Here
products of different reports of a context stand for the powers of the belief behind them
(`coherence.rational.moments`), and the agent that is fitted beside them tells thresholds, costs and
noise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.by_name import takes_columns
from coherence.checks.check import (
    Call,
    CallsAndNotes,
    Check,
    Interpretation,
)
from coherence.checks.covariance import SHIFT, residual_covariance
from coherence.inputs import require
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import fitted, lacking, require_options
from coherence.rational.moments import beyond_belief
from coherence.result import CheckResult
from coherence.statistics.evaluation import (
    EvaluationData,
    as_choices,
    in_several_states,
    one_dimensional,
)
from coherence.statistics.resample import Seed
from coherence.table.needs import STATE_AND_CHOICES
from coherence.table.notes import not_run

NULL = (
    "given the belief behind the reports, of which these are independent noisy copies, action and "
    "state are uncorrelated"
)
NAME = "rational_agent"
COLUMNS = ("quantity", "value", "low", "high")
BEYOND = "beyond belief: "
NO_SCATTER = "reports of a context do not scatter: the row is that of residual_covariance"
NO_SECOND = (
    "no context has two reports, which would show noise: the row is that of residual_covariance"
)
ONE_REPORT = (
    "no context has two reports for a test: shown is the hidden shift under the noise that was "
    "given"
)


@takes_columns("belief", "action", "truth", "exact", "context", "group")
def rational_agent_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    noise: float | None = None,
    describe: bool = True,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions know more of the state than the belief behind the reports.

    Null: given the belief behind the reports, of which these are independent noisy copies, action
    and state are uncorrelated.

    Estimand: the difference in the probability of one action, that which rises most with the
    belief, between the states at equal belief behind the reports (a probability, from -1 to 1);
    cases are weighted by the variance that this belief leaves of the state.

    Parameters
    ----------
    belief, action, truth, context, group, positive, noise
        As for `coherence.fit_rational_agent`; the test itself takes no noise for given. `truth` may
        be left out with `exact`: thresholds, costs and noise are not fitted then.
    data : DataFrame, optional
        Table; arguments of shape (n,) may then name its columns, and lists of names several.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that the belief is in, constant within a context: it takes the
        place of the realised state in the test.
    describe : bool
        Whether `details` has the noise, thresholds and costs of the fitted agent; without them the
        test takes a twentieth of the time.
    rng : Generator, int or None
        Not used: nothing is drawn. All tests take it.

    Returns
    -------
    CheckResult
        `statistic` is the difference in the probability of one action between the states at equal
        belief, with the noise of reports taken off: of the action that rises most with the belief,
        which `settings` names. `details` has the differences of all actions, the hidden shift, and
        noise, thresholds and costs of the agent. NaN with a
        reason where fewer than 20 contexts have two reports, a state was seen in fewer than five of
        them, beliefs leave next to nothing open about the state, or the calibration bends further
        than the number of reports allows for. Where reports do not scatter, the row is that of
        `residual_covariance_test` without its p-value. Where no context has two reports and `noise`
        is given, it is the hidden shift in units of belief, without a p-value.

    Raises
    ------
    InputError
        As for `coherence.fit_rational_agent`; data to which no agent can be fitted give a result
        with a reason instead.

    Notes
    -----
    The state is regressed on a quadratic polynomial of the belief behind the reports (a line where
    contexts have two, a cubic where 1000 have four). Products of different reports of a context
    stand for its powers, so that noise cancels, and powers of one more report are the instruments.
    The p-value is that of the covariance of what is left of the state with the actions, weighed by
    their slopes on the belief (Hansen's J of one moment), by t over contexts with the error of a
    jackknife.

    References
    ----------
    Hansen (1982), Econometrica 50(4); Hausman, Newey, Ichimura and Powell (1991), Journal of
    Econometrics 50(3), for polynomials of a variable with repeated noisy measurements.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("noisy", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = rational_agent_test(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> result.pvalue < 0.05  # its reports are noisy, and nothing else is amiss
    False
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "group": group}
    choices = as_choices(belief, action, truth, context, exact=exact, **options)
    require_options(noise=noise)
    require(isinstance(describe, bool), f"describe must be True or False; received {describe!r}.")
    return _rational_agent(choices, noise=noise, describe=describe)


def _rational_agent(
    choices: EvaluationData, *, noise: float | None = None, describe: bool = True
) -> CheckResult:
    """Run `rational_agent_test` on validated data."""
    clusters = choices.clusters
    undefined = CheckResult(
        check=NAME,
        null=NULL,
        statistic=math.nan,
        unit="probability",
        interval=None,
        pvalue=math.nan,
        n_rows=choices.n_rows,
        n_contexts=choices.n_contexts,
        settings={"cluster of resampling": clusters.name},
    )
    if lack := lacking(choices) or clusters.too_few:
        return replace(undefined, reason=lack)
    undefined = replace(
        undefined,
        settings={**undefined.settings, "state": "realised" if choices.exact is None else "exact"},
    )
    described = describe and len(np.unique(choices.truth)) > 1
    agent = fitted(choices, noise=noise) if described else None
    result = _tested(undefined, choices, noise)
    if agent is None:
        return result
    if result.unit == "belief":
        shift, interval = agent.hidden_shift
        result = replace(result, statistic=shift, interval=interval and interval.within(-1.0, 1.0))
    return replace(
        result,
        settings={**result.settings, **agent.settings, **_summary(agent)},
        details=pd.concat([_details(agent), result.details], ignore_index=True),
        reason="; ".join(filter(None, [*agent.cautions, result.reason])),
    )


def _tested(undefined: CheckResult, data: EvaluationData, noise: float | None) -> CheckResult:
    """Return the test itself, and what stands in its place where reports do not scatter."""
    report = one_dimensional(data, "rational_agent_test")
    ends = pd.DataFrame({"context": data.context, "report": report}).groupby("context")["report"]
    scatters = bool((ends.max() > ends.min()).any())
    exact = NO_SCATTER if noise == 0 or (ends.size() > 1).any() else NO_SECOND
    if noise == 0 or (noise is None and not scatters):
        stated = residual_covariance(data, rng=0)
        return replace(
            undefined,
            statistic=stated.statistic,
            interval=stated.interval,
            pvalue=None,
            settings={**undefined.settings, **_shown(stated.settings)},
            details=_differences(stated.details),
            contributions=stated.contributions,
            reason="; ".join(filter(None, [exact, stated.reason])),
        )
    if not scatters:
        return replace(undefined, unit="belief", pvalue=None, reason=ONE_REPORT)
    clusters, found = data.clusters, beyond_belief(data)
    if found.reason:
        return replace(undefined, reason=found.reason)
    return replace(
        undefined,
        statistic=float(found.differences["estimate"][found.shown]),
        interval=found.interval and found.interval.within(-1.0, 1.0),
        pvalue=found.pvalue,
        settings={**undefined.settings, **found.settings},
        details=_differences(found.differences),
        contributions=found.contributions.reindex(list(data.contexts), fill_value=0.0),
        assumptions=(
            clusters.independent,
            "reports of a context scatter independently around one belief",
            "the state depends on the belief by a polynomial",
        ),
    )


def _shown(settings: Any) -> dict[str, Any]:
    return {"component": settings["component"]} if "component" in settings else {}


def _differences(table: pd.DataFrame) -> pd.DataFrame:
    """Lay differences between the states out as the other details."""
    if table.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    table = table[table["component"] != SHIFT].rename(columns={"estimate": "value"})
    return table.assign(quantity=BEYOND + table["component"])[list(COLUMNS)]


def _summary(agent: RationalAgent) -> dict[str, Any]:
    """What a report shows of the agent beside the effect."""
    table = agent.thresholds
    overtakes = zip(table["below"], table["above"], table["belief"], strict=True)
    return {
        "noise_sd": float(agent.noise["sd"][0]),
        "thresholds": {f"{above} over {below}": float(at) for below, above, at in overtakes},
        "converged": agent.converged,
    }


def _details(agent: RationalAgent) -> pd.DataFrame:
    """One line per quantity of the agent: noise, thresholds, costs, lapses, hidden shift."""

    def line(quantity: str, *values: object) -> tuple[object, ...]:
        return quantity, *values, *[math.nan] * (3 - len(values))

    _, sd, low, high = agent.noise.to_numpy()[0]
    lines = [
        line(
            "standard deviation of reports around the belief, before rounding",
            sd,
            low,
            high,
        )
    ]
    for row in agent.thresholds.to_dict("records"):
        change = f"{row['above']} overtakes {row['below']}"
        lines.append(line(f"belief at which {change}", row["belief"], row["low"], row["high"]))
        # The ratio rises with the weight; ends of the threshold give those of the ratio.
        ratio = [
            w / (1 - w) if w < 1 else math.inf for w in agent.weight([row["low"], row["high"]])
        ]
        wrong = f"cost of a wrong {row['above']} in gains of a right one, at {row['below']}"
        lines.append(line(wrong, row["cost_ratio"], *ratio))
    lines.append(line("share of lapses", agent.lapses))
    shift, interval = agent.hidden_shift
    if interval is not None:
        lines.append(line(SHIFT, shift, interval.low, interval.high))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    if published:  # no paper has published a procedure to reproduce
        return
    if in_several_states(data):
        yield not_run(f"{NAME} was not fitted: it takes beliefs in one of two states.", NAME)
        return
    yield Call(
        partial(_rational_agent, data, noise=0.0 if data.computed else None),
        data.n_dropped,
        draws=False,
        cheapest_options={"describe": False},
    )


CHECK = Check(
    name=NAME,
    needs=STATE_AND_CHOICES,
    sentences={
        "": Interpretation(
            rejected="Choices move with the truth even at equal belief behind the reports: "
            "their scatter does not explain it.",
            nominal="choices move with the truth even at equal belief behind the reports",
            estimate="The nearest rational agent, without a test of its own here.",
        ),
    },
    plan=_plan,
    states_named=True,
)
