"""How often each verdict is given to agents whose coherence is known.

    PYTHONPATH=. python tests/validity/verdicts.py --tables 200 --seed 1 --jobs 2

writes ``tests/validity/verdicts.csv``: a line for each agent, number of cases and state (exact or
realised), with the share of tables that get each verdict, and how many of the 95% intervals of the
points hold the true value (that of 20,000 cases, of coherent agents 0): of all tables, and of those
whose sentence prints it because it accuses, or because it does not. Tables come from
`coherence.simulate`, a report and a choice at a time, and are analysed by `coherence.analyze` as a
user would, with the primary test and `evidence_leak`. A coherent agent is accused where the verdict
is that it acts on more than it says. Table t of cell c draws from the seed [seed, c, t].
"""

import argparse
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import coherence
from coherence.agents import Agent, named_agent
from coherence.report.verdicts import Verdict

RESULTS = Path(__file__).with_suffix(".csv")
CHECKS = ["sufficiency", "evidence_leak"]
SIZES, STATES = (60, 200), ("exact", "realised")

# Agent, what changes of the named one, reports and choices a case, whether it is coherent.
AGENTS: dict[str, tuple[str, dict[str, float], int, bool]] = {
    "rational": ("rational", {}, 5, True),
    "rational, one report": ("rational", {}, 1, True),
    "miscalibrated": ("miscalibrated", {}, 5, True),
    "greedy": ("greedy", {}, 5, True),
    "noisy": ("noisy", {}, 5, True),
    "noisy, three reports": ("noisy", {}, 3, True),
    "noisy, one report": ("noisy", {}, 1, True),
    "a little noisy": ("rational", {"report_noise": 0.03}, 5, True),
    "heaping": ("heaping", {}, 5, True),
    "ignores its belief": ("rational", {"slope": 0.0}, 5, True),
    "leaky": ("leaky", {}, 5, False),
    "shaded": ("shaded", {}, 5, False),
    "shaded and noisy": ("shaded", {"report_noise": 0.1}, 5, False),
    "clairvoyant": ("clairvoyant", {}, 5, False),
}


def agent_of(name: str) -> tuple[Agent, int, bool]:
    """Return an agent, its reports a case, and whether it is coherent."""
    base, changes, reps, coherent = AGENTS[name]
    return replace(named_agent(base), name=base, **changes), reps, coherent


def verdict_of(name: str, n: int, state: str, seed: list[int]) -> tuple[str, float, float, float]:
    """Analyse one table: its verdict, and the ends of the interval and the estimate."""
    agent, reps, _ = agent_of(name)
    drawing, testing = np.random.default_rng(seed).spawn(2)
    options = {"n_contexts": n, "n_reps": reps, "prompts": ["standard"], "iterated": False}
    runs = coherence.simulate(agent, **options, rng=drawing)
    report = coherence.analyze(runs, checks=CHECKS, state=state, rng=testing)
    row = report.verdicts.iloc[0]
    return str(row["verdict"]), float(row["low"]), float(row["high"]), float(row["estimate"])


def true_points(name: str) -> float:
    """Return the points of very many cases."""
    agent, _, coherent = agent_of(name)
    if name == "clairvoyant":  # of the two states it has two
        return math.nan
    if coherent:
        return 0.0
    options = {"n_contexts": 20_000, "n_reps": 2, "prompts": ["standard"], "iterated": False}
    still = replace(agent, report_noise=0.0)  # noise of reports moves no choice
    runs = coherence.simulate(still, **options, rng=0)
    arrays = runs["p"], runs["action"]
    few = {"exact": runs["p_true"], "context": runs["context"], "n_draws": 128, "rng": 0}
    return float(coherence.sufficiency_test(*arrays, **few).statistic)


def main() -> None:
    """Simulate and write the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--agents", nargs="+", default=list(AGENTS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    cells = [(name, n, state) for name in AGENTS for n in SIZES for state in STATES]
    rows = []
    for number, cell in enumerate(cells):
        if cell[0] not in args.agents:
            continue
        seeds = ([args.seed, number, table] for table in range(args.tables))
        found = Parallel(args.jobs)(delayed(verdict_of)(*cell, seed) for seed in seeds)
        counts = Counter(verdict for verdict, *_ in found)
        accused = sum(counts[str(v)] for v in Verdict if v.accuses) / args.tables
        coherent = AGENTS[cell[0]][3]
        true = true_points(cell[0])
        held = {"held": [], "held_accusing": [], "held_else": []}
        for verdict, low, high, _ in found:
            if not np.isnan(low) and not np.isnan(true):
                inside = low <= true <= high
                held["held"].append(inside)
                accusing = Verdict(verdict).accuses
                if accusing or not Verdict(verdict).marked:
                    held["held_accusing" if accusing else "held_else"].append(inside)
        shares = {str(v): counts[str(v)] / args.tables for v in Verdict if counts[str(v)]}
        row = dict(zip(("agent", "cases", "state"), cell, strict=True))
        row |= {"coherent": coherent, "accused": accused, "true_points": true}
        row |= {name: np.mean(values) if values else np.nan for name, values in held.items()}
        row |= {f"n_{name}": len(values) for name, values in held.items()}
        rows.append(row | {str(v): shares.get(str(v), 0.0) for v in Verdict})
        rows[-1] |= {"tables": args.tables, "seed": args.seed}
        print(*cell, f"accused {accused:.3f}", shares, flush=True)
    pd.DataFrame(rows).round(4).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
