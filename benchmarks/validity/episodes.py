"""Simulate the tables of ``elicit --reveal-in-turn``: turns of an episode share state and findings.

    python benchmarks/validity/episodes.py --tables 200 --seed 1

``benchmarks/validity/episodes.csv`` has a line per network, agent, whose taste it is, and number of
episodes: how often `sufficiency` (exact posterior as state, episodes as groups) and
`belief_movement` (with the exact posterior) reject, how often each gives a p-value, and how often
the interval of `sufficiency` holds 0. All agents but "leaky" are coherent, and all but
"miscalibrated" and "leaky" move as much as they learn. A taste is that of the words of a case,
which episodes share, of the turn, or of the episode. The tables of line l share out the episodes of
seed + l; answers of table t are drawn from the seed [seed, l, t]. One core needs five minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence import AGENTS, belief_movement_test, sufficiency_test
from coherence.agents import ACTIONS
from elicitation import load_task

RESULTS = Path(__file__).parent / "episodes.csv"
KINDS = (
    *(("rational", 1), ("rational", 2), ("miscalibrated", 1), ("noisy", 5), ("heaping", 5)),
    ("leaky", 1),
)
TASTES = ("words", "turn", "episode")
N_EPISODES, N_DRAWS = 60, 999
COLUMNS = (
    *("network", "agent", "n_reps", "taste_of", "n_episodes"),
    *("rejected", "rejected_movement", "tested", "tested_movement", "covered"),
)


def answers(episodes: pd.DataFrame, name: str, reps: int, taste_of: str, rng):
    """Return a table of reports and actions at every turn."""
    words = episodes.filter(like="x_").fillna("").agg("|".join, axis=1)
    shared = {"words": words, "turn": episodes["context"], "episode": episodes["group"]}[taste_of]
    of_taste, of_words = pd.factorize(shared)[0], pd.factorize(words)[0]
    agent = AGENTS[name]
    taste = agent.taste * rng.normal(size=(of_taste.max() + 1, len(ACTIONS)))[of_taste]
    exact, theta = (episodes[name].to_numpy(dtype=float) for name in ("p_true", "theta"))
    spoken = agent.speak_of(exact, rng.normal(size=of_words.max() + 1)[of_words], exact)
    belief, acted_on = agent.believe(spoken), agent.act_on(spoken, exact)
    reports = [
        episodes.assign(
            rep=rep,
            p=agent.report(belief, "standard", rng),
            action=agent.choose(acted_on, theta, taste, rng),
        )
        for rep in range(reps)
    ]
    return pd.concat(reports, ignore_index=True)


def study(episodes: pd.DataFrame, name: str, reps: int, taste_of: str, seed: list[int]):
    """Test one table as ``coherence analyze`` does."""
    runs = answers(episodes, name, reps, taste_of, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        columns = {"exact": "p_true", "context": "context", "group": "group"}
        sufficient = sufficiency_test("p", "action", data=runs, **columns, n_draws=N_DRAWS, rng=1)
        moved = belief_movement_test("p", "turn", "group", data=runs, rep="rep", exact="p_true")
    held = sufficient.interval
    return (
        *(float(each.pvalue <= 0.05) for each in (sufficient, moved)),
        *(float(each.pvalue == each.pvalue) for each in (sufficient, moved)),
        np.nan if held is None else float(held.low <= 0 <= held.high),
    )


def designs():
    """Yield network, agent, its repetitions, and whose taste."""
    for name, reps in KINDS:
        for taste_of in TASTES if (name, reps) == KINDS[0] else TASTES[:1]:
            yield "asia", name, reps, taste_of
    yield "fever", *KINDS[0], "words"  # many findings, so that words hardly repeat


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    records = []
    for number, design in enumerate(designs()):
        network, *kind = design
        turns = load_task(network).episodes(N_EPISODES * args.tables, seed=args.seed + number)
        tables = np.array_split(turns.index, args.tables)
        found = Parallel(n_jobs=args.jobs)(
            delayed(study)(turns.loc[rows], *kind, [args.seed, number, drawn])
            for drawn, rows in enumerate(tables)
        )
        records.append(
            (*design, N_EPISODES, *np.nanmean(found, axis=0).round(4), args.tables, args.seed)
        )
        print(*records[-1], flush=True)
        table = pd.DataFrame(records, columns=[*COLUMNS, "n_tables", "seed"])
        table.to_csv(args.results, index=False)


if __name__ == "__main__":
    main()
