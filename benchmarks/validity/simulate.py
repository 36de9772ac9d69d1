"""Simulate size, power and coverage of every check, and write them down.

    python benchmarks/validity/simulate.py --datasets 1000 --jobs 2

Each line of ``results.csv`` counts rejections at .05, those at .01 of true nulls, or
intervals that cover, over data sets drawn from the seeds [seed, design, data set]. Lines of the
same kind, check and design are replaced. ``--page docs/validity-tables.md`` renders them in short.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from designs import EVERY, Design
from joblib import Parallel, delayed
from readings import EXPECTED, SUBJECTS, Reading, Subject
from scipy import stats

from coherence.result import rejects

RESULTS = Path(__file__).parent / "results.csv"
STRICT = 0.01
FIELDS = ("kind", "check", "design", "count", "datasets", "seed", "seconds")


def readings(run: Callable, design: Design, seed: int, number: int) -> dict[str, Reading]:
    """Run what is asked of one data set."""
    position = [known.name for known in EVERY].index(design.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(design, np.random.default_rng([seed, position, number]))


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


LEVELS = {"size": 0.05, "size at .01": STRICT}


def page() -> str:
    """Render the results as a page: a line for each check and question, rows outside named."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    asked: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        asked.setdefault((row["kind"], row["check"]), []).append(row)
    order = [name for each in SUBJECTS.values() for name in (*each.tests, *each.intervals)]
    checks = list(dict.fromkeys(order))
    lines = [
        "## Size",
        "",
        "Share of true nulls rejected, of the null rejected most often; in brackets the largest "
        "share that a true rate of .05 or .01 gives in 99.5% of such runs (exact binomial).",
        "",
        "| check | nulls x data sets | highest at .05 | null | highest at .01 | null |",
        "|---|---|---|---|---|---|",
    ]
    outside = []
    for check in checks:
        if ("size", check) in asked:
            cells = []
            for kind, level in LEVELS.items():
                found = asked.get((kind, check))
                if found is None:  # rows older than the stricter level
                    cells += ["-", "-"]
                    continue
                worst = max(found, key=_share)
                limit = _limit(worst, level)
                cells += [f"{_share(worst):.3f} ({limit:.3f})", _named(worst, found)]
                outside += [
                    f'`{check}` at {level:.2f} in "{row["design"]}": {_share(row):.3f}'
                    for row in found
                    if _share(row) > _limit(row, level)
                ]
            lines.append(f"| {_name(check, asked['size', check])} | {' | '.join(cells)} |")
    lines += ["", f"Above the bound: {'; '.join(outside)}.", "", "## Power", ""]
    lines += [
        "Share of data sets with a hidden signal (of gaps: with a gap) that are rejected at .05; "
        "200 contexts x 5 repetitions with tastes, unless named.",
        "",
        "| check | data sets | found in |",
        "|---|---|---|",
    ]
    for check in checks:
        found = asked.get(("power", check), [])
        if found:
            always = sum(_share(row) == 1 for row in found)
            seen = [
                f"{row['design'].removeprefix('policies, ')}: {_share(row):.3f}"
                for row in found
                if _share(row) < 1
            ]
            seen += [f"{always} other designs: 1.000"] if always else []
            lines.append(f"| {_cell(check)} | {_numbers(found)} | {'; '.join(seen)} |")
    lines += ["", "## Coverage", "", "Share of 95% intervals that hold the truth.", ""]
    lines += ["| interval | designs x data sets | lowest | design | highest |"]
    lines += ["|---|---|---|---|---|"]
    for check in checks:
        found = asked.get(("coverage", check), [])
        if found:
            worst = min(found, key=_share)
            lines.append(
                f"| {_name(check, found)} | {_share(worst):.3f} "
                f"| {worst['design'].removeprefix('policies, ')} | {max(map(_share, found)):.3f} |"
            )
    return "\n".join(lines)


def _share(row: dict[str, str]) -> float:
    return int(row["count"]) / int(row["datasets"])


def _limit(row: dict[str, str], level: float) -> float:
    number = int(row["datasets"])
    return float(stats.binom.ppf(0.995, number, level)) / number


def _numbers(rows: list[dict[str, str]]) -> str:
    numbers = sorted({int(row["datasets"]) for row in rows})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")  # a bar would end the cell


def _name(check: str, rows: list[dict[str, str]]) -> str:
    return f"{_cell(check)} | {len(rows)} x {_numbers(rows)}"


def _named(worst: dict[str, str], rows: list[dict[str, str]]) -> str:
    same = len({_share(row) for row in rows}) == 1
    return "all" if same else worst["design"].removeprefix("policies, ")


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
    parser.add_argument(
        "--page", type=Path, help="render the results into this page, between its markers, and stop"
    )
    options = parser.parse_args()
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head, tail = text.split("<!-- table -->")[0], text.split("<!-- end of table -->")[1]
        options.page.write_text(
            f"{head}<!-- table -->\n\n{page()}\n<!-- end of table -->{tail}", encoding="utf-8"
        )
        return
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
