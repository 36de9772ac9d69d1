"""Simulated studies, each tested by the checks themselves.

The random numbers of a study depend on the seed, its size and its number alone: a larger grid, more
simulations or more processes leave the others as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.margins import smallest_margin
from coherence.analysis.populations import BLIND, Groups, Population
from coherence.checks.catalogue import declaration, interpretation_of
from coherence.checks.check import Call, Check
from coherence.inputs import Floats
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.parallel import run_calls
from coherence.statistics.resample import as_seed
from coherence.table.needs import NEEDS_GIVEN_Z, NEEDS_PROMPT_VARIANTS, STATE_AND_CHOICES

DRAWS = {"cmi": 199}
WITH_THETA = " with theta"
"""Behind the name of a result whose state is the realised one, beside that of the exact one."""
STATES = ("both", "exact", "realised")
_USUAL_DRAWS = 999
_PORTION = 20  # studies in one call of a worker


@dataclass(frozen=True)
class Cell:
    """A study that may be simulated many times."""

    signal: float
    n_reps: int
    n_contexts: int

    @property
    def position(self) -> tuple[float, ...]:
        """Where it stands in a table."""
        return abs(self.signal), self.signal, self.n_reps, self.n_contexts

    def __str__(self) -> str:
        """Return the size, for a progress bar."""
        return f"{self.n_contexts} x {self.n_reps}, signal {self.signal:g}"


@dataclass(frozen=True)
class Plan:
    """What all simulated studies have in common."""

    population: Population
    checks: tuple[str, ...]
    n_draws: int | None
    entropy: tuple[int, ...]
    margin: float | None = None
    groups: Groups | None = None
    state: str = "both"  # of `STATES`, where the exact posterior is known

    def draws_of(self, check: str) -> int:
        """Return the permutations or other draws behind a p-value of a check."""
        return self.n_draws or DRAWS.get(check, _USUAL_DRAWS)

    def estimates(self, result: str) -> bool:
        """Tell whether a result is planned by the width of its interval."""
        return (
            self.margin is None
            and not interpretation_of(result.removesuffix(WITH_THETA))[0].rejected
        )

    def study(self, cell: Cell, number: int) -> dict[str, float]:
        """Simulate a study and test it: a number by name of the result.

        It is the p-value, NaN where the test is undefined, or of an estimate half the width of its
        interval; with a margin the smallest one that holds.
        """

        def stream(which: int) -> np.random.Generator:
            key = (cell.n_contexts, cell.n_reps, number, which)
            return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key))

        declared = [declaration(name) for name in self.checks]
        needs = [check.needs for check in declared]
        data = self.population.draw(
            cell.signal,
            cell.n_contexts,
            cell.n_reps,
            stream(0),
            wordings=NEEDS_PROMPT_VARIANTS in needs,
            iterated=NEEDS_GIVEN_Z in needs,
            groups=self.groups,
        )
        numbers = {}
        for check, named, of_state in self._by_state(declared, data):
            rng = as_seed(stream(1))
            parts = (check, *check.parts)
            for step in (step for part in parts for step in part.plan(of_state, False)):
                if not isinstance(step, Call):
                    continue
                usual = self.draws_of(check.name)
                draws = {name: least and usual for name, least in step.cheapest_options.items()}
                options: dict[str, Any] = {"rng": rng} if step.draws else {}
                outcome = step.function(**draws, **options)
                for result in outcome if isinstance(outcome, list) else [outcome]:
                    ends = result.interval
                    name = result.check + named
                    if self.margin is not None:
                        numbers[name] = smallest_margin(result)
                    elif not self.estimates(result.check):
                        numbers[name] = math.nan if result.pvalue is None else result.pvalue
                    elif is_estimate(check.name) and ends is not None:
                        numbers[name] = (ends.high - ends.low) / 2
        return numbers

    def _by_state(
        self, checks: list[Check], data: EvaluationData
    ) -> Iterator[tuple[Check, str, EvaluationData]]:
        """Run checks that can take either state with the exact one, and with theta beside it."""
        for check in checks:
            if data.posterior is None or check.needs != STATE_AND_CHOICES:
                yield check, "", data
                continue
            # What is planted in theta alone is invisible to the exact posterior.
            if self.state != "realised" and self.population.planted != BLIND:
                yield check, "", data.with_exact_state()
            if self.state != "exact" or self.population.planted == BLIND:
                yield check, WITH_THETA, data


def _studies(plan: Plan, cell: Cell, first: int, last: int) -> list[dict[str, float]]:
    return [plan.study(cell, number) for number in range(first, last)]


def is_estimate(check: str) -> bool:
    """Tell whether nothing of a check is a test, so that it is planned by its intervals."""
    return not any(says.rejected for says in declaration(check).sentences.values())


@dataclass
class Simulations:
    """Simulated studies of a plan; `kept` has a row for each study and a column for each result."""

    plan: Plan
    n: int
    n_jobs: int = 1
    progress: Any = None
    kept: dict[Cell, pd.DataFrame] = field(default_factory=dict)

    def run(self, cells: Iterable[Cell]) -> None:
        """Simulate the cells that are not simulated yet."""
        new = [cell for cell in dict.fromkeys(cells) if cell not in self.kept]
        # The longest first, so that no worker is left with it at the end.
        new.sort(key=lambda cell: -cell.n_contexts * cell.n_reps)
        edges = [*range(0, self.n, _PORTION), self.n]
        jobs = [(self.plan, cell, *ends) for cell in new for ends in pairwise(edges)]
        done, total = len(self.kept) * self.n, (len(self.kept) + len(new)) * self.n
        studies: dict[Cell, list[dict[str, float]]] = {cell: [] for cell in new}
        for (_, cell, *_), rows in zip(jobs, run_calls(_studies, jobs, self.n_jobs), strict=True):
            studies[cell] += rows
            done += len(rows)
            if self.progress is not None:
                self.progress(done, total, str(cell))
        self.kept |= {cell: pd.DataFrame(rows) for cell, rows in studies.items()}

    @property
    def results(self) -> list[str]:
        """Names of all results, in the order of the checks."""
        return list(dict.fromkeys(str(name) for table in self.kept.values() for name in table))

    def numbers(self, cell: Cell, result: str) -> Floats:
        """Return the numbers of a result in the studies of a cell, NaN where undefined."""
        table = self.kept[cell]
        return np.asarray(table.get(result, np.full(len(table), np.nan)), dtype=np.float64)
