"""Simulate tables that were stopped early, and what ``analyze`` then prints of them.

    PYTHONPATH=. python benchmarks/validity/stopped.py --tables 20 --seed 1

writes ``stopped.csv``: a line per agent of ``sequential.py`` that acts on what it
says, and those that act on .2 and .4 of what the exact posterior adds. A table of at most 300 cases
is asked up to the first look (of five) that stops, or up to the case at which evidence is 20, and
analysed as it is then, with its columns plan and arrival and its rows sorted by context: shares of
tables whose primary p-value is at most .05, and whose repeated interval, and that of the plain
average, hold the truth. NaN where there is none. Looks draw
999 times. One core needs about five minutes.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import pandas as pd
from sequential import CASES, LINES, Line, draw
from sufficiency import truths

import coherence
from coherence.checks import sequential

RESULTS = Path(__file__).with_suffix(".csv")
STOPPED = tuple(line for line in LINES if line.holds or line.agent == "grid")
LOOKS, EVIDENCE = f"looks=5 most={CASES} seed=1", "evidence=20"
sequential.N_DRAWS = 999


def runs_table(line: Line, rng: np.random.Generator) -> pd.DataFrame:
    """Lay a drawn table out as a runs table, with the place of each case."""
    drawn = draw(line, rng)
    columns = {"p": drawn["belief"], "context": [f"c{99_000 - at}" for at in drawn["context"]]}
    columns["arrival"] = drawn["context"] + 1
    if np.ndim(drawn["action"]) == 2:
        columns |= {f"action_{at}": share for at, share in enumerate(drawn["action"].T)}
    else:
        columns["action"] = [f"a{label}" for label in drawn["action"]]
    names = {"exact": "p_true", "truth": "theta", "group": "group"}
    columns |= {names[name]: drawn[name] for name in names if name in drawn}
    if "exact" in drawn:
        columns["truth_kind"] = "drawn"
    return pd.DataFrame(columns).sort_values("context").reset_index(drop=True)


def primary(runs: pd.DataFrame, plan: str) -> coherence.CheckResult:
    """Return the primary result of a report."""
    report = coherence.analyze(runs.assign(plan=plan), checks=["sufficiency"], positive=None)
    return report.evaluations[0].results[0]


def holds(low: float, high: float, true: float) -> float:
    """Tell whether an interval holds the truth; NaN where there is none."""
    return math.nan if math.isnan(low) else float(low - 1e-12 <= true <= high + 1e-12)


def of_table(line: Line, true: float, seed: list[int]) -> list[float]:
    """Return whether each plan rejects where it stopped, and whether intervals hold the truth."""
    runs = runs_table(line, np.random.default_rng(seed))
    whole = primary(runs, LOOKS)
    stop = whole.settings["stopped"] or CASES
    looks = whole if stop == CASES else primary(runs[runs["arrival"] <= stop], LOOKS)
    plain = looks.also.get("plain_average")
    ends = (math.nan, math.nan) if plain is None else (plain.low, plain.high)
    at_will = primary(runs, EVIDENCE)
    if (enough := at_will.settings["stopped"]) is not None:
        at_will = primary(runs[runs["arrival"] <= enough], EVIDENCE)
    return [
        float(stop),
        float(looks.pvalue <= 0.05),
        holds(looks.low, looks.high, true),
        holds(*ends, 0.0) if true == 0 else math.nan,
        float(at_will.pvalue <= 0.05),
        float(at_will.pvalue >= 0),
    ]


def mean(values: np.ndarray) -> float:
    """Return the mean of what is known."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    rows = []
    for number, line in enumerate(STOPPED):
        true = truths(line.agent, line.weight)[0] if line.agent == "grid" else 0.0
        seeds = [[args.seed, number, table] for table in range(args.tables)]
        stop, looks, held, plain, evidence, given = np.array(
            [of_table(line, true, seed) for seed in seeds]
        ).T
        # Whoever rounds what it acts on says less than it knows, and the difference is not 0.
        known = not line.agent.startswith("states")
        rows.append(
            {
                "agent": line.agent,
                "order": line.order,
                "weight": line.weight,
                "state": line.state,
                "null": line.holds,
                "looks": looks.mean(),
                "cases": stop.mean(),
                "held": mean(held) if known else math.nan,
                "plain_held": mean(plain) if known else math.nan,
                "evidence": evidence.mean(),
                "given": given.mean(),
            }
        )
        print(*rows[-1].values(), flush=True)
    table = pd.DataFrame(rows).assign(tables=args.tables, seed=args.seed)
    table.round(4).to_csv(args.results, index=False)


if __name__ == "__main__":
    main()
