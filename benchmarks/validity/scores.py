"""Simulate the calibration test of forecasts and the intervals of their scores.

    PYTHONPATH=. python benchmarks/validity/scores.py --tables 200 --seed 1

``scores.csv`` has a line per kind of forecasts, number of cases and power that sharpens them (1 is
calibrated): the share of tables with p <= .05, and the share whose 95% intervals hold the expected
Brier score, the mean of 400,000 cases. Four reports a case share an outcome.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from study import Cell, Line, held, means, study

from coherence import calibration_test
from coherence.result import rejects

FORECASTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "continuous": lambda rng, n: rng.random(n),
    "grid of .05": lambda rng, n: np.round(20 * rng.random(n)) / 20,
    "three values": lambda rng, n: rng.choice([0.3, 0.5, 0.9], n),
    "extreme": lambda rng, n: np.clip(rng.beta(0.15, 0.15, n), 0.001, 0.999),
    "rare outcomes": lambda rng, n: np.round(rng.beta(0.5, 20, n), 3),
    "one value": lambda rng, n: np.full(n, 0.7),
}
REPORTS = "four reports a case"
# Forecasts, cases, power that sharpens them.
LINES = (
    *((name, n, 1.0) for name in FORECASTS for n in (12, 60, 300)),
    *((REPORTS, n, 1.0) for n in (12, 60)),
    *(("continuous", n, 2.0) for n in (60, 300)),
)


def happened(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """Draw what happens at these chances of 1."""
    return (rng.random(chance.size) < chance).astype(int)


def sharpened(chance: np.ndarray, power: float) -> np.ndarray:
    """Return the forecast of who overstates the odds by a power."""
    return chance**power / (chance**power + (1 - chance) ** power)


def truths(name: str, power: float) -> dict[str, float]:
    """Return the expected Brier score of these forecasts."""
    rng = np.random.default_rng(0)
    if name == REPORTS:
        return {}
    chance = FORECASTS[name](rng, 400_000)
    stated = sharpened(chance, power)
    return {"brier": float(np.mean(chance * (1 - stated) ** 2 + (1 - chance) * stated**2))}


def table(
    name: str, n: int, power: float, true: dict[str, float], seed: list[int]
) -> dict[str, float]:
    """Draw one table: whether it is rejected, and which intervals hold the truth."""
    rng = np.random.default_rng(seed)
    options: dict[str, object] = {"n_draws": 199, "rng": rng}
    if name == REPORTS:
        case = np.repeat(np.arange(n), 4)
        stated = np.clip(rng.random(n)[case] + rng.normal(0, 0.1, case.size), 0, 1)
        outcome = happened(rng, np.bincount(case, weights=stated) / 4)[case]
        options["context"] = case
    else:
        chance = FORECASTS[name](rng, n)
        stated, outcome = sharpened(chance, power), happened(rng, chance)
    result = calibration_test(stated, outcome, **options)
    found = {"rejected": float(rejects(result.pvalue))}
    for score, value in true.items():
        found[f"{score}_held"] = held(getattr(result.fitted, f"{score}_interval"), value)
    return found


def read(found: list[dict[str, float]]) -> list[Line]:
    """Return means; of several reports a case no score is looked at."""
    return [{"rejected": np.nan, "brier_held": np.nan} | line for line in means(found)]


if __name__ == "__main__":
    cells = [
        Cell(
            {"forecasts": name, "cases": n, "power": power},
            partial(table, name, n, power, truths(name, power)),
        )
        for name, n, power in LINES
    ]
    study("scores", cells, read, tables=200, count="tables")
