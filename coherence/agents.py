"""Simulated agents with planted coherence or incoherence, and the world that they answer about.

Each choice is a random-utility choice with an extreme-value shock, and a context may carry a taste
of its own; beliefs may be weighted (Prelec 1998), choices may lapse, reports may scatter. What an
agent states may be the posterior given a part of its evidence, a garbling (Blackwell 1951). In
their world six features sum to the log-odds of the state, so that P(theta = 1 | x) is known exactly
and is uniform over contexts; an auxiliary variable z shifts that posterior by a known amount.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from coherence.errors import InputError, closest, suggestion
from coherence.inputs import Floats, require, whole_number
from coherence.public_names import rng_for_seed
from coherence.runs.columns import ACTION_PREFIX, DRAWN
from coherence.statistics.resample import Seed, as_generator

ACTIONS = ("yes", "no", "defer")
_INSIDE = 1e-4  # weights of chances have infinite slopes at 0 and 1


@dataclass(frozen=True)
class Agent:
    """An agent with planted coherence or incoherence.

    The utilities at belief b are ``slope * (b - yes_at)`` for yes, ``slope * (no_at - b)`` for no,
    and ``defer`` for defer.

    Parameters
    ----------
    name : str
        Name, used as the model in the runs table.
    description : str
        What it does, in one sentence.
    slope : float
        Utility per unit of belief.
    yes_at, no_at : float
        Beliefs at which yes and no are worth nothing.
    defer : float
        Utility of deferring.
    taste : float
        Standard deviation of a utility shock that all choices of a context share, one per action.
    grid : float
        Beliefs are rounded to multiples of this before they are reported and acted on; 0 for no
        rounding.
    belief_slope, belief_shift : float
        The agent's log-odds are ``belief_shift + belief_slope * logit(P(theta = 1 | x))``.
    unstated : float
        How much of the evidence the stated belief leaves out: it is the average of the exact
        posteriors behind a signal that is their log-odds plus noise with this standard deviation. 0
        leaves out nothing.
    weight : float
        Between 0 and 1: how much of what is not stated the action uses. It follows the stated
        belief plus weight times what the exact posterior differs from it.
    hidden_signal : float
        The action uses belief + hidden_signal * (theta - 1/2): it sees part of the state itself,
        which no evidence tells.
    report_noise : float
        Standard deviation of the report around the belief acted on.
    prompt_shift : float
        The report under the prompt "bayes" is this much higher.
    peak : float
        Between 0 and 1: how far utilities follow 1 - abs(2b - 1), which rises and falls, instead of
        b.
    iterated_bias : float
        The belief given z is this much closer to 1/2 than it should be (0 none, 1 all the way).
    prelec : float
        Utilities follow exp(-(-ln b)^prelec) instead of b (Prelec 1998); 1 for b itself.
    lapses : float
        Share of choices that are any action, equally likely.
    heaping : float
        Share of reports that are rounded to tenths.
    drift : float
        Reports rise by this much from the first repetition to the last.
    heeds : float
        Of how far a stake moves the probability from which acting pays away from 1/2, the share by
        which it moves the one from which the agent acts.
    """

    name: str
    description: str
    slope: float = 6.0
    yes_at: float = 0.6
    no_at: float = 0.4
    defer: float = 0.5
    taste: float = 1.0
    grid: float = 0.05
    belief_slope: float = 1.0
    belief_shift: float = 0.0
    unstated: float = 0.0
    weight: float = 0.0
    hidden_signal: float = 0.0
    report_noise: float = 0.0
    prompt_shift: float = 0.0
    peak: float = 0.0
    iterated_bias: float = 0.0
    prelec: float = 1.0
    lapses: float = 0.0
    heaping: float = 0.0
    drift: float = 0.0
    heeds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse parameters outside their ranges."""
        require(self.prelec > 0, f"prelec must be above 0; received {self.prelec!r}.")
        for name in ("taste", "unstated", "weight", "report_noise", "grid", "lapses", "heaping"):
            require(
                getattr(self, name) >= 0,
                f"{name} must be at least 0; received {getattr(self, name)!r}.",
            )
        for name in ("weight", "peak", "iterated_bias", "grid", "lapses", "heaping"):
            require(
                getattr(self, name) <= 1,
                f"{name} must be at most 1; received {getattr(self, name)!r}.",
            )

    def parameters(self) -> dict[str, float]:
        """Return the numeric parameters by name."""
        known = asdict(self)
        return {name: known[name] for name in known if name not in ("name", "description")}

    @property
    def scatters(self) -> bool:
        """Whether reports under one wording differ from the belief acted on."""
        return bool(self.report_noise or self.drift or self.heaping)

    def with_parameters(self, **changes: float) -> "Agent":
        """Return a copy with other parameters.

        Parameters
        ----------
        **changes : float
            New values by name.

        Returns
        -------
        Agent
            The changed copy.

        Raises
        ------
        InputError
            Unknown name, or a value outside its range.
        """
        for name in changes:
            if name not in self.parameters():
                raise InputError(
                    f"agents have no parameter {name!r}. {closest(name, self.parameters())}"
                )
        return replace(self, **changes)  # type: ignore[arg-type]

    def speak_of(self, exact: Floats, noise: Floats, population: Floats) -> Floats:
        """Return the posterior given the part of the evidence that the agent states.

        `noise` is standard normal, one value per context, and `population` holds exact posteriors
        that are equally likely.
        """
        if self.unstated == 0:
            return exact
        source = _finite_log_odds(population)
        signal = _finite_log_odds(exact) + self.unstated * noise
        points = np.linspace(signal.min(), signal.max(), 500)
        likelihood = np.exp(-0.5 * ((points[:, None] - source) / self.unstated) ** 2)
        average = likelihood @ population / likelihood.sum(axis=1)
        return np.asarray(np.interp(signal, points, average))

    def act_on(self, spoken: Floats, exact: Floats) -> Floats:
        """Return the belief acted on, given the posterior that is spoken of and the exact one."""
        return self.believe(spoken if self.weight == 0 else spoken + self.weight * (exact - spoken))

    def believe(self, exact: Floats) -> Floats:
        """Return the belief that the agent holds at a posterior."""
        # Exactly the posterior where nothing is distorted, not its logit there and back.
        undistorted = (self.belief_slope, self.belief_shift) == (1.0, 0.0)
        return self._rounded(
            exact
            if undistorted
            else _expit(self.belief_shift + self.belief_slope * log_odds(exact))
        )

    def choose(
        self, belief: Floats, theta: Floats, taste: Floats, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw an action for each belief acted on and realised state, shape (n,).

        `taste` are the utility shocks that the rows of a context share, shape (n, 3).
        """
        utility = self._utility(belief, theta)
        # The largest of utilities with Gumbel shocks is drawn by the softmax (McFadden 1974).
        best = np.argmax(utility + taste + rng.gumbel(size=utility.shape), axis=1)
        if self.lapses:
            lapsed = rng.random(best.size) < self.lapses
            best = np.where(lapsed, rng.integers(0, len(ACTIONS), best.size), best)
        return np.asarray(np.array(ACTIONS)[best])

    def policies(self, belief: Floats, theta: Floats, taste: Floats) -> dict[str, Floats]:
        """Return the probability of each action under `choose`, which takes the same arrays."""
        share = softmax(self._utility(belief, theta) + taste, axis=1)
        share = (1 - self.lapses) * share + self.lapses / len(ACTIONS)
        return dict(zip(ACTIONS, share.T, strict=True))

    def takes(
        self, belief: Floats, theta: Floats, taste: Floats, level: Floats, *, lottery: bool
    ) -> Floats:
        """Return the probability of a prize on the event over one in a lottery of this chance.

        Without a `lottery`: of acting for 1 - level if the event holds and -level if it does not.
        `belief`, `theta` and `taste` are those of `choose`, and the first two actions count.
        """
        other = self._weighed(level) if lottery else 0.5 + self.heeds * (level - 0.5)
        utility = self.slope * (self._effective(belief, theta) - other) + taste[:, 0] - taste[:, 1]
        return (1 - self.lapses) * _expit(utility) + self.lapses / 2

    def _weighed(self, chance: Floats) -> Floats:
        if self.prelec == 1:
            return chance
        inside = np.clip(chance, _INSIDE, 1 - _INSIDE)
        return np.asarray(np.exp(-((-np.log(inside)) ** self.prelec)))

    def _effective(self, belief: Floats, theta: Floats) -> Floats:
        # The hidden signal shifts the belief acted on, and with it where utilities peak.
        effective = self._weighed(belief + self.hidden_signal * (theta - 0.5))
        return (1 - self.peak) * effective + self.peak * (1 - np.abs(2 * effective - 1))

    def _utility(self, belief: Floats, theta: Floats) -> Floats:
        effective = self._effective(belief, theta)
        return np.stack(
            [
                self.slope * (effective - self.yes_at),
                self.slope * (self.no_at - effective),
                np.full(len(belief), self.defer),
            ],
            axis=1,
        )

    def report(
        self,
        belief: Floats,
        prompt: str,
        rng: np.random.Generator,
        *,
        progress: Floats | float = 0.0,
    ) -> Floats:
        """Return what the agent says its belief is, under a prompt.

        `progress` runs from -1/2 at the first repetition to 1/2 at the last.
        """
        stated = belief + (self.prompt_shift if prompt == "bayes" else 0.0)
        stated = stated + self.drift * progress
        if self.report_noise:
            stated = stated + rng.normal(0, self.report_noise, size=len(belief))
        if not (self.scatters or self.prompt_shift):
            return stated
        stated = np.clip(stated, 0, 1)
        rounded = self._rounded(stated)
        if self.heaping:
            heaped = rng.random(len(belief)) < self.heaping
            rounded = np.where(heaped, np.round(stated, 1), rounded)
        return rounded

    def _rounded(self, values: Floats) -> Floats:
        if self.grid == 0:
            return values
        # Multiples of 1/20 keep the digits that a person would write: .15, not .15000000000000002.
        return np.clip(np.round(np.round(values / self.grid) * self.grid, 10), 0, 1)


def log_odds(p: Floats) -> Floats:
    """Return ln(p / (1 - p)), shape of `p`; infinite at 0 and 1."""
    return np.log(p) - np.log1p(-p)


def _finite_log_odds(p: Floats) -> Floats:
    return log_odds(np.clip(p, 1e-4, 1 - 1e-4))


def given_part(spoken: Floats, exact: Floats, given_z: Floats) -> Floats:
    """Return beliefs given z that average to what is spoken of, as `given_z` do to `exact`.

    As far from it as they are from the exact posterior, or as far as probabilities can be.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.fmin(np.fmin(spoken / exact, (1 - spoken) / (1 - exact)), 1.0)
    return spoken + room * (given_z - exact)


def _expit(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "rational",
            "Reports the belief it acts on; choices follow expected utility with random shocks.",
        ),
        Agent(
            "miscalibrated",
            "Coherent but overconfident: acts on, and reports, a distorted posterior.",
            belief_slope=2.0,
            belief_shift=0.5,
        ),
        Agent(
            "leaky",
            "Acts on more than it reports: on all of its evidence, of which it states a part.",
            slope=20.0,
            unstated=2.0,
            weight=1.0,
        ),
        Agent(
            "shaded",
            "Reports part of its evidence, and acts on two fifths of what it leaves out.",
            unstated=2.0,
            weight=0.4,
        ),
        Agent(
            "clairvoyant",
            "Sees what no evidence tells: its choices also follow the realised state.",
            hidden_signal=0.4,
        ),
        Agent(
            "noisy",
            "Acts on a stable belief, but its reports scatter around it.",
            report_noise=0.15,
        ),
        Agent(
            "nonmonotone",
            "Says yes most often at middling beliefs.",
            peak=1.0,
            yes_at=0.5,
            no_at=0.5,
            slope=6.0,
        ),
        Agent(
            "wordbound",
            "Reports another belief when the wording changes, and averages badly over z.",
            prompt_shift=0.15,
            iterated_bias=0.3,
        ),
        Agent(
            "prospect",
            "Coherent, but counts small beliefs for more than they are, and large ones for less.",
            prelec=0.6,
        ),
        Agent(
            "greedy",
            "Takes the best action at its belief, but for one choice in twenty that is any action.",
            slope=200.0,
            taste=0.0,
            defer=10.0,
            lapses=0.05,
        ),
        Agent(
            "heaping",
            "Coherent; its reports scatter, and half of them are rounded to tenths.",
            report_noise=0.1,
            heaping=0.5,
        ),
        Agent("heedless", "Acts from a belief of one half, whatever is at stake.", heeds=0.0),
    )
}
"""The agents that come with the toolkit, by name: coherent ones, and one of each failing."""

