"""Every statistic of a unit beside its distribution over rational twins of the unit.

Where the nearest rational agent can be fitted, twins of the whole table are drawn from it
(`coherence.analysis.twin_table`), and the checks that ran on the unit run on each, for the
statistic alone. What differs between the unit and its twins is then more than noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coherence.analysis.planning import plan_unit
from coherence.analysis.twin_table import TwinTable
from coherence.analysis.unit import UnitRows, joined_names
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration, sentences_of
from coherence.checks.check import NEVER, ON_DEMAND, Original
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import ONE_REPORT, fit_rational_agent, lacking
from coherence.rational.twin import compare
from coherence.result import CheckResult
from coherence.statistics.choices import as_choices
from coherence.table.needs import ACTION, JUDGED_CHOICES

PREDICTIVE = "predictive_gain"
NO_TWINS = "no rational twins were drawn: {why}."
NO_CHOICES = "no row has a parsed belief, action and state to fit a rational agent to"
NOT_MATCHED = "it is not known which belief is in which state"
POLICIES = (
    "actions are probabilities, and how these vary at equal belief is no part of the agent: "
    "{checks} had no twins."
)
DEAR = "{checks} takes long and had no twins; name it in the checks (--checks) to have them."
UNTWINNED = "{checks} had no twins: {why}."


@dataclass(frozen=True)
class TwinPlan:
    """How the twins of one unit are drawn and checked, without the unit itself."""

    table: TwinTable  # draws them
    original: Original  # results and agent of the unit
    checks: tuple[str, ...]  # checks to run
    # those of them that were asked for by name, so that what takes long is run too
    on_demand: frozenset[str]
    options: Mapping[str, Any]  # how the rows are to be read, for `UnitRows`

    def statistics(self, streams: Sequence[np.random.Generator]) -> list[dict[str, float]]:
        """Return the statistics of a twin from each stream, by name of the result."""
        return [self._of_twin(stream) for stream in streams]

    def _of_twin(self, stream: np.random.Generator) -> dict[str, float]:
        drawing, *checking = stream.spawn(1 + len(CHECKS))
        twin = UnitRows(self.table.draw(drawing), **self.options)
        streams = dict(zip(CHECKS, checking, strict=True))
        jobs, _ = plan_unit(twin, self.checks, published=False, streams=streams)
        found: dict[str, float] = {}
        for job in jobs:
            if self._runs(job.check, job.call.twins):
                found |= job.call.statistics(self.original, job.rng)
        return found

    def _runs(self, check: str, when: str) -> bool:
        return when != NEVER and (when != ON_DEMAND or check in self.on_demand)


def agent_of(unit: UnitRows) -> tuple[RationalAgent | None, str]:
    """Fit the rational agent of a unit, or say why none is."""
    if unit.in_two_states and unit.unpaired:
        return None, NOT_MATCHED
    if unit.judged.empty:
        return None, NO_CHOICES
    unknown = unit.state.reindex(unit.judged.index).isna().all()
    if unit.in_two_states and not unit.n_states_seen and unknown:
        return None, NOT_MATCHED
    facts = unit.facts(JUDGED_CHOICES, False)
    arrays = facts.belief, facts.action, facts.truth
    options = {"context": facts.context, "positive": facts.positive}
    lack = lacking(as_choices(*arrays, oriented=unit.in_two_states, **options))
    if lack:
        return None, lack
    agent = fit_rational_agent(*arrays, **options, noise=0.0 if facts.computed else None)
    return (None, ONE_REPORT) if ONE_REPORT in agent.cautions else (agent, "")


def plan_twins(
    unit: UnitRows,
    results: Sequence[CheckResult],
    names: Sequence[str],
    *,
    on_demand: Sequence[str] = (),
) -> tuple[TwinPlan | None, list[str]]:
    """Plan the twins of a unit."""
    agent, why = agent_of(unit)
    if agent is None:
        return None, [NO_TWINS.format(why=why)]
    notes, checks = [], list(names)
    if unit.policies:
        acting = [name for name in names if ACTION in declaration(name).needs]
        checks = [name for name in names if name not in acting]
        if acting:
            notes.append(POLICIES.format(checks=joined_names(acting)))
    # Computed here once, and not in every process anew.
    _ = agent.shifted, agent.taste
    original = Original({result.check: result for result in results}, agent)
    options = {"positive": unit.named, "labels": unit.labels, "reference": unit.reference}
    plan = TwinPlan(TwinTable(unit, agent), original, tuple(checks), frozenset(on_demand), options)
    dear = [name for name in checks if name == PREDICTIVE and name not in on_demand]
    if dear:
        notes.append(DEAR.format(checks=joined_names(dear)))
    by_reason: dict[str, list[str]] = {}
    for result in results:
        reason = sentences_of(result.check)[0].untwinned
        if reason and result.check.split(":")[0] in checks:
            by_reason.setdefault(reason, []).append(result.check)
    for reason, untwinned in by_reason.items():
        notes.append(UNTWINNED.format(checks=joined_names(untwinned), why=reason))
    return plan, notes


def with_twins(
    results: Sequence[CheckResult], drawn: Sequence[Mapping[str, float]]
) -> tuple[CheckResult, ...]:
    """Set results beside the statistics of twins."""
    return tuple(_with_twins(result, drawn) for result in results)


def _with_twins(result: CheckResult, drawn: Sequence[Mapping[str, float]]) -> CheckResult:
    sentences = sentences_of(result.check)[0]
    if sentences.untwinned or not any(result.check in of_twin for of_twin in drawn):
        return result
    values = np.array([of_twin.get(result.check, np.nan) for of_twin in drawn])
    twins = compare(
        result.statistic,
        values,
        upper=sentences.one_sided or sentences.distance,
        discrepancy=sentences.discrepancy,
    )
    return replace(result, twins=twins)
