"""Simulated studies of a plan: which are run, from which random numbers, and what they give.

The random numbers of a study hang on the seed, its size and its number, and on nothing else: a
larger grid, more signals, more simulations or more processes leave the others as they are. Signals
share their contexts, so that power curves of several signals can be compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from coherence.checks import CHECKS
from coherence.inputs import Floats
from coherence.statistics.parallel import run_calls
from coherence.study.planned import PLANNED
from coherence.study.populations import Population

PORTION = 20  # studies in one call of a worker
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Cell:
    """A study that may be simulated many times."""

    n_contexts: int
    n_reps: int
    signal: float

    def __str__(self) -> str:
        """Return the size, for a progress bar."""
        return f"{self.n_contexts} x {self.n_reps}, signal {self.signal:g}"


@dataclass(frozen=True)
class Plan:
    """What every simulated study runs.

    Parameters
    ----------
    population : Population
        Who answers.
    checks : tuple of str
        Checks, in the order of `coherence.checks.CHECKS`.
    n_draws : int, optional
        Random draws behind every p-value; None takes each check's own number.
    entropy : tuple of int
        What all random numbers come from.
    """

    population: Population
    checks: tuple[str, ...]
    n_draws: int | None
    entropy: tuple[int, ...]

    @property
    def results(self) -> list[str]:
        """Names of all results, as in a report."""
        actions = self.population.actions
        return [name for check in self.checks for name in PLANNED[check].results(actions)]

    @property
    def check_of(self) -> dict[str, str]:
        """Name of a result -> its check."""
        actions = self.population.actions
        return {name: check for check in self.checks for name in PLANNED[check].results(actions)}

    def draws_of(self, check: str) -> int:
        """Return the random draws behind a p-value of a check; 0 where it has none."""
        planned = PLANNED[check]
        return 0 if not planned.draws else self.n_draws or planned.n_draws

    def numbers(self, cell: Cell, first: int, last: int) -> Floats:
        """Simulate some studies of a cell; return their numbers, shape (n_studies, n_results)."""
        return np.array([self._study(cell, number) for number in range(first, last)])

    def _study(self, cell: Cell, number: int) -> list[float]:
        asks = {PLANNED[check].asks for check in self.checks}
        sample = self.population.draw(
            cell.signal,
            cell.n_contexts,
            cell.n_reps,
            self._stream(cell, number, 0),
            wordings="wordings" in asks,
            iterated="iterated" in asks,
        )
        numbers: list[float] = []
        for check in self.checks:
            stream = self._stream(cell, number, 1 + list(CHECKS).index(check))
            run, actions = PLANNED[check].run, self.population.actions
            numbers += run(sample, actions, self.draws_of(check), stream)
        return numbers

    def _stream(self, cell: Cell, number: int, which: int) -> np.random.Generator:
        key = (cell.n_contexts, cell.n_reps, number, which)
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key))


@dataclass
class Simulator:
    """Runs studies of a plan and keeps their numbers.

    Parameters
    ----------
    plan : Plan
        What every study runs.
    n_jobs : int
        Processes of joblib; numbers do not depend on it.
    progress : callable, optional
        Called with (studies done, studies to do, label).
    """

    plan: Plan
    n_jobs: int = 1
    progress: Progress | None = None
    kept: dict[Cell, Floats] = field(default_factory=dict)
    n_done: int = 0

    def run(self, cells: Sequence[Cell], n_simulations: int) -> None:
        """Simulate every cell at least so many times."""
        jobs = []
        for cell in cells:
            have = len(self.kept.get(cell, ()))
            edges = [*range(have, n_simulations, PORTION), n_simulations]
            jobs += [(cell, *ends) for ends in pairwise(edges)]
        total = self.n_done + sum(last - first for _, first, last in jobs)
        # The longest first, so that no worker is left with it at the end.
        order = sorted(jobs, key=lambda job: -job[0].n_contexts * job[0].n_reps)
        found = run_calls(self.plan.numbers, order, self.n_jobs)
        parts: dict[Cell, list[Floats]] = {}
        for (cell, first, last), numbers in zip(order, found, strict=True):
            # Portions of a cell come in order: sorting is stable.
            parts.setdefault(cell, []).append(numbers)
            self.n_done += last - first
            if self.progress is not None:
                self.progress(self.n_done, total, str(cell))
        for cell, portions in parts.items():
            before = [self.kept[cell]] if cell in self.kept else []
            self.kept[cell] = np.concatenate([*before, *portions])
