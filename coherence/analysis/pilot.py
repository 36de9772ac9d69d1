"""How far the error of a pilot moves the power that it promises.

The promise plus and minus t times the spread of the promises of agents that are fitted to resampled
contexts, on the probit scale. Their percentiles would promise too little: an agent fitted to
resampled contexts is further from the pilot's than the pilot's is from the truth, to one side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import filterfalse
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.analysis.populations import population_like
from coherence.analysis.studies import Cell, Simulations
from coherence.errors import InputError
from coherence.inputs import Floats
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import fit_rational_agent

REFITS = 12
FEWEST_REFITS = 6  # that a spread is taken of
_SHARE, _LEAST = 4, 10  # a refit has a quarter of the studies


def resampled(agent: RationalAgent, rng: np.random.Generator) -> RationalAgent | None:
    """Fit an agent to contexts, or groups, resampled from its own; None where none can be."""
    data, clusters, settings = agent.data, agent.clusters, agent.settings
    drawn = rng.integers(clusters.n, size=clusters.n)
    of_cluster = [
        np.flatnonzero(clusters.of_context[data.context] == cluster)
        for cluster in range(clusters.n)
    ]
    rows = np.concatenate([of_cluster[cluster] for cluster in drawn])
    copy = np.repeat(np.arange(clusters.n), [of_cluster[cluster].size for cluster in drawn])
    action: Any = (
        np.array(data.actions, dtype=object)[data.action[rows]] if data.policy is None else None
    )
    if data.policy is not None:
        action = pd.DataFrame(data.policy[rows], columns=list(map(str, data.actions)))
    try:
        return fit_rational_agent(
            data.belief[rows],
            action,
            data.truth[rows],
            context=copy * data.n_contexts + data.context[rows],
            group=copy if clusters.name == "group" else None,
            noise=None if settings["noise"] == "estimated" else settings["noise"],
            shared_noise=settings.get("shared_noise", 0.0),
            weighting=settings["weighting"],
            lapses=agent.chosen.model.lapsing,
            calibration=settings["calibration"],
        )
    except InputError:
        return None  # one action or one state alone was drawn


def intervals_of_pilot(
    agent: RationalAgent,
    simulations: Simulations,
    cells: Sequence[Cell],
    threshold: float,
    n_refits: int,
) -> pd.DataFrame:
    """Return 95% intervals of power that hold the error of the pilot behind a fitted agent."""
    plan, n = simulations.plan, max(simulations.n // _SHARE, _LEAST)
    refits = []
    for number in range(n_refits):
        rng = np.random.default_rng(np.random.SeedSequence(plan.entropy, spawn_key=(number,)))
        refitted = resampled(agent, rng)
        if refitted is not None:
            population = population_like(refitted, policies=plan.population.policies)
            refits.append(
                replace(simulations, plan=replace(plan, population=population), n=n, kept={})
            )
            refits[-1].run(cells)
    rows = []
    for result in filterfalse(plan.estimates, simulations.results):
        for cell in cells:
            promise, noise = _probit(simulations.numbers(cell, result), threshold)
            others = [_probit(of.numbers(cell, result), threshold)[0] for of in refits]
            row = {"check": result, **asdict(cell), "pilot_low": math.nan, "pilot_high": math.nan}
            if len(others) >= FEWEST_REFITS:
                # The studies of a refit are few and add to the spread: after a pilot of 50 contexts
                # a twentieth of it with 500 studies, a quarter with 60.
                spread = float(np.std(others, ddof=1))
                reach = stats.t.ppf(0.975, len(others) - 1) * math.hypot(spread, noise)
                low, high = (float(stats.norm.cdf(promise + side * reach)) for side in (-1, 1))
                # Where all studies reject, or none, a probit knows nothing of a power of 1 or 0.
                rejected = simulations.numbers(cell, result) <= threshold
                ends = stats.binomtest(int(rejected.sum()), rejected.size).proportion_ci()
                row["pilot_low"], row["pilot_high"] = min(low, ends.low), max(high, ends.high)
            rows.append(row)
    return pd.DataFrame(rows)


def told_of_pilot(needed: pd.Series[Any], of_pilot: pd.DataFrame) -> str:
    """Say what power the number of contexts that was found has, as far as the pilot tells."""
    line = ["check", "signal", "n_reps", "n_contexts"]
    at = of_pilot[(of_pilot[line] == needed[line]).all(axis=1)].dropna()
    if at.empty:
        return ""
    low, high = at[["pilot_low", "pilot_high"]].iloc[0]
    return f" With the error of the pilot the power there is {low:.2f} to {high:.2f}."


def _probit(numbers: Floats, threshold: float) -> tuple[float, float]:
    """Return the probit of a share of studies, and its standard error."""
    share = (float((numbers <= threshold).sum()) + 0.5) / (numbers.size + 1)
    at = float(stats.norm.ppf(share))
    return at, math.sqrt(share * (1 - share) / numbers.size) / float(stats.norm.pdf(at))
