"""Simulate size, power and coverage of every check, and write them down.

    python benchmarks/validity/simulate.py --datasets 1000 --jobs 2

Each line of ``results.csv`` counts rejections at .05, those at .01 of true nulls, or
intervals that cover, over data sets drawn from the seeds [seed, design, data set]. Lines of the
same kind, check and design are replaced. ``page.py`` makes a page of them.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from designs import PLACES, Design
from joblib import Parallel, delayed
from readings import EXPECTED, SUBJECTS, Reading, Subject

from coherence.result import rejects

RESULTS = Path(__file__).parent / "results.csv"
STRICT = 0.01
FIELDS = ("kind", "check", "design", "count", "datasets", "seed", "seconds")


def readings(run: Callable, design: Design, seed: int, number: int) -> dict[str, Reading]:
    """Run what is asked of one data set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(design, np.random.default_rng([seed, PLACES[design.name], number]))


def covers(reading: Reading, truth: float) -> bool:
    """Tell whether an interval holds the truth; an end that rounding alone moved off it does."""
    return reading.low - 1e-12 <= truth <= reading.high + 1e-12


def counted(
    subject: Subject, design: Design, drawn: list[dict[str, Reading]]
) -> list[dict[str, object]]:
    """Count rejections and covering intervals of one subject under one design."""
    rows: list[dict[str, object]] = []
    kind = "power" if design.signal or design.gap else "size"
    for check in subject.tests:
        if design in subject.tested:
            pvalues = [data_set[check].pvalue for data_set in drawn]
            count = sum(map(rejects, pvalues))
            rows.append({"kind": kind, "check": check, "count": count})
            if kind == "size":
                count = sum(rejects(pvalue, alpha=STRICT) for pvalue in pvalues)
                rows.append({"kind": "size at .01", "check": check, "count": count})
    for check, truth in subject.intervals.items():
        if design in subject.covered:
            # A check that declines to give an interval claims nothing that could be missed.
            values = [data_set[check] for data_set in drawn if not np.isnan(data_set[check].low)]
            if not values:
                continue
            wanted = (
                float(np.mean([reading.value for reading in values]))
                if truth is EXPECTED
                else truth(design)
            )
            if np.isnan(wanted):
                # The design has no such quantity: say, noise between repetitions without any.
                continue
            count = sum(covers(reading, wanted) for reading in values)
            rows.append(
                {"kind": "coverage", "check": check, "count": count, "datasets": len(values)}
            )
    return rows


def write(rows: list[dict[str, object]]) -> None:
    """Replace the lines of the same cells."""
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            kept = list(csv.DictReader(file))
    new = {(row["kind"], row["check"], row["design"]) for row in rows}
    kept = [row for row in kept if (row["kind"], row["check"], row["design"]) not in new]
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=1000, help="data sets per cell")
    parser.add_argument(
        "--few",
        type=int,
        default=300,
        help="data sets per cell of the slow checks (fitted learners)",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--subjects",
        default=",".join(SUBJECTS),
        help=f"only these, separated by commas, of {', '.join(SUBJECTS)}",
    )
    parser.add_argument("--designs", help="only designs whose name holds this text")
    options = parser.parse_args()
    with Parallel(n_jobs=options.jobs, batch_size=1) as parallel:
        for name in options.subjects.split(","):
            subject = SUBJECTS[name]
            number = options.few if subject.slow else options.datasets
            for design in subject.designs:
                if options.designs and options.designs not in design.name:
                    continue
                begun = time.monotonic()
                drawn = parallel(
                    delayed(readings)(subject.run, design, options.seed, each)
                    for each in range(number)
                )
                seconds = round(time.monotonic() - begun)
                common = {
                    "design": design.name,
                    "datasets": number,
                    "seed": options.seed,
                    "seconds": seconds,
                }
                rows = [common | row for row in counted(subject, design, drawn)]
                write(rows)
                for row in rows:
                    share = row["count"] / row["datasets"]
                    print(
                        f"{row['kind']:9} {row['check']:40} {design.name:34} {share:.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
