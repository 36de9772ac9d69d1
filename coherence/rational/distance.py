"""How far choices are from those of the nearest rational agent.

In nats per choice: what a free curve of choice, and then one of its own in each state, foretells
better than the agent, with the gain of fitting so many parameters taken off (Takeuchi 1976). In
answers: the least share of choices that would have to be others for state and choice to be
independent at equal belief.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.inputs import Floats
from coherence.rational.agent import RationalAgent, require_agent
from coherence.rational.choice import FittedLogit, Logit, Weighting, powers

DEGREE = 3  # of the free curve of choice
FORM = "form of the utilities"
STATE = "knowledge of the state"
SHARE = "answers to change"
NATS, OF_CHOICES = "nats per choice", "share of choices"


@dataclass(frozen=True)
class _Gain:
    """Log-likelihood of each context, and what its fit gained from the sample it was fitted to."""

    of_contexts: Floats
    eigenvalues: Floats


def rational_distance(agent: RationalAgent) -> pd.DataFrame:
    """Measure how far choices are from a rational agent's.

    Parameters
    ----------
    agent : RationalAgent
        A fitted agent.

    Returns
    -------
    DataFrame
        A line each for "form of the utilities" (nats per choice that a free curve of choice in the
        belief gains over the agent), "knowledge of the state" (nats that a curve of its own in each
        state gains over the free one) and "answers to change" (the least share of choices that
        would have to be others, by the hidden shift; NaN where there is none). Columns part, value,
        low, high, unit; 95% intervals that take contexts as clusters. Nats can be below 0, their
        intervals are not.

    Raises
    ------
    InputError
        `agent` is something else.

    Notes
    -----
    Gains are those of the best curves of each kind; what fits gain on their own sample beyond them
    is taken off. That of the state is 0 for a rational agent, whatever its utilities; intervals
    take the beliefs behind the reports as fitted.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=200, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> found = rational_distance(agent).set_index("part")
    >>> bool(found["low"]["knowledge of the state"] > 0)
    True
    """
    require_agent(agent)
    choices, clusters = agent.chosen.choices, agent.clusters
    n_actions, n_choices = choices.n_actions, float(choices.sums.sum())

    def fitted(weighting: Weighting) -> _Gain:
        model = Logit(agent.held.points, n_actions, weighting)
        return _gain(agent, model.fit(agent.posterior, choices))

    own, free = _gain(agent, agent.chosen), fitted(powers(DEGREE))
    by_state = fitted(_by_state(DEGREE))
    lines = []
    for part, better, plain in ((FORM, free, own), (STATE, by_state, free)):
        gained = better.of_contexts - plain.of_contexts
        # A fit gains half of these on its own sample over the best of its kind.
        spent = (better.eigenvalues.sum() - plain.eigenvalues.sum()) / 2
        # A log-likelihood ratio is half a sum of chi squares where the larger model gains nothing.
        of_fit = ((better.eigenvalues**2).sum() - (plain.eigenvalues**2).sum()) / 2
        spread = gained.size**2 / clusters.n * clusters.values(gained).var(ddof=1)
        error = np.sqrt(spread + max(of_fit, 0.0)) / n_choices
        value = (gained.sum() - spent) / n_choices
        half = agent.reach * error
        lines.append((part, value, max(value - half, 0.0), max(value + half, 0.0), NATS))
    lines.append((SHARE, *_answers_to_change(agent), OF_CHOICES))
    return pd.DataFrame(lines, columns=["part", "value", "low", "high", "unit"])


def _by_state(degree: int) -> Weighting:
    """Powers of the belief with coefficients of their own in each state."""
    plain = powers(degree)

    def columns(points: Floats, parameters: Floats, side: float) -> Floats:
        of_belief = plain.columns(points, parameters, side)
        return np.hstack([of_belief, 2 * side * of_belief])

    return Weighting(columns)


def _gain(agent: RationalAgent, fit: FittedLogit) -> _Gain:
    at = fit.parameters, agent.posterior, fit.choices
    of_contexts = (fit.choices.sums * np.log(fit.model.averaged(*at))).sum(axis=1)
    scores, information = fit.model.scores(*at), fit.model.information(*at)
    eigenvalues = np.linalg.eigvals(np.linalg.pinv(information, rcond=1e-9) @ scores.T @ scores)
    return _Gain(of_contexts, np.real(eigenvalues))


def _answers_to_change(agent: RationalAgent) -> tuple[float, float, float]:
    """Least share of choices to change, which grows with the size of the hidden shift."""
    model, parameters = agent.shifted.model, agent.shifted.parameters.copy()
    # At each belief the choices made in the rarer state become those of the other one.
    rarer = agent.held.distribution * np.minimum(agent.state, 1 - agent.state)

    def share(shift: float) -> float:
        parameters[-1] = shift
        low, high = model.probabilities(parameters)
        return float(rarer @ np.abs(high - low).sum(axis=1) / 2)

    value, interval = agent.hidden_shift
    if interval is None:
        return np.nan, np.nan, np.nan
    sizes = abs(interval.low), abs(interval.high)
    least = 0.0 if interval.low <= 0 <= interval.high else min(sizes)
    return share(abs(value)), share(least), share(max(sizes))
