"""A rational agent whose reports scatter, drawn with every parameter known."""

from dataclasses import dataclass

import numpy as np
import pytest

ACTIONS = np.array(["yes", "no", "defer"])


@dataclass(frozen=True)
class Drawn:
    """Reports, choices and states, and the beliefs behind them."""

    report: np.ndarray
    action: np.ndarray
    truth: np.ndarray
    context: np.ndarray
    belief: np.ndarray

    @property
    def arrays(self):
        return self.report, self.action, self.truth


@pytest.fixture(scope="session")
def drawn():
    """Utilities are yes 6(b - .6), no 6(.4 - b), defer .5: thresholds at .3167 and .6833."""

    def draw(seed, n=200, reps=5, sd=0.15, grid=0.05, **options):
        taste, signal, slips, lasting = (
            options.pop(name, 0.0) for name in ("taste", "signal", "slips", "lasting")
        )
        assert not options
        rng = np.random.default_rng(seed)
        belief = rng.random(n)
        truth = (rng.random(n) < belief).astype(int)
        acted_on = belief + signal * (truth - 0.5)
        utility = np.stack([6 * (acted_on - 0.6), 6 * (0.4 - acted_on), np.full(n, 0.5)], axis=1)
        utility += taste * rng.normal(size=utility.shape)
        context = np.repeat(np.arange(n), reps)
        shocks = rng.gumbel(size=(n * reps, 3)) * (slips == 0)
        if lasting:
            of_context = rng.gumbel(size=(n, 3))[context]
            shocks = np.where(rng.random((n * reps, 1)) < lasting, of_context, shocks)
        chosen = np.argmax(utility[context] + shocks, axis=1)
        slipped = rng.random(chosen.size) < slips
        chosen = np.where(slipped, rng.integers(0, 3, chosen.size), chosen)
        report = np.clip(belief[context] + sd * rng.normal(size=context.size), 0, 1)
        if grid:
            report = np.round(np.round(report / grid) * grid, 10)
        return Drawn(report, ACTIONS[chosen], truth[context], context, belief)

    return draw
