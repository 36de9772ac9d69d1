"""How often a margin is claimed, where the true difference is the margin and where it is 0.

    python benchmarks/validity/margins.py --tables 400 --jobs 2 --seed 1

``margins.csv`` has a line per design, number of contexts and true difference: the
share of tables in which the 95% intervals of the plain averages lie within the margin of .1, which
two one-sided tests at 2.5% may claim in 2.5% of tables where the difference is .1. One core needs
20 minutes.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from study import Cell, Line, study

from coherence import CheckResult, sufficiency_test
from coherence.report.verdicts import smallest_margin

MARGIN = 0.1
SIZES = (50, 100, 200, 400, 800, 1_600)
FEW = {"n_draws": 99}  # the p-value is not looked at


def _shares(
    n: int, moved: float, rng: np.random.Generator, taste: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return beliefs, states, and shares of an action that moves with the state by `moved`."""
    belief = rng.integers(2, 19, n) / 20
    truth = (rng.random(n) < belief).astype(int)
    share = 0.2 + 0.6 * belief + moved * (truth - belief) + taste * rng.uniform(-1, 1, n)
    return belief, truth, np.clip(share, 0, 1)


def choices(n: int, moved: float, rng: np.random.Generator) -> CheckResult:
    """One choice a context."""
    belief, truth, share = _shares(n, moved, rng)
    return sufficiency_test(belief, (rng.random(n) < share).astype(int), truth, **FEW, rng=rng)


def repeated(n: int, moved: float, rng: np.random.Generator) -> CheckResult:
    """Five choices a context, which share a taste."""
    belief, truth, share = _shares(n, moved, rng, taste=0.1)
    context = np.repeat(np.arange(n), 5)
    action = (rng.random(context.size) < share[context]).astype(int)
    arrays = belief[context], action, truth[context]
    return sufficiency_test(*arrays, context=context, **FEW, rng=rng)


def three(n: int, moved: float, rng: np.random.Generator) -> CheckResult:
    """Five choices a context of three actions, of which one moves and two give way."""
    belief, truth, share = _shares(n, moved, rng, taste=0.1)
    context = np.repeat(np.arange(n), 5)
    others = np.where(rng.random(context.size) < 0.5, "no", "defer")
    action = np.where(rng.random(context.size) < share[context], "yes", others)
    arrays = belief[context], action, truth[context]
    return sufficiency_test(*arrays, context=context, **FEW, rng=rng)


def policies(n: int, moved: float, rng: np.random.Generator) -> CheckResult:
    """Probabilities of actions."""
    belief, truth, share = _shares(n, moved, rng, taste=0.1)
    return sufficiency_test(belief, np.stack([1 - share, share], axis=1), truth, **FEW, rng=rng)


DESIGNS: dict[str, Callable[..., CheckResult]] = {
    "choices": choices,
    "repeated": repeated,
    "three actions": three,
    "policies": policies,
}


def table(name: str, n: int, moved: float, seed: list[int]) -> tuple[float, float]:
    """Return whether the margin is claimed, and the smallest one that the table supports."""
    least = smallest_margin(DESIGNS[name](n, moved, np.random.default_rng(seed)))
    return float(least < MARGIN), least


def read(found: list[tuple[float, float]]) -> list[Line]:
    """Return the share of claims, and the median margin."""
    claimed, least = zip(*found, strict=True)
    return [{"claimed": np.mean(claimed), "median_margin": np.nanmedian(least)}]


if __name__ == "__main__":
    cells = [
        Cell({"design": name, "n_contexts": n, "difference": moved}, partial(table, name, n, moved))
        for name in DESIGNS
        for n in SIZES
        for moved in (0.0, MARGIN)
    ]
    study("margins", cells, read, tables=400)
