"""Simulate agents that act at every turn of an episode, coherently or not, and test sufficiency.

    python benchmarks/validity/agents.py --tables 200 --seed 1

``benchmarks/validity/agents.csv`` has a line per agent and test: how often sufficiency rejects at
.05. Signals of six turns are right with .7, the prior is one half. An agent misreads them, with an
error that an episode's turns share and one of each turn, states what it believes and acts on it,
with a taste of the episode. "trend": it also acts more as turns go on. "hidden": it acts on the
posterior too. The tests: every turn with the exact posterior as the state and the episode as the
group, what ``coherence analyze`` does with an imported log; the same without the group; one turn
of each episode with what happened; last, every turn by `evidence_leak` (999 draws), which
``coherence analyze`` does not run on such tables. Table t of line l draws from the seed
[seed, l, t]. One core needs about five minutes.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence import evidence_leak_test, sufficiency_test

RESULTS = Path(__file__).parent / "agents.csv"
RIGHT, N_TURNS = 0.7, 6
AGENTS = {
    # name: (taste, error that turns share, error of each turn, trend, weight of the posterior)
    "taste": (1.5, 0.0, 0.7, 0.0, 0.0),
    "taste, shared error": (1.5, 0.7, 0.7, 0.0, 0.0),
    "taste, shared error, trend": (1.5, 0.7, 0.7, 0.5, 0.0),
    "taste, shared error, hidden": (1.5, 0.7, 0.7, 0.0, 0.5),
}
TESTS = ("turns, grouped", "turns, not grouped", "last turn")
LEAK = "leak, turns as cases"
SIZES = (60,)


def draw(agent: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return a runs table of n episodes."""
    taste, shared, single, trend, hidden = AGENTS[agent]
    theta = rng.random(n) < 0.5
    shape = (n, N_TURNS)
    signal = np.where(rng.random(shape) < np.where(theta, RIGHT, 1 - RIGHT)[:, None], 1, -1)
    odds = np.cumsum(signal, axis=1) * math.log(RIGHT / (1 - RIGHT))
    error = shared * rng.normal(size=(n, 1)) + single * rng.normal(size=shape)
    exact, said = (1 / (1 + np.exp(-each)) for each in (odds, odds + error))
    acts_on = (1 - hidden) * said + hidden * exact
    turn = np.broadcast_to(np.arange(N_TURNS), shape)
    utility = 5 * (acts_on - 0.5) + taste * rng.normal(size=(n, 1)) + trend * (turn - 2.5)
    treats = rng.random(shape) < 1 / (1 + np.exp(-utility))
    episode = np.repeat(np.arange(n), N_TURNS)
    return pd.DataFrame(
        {
            "group": episode,
            "turn": turn.ravel(),
            "context": np.arange(n * N_TURNS),
            "p": np.round(said.ravel(), 2),
            "p_true": exact.ravel(),
            "theta": np.repeat(theta, N_TURNS).astype(int),
            "action": np.where(treats.ravel(), "treat", "wait"),
        }
    )


def pvalue(table: pd.DataFrame, test: str, rng: np.random.Generator) -> float:
    """Return the p-value of a test."""
    if test == LEAK:
        columns = ("p", "action", "theta", "p_true")
        found = evidence_leak_test(*columns, context="context", data=table, n_draws=999, rng=rng)
    elif test == "last turn":
        last = table[table["turn"] == N_TURNS - 1]
        found = sufficiency_test("p", "action", "theta", context="context", data=last, rng=rng)
    else:
        group = {"group": "group"} if test == "turns, grouped" else {}
        found = sufficiency_test(
            "p", "action", exact="p_true", context="context", data=table, rng=rng, **group
        )
    return found.pvalue


def study(agent: str, n: int, test: str, tables: int, seed: list[int]) -> tuple[object, ...]:
    """Return a line of the table."""
    pvalues = []
    for table in range(tables):
        rng = np.random.default_rng([*seed, table])
        pvalues.append(pvalue(draw(agent, n, rng), test, rng))
    rejected = float(np.mean(np.array(pvalues) <= 0.05))
    return agent, n, test, tables, int(np.isnan(pvalues).sum()), rejected


def main() -> None:
    """Simulate every line and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    lines = [(agent, n, test) for agent in AGENTS for n in SIZES for test in TESTS]
    lines += [(agent, n, LEAK) for agent in AGENTS for n in SIZES]
    rows = Parallel(n_jobs=options.jobs)(
        delayed(study)(*line, options.tables, [options.seed, number])
        for number, line in enumerate(lines)
    )
    columns = ["agent", "n_episodes", "test", "n_tables", "undefined", "rejected"]
    pd.DataFrame(rows, columns=columns).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
