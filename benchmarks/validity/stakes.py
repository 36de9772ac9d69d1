"""Simulate choices at stated stakes of agents that go by what they say, or by something else.

    python benchmarks/validity/stakes.py --tables 400 --seed 1

``stakes.csv`` has a line per agent, softness of choice and flaw: the share of tables
that pass the gate; of those, how often the intervals of slope and intercept hold those of the same
logit in 200,000 cases with the mean of very many reports as the belief, and that of the slope
excludes 1; of all, how often the intervals of both regrets (of one report: its bound) hold the true
ones. 60 cases, five levels, one answer each,
orders balanced. Table t of line l draws from the seed [seed, l, t]. One core needs about ten
minutes for 400 tables.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats

from coherence.checks.level_rows import logit
from coherence.checks.stakes import stakes_estimates

RESULTS = Path(__file__).parent / "stakes.csv"
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
MANY = 200_000
NAMES = ("slope", "intercept", "regret_stated", "regret_exact")
Floats = np.ndarray


@dataclass(frozen=True)
class Flaw:
    """What stands between the belief and the answers."""

    name: str = "none"
    position: float = 0.0  # how often the option that is named first is taken
    noise: float = 0.0  # standard deviation of reports at a belief of one half
    n_reports: int = 1
    clipped: bool = False  # normal noise cut off at 0 and 1; otherwise beta with the belief as mean


NONE, POSITION = Flaw(), Flaw("position .2", position=0.2)
ONE = Flaw("reports .1 x 1", noise=0.1)
NOISY = (
    Flaw("reports .1 x 2", noise=0.1, n_reports=2),
    Flaw("reports .1 x 3", noise=0.1, n_reports=3),
    Flaw("reports .2 x 2", noise=0.2, n_reports=2),
    Flaw("reports .2 x 3", noise=0.2, n_reports=3),
    Flaw("clipped reports .1 x 3", noise=0.1, n_reports=3, clipped=True),
    Flaw("clipped reports .2 x 3", noise=0.2, n_reports=3, clipped=True),
)
ACTS_FROM: dict[str, Callable[[Floats], Floats]] = {
    "coherent": lambda level: level,
    "ignores the stakes": lambda level: np.full(len(level), 0.5),
    "averse to losses": lambda level: 2 * level / (1 + level),
}
BY_SOMETHING_ELSE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "always acts": lambda exact, first: np.ones(len(first)),
    "the first in 95%": lambda exact, first: np.where(first > 0, 0.95, 0.05),
    "a coin": lambda exact, first: np.full(len(first), 0.5),
}
LINES: list[tuple[str, float, Flaw]] = [
    *(("coherent", 20.0, flaw) for flaw in (NONE, POSITION, ONE, *NOISY)),
    *(("ignores the stakes", 20.0, flaw) for flaw in (NONE, POSITION, NOISY[2], NOISY[3])),
    *(("averse to losses", 20.0, flaw) for flaw in (NONE, POSITION, NOISY[3], NOISY[5])),
    *((agent, 8.0, NONE) for agent in ACTS_FROM),
    *((agent, math.inf, NONE) for agent in ACTS_FROM),
    ("coherent", 8.0, NOISY[3]),
    *((agent, math.nan, NONE) for agent in BY_SOMETHING_ELSE),
]


def beliefs(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw stated beliefs and exact posteriors, which differ by what is not said."""
    odds = rng.normal(0.0, 1.3, n)
    return 1 / (1 + np.exp(-odds - rng.normal(0.0, 0.9, n))), 1 / (1 + np.exp(-odds))


def chances(
    agent: str,
    slope: float,
    flaw: Flaw,
    belief: Floats,
    exact: Floats,
    level: Floats,
    first: Floats,
) -> Floats:
    """Return the probability of acting in each question."""
    if agent in BY_SOMETHING_ELSE:
        return BY_SOMETHING_ELSE[agent](exact, first)
    away = belief - ACTS_FROM[agent](level)
    acts = (away > 0) * 1.0 if math.isinf(slope) else 1 / (1 + np.exp(-slope * away))
    return (1 - flaw.position) * acts + flaw.position * (first > 0)


def reports(flaw: Flaw, belief: Floats, rng: np.random.Generator) -> Floats:
    """Draw the reports of each case, shape (n_cases, n_reports)."""
    shape = (len(belief), flaw.n_reports)
    if flaw.noise == 0:
        return np.tile(belief[:, None], shape[1])
    if flaw.clipped:
        return np.clip(belief[:, None] + flaw.noise * rng.normal(size=shape), 0, 1)
    size = 1 / (4 * flaw.noise**2) - 1
    return rng.beta(size * belief[:, None], size * (1 - belief[:, None]), size=shape)


