"""How much unseen noise would explain a violation away.

Repetitions show the noise that differs between them, and nothing of noise that all reports of a
context share. The hidden shift is estimated again under growing amounts of it: the amount at which
nothing is left of the shift, and the one at which its interval reaches 0, say how robust the
violation is, as the E-value does for confounding (VanderWeele and Ding 2017; Cinelli and Hazlett
2020).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.rational.agent import RationalAgent, require_agent
from coherence.rational.fit import fitted
from coherence.table.schema import Column

AMOUNTS = (0.0, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
MOST = 0.4  # reports that miss by more are hardly reports of a belief
SEARCHED = tuple(np.arange(0.0, MOST + 0.01, 0.025).round(3).tolist())
CURVE = (
    Column("shared_noise", "positive", "Standard deviation."),
    Column("hidden_shift", "number", "What is left of the shift."),
    Column("low", "number", "Lower end of its interval."),
    Column("high", "number", "Upper end of its interval."),
)


@dataclass(frozen=True)
class Sensitivity:
    """What is left of the hidden shift under noise that all reports of a context share.

    A tipping point lies between steps of .025 on a line. Where it is not reached, up to .4 or up to
    where nothing can be told, it is a bound: the most noise that leaves a sign, or a part.
    """

    curve: pd.DataFrame  # columns shared_noise (standard deviation), hidden_shift, low, high
    # least shared noise under which the interval of the shift reaches 0; 0 where it does without
    explains_interval: float
    # Shared noise under which nothing is left of the estimate. More noise than there is takes off
    # too much: a shift then comes out with the other sign.
    explains_all: float
    # whether more than this is needed, by an amount that is not known
    interval_is_bound: bool = False
    all_is_bound: bool = False
    # whether the search ended where nothing can be told any more, and not at .4
    lost: bool = False

    def __str__(self) -> str:
        """Say it in a sentence."""

        def amount(value: float, bound: bool) -> str:
            return f"{'more than ' if bound else ''}{value:.3f}"

        if self.explains_interval == 0 and not self.interval_is_bound:
            return "The hidden shift may be 0 without any noise that reports of a context share."
        end = "; with still more no hidden shift can be told" if self.lost else ""
        return (
            "Noise that all reports of a context share, and no repetition shows, would have to "
            "have a standard deviation of "
            f"{amount(self.explains_interval, self.interval_is_bound)} to leave no sign of a "
            f"hidden shift, and of {amount(self.explains_all, self.all_is_bound)} to explain all "
            f"of it{end}."
        )


def noise_sensitivity(
    agent: RationalAgent, *, shared_noise: Sequence[float] = AMOUNTS
) -> Sensitivity:
    """Estimate the hidden shift under growing shared noise.

    Parameters
    ----------
    agent : RationalAgent
        A fitted agent; its options for the noise of single reports are kept.
    shared_noise : sequence of float
        Standard deviations of the curve, in [0, .4].

    Returns
    -------
    Sensitivity
        The curve and the two tipping points.

    Raises
    ------
    InputError
        `agent` is something else or has no hidden shift, or an amount is out of range.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("clairvoyant", n_contexts=80, n_reps=1, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> found = noise_sensitivity(agent, shared_noise=[0.0, 0.1])
    >>> found.explains_interval, found.interval_is_bound
    (0.05, True)
    """
    require_agent(agent)
    outside = [sd for sd in shared_noise if not 0 <= sd <= MOST]
    if outside:
        raise InputError(
            f"shared_noise must hold standard deviations from 0 to {MOST}; received {outside[0]!r}."
        )
    if agent.hidden_shift[1] is None:
        raise InputError(
            f"agent must have a hidden shift for noise to explain; here {agent.no_shift}."
        )
    noise = agent.settings["noise"]

    @cache
    def shift(sd: float) -> tuple[float, float, float]:
        again = fitted(
            agent.data,
            noise=None if noise == "estimated" else noise,
            shared_noise=sd,
            weighting=agent.settings["weighting"],
            calibration=agent.settings["calibration"],
        )
        value, interval = again.hidden_shift
        # With so much noise choices may hardly be told to follow the belief.
        return (value, *((math.nan,) * 2 if interval is None else (interval.low, interval.high)))

    curve = pd.DataFrame(
        [(sd, *shift(sd)) for sd in shared_noise], columns=[column.name for column in CURVE]
    )
    sign = 1.0 if shift(0.0)[0] >= 0 else -1.0
    steps: list[tuple[float, float, float]] = []
    for sd in SEARCHED:
        value, low, high = shift(sd)
        # What is left, and the end of the interval on the side of 0, both positive at first.
        steps.append((sd, sign * value, low if sign > 0 else -high))
        if not sign * value > 0:
            break
    interval, interval_is_bound = _first_zero([(sd, nearest) for sd, _, nearest in steps])
    everything, all_is_bound = _first_zero([(sd, left) for sd, left, _ in steps])
    lost = (interval_is_bound or all_is_bound) and not math.isfinite(steps[-1][1] + steps[-1][2])
    return Sensitivity(curve, interval, everything, interval_is_bound, all_is_bound, lost)


def _first_zero(steps: Sequence[tuple[float, float]]) -> tuple[float, bool]:
    """Return where values first fall to 0, on the line between two of them.

    Where they do not, it is the last step with a value, and a bound.
    """
    if steps[0][1] <= 0:
        return steps[0][0], False
    for (below, before), (above, after) in pairwise(steps):
        if math.isnan(after):
            return below, True
        if after <= 0:
            return float(below + (above - below) * before / (before - after)), False
    return steps[-1][0], True
