"""Fitting the nearest rational agent: validation, the three steps, and what a reader must know."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coherence.errors import InputError, closest
from coherence.inputs import Floats, few_contexts, require
from coherence.rational.agent import RationalAgent
from coherence.rational.belief import Beliefs, counted_reports, exact_beliefs, noisy_beliefs
from coherence.rational.choice import CALIBRATION, WEIGHTINGS, Logit, choices_of
from coherence.statistics.evaluation import EvaluationData, as_choices, one_dimensional
from coherence.statistics.resample import Clusters

CALIBRATIONS = ("logistic", "isotonic")
FEWEST_CONTEXTS = 20
SEVERAL = "a rational agent is fitted to beliefs in one of two states; received {n} states"
ONE_REPORT = (
    "no context has two reports, so that their noise cannot be seen and is taken to be none; "
    "give it (noise=), or see how much of it would matter (noise_sensitivity)"
)
ONE_BELIEF = "every report is {belief:g}, so that no threshold or utility of a belief can be told"
NOT_CONVERGED = "the fit of {what} did not converge: take its numbers with caution"
FLAT = "the weighting is hardly identified: its interval spans most of what can occur"

CANNOT_FIT = (
    "a rational agent cannot be fitted: {lack}. "
    f"It takes {FEWEST_CONTEXTS} contexts or more, and two actions and both of two states in them; "
    "without them, simulate a named agent."
)


def fit_rational_agent(
    belief: ArrayLike,
    action: ArrayLike,
    truth: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    positive: Any = None,
    noise: float | None = None,
    shared_noise: float = 0.0,
    weighting: str = "identity",
    lapses: bool = True,
    calibration: str = "logistic",
) -> RationalAgent:
    """Fit the rational agent that comes nearest to reports and choices.

    Every context has one belief. Reports scatter around it, choices maximise a random utility that
    is linear in a weight of it, and the state is true with a probability that depends on it. Given
    the belief, reports, choices and state are independent; choices of one context may depend on
    each other.

    Parameters
    ----------
    belief : array-like, shape (n,) or (n, 2)
        Reports, probabilities in [0, 1] of the state `positive`.
    action : array-like, shape (n,) or (n, n_actions)
        Labels, or the probability of each action; a DataFrame's columns name the actions.
    truth : array-like, shape (n,)
        Realised state, two labels, constant within a context.
    exact : array-like, shape (n,), optional
        Exact posterior of the state that the belief is in, constant within a context. The agent is
        fitted without it; its test and its twins take it for the state.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    group : array-like, shape (n,), optional
        What contexts share beyond their belief, such as a template: groups are then the clusters of
        intervals and test, at least ten of them. Constant within a context.
    positive : Any
        Label of the state that a belief in one state is in; may be left out where the labels are 0
        and 1, no and yes, or false and true.
    noise : float, optional
        Standard deviation of reports around the belief, in [0, 1]. None estimates it from
        repetitions; 0 takes reports as the belief itself, as computed beliefs are.
    shared_noise : float
        Standard deviation of noise that all reports of a context share, in [0, 1]. It cannot be
        estimated: it is for asking what would be if there were so much.
    weighting : str
        "identity", "prelec" or "gonzalez-wu": what beliefs count for in utilities.
    lapses : bool
        Whether a share of choices may be any action, equally likely.
    calibration : str
        "logistic" (smooth) or "isotonic" (smooth and made to rise with belief).

    Returns
    -------
    RationalAgent
        With thresholds, utilities, noise, calibration, and a test.

    Raises
    ------
    InputError
        An array breaks its rule, there are more than two states or fewer than 20 contexts, one
        action or one state alone was seen, or an option is unknown.

    Notes
    -----
    Noise is Gaussian with one standard deviation, and reports end at 0 and 1 and are rounded; the
    distribution of beliefs is free. What reports tell of each belief is taken into a logit of the
    state on the belief, and into one of the choices. Where no reports of a context ever differ,
    there is no noise. A context whose belief itself changes from one answer to the next, utilities
    that depend on the evidence beside the belief, and beliefs over more than two states are outside
    the model.

    References
    ----------
    McFadden (1973) for random utility; Prelec (1998), Gonzalez and Wu (1999) for the weights;
    Kiefer and Wolfowitz (1956) for the distribution of beliefs; Carroll, Ruppert, Stefanski and
    Crainiceanu (2006), Measurement Error in Nonlinear Models, chapter 8; Godambe (1960) for the
    standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> belief = rng.random(300).repeat(4)
    >>> truth = (rng.random(300) < belief[::4]).repeat(4).astype(int)
    >>> reports = np.clip(belief + 0.1 * rng.normal(size=1200), 0, 1).round(2)
    >>> acts = rng.random(1200) < 1 / (1 + np.exp(-8 * (belief - 0.3)))
    >>> agent = fit_rational_agent(
    ...     reports, np.where(acts, "treat", "wait"), truth, context=np.arange(1200) // 4
    ... )
    >>> agent.thresholds[["below", "above", "belief"]].round(1).values.tolist()
    [['wait', 'treat', 0.3]]
    """
    options: dict[str, Any] = {"positive": positive, "oriented": True, "group": group}
    data = as_choices(belief, action, truth, context, exact=exact, **options)
    require_options(
        weighting=weighting, calibration=calibration, noise=noise, shared_noise=shared_noise
    )
    require(isinstance(lapses, bool), f"lapses must be True or False; received {lapses!r}.")
    lack = lacking(data)
    if lack:
        raise InputError(CANNOT_FIT.format(lack=lack))
    too_few = data.clusters.too_few
    require(not too_few, f"group must name more groups: {too_few}.")
    return fitted(
        data,
        noise=noise,
        shared_noise=shared_noise,
        weighting=weighting,
        lapses=lapses,
        calibration=calibration,
    )


def fitted(
    data: EvaluationData,
    *,
    noise: float | None,
    shared_noise: float = 0.0,
    weighting: str = "identity",
    lapses: bool = True,
    calibration: str = "logistic",
) -> RationalAgent:
    """Fit validated data; see `fit_rational_agent`."""
    report, clusters = one_dimensional(data, "fit_rational_agent"), data.clusters
    held, unseen, cautions = _beliefs(data, report, clusters, noise, shared_noise)
    truth = np.zeros(data.n_contexts)
    truth[data.context] = data.truth
    states = choices_of(np.eye(2)[data.truth], data.context, truth)
    # Once per context, however often it was asked.
    states = replace(states, sums=states.sums / states.sums.sum(axis=1, keepdims=True))
    calibrated = Logit(held.points, 2, CALIBRATION, lapses=False).fit(held.weight, states)
    settings: dict[str, Any] = {
        "weighting": weighting,
        "calibration": calibration,
        "noise": "estimated" if noise is None and not unseen else noise,
    }
    if shared_noise:
        settings["shared_noise"] = shared_noise
    if held.noisy:
        settings["grid"] = held.reports.grid.spacing
    choices = choices_of(data.share, data.context, truth)
    model = Logit(held.points, len(data.actions), WEIGHTINGS[weighting], lapses=lapses)
    chosen = model.fit(held.given(truth, calibrated.probabilities[0][:, 1]), choices)
    for what, fit in (("the state", calibrated), ("choices", chosen)):
        if not fit.converged:
            cautions.append(NOT_CONVERGED.format(what=what))
    agent = RationalAgent(data, held, calibrated, chosen, settings, tuple(cautions), clusters)
    table = agent.weighting
    if len(table) and bool((table["high"] > 4 * table["low"]).any()):
        return replace(agent, cautions=(*agent.cautions, FLAT))
    return agent


def _beliefs(
    data: EvaluationData, report: Floats, clusters: Clusters, noise: float | None, shared: float
) -> tuple[Beliefs, bool, list[str]]:
    """Return beliefs, whether the noise of reports is unseen, and what to know before both."""
    reports = counted_reports(report, data.context, data.n_contexts)
    cautions = []
    if np.ptp(report) == 0:
        cautions.append(ONE_BELIEF.format(belief=report[0]))
    unseen = noise is None and math.isnan(reports.within_sd)
    if unseen:
        cautions.append(ONE_REPORT)
    exact = noise == 0 or (noise is None and not reports.within_sd > 0)
    if exact and not shared:
        return exact_beliefs(report, data.context, data.n_contexts), unseen, cautions
    sd = 0.0 if exact else noise
    held = noisy_beliefs(reports, sd, shared=shared, unit=clusters.of_context)
    return held, unseen, cautions


def lacking(data: EvaluationData) -> str:
    """Say why no rational agent can be fitted; empty if one can."""
    if data.degenerate:
        return data.degenerate
    if data.belief.ndim == 2 and data.belief.shape[1] > 2:
        return SEVERAL.format(n=data.belief.shape[1])
    if len(data.states) > 2:
        return SEVERAL.format(n=len(data.states))
    return few_contexts(data.n_contexts, fewest=FEWEST_CONTEXTS)


def require_options(
    *,
    weighting: str = "identity",
    calibration: str = "logistic",
    noise: float | None = None,
    shared_noise: float = 0.0,
) -> None:
    """Refuse options that are unknown or out of range."""
    for name, value, known in (
        ("weighting", weighting, tuple(WEIGHTINGS)),
        ("calibration", calibration, CALIBRATIONS),
    ):
        require(
            value in known,
            f"{name} must be one of {', '.join(map(repr, known))}; received {value!r}. "
            f"{closest(str(value), known)}",
        )
    for name, sd in (("noise", noise), ("shared_noise", shared_noise)):
        require(
            sd is None or (isinstance(sd, int | float) and 0 <= sd <= 1),
            f"{name} must be a standard deviation from 0 to 1; received {sd!r}. "
            "It is in units of probability.",
        )
