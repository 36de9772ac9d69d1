"""Simulate the intervals of the mixing battery and its test of independence: how often they hold.

    python benchmarks/validity/mixing.py --sessions 1000

``mixing_intervals.csv`` has a line per agent, number of draws per condition and
quantity: the total, an experiment, or the loss of a measure, all corrected.
``mixing_tests.csv`` counts rejections at .05. ``--page docs/batteries.md`` renders a short form of
both between the page's markers. One core needs about six minutes.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special
from study import Cell, Line, read_table, study

from coherence.batteries import expected_answers
from coherence.batteries.mixing.design import EXPERIMENTS, PARTS, check_answers, count_checked
from coherence.batteries.mixing.losses import Measure, measures_of
from coherence.batteries.mixing.scores import (
    Estimate,
    estimate,
    flip_dependence,
    score_interval,
)
from coherence.result import rejects

DRAWS = (20, 100, 400)
RATES = np.tile([0.1, 0.5, 0.9], 7)  # of the 21 conditions of an independence test
ALTERNATION = (0.0, -0.05, -0.1)  # correlation of the flips of an answer
N_RESAMPLES = 200  # the standard deviation of so many is known to a twentieth


def beta_answers() -> pd.DataFrame:
    """Return exact rates between those of the ideal and of the steep agent.

    Some words and places are preferred.
    """
    answers = expected_answers("ideal")
    first = answers["item"].str.split("/").str[0]
    # Two outcomes: the cumulative Beta(2, 2) distribution at the best rate. Three: the same,
    # brought back to a sum of 1.
    shares = special.betainc(2, 2, answers["probability"].clip(0, 1))
    condition = [answers[name] for name in ("experiment", "p", "item", "order")]
    shares = shares / shares.groupby(condition).transform("sum")
    flips = answers["experiment"] == "two_flips"
    ones = special.betainc(2, 2, answers["p"])
    flipped = answers["answer"].str.split(" ")
    both = np.prod([np.where(flipped.str[side] == "1", ones, 1 - ones) for side in (0, -1)], axis=0)
    # Pairs of words prefer one at the quantiles of Beta(8, 8), and the word listed first by .05.
    words = answers["experiment"] == "words"
    number = pd.factorize(answers["item"])[0]
    liking = special.betaincinv(8, 8, (np.clip(number, 1, 11) - 0.5) / 11) + np.where(
        answers["order"] == "forward", 0.05, -0.05
    )
    chosen = np.where(answers["answer"] == first, liking, 1 - liking)
    return answers.assign(
        model="beta", probability=np.where(words, chosen, np.where(flips, both, shares))
    )


AGENTS: dict[str, Callable[[], pd.DataFrame]] = {
    name: (lambda name=name: expected_answers(name))
    for name in ("ideal", "literal", "steep", "argmax", "first", "uniform")
}
AGENTS["beta"] = beta_answers

Session = dict[str, tuple[float, float, float]]


def summed_up(estimates: dict[str, list[tuple[Measure, Estimate]]]) -> Session:
    """Return the corrected value of every quantity with the ends of its interval."""
    summary: Session = {}
    for number, title in {0: "total", **EXPERIMENTS}.items():
        counting = [
            estimated
            for part, pairs in estimates.items()
            if number in (0, PARTS[part].number)
            for _, estimated in pairs
        ]
        summary[title if number == 0 else f"{number} {title}"] = (
            sum(each.score for each in counting),
            *score_interval(counting),
        )
    for part, pairs in estimates.items():
        summary |= {
            f"{PARTS[part].title}: {measure.name}": (estimated.loss, *estimated.interval)
            for measure, estimated in pairs
        }
    return summary


@cache
def known(agent: str) -> tuple[dict[str, tuple[Any, list[Measure]]], Session]:
    """Return the parts of an agent with their measures, and its true values."""
    (counted,) = count_checked(check_answers(AGENTS[agent]())).values()
    parts = {name: (counts, measures_of(counts)) for name, counts in counted.items()}
    exact = {
        name: list(zip(of, estimate(counts, of, 1, np.random.default_rng(0)), strict=True))
        for name, (counts, of) in parts.items()
    }
    return parts, summed_up(exact)


def session(agent: str, n_draws: int, seed: list[int]) -> tuple[Session, Session]:
    """Draw and score one session; beside it the true values."""
    rng, estimates = np.random.default_rng(seed), {}
    parts, truth = known(agent)
    for name, (counts, measures) in parts.items():
        # The last of three rates may miss 0 by a rounding error.
        chances = np.maximum(counts.weights, 0)
        drawn = rng.multinomial(n_draws, chances / chances.sum(axis=1, keepdims=True)).astype(float)
        sampled = replace(counts, weights=drawn, exact=False)
        found = estimate(sampled, measures, N_RESAMPLES, rng)
        estimates[name] = list(zip(measures, found, strict=True))
    return summed_up(estimates), truth


def read_intervals(found: list[tuple[Session, Session]]) -> list[Line]:
    """Return a line per quantity."""
    lines = []
    for quantity, (true, _, _) in found[0][1].items():
        value, low, high = np.array([summary[quantity] for summary, _ in found]).T
        covered = (low <= true + 1e-9) & (true - 1e-9 <= high)
        lines.append(
            {
                "quantity": quantity,
                "truth": round(true, 6),
                "covered": int(covered.sum()),
                "no_width": int((high - low < 1e-9).sum()),
                "bias": round(float(value.mean() - true), 5),
                "sd": round(float(value.std(ddof=1)), 5),
                "half_width": round(float((high - low).mean() / 2), 5),
            }
        )
    return lines


def pvalue(correlation: float, n_draws: int, seed: list[int]) -> float:
    """Return the p-value of the test where a second flip has this correlation with the first."""
    rng = np.random.default_rng(seed)
    chance = rng.random((n_draws, 2, RATES.size))
    first = (rng.random((n_draws, RATES.size)) < RATES).astype(int)
    second = (chance[:, 1] < RATES + correlation * (first - RATES)).astype(int)
    pairs = np.stack(
        [((2 * first + second) == outcome).sum(axis=0) for outcome in range(4)], axis=1
    ).astype(float)
    return flip_dependence(pairs)[2]


def read_tests(found: list[float]) -> list[Line]:
    """Return how often the test of independence rejects."""
    return [{"test": "second flip given the first", "rejected": sum(map(rejects, found))}]


def page() -> str:
    """Return what the page of the batteries says of both tables."""
    table, rejected = read_table("mixing_intervals"), read_table("mixing_tests")
    table = table.assign(held=table["covered"] / table["sessions"])
    kinds = {
        "totals": table["quantity"] == "total",
        "experiments": table["quantity"].str[0].str.isdigit(),
    }
    kinds["single measures"] = ~(kinds["totals"] | kinds["experiments"])
    held = ", ".join(f"{kind} {table.loc[rows, 'held'].min():.3f}" for kind, rows in kinds.items())
    biases = ", ".join(
        f"{cell['bias'].min():+.1f} to {cell['bias'].max():+.1f} points with {draws}"
        for draws, cell in table[kinds["totals"]].groupby("draws")
    )
    power = rejected[rejected["correlation"] == -0.05]
    power = (power["rejected"] / power["sessions"]).groupby(power["draws"]).min()
    found = ", ".join(f"{share:.2f} with {draws}" for draws, share in power.items())
    return (
        f"In {table['sessions'].max()} simulated sessions of each of {table['agent'].nunique()} "
        f"agents 95% intervals hold the true score at least so often: {held}. By answers a "
        f"condition, the corrected total is off by {biases}, and a correlation of -.05 between "
        f"flips is found in {found}."
    )


if __name__ == "__main__":
    if "--page" in sys.argv:
        path = Path(sys.argv[-1])
        text = path.read_text(encoding="utf-8")
        head, tail = text.split("<!-- figures -->")[0], text.split("<!-- end of figures -->")[1]
        figures = f"<!-- figures -->\n\n{page()}\n\n<!-- end of figures -->"
        path.write_text(f"{head}{figures}{tail}", encoding="utf-8")
        sys.exit()
    sessions = [
        Cell({"agent": agent, "draws": n}, partial(session, agent, n), key=(10 * size + place,))
        for place, agent in enumerate(AGENTS)
        for size, n in enumerate(DRAWS)
    ]
    flips = [
        Cell(
            {"correlation": correlation, "draws": n},
            partial(pvalue, correlation, n),
            key=(1000 + 10 * size + place,),
        )
        for place, correlation in enumerate(ALTERNATION)
        for size, n in enumerate(DRAWS)
    ]
    of_all = {"tables": 1000, "unit": "sessions", "count": "sessions", "seed": 2026, "digits": 6}
    study("mixing_intervals", sessions, read_intervals, **of_all)
    study("mixing_tests", flips, read_tests, **of_all)
