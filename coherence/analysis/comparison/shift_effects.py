"""Effects of choices: how they move with the state at equal reports, and at equal belief held."""

from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.belief_effects import SEVERAL
from coherence.analysis.comparison.measured import Answers, Estimate, Unfit, case_ids
from coherence.checks.check import FEWEST_DRAWS, Facts
from coherence.checks.covariance import covariance_of
from coherence.inputs import Floats
from coherence.rational.fit import fit_rational_agent, lacking
from coherence.statistics.choices import ChoiceData, as_choices
from coherence.table.needs import JUDGED_CHOICES


def _facts(answers: Answers) -> Facts:
    """Return the rows with a belief in one of two states, an action and a known state."""
    unit = answers.unit
    if not unit.in_two_states:
        raise Unfit(SEVERAL)
    if unit.unpaired:
        raise Unfit(unit.unpaired)
    if unit.judged.empty:
        raise Unfit("no readable belief with a readable action and a known state")
    return unit.facts(JUDGED_CHOICES, False)


def _choices(facts: Facts) -> ChoiceData:
    options = {"positive": facts.positive, "oriented": True}
    return as_choices(facts.belief, facts.action, facts.truth, facts.context, **options)


def judged_cases(answers: Answers) -> "pd.Index[Any]":
    """Return the cases with a readable belief, an action and a known state."""
    return case_ids(_facts(answers).context.unique())


def stated_difference(answers: Answers, seed: int) -> Estimate:
    """Estimate the difference in choice at equal stated belief, as `residual_covariance`."""
    facts = _facts(answers)
    data = _choices(facts)
    generator = np.random.default_rng(seed)
    result = covariance_of(data, FEWEST_DRAWS, generator, group=facts.group)
    if result.contributions is None:
        raise Unfit(result.reason)
    influence = np.asarray(result.contributions.reindex(list(data.contexts)), dtype=np.float64)
    cases = _around(result.statistic, influence * data.n_contexts)
    return Estimate(result.statistic, result.interval, cases, result.reason)


def _around(value: float, influence: Floats) -> Floats:
    # The sum of influences is 0 but for where a search for the estimate ended.
    return np.asarray(value + influence - influence.mean())


def held_shift(answers: Answers, seed: int) -> Estimate:
    """Estimate the hidden shift with the noise of reports taken off, as `rational_agent`."""
    facts = _facts(answers)
    lack = lacking(_choices(facts))
    if lack:
        raise Unfit(lack)
    agent = fit_rational_agent(
        facts.belief,
        facts.action,
        facts.truth,
        context=facts.context,
        group=facts.group,
        positive=facts.positive,
        noise=0.0 if facts.computed else None,
    )
    value, interval = agent.hidden_shift
    if interval is None:
        raise Unfit(agent.no_shift)
    return Estimate(value, interval.within(-1.0, 1.0), _around(value, agent.shift_influence))
