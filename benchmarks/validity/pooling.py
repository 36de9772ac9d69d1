"""Simulate random-effects means over tasks: do their intervals hold the mean, and how often is no
effect taken for one?

    python benchmarks/validity/pooling.py --studies 1000 --seed 1

``pooling.csv`` has a line per effect, number of tasks, mean and spread of the true
effects between tasks: the share of studies whose interval holds the mean, and in which p <= .05.
Tasks have 30 to 100 contexts of two repetitions. One core needs about ten minutes.
"""

from functools import partial
from itertools import product

import numpy as np
from study import Cell, study

from coherence import sufficiency_test
from coherence.statistics.mean_interval import mean_interval
from coherence.statistics.random_effects import random_effects

DESIGNS = list(product(("sufficiency", "iterated_expectation"), (4, 8, 24), (0.0, 0.1), (0.0, 0.1)))


def choice_effect(mean: float, n: int, rng: np.random.Generator) -> tuple[float, float, int] | None:
    """Return a difference in P(yes) between states at equal belief, and its standard error.

    A task whose contexts cannot be exchanged has none, and is left out as a report leaves it out.
    """
    belief = rng.uniform(0.1, 0.9, n).round(2)
    truth = rng.random(n) < belief
    chance = np.clip(0.2 + 0.6 * belief + mean * (truth - 0.5), 0, 1)
    context = np.repeat(np.arange(n), 2)
    action = np.where(rng.random(2 * n) < chance[context], "yes", "no")
    result = sufficiency_test(
        belief[context], action, truth[context].astype(int), context=context, n_draws=99, rng=rng
    )
    if result.interval is None:
        return None
    row = result.details.set_index("component").loc["P(yes | 1) - P(yes | 0)"]
    return float(row["estimate"]), float(row["standard_error"]), n


def gap_effect(mean: float, n: int, rng: np.random.Generator) -> tuple[float, float, int]:
    """Return a mean of skewed gaps, and its standard error as a report takes it."""
    gaps = mean + 0.2 * (rng.exponential(size=n) - 1)
    interval = mean_interval(gaps)
    assert interval is not None
    return float(gaps.mean()), (interval.high - interval.low) / 2 / 1.959964, n


MAKERS = {"sufficiency": choice_effect, "iterated_expectation": gap_effect}


def pooled(design: tuple[str, int, float, float], seed: list[int]) -> dict[str, bool]:
    """Return whether the interval holds the mean, and whether the test rejects."""
    name, n_tasks, mean, sd = design
    rng = np.random.default_rng(seed)
    made = (
        MAKERS[name](rng.normal(mean, sd), int(rng.integers(30, 101)), rng) for _ in range(n_tasks)
    )
    effects = [effect for effect in made if effect is not None]
    over = random_effects(*zip(*effects, strict=True))
    return {"covered": over.low <= mean <= over.high, "rejected": over.pvalue <= 0.05}


if __name__ == "__main__":
    columns = ("effect", "n_tasks", "mean", "sd")
    cells = [Cell(dict(zip(columns, each, strict=True)), partial(pooled, each)) for each in DESIGNS]
    study("pooling", cells, tables=1000, unit="studies", count="n_studies")
