"""Simulate the intervals of the mixing battery and its tests of independence: how often they hold.

    python benchmarks/validity/mixing.py --sessions 1000

``mixing_intervals.csv`` has a line per agent, number of draws per condition and
quantity: the total, an experiment, or the loss of a measure, all corrected.
``mixing_tests.csv`` counts rejections at .05. Session number s of a cell draws from
the seed [seed, cell, s]. ``--page docs/batteries.md`` renders a short form of both between the
page's markers. One core needs about six minutes.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import special, stats

from coherence.batteries import expected_answers
from coherence.batteries.mixing.answers import Counts, check_answers, count_checked
from coherence.batteries.mixing.design import EXPERIMENTS, PARTS
from coherence.batteries.mixing.losses import Measure, measures_of
from coherence.batteries.mixing.scores import (
    Estimate,
    corrected_points,
    draw_dependence,
    estimate,
    flip_dependence,
    score_interval,
)
from coherence.result import rejects

HERE = Path(__file__).parent
INTERVALS, TESTS = HERE / "mixing_intervals.csv", HERE / "mixing_tests.csv"
DRAWS = (20, 100, 400)
RATES = np.tile([0.1, 0.5, 0.9], 7)  # of the 21 conditions of an independence test
ALTERNATION = (0.0, -0.05, -0.1)  # correlation of an outcome with the one before
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
            sum(map(corrected_points, counting)),
            *score_interval(counting),
        )
    for part, pairs in estimates.items():
        summary |= {
            f"{PARTS[part].title}: {measure.name}": (estimated.loss, *estimated.interval)
            for measure, estimated in pairs
        }
    return summary


def session(
    parts: dict[str, Counts], measures: dict[str, list[Measure]], n_draws: int, seed: list[int]
) -> Session:
    """Draw and score one session."""
    rng = np.random.default_rng(seed)
    estimates = {}
    for name, counts in parts.items():
        # The last of three rates may miss 0 by a rounding error.
        chances = np.maximum(counts.weights, 0)
        drawn = rng.multinomial(n_draws, chances / chances.sum(axis=1, keepdims=True)).astype(float)
        sampled = replace(counts, weights=drawn, exact=False)
        estimates[name] = list(
            zip(measures[name], estimate(sampled, measures[name], N_RESAMPLES, rng), strict=True)
        )
    return summed_up(estimates)


def intervals(
    agent: str, n_draws: int, sessions: int, seed: int, parallel: Parallel
) -> list[dict[str, object]]:
    """Return a line per quantity."""
    (parts,) = count_checked(check_answers(AGENTS[agent]())).values()
    measures = {name: measures_of(counts) for name, counts in parts.items()}
    exact = {
        name: list(
            zip(of_part, estimate(parts[name], of_part, 1, np.random.default_rng(0)), strict=True)
        )
        for name, of_part in measures.items()
    }
    truth = summed_up(exact)
    cell = 10 * DRAWS.index(n_draws) + list(AGENTS).index(agent)
    drawn = parallel(
        delayed(session)(parts, measures, n_draws, [seed, cell, number])
        for number in range(sessions)
    )
    rows: list[dict[str, object]] = []
    for quantity, (true, _, _) in truth.items():
        value, low, high = np.array([summary[quantity] for summary in drawn]).T
        rows.append(
            {
                "agent": agent,
                "draws": n_draws,
                "quantity": quantity,
                "truth": round(true, 6),
                "covered": int(((low <= true + 1e-9) & (true - 1e-9 <= high)).sum()),
                "no_width": int((high - low < 1e-9).sum()),
                "bias": round(float(value.mean() - true), 5),
                "sd": round(float(value.std(ddof=1)), 5),
                "half_width": round(float((high - low).mean() / 2), 5),
                "sessions": sessions,
                "seed": seed,
            }
        )
    return rows


def pvalues(correlation: float, n_draws: int, seed: list[int]) -> tuple[float, float]:
    """Return the p-values of both tests where outcomes have this correlation with the last."""
    rng = np.random.default_rng(seed)
    chance = rng.random((n_draws, 2, RATES.size))
    flips = np.zeros((n_draws, RATES.size), dtype=int)
    flips[0] = chance[0, 0] < RATES
    for number in range(1, n_draws):
        flips[number] = chance[number, 0] < RATES + correlation * (flips[number - 1] - RATES)
    first = (rng.random((n_draws, RATES.size)) < RATES).astype(int)
    second = (chance[:, 1] < RATES + correlation * (first - RATES)).astype(int)
    pairs = np.stack(
        [((2 * first + second) == outcome).sum(axis=0) for outcome in range(4)], axis=1
    ).astype(float)
    return flip_dependence(pairs)[2], draw_dependence(flips.T.tolist())[2]


def tests(
    correlation: float, n_draws: int, sessions: int, seed: int, parallel: Parallel
) -> list[dict[str, object]]:
    """Return a line per test of independence."""
    cell = 1000 + 10 * DRAWS.index(n_draws) + ALTERNATION.index(correlation)
    drawn = np.array(
        parallel(
            delayed(pvalues)(correlation, n_draws, [seed, cell, number])
            for number in range(sessions)
        )
    )
    names = ("second flip given the first", "flip given the draw before")
    common = {"correlation": correlation, "draws": n_draws}
    return [
        common
        | {"test": name, "rejected": sum(map(rejects, row)), "sessions": sessions, "seed": seed}
        for name, row in zip(names, drawn.T, strict=True)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def page() -> str:
    """Return what the page of the batteries says of both tables."""
    table, rejected = pd.read_csv(INTERVALS), pd.read_csv(TESTS)
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


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000, help="sessions per cell")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--page", type=Path, help="render the results into this page, between its markers, and stop"
    )
    options = parser.parse_args()
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head, tail = text.split("<!-- figures -->")[0], text.split("<!-- end of figures -->")[1]
        options.page.write_text(
            f"{head}<!-- figures -->\n\n{page()}\n\n<!-- end of figures -->{tail}", encoding="utf-8"
        )
        return
    rows, counted = [], []
    with Parallel(n_jobs=options.jobs, batch_size=25) as parallel:
        for agent in AGENTS:
            for n_draws in DRAWS:
                rows += intervals(agent, n_draws, options.sessions, options.seed, parallel)
                print(
                    agent,
                    n_draws,
                    *(
                        f"{row['quantity']} {row['covered'] / options.sessions:.3f}"
                        for row in rows[-19:-13]
                    ),
                    sep="  ",
                    flush=True,
                )
        for correlation in ALTERNATION:
            for n_draws in DRAWS:
                counted += tests(correlation, n_draws, options.sessions, options.seed, parallel)
                print(
                    correlation,
                    n_draws,
                    *(row["rejected"] / options.sessions for row in counted[-2:]),
                    flush=True,
                )
    write(INTERVALS, rows)
    write(TESTS, counted)
    low = [
        row
        for row in rows
        if ":" not in str(row["quantity"])
        and row["covered"] < stats.binom.ppf(0.001, options.sessions, 0.93)
    ]
    cells = [(row["agent"], row["draws"], row["quantity"]) for row in low]
    print(f"totals and experiments clearly below .93: {cells or 'none'}")


if __name__ == "__main__":
    main()
