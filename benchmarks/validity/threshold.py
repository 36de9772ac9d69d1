"""Simulate where choices change with the belief, and what `threshold_estimates` says of it.

    python benchmarks/validity/threshold.py --tables 100 --seed 1

``threshold.csv`` has a line per design and size: the share of tables with a number, with a bound,
and that are wrong (the interval does not hold the belief at which both actions are as frequent, or
a bound does not), and the median width. Beliefs are uniform on .05 to .95 in steps of .05 where
nothing else is said. Of three actions one end is looked at.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from study import Cell, Line, study

from coherence.checks.threshold import threshold_estimates

SIZES = ((40, 1), (40, 5), (80, 5), (200, 1), (200, 5))  # cases, answers of each


@dataclass(frozen=True)
class Design:
    """An agent, and how it states what it believes."""

    name: str
    at: float = 0.5  # belief at which both actions are as frequent
    steepness: float = 20.0  # of the logit of choice; 0: choices do not move
    low: float = 0.05  # beliefs lie between
    high: float = 0.95
    grid: float = 0.05  # beliefs and reports lie on; 0 for none
    noise: float = 0.0  # standard deviation of a report
    taste: float = 0.0  # standard deviation of the threshold between cases
    of_group: float = 0.0  # between groups of four cases, which are named
    third: float | None = None  # of three actions, the other belief at which choices change


DESIGNS = (
    Design("steep"),
    Design("steep, at .7", at=0.7),
    Design("very steep", steepness=80.0),
    Design("soft", steepness=8.0),
    Design("very soft", steepness=4.0),
    Design("no grid", grid=0.0),
    Design("heaps of .2", grid=0.2),
    Design("tastes .15", taste=0.15),
    Design("groups of four, .1", of_group=0.1),
    Design("noise .1", noise=0.1),
    Design("noise .1, at .7", at=0.7, noise=0.1),
    Design("noise .1, beliefs .3 to .7, at .6", at=0.6, noise=0.1, low=0.3, high=0.7),
    Design("beliefs .05 to .5, at .7", at=0.7, high=0.5),
    Design("beliefs .05 to .5, at .6, soft", at=0.6, steepness=8.0, high=0.5),
    Design("beliefs .5 to .95, at .3", at=0.3, low=0.5),
    Design("choices do not move", steepness=0.0),
    Design("three actions, the lowest", at=0.35, third=0.65),
    Design("three actions, the highest", at=0.65, third=0.35),
    Design("three actions, the lowest, soft", at=0.35, third=0.65, steepness=8.0),
    Design("three actions, the lowest, noise .1", at=0.35, third=0.65, noise=0.1),
    Design("three actions, the highest, near", at=0.55, third=0.45),
)


def table(design: Design, n: int, n_reps: int, seed: list[int]) -> tuple[str, bool, float]:
    """Estimate one table: what is said, whether it is wrong, and the width of the interval."""
    rng = np.random.default_rng(seed)
    case, group = np.repeat(np.arange(n), n_reps), np.arange(n) // 4

    def on_grid(values: Any) -> Any:
        return np.round(values / design.grid) * design.grid if design.grid else values

    belief = on_grid(rng.uniform(design.low, design.high, n))
    own = design.at + design.taste * rng.normal(size=n)
    own = own + design.of_group * rng.normal(size=group.max() + 1)[group]
    said = np.clip(on_grid(belief[case] + design.noise * rng.normal(size=case.size)), 0, 1)
    draw = rng.random(case.size)
    acts = [draw < expit(design.steepness * (belief - own)[case])]
    if design.third is not None:  # the action between has what lies between both
        acts.append(
            draw < expit(design.steepness * (belief - own + design.at - design.third)[case])
        )
    named = {"group": group[case]} if design.of_group else {}
    chosen = np.sum(acts, axis=0)
    results = threshold_estimates(said, np.array(["a", "b", "c"])[chosen], context=case, **named)
    result = results[design.third is not None and design.third < design.at]
    true = design.at if design.steepness else np.nan
    if result.interval is not None:
        wrong = not result.interval.low - 1e-9 <= true <= result.interval.high + 1e-9
        return "number", wrong, result.interval.high - result.interval.low
    for side in ("above", "below"):
        if side in result.settings:
            bound = result.settings[side]
            return "bound", not (true > bound if side == "above" else true < bound), np.nan
    return "", False, np.nan


def read(found: list[tuple[str, bool, float]]) -> list[Line]:
    """Return the shares of tables, and the median width."""
    kinds, wrong, width = map(np.array, zip(*found, strict=True))
    line = {kind: (kinds == kind).mean() for kind in ("number", "bound")}
    return [line | {"wrong": wrong.mean(), "width": pd.Series(width).median()}]


if __name__ == "__main__":
    cells = [
        Cell({"design": d.name, "n_cases": n, "n_reps": reps}, partial(table, d, n, reps))
        for d in DESIGNS
        for n, reps in SIZES
    ]
    study("threshold", cells, read)
