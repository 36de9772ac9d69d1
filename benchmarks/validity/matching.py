"""Simulate matching probabilities of agents that act on what they say, or on more.

    python benchmarks/validity/matching.py --tables 400 --seed 1

``matching.csv`` has a line per agent, slope, flaw and number of cases: the share of
tables that pass the gate, and that are given a share; of those, how often the intervals of the
share of the exact posterior and of the mean difference hold the true ones, their means, and how
often the interval of the share excludes 0 (of agents that act on what they say a false weight). Ten
chances a case, one answer each, orders and frames balanced within the case. One core needs about
fifteen minutes for 400 tables.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from study import Cell, Line, held, study

from coherence.checks.matching import matching_estimates

LEVELS = (np.arange(10) + 0.5) / 10
Floats = np.ndarray


@dataclass(frozen=True)
class Flaw:
    """What stands between the belief acted on and the answers."""

    name: str
    position: float = 0.0  # how often the option that is named first is taken
    lapses: float = 0.0  # how often either is
    aversion: float = 0.0  # how much less than its chance an event or its complement is worth
    noise: float = 0.0  # standard deviation of reports
    n_reports: int = 1


FLAWS = (
    Flaw("none"),
    Flaw("position .2", position=0.2),
    Flaw("lapses .2", lapses=0.2),
    Flaw("aversion .1", aversion=0.1),
    Flaw("reports .1 x 3", noise=0.1, n_reports=3),
    Flaw("reports .1 x 2", noise=0.1, n_reports=2),
    Flaw("all", position=0.1, lapses=0.1, aversion=0.1, noise=0.1, n_reports=3),
)
ACTED_ON: dict[str, tuple[float, Callable[[Floats, Floats], Floats]]] = {
    "what it says": (0.0, lambda p, exact: p),
    "what it says + .1": (0.0, lambda p, exact: p + 0.1),
    "half of what it knows": (0.5, lambda p, exact: p + 0.5 * (exact - p)),
}
BEYOND: dict[str, tuple[float, Callable[[Floats, Floats], Floats]]] = {
    "one half whatever it says": (math.nan, lambda p, exact: np.full(len(p), 0.5)),
    "the opposite": (math.nan, lambda p, exact: 1 - p),
    "a distorted chance": (0.0, lambda p, exact: np.exp(-((-np.log(p)) ** 0.65))),
}
"""What has no share, or none that is linear: Prelec's weighting of what it says."""
UNANSWERING: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "always the event": lambda p, first, level: np.ones(len(p)),
    "always what is named first": lambda p, first, level: (first > 0) * 1.0,
    "the first in 95%": lambda p, first, level: np.where(first > 0, 0.95, 0.05),
    "the event as often as it believes": lambda p, first, level: p,
    "a coin": lambda p, first, level: np.full(len(p), 0.5),
}
"""Agents that do not answer the stated chance; whatever they choose has nothing to do with it."""


