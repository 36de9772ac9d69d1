"""Running twins and sensitivities of all units of a report over processes.

Every twin has a stream of its own, spawned from the generator of its unit after those of the
checks: neither the number of processes nor that of twins changes any other number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coherence.analysis.twins import TwinPlan, plan_twins, with_twins
from coherence.analysis.unit import UnitRows
from coherence.rational.agent import RationalAgent
from coherence.rational.sensitivity import Sensitivity, noise_sensitivity
from coherence.result import CheckResult, rejects
from coherence.statistics.parallel import call, run_calls

PER_TASK = 5  # twins that a process draws before it hands back what it found
RATIONAL, EXACT = "rational_agent", "residual_covariance"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Beside:
    """What twins add to a unit."""

    results: tuple[CheckResult, ...]  # with where they lie among those of twins
    notes: tuple[str, ...] = ()  # what has no twins, and why
    # how much unseen noise would explain the hidden shift; None where the rational agent's test
    # does not reject (that of residual covariance, where reports do not scatter), or there is no
    # such shift
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True)
class _Task:
    unit: int
    label: str
    function: Callable[[], list[dict[str, float]] | Sensitivity]


def beside_twins(
    units: Sequence[UnitRows],
    outcomes: Sequence[Sequence[CheckResult]],
    names: Sequence[str],
    *,
    n_twins: int,
    on_demand: Sequence[str],
    rngs: Sequence[np.random.Generator],
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[Beside]:
    """Draw twins of every unit, and set its results beside theirs."""
    notes: list[list[str]] = []
    tasks: list[_Task] = []
    for number, (unit, results, rng) in enumerate(zip(units, outcomes, rngs, strict=True)):
        plan, said = plan_twins(unit, results, names, on_demand=on_demand)
        notes.append(said)
        if plan is not None:
            tasks += _tasks(number, plan, rng.spawn(n_twins))
    drawn: list[list[dict[str, float]]] = [[] for _ in units]
    sensitivities: list[Sensitivity | None] = [None for _ in units]
    running = run_calls(call, [(task.function,) for task in tasks], n_jobs)
    for done, (task, found) in enumerate(zip(tasks, running, strict=True), start=1):
        if isinstance(found, Sensitivity):
            sensitivities[task.unit] = found
        else:
            drawn[task.unit] += found
        if progress is not None:
            progress(done, len(tasks), task.label)
    return [
        Beside(with_twins(results, of_unit) if of_unit else tuple(results), tuple(said), amounts)
        for results, of_unit, said, amounts in zip(
            outcomes, drawn, notes, sensitivities, strict=True
        )
    ]


def _tasks(unit: int, plan: TwinPlan, streams: Sequence[np.random.Generator]) -> Iterator[_Task]:
    agent, results = plan.original.agent, plan.original.results
    found = results.get(RATIONAL)
    # Where reports do not scatter, residual covariance is the test of the agent.
    if found is not None and found.pvalue is None:
        found = results.get(EXACT)
    # First, because it takes as long as many twins.
    if found is not None and rejects(found.pvalue) and agent.hidden_shift[1] is not None:
        yield _Task(unit, "sensitivity", _Explained(agent))
    for first in range(0, len(streams), PER_TASK):
        yield _Task(unit, "twins", _Drawn(plan, streams[first : first + PER_TASK]))


@dataclass(frozen=True)
class _Drawn:
    plan: TwinPlan
    streams: Sequence[np.random.Generator]

    def __call__(self) -> list[dict[str, float]]:
        return self.plan.statistics(self.streams)


@dataclass(frozen=True)
class _Explained:
    agent: RationalAgent

    def __call__(self) -> Sensitivity:
        return noise_sensitivity(self.agent)
