"""Time the tests against their peers on one thread, and print a Markdown table.

    python benchmarks/run.py --out benchmarks/results.md

Every line is measured in a process of its own, one after the other, on the same data: contexts of
five rows, three actions, two states. The first call (imports, compilation) is made on a small
sample and not counted; a short one is repeated and its best time taken. Times are processor time,
which on one thread is what an idle machine would take and on a shared one does not count the
neighbours. Peak memory is what the measured call adds to the process. Peers are optional: ``pip
install "belief-coherence[bench]"``.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
N_REPS = 5
WARM_UP = 200  # rows
SHORT = 1.0  # seconds, below which a call is repeated
LIMIT = 600  # seconds per line

Arrays = dict[str, np.ndarray]


def draw(n_rows: int, grid: float, seed: int = 1) -> Arrays:
    """Draw belief, action, truth and context under the null; grid 0 leaves beliefs as they are."""
    rng = np.random.default_rng(seed)
    belief = rng.random(n_rows // N_REPS)
    belief = np.round(np.round(belief / grid) * grid, 10) if grid else belief
    context = np.repeat(np.arange(belief.size), N_REPS)
    truth = (rng.random(belief.size) < belief).astype(np.int64)
    utility = np.stack(
        [6 * (belief - 0.6), 6 * (0.4 - belief), np.full(belief.size, 0.5)], axis=1
    ) + rng.normal(size=(belief.size, 3))
    action = np.argmax(utility[context] + rng.gumbel(size=(context.size, 3)), axis=1)
    return {
        "belief": belief[context],
        "action": action,
        "truth": truth[context],
        "context": context,
    }


def cmi(data: Arrays, draws: int) -> None:
    """Ours: the permutation test of the information."""
    from coherence import cmi_test

    cmi_test(
        data["belief"],
        data["action"],
        data["truth"],
        context=data["context"],
        n_permutations=draws,
        rng=0,
    )


def estimate(data: Arrays, draws: int) -> None:
    """Ours: the bare nearest-neighbour estimate, k = 3."""
    from coherence.statistics.knn import sorted_information

    sorted_information(data["belief"], data["action"], data["truth"], 3)


def sufficiency(data: Arrays, draws: int) -> None:
    """Ours: the primary test."""
    from coherence import sufficiency_test

    sufficiency_test(data["belief"], data["action"], data["truth"], context=data["context"], rng=0)


def cmiknn(data: Arrays, draws: int, knn: float = 3) -> None:
    """Tigramite: CMIknn, by default with three neighbours; the estimate alone with no draws."""
    from tigramite.independence_tests.cmiknn import CMIknn

    test = CMIknn(
        knn=knn, significance="shuffle_test", sig_samples=max(draws, 1), workers=1, seed=1
    )
    columns = [data[name].astype(np.float64)[:, None] for name in ("action", "truth", "belief")]
    if draws:
        test.run_test_raw(*columns)
    else:
        test.get_dependence_measure_raw(*columns)


def cmiknn_default(data: Arrays, draws: int) -> None:
    """Tigramite: CMIknn with its own default, a fifth of the rows as neighbours."""
    cmiknn(data, draws, knn=0.2)


def gcm(data: Arrays, draws: int) -> None:
    """pgmpy: the generalised covariance measure, linear, of one action."""
    import pandas as pd
    from pgmpy.ci_tests import GCM

    frame = pd.DataFrame(
        {"action": data["action"] == 0, "truth": data["truth"], "belief": data["belief"]}
    ).astype(np.float64)
    test = GCM(frame)
    test("action", "truth", ["belief"])


# (label, function, package it needs, rows, grid of beliefs, draws or columns of evidence)
Line = tuple[str, Callable[[Arrays, int], None], str, int, float, int]
GROUPS: dict[str, list[Line]] = {
    "Permutation test of the information, n = 1,000 (200 contexts x 5)": [
        ("cmi_test, 999 permutations", cmi, "", 1_000, 0.05, 999),
        ("tigramite CMIknn, k = 3, 999 shuffles", cmiknn, "tigramite", 1_000, 0.05, 999),
        (
            "tigramite CMIknn, its default k = n / 5, 999 shuffles",
            cmiknn_default,
            "tigramite",
            1_000,
            0.05,
            999,
        ),
    ],
    "Permutation test of the information, n = 100,000": [
        ("cmi_test, 99 permutations", cmi, "", 100_000, 0.05, 99)
    ],
    "Bare nearest-neighbour estimate, beliefs on a .05 grid": [
        *[("ours, k = 3", estimate, "", n, 0.05, 0) for n in (1_000, 10_000, 100_000, 1_000_000)],
        *[("tigramite CMIknn, k = 3", cmiknn, "tigramite", n, 0.05, 0) for n in (1_000, 10_000)],
    ],
    "Bare nearest-neighbour estimate, beliefs not rounded": [
        *[("ours, k = 3", estimate, "", n, 0.0, 0) for n in (1_000, 10_000, 100_000, 1_000_000)],
        *[("tigramite CMIknn, k = 3", cmiknn, "tigramite", n, 0.0, 0) for n in (1_000, 10_000)],
    ],
    "Sufficiency, beliefs on a .05 grid (9,999 draws by context; pgmpy: rows, linear, no draws)": [
        *[
            ("sufficiency_test", sufficiency, "", n, 0.05, 0)
            for n in (1_000, 10_000, 100_000, 1_000_000)
        ],
        *[("pgmpy GCM", gcm, "pgmpy", n, 0.05, 0) for n in (1_000, 10_000, 100_000, 1_000_000)],
    ],
    "Sufficiency, beliefs not rounded": [
        *[
            ("sufficiency_test", sufficiency, "", n, 0.0, 0)
            for n in (1_000, 10_000, 100_000, 1_000_000)
        ],
    ],
}


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(group: str, position: int) -> None:
    """Measure one line in this process and print the figures as JSON."""
    _, function, package, n_rows, grid, draws = GROUPS[group][position]
    if package:
        try:
            version(package)
        except PackageNotFoundError:
            print(json.dumps({"missing": package}))
            return
    function(draw(WARM_UP, grid), min(draws, 5))
    data = draw(n_rows, grid)
    before = peak_bytes()
    seconds = math.inf
    for _ in range(5):
        begun = time.process_time()
        function(data, draws)
        seconds = min(seconds, time.process_time() - begun)
        if seconds > SHORT:
            break
    print(json.dumps({"seconds": seconds, "megabytes": (peak_bytes() - before) / 1e6}))


def measured(group: str, position: int) -> dict[str, float | str]:
    """Measure one line in a fresh process."""
    command = [sys.executable, __file__, "--measure", group, str(position)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
            env=os.environ | THREADS,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {LIMIT} s"}
    except subprocess.CalledProcessError as error:
        return {
            "failed": error.stderr.strip().splitlines()[-1]
            if error.stderr.strip()
            else f"exit status {error.returncode}"
        }
    return dict(json.loads(done.stdout.splitlines()[-1]))


def n_log_n(smaller: int, larger: int) -> float:
    """Return the factor by which n log n grows."""
    return larger * math.log(larger) / (smaller * math.log(smaller))


def table(group: str, figures: list[dict[str, float | str]]) -> list[str]:
    """Render the lines of one group, and what follows from them."""
    lines = [f"## {group}", "", "| | rows | CPU seconds | peak memory, MB |", "|---|---|---|---|"]
    times: dict[tuple[str, int], float] = {}
    for (label, _, _, n_rows, _, draws), figure in zip(GROUPS[group], figures, strict=True):
        if "seconds" in figure:
            seconds = float(figure["seconds"])
            times[label, n_rows] = seconds
            lines.append(
                f"| {label} | {n_rows:,} | {seconds:.3g} | {float(figure['megabytes']):.0f} |"
            )
            if draws == 99:
                lines.append(
                    f"| the same with 999, extrapolated from 99 | {n_rows:,} "
                    f"| {seconds * 999 / 99:.3g} | |"
                )
        else:
            lines.append(f"| {label} | {n_rows:,} | {figure.get('failed', 'not installed')} | |")
    notes = []
    for label in dict.fromkeys(label for label, _ in times):
        if (label, 10_000) in times and (label, 1_000_000) in times:
            factor = times[label, 1_000_000] / times[label, 10_000]
            notes.append(
                f"{label}: from 10,000 to 1,000,000 rows {factor:.0f} times longer; "
                f"n log n grows {n_log_n(10_000, 1_000_000):.0f} times."
            )
    ours, peers = GROUPS[group][0][0], {label for label, _, package, *_ in GROUPS[group] if package}
    for (label, n_rows), seconds in times.items():
        if label in peers and (ours, n_rows) in times:
            ratio = seconds / times[ours, n_rows]
            notes.append(f"{label}, {n_rows:,} rows: {ratio:.3g} times our time.")
    return [*lines, "", *[f"- {note}" for note in notes], *([""] if notes else [])]


def installed(package: str) -> str:
    """Return a package with its version, or say that it is missing."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


def main() -> None:
    """Run all lines, or the one that a parent process asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the table into this Markdown file as well")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only the tables whose title contains this"
    )
    parser.add_argument("--measure", nargs=2, metavar=("GROUP", "LINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure[0], int(options.measure[1]))
        return
    packages = ", ".join(
        installed(name) for name in ("numpy", "scipy", "tigramite", "pgmpy", "catboost")
    )
    command = "python benchmarks/run.py" + (f" --out {options.out}" if options.out else "")
    pages = [
        "# Speed",
        "",
        f"Made by `{command}` on Python {platform.python_version()}, {platform.machine()}, "
        f"one thread; {packages}.",
        "",
        "Processor time of one call on one thread, the first call not counted; peak memory is what "
        "the call adds. Contexts have five rows.",
        "",
    ]
    print("\n".join(pages))
    for group, members in GROUPS.items():
        if options.only not in group:
            continue
        section = table(group, [measured(group, position) for position in range(len(members))])
        print("\n".join(section), flush=True)
        pages += section
    if options.out:
        options.out.write_text("\n".join(pages).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
