"""Simulate which of 1,000 models are found to act on more than they say: e-BH and BH.

    PYTHONPATH=. python benchmarks/validity/discoveries.py --leaderboards 1 --seed 1

writes ``benchmarks/validity/discoveries.csv``: a line per leaderboard and number of models that act
on more, with the discoveries at a false discovery rate of .05 by evidence from pairs (e-BH:
Benjamini and Hochberg on one over the evidence at the end), and by the permutation p-values of
`sufficiency_test` with 9,999 draws, and how many of them are false. All models answer the same 200
cases, five choices each, in steps of .05, and are compared with the exact posterior; the others act
on their statement. The ``rare`` leaderboards have one such model of 1,000, whose weight is 1. One
core needs about three minutes a leaderboard.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit, logit

from coherence import benjamini_hochberg, sequential_test, sufficiency_test

RESULTS = Path(__file__).with_suffix(".csv")
MODELS, CASES, REPS, DRAWS = 1_000, 200, 5, 9_999


def of_model(exact: np.ndarray, weight: float, seed: list[int]) -> tuple[float, float]:
    """Return the evidence and the permutation p-value of a model."""
    rng = np.random.default_rng(seed)
    said = np.round(20 * expit(logit(exact) + 0.9 * rng.normal(size=CASES))) / 20
    utility = 6 * (said + weight * (exact - said) - 0.5) + 0.6 * rng.normal(size=CASES)
    share = rng.binomial(REPS, expit(utility)) / REPS
    context = np.repeat(np.arange(CASES), REPS)
    action = (np.tile(np.arange(REPS), CASES) < np.repeat(REPS * share, REPS) - 1e-9).astype(int)
    table = {"belief": said[context], "action": action, "exact": exact[context], "context": context}
    log = sequential_test(**table, evidence=20).statistic
    fixed = sufficiency_test(**table, n_draws=DRAWS, rng=rng).pvalue
    return (0.0 if np.isnan(log) else float(np.exp(log))), fixed


def main() -> None:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaderboards", type=int, default=1)
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    rows = []
    for board in range(args.leaderboards):
        exact = expit(1.5 * np.random.default_rng([args.seed, board]).normal(size=CASES))
        # The first 100 act on more at .4, the next at 1; each board takes those it is about.
        weights = [0.4] * (args.models // 10) + [1.0] + [0.0] * (args.models - args.models // 10)
        run = (
            delayed(of_model)(exact, weight, [args.seed, board, number])
            for number, weight in enumerate(weights)
        )
        evidence, pvalue = np.array(Parallel(n_jobs=args.jobs)(run)).T
        weight = np.array(weights)
        n_null = args.models - args.models // 10
        nulls = np.flatnonzero(weight == 0)
        for name, there in (
            ("a tenth", np.flatnonzero(weight == 0.4)),
            ("rare", np.flatnonzero(weight == 1)),
        ):
            kept = np.concatenate([there, nulls[:n_null]])
            found = {
                "e-BH": benjamini_hochberg(np.minimum(1, 1 / np.maximum(evidence[kept], 1e-300))),
                "BH": benjamini_hochberg(pvalue[kept]),
            }
            for method, adjusted in found.items():
                rejected = adjusted <= 0.05
                false = int(rejected[len(there) :].sum())
                n = int(rejected.sum())
                row = {"leaderboard": board, "act on more": name, "models": len(kept)}
                row |= {"there": len(there), "method": method, "found": n, "false": false}
                rows.append(row | {"false share": round(false / max(n, 1), 4), "seed": args.seed})
                print(*rows[-1].values(), flush=True)
    pd.DataFrame(rows).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
