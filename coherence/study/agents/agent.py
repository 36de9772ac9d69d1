"""An agent with planted coherence or incoherence: what it believes, says, wants and does.

Each choice is a random-utility choice with an extreme-value shock, and a context may carry a taste
of its own; beliefs may be weighted (Prelec 1998), choices may lapse, reports may scatter.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
from scipy.special import softmax

from coherence.errors import InputError, closest
from coherence.inputs import Floats, require
from coherence.rational.weighting import prelec_weight

ACTIONS = ("yes", "no", "defer")


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
    hidden_signal : float
        The action uses belief + hidden_signal * (theta - 1/2): it knows more than is reported.
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
    hidden_signal: float = 0.0
    report_noise: float = 0.0
    prompt_shift: float = 0.0
    peak: float = 0.0
    iterated_bias: float = 0.0
    prelec: float = 1.0
    lapses: float = 0.0
    heaping: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        """Refuse parameters outside their ranges."""
        require(self.prelec > 0, f"prelec must be above 0; received {self.prelec!r}.")
        for name in ("taste", "report_noise", "grid", "lapses", "heaping"):
            require(
                getattr(self, name) >= 0,
                f"{name} must be at least 0; received {getattr(self, name)!r}.",
            )
        for name in ("peak", "iterated_bias", "grid", "lapses", "heaping"):
            require(
                getattr(self, name) <= 1,
                f"{name} must be at most 1; received {getattr(self, name)!r}.",
            )

    def parameters(self) -> dict[str, float]:
        """Return the numeric parameters by name."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in ("name", "description")
        }

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

    def believe(self, exact: Floats) -> Floats:
        """Return the belief acted on, given the exact posterior."""
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
        """Draw one action per row.

        Parameters
        ----------
        belief, theta : ndarray, shape (n,)
            Belief acted on and realised state.
        taste : ndarray, shape (n, 3)
            Utility shocks, shared within contexts.
        rng : Generator
            Source of the choice noise.

        Returns
        -------
        ndarray of str, shape (n,)
            Actions.
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

    def _utility(self, belief: Floats, theta: Floats) -> Floats:
        effective = belief + self.hidden_signal * (theta - 0.5)
        # The hidden signal shifts the belief acted on, and with it where utilities peak.
        if self.prelec != 1:
            effective = prelec_weight(effective, self.prelec)
        effective = (1 - self.peak) * effective + self.peak * (1 - np.abs(2 * effective - 1))
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
        if not (self.report_noise or self.prompt_shift or self.drift or self.heaping):
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


def _expit(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))