PROMPTS = ("standard", "mse", "absolute", "bayes")
N_FEATURES = 6
MOST_ROWS = 10**8  # some hundred bytes each: more than a machine holds


_EXACT = 0.001, 0.999
POPULATION = np.linspace(*_EXACT, 1_000)
"""Exact posteriors of the contexts of the simulated world, evenly spread."""


@dataclass(frozen=True)
class World:
    """Contexts drawn from the world in the module's docstring."""

    exact: Floats
    theta: Floats
    features: Floats
    z_share: Floats
    given_z: Floats = field(repr=False)  # shape (n_contexts, 2): posterior given z = 0, 1


def _draw_world(n_contexts: int, rng: np.random.Generator) -> World:
    exact = rng.uniform(*_EXACT, size=n_contexts)
    spread = rng.normal(size=(n_contexts, N_FEATURES))
    # Features add up to the log-odds, whatever the spread among them.
    features = log_odds(exact)[:, None] / N_FEATURES + spread - spread.mean(axis=1, keepdims=True)
    share = np.round(rng.uniform(0.2, 0.8, size=n_contexts), 2)
    # share * P(.|z=1) + (1 - share) * P(.|z=0) = exact for every shift; this one keeps both in
    # [0, 1].
    shift = rng.uniform(-1, 1, size=n_contexts) * np.minimum(exact, 1 - exact)
    given_z = np.stack([exact - share * shift, exact + (1 - share) * shift], axis=1)
    return World(
        exact,
        (rng.random(n_contexts) < exact).astype(np.float64),
        np.round(features, 3),
        share,
        given_z,
    )


