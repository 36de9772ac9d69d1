"""Simulate evidence of a leak, looked at after every case, beside the fixed test.

    PYTHONPATH=. python benchmarks/validity/leak_evidence.py --tables 200 --seed 1

writes ``benchmarks/validity/leak_evidence.csv``: a line per agent, with the share of tables of 300
cases in which evidence ever reached 20, the median case at which it did (NaN where half never do),
and rejections at .05 of the fixed test at the end; for two agents also where it is looked at after
every 20 cases from 40 on. Agents see
the state in part: ``leak`` times state less posterior is added to the utility of an action (in
units of its noise, 1), or a sixth of it to the belief. 499 draws; table t of line l draws from the
seed [seed, l, t]. With ``--intervals`` instead ``leak_intervals.csv``: the share of tables in which
the interval of the difference, and the fixed one of as many cases, ever misses the difference of
200,000 cases, looked at after every 20 from 40 to 300, and their mean widths at the end. One core
needs about three minutes.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from coherence import evidence_leak_test

RESULTS = Path(__file__).with_suffix(".csv")
CASES, REPS, EVERY, ENOUGH = 300, 5, 20, 20
# Agent, leak, whether the null holds.
LINES = (
    ("five choices", 0.0, True),
    ("policies", 0.0, True),
    ("three actions", 0.0, True),
    ("greedy", 0.0, True),
    ("overconfident", 0.0, True),
    ("by posterior", 0.0, True),
    ("learns past states", 0.0, True),
    ("posterior too extreme", 0.0, False),
    ("posterior shifted", 0.0, False),
    ("five choices", 0.6, False),
    ("five choices", 1.0, False),
    ("five choices", 2.0, False),
    ("policies", 1.0, False),
    ("three actions", 1.0, False),
    ("belief", 1.0, False),
)
LOOKED = (("five choices", 0.0), ("five choices", 0.6))


def draw(agent: str, leak: float, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a table of cases, in the order in which they come."""
    odds = 1.5 * rng.normal(size=CASES)
    if agent == "by posterior":
        odds.sort()
    exact = expit(odds)
    said = np.round(20 * expit(odds + 0.9 * rng.normal(size=CASES))) / 20
    right = {"posterior too extreme": odds / 2, "posterior shifted": odds + 1.3}.get(agent, odds)
    truth = (rng.random(CASES) < expit(right)).astype(int)
    utility = 6 * (said - 0.5) + 0.6 * rng.normal(size=CASES)
    if agent == "greedy":
        utility = np.where(said > 0.5, 3.0, -3.0)
    if agent == "overconfident":
        said = np.round(20 * expit(3 * logit(np.clip(said, 0.02, 0.98)))) / 20
    if agent == "learns past states":
        utility[1:] += 4 * (np.cumsum(truth - exact)[:-1] / np.arange(1, CASES))
    if agent == "belief":
        said = np.clip(said + leak * (truth - exact) / 6, 0, 1)
    else:
        utility += leak * (truth - exact)
    yes = expit(utility)
    share = np.column_stack([1 - yes, yes])
    if agent == "three actions":
        unsure = 0.5 - np.abs(said - 0.5)
        share = np.column_stack([share * (1 - unsure)[:, None], unsure])
    if agent != "policies":
        share = np.stack([rng.multinomial(REPS, each) for each in share]) / REPS
    return {"belief": said, "action": share, "truth": truth, "exact": exact}


def of_table(agent: str, leak: float, seed: list[int]) -> list[float]:
    """Return when evidence was enough, and whether the fixed test rejects, once and by looking."""
    table = draw(agent, leak, np.random.default_rng(seed))
    stopped = evidence_leak_test(**table, evidence=ENOUGH).settings["stopped"]

    def fixed(cases: int) -> bool:
        part = {name: values[:cases] for name, values in table.items()}
        return evidence_leak_test(**part, n_draws=499, rng=seed[-1]).pvalue <= 0.05

    looked = math.nan
    if (agent, leak) in LOOKED:
        looked = any(fixed(cases) for cases in range(2 * EVERY, CASES + 1, EVERY))
    return [math.inf if stopped is None else stopped, fixed(CASES), looked]


def intervals(tables: int, seed: int) -> None:
    """Simulate how often an interval that is looked at as cases come in ever misses."""
    rows = []
    for number, (agent, leak, _) in enumerate(LINES):
        if (agent, leak) not in (("five choices", 0.0), ("five choices", 1.0), ("policies", 1.0)):
            continue
        streams = np.random.default_rng([seed, number]).spawn(667)
        long = [draw(agent, leak, stream) for stream in streams]
        whole = {name: np.concatenate([each[name] for each in long]) for name in long[0]}
        true = evidence_leak_test(**whole, evidence=ENOUGH).also["difference"].value
        missed, widths = np.zeros((tables, 2), dtype=bool), np.zeros((tables, 2))
        for table in range(tables):
            drawn = draw(agent, leak, np.random.default_rng([seed, number, table]))
            for cases in range(2 * EVERY, CASES + 1, EVERY):
                part = {name: values[:cases] for name, values in drawn.items()}
                at_will = evidence_leak_test(**part, evidence=ENOUGH).also["difference"]
                fixed = evidence_leak_test(**part, n_draws=99, rng=1)
                ends = [(at_will.low, at_will.high), (fixed.low, fixed.high)]
                missed[table] |= np.array([not low <= true <= high for low, high in ends])
                widths[table] = [high - low for low, high in ends]
        share, width = missed.mean(axis=0), widths.mean(axis=0)
        row = {"agent": agent, "leak": leak, "true": true, "missed": share[0]}
        row |= {"fixed missed": share[1], "width": width[0], "fixed width": width[1]}
        rows.append(row)
        print(*row.values(), flush=True)
    table = pd.DataFrame(rows).assign(tables=tables, seed=seed)
    table.round(4).to_csv(RESULTS.with_name("leak_intervals.csv"), index=False)


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--intervals", action="store_true")
    args = parser.parse_args()
    if args.intervals:
        intervals(args.tables, args.seed)
        return
    rows = []
    for number, (agent, leak, null) in enumerate(LINES):
        seeds = [[args.seed, number, table] for table in range(args.tables)]
        stops, fixed, looked = np.array([of_table(agent, leak, seed) for seed in seeds]).T
        middle = float(np.quantile(stops, 0.5, method="inverted_cdf"))
        found = {"evidence": np.isfinite(stops).mean(), "fixed": fixed.mean()}
        found |= {"every 20": looked.mean(), "median": middle if middle < math.inf else math.nan}
        rows.append({"agent": agent, "leak": leak, "null": null, **found})
        print(*rows[-1].values(), flush=True)
    table = pd.DataFrame(rows).assign(tables=args.tables, seed=args.seed)
    table.round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
