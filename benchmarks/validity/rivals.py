"""Simulate size and power beside tests that a statistician would write in a few lines.

    PYTHONPATH=. python benchmarks/validity/rivals.py --tables 400 --seed 1

``rivals.csv`` has a line per design, state and test: the share of the same tables with p <= .05,
and the share below the .05 point that p has in the tables of the design without an effect
(``at_size``): power at equal size. One core needs about ten minutes.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from one_null import Design, log_odds_times
from scipy import stats
from scipy.special import expit
from sklearn.preprocessing import SplineTransformer
from study import Cell, Line, study

from coherence import sufficiency_test

D = Design
Array = np.ndarray


def jump(b: Array, at: float = 0.5) -> Array:
    return np.where(b > at, 0.9, 0.1)


def crowded(b: Array) -> Array:
    """Crowd middling beliefs at one half, where what happens then jumps."""
    away = np.abs(b - 0.5)
    return 0.5 + np.sign(b - 0.5) * np.where(away < 0.3, 0.03 * away, 0.009 + 2.45 * (away - 0.3))


# Each first as a null, then with an effect; designs of size alone have one line.
PAIRS = {
    "60 x 5": (D(60, 5), {"weight": 0.5}),
    "100 x 3": (D(100, 3), {"weight": 0.5}),
    "40 x 3": (D(40, 3), {"weight": 1.0}),
    "60 x 5, whole percents": (D(60, 5, grid=0.01), {"weight": 0.5}),
    "60 x 5, steps of .1": (D(60, 5, grid=0.1), {"weight": 0.5}),
    "100 x 5, tastes": (D(100, 5, taste=1.5), {"weight": 0.5}),
    "100 x 5, turning": (D(100, 5), {"weight": 1.5, "turns": True}),
}
NULLS = {
    "100 x 5, overconfident": D(100, 5, partial(log_odds_times, k=2)),
    "100 x 5, steep choice": D(100, 5, slope=25),
    "60 x 5, choice jumps": D(60, 5, choice=jump),
    "200 x 5, choice jumps": D(200, 5, choice=jump),
    "60 x 5, choice and calibration jump": D(60, 5, crowded, choice=jump),
    "200 x 5, choice and calibration jump": D(200, 5, crowded, choice=jump),
}


def splines(belief: Array) -> Array:
    """Return a cubic spline of belief with five degrees of freedom beside the constant."""
    made = SplineTransformer(n_knots=4, degree=3).fit_transform(belief[:, None])
    return made[:, made.any(axis=0)]


def left(design: Array, values: Array) -> Array:
    """Return what a least-squares fit leaves."""
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def gcm(belief: Array, share: Array, state: Array) -> float:
    """Generalised covariance measure (Shah and Peters 2020), splines taken out of both."""
    product = left(splines(belief), share) * left(splines(belief), state)
    return float(2 * stats.norm.sf(np.sqrt(len(product)) * abs(product.mean()) / product.std()))


def hc3(belief: Array, share: Array, state: Array) -> float:
    """Regress the share of yes on a spline and the state, HC3 errors."""
    design = np.column_stack([splines(belief), state])
    inverse = np.linalg.pinv(design.T @ design)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    fit = inverse @ design.T @ share
    residual = (share - design @ fit) / np.maximum(1 - leverage, 1e-6)
    error = np.sqrt((((inverse @ design.T)[-1] * residual) ** 2).sum())
    return float(2 * stats.t.sf(abs(fit[-1]) / error, len(share) - design.shape[1]))


def spline_logit(belief: Array, share: Array, state: Array, times: Array) -> float:
    """Test the state in a logit of yes on a spline, errors by case."""
    design = np.column_stack([splines(belief), state])
    at = np.zeros(design.shape[1])
    for _ in range(25):
        chance = expit(design @ at)
        spread = times * chance * (1 - chance)
        inverse = np.linalg.inv((design * spread[:, None]).T @ design + 1e-6 * np.eye(at.size))
        score = design.T @ (times * (share - chance)) - 1e-6 * at
        at = at + np.clip(inverse @ score, -5, 5)
    scores = design * (times * (share - expit(design @ at)))[:, None]
    n = len(share)
    error = np.sqrt((inverse @ (scores.T @ scores) @ inverse)[-1, -1] * n / (n - 1))
    return float(2 * stats.norm.sf(abs(at[-1]) / error))


def pcm(belief: Array, share: Array, state: Array, rng: np.random.Generator) -> float:
    """Projected covariance measure (Lundborg et al. 2024): a direction from half of the cases."""
    basis, half = splines(belief), rng.permutation(len(share)) < len(share) / 2
    both = np.hstack([basis, basis * state[:, None]])
    learnt = np.linalg.lstsq(both[half], share[half], rcond=None)[0]
    direction, rest = (both @ learnt)[~half], basis[~half]
    product = left(rest, direction) * left(rest, share[~half])
    return float(stats.norm.sf(np.sqrt(len(product)) * product.mean() / product.std()))


def pvalues(design: Design, seed: list[int]) -> dict[str, float]:
    """Run every test on one table; those of a few lines take cases by mean and share."""
    rng = np.random.default_rng(seed)
    arrays = design.table(rng)
    rows = pd.DataFrame(arrays).assign(action=arrays["action"] == "yes").groupby("context")
    belief, share, state = (
        rows[name].mean().to_numpy(float)
        for name in ("belief", "action", "exact" if design.exact else "truth")
    )
    said, acts = arrays.pop("belief"), arrays.pop("action")
    own = sufficiency_test(said, acts, **arrays, computed=design.said_again, n_draws=999, rng=rng)
    times = rows.size().to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):  # separation leaves an error of 0
        return {
            "sufficiency": own.pvalue,
            "its direction": own.settings.get("p_beyond", 1.0),
            "GCM": gcm(belief, share, state),
            "HC3 regression": hc3(belief, share, state),
            "spline logit": spline_logit(belief, share, state, times),
            "PCM": pcm(belief, share, state, rng),
        }


def both(designs: tuple[Design, ...], seed: list[int]) -> list[dict[str, float]]:
    """Test a table without an effect, and one with it."""
    run, cell, number = seed
    return [pvalues(of, [run, cell, effect, number]) for effect, of in enumerate(designs)]


def read(found: list[list[dict[str, float]]]) -> list[Line]:
    """Return shares below .05, and below the .05 point of tables without an effect."""
    lines, tables = [], [pd.DataFrame(list(each)).fillna(1.0) for each in zip(*found, strict=True)]
    point = tables[0].quantile(0.05)
    for effect, of in enumerate(tables):
        for test in of.columns:
            low, at_size = (of[test] <= 0.05).mean(), (of[test] <= point[test]).mean()
            lines.append({"effect": effect, "test": test, "rejected": low, "at_size": at_size})
    return lines


if __name__ == "__main__":
    pairs = {name: (null, replace(null, **effect)) for name, (null, effect) in PAIRS.items()}
    pairs |= {name: (null,) for name, null in NULLS.items()}
    cells = [
        Cell(
            {"design": name, "state": "exact" if exact else "realised"},
            partial(both, tuple(replace(design, exact=exact) for design in designs)),
            key=(2 * place + exact,),
        )
        for place, (name, designs) in enumerate(pairs.items())
        for exact in (True, False)
    ]
    study("rivals", cells, read, tables=400, count="tables")