def named_agent(name: str) -> Agent:
    """Return an agent of `AGENTS` by its name, or say which there are."""
    if name not in AGENTS:
        raise InputError(
            f"agent must be the name of an agent; received {name!r}. {suggestion(name, AGENTS)}"
        )
    return AGENTS[name]


@rng_for_seed
def simulate(
    agent: Agent | str,
    *,
    n_contexts: int,
    n_reps: int,
    prompts: Sequence[str] = PROMPTS,
    iterated: bool = True,
    policies: bool = False,
    rng: Seed = None,
) -> pd.DataFrame:
    """Draw a runs table from an agent.

    Parameters
    ----------
    agent : Agent or str
        An agent, or the name of one in `AGENTS`.
    n_contexts, n_reps : int
        Contexts, and repetitions of each question per context.
    prompts : sequence of str
        Wordings of the belief question; the first is asked together with the action.
    iterated : bool
        Whether to add the rows for the law of iterated expectation.
    policies : bool
        Whether to give the probability of each action, in columns ``action_<label>``, in place of
        an action that is drawn from them. Everything else is the same under the same `rng`.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    DataFrame
        A valid runs table with the columns ``x_1`` to ``x_6`` as evidence.

    Raises
    ------
    InputError
        Unknown agent, or a count below 1.

    Examples
    --------
    >>> once = {"n_reps": 1, "prompts": ["standard"], "iterated": False}
    >>> runs = simulate("rational", n_contexts=2, **once, rng=0)
    >>> runs[["context", "rep", "p", "action", "theta"]]
      context  rep     p action  theta
    0   c0000    0  0.65  defer      1
    1   c0001    0  0.25     no      0
    """
    agent = named_agent(agent) if isinstance(agent, str) else agent
    require(
        isinstance(agent, Agent),
        f"agent must be an Agent or the name of one; received {agent!r}.",
    )
    n_contexts = whole_number(n_contexts, "n_contexts", 1)
    n_reps = whole_number(n_reps, "n_reps", 1)
    require(
        n_contexts * n_reps <= MOST_ROWS,
        f"n_contexts times n_reps must be at most {MOST_ROWS:,}; received {n_contexts:,} x "
        f"{n_reps:,}. Draw in parts, each with an rng of its own.",
    )
    named = not isinstance(prompts, str) and len(prompts) > 0
    require(named, f"prompts must name at least one prompt; received {prompts!r:.60}. List them.")
    rng = as_generator(rng)
    world = _draw_world(n_contexts, rng)
    taste = rng.normal(0, 1, size=(n_contexts, len(ACTIONS))) * agent.taste
    # One belief and one taste for each context, repeated: repetitions differ by shocks alone.
    row = np.repeat(np.arange(n_contexts), n_reps)
    spoken = world.exact
    if agent.unstated:  # the other agents' draws stay as they are
        spoken = agent.speak_of(world.exact, rng.normal(size=n_contexts), POPULATION)
    progress = np.tile(np.linspace(-0.5, 0.5, n_reps) if n_reps > 1 else [0.0], n_contexts)
    situation = agent.act_on(spoken, world.exact)[row], world.theta[row], taste[row]
    # Drawn in any case, so that what is drawn afterwards stays the same.
    acted: dict[str, Any] = {"action": agent.choose(*situation, rng)}
    if policies:
        acted = {f"{ACTION_PREFIX}{name}": of for name, of in agent.policies(*situation).items()}

    def frame(p: Floats, **columns: Any) -> pd.DataFrame:
        table = {
            "task": "simulated",
            "model": agent.name,
            "context": [f"c{context:04d}" for context in row],
            "rep": np.tile(np.arange(n_reps), n_contexts),
            "prompt": prompts[0],
            "p": p,
            "belief_kind": "stated:drawn" if agent.scatters else "stated:fixed",
            **dict.fromkeys(acted, np.nan if policies else None),
            "theta": world.theta[row].astype(int),
            "p_true": world.exact[row],
            "truth_kind": DRAWN,
            "z": None,
            "z_state": None,
            "p_z": np.nan,
            **{f"x_{column + 1}": world.features[row, column] for column in range(N_FEATURES)},
            "status": "ok",
        }
        return pd.DataFrame({**table, **columns})

    def said(belief: Floats, prompt: str) -> Floats:
        return agent.report(belief[row], prompt, rng, progress=progress)

    belief = agent.believe(spoken)
    pieces = [frame(said(belief, prompts[0]), **acted)]
    # An action is asked for once, together with the first wording.
    pieces += [frame(said(belief, prompt), prompt=prompt) for prompt in prompts[1:]]
    for state in (0, 1) if iterated else ():
        # Shrinking both to 1/2 leaves each a probability, yet their mean misses the posterior.
        exact = world.given_z[:, state]
        if agent.unstated:
            exact = given_part(spoken, world.exact, exact)
        shrunk = (1 - agent.iterated_bias) * exact + agent.iterated_bias * 0.5
        weight = np.round(world.z_share if state == 1 else 1 - world.z_share, 2)
        stated = said(agent.believe(shrunk), prompts[0])
        given_z = {"z": "z", "z_state": str(state), "p_z": weight[row]}
        pieces.append(frame(stated, **given_z, p_true=world.given_z[row, state]))
    runs = pd.concat(pieces, ignore_index=True)
    return runs.sort_values(["context", "rep"], kind="stable", ignore_index=True)
