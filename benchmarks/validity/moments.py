"""Simulate the moment test of `sufficiency`, which reports that vary go to.

    PYTHONPATH=. python benchmarks/validity/moments.py --datasets 400 --jobs 2

``moments.csv`` counts, for coherent agents whose reports scatter and for two that know more than
they say, the tests that reject at .05 and at .01 and the intervals that hold a difference of 0.
Data set k draws from the seed [77, design, contexts, k]. On one core 400 data sets need about ten
minutes for each number of contexts.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from designs import SCATTERED, SCATTERED_SIGNALS, Design
from joblib import Parallel, delayed
from parts import moments

SIZES = Path(__file__).parent / "moments.csv"
CONTEXTS = (200, 50)
_REPORTS = next(design for design in SCATTERED if design.name == "reports scatter by .15")
_STEEP = {"noise": 0.1, "taste": 0.0, "slope": 25.0}
_GREEDY = {"noise": 0.1, "taste": 0.0, "slips": 0.05, "defer": -9.0}
# The position in this list seeds a design: new ones go to the end.
DESIGNS = (
    *(design for design in SCATTERED if design.n_contexts == 200),
    *(
        replace(_REPORTS, name=f"reports scatter: {name}", **options)
        for name, options in (
            (".15, four reports", {"n_reps": 4}),
            (".15, three reports", {"n_reps": 3}),
            (".15, two reports", {"n_reps": 2}),
            (".15, miscalibrated", {"calibrated": False}),
            (".15, miscalibrated, three reports", {"calibrated": False, "n_reps": 3}),
            (".15, miscalibrated, two reports", {"calibrated": False, "n_reps": 2}),
            (".15, beliefs crowded near 0 and 1", {"beliefs": "extreme"}),
            (".05, theta rare (5%)", {"noise": 0.05, "beliefs": "rare", "grid": 0.01}),
            (".15, an action at 3%", {"defer": -2.6}),
            (".15, five actions", {"n_actions": 5}),
            (".15, choices unrelated to belief", {"slope": 0.0}),
            (".15, one belief throughout", {"beliefs": "constant"}),
        )
    ),
    *SCATTERED_SIGNALS,
    *(
        replace(_REPORTS, name=f"reports scatter: {name}", **options)
        for name, options in (
            (".1, S-shaped calibration (2), slope 25", {"sharp": 2.0, **_STEEP}),
            (".1, S-shaped calibration (3), slope 25", {"sharp": 3.0, **_STEEP}),
            (".1, S-shaped calibration (2), three reports", {"sharp": 2.0, "n_reps": 3, **_STEEP}),
            (".1, calibration jumps (.7) where choices do", {"step": 0.7, **_GREEDY}),
            (".1, calibration jumps (.8) where choices do", {"step": 0.8, **_GREEDY}),
        )
    ),
)


def tested(design: Design, position: int, n_contexts: int, number: int) -> tuple[float, float]:
    """Return the p-value of one data set and whether its interval holds 0; NaN without a test."""
    rng = np.random.default_rng([77, position, n_contexts, number])
    runs = replace(design, n_contexts=n_contexts).draw(rng)
    arrays = runs["p"], runs["action"], runs["theta"]
    result = moments(*arrays, context=runs["context"])
    if result.interval is None:
        return float("nan"), float("nan")
    return result.pvalue, float(result.interval.low <= 0 <= result.interval.high)


def sizes(n_data_sets: int, run: Callable) -> pd.DataFrame:
    """Count rejections of every design and number of contexts, and intervals that hold 0."""
    lines = []
    for n_contexts in CONTEXTS:
        for position, design in enumerate(DESIGNS):
            drawn = run(
                delayed(tested)(design, position, n_contexts, each) for each in range(n_data_sets)
            )
            p, held = np.array([pair for pair in drawn if not np.isnan(pair[0])]).reshape(-1, 2).T
            counts = (p <= 0.05).sum(), (p <= 0.01).sum(), int(held.sum()), p.size, n_data_sets
            lines.append((design.name, n_contexts, *counts))
            print(*lines[-1], flush=True)
    columns = ["design", "contexts", "rejected", "rejected_01", "held", "tests", "datasets"]
    return pd.DataFrame(lines, columns=columns)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with Parallel(n_jobs=options.jobs) as run:
        sizes(options.datasets, run).to_csv(SIZES, index=False)


if __name__ == "__main__":
    main()
