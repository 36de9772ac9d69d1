"""Simulate probed beliefs: hidden states that hold the posterior, what is said, or the evidence.

    python benchmarks/validity/probe.py --tables 150 --seed 1

``probe.csv`` has a line per kind of hidden states and belief acted on: how often
hidden states are said to do better than the evidence (false of all kinds but "posterior"), the mean
R2 of both, and how often actions are said to go with the probed belief at equal statement (false of
agents that act on what they say) and with the statement at equal probe. Sixty cases; eight
findings, a third of them not shown, of which two interact; one is not spoken of. Table t of line l
draws from the seed [seed, l, t]. One core needs about five minutes for 150 tables.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence.checks.probe import probe_estimates

RESULTS = Path(__file__).parent / "probe.csv"
N_CASES, N_FINDINGS, WIDTH = 60, 8, 128
KINDS = ("posterior", "what is said", "noise", "findings", "pairs of findings", "untrained network")
ACTED_ON = ("what it says", "the posterior")
Floats = np.ndarray


def logistic(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-odds))


def hidden_states(
    kind: str, evidence: Floats, said: Floats, posterior: Floats, rng: np.random.Generator
) -> Floats:
    """Return two layers, the first of which holds nothing."""
    noise = rng.normal(size=(2, len(said), WIDTH))
    if kind == "untrained network":  # a random layer of the evidence, as a random network has
        noise[1] = np.tanh(evidence @ rng.normal(0, 0.6, (evidence.shape[1], WIDTH)))
    elif kind == "findings":
        noise[1] = evidence @ rng.normal(size=(evidence.shape[1], WIDTH))
    elif kind == "pairs of findings":
        left, right = np.triu_indices(evidence.shape[1], 1)
        both = np.hstack([evidence, evidence[:, left] * evidence[:, right]])
        noise[1] = both @ rng.normal(size=(both.shape[1], WIDTH))
    elif kind != "noise":
        held = [said] if kind == "what is said" else [said, posterior]
        noise[1] += 0.6 * np.column_stack(held) @ rng.normal(size=(len(held), WIDTH))
    return noise.transpose(1, 0, 2).astype(np.float16)


def study(kind: str, acted_on: str, seed: list[int]) -> list[float]:
    """Probe one table."""
    rng, n = np.random.default_rng(seed), N_CASES
    present = rng.choice([-1.0, 0.0, 1.0], size=(n, N_FINDINGS))  # 0 is not shown
    effects = np.linspace(1.2, 0.4, N_FINDINGS)
    together = 1.2 * present[:, 2] * present[:, 3]
    posterior = present @ effects + together
    said = posterior - present[:, 0] * effects[0]
    evidence = np.hstack([present == value for value in (-1, 0, 1)]).astype(float)
    hidden = hidden_states(kind, evidence, said, posterior, rng)
    acts = logistic(6 * (logistic(said if acted_on == ACTED_ON[0] else posterior) - 0.5))
    found = probe_estimates(
        hidden,
        logistic(said),
        np.where(rng.random(n) < acts, "yes", "no"),
        exact=logistic(posterior),
        features=pd.DataFrame(present.astype(int).astype(str)),
        computed=True,
        rng=rng,
    )
    r2 = found.beliefs.set_index("belief")["r2"]
    rejected = [(result.pvalue or 1) <= 0.05 for result in (found.probed, found.stated)]
    return [found.gains, r2["probed"], r2["evidence"], *rejected]


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    records = []
    lines = [(KINDS[0], ACTED_ON[0]), *itertools.product(KINDS, ACTED_ON[1:])]
    for number, line in enumerate(lines):
        seeds = [[args.seed, number, drawn] for drawn in range(args.tables)]
        outcomes = Parallel(n_jobs=args.jobs)(delayed(study)(*line, seed) for seed in seeds)
        records.append((*line, *np.mean(outcomes, axis=0), args.tables))
        print(*records[-1], flush=True)
    columns = ["hidden_states", "acted_on", "gains", "r2_probed", "r2_evidence"]
    columns += ["probed_moves", "stated_moves", "n_tables"]
    table = pd.DataFrame(records, columns=columns).assign(seed=args.seed)
    table.round(4).to_csv(args.results, index=False)


if __name__ == "__main__":
    main()