def beliefs(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw stated beliefs and exact posteriors, which differ by what is not said."""
    odds = rng.normal(0.0, 1.3, n)
    return 1 / (1 + np.exp(-odds - rng.normal(0.0, 0.9, n))), 1 / (1 + np.exp(-odds))


def table(
    p: Floats, exact: Floats, chance: Callable[..., Floats], flaw: Flaw, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw the answers of one table; `chance` gives that of the event's side."""
    n = len(p)
    case, level = np.repeat(np.arange(n), len(LEVELS)), np.tile(LEVELS, n)
    cell = (np.tile(np.arange(len(LEVELS)), n) + np.repeat(rng.integers(4, size=n), 10)) % 4
    first, frame = np.where(cell % 2, -1.0, 1.0), np.where(cell // 2, -1.0, 1.0)
    for_event = chance(case, level, first, frame)
    share = 1 - flaw.position - flaw.lapses
    likely = share * for_event + flaw.position * (first > 0) + flaw.lapses / 2
    chose = rng.random(len(case)) < likely
    chosen = pd.DataFrame(
        {
            "context": case,
            "level": np.where(frame < 0, 1 - level, level),
            "frame": np.where(frame < 0, "complement", "event"),
            "order": np.where(first * frame > 0, "event", "lottery"),
            "action": np.where(chose == (frame > 0), "event", "lottery"),
        }
    )
    reports = np.repeat(p, flaw.n_reports)
    reports = np.clip(reports + flaw.noise * rng.normal(size=len(reports)), 0, 1)
    told = pd.DataFrame({"context": np.repeat(np.arange(n), flaw.n_reports), "p": reports})
    both = pd.concat([told, chosen], ignore_index=True)
    return both.assign(exact=exact[both["context"]])


def estimates(rows: pd.DataFrame, flaw: Flaw) -> dict[str, Any]:
    """Return the results of a table by name."""
    found = matching_estimates(
        "p",
        "action",
        "level",
        data=rows,
        exact="exact",
        frame="frame",
        order="order",
        context="context",
        computed=flaw.noise == 0,
    )
    return {result.check.partition(":")[2]: result for result in found}


def answered(acted_on: str, slope: float, flaw: Flaw, n: int, seed: list[int]) -> list[float]:
    """Estimate one table of an agent that answers the stated chance."""
    rng = np.random.default_rng(seed)
    share, belief = (ACTED_ON | BEYOND)[acted_on]
    p, exact = beliefs(n, rng)
    acted = belief(p, exact)

    def chance(case: Floats, level: Floats, first: Floats, frame: Floats) -> Floats:
        return 1 / (1 + np.exp(-slope * (acted[case] - flaw.aversion * frame - level)))

    found = estimates(table(p, exact, chance, flaw, rng), flaw)
    if math.isnan(found["difference"].statistic):
        return [0.0] + [math.nan] * 5
    # Of the mean over all cases 0, by symmetry, but for two.
    truth = {"what it says + .1": 0.1, "a distorted chance": _distortion()}.get(acted_on, 0.0)
    values = []
    for name, true in (("share", share), ("difference", truth)):
        values += [held(found[name].interval, true), found[name].statistic]
    excludes = found["share"].interval
    return [1.0, *values, float(excludes.low > 0 or excludes.high < 0) if excludes else math.nan]


@cache
def _distortion() -> float:
    """Return the mean of what is acted on minus stated, of very many cases."""
    p, exact = beliefs(1_000_000, np.random.default_rng(0))
    return float((BEYOND["a distorted chance"][1](p, exact) - p).mean())


def unanswered(kind: str, n: int, seed: list[int]) -> list[float]:
    """Estimate one table of an agent that does not answer the stated chance."""
    rng, flaw = np.random.default_rng(seed), FLAWS[0]
    p, exact = beliefs(n, rng)

    def chance(case: Floats, level: Floats, first: Floats, frame: Floats) -> Floats:
        return UNANSWERING[kind](p[case], first, level)

    found = estimates(table(p, exact, chance, flaw, rng), flaw)
    return [float(not math.isnan(found["difference"].statistic))] + [math.nan] * 5


def read(found: list[list[float]]) -> list[Line]:
    """Return the share of tables that pass, that have a share, and means of those that pass."""
    columns = ["share_covered", "share", "difference_covered", "difference", "share_excludes_0"]
    outcomes = np.array(found)
    line = {"passed": outcomes[:, 0].mean(), "share_given": (~np.isnan(outcomes[:, 2])).mean()}
    given = pd.DataFrame(outcomes[outcomes[:, 0] == 1, 1:], columns=columns)
    return [line | given.mean().to_dict()]


def cell(kind: str, slope: float, flaw: Flaw, n: int) -> Cell:
    """Return a line of the table."""
    draw = partial(unanswered, kind, n)
    if kind not in UNANSWERING:
        draw = partial(answered, kind, slope, flaw, n)
    return Cell({"acted_on": kind, "slope": slope, "flaw": flaw.name, "n_cases": n}, draw)


if __name__ == "__main__":
    cells = [cell(*each, 60) for each in itertools.product(ACTED_ON, (8.0, 20.0), FLAWS)]
    cells += [cell(kind, math.nan, FLAWS[0], n) for kind in UNANSWERING for n in (20, 60)]
    cells += [cell(*each, 60) for each in itertools.product(BEYOND, (8.0, 20.0), FLAWS[:1])]
    study("matching", cells, read, tables=400)
