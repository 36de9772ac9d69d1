"""Size and power of the test of mean gaps, beside sign flips and Student's t.

    python benchmarks/validity/gaps.py --tables 4000 --seed 1

A line per distribution of the gaps of contexts and number of contexts: shares of tables rejected at
.05 by `difference_pvalue` (the test of `iterated_expectation_test`), by 999 sign flips and by
Student's t, where the mean is 0, and where it is 2.5 standard errors above and below. Groups hold 1
to 7 contexts that share half of the variance.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import stats
from study import options, write

from coherence.inputs import Floats
from coherence.statistics.mean_interval import difference_pvalue
from coherence.statistics.resample import Clusters

N_FLIPS = 999
STEPS = [-2.0, -1.0, 0.0, 1.0, 2.0]
Gaps = Callable[[np.random.Generator, int], Floats]
DESIGNS: dict[str, Gaps] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t, 3 degrees": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3),
    "steps, 70% zero": lambda rng, n: (
        rng.choice(STEPS, p=[0.03, 0.12, 0.7, 0.12, 0.03], size=n) / math.sqrt(0.48)
    ),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
    "lognormal": lambda rng, n: (
        (rng.lognormal(size=n) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1))
    ),
    "a tenth large": lambda rng, n: (
        (np.where(rng.random(n) < 0.1, 0.9, -0.1) + 0.05 * rng.standard_normal(n))
        / math.hypot(0.3, 0.05)
    ),
}
"""Gaps with mean 0 and standard deviation 1."""
SIZES = (6, 10, 20, 60, 200)


def pvalues(gaps: Floats, totals: Floats, signs: Floats) -> tuple[float, float, float]:
    """Return the p-values of the test, of sign flips and of Student's t."""
    flipped = np.abs(signs @ totals) >= abs(float(totals.sum())) * (1 - 1e-12)
    flips = (1 + int(flipped.sum())) / (1 + len(signs))
    if np.ptp(gaps) == 0:
        return difference_pvalue(gaps), flips, flips
    return difference_pvalue(gaps), flips, float(stats.ttest_1samp(gaps, 0).pvalue)


def line(name: str, n: int, grouped: bool, tables: int, seed: int) -> dict[str, object]:
    """Simulate one distribution and number of units."""
    draw = DESIGNS[name]
    rng = np.random.default_rng([seed, [*DESIGNS].index(name), n, grouped])
    signs = rng.choice([-1.0, 1.0], size=(N_FLIPS, n))
    size = 1 + np.arange(n) % 7 if grouped else np.ones(n, dtype=int)
    units = Clusters("group" if grouped else "context", np.repeat(np.arange(n), size))
    rejected: dict[str, list[bool]] = {}
    for _ in range(tables):
        gaps = draw(rng, size.sum())
        if grouped:
            gaps = (np.repeat(draw(rng, n), size) + gaps) / math.sqrt(2)
        for shift, where in ((0.0, "0"), (2.5, "above"), (-2.5, "below")):
            # The standard error of the mean of contexts, which share half of it in groups.
            error = math.sqrt(((size**2).sum() + size.sum()) / 2) / size.sum()
            moved = gaps + shift * (error if grouped else 1 / math.sqrt(n))
            totals = np.bincount(units.of_context, weights=moved)
            for way, p in zip(
                ("test", "flips", "t"), pvalues(units.values(moved), totals, signs), strict=True
            ):
                rejected.setdefault(f"{way}_{where}", []).append(p <= 0.05)
                if not shift:
                    rejected.setdefault(f"{way}_0_at_01", []).append(p <= 0.01)
    shares = {key: round(float(np.mean(hits)), 4) for key, hits in rejected.items()}
    return {"gaps": name, "units": n, "grouped": grouped, "tables": tables} | shares


if __name__ == "__main__":
    given = options(4000)
    cells = [(name, n, False) for name in DESIGNS for n in SIZES]
    cells += [(name, n, True) for name in ("normal", "exponential", "lognormal") for n in (12, 40)]
    write("gaps", [line(*cell, given.tables, given.seed) for cell in cells], given.out)
