"""Simulate persons who judge the same cases: with and without saying that they are persons.

    python benchmarks/validity/persons.py --tables 400 --seed 1

``persons.csv`` has a line per panel, population, state and reading of the table: the
share of tables with p <= .05, the share whose interval holds the mean difference over persons, and
its mean width, of the tables that are tested at all. The state is the exact posterior or the
realised one. The readings are ``person``, and a person's case as context with the person as group,
which is run on a sixth of the tables. Populations and states of a panel are drawn from the same
seeds. One core needs about three minutes for 400 tables.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from study import Cell, Line, held, rejected, study

from coherence import sufficiency_test

PANELS = [
    (25, 40, 0.0),
    (30, 20, 0.0),
    (100, 12, 0.0),
    (12, 100, 0.0),
    (6, 60, 0.0),
    (60, 10, 1 / 3),
]
"""Cases, persons, share of cells that are missing."""
SHARE = 6  # of the tables that the second reading is run on, one in so many
KNOWN = {"exact": 0.4, "realised": 0.15}
"""Mean weight of the state, beside the stated belief, in choices that know of it."""
N_WORTH = 40  # tables that tell what a difference is worth
Floats = np.ndarray


def logistic(odds: Floats) -> Floats:
    """Return the probability of some log-odds."""
    return 1 / (1 + np.exp(-odds))


@dataclass(frozen=True)
class Drawn:
    """Rows of a panel."""

    person: Floats
    case: Floats
    belief: Floats
    action: Floats
    exact: Floats
    theta: Floats


def draw(
    n_cases: int, n_persons: int, missing: float, rng: np.random.Generator, *, kinds: bool
) -> tuple[Drawn, Floats]:
    """Draw a panel in which choices follow the stated beliefs, and what they follow them to.

    Persons differ in calibration, in how steeply choice follows belief, more so the better they
    tell cases apart, and in taste; cases have tastes of their own, and evidence that nobody says.
    With `kinds`, half of the persons know the cases and act on what they say, and the others
    neither know nor act on it.
    """
    said = 1.5 * rng.normal(size=n_cases)
    exact = logistic(said + rng.normal(size=n_cases))
    theta = (rng.random(n_cases) < exact).astype(int)
    person, case = (each.ravel() for each in np.indices((n_persons, n_cases)))
    noise = rng.normal(size=person.size)
    able = rng.normal(size=n_persons)[person]
    shift, taste = rng.normal(size=(2, n_persons))[:, person]
    if kinds:
        knows = person % 2 == 0
        belief = logistic(np.where(knows, said[case] + 0.3 * noise, 0.3 * said[case] + 1.2 * noise))
        drive = np.where(knows, 10 * (belief - 0.5), 0.0)
    else:
        belief = logistic(np.exp(0.3 * able) * said[case] + 0.4 * shift + 0.5 * noise)
        drive = (
            6 * np.exp(0.5 * able) * (belief - 0.5) + taste + 0.7 * rng.normal(size=n_cases)[case]
        )
    kept = rng.random(person.size) >= missing
    rows = Drawn(person, case, belief.round(2), np.array([]), exact[case], theta[case])
    return Drawn(*(each[kept] if each.size else each for each in vars(rows).values())), logistic(
        drive
    )[kept]


def chosen(
    rows: Drawn, follow: Floats, rng: np.random.Generator, *, weight: float, state: str
) -> Drawn:
    """Let choices know the state to a weight that differs between persons, from 0 to twice it."""
    weights = (2 * weight * rng.random(rows.person.max() + 1))[rows.person]
    known = rows.exact if state == "exact" else rows.theta
    share = (1 - weights) * follow + weights * known
    return Drawn(**{**vars(rows), "action": (rng.random(share.size) < share).astype(int)})


@cache
def worth(panel: tuple[int, int, float], *seed: int) -> float:
    """Return the difference between realised states that the weight of an exact one makes.

    The variance of the posterior over that of the realised state, at equal own belief: the
    difference of choices that are the posterior.
    """
    values, rng = [], np.random.default_rng(seed)
    for _ in range(N_WORTH):
        rows, _ = draw(*panel, rng, kinds=False)
        policy = np.stack([1 - rows.exact, rows.exact], axis=1)
        result = sufficiency_test(rows.belief, policy, exact=rows.exact, **_as_persons(rows))
        values.append(result.statistic)
    return float(np.mean(values))


def _as_persons(rows: Drawn) -> dict[str, Any]:
    return {"context": rows.case, "person": rows.person}


def _as_groups(rows: Drawn) -> dict[str, Any]:
    return {"context": rows.person * (rows.case.max() + 1) + rows.case, "group": rows.person}


READINGS: dict[str, Callable[[Drawn], dict[str, Any]]] = {
    "person": _as_persons,
    "cells, group=person": _as_groups,
}
POPULATIONS = ("tastes", "kinds", "knows")


def table(
    panel: tuple[int, int, float], population: str, state: str, seed: list[int]
) -> dict[str, tuple[float, float, float]]:
    """Return whether each reading rejects, whether its interval covers, and its width."""
    rng = np.random.default_rng(seed)
    rows, follow = draw(*panel, rng, kinds=population == "kinds")
    weight = KNOWN[state] if population == "knows" else 0.0
    rows = chosen(rows, follow, rng, weight=weight, state=state)
    truth = weight * (worth(panel, *seed[:2]) if state == "exact" and weight else 1.0)
    known = {"exact": rows.exact} if state == "exact" else {"truth": rows.theta}
    found = {}
    for name in tuple(READINGS)[: 1 if seed[-1] % SHARE else None]:
        options: dict[str, Any] = {**known, **READINGS[name](rows), "n_draws": 499, "rng": rng}
        result = sufficiency_test(rows.belief, rows.action, **options)
        of, p = result.interval, rejected(result.pvalue)
        found[name] = p, held(of, truth), math.nan if of is None else of.high - of.low
    return found


def read(found: list[dict[str, tuple[float, float, float]]]) -> list[Line]:
    """Return a line for each reading."""
    lines = []
    for name in READINGS:
        outcomes = np.array([each[name] for each in found if name in each])
        line = {"reading": name, "n_tested": int((~np.isnan(outcomes[:, 0])).sum())}
        for column, values in zip(("rejected", "covered", "width"), outcomes.T, strict=True):
            line[column] = float(np.nanmean(values)) if (~np.isnan(values)).any() else math.nan
        lines.append(line | {"n_tables": len(outcomes)})
    return lines


if __name__ == "__main__":
    cells = [
        Cell(
            dict(zip(("n_cases", "n_persons", "missing"), panel, strict=True))
            | {"population": population, "state": state},
            partial(table, panel, population, state),
            key=(number,),
        )
        for number, panel in enumerate(PANELS)
        for population in POPULATIONS
        for state in KNOWN
    ]
    study("persons", cells, read, tables=400)
