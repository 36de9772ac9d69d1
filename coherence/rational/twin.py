"""Twins of a fitted agent: rational by construction, with its noise, utilities and contexts.

A twin has a belief per context, drawn from what the reports tell of it; reports scatter around it,
choices follow the fitted utilities and the state the fitted calibration. What a check finds in many
twins is what it finds where nothing is amiss but noise: a parametric bootstrap of any statistic.
Its p-value counts the observed data as one more twin (Davison and Hinkley 1997, section 4.2.3), so
that it is never 0 and valid for any number of twins.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from coherence.inputs import Codes, Floats, require, whole_number
from coherence.rational.agent import RationalAgent, require_agent
from coherence.rational.belief import drawn_columns
from coherence.result import CheckResult, Twins
from coherence.statistics.parallel import run_calls
from coherence.statistics.resample import Seed, as_generator

TIES = 1e-9  # relative: a statistic that differs by rounding alone is as extreme
MOST_UNDEFINED = 0.5
Test = Callable[..., CheckResult]


def sample_twin(
    agent: RationalAgent, rng: Seed = None, *, points: Codes | None = None
) -> pd.DataFrame:
    """Draw a twin of the data that an agent was fitted to.

    Parameters
    ----------
    agent : RationalAgent
        A fitted agent.
    rng : Generator, int or None
        Source of randomness.
    points : ndarray of int, shape (n_contexts,), optional
        Belief of each context as a position among the points of the agent's beliefs, as
        `belief_points` draws it; None draws it here.

    Returns
    -------
    DataFrame
        Columns context, rep, p, action, theta, with as many rows of each context as there were.
        Choices of a context go together as far as the agent's taste makes them. Where the agent was
        fitted beside exact posteriors, p_true is that of another context of the same belief, and
        theta is drawn from it.

    Raises
    ------
    InputError
        `agent` is something else.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("noisy", n_contexts=60, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> sample_twin(agent, rng=1).shape
    (180, 5)
    """
    require_agent(agent)
    generator = as_generator(rng)
    data, held = agent.data, agent.held
    point = belief_points(agent, generator) if points is None else np.asarray(points)
    require(
        point.shape == (data.n_contexts,) and point.dtype.kind in "iu",
        f"points must hold a whole number for each of {data.n_contexts} contexts; received "
        f"{point.dtype} of shape {point.shape}. Take them from belief_points.",
    )
    exact = None if data.exact is None else _exact_of_others(agent, point, generator)
    chance = agent.state[point] if exact is None else exact
    state = generator.random(data.n_contexts) < chance
    of_row = centre = point[data.context]
    reports = held.points[of_row]
    if held.noisy:
        if held.blur is not None:
            centre = drawn_columns(held.blur[point], generator)[data.context]
        reports = held.reports.grid.levels[drawn_columns(held.chances[centre], generator)]
    share = agent.chosen.probabilities[0]
    action = drawn_columns(share[of_row], generator)
    taste = agent.taste[0]
    if taste > 0:
        habit = drawn_columns(share[point], generator)[data.context]
        action = np.where(generator.random(data.n_rows) < taste, habit, action)
    # Positions within a context, in the order of rows.
    order = np.argsort(data.context, kind="stable")
    rep = np.empty(data.n_rows, dtype=np.int64)
    first = np.searchsorted(data.context[order], data.context[order])
    rep[order] = np.arange(data.n_rows) - first
    labels = np.array(data.actions, dtype=object)
    known = {} if exact is None else {"p_true": exact[data.context]}
    return pd.DataFrame(
        {
            "context": np.array(data.contexts, dtype=object)[data.context],
            "rep": rep,
            "p": np.round(reports, 10),
            "action": labels[action],
            "theta": np.array(data.states, dtype=object)[state.astype(np.int64)][data.context],
            **known,
        }
    )


def _exact_of_others(agent: RationalAgent, point: Codes, rng: np.random.Generator) -> Floats:
    """Draw the exact posterior of each context from those of contexts that may hold its belief.

    Where reports are exact and no two alike, that is its own: choices know nothing of it either.
    """
    data = agent.data
    exact = np.zeros(data.n_contexts)
    exact[data.context] = data.exact
    points, of_context = np.unique(point, return_inverse=True)
    drawn = np.empty(len(point))
    for at, held in enumerate(points):
        which = np.zeros(agent.posterior.shape[1])
        which[held] = 1.0
        chance = np.asarray(agent.posterior @ which)  # the posterior may be sparse
        alike = np.flatnonzero(of_context.ravel() == at)
        drawn[alike] = rng.choice(exact, size=len(alike), p=chance / chance.sum())
    return drawn


def twin_results(
    agent: RationalAgent, test: Test, *, n_twins: int = 200, n_jobs: int = 1, rng: Seed = None
) -> pd.DataFrame:
    """Run a check on twins of an agent: what it finds where nothing is amiss but noise.

    Parameters
    ----------
    agent : RationalAgent
        A fitted agent.
    test : callable
        A check of belief, action and truth, such as `coherence.residual_covariance_test`; it is
        called with context, positive and rng.
    n_twins : int
        Twins.
    n_jobs : int
        Processes of joblib; results do not depend on it.
    rng : Generator, int or None
        Source of twins and of the draws of the check.

    Returns
    -------
    DataFrame
        Columns estimate and pvalue, a line per twin. An observed statistic within their middle
        95% is one that noise suffices to explain.

    Raises
    ------
    InputError
        `agent` or `test` is something else, or `n_twins` is below 1.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> twins = twin_results(agent, coherence.residual_covariance_test, n_twins=10, rng=1)
    >>> len(twins)
    10
    """
    require_agent(agent)
    require(
        callable(test),
        f"test must be a check of belief, action and truth, such as residual_covariance_test; "
        f"received {test!r}.",
    )
    n_twins = whole_number(n_twins, "n_twins", 1)
    streams = as_generator(rng).spawn(n_twins)
    found = run_calls(_of_twin, [(agent, test, stream) for stream in streams], n_jobs)
    return pd.DataFrame(found, columns=["estimate", "pvalue"])


def _of_twin(agent: RationalAgent, test: Test, rng: np.random.Generator) -> tuple[float, float]:
    twin = sample_twin(agent, rng)
    exact = {"exact": twin["p_true"]} if "p_true" in twin else {}
    result = test(
        twin["p"],
        twin["action"],
        twin["theta"],
        context=twin["context"],
        positive=agent.data.states[1],
        rng=rng,
        **exact,
    )
    return result.statistic, float("nan") if result.pvalue is None else result.pvalue


def belief_points(agent: RationalAgent, rng: np.random.Generator) -> Codes:
    """Draw the belief of each context of an agent, as the position of a point."""
    return agent.held.drawn(agent.posterior, rng)


def compare(
    observed: float,
    drawn: Floats,
    *,
    upper: bool,
    discrepancy: bool,
) -> Twins | None:
    """Set a statistic beside its distribution over twins."""
    known = drawn[~np.isnan(drawn)]
    n, n_undefined = drawn.size, drawn.size - known.size
    if math.isnan(observed) or n_undefined >= MOST_UNDEFINED * n:
        return None
    slack = TIES * max(abs(observed), float(np.abs(known).max()))
    above = 1 + n_undefined + int((known >= observed - slack).sum())
    below = 1 + n_undefined + int((known <= observed + slack).sum())
    # Of both sides: twice the smaller one.
    extreme = above if upper else 2 * min(above, below)
    low, median, high = map(float, np.quantile(known, [0.025, 0.5, 0.975]))
    meaningful = discrepancy and observed > 0
    return Twins(
        n_twins=n,
        observed=observed,
        median=median,
        low=low,
        high=high,
        pvalue=min(extreme / (n + 1), 1.0),
        noise_share=max(median, 0.0) / observed if meaningful else math.nan,
        n_undefined=n_undefined,
    )
