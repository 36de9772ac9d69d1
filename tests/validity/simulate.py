"""Simulate size, power and coverage of every check, and write them down.

    python tests/validity/simulate.py --datasets 1000 --jobs 2

Each line of ``tests/validity/results.csv`` counts rejections at .05 (or intervals that cover) over data sets drawn from the seeds
[seed, design, data set]; existing lines of the same kind, check and design are replaced. ``--page docs/validity.md`` renders the table.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from designs import NULLS, SIGNALS, Design, exact_information

from coherence import (
    calibration_estimates,
    cmi_test,
    iterated_expectation_test,
    monotone_choice_test,
    monotone_direction_test,
    predictive_gain_test,
    prompt_consistency,
    residual_covariance_test,
)

RESULTS = Path(__file__).parent / "results.csv"
FIELDS = ("kind", "check", "design", "count", "datasets", "seed", "seconds")


def _arrays(design: Design, rng: np.random.Generator) -> tuple:
    runs = design.draw(rng)
    return (runs["p"], runs["action"], runs["theta"]), runs["context"]


def _residual_covariance(design, rng):
    arrays, context = _arrays(design, rng)
    return residual_covariance_test(*arrays, context=context, n_draws=999, rng=rng)


def _cmi(design, rng):
    arrays, context = _arrays(design, rng)
    return cmi_test(*arrays, context=context, n_permutations=199, rng=rng)


def _predictive_gain(design, rng):
    arrays, context = _arrays(design, rng)
    return predictive_gain_test(*arrays, context=context, n_bootstraps=200, rng=rng)


def _monotone(pair):
    def run(design, rng):
        (belief, action, _), context = _arrays(design, rng)
        return monotone_choice_test(belief, action, pair=pair, context=context, n_draws=999, rng=rng)

    return run


def _iterated(design, rng):
    # The bootstrap serves the medians alone, which are not looked at here.
    return iterated_expectation_test(design.draw_iterated(rng), n_flips=999, n_bootstraps=2, rng=rng)


def _direction(design, rng):
    (belief, action, _), context = _arrays(design, rng)
    return monotone_direction_test(belief, action, context=context, n_draws=999, rng=rng)


def _consistency(design, rng):
    return prompt_consistency(design.draw_prompts(rng, distance=DISTANCE), rng=rng)


def _calibration(name):
    def run(design, rng):
        runs = design.draw_calibration(rng)
        results = calibration_estimates(runs["p"], runs["theta"], p_true=runs["p_true"], context=runs["context"], n_bootstraps=50, rng=rng)
        return next(result for result in results if result.check == f"calibration:{name}")

    return run


DISTANCE = 0.08
CHECKS: dict[str, Callable] = {
    "residual_covariance": _residual_covariance,
    "cmi": _cmi,
    "predictive_gain": _predictive_gain,
    "monotone yes/no": _monotone(("yes", "no")),
    "monotone yes/defer": _monotone(("yes", "defer")),
    "monotone defer/no": _monotone(("defer", "no")),
    "monotone_direction": _direction,
    "iterated_expectation": _iterated,
}
# What has an interval whose truth is known: the check, and the truth under a design.
INTERVALS: dict[str, tuple[Callable, Callable[[Design], float]]] = {
    "residual_covariance": (_residual_covariance, lambda design: design.signal),
    "cmi": (_cmi, exact_information),
    "iterated_expectation": (_iterated, lambda design: 0.0),
    "prompt_consistency": (_consistency, lambda design: DISTANCE),
    "calibration:rmse": (_calibration("rmse"), lambda design: 0.1 / 3**0.5),
    # The error's variance, and the mean of q (1 - q) for q uniform between .2 and .8.
    "calibration:brier": (_calibration("brier"), lambda design: 0.01 / 3 + 0.22),
}


def one(run: Callable, design: Design, seed: int, number: int) -> object:
    """Run one check on one data set."""
    position = [known.name for known in (*NULLS, *SIGNALS)].index(design.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(design, np.random.default_rng([seed, position, number]))


def rejects(check: str, design: Design, seed: int, number: int) -> bool:
    """Tell whether a check rejects at .05; an undefined p-value does not."""
    return bool(one(CHECKS[check], design, seed, number).pvalue <= 0.05)


def covers(check: str, design: Design, truth: float, seed: int, number: int) -> bool:
    """Tell whether the 95% interval of a check holds the truth."""
    interval = one(INTERVALS[check][0], design, seed, number).interval
    return interval is not None and interval.low <= truth <= interval.high


def cells(datasets: int, few: int) -> list[tuple[str, str, Design, int]]:
    """List what is to be simulated."""
    sizes = [("size", check, design, few if check == "predictive_gain" else datasets) for check in CHECKS for design in NULLS]
    powers = [
        ("power", check, design, few if check == "predictive_gain" else datasets)
        for check in ("residual_covariance", "cmi", "predictive_gain")
        for design in SIGNALS
    ]
    base = {design.name: design for design in NULLS}
    known = [
        *SIGNALS,
        *(base[name] for name in ("200 x 5, taste of contexts", "1000 contexts x 1", "200 x 5, independent choices", "beliefs continuous")),
    ]
    plain = [base[name] for name in ("200 x 5, taste of contexts", "1 to 9 repetitions", "60 contexts x 3", "1000 contexts x 1")]
    coverages = []
    for check in INTERVALS:
        for design in known if check in ("residual_covariance", "cmi") else plain:
            if check != "prompt_consistency" or design.n_reps != 1:  # one repetition: noise cannot be removed, and the check says so
                coverages.append(("coverage", check, design, datasets))
    return sizes + powers + coverages


def write(rows: list[dict[str, object]]) -> None:
    """Replace the lines of the same cells."""
    kept = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            kept = list(csv.DictReader(file))
    new = {(row["kind"], row["check"], row["design"]) for row in rows}
    kept = [row for row in kept if (row["kind"], row["check"], row["design"]) not in new]
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows([*kept, *rows])


def page() -> str:
    """Render the results as a page."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    titles = {
        "size": (
            "Size",
            "Share of true nulls rejected at .05. More than a true rate of .05 gives in 99.5% of such runs (exact binomial) is marked.",
        ),
        "power": ("Power", "Share of data sets with a hidden signal that are rejected at .05; 200 contexts x 5 repetitions, taste N(0, 1)."),
        "coverage": ("Coverage", "Share of 95% intervals that hold the truth (hidden signal; information by numerical integration; mean gap 0)."),
    }
    lines = []
    for kind, (title, explanation) in titles.items():
        own = [row for row in rows if row["kind"] == kind]
        checks = list(dict.fromkeys(row["check"] for row in own))
        designs = [d.name for d in (*NULLS, *SIGNALS) if any(row["design"] == d.name for row in own)]
        lines += [f"## {title}", "", explanation, "", "| design | " + " | ".join(checks) + " |", "|---" * (len(checks) + 1) + "|"]
        found = {(row["design"], row["check"]): (int(row["count"]), int(row["datasets"])) for row in own}
        for design in designs:
            texts = []
            for check in checks:
                if (design, check) not in found:
                    texts.append("")
                    continue
                count, n = found[design, check]
                bound = stats.binom.ppf(0.995, n, 0.05) / n
                mark = " **above**" if kind == "size" and count / n > bound else ""
                texts.append(f"{count / n:.3f}{mark}")
            lines.append(f"| {design} | " + " | ".join(texts) + " |")
        numbers = ", ".join(f"{check} {max(found[d, c][1] for d, c in found if c == check)}" for check in checks)
        lines += ["", f"Data sets per cell: {numbers}.", ""]
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=1000, help="data sets per cell")
    parser.add_argument("--few", type=int, default=300, help="data sets per cell of the CatBoost check")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--checks", help="only these, separated by commas")
    parser.add_argument("--kinds", default="size,power,coverage")
    parser.add_argument("--page", type=Path, help="render the results into this page, between its markers, and stop")
    options = parser.parse_args()
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        head, tail = text.split("<!-- table -->")[0], text.split("<!-- end of table -->")[1]
        options.page.write_text(f"{head}<!-- table -->\n\n{page()}\n<!-- end of table -->{tail}", encoding="utf-8")
        return
    wanted = options.checks.split(",") if options.checks else [*CHECKS, *INTERVALS]
    with Parallel(n_jobs=options.jobs, batch_size=1) as parallel:
        for kind, check, design, datasets in cells(options.datasets, options.few):
            if check not in wanted or kind not in options.kinds.split(","):
                continue
            begun = time.monotonic()
            if kind == "coverage":
                truth = INTERVALS[check][1](design)
                jobs = (delayed(covers)(check, design, truth, options.seed, number) for number in range(datasets))
            else:
                jobs = (delayed(rejects)(check, design, options.seed, number) for number in range(datasets))
            count = sum(parallel(jobs))
            row = {"kind": kind, "check": check, "design": design.name, "count": count, "datasets": datasets, "seed": options.seed}
            write([row | {"seconds": round(time.monotonic() - begun)}])
            print(f"{kind:9} {check:22} {design.name:34} {count / datasets:.3f}", flush=True)


if __name__ == "__main__":
    main()
