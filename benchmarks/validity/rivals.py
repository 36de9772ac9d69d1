"""Simulate size and power beside tests that a statistician would write in a few lines.

    PYTHONPATH=. python benchmarks/validity/rivals.py --tables 200 --seed 1

``rivals.csv`` has a line per design and test: the share of the same tables with
p <= .05. Table t of design d draws from the seed [seed, d, t]. ``--alone`` runs the residual
covariance and keeps the lines of the other tests. One core needs about five minutes.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from designs import LIKE_MODELS, NULLS, Design
from parts import residual_covariance
from scipy import stats
from scipy.special import expit
from sklearn.preprocessing import SplineTransformer

from coherence import cmi_test

RESULTS = Path(__file__).parent / "rivals.csv"
N_RESAMPLES = 99
_SOFT = next(design for design in NULLS if design.name == "200 x 5, taste of contexts")
_FEW = next(design for design in NULLS if design.name == "60 contexts x 3")
_HEAPED = next(each for each in LIKE_MODELS if each.name.endswith("slips, heaped and saturated"))
_RARE = next(design for design in NULLS if design.name == "theta rare (5%)")
DESIGNS = [
    replace(design, name=name, signal=signal)
    for design, name, signals in (
        (_SOFT, "200 x 5", (0, 0.04, 0.07, 0.11)),
        (_FEW, "60 x 3", (0, 0.1, 0.18, 0.27)),
        (_HEAPED, "200 x 5, greedy with slips, heaped", (0, 0.03, 0.05, 0.08)),
        (_RARE, "200 x 5, states at 5%", (0, 0.1)),
        (replace(_RARE, n_contexts=60), "60 x 5, states at 5%", (0,)),
    )
    for signal in signals
]
Array = np.ndarray


def splines(belief: Array) -> Array:
    """Return a cubic spline of belief with six columns, which sum to 1."""
    made = SplineTransformer(n_knots=4, degree=3).fit_transform(belief[:, None])
    return made[:, made.any(axis=0)]


def hc3(runs: pd.DataFrame) -> float:
    """Regress the mean of yes minus no of each context on a spline and the state, HC3 errors."""
    score = (runs["action"] == "yes").astype(float) - (runs["action"] == "no")
    mean = runs.assign(score=score).groupby("context")[["p", "theta", "score"]].mean()
    design = np.column_stack([splines(mean["p"].to_numpy()), mean["theta"]])
    inverse = np.linalg.pinv(design.T @ design)
    coefficient = inverse @ design.T @ mean["score"].to_numpy()
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    residual = (mean["score"] - design @ coefficient).to_numpy() / np.maximum(1 - leverage, 1e-6)
    influence = inverse @ (design * residual[:, None]).T
    error = np.sqrt((influence[-1] ** 2).sum())
    return float(2 * stats.t.sf(abs(coefficient[-1]) / error, len(mean) - design.shape[1]))


def _step(design: Array, happened: Array, weight: Array, at: Array) -> tuple[Array, Array]:
    """Take a Newton step of a logit; return where it leads, and the inverse information."""
    share = expit(design @ at)
    spread = weight * share * (1 - share)
    inverse = np.linalg.inv((design * spread[:, None]).T @ design + 1e-6 * np.eye(at.size))
    score = design.T @ (weight * (happened - share)) - 1e-6 * at
    return at + np.clip(inverse @ score, -5, 5), inverse


def logits(runs: pd.DataFrame, rng: np.random.Generator) -> tuple[float, float]:
    """Test the state in a logit of yes on a spline: errors by context, and their bootstrap.

    A resample takes one step from the fit (Davidson and MacKinnon 1999).
    """
    design = np.column_stack([splines(runs["p"].to_numpy()), runs["theta"]])
    happened = (runs["action"] == "yes").to_numpy(dtype=float)
    context = runs["context"].to_numpy()
    at, every = np.zeros(design.shape[1]), np.ones(len(runs))
    for _ in range(25):
        at, inverse = _step(design, happened, every, at)
    n = context.max() + 1
    scores = np.zeros((n, at.size))
    np.add.at(scores, context, design * (happened - expit(design @ at))[:, None])
    error = np.sqrt((inverse @ (scores.T @ scores) @ inverse)[-1, -1] * n / (n - 1))
    counts = rng.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES)
    drawn = [_step(design, happened, count[context], at)[0][-1] for count in counts]
    return tuple(
        float(2 * stats.norm.sf(abs(at[-1]) / each)) for each in (error, np.std(drawn, ddof=1))
    )


def pvalues(design: Design, seed: list[int], alone: bool) -> dict[str, float]:
    """Run every test on one table, or the residual covariance alone."""
    rng = np.random.default_rng(seed)
    runs = design.draw(rng)
    arrays, options = (runs["p"], runs["action"], runs["theta"]), {"context": runs["context"]}
    if alone:
        test = residual_covariance(*arrays, **options, n_draws=999, rng=rng)
        return {"residual covariance": test.pvalue}
    with np.errstate(divide="ignore", invalid="ignore"):  # separation leaves an error of 0
        robust, resampled = logits(runs, rng)
        regression = hc3(runs)
    return {
        "residual covariance": residual_covariance(*arrays, **options, n_draws=999, rng=rng).pvalue,
        "cmi": cmi_test(*arrays, **options, n_permutations=199, rng=rng).pvalue,
        "HC3 regression": regression,
        "spline logit": robust,
        "spline logit, bootstrap": resampled,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="keep the lines of all other tests")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    rows, known = [], pd.read_csv(args.out) if args.alone else None
    for d, design in enumerate(DESIGNS):
        tables = range(args.tables)
        found = pd.DataFrame([pvalues(design, [args.seed, d, t], args.alone) for t in tables])
        common = {"design": design.name, "signal": design.signal}
        for test, rejected in (found <= 0.05).mean().items():
            row = {**common, "test": test, "rejected": rejected}
            rows.append({**row, "tables": args.tables, "seed": args.seed})
        print(*common.values(), *(found <= 0.05).mean().round(3), flush=True)
        table = pd.DataFrame(rows).round(4)
        if known is not None:
            names = ["design", "signal", "test"]
            table = known.merge(table, on=names, how="left", suffixes=("_known", ""))
            for name in ("rejected", "tables", "seed"):
                table[name] = table[name].fillna(table.pop(f"{name}_known"))
            table = table.astype({"tables": int, "seed": int})[known.columns]
        table.to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
