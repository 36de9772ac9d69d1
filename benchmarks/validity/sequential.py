"""Simulate looking as cases come in: five looks, evidence at will, a fixed test looked at often.

    PYTHONPATH=. python benchmarks/validity/sequential.py --tables 100 --seed 1

writes ``sequential.csv``: a line per agent, with the share of tables of 300 cases in
which each plan ever stopped (five looks at .05; evidence of 20) and the median case at which it did
(NaN where half never do). Of looks also how often the interval at the look that stopped, or at the
last one, holds the true difference. With ``every 20`` the rival runs on the same tables: the fixed
test from 40 cases on, after every 20 more, until p is at most .05. `given` is the share of tables
in which evidence from pairs is not refused. Five choices a case, or computed policies; 1,999 draws.
Table t of line l draws from the seed [seed, l, t]. One core needs about ten minutes.
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sufficiency import study, truths

from coherence import CheckResult, sequential_test, sufficiency_test

RESULTS = Path(__file__).with_suffix(".csv")
CASES, EVERY, ENOUGH = 300, 20, 20


@dataclass(frozen=True)
class Line:
    """An agent, the order in which its cases come, and what is known of their state."""

    agent: str
    order: str = "at random"
    weight: float = 0.0  # of what the exact posterior adds to the statement
    state: str = "exact"
    rival: bool = False
    holds: bool = True  # whether the null of the tests is true


LINES = (
    Line("continuous"),
    Line("steps of .05", rival=True),
    Line("steps of .05", state="theta"),
    Line("steps of .05", order="by belief"),
    Line("steps of .05, policies"),
    Line("states its posterior in steps of .05, policies"),
    Line("two beliefs"),
    Line("jump"),
    Line("greedy"),
    Line("three actions"),
    Line("five reports, noise .1"),
    Line("groups named", order="group by group"),
    Line("groups named", order="groups at random"),
    Line("groups not named", order="group by group", holds=False),
    Line("groups not named", order="groups at random", holds=False),
    Line("steps of .05", order="drift", holds=False),
    Line("steps of .05, policies", order="drift", holds=False),
    Line("one report, noise .1", holds=False),
    Line("grid", weight=0.2, rival=True, holds=False),
    Line("grid", weight=0.4, rival=True, holds=False),
    Line("grid", weight=0.4, state="theta", holds=False),
    Line("grid", weight=1.0, state="theta", holds=False),
    Line("turn", weight=0.4, holds=False),
    Line("three actions", weight=0.4, holds=False),
)


def coherent(line: Line, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw an agent that acts on what it says, but for tastes: belief, exact posterior, shares."""
    n = CASES
    odds, time, group = 1.5 * rng.normal(size=n), np.linspace(-1, 1, n), np.arange(n) // 10
    if line.order == "groups at random":
        group = rng.permutation(group)
    missed, liking = np.zeros((2, n))
    if line.agent.startswith("groups"):
        missed, liking = rng.normal(size=(2, n // 10))[:, group] * [[0.5], [1.0]]
    if line.order == "drift":  # cases get likelier, and the agent bolder
        missed, liking = time, time
    exact = expit(odds + missed)
    said = np.round(20 * expit(odds + 0.9 * rng.normal(size=n))) / 20
    if line.agent == "continuous":
        said = expit(odds + 0.9 * rng.normal(size=n))
    if line.agent == "two beliefs":
        said = np.where(said > 0.5, 0.7, 0.3)
    if line.agent == "jump":
        said = rng.integers(0, 21, n) / 20
        exact = np.clip(0.25 + 0.5 * (said > 0.5) + 0.1 * rng.normal(size=n), 0.01, 0.99)
    acted_on = said
    if line.agent.startswith("states its posterior"):
        acted_on, said = exact, np.round(20 * exact) / 20
    taste = 0.0 if line.agent.endswith("policies") else 0.6
    utility = 6 * (acted_on - 0.5) + liking + taste * rng.normal(size=n)
    if line.agent == "greedy":
        utility = np.where(said > 0.5, 3.0, -3.0)
    if line.agent == "jump":
        utility = np.where(said > 0.5, 1.7, -1.7)
    yes = expit(utility)
    share = np.column_stack([1 - yes, yes])
    if line.agent == "three actions":
        unsure = 0.5 - np.abs(said - 0.5)
        share = np.column_stack([share * (1 - unsure)[:, None], unsure])
    if line.order == "by belief":
        at = np.argsort(said, kind="stable")
        said, exact, share = said[at], exact[at], share[at]
    named = {"group": group} if line.agent == "groups named" else {}
    return {"belief": said, "exact": exact, "share": share, **named}


def draw(line: Line, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the rows of a table, as they come in."""
    if line.weight:
        said, exact, share = study(line.agent, CASES, line.weight, rng)
        if line.agent != "grid":  # so that pairs can be found
            said = np.round(20 * said) / 20
        of_case = {"belief": said, "exact": exact, "share": share}
    else:
        of_case = coherent(line, rng)
    share = of_case.pop("share")
    if line.state == "theta":
        of_case["truth"] = (rng.random(CASES) < of_case.pop("exact")).astype(int)
    if line.agent.endswith("policies"):
        return {**of_case, "action": share, "context": np.arange(CASES)}
    context = np.repeat(np.arange(CASES), 5)
    action = (rng.random((len(context), 1)) > share.cumsum(axis=1)[context]).sum(axis=1)
    action = np.minimum(action, share.shape[1] - 1)
    table = {name: values[context] for name, values in of_case.items()}
    if "noise" in line.agent:
        noise = 0.1 * rng.normal(size=CASES)[context]
        if line.agent.startswith("five"):
            noise = 0.1 * rng.normal(size=len(context))
        table["belief"] = np.round(20 * np.clip(table["belief"] + noise, 0, 1)) / 20
    return {**table, "action": action, "context": context}


def first(table: dict[str, Any], cases: int) -> dict[str, Any]:
    """Return the rows of the first cases."""
    rows = table["context"] < cases
    return {name: values[rows] for name, values in table.items()}


def stop(result: CheckResult) -> float:
    """Return the cases after which a plan stopped; infinite where it did not."""
    stopped = result.settings["stopped"]
    return math.inf if stopped is None else float(stopped)


def of_table(line: Line, true: float, seed: list[int]) -> list[float]:
    """Return when each plan stopped, whether the interval held the truth, whether pairs do."""
    rng = np.random.default_rng(seed)
    table, draws = draw(line, rng), {"n_draws": 1_999, "rng": seed[-1]}
    looks = sequential_test(**table, most=CASES, **draws)
    at_stop = looks
    if stop(looks) < CASES:
        at_stop = sequential_test(**first(table, int(stop(looks))), most=CASES, **draws)
    ends, covered = at_stop.interval, math.nan
    if ends is not None:
        covered = float(ends.low - 1e-12 <= true <= ends.high + 1e-12)
    at_will = sequential_test(**table, evidence=ENOUGH)
    rival = math.nan
    if line.rival:
        rival = math.inf
        for cases in range(2 * EVERY, CASES + 1, EVERY):
            if sufficiency_test(**first(table, cases), **draws).pvalue <= 0.05:
                rival = cases
                break
    return [stop(looks), covered, stop(at_will), float(at_will.pvalue >= 0), rival]


def median(stops: np.ndarray) -> float:
    """Return the median, NaN where that is never."""
    middle = float(np.quantile(stops, 0.5, method="inverted_cdf"))
    return middle if math.isfinite(middle) else math.nan


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    rows = []
    for number, line in enumerate(LINES):
        true = truths(line.agent, line.weight)[0] if line.agent == "grid" else 0.0
        seeds = [[args.seed, number, table] for table in range(args.tables)]
        found = np.array([of_table(line, true, seed) for seed in seeds])
        looks, covered, evidence, given, rival = found.T
        # Whoever rounds what it acts on says less than it knows, and the difference is not 0.
        told = line.agent == "grid" or (line.holds and not line.agent.startswith("states"))
        known = covered[~np.isnan(covered)] if told else np.zeros(0)
        rows.append(
            {
                "agent": line.agent,
                "order": line.order,
                "weight": line.weight,
                "state": line.state,
                "null": line.holds,
                "looks": np.isfinite(looks).mean(),
                "looks_median": median(looks),
                "looks_held": known.mean() if known.size else math.nan,
                "evidence": np.isfinite(evidence).mean(),
                "evidence_median": median(evidence),
                "given": given.mean(),
                "every 20": np.isfinite(rival).mean() if line.rival else math.nan,
                "every 20_median": median(rival) if line.rival else math.nan,
            }
        )
        print(*rows[-1].values(), flush=True)
    table = pd.DataFrame(rows).assign(tables=args.tables, seed=args.seed)
    table.round(4).to_csv(args.results, index=False)


if __name__ == "__main__":
    main()
