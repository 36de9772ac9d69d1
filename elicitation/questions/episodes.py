"""Episodes: the findings of a case, revealed one after another, with the exact belief at each turn.

An episode begins with one finding, common and rare states alike. Each further one is drawn from the
network given those before it, and so is the state at the end. From the first turn on the exact
posterior is then a martingale that the state bears out, which cases that are spread evenly over
their last posterior would not be: of these, the earlier posteriors are wrong on average.
"""

from typing import Any

import numpy as np
import pandas as pd

from bayesnets import Network, posterior
from coherence.errors import InputError
from coherence.table.schema import DRAWN, FEATURE_PREFIX

MOST_TURNS = 6  # every finding is as many questions again; after six a belief hardly moves


def sample_episodes(
    network: Network, target: str, state: Any, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw episodes, one row per turn; see `Task.episodes`."""
    covariates = _unsettling(network, target)
    n_turns = min(MOST_TURNS, len(covariates))
    if n_turns < 2:
        raise InputError(
            f"episodes need two variables or more that do not settle {target!r} by themselves; "
            f"network {network.name!r} has {len(covariates)}. Ask without --reveal-in-turn."
        )
    order = np.array([rng.permutation(covariates)[:n_turns] for _ in range(n)])
    evidence: list[dict[str, str]] = [{} for _ in range(n)]
    turns = []
    for turn in range(n_turns):
        _reveal(network, evidence, order[:, turn], rng)
        belief = posterior(network, pd.DataFrame(evidence), target)[state].to_numpy()
        features = {
            f"{FEATURE_PREFIX}{name}": pd.Series([of.get(name) for of in evidence], dtype=object)
            for name in covariates
        }
        known = {"group": range(1, n + 1), "turn": turn + 1, "p_true": belief}
        turns.append(pd.DataFrame({**known, **features}))
    theta = (rng.random(n) < belief).astype(np.int64)
    table = pd.concat(turns, ignore_index=True)
    table["theta"] = theta[table["group"] - 1]
    table = table.sort_values(["group", "turn"], ignore_index=True)
    width = len(str(n))
    table["group"] = [f"{network.name}-{target}-{at:0{width}}" for at in table["group"]]
    context = (table["group"] + "-" + table["turn"].astype(str)).astype(object)
    # No z: the questions of iterated expectation are of single cases.
    return table.assign(context=context, truth_kind=DRAWN, z=None)


def _unsettling(network: Network, target: str) -> list[str]:
    """Return the variables of which no single state makes the target certain."""
    names = []
    for node in network.nodes:
        if node.name != target:
            evidence = pd.DataFrame({node.name: list(node.states)})
            # Of a state that cannot be there is no posterior.
            of_states = posterior(network, evidence, target, errors="nan").to_numpy()
            if not (of_states >= 1).any():
                names.append(node.name)
    return names


def _reveal(
    network: Network, evidence: list[dict[str, str]], name: Any, rng: np.random.Generator
) -> None:
    """Add the next finding to each: the first in any possible state, others given those before."""
    for variable in dict.fromkeys(name):
        at = np.flatnonzero(name == variable)
        before = pd.DataFrame([evidence[row] for row in at], index=at)
        table = posterior(network, before, variable)
        chances = table.to_numpy(dtype=np.float64)
        if before.empty or before.shape[1] == 0:
            chances = (chances > 0) / (chances > 0).sum(axis=1, keepdims=True)
        drawn = (chances.cumsum(axis=1) < rng.random((len(at), 1))).sum(axis=1)
        for row, code in zip(at, np.minimum(drawn, chances.shape[1] - 1), strict=True):
            evidence[row][variable] = str(table.columns[code])
