"""Simulate streams of beliefs that move as much as they learn, or more, or less.

    python benchmarks/validity/movement.py --tables 150 --seed 1

``movement.csv`` has a line per agent, number of turns, noise of reports, repetitions
and number of episodes: how often the test rejects, how often the interval holds the true excess,
and the mean estimate, all again with the exact posterior. Signals are right with .7 and the prior
is one half; an agent multiplies the log odds of the evidence by 1, 1.5 or .6. Noise is normal and
ends at 0 and 1 ("cut off"), or beta distributed around the belief ("beta"); reports may be rounded.
Table t of line l draws from the seed [seed, l, t]. One core needs about five minutes for 150
tables.
"""

import argparse
import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence import belief_movement_test

RESULTS = Path(__file__).parent / "movement.csv"
RIGHT = 0.7
AGENTS = (1.0, 1.5, 0.6)
Floats = np.ndarray


def beliefs(signal: Floats, weight: float) -> Floats:
    """Return beliefs before and after each signal of 1 or -1, shape (..., 1 + n_turns)."""
    odds = np.cumsum(signal, axis=-1) * math.log(RIGHT / (1 - RIGHT))
    odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
    return 1 / (1 + np.exp(-weight * odds))


def true_excess(weight: float, n_turns: int) -> float:
    """Enumerate all signals."""
    signal = np.array(list(itertools.product([1, -1], repeat=n_turns)))
    ups = (signal > 0).sum(axis=1)
    chance = sum(0.5 * share**ups * (1 - share) ** (n_turns - ups) for share in (RIGHT, 1 - RIGHT))
    p = beliefs(signal, weight)
    movement = (np.diff(p) ** 2).sum(axis=1)
    return round(float(chance @ (movement - 0.25 + p[:, -1] * (1 - p[:, -1]))), 12)


def reports(p: Floats, noise: str, sd: float, n_reps: int, step: float, rng) -> Floats:
    """Report beliefs several times, shape (n_reps, *p.shape)."""
    shape = (n_reps, *p.shape)
    if not sd:
        said = np.broadcast_to(p, shape)
    elif noise == "beta":
        mean = np.clip(p, 1e-6, 1 - 1e-6)
        size = np.maximum(mean * (1 - mean) / sd**2, 2) - 1
        said = rng.beta(mean * size, (1 - mean) * size, shape)
    else:
        said = np.clip(p + sd * rng.normal(size=shape), 0, 1)
    return np.round(said / step) * step if step else said


def study(
    weight: float, n_turns: int, noise: str, sd: float, n_reps: int, step: float, n: int, seed
) -> list[float]:
    """Test one table, without and with the exact posterior."""
    rng = np.random.default_rng(seed)
    share = np.where(rng.random(n) < 0.5, RIGHT, 1 - RIGHT)
    signal = np.where(rng.random((n, n_turns)) < share[:, None], 1, -1)
    said = reports(beliefs(signal, weight), noise, sd, n_reps, step, rng)
    rep, episode, turn = np.indices(said.shape).reshape(3, -1)
    exact = np.broadcast_to(beliefs(signal, 1.0), said.shape).ravel()
    true, found = true_excess(weight, n_turns), []
    for posterior in (None, exact):
        result = belief_movement_test(
            said.ravel(), turn, episode, rep=rep, exact=posterior, computed=not (sd or step)
        )
        # Beliefs that are the posterior leave nothing to test, and hold the true excess, 0.
        known = result.interval is not None
        held = result.low <= true <= result.high if known else abs(result.statistic - true) < 1e-9
        found += [float(result.pvalue <= 0.05), float(held), result.statistic]
    return found


def designs():
    """Yield agent, turns, noise, its size, repetitions, step of rounding, episodes."""
    sizes = [("none", 0.0, 1, 0.0)]
    sizes += [("cut off", sd, reps, 0.0) for sd in (0.05, 0.1) for reps in (1, 2, 3)]
    for weight, n_turns, size, n in itertools.product(AGENTS, (3, 6), sizes, (30, 100, 300)):
        yield (weight, n_turns, *size, n)
    for sd, step, n in itertools.product((0.05, 0.1), (0.0, 0.05, 0.1), (100, 300)):
        yield (1.0, 6, "beta", sd, 2, step, n)
    for step, n in itertools.product((0.05, 0.1), (100, 300)):
        yield (1.0, 6, "none", 0.0, 2, step, n)
        yield (1.0, 6, "cut off", 0.1, 2, step, n)


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    records = []
    for number, design in enumerate(designs()):
        seeds = [[args.seed, number, drawn] for drawn in range(args.tables)]
        found = Parallel(n_jobs=args.jobs)(delayed(study)(*design, seed) for seed in seeds)
        records.append((*design, true_excess(*design[:2]), *np.mean(found, axis=0), args.tables))
        print(*records[-1], flush=True)
    columns = ["weight", "n_turns", "noise", "sd", "n_reps", "step", "n_episodes", "true"]
    columns += ["rejected", "covered", "estimate"]
    columns += ["rejected_exact", "covered_exact", "estimate_exact", "n_tables"]
    pd.DataFrame(records, columns=columns).assign(seed=args.seed).round(4).to_csv(
        args.results, index=False
    )


if __name__ == "__main__":
    main()
