"""Designs that users really have, as data: beliefs, choices and states with a known signal.

Under signal 0 the reported belief is the belief acted on: it is rounded first, and action and state
are drawn from it afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

ACTIONS = ("yes", "no", "defer")


@dataclass(frozen=True)
class Design:
    """One way in which a study can look.

    Utilities are yes ``slope * (b - .6)``, no ``slope * (.4 - b)`` and defer `defer`, with
    extreme-value shocks of every choice and normal tastes of standard deviation `taste` of every
    context.
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
    gap: float = 0.0
    bias: float = 0.0
    dip: float = 0.0
    wording: float = 0.0  # spread of a utility shock of every row, which its policy shows
    greedy: bool = False  # policies put all probability on the best action
    heaped: bool = False  # multiples of .1 are half a guess
    saturated: bool = False  # a third of reports are 0 or 1, and true in 19 of 20 cases
    slips: float = 0.0  # share of choices that are any action; all others are the best one
    n_actions: int = 3  # five are best around beliefs 0, 1/4, 1/2, 3/4 and 1
    missing: bool = False  # answers are lost by what they say: reports near .5, and the action no
    refused: float = 0.0  # share of answers lost where the action is yes and the state is false
    jump: bool = False  # state and choice change sides at one belief, .5
    base: float = 0.0  # how often the state is true, whatever the belief; 0: as often as believed
    n_payoffs: int = 4  # actions of designs with three states
    noise: float = 0.0  # standard deviation of reports around the belief acted on
    scatter: float = 0.0  # of repeated reports before they are rounded, in steps of the grid
    off: float = 0.0  # log-odds by which states are more probable than the posterior says
    untold: float = 0.0  # standard deviation, in log-odds, of evidence acted on and not stated
    leaked: float = 0.0  # by how much beliefs of the state that came true are higher
    deferred: float = 0.0  # by how much deferring is worth more in the state that came true

    def draw(
        self,
        rng: np.random.Generator,
        *,
        beliefs: np.ndarray | None = None,
        lure: np.ndarray | float = 0.0,
    ) -> pd.DataFrame:
        """Draw belief, action, truth and context.

        `lure` makes the first action attractive for another reason than belief.
        """
        exact = self._beliefs(rng) if beliefs is None else beliefs
        # Reports with noise are rounded themselves; without, so is the belief.
        reported = self._on_grid(exact) if not self.noise else exact
        chance = self._chance(reported)
        truth = (rng.random(self.n_contexts) < chance).astype(int)
        acted_on = reported + self.signal * (truth - 0.5)
        utility = self._utility(acted_on)
        utility[:, 0] += lure
        utility += rng.normal(size=utility.shape) * self.taste
        context = self._contexts(rng)
        shocks = (
            rng.gumbel(size=utility.shape)[context]
            if self.fixed_action
            else rng.gumbel(size=(context.size, utility.shape[1]))
        )
        chosen = np.argmax(utility[context] + shocks * (self.slips == 0), axis=1)
        if self.slips:
            slipped = rng.random(chosen.size) < self.slips
            chosen = np.where(slipped, rng.integers(0, utility.shape[1], chosen.size), chosen)
        action = np.array((*ACTIONS, "refer", "wait"))[chosen]
        rep = np.arange(context.size) - np.searchsorted(context, context)
        table = {
            "context": context,
            "rep": rep,
            "p": self._reports(reported, context, rng) if self.noise else reported[context],
            "action": action,
            "theta": truth[context],
            "exact": exact[context],
        }
        runs = pd.DataFrame(table)
        if self.missing:
            lost = 0.3 * (np.abs(runs["p"] - 0.5) < 0.2) + 0.3 * (runs["action"] == "no")
            runs = runs[rng.random(len(runs)) >= lost].reset_index(drop=True)
        if self.refused:
            lost = self.refused * ((runs["action"] == "yes") & (runs["theta"] == 0))
            runs = runs[rng.random(len(runs)) >= lost].reset_index(drop=True)
        return runs

    def draw_leak(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw states from an exact posterior, which is acted on, and which reports miss."""
        n = self.n_contexts
        exact = np.clip(self._beliefs(rng), 1e-4, 1 - 1e-4)
        log_odds = np.log(exact) - np.log1p(-exact)
        truth = (rng.random(n) < 1 / (1 + np.exp(-log_odds - self.off))).astype(int)
        stated = 1 / (1 + np.exp(-log_odds - self.untold * rng.normal(size=n)))
        context = self._contexts(rng)
        utility = self._utility(exact + self.signal * (truth - 0.5))
        utility[:, 2] += self.deferred * (truth - 0.5)
        utility += rng.normal(size=utility.shape) * self.taste
        if self.fixed_action:
            chosen = np.argmax(utility + rng.gumbel(size=utility.shape), axis=1)[context]
        else:
            shocks = rng.gumbel(size=(context.size, utility.shape[1]))
            chosen = np.argmax(utility[context] + shocks, axis=1)
        report = np.clip(stated + self.leaked * (truth - 0.5), 0, 1)
        return pd.DataFrame(
            {
                "context": context,
                "p": self._on_grid(report)[context],
                "action": np.array(ACTIONS)[chosen],
                "theta": truth[context],
                "p_true": exact[context],
            }
        )

    def draw_policies(
        self, rng: np.random.Generator
    ) -> tuple[np.ndarray, pd.DataFrame, np.ndarray, np.ndarray]:
        """Draw beliefs, the probabilities of actions, states and contexts.

        Tastes of contexts and of wordings move the policy; what an extreme-value shock would choose
        is computed and not drawn.
        """
        exact = self._beliefs(rng)
        belief = self._on_grid(exact)
        chance = self._chance(belief)
        truth = (rng.random(self.n_contexts) < chance).astype(int)
        utility = self._utility(belief + self.signal * (truth - 0.5))
        utility += rng.normal(size=utility.shape) * self.taste
        context = self._contexts(rng)
        utility = utility[context] + rng.normal(size=(context.size, 3)) * self.wording
        odds = np.exp(utility - utility.max(axis=1, keepdims=True))
        if self.greedy:
            odds = np.asarray(odds == 1.0, dtype=float)
        policy = pd.DataFrame(odds / odds.sum(axis=1, keepdims=True), columns=list(ACTIONS))
        return belief[context], policy, truth[context], context

    def draw_iterated(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a runs table whose answers scatter around beliefs that average out.

        In every context they do so up to a gap of `gap`, up or down.
        """
        exact = self._beliefs(rng) * (1 - 2 * self.gap) + self.gap
        share = rng.uniform(0.2, 0.8, self.n_contexts)
        room = np.minimum(exact, 1 - exact) - self.gap
        shift = rng.uniform(-1, 1, self.n_contexts) * room
        off = self.gap * rng.choice([-1.0, 1.0], self.n_contexts)
        reps = (
            rng.integers(1, 10, self.n_contexts)
            if self.n_reps == 0
            else np.full(self.n_contexts, self.n_reps)
        )
        context = np.repeat(np.arange(self.n_contexts), reps)
        rep = np.concatenate([np.arange(n) for n in reps])

        def scattered(p: np.ndarray) -> np.ndarray:
            spread = 0.5 * np.minimum(p, 1 - p)[context]
            return self._rounded(p[context] + rng.uniform(-1, 1, context.size) * spread, rng)

        def answers(p: np.ndarray, **columns: object) -> pd.DataFrame:
            return pd.DataFrame(
                {
                    "context": context,
                    "rep": rep,
                    "p": scattered(p),
                    "z": None,
                    "z_state": None,
                    "p_z": np.nan,
                    **columns,
                }
            )

        # The stated distribution of z is rounded too, one state at a time, so that it may miss 1.
        stated = [
            np.clip(np.round(part[context] + rng.uniform(-0.05, 0.05, context.size), 2), 0.01, 0.99)
            for part in (1 - share, share)
        ]
        return pd.concat(
            [
                answers(exact + off),
                answers(exact - share * shift, z="z", z_state="0", p_z=stated[0]),
                answers(exact + (1 - share) * shift, z="z", z_state="1", p_z=stated[1]),
            ],
            ignore_index=True,
        )

    def draw_rounded(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a runs table of beliefs that average out up to gaps, and are rounded to the grid.

        All repetitions of a context round alike, unless reports scatter before.
        """
        n = self.n_contexts
        rng.exponential(size=n), rng.random(n)  # unused: the recorded tables have them before
        exact = rng.uniform(self.gap, 1 - self.gap, n)
        share = rng.uniform(0.2, 0.8, n)
        shift = rng.uniform(-1, 1, n) * (np.minimum(exact, 1 - exact) - self.gap)
        off = self.gap * rng.choice([-1.0, 1.0], n)
        context = self._contexts(rng)
        rep = np.arange(context.size) - np.searchsorted(context, context)

        def reported(belief: np.ndarray) -> np.ndarray:
            stated = belief[context] + self.scatter * self.grid * rng.normal(size=context.size)
            if self.grid:
                stated = np.round(np.round(stated / self.grid) * self.grid, 10)
            return np.clip(stated, 0, 1)

        weight = reported(share)
        common = {"context": context, "rep": rep}
        pieces = [
            {"p": reported(exact + off), "z": None, "z_state": None, "p_z": np.nan},
            {"p": reported(exact - share * shift), "z": "z", "z_state": "0", "p_z": 1 - weight},
            {"p": reported(exact + (1 - share) * shift), "z": "z", "z_state": "1", "p_z": weight},
        ]
        return pd.concat([pd.DataFrame(common | piece) for piece in pieces], ignore_index=True)

    def draw_prompts(self, rng: np.random.Generator, *, distance: float) -> pd.DataFrame:
        """Draw beliefs under two prompts, their expectations `distance` apart in every context.

        Which one is higher is drawn at random.
        """
        exact, context, rep = self._spread(rng)
        moved = exact + distance * rng.choice([-1.0, 1.0], self.n_contexts)
        pieces = []
        for prompt, expected in (("standard", exact), ("mse", moved)):
            stated = self._rounded(expected[context] + rng.uniform(-0.1, 0.1, context.size), rng)
            pieces.append(
                pd.DataFrame({"context": context, "rep": rep, "prompt": prompt, "p": stated})
            )
        return pd.concat(pieces, ignore_index=True)

    def draw_calibration(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw beliefs that miss a posterior between .2 and .8 and are too high by `bias`.

        The error is uniform and at most .1.
        """
        exact, context, _ = self._spread(rng)
        state = (rng.random(self.n_contexts) < exact).astype(float)
        stated = exact[context] + rng.uniform(-0.1, 0.1, context.size) + self.bias
        return pd.DataFrame(
            {"context": context, "p": stated, "p_true": exact[context], "theta": state[context]}
        )

    def draw_featured(self, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Draw choices that also depend on evidence: two numbers and a word.

        These inform the belief as well.
        """
        n = self.n_contexts
        features = pd.DataFrame(
            {
                "x_age": rng.normal(size=n),
                "x_dose": rng.integers(0, 4, n),
                "x_site": rng.choice(["a", "b", "c"], n),
            }
        )
        evidence = (
            0.8 * features["x_age"] + 0.5 * (features["x_dose"] - 1.5) + (features["x_site"] == "a")
        )
        runs = self.draw(
            rng, beliefs=1 / (1 + np.exp(-evidence.to_numpy())), lure=features["x_age"].to_numpy()
        )
        return runs, features.iloc[runs["context"]].reset_index(drop=True)

    def draw_states(
        self, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw beliefs over three states in steps of .1, choices among some actions, and the state.

        The payoffs of the actions are random.
        """
        belief = _thirds(rng, self.n_contexts) / 10
        truth = (rng.random(self.n_contexts)[:, None] > belief.cumsum(axis=1)[:, :2]).sum(axis=1)
        payoff = np.array([[3.0, -1, -1], [-1, 3.0, -1], [-1, -1, 3.0], [0.8, 0.8, 0.8]])
        payoff = payoff[: self.n_payoffs]
        acted_on = (1 - self.signal) * belief + self.signal * np.eye(3)[truth]
        utility = acted_on @ payoff.T
        utility += rng.normal(size=utility.shape) * self.taste
        context = self._contexts(rng)
        action = np.argmax(utility[context] + rng.gumbel(size=utility[context].shape), axis=1)
        return belief[context], action, truth[context], context

    def sized(self, n_contexts: int) -> "Design":
        """Return the same design with another number of contexts."""
        return replace(self, n_contexts=n_contexts)

    def largest_drop(
        self, pair: tuple[str, str], *, n_bins: int = 5, n_tastes: int = 20_000
    ) -> float:
        """Integrate the largest fall of the share of the first action of a pair.

        It falls between fifths of a uniform belief.
        """
        beliefs = (np.arange(500) + 0.5) / 500
        tastes = np.random.default_rng(0).normal(size=(n_tastes, 3)) * self.taste
        chosen = np.empty((beliefs.size, 3))
        for position, belief in enumerate(beliefs):
            utility = self._utility(np.array([belief])) + tastes
            odds = np.exp(utility - utility.max(axis=1, keepdims=True))
            chosen[position] = (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0)
        sums = chosen.reshape(n_bins, -1, 3).sum(axis=1)
        first, second = (sums[:, ACTIONS.index(action)] for action in pair)
        share = first / (first + second)
        j, k = np.triu_indices(n_bins, 1)
        return float((share[j] - share[k]).max())

    def _on_grid(self, values: np.ndarray) -> np.ndarray:
        return np.round(np.round(values / self.grid) * self.grid, 10) if self.grid else values

    def _reports(
        self, belief: np.ndarray, context: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Scatter reports around the belief, end them at 0 and 1, round them."""
        report = belief[context] + self.noise * rng.normal(size=context.size)
        return self._on_grid(np.clip(report, 0, 1))

    def _chance(self, reported: np.ndarray) -> np.ndarray:
        """Return how often the state is true at each belief."""
        if self.base:
            return np.full(reported.shape, self.base)
        if self.jump:
            return np.where(reported > 0.5, 0.95, 0.05)
        if not self.calibrated:
            return reported**2  # the state is rarer than believed
        chance = np.clip(reported, 0.05, 0.95) if self.saturated else reported
        if self.heaped:
            guess = np.abs(reported * 10 - np.round(reported * 10)) < 1e-9
            chance = np.where(guess, 0.5 + 0.4 * (chance - 0.5), chance)
        return chance

    def _utility(self, acted_on: np.ndarray) -> np.ndarray:
        if self.n_actions == 5:
            best_at = np.array([1.0, 0.0, 0.5, 0.25, 0.75])
            return -2 * self.slope * (acted_on[:, None] - best_at) ** 2
        if self.dip:  # what pays first rises and then falls with belief
            acted_on = acted_on - self.dip * np.maximum(acted_on - 0.5, 0)
        return np.stack(
            [
                self.slope * (acted_on - 0.6),
                self.slope * (0.4 - acted_on),
                np.full(acted_on.shape, self.defer),
            ],
            axis=1,
        )

    def _contexts(self, rng: np.random.Generator) -> np.ndarray:
        if self.n_reps < 0:  # Zipf: most contexts were asked once, a few very often
            reps = np.minimum(rng.zipf(1.8, self.n_contexts), 60)
            return np.repeat(np.arange(self.n_contexts), reps)
        reps = (
            rng.integers(1, 10, self.n_contexts)
            if self.n_reps == 0
            else np.full(self.n_contexts, self.n_reps)
        )
        return np.repeat(np.arange(self.n_contexts), reps)

    def _rounded(self, stated: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Round up or down at random, so that rounding does not bias the answer."""
        if not self.grid:
            return stated
        return np.clip(
            (np.floor(stated / self.grid) + (rng.random(stated.size) < (stated / self.grid) % 1))
            * self.grid,
            0,
            1,
        )

    def _spread(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        reps = (
            rng.integers(2, 10, self.n_contexts)
            if self.n_reps == 0
            else np.full(self.n_contexts, self.n_reps)
        )
        return (
            rng.uniform(0.2, 0.8, self.n_contexts),
            np.repeat(np.arange(self.n_contexts), reps),
            np.concatenate([np.arange(n) for n in reps]),
        )

    def _beliefs(self, rng: np.random.Generator) -> np.ndarray:
        if self.beliefs == "extreme":
            return rng.beta(0.3, 0.3, self.n_contexts)
        if self.saturated:
            inside = rng.random(self.n_contexts)
            ends = rng.integers(0, 2, self.n_contexts).astype(float)
            return np.where(rng.random(self.n_contexts) < 1 / 3, ends, inside)
        if self.beliefs == "very rare":
            return rng.beta(1, 65, self.n_contexts)
        if self.beliefs == "rare":
            return rng.beta(1, 19, self.n_contexts)
        if self.beliefs == "guess":  # what a model that reads no evidence computes
            return np.clip(rng.normal(0.47, 0.03, self.n_contexts), 0.01, 0.99)
        if self.beliefs == "near one half":
            return rng.uniform(0.3, 0.7, self.n_contexts)
        if self.beliefs == "constant":
            return np.full(self.n_contexts, 0.4)
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
SIGNALS = tuple(
    replace(_BASE, name=f"hidden signal {signal}", signal=signal) for signal in (0.1, 0.2, 0.4)
)
_NULL = {design.name: design for design in NULLS}
TESTED = (*NULLS, *SIGNALS)
# Where the truth of an interval about belief and action is known exactly.
BELIEFS = (
    *SIGNALS,
    *(
        _NULL[name]
        for name in (
            "200 x 5, taste of contexts",
            "1000 contexts x 1",
            "200 x 5, independent choices",
            "beliefs continuous",
        )
    ),
)
_PLAIN = tuple(
    _NULL[name]
    for name in (
        "200 x 5, taste of contexts",
        "1 to 9 repetitions",
        "60 contexts x 3",
        "beliefs continuous",
    )
)
_ONCE = _NULL["1000 contexts x 1"]
FEW = replace(_BASE, name="20 contexts x 5", n_contexts=20)
STATED = tuple(
    _NULL[name]
    for name in (
        "200 x 5, taste of contexts",
        "1 to 9 repetitions",
        "60 contexts x 3",
        "1000 contexts x 1",
    )
)
PROMPTED = _PLAIN
GAPPED = tuple(
    replace(design, name=f"{design.name}, gap .1", gap=0.1) for design in (*_PLAIN, _ONCE)
)
BIASED = tuple(
    replace(design, name=f"{design.name}, bias .1", bias=0.1) for design in (*_PLAIN, _ONCE)
)
NEARLY_CALIBRATED = tuple(
    replace(design, name=f"{design.name}, bias .03", bias=0.03) for design in (*_PLAIN, _ONCE)
)
VIOLATED = tuple(
    replace(_BASE, name=name, grid=0.0, dip=dip, **options)
    for name, dip, options in (
        ("choices turn back, 200 x 5", 2.0, {}),
        ("choices turn back, 1 to 9 repetitions", 2.0, {"n_reps": 0}),
        ("choices turn back, 60 contexts x 3", 2.5, {"n_contexts": 60, "n_reps": 3}),
        ("choices turn back, 1000 contexts x 1", 2.5, {"n_contexts": 1000, "n_reps": 1}),
        ("choices turn back a little, 200 x 5", 1.5, {}),
    )
)
CONSTANT = (
    replace(_BASE, name="one belief throughout, 200 x 5", beliefs="constant"),
    replace(
        _BASE, name="one belief throughout, 60 x 3", beliefs="constant", n_contexts=60, n_reps=3
    ),
    replace(_BASE, name="one belief throughout, hidden signal 0.2", beliefs="constant", signal=0.2),
)
_POLICY = replace(_BASE, name="policies, 200 contexts x 1", n_reps=1)
POLICIES = (
    _POLICY,
    *(
        replace(_POLICY, name=f"policies, {name}", **options)
        for name, options in (
            ("beliefs continuous", {"grid": 0.0}),
            ("no taste, beliefs on a .05 grid", {"taste": 0.0}),
            ("no taste, beliefs continuous", {"taste": 0.0, "grid": 0.0}),
            ("taste .1, beliefs continuous", {"taste": 0.1, "grid": 0.0}),
            ("beliefs heaped", {"heaped": True}),
            ("beliefs heaped, taste .1", {"heaped": True, "taste": 0.1}),
            ("200 x 5 wordings", {"n_reps": 5, "wording": 0.5}),
            ("1 to 9 wordings", {"n_reps": 0, "wording": 0.5}),
            ("60 contexts x 1", {"n_contexts": 60}),
            ("1000 contexts x 1", {"n_contexts": 1000}),
            ("0 or 1", {"greedy": True}),
            ("steep (slope 40, taste 3)", {"slope": 40.0, "taste": 3.0, "grid": 0.0}),
            ("beliefs crowded near 0 and 1", {"beliefs": "extreme"}),
            ("an action at 3%", {"defer": -2.6}),
            ("belief miscalibrated", {"calibrated": False}),
            ("theta rare (5%)", {"beliefs": "rare", "grid": 0.01}),
            ("unrelated to belief", {"slope": 0.0}),
        )
    ),
)
POLICY_SIGNALS = tuple(
    replace(_POLICY, name=f"policies, hidden signal {signal}{name}", signal=signal, **options)
    for name, options in (
        ("", {}),
        (", taste .1", {"taste": 0.1}),
        (", no taste", {"taste": 0.0}),
    )
    for signal in (0.05, 0.1)
)
POLICIES_TURNED = tuple(
    replace(_POLICY, name=f"policies turn back, {name}", grid=0.0, dip=2.0, **options)
    for name, options in (
        ("200 x 1", {}),
        ("200 x 5 wordings", {"n_reps": 5, "wording": 0.5}),
        ("60 x 1", {"n_contexts": 60}),
    )
)
ROUNDED = tuple(
    replace(
        _BASE,
        name=f"steps of {grid:g}, {n} x {reps}{', scatter' if scatter else ''}, gap {gap:g}",
        n_contexts=n,
        n_reps=reps,
        grid=grid,
        scatter=scatter,
        gap=gap,
    )
    for n in (30, 200)
    for grid in (0.01, 0.05, 0.1)  # in wider steps there is no interval
    for reps, scatter in ((5, 0.0), (5, 0.3))
    for gap in (0.0, 0.05, 0.1)
)
# What language models give.
LIKE_MODELS = tuple(
    replace(_BASE, name=f"as of a model: {name}", **options)
    for name, options in (
        ("heaped and saturated, 200 x 5", {"heaped": True, "saturated": True}),
        (
            "heaped, 1000 x 3",
            {"heaped": True, "n_contexts": 1000, "n_reps": 3},
        ),
        ("greedy, 3% slips", {"slips": 0.03, "taste": 0.0}),
        ("greedy, 3% slips, tastes", {"slips": 0.03}),
        (
            "greedy, 3% slips, heaped and saturated",
            {"slips": 0.03, "heaped": True, "saturated": True},
        ),
        ("one action at 1%", {"defer": -4.6}),
        ("states at 1.5%", {"beliefs": "very rare", "grid": 0.01}),
        ("Zipf-distributed repetitions", {"n_reps": -1}),
        ("30 contexts x 5", {"n_contexts": 30}),
        ("five actions", {"n_actions": 5}),
        ("answers missing not at random", {"missing": True}),
    )
)
# As SmolLM2 (135M) answers: about .47 whatever the evidence, one label nearly always.
SMALL_MODELS = tuple(
    replace(_BASE, name=f"as of a small model: {name}", slope=0.5, **options)
    for name, options in (
        ("one belief, one label in 9 of 10", {"beliefs": "constant", "base": 0.3, "defer": 3.0}),
        (
            "drawn in form, reports scatter by .23",
            {"beliefs": "constant", "base": 0.3, "noise": 0.23, "grid": 0.01},
        ),
        (
            "heaped guesses, 60 x 3",
            {"beliefs": "guess", "base": 0.3, "grid": 0.1, "n_contexts": 60, "n_reps": 3},
        ),
        ("beliefs computed, states rare", {"beliefs": "guess", "base": 0.03, "grid": 0.0}),
    )
)
SMALL_POLICIES = tuple(
    replace(_POLICY, name=f"policies of a small model: {name}", slope=0.5, taste=0.05, **options)
    for name, options in (
        ("beliefs computed, 200 x 1", {"beliefs": "guess", "base": 0.3, "grid": 0.0}),
        (
            "one belief, 60 x 3 wordings",
            {"beliefs": "constant", "base": 0.3, "n_contexts": 60, "n_reps": 3, "wording": 0.3},
        ),
    )
)
REFUSED = tuple(
    replace(_BASE, name=f"refusals by action and state: {share:g}", refused=share)
    for share in (0.1, 0.3)
)
# Greedy choices between two thresholds at .4 and .6 do not jump where the state does; without the
# third action, and with next to no shocks, they do.
JUMPS = tuple(
    replace(
        _BASE,
        name=f"state and choice jump at .5, {n} x {reps}",
        n_contexts=n,
        n_reps=reps,
        jump=True,
        beliefs="near one half",
        grid=0.0,
        taste=0.0,
        slips=0.05,
        defer=-9.0,
    )
    for n, reps in ((30, 1), (60, 3), (200, 5))
)
FEW_STATED = replace(
    _BASE, name="three actions, 40 contexts x 3", n_contexts=40, n_reps=3, n_payoffs=3
)
_CLEAN = replace(_BASE, name="no leak, 200 x 5", untold=1.0)
NO_LEAKS = (
    _CLEAN,
    *(
        replace(_CLEAN, name=f"no leak, {name}", **options)
        for name, options in (
            ("50 x 5", {"n_contexts": 50}),
            ("12 x 5", {"n_contexts": 12}),
            ("1000 x 1", {"n_contexts": 1000, "n_reps": 1}),
            ("1 to 9 repetitions", {"n_reps": 0}),
            ("action fixed in context", {"fixed_action": True}),
            ("thresholds, no taste", {"slope": 200.0, "defer": 10.0, "taste": 0.0}),
            ("posteriors near 0 and 1", {"beliefs": "extreme"}),
            ("state rare (5%)", {"beliefs": "rare"}),
            ("beliefs are the posterior", {"untold": 0.0, "grid": 0.0}),
            ("posterior off by 1.3, 50 x 5", {"n_contexts": 50, "off": 1.3}),
            ("posterior off by 1.3, 200 x 5", {"off": 1.3}),
            ("posterior off by 1.3, thresholds", {"slope": 200.0, "defer": 10.0, "off": 1.3}),
        )
    ),
)
LEAKS = (
    *(
        replace(_CLEAN, name=f"leak of {signal} to actions, {n} x 5", signal=signal, n_contexts=n)
        for signal, n in ((0.1, 50), (0.1, 100), (0.1, 200), (0.2, 50), (0.2, 100), (0.4, 50))
    ),
    replace(_CLEAN, name="leak to deferring alone, 200 x 5", deferred=1.0, gap=1.0),
    *(
        replace(_CLEAN, name=f"leak of {leak} to beliefs, {n} x 5", n_contexts=n, **options)
        for leak, n, options in (
            (0.05, 100, {"untold": 0.3, "leaked": 0.05, "gap": 0.05}),
            (0.1, 100, {"leaked": 0.1, "gap": 0.1}),
        )
    ),
)
# The place of a design seeds it: new ones go to the end, and 33 and 22 in the middle are gone.
_FIRST = (
    *(*NULLS, *SIGNALS, FEW, *GAPPED, *BIASED, *VIOLATED, *NEARLY_CALIBRATED, *CONSTANT),
    *(*POLICIES, *POLICY_SIGNALS, *POLICIES_TURNED),
    *ROUNDED,
)
_LATER = (*SMALL_MODELS, *SMALL_POLICIES, *REFUSED, FEW_STATED, *JUMPS, *NO_LEAKS, *LEAKS)
PLACES = {design.name: at for at, design in enumerate(_FIRST)}
PLACES |= {design.name: at for at, design in enumerate(LIKE_MODELS, len(_FIRST) + 33)}
PLACES |= {design.name: at for at, design in enumerate(_LATER, max(PLACES.values()) + 23)}


def _thirds(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw whole numbers of tenths for three states, spread over the simplex."""
    cuts = np.sort(rng.integers(0, 11, (n, 2)), axis=1)
    return np.stack([cuts[:, 0], cuts[:, 1] - cuts[:, 0], 10 - cuts[:, 1]], axis=1)
