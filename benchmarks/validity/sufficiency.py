"""Size, power and coverage of the primary test and of the effects beside it.

    PYTHONPATH=. python benchmarks/validity/sufficiency.py --tables 200 --seed 1 --jobs 2

writes ``sufficiency.csv``. The nulls are the coherent agents of ``exact_state.py``;
in the alternatives choices follow the stated belief and a weight of what the exact posterior adds
to it (in ``turn`` with the other sign below one half). A line has the rejections at .05 of the
direction, of the turn and of the two together, and of points, hidden share and plain average the
true value (of 400,000 cases), how many tables have an interval, how many of these hold it, and
their median half width.
"""

from collections.abc import Iterator
from functools import cache, partial
from itertools import product

import numpy as np
from exact_state import KINDS, null
from scipy.special import expit, softmax
from study import Cell, Line, study

from coherence import CheckResult, sufficiency_test

SIZES, WEIGHTS = (60, 200), (0.2, 0.5)
SHAPES = ("continuous", "grid", "steep", "jump", "turn", "three actions")
EFFECTS = ("points", "hidden_share", "plain_average")


def drawn(shape: str, n: int, weight: float, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw statements, exact posteriors and probabilities of actions."""
    odds = 1.5 * rng.normal(size=n)
    exact, said = expit(odds), expit(odds + 0.9 * rng.normal(size=n))
    if shape == "grid":
        said = np.round(20 * said) / 20
    level = np.zeros(n)
    if shape == "jump":
        said = rng.random(n)
        level = 0.25 + 0.5 * (said > 0.5)
        exact = np.clip(level + 0.15 * rng.normal(size=n), 0.01, 0.99)
    more = weight * (exact - said)
    if shape == "three actions":
        acted = said + more
        utility = np.stack([6 * (acted - 0.6), 6 * (0.4 - acted), np.full(n, 0.5)], axis=1)
        return said, exact, softmax(utility + 0.6 * rng.normal(size=(n, 3)), axis=1)
    slope = 20 if shape == "steep" else 6
    utility = slope * (said + more - 0.5)
    if shape == "turn":
        utility = 6 * (said - 0.5) + 6 * more * np.sign(said - 0.5)
    if shape == "jump":
        utility = np.where(said > 0.5, 1.7, -1.7) + 6 * weight * (exact - level)
    share = expit(utility + 0.6 * rng.normal(size=n))
    return said, exact, np.column_stack([1 - share, share])


@cache
def truths(shape: str, weight: float) -> tuple[float, float, float]:
    """Return points, hidden share and plain average of very many cases."""
    n, bins = 400_000, 400
    said, exact, share = drawn(shape, n, weight, np.random.default_rng(0))
    shown = share[:, 0] if share.shape[1] == 3 else share[:, 1]
    design = np.column_stack([np.ones(n), share[:, 1:]])
    score = design @ np.linalg.lstsq(design, exact)[0] if share.shape[1] == 3 else shown
    cell = np.minimum((bins * said).astype(int), bins - 1)
    counts = np.maximum(np.bincount(cell, minlength=bins), 1)

    def mean(values: np.ndarray) -> np.ndarray:
        return (np.bincount(cell, values, minlength=bins) / counts)[cell]

    def within(values: np.ndarray) -> np.ndarray:
        return mean((values - mean(values)) * (exact - mean(exact)))

    open_state = np.clip(mean(exact), 0.02, 0.98)
    open_state *= 1 - open_state
    points = within(shown).mean() / open_state.mean()
    hidden = within(score).mean() / np.cov(score, exact)[0, 1]
    return float(points), float(hidden), float((within(shown) / open_state).mean())


def numbers(result: CheckResult) -> list[float]:
    """Return p-values, and the ends of the intervals of the effects."""
    settings, interval = result.settings, result.interval
    found = [settings.get(name, np.nan) for name in ("p_direction", "p_turn")] + [result.pvalue]
    found += [np.nan, np.nan] if interval is None else [interval.low, interval.high]
    for name in EFFECTS[1:]:
        found += [result.also[name].low, result.also[name].high]
    return found


def of_null(kind: str, n: int, state: str, seed: list[int]) -> list[float]:
    """Test one coherent agent."""
    rng = np.random.default_rng(seed)
    table = null(kind, n, rng)
    if state == "theta":
        exact = table.pop("exact")
        context = table.get("context", np.arange(len(exact)))
        table["truth"] = (rng.random(context.max() + 1)[context] < exact).astype(int)
    return numbers(sufficiency_test(**table, n_draws=999, positive=1, rng=rng))


def of_study(shape: str, n: int, weight: float, state: str, seed: list[int]) -> list[float]:
    """Test one study, five choices a case."""
    rng = np.random.default_rng(seed)
    said, exact, share = drawn(shape, n, weight, rng)
    context = np.tile(np.arange(n), 5)
    action = (rng.random((5 * n, 1)) > share.cumsum(axis=1)[context]).sum(axis=1)
    action = np.minimum(action, share.shape[1] - 1)
    options = {"context": context, "n_draws": 999, "rng": rng}
    if state == "exact":
        return numbers(sufficiency_test(said[context], action, exact=exact[context], **options))
    truth = (rng.random(n) < exact).astype(int)[context]
    return numbers(sufficiency_test(said[context], action, truth, **options))


def read(values: list[tuple[list[float], tuple[float, float, float]]]) -> list[Line]:
    """Summarise the tables of a cell."""
    found, true = np.array([each for each, _ in values]), values[0][1]
    shares = (found[:, :3] <= 0.05).mean(axis=0)
    row: Line = dict(zip(("direction", "turn", "together"), shares, strict=True))
    for at, (name, value) in enumerate(zip(EFFECTS, true, strict=True)):
        low, high = found[:, 3 + 2 * at : 5 + 2 * at].T
        known = ~np.isnan(low)
        row |= {name: value, f"{name}_given": known.mean()}
        holds = (low[known] - 1e-12 <= value) & (value <= high[known] + 1e-12)
        row[f"{name}_held"] = holds.mean() if known.any() else np.nan
        row[f"{name}_half"] = np.median(high[known] - low[known]) / 2 if known.any() else np.nan
    return [row]


def table(
    what: str, shape: str, n: int, weight: float, state: str, seed: list[int]
) -> tuple[list[float], tuple[float, float, float]]:
    """Test one table; beside it the true values."""
    if what == "null":
        return of_null(shape, n, state, seed), (0.0, 0.0, 0.0)
    return of_study(shape, n, weight, state, seed), truths(shape, weight)


def cells() -> Iterator[Cell]:
    """Yield coherent agents, then the others."""
    shapes = [("null", kind, (0.0,)) for kind in KINDS], [("study", of, WEIGHTS) for of in SHAPES]
    for of_kind in shapes:
        for state, (what, shape, weights) in product(("exact", "theta"), of_kind):
            for weight, n in product(weights, SIZES):
                about = {"design": shape, "cases": n, "weight": weight, "state": state}
                yield Cell(about, partial(table, what, shape, n, weight, state))


if __name__ == "__main__":
    study("sufficiency", cells(), read, tables=200, count="tables")
