"""Time exact posteriors of many evidence rows against pgmpy on one thread; print a table.

    python benchmarks/networks.py --out benchmarks/networks.md

Rows observe ten covariates, another random ten in every row, in the states of a record drawn from
the network. pgmpy's variable elimination is queried row by row, equal rows once; its time for all
rows is extrapolated from the first few hundred different ones, and the posteriors of these are
compared. One row by itself is put to both as well, and tables are fitted to records by both. Times
are processor time on one thread; ours is the median of several whole calls, from labels to labels,
that share nothing. Peak memory is what our call adds to a fresh process. The networks are the
catalogue's.
"""

import argparse
import json
import logging
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnets import to_pgmpy

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
N_OBSERVED = 10
TARGETS = {
    "heart": ("SHD", "yes"),
    "alarm": ("LVFAILURE", "TRUE"),
}  # with the state that counts as positive
ROWS = (1_000, 10_000, 100_000, 1_000_000)
COMPARED = 10_000  # rows of the comparison with pgmpy
QUERIED = 300  # of them put to pgmpy
SINGLE = 100  # rows asked about one at a time
RECORDS = (1_000, 10_000, 100_000)  # to which tables are fitted
REPEATS = 5  # calls of ours whose median counts
N_CASES = 200


def evidence_rows(network: Any, target: str, n: int, seed: int = 1) -> pd.DataFrame:
    """Draw records and hide all but ten covariates, a random ten in every row."""
    from bayesnets import sample

    rng = np.random.default_rng(seed)
    records = sample(network, n, rng=rng).drop(columns=target)
    shown = rng.random(records.shape).argsort(axis=1).argsort(axis=1) < N_OBSERVED
    return records.astype(object).where(shown, None)


def query_all(network: Any, evidence: pd.DataFrame, target: str) -> np.ndarray:
    """Ask pgmpy row by row, equal rows once."""
    warnings.simplefilter("ignore")
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.inference import VariableElimination

    engine = VariableElimination(to_pgmpy(network))
    known: dict[tuple[tuple[str, str], ...], list[float]] = {}
    values = []
    for row in evidence.to_dict("records"):
        stated = {str(name): state for name, state in row.items() if state is not None}
        key = tuple(sorted(stated.items()))
        if key not in known:
            factor = engine.query([target], stated, show_progress=False)
            known[key] = [
                float(factor.values[factor.state_names[target].index(state)])
                for state in network.states(target)
            ]
        values.append(known[key])
    return np.array(values)


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def timed(function: Any, *arguments: Any, **options: Any) -> tuple[float, Any]:
    """Return the processor time of a call, the median of several, and what the call returned."""
    times: list[float] = []
    for _ in range(REPEATS):
        begun = time.process_time()
        result = function(*arguments, **options)
        times.append(time.process_time() - begun)
    return statistics.median(times), result


def compare(name: str, n: int = COMPARED, queried: int = QUERIED) -> dict[str, float]:
    """Time both on the same rows, and return the times, their ratio and the largest difference."""
    from bayesnets import load_network, posterior

    network, (target, _) = load_network(name), TARGETS[name]
    evidence = evidence_rows(network, target, n)
    posterior(network, evidence.head(), target)
    query_all(network, evidence.head(1), target)
    ours, table = timed(posterior, network, evidence, target)
    different = evidence.fillna("").drop_duplicates()
    few = evidence.loc[different.index[:queried]]
    begun = time.process_time()
    theirs = query_all(network, few, target)
    spent = (time.process_time() - begun) / len(few) * len(different)
    difference = float(np.abs(table.loc[few.index].to_numpy() - theirs).max())
    return {
        "ours": ours,
        "pgmpy": spent,
        "ratio": spent / ours,
        "difference": difference,
        "different": len(different),
        "queried": len(few),
    }


