"""Designs that users really have, as data: beliefs, choices and states drawn with a known hidden signal.

Under signal 0 the reported belief is the belief acted on: it is rounded first, and action and state are drawn from it afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

ACTIONS = ("yes", "no", "defer")


@dataclass(frozen=True)
class Design:
    """One way in which a study can look.

    Utilities are yes ``slope * (b - .6)``, no ``slope * (.4 - b)`` and defer `defer`, with extreme-value shocks of every choice and
    normal tastes of standard deviation `taste` of every context.
    """

    name: str
    n_contexts: int = 200
    n_reps: int = 5  # 0: between 1 and 9, unequal
    beliefs: str = "uniform"
    grid: float = 0.05
    taste: float = 1.0
    slope: float = 6.0
    defer: float = 0.5
    fixed_action: bool = False
    calibrated: bool = True
    signal: float = 0.0

    def draw(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw belief, action, truth and context, and answers for the iterated expectation that agree in expectation."""
        exact = self._beliefs(rng)
        reported = np.round(np.round(exact / self.grid) * self.grid, 10) if self.grid else exact
        chance = reported if self.calibrated else reported**2  # miscalibrated: the state is rarer than believed
        truth = (rng.random(self.n_contexts) < chance).astype(int)
        acted_on = reported + self.signal * (truth - 0.5)
        utility = np.stack([self.slope * (acted_on - 0.6), self.slope * (0.4 - acted_on), np.full(self.n_contexts, self.defer)], axis=1)
        utility += rng.normal(size=utility.shape) * self.taste
        reps = rng.integers(1, 10, self.n_contexts) if self.n_reps == 0 else np.full(self.n_contexts, self.n_reps)
        context = np.repeat(np.arange(self.n_contexts), reps)
        shocks = rng.gumbel(size=utility.shape)[context] if self.fixed_action else rng.gumbel(size=(context.size, 3))
        action = np.array(ACTIONS)[np.argmax(utility[context] + shocks, axis=1)]
        rep = np.concatenate([np.arange(n) for n in reps])
        table = {"context": context, "rep": rep, "p": reported[context], "action": action, "theta": truth[context], "exact": exact[context]}
        return pd.DataFrame(table)

    def draw_iterated(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a runs table whose answers scatter around beliefs that average out exactly."""
        exact = self._beliefs(rng)
        share = rng.uniform(0.2, 0.8, self.n_contexts)
        shift = rng.uniform(-1, 1, self.n_contexts) * np.minimum(exact, 1 - exact)
        reps = rng.integers(1, 10, self.n_contexts) if self.n_reps == 0 else np.full(self.n_contexts, self.n_reps)
        context = np.repeat(np.arange(self.n_contexts), reps)
        rep = np.concatenate([np.arange(n) for n in reps])

        def answers(p: np.ndarray, **columns: object) -> pd.DataFrame:
            spread = 0.5 * np.minimum(p, 1 - p)[context]
            stated = p[context] + rng.uniform(-1, 1, context.size) * spread
            if self.grid:  # rounded up or down at random, so that rounding does not bias the answer
                stated = np.clip((np.floor(stated / self.grid) + (rng.random(context.size) < (stated / self.grid) % 1)) * self.grid, 0, 1)
            return pd.DataFrame({"context": context, "rep": rep, "p": stated, "z": None, "z_state": None, "p_z": np.nan, **columns})

        return pd.concat(
            [
                answers(exact),
                answers(exact - share * shift, z="z", z_state="0", p_z=(1 - share)[context]),
                answers(exact + (1 - share) * shift, z="z", z_state="1", p_z=share[context]),
            ],
            ignore_index=True,
        )

    def draw_prompts(self, rng: np.random.Generator, *, distance: float) -> pd.DataFrame:
        """Draw beliefs under two prompts whose expectations lie `distance` apart, up or down at random, in every context."""
        exact, context, rep = self._spread(rng)
        moved = exact + distance * rng.choice([-1.0, 1.0], self.n_contexts)
        pieces = []
        for prompt, expected in (("standard", exact), ("mse", moved)):
            stated = expected[context] + rng.uniform(-0.1, 0.1, context.size)
            pieces.append(pd.DataFrame({"context": context, "rep": rep, "prompt": prompt, "p": stated}))
        return pd.concat(pieces, ignore_index=True)

    def draw_calibration(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw beliefs that miss a posterior between .2 and .8 by a uniform error of at most .1."""
        exact, context, _ = self._spread(rng)
        state = (rng.random(self.n_contexts) < exact).astype(float)
        stated = exact[context] + rng.uniform(-0.1, 0.1, context.size)
        return pd.DataFrame({"context": context, "p": stated, "p_true": exact[context], "theta": state[context]})

    def _spread(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        reps = rng.integers(2, 10, self.n_contexts) if self.n_reps == 0 else np.full(self.n_contexts, self.n_reps)
        return rng.uniform(0.2, 0.8, self.n_contexts), np.repeat(np.arange(self.n_contexts), reps), np.concatenate([np.arange(n) for n in reps])

    def _beliefs(self, rng: np.random.Generator) -> np.ndarray:
        if self.beliefs == "extreme":
            return rng.beta(0.3, 0.3, self.n_contexts)
        if self.beliefs == "rare":
            return rng.beta(1, 19, self.n_contexts)
        return rng.random(self.n_contexts)


_BASE = Design("200 x 5, taste of contexts")
NULLS = (
    replace(_BASE, name="beliefs continuous", grid=0.0),
    replace(_BASE, name="beliefs on a .05 grid", taste=0.5),
    replace(_BASE, name="beliefs on a .25 grid", grid=0.25),
    replace(_BASE, name="beliefs crowded near 0 and 1", beliefs="extreme"),
    replace(_BASE, name="1000 contexts x 1", n_contexts=1000, n_reps=1),
    replace(_BASE, name="200 x 5, independent choices", taste=0.0),
    _BASE,
    replace(_BASE, name="200 x 5, action fixed in context", fixed_action=True),
    replace(_BASE, name="1 to 9 repetitions", n_reps=0),
    replace(_BASE, name="60 contexts x 3", n_contexts=60, n_reps=3),
    replace(_BASE, name="an action chosen 3% of the time", defer=-2.6),
    replace(_BASE, name="belief miscalibrated", calibrated=False),
    replace(_BASE, name="theta rare (5%)", beliefs="rare", grid=0.01),
    replace(_BASE, name="choices unrelated to belief", slope=0.0),
)
SIGNALS = tuple(replace(_BASE, name=f"hidden signal {signal}", signal=signal) for signal in (0.1, 0.2, 0.4))


def exact_information(design: Design, *, n_tastes: int = 40_000) -> float:
    """Integrate I(action; truth | belief) over beliefs and tastes, in nats."""
    rng = np.random.default_rng(0)
    grid = design.grid or 0.01
    beliefs = np.round(np.arange(0, 1 + grid / 2, grid), 10)
    weights = np.full(beliefs.size, 1.0)
    weights[[0, -1]] = 0.5  # rounding sends half as much of the uniform to the ends
    tastes = rng.normal(size=(n_tastes, 3)) * design.taste
    total = 0.0
    for belief, weight in zip(beliefs, weights / weights.sum(), strict=True):
        shares = []
        for truth in (0, 1):
            acted_on = belief + design.signal * (truth - 0.5)
            utility = np.array([design.slope * (acted_on - 0.6), design.slope * (0.4 - acted_on), design.defer]) + tastes
            odds = np.exp(utility - utility.max(axis=1, keepdims=True))
            shares.append((odds / odds.sum(axis=1, keepdims=True)).mean(axis=0))
        mixed = (1 - belief) * shares[0] + belief * shares[1]
        total += weight * sum(
            chance * float((share * np.log(share / mixed)).sum()) for chance, share in ((1 - belief, shares[0]), (belief, shares[1]))
        )
    return total