def mean_report(flaw: Flaw, belief: Floats) -> Floats:
    """Return the mean of very many reports."""
    if not flaw.clipped:
        return belief
    low, high = -belief / flaw.noise, (1 - belief) / flaw.noise
    inside = belief * (stats.norm.cdf(high) - stats.norm.cdf(low))
    return inside + flaw.noise * (stats.norm.pdf(low) - stats.norm.pdf(high)) + stats.norm.sf(high)


@cache
def truths(agent: str, slope: float, flaw: Flaw) -> tuple[float, ...]:
    """Return what is estimated, from very many cases."""
    rng = np.random.default_rng(0)
    belief, exact = beliefs(MANY, rng)
    case, level = np.repeat(np.arange(MANY), len(LEVELS)), np.tile(LEVELS, MANY)
    first = rng.choice([-1.0, 1.0], len(case))
    acts = chances(agent, slope, flaw, belief[case], exact[case], level, first)
    stated = mean_report(flaw, belief)[case]
    line = (math.nan, math.nan)
    if agent in ACTS_FROM:
        columns = np.column_stack([np.ones(len(case)), level - 0.5, stated - 0.5, first])
        constant, by_level, by_belief, _ = logit(columns, acts, None)
        rise = -by_level / by_belief
        line = (rise, 0.5 - constant / by_belief - 0.5 * rise)
    regrets = [
        float((np.maximum(known - level, 0) - acts * (known - level)).mean())
        for known in (stated, exact[case])
    ]
    return (*line, *regrets)


def study(agent: str, slope: float, flaw: Flaw, n: int, seed: list[int]) -> list[float]:
    """Estimate one table: whether it passes, then each estimate and whether its interval holds."""
    rng = np.random.default_rng(seed)
    belief, exact = beliefs(n, rng)
    case, level = np.repeat(np.arange(n), len(LEVELS)), np.tile(LEVELS, n)
    first = np.where((case + np.tile(range(5), n)) % 2, -1.0, 1.0)
    acts = rng.random(len(case)) < chances(
        agent, slope, flaw, belief[case], exact[case], level, first
    )
    said = reports(flaw, belief, rng)
    told = pd.DataFrame({"context": np.repeat(np.arange(n), said.shape[1]), "p": said.ravel()})
    chosen = pd.DataFrame({"context": case, "level": level, "order": first, "action": acts})
    chosen["order"] = np.where(first > 0, "act", "pass")
    chosen["action"] = np.where(acts, "act", "pass")
    rows = pd.concat([told, chosen], ignore_index=True)
    results = stakes_estimates(
        "p",
        "action",
        "level",
        data=rows.assign(exact=exact[rows["context"]]),
        exact="exact",
        order="order",
        context="context",
        computed=flaw.noise == 0,
    )
    by_name = {result.check.partition(":")[2]: result for result in results}
    outcome = [float(not math.isnan(by_name["slope"].statistic))]
    for name, true in zip(NAMES, truths(agent, slope, flaw), strict=True):
        result = by_name[name]
        interval = result.interval
        outcome.append(result.statistic)
        if bound := result.settings.get("at_most"):
            outcome.append(float(true <= bound))
        else:
            outcome.append(float(interval.low <= true <= interval.high) if interval else math.nan)
    slope = by_name["slope"]
    return [*outcome, float(slope.low > 1 or slope.high < 1) if slope.interval else math.nan]


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    records: list[dict[str, Any]] = []
    for number, (agent, slope, flaw) in enumerate(LINES):
        seeds = [[args.seed, number, drawn] for drawn in range(args.tables)]
        true = truths(agent, slope, flaw)
        outcomes = np.array(
            Parallel(n_jobs=args.jobs)(
                delayed(study)(agent, slope, flaw, 60, seed) for seed in seeds
            )
        )
        record: dict[str, Any] = {"agent": agent, "slope_of_choice": slope, "flaw": flaw.name}
        record["passed"] = outcomes[:, 0].mean()
        for at, name in enumerate(NAMES):
            estimates, held = outcomes[:, 1 + 2 * at], outcomes[:, 2 + 2 * at]
            known, given = ~np.isnan(estimates), ~np.isnan(held)
            record[name] = true[at]
            record[f"{name}_mean"] = estimates[known].mean() if known.any() else math.nan
            record[f"{name}_covered"] = held[given].mean() if given.any() else math.nan
            record[f"{name}_given"] = given.mean()
        excludes = outcomes[~np.isnan(outcomes[:, -1]), -1]
        record["slope_excludes_1"] = excludes.mean() if len(excludes) else math.nan
        records.append(record)
        print(" ".join(str(value)[:7] for value in record.values()), flush=True)
    pd.DataFrame(records).assign(n_tables=args.tables, seed=args.seed).round(4).to_csv(
        args.results, index=False
    )


if __name__ == "__main__":
    main()