def ask_once(name: str) -> dict[str, float]:
    """Time both on single rows, one call a row."""
    from bayesnets import load_network, posterior

    warnings.simplefilter("ignore")
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.inference import VariableElimination

    network, (target, _) = load_network(name), TARGETS[name]
    rows = [
        {str(name): state for name, state in row.items() if state is not None}
        for row in evidence_rows(network, target, SINGLE).to_dict("records")
    ]
    engine = VariableElimination(to_pgmpy(network))
    times: dict[str, list[float]] = {"ours": [], "pgmpy": []}
    for row in rows:
        begun = time.process_time()
        posterior(network, row, target)
        times["ours"].append(time.process_time() - begun)
        begun = time.process_time()
        engine.query([target], row, show_progress=False)
        times["pgmpy"].append(time.process_time() - begun)
    return {who: statistics.median(spent) for who, spent in times.items()}


def fit_tables(name: str, n: int) -> dict[str, float]:
    """Time both on the same records, and count columns that no record stands behind."""
    from bayesnets import fit, from_pgmpy, load_network, sample

    warnings.simplefilter("ignore")
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteMLE

    network = load_network(name)
    records = sample(network, n, rng=1)
    states = {node.name: list(node.states) for node in network.nodes}
    arrows = [(parent, node.name) for node in network.nodes for parent in node.parents]

    def theirs() -> Any:
        model = DiscreteBayesianNetwork(arrows)
        model.add_nodes_from(network.names)
        model.fit(records, estimator=DiscreteMLE(state_names=states))
        return model

    ours, fitted = timed(fit, network, records, empty="uniform")
    spent, model = timed(theirs)
    other, difference = from_pgmpy(model), 0.0
    for node in fitted.network.nodes:
        peer = other.node(node.name)
        axes = [0, *(1 + peer.parents.index(parent) for parent in node.parents)]
        difference = max(difference, np.abs(peer.table.transpose(axes) - node.table).max())
    return {
        "ours": ours,
        "pgmpy": spent,
        "difference": float(difference),
        "columns": len(fitted.support),
        "empty": int((fitted.support["records"] == 0).sum()),
    }


def grow(name: str, n: int) -> dict[str, float]:
    """Time ours on more rows, with the memory that it adds."""
    from bayesnets import load_network, posterior

    network, (target, _) = load_network(name), TARGETS[name]
    posterior(network, evidence_rows(network, target, 5), target)
    evidence = evidence_rows(network, target, n)
    before = peak_bytes()
    begun = time.process_time()
    posterior(network, evidence, target)
    seconds = time.process_time() - begun
    return {"seconds": seconds, "megabytes": (peak_bytes() - before) / 1e6}


def draw(name: str, n: int = N_CASES) -> dict[str, float]:
    """Time the drawing of cases, with how even they are."""
    from bayesnets import coverage, load_network, sample_cases

    logging.getLogger("bayesnets").setLevel(logging.ERROR)
    network, (target, positive) = load_network(name), TARGETS[name]
    seconds, cases = timed(sample_cases, network, target, n, target_state=positive, rng=1)
    table = coverage(cases)
    return {
        "seconds": seconds,
        "fewest": int(table["n"].min()),
        "most": int(table["n"].max()),
        "contexts": cases["context"].nunique(),
    }


