"""Every statistic of an evaluation beside its distribution over rational twins of the evaluation.

Where the nearest rational agent can be fitted, twins of the whole table are drawn from it
(`coherence.analysis.twin_table`), and the checks that ran on the evaluation run on each, for the
statistic alone. What differs between the evaluation and its twins is then more than noise.
Every twin has a stream of its own, spawned from the generator of its evaluation after those of the
checks: neither the number of processes nor that of twins changes any other number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coherence.analysis.evaluation import EvaluationRows, joined_names
from coherence.analysis.planning import plan_evaluation
from coherence.analysis.twin_table import TwinTable
from coherence.checks.catalogue import declaration, interpretation_of
from coherence.checks.check import NEVER, ON_DEMAND, ReferenceData
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import ONE_REPORT, fitted, lacking
from coherence.rational.sensitivity import Sensitivity, noise_sensitivity
from coherence.rational.twin import compare
from coherence.result import CheckResult, rejects
from coherence.statistics.parallel import Progress, call, run_calls
from coherence.statistics.resample import as_seed
from coherence.table.needs import ACTION, NEEDS_STATE_AND_ACTION
from coherence.table.notes import Code, Note

PREDICTIVE = "predictive_gain"
RATIONAL, EXACT = "rational_agent", "residual_covariance"
PER_TASK = 5  # twins that a process draws before it hands back what it found
NO_TWINS = "no rational twins were drawn: {why}."
NO_CHOICES = "no row has a parsed belief, action and state to fit a rational agent to"
PERSONS = "several persons judged the same cases, and the agent is one"
NOT_MATCHED = "it is not known which belief is in which state"
POLICIES = (
    "actions are probabilities, and how these vary at equal belief is no part of the agent: "
    "{checks} had no twins."
)
DEAR = "{checks} takes long and had no twins; name it in the checks (--checks) to have them."
UNTWINNED = "{checks} had no twins: {why}."


@dataclass(frozen=True)
class TwinOutcome:
    """What twins add to an evaluation."""

    results: tuple[CheckResult, ...]  # with where they lie among those of twins
    notes: tuple[Note, ...] = ()  # what has no twins, and why
    # how much unseen noise would explain the hidden shift; None where the rational agent's test
    # does not reject (that of residual covariance, where reports do not scatter), or there is no
    # such shift
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True)
class TwinPlan:
    """How the twins of one evaluation are drawn and checked, without the evaluation itself."""

    table: TwinTable  # draws them
    original: ReferenceData  # results and agent of the evaluation
    checks: tuple[str, ...]  # checks to run
    # those of them that were asked for by name, so that what takes long is run too
    on_demand: frozenset[str]
    options: Mapping[str, Any]  # how the rows are to be read, for `EvaluationRows`

    def statistics(self, streams: Sequence[np.random.Generator]) -> list[dict[str, float]]:
        """Return the statistics of a twin from each stream, by name of the result."""
        found: list[dict[str, float]] = []
        for stream in streams:
            (drawing,), seed = stream.spawn(1), as_seed(stream)
            twin = EvaluationRows(self.table.draw(drawing), **self.options)
            jobs, _ = plan_evaluation(twin, self.checks, published=False, seed=seed)
            found.append({})
            for job in jobs:
                when = job.call.twins
                if when != NEVER and (when != ON_DEMAND or job.check in self.on_demand):
                    found[-1] |= job.call.statistics(self.original, job.seed)
        return found

    @property
    def explains(self) -> bool:
        """Whether there is a rejection and a hidden shift for unseen noise to explain."""
        found = self.original.results.get(RATIONAL)
        # Where reports do not scatter, residual covariance is the test of the agent.
        if found is not None and found.pvalue is None:
            found = self.original.results.get(EXACT)
        shift = self.original.agent.hidden_shift[1]
        return found is not None and rejects(found.pvalue) and shift is not None


def agent_of(evaluation: EvaluationRows) -> tuple[RationalAgent | None, str]:
    """Fit the rational agent of an evaluation, or say why none is."""
    if evaluation.crossed:
        return None, PERSONS
    if evaluation.in_two_states and evaluation.unpaired:
        return None, NOT_MATCHED
    if evaluation.complete_cases.empty:
        return None, NO_CHOICES
    unknown = evaluation.state.reindex(evaluation.complete_cases.index).isna().all()
    if evaluation.in_two_states and not evaluation.n_states_seen and unknown:
        return None, NOT_MATCHED
    data = replace(evaluation.data(NEEDS_STATE_AND_ACTION), group=None, features=None)
    if evaluation.exact_state:
        data = data.with_exact_state()
    if lack := lacking(data):
        return None, lack
    agent = fitted(data, noise=0.0 if data.computed else None)
    return (None, ONE_REPORT) if agent.noise_unseen else (agent, "")


def plan_twins(
    evaluation: EvaluationRows,
    results: Sequence[CheckResult],
    names: Sequence[str],
    *,
    on_demand: Sequence[str] = (),
) -> tuple[TwinPlan | None, list[Note]]:
    """Plan the twins of an evaluation."""
    agent, why = agent_of(evaluation)
    if agent is None:
        return None, [Note(Code.NO_TWINS, NO_TWINS.format(why=why))]
    notes, checks = list[Note](), list(names)
    if evaluation.policies:
        acting = [name for name in names if ACTION in declaration(name).needs]
        checks = [name for name in names if name not in acting]
        if acting:
            text = POLICIES.format(checks=joined_names(acting))
            notes.append(Note(Code.NO_TWINS, text, checks=tuple(acting)))
    # Computed here once, and not in every process anew.
    _ = agent.shifted, agent.taste
    original = ReferenceData({result.check: result for result in results}, agent)
    options = {
        "positive": evaluation.named,
        "labels": evaluation.labels,
        "reference": evaluation.reference,
    }
    options["state"] = "exact" if evaluation.exact_state else "realised"
    plan = TwinPlan(
        TwinTable(evaluation, agent), original, tuple(checks), frozenset(on_demand), options
    )
    dear = [name for name in checks if name == PREDICTIVE and name not in on_demand]
    if dear:
        text = DEAR.format(checks=joined_names(dear))
        notes.append(Note(Code.NO_TWINS, text, checks=tuple(dear)))
    by_reason: dict[str, list[str]] = {}
    for result in results:
        reason = interpretation_of(result.check)[0].no_twin_reason
        if reason and result.check.split(":")[0] in checks:
            by_reason.setdefault(reason, []).append(result.check)
    for reason, without in by_reason.items():
        text = UNTWINNED.format(checks=joined_names(without), why=reason)
        notes.append(Note(Code.NO_TWINS, text, checks=tuple(without)))
    return plan, notes


def twin_outcomes(
    evaluations: Sequence[EvaluationRows],
    outcomes: Sequence[Sequence[CheckResult]],
    names: Sequence[str],
    *,
    n_twins: int,
    on_demand: Sequence[str],
    rngs: Sequence[np.random.Generator],
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[TwinOutcome]:
    """Draw twins of every evaluation over processes, and set its results beside theirs."""
    notes: list[list[Note]] = []
    tasks: list[
        tuple[int, str, Callable[..., Any], Any]
    ] = []  # evaluation, label, what is called on what
    for number, (evaluation, results, rng) in enumerate(
        zip(evaluations, outcomes, rngs, strict=True)
    ):
        plan, said = plan_twins(evaluation, results, names, on_demand=on_demand)
        notes.append(said)
        if plan is None:
            continue
        # First, because it takes as long as many twins.
        if plan.explains:
            tasks.append((number, "sensitivity", noise_sensitivity, plan.original.agent))
        streams = rng.spawn(n_twins)
        tasks += [
            (number, "twins", plan.statistics, streams[first : first + PER_TASK])
            for first in range(0, n_twins, PER_TASK)
        ]
    drawn: list[list[dict[str, float]]] = [[] for _ in evaluations]
    sensitivities: list[Sensitivity | None] = [None for _ in evaluations]
    labels = [label for _, label, *_ in tasks]
    calls = [task[2:] for task in tasks]
    running = run_calls(call, calls, n_jobs, progress=progress, labels=labels)
    for (number, *_), found in zip(tasks, running, strict=True):
        if isinstance(found, Sensitivity):
            sensitivities[number] = found
        else:
            drawn[number] += found
    return [
        TwinOutcome(
            with_twins(results, of_evaluation) if of_evaluation else tuple(results),
            tuple(said),
            amounts,
        )
        for results, of_evaluation, said, amounts in zip(
            outcomes, drawn, notes, sensitivities, strict=True
        )
    ]


def with_twins(
    results: Sequence[CheckResult], drawn: Sequence[Mapping[str, float]]
) -> tuple[CheckResult, ...]:
    """Set results beside the statistics of twins."""
    compared = []
    for result in results:
        sentences = interpretation_of(result.check)[0]
        if not sentences.no_twin_reason and any(result.check in of_twin for of_twin in drawn):
            twins = compare(
                result.statistic,
                np.array([of_twin.get(result.check, np.nan) for of_twin in drawn]),
                upper=sentences.one_sided or sentences.distance,
                discrepancy=sentences.discrepancy,
            )
            result = replace(result, twins=twins)
        compared.append(result)
    return tuple(compared)
