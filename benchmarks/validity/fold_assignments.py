"""How far other fold assignments move the action information, and whether its interval holds.

    PYTHONPATH=. python benchmarks/validity/fold_assignments.py --tables 60 --seed 1

``fold_assignments.csv`` has a line per agent, target, number of contexts (three repetitions each)
and number of fold assignments that are averaged. Table t draws from the seed [seed, cell, t].
Contexts draw their folds from what they hold: a quarter of the tables are estimated again with
beliefs moved by .0005 at most, which gives all contexts other folds and is else the same table.
``sd_*`` are standard deviations of the estimate and of the ends between the two (percent), and
``disagree`` the share of those tables whose interval holds 0 in one of them. ``truth`` is the mean
estimate in twice as many other tables, ``held`` the share of tables with an interval that holds it,
``seconds`` the processor time of an estimate.
"""

import argparse
import math
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from coherence import action_information, simulate

RESULTS = Path(__file__).parent / "fold_assignments.csv"
AGENTS = (("leaky", "p_true"), ("leaky", "theta"))
SIZES = (40, 100, 200)
ASSIGNMENTS = (5, 50)
N_REPS = 3
MOVED_BY = 5e-4  # by which a belief lands in another cell of `context_folds`


def drawn(agent: str, n_contexts: int, seed: list[int]) -> pd.DataFrame:
    """Draw a table of choices."""
    rng = np.random.default_rng(seed)
    runs = simulate(agent, n_contexts=n_contexts, n_reps=N_REPS, rng=rng)
    return runs[runs["action"].notna()]


def moved(rows: pd.DataFrame, seed: list[int]) -> pd.DataFrame:
    """Return the same table, whose contexts fall into other folds."""
    contexts = rows["context"].unique()
    by = np.random.default_rng(seed).uniform(-MOVED_BY, MOVED_BY, contexts.size)
    shift = rows["context"].map(dict(zip(contexts, by, strict=True)))
    return rows.assign(p=(rows["p"] + shift).clip(0, 1))


def estimated(rows: pd.DataFrame, target: str, n_seeds: int) -> tuple[float, float, float]:
    """Return the estimate and the ends of its interval, NaN where there is none."""
    result = action_information(
        rows["p"],
        rows["action"],
        rows["theta"],
        exact=rows["p_true"] if target == "p_true" else None,
        context=rows["context"],
        n_seeds=n_seeds,
    )
    ends = result.interval
    return (result.statistic, *((math.nan, math.nan) if ends is None else (ends.low, ends.high)))


def lines_of(
    cell: int, agent: str, target: str, n_contexts: int, n_tables: int, seed: int
) -> list[dict[str, object]]:
    """Simulate one cell; a line for each number of assignments."""
    others = [
        estimated(drawn(agent, n_contexts, [seed, cell, n_tables + t]), target, 5)[0]
        for t in range(2 * n_tables)
    ]
    truth = float(np.mean(others))
    tables = [drawn(agent, n_contexts, [seed, cell, t]) for t in range(n_tables)]
    lines: list[dict[str, object]] = []
    for n_seeds in ASSIGNMENTS:
        begun = time.process_time()
        found = np.array([estimated(rows, target, n_seeds) for rows in tables])
        seconds = (time.process_time() - begun) / n_tables
        again = np.array(
            [
                estimated(moved(rows, [seed, cell, t]), target, n_seeds)
                for t, rows in enumerate(tables[: n_tables // 4])
            ]
        )
        first = found[: len(again)]
        spread = np.sqrt(np.nanmean((again - first) ** 2, axis=0) / 2)
        holds = [(ends[:, 1] <= 0) & (ends[:, 2] >= 0) for ends in (first, again)]
        there = ~np.isnan(found[:, 1])
        held = (found[there, 1] <= truth) & (truth <= found[there, 2])
        lines.append(
            {
                "agent": agent,
                "target": target,
                "n_contexts": n_contexts,
                "assignments": n_seeds,
                "sd_estimate": spread[0],
                "sd_low": spread[1],
                "sd_high": spread[2],
                "disagree": float(np.mean(holds[0] != holds[1])),
                "half_width": float(np.nanmean(found[:, 2] - found[:, 1])) / 2,
                "truth": truth,
                "held": held.mean(),
                "intervals": int(there.sum()),
                "seconds": seconds,
                "tables": n_tables,
                "seed": seed,
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    cells = enumerate((*case, n) for case, n in product(AGENTS, SIZES))
    parts = Parallel(n_jobs=args.jobs)(
        delayed(lines_of)(number, *cell, args.tables, args.seed) for number, cell in cells
    )
    table = pd.DataFrame([line for part in parts for line in part]).round(4)
    table.to_csv(args.out, index=False)
    print(table.to_string())


if __name__ == "__main__":
    main()