def measured(*arguments: str) -> dict[str, float]:
    """Measure one line in a fresh process."""
    command = [sys.executable, __file__, "--measure", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | THREADS
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def comparison_table(figures: dict[str, dict[str, float]]) -> list[str]:
    """Render the comparison with pgmpy."""
    lines = [
        f"## {COMPARED:,} rows, {N_OBSERVED} covariates observed in each",
        "",
        "| network | different rows | ours, CPU seconds | pgmpy, extrapolated | ratio "
        "| largest difference |",
        "|---|---|---|---|---|---|",
    ]
    for name, figure in figures.items():
        times = f"{figure['ours']:.3g} | {figure['pgmpy']:.3g} | {figure['ratio']:.0f}"
        lines.append(f"| {name} | {figure['different']:,} | {times} | {figure['difference']:.1g} |")
    queried = " and ".join(f"{figure['queried']:,} ({name})" for name, figure in figures.items())
    return [
        *lines,
        "",
        f"pgmpy was asked about {queried} rows; its time for all different rows is extrapolated "
        "from these.",
        "",
    ]


def single_table(figures: dict[str, dict[str, float]]) -> list[str]:
    """Render the comparison with pgmpy on single rows."""
    lines = [
        "## One row a call",
        "",
        "| network | ours, CPU milliseconds | pgmpy |",
        "|---|---|---|",
    ]
    for name, figure in figures.items():
        lines.append(f"| {name} | {figure['ours'] * 1e3:.3g} | {figure['pgmpy'] * 1e3:.3g} |")
    return [*lines, ""]


def fitting_table(figures: dict[tuple[str, int], dict[str, float]]) -> list[str]:
    """Render the comparison of fitted tables."""
    lines = [
        "## Tables fitted to records, ours beside pgmpy's maximum likelihood",
        "",
        "| network | records | ours, CPU seconds | pgmpy | largest difference "
        "| columns | without a record |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, n), figure in figures.items():
        lines.append(
            f"| {name} | {n:,} | {figure['ours']:.3g} | {figure['pgmpy']:.3g} "
            f"| {figure['difference']:.1g} | {figure['columns']:,} | {figure['empty']:,} |"
        )
    return [
        *lines,
        "",
        "A column without a record is uniform in pgmpy's tables; ours refuse it, or say so.",
        "",
    ]


def growth_table(figures: dict[tuple[str, int], dict[str, float]]) -> list[str]:
    """Render the growth with the number of rows."""
    lines = [
        "## Growth",
        "",
        "| network | rows | CPU seconds | microseconds per row | peak memory added, MB |",
        "|---|---|---|---|---|",
    ]
    for (name, n), figure in figures.items():
        lines.append(
            f"| {name} | {n:,} | {figure['seconds']:.3g} | {figure['seconds'] / n * 1e6:.3g} "
            f"| {figure['megabytes']:.0f} |"
        )
    return [*lines, ""]


def cases_table(figures: dict[str, dict[str, float]]) -> list[str]:
    """Render the drawing of cases."""
    lines = [
        f"## {N_CASES} cases, even over 20 bins",
        "",
        "| network | CPU seconds | contexts | fewest and most per bin |",
        "|---|---|---|---|",
    ]
    for name, figure in figures.items():
        lines.append(
            f"| {name} | {figure['seconds']:.3g} | {figure['contexts']} "
            f"| {figure['cheapest_options']} and {figure['most']} |"
        )
    return [*lines, ""]


def main() -> None:
    """Run all lines, or the one that a parent process asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the table into this Markdown file as well")
    parser.add_argument("--measure", nargs="+", metavar="WORD", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, name, *rest = options.measure
        functions: dict[str, Any] = {
            **{"compare": compare, "single": ask_once, "fit": fit_tables},
            **{"grow": grow, "draw": draw},
        }
        print(json.dumps(functions[what](name, *map(int, rest))))
        return
    command = "python benchmarks/networks.py" + (f" --out {options.out}" if options.out else "")
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "pgmpy"))
    pages = [
        "# Speed of exact posteriors",
        "",
        f"Made by `{command}` on Python {platform.python_version()}, {platform.machine()}, "
        f"one thread; {packages}.",
        "",
    ]
    pages += [
        "Ours is the whole call of `posterior`, from labels to labels, the median of several; "
        "nothing is kept between calls.",
        "",
    ]
    pages += comparison_table({name: measured("compare", name) for name in TARGETS})
    pages += single_table({name: measured("single", name) for name in TARGETS})
    pages += fitting_table(
        {(name, n): measured("fit", name, str(n)) for name in TARGETS for n in RECORDS}
    )
    pages += growth_table(
        {(name, n): measured("grow", name, str(n)) for name in TARGETS for n in ROWS}
    )
    pages += cases_table({name: measured("draw", name) for name in TARGETS})
    text = "\n".join(pages).rstrip() + "\n"
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
