"""The nearest rational agent as a check: what actions know beyond the belief behind the reports.

Tests that take a report as the belief itself reject coherent agents whose reports scatter. Here the
belief behind the reports is fitted with the noise around it (`coherence.rational`), and the test
asks what actions know of the state beyond that belief.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.check import (
    FEWEST_DRAWS,
    Call,
    CallsAndNotes,
    Check,
    Facts,
    Original,
    Sentences,
)
from coherence.checks.covariance import covariance_of
from coherence.inputs import whole_number
from coherence.rational.again import shift_of_twin
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import fit_rational_agent, lacking
from coherence.rational.noisy_shares import noisy_shares
from coherence.rational.sufficiency import Verdict
from coherence.result import CheckResult, Interval, contributions_to_mean
from coherence.statistics.choices import as_choices
from coherence.statistics.resample import Seed, as_generator, as_units
from coherence.table.needs import JUDGED_CHOICES

NULL = (
    "given the belief behind the reports, of which these are noisy copies, action and truth are "
    "uncorrelated in every direction"
)
NAME = "rational_agent"
UNIT = "belief"
COLUMNS = ("quantity", "value", "low", "high")
NO_SCATTER = "reports of a context do not scatter"


def rational_agent_test(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    noise: float | None = None,
    n_draws: int = 9_999,
    rng: Seed = None,
) -> CheckResult:
    """Test whether actions know more of the state than the belief behind the reports.

    Null: every context has a belief, of which its reports are noisy copies; given it, action and
    state are uncorrelated.

    Parameters
    ----------
    belief, action, truth, context, group, positive, noise
        As for `coherence.fit_rational_agent`.
    n_draws : int
        Random sign assignments for the null distribution of the largest component.
    rng : Generator, int or None
        Source of the signs.

    Returns
    -------
    CheckResult
        `statistic` is the hidden shift at equal belief held: how much higher the belief acted on is
        when the state is true, with the noise of reports taken off; its interval takes contexts as
        units. Where choices hardly follow the belief it is the difference in choice probability
        with the smallest p-value, named in `settings`, with an interval for all differences at
        once. `details` lists the noise of the reports, thresholds and costs of the agent, and the
        components of the test; `fitted` is what figures need of the agent. Where reports do not
        scatter there is no p-value, because the test is then that of `residual_covariance_test`.

    Raises
    ------
    InputError
        As for `coherence.fit_rational_agent`; data to which no agent can be fitted give a result
        with a reason instead.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("noisy", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = rational_agent_test(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"], rng=1
    ... )
    >>> result.pvalue < 0.05  # its reports are noisy, and nothing else is amiss
    False
    """
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    n_draws = whole_number(n_draws, "n_draws", FEWEST_DRAWS)
    undefined = CheckResult(
        check=NAME,
        null=NULL,
        statistic=math.nan,
        unit=UNIT,
        interval=None,
        pvalue=math.nan,
        n_rows=data.n_rows,
        n_contexts=data.n_contexts,
        settings={
            "n_draws": n_draws,
            "unit of resampling": "context" if group is None else "group",
        },
    )
    units = as_units(group, data.context, data.contexts)
    if lack := lacking(data) or units.too_few:
        return replace(undefined, reason=lack)
    agent = fit_rational_agent(
        belief, action, truth, context=context, group=group, positive=positive, noise=noise
    )
    shift, interval = agent.hidden_shift
    result = replace(
        undefined,
        statistic=shift,
        interval=None if interval is None else interval.within(-1.0, 1.0),
        settings={**undefined.settings, **agent.settings, **_summary(agent)},
        assumptions=(
            units.said("contexts are independent"),
            "reports of a context scatter independently around one belief",
            "action and truth depend smoothly on belief",
        ),
        contributions=None
        if interval is None
        else contributions_to_mean(pd.Series(agent.shift_influence, index=list(data.contexts))),
    )
    if not agent.noisy and interval is None:
        stated = covariance_of(data, n_draws, as_generator(rng), group=group)
        shown = {"component": stated.settings.get("component", "")}
        result = replace(
            result,
            statistic=stated.statistic,
            unit=stated.unit,
            interval=stated.interval,
            settings={**result.settings, **shown},
        )
    if not agent.noisy:
        why = "; ".join([*agent.cautions, *([agent.no_shift] if interval is None else [])])
        why = why or NO_SCATTER
        return replace(result, pvalue=None, details=_details(agent), reason=why)
    verdict = agent.test(n_draws=n_draws, rng=rng)
    settings = {**result.settings, "null_distribution": verdict.null_distribution}
    if verdict.reason:
        return replace(
            result, statistic=math.nan, interval=None, contributions=None, reason=verdict.reason
        )
    result = replace(result, settings=settings, fitted=noisy_shares(agent))
    if _at_odds(interval, verdict):
        result = _surest(result, verdict)
    return replace(
        result,
        pvalue=verdict.pvalue,
        details=_details(agent, verdict.components),
        reason="; ".join([*agent.cautions, *([verdict.reason] if verdict.reason else [])]),
    )


def shows_largest(result: CheckResult) -> bool:
    """Tell whether a result shows the surest of several differences, and no hidden shift."""
    return result.check == NAME and "component" in result.settings


def _surest(result: CheckResult, verdict: Verdict) -> CheckResult:
    """Report the surest difference in choice probability in place of a hidden shift."""
    if verdict.surest is None:
        return result
    name, difference, ends = verdict.surest
    settings = {**result.settings, "component": name}
    return replace(
        result,
        statistic=difference,
        unit="probability",
        interval=ends,
        settings=settings,
        contributions=None,
    )


def _summary(agent: RationalAgent) -> dict[str, Any]:
    """What a report shows of the agent beside the effect."""
    table = agent.thresholds
    overtakes = zip(table["below"], table["above"], table["belief"], strict=True)
    return {
        "noise_sd": float(agent.noise["sd"][0]),
        "thresholds": {f"{above} over {below}": float(at) for below, above, at in overtakes},
        "converged": agent.converged,
    }


def _at_odds(interval: Interval | None, verdict: Verdict) -> bool:
    """Tell whether there is no hidden shift to report, or one of which the test sees nothing."""
    if interval is None:
        return True
    excluded = interval.low > 0 or interval.high < 0
    return excluded and abs(float(verdict.components["gcm"].iloc[-1])) < 1


def _details(agent: RationalAgent, components: pd.DataFrame | None = None) -> pd.DataFrame:
    """One line per quantity of the agent: noise, thresholds, costs, lapses, components."""

    def line(quantity: str, *values: object) -> tuple[object, ...]:
        return quantity, *values, *[math.nan] * (3 - len(values))

    _, sd, low, high = agent.noise.to_numpy()[0]
    lines = [line("standard deviation of reports around the belief", sd, low, high)]
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
    if components is not None and len(components):
        estimates = zip(components["component"], components["estimate"], strict=True)
        lines += [line(f"beyond belief: {name}", value) for name, value in estimates]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _effect(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    original: Original,
    rng: np.random.Generator,
    *,
    context: ArrayLike,
    positive: Any,
) -> dict[str, float]:
    """Return the hidden shift of a twin, or the size of its surest difference in choice."""
    data = as_choices(belief, action, truth, context, positive=positive, oriented=True)
    if not shows_largest(original.results[NAME]):
        return {NAME: shift_of_twin(data, original.agent)}
    if lacking(data):
        return {NAME: math.nan}
    noise = None if original.agent.noisy else 0.0
    again = fit_rational_agent(
        belief, action, truth, context=context, positive=positive, noise=noise
    )
    if not again.noisy:
        return {NAME: abs(covariance_of(data, FEWEST_DRAWS, rng).statistic)}
    surest = again.test(n_draws=FEWEST_DRAWS, rng=rng).surest
    return {NAME: math.nan if surest is None else abs(surest[1])}


def _plan(facts: Facts) -> CallsAndNotes:
    if facts.published:  # no paper has published a procedure to reproduce
        return
    if facts.belief.ndim == 2 and facts.belief.shape[1] > 2:
        yield "rational_agent was not fitted: it takes beliefs in one of two states."
        return
    arrays = facts.belief, facts.action, facts.truth
    options = {"context": facts.context, "positive": facts.positive}
    noise = 0.0 if facts.computed else None
    yield Call(
        partial(rational_agent_test, *arrays, **options, group=facts.group, noise=noise),
        facts.n_dropped,
        fewest={"n_draws": FEWEST_DRAWS},
        effects=partial(_effect, *arrays, **options),
    )


CHECK = Check(
    name=NAME,
    needs=JUDGED_CHOICES,
    sentences={
        "": Sentences(
            rejected="Choices move with the realised state even at equal belief behind the "
            "reports: their scatter does not explain it.",
            sign="choices move with the realised state even at equal belief behind the reports",
            estimate="The nearest rational agent takes the reports as its belief, so that residual "
            "covariance is its test.",
        ),
    },
    plan=_plan,
    states_named=True,
)
