"""Tests whether flips are independent: those of one answer, and those of answers in a row.

The second flip of an answer is tested against its first, and an answer against the one before it.
Both tests are exact and condition on how often each outcome came within a condition, so that
neither the calibration of the rates nor their difference between conditions matters, and both add
their counts over conditions. Nothing is drawn: the distributions are convolutions of known ones.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from coherence.batteries.mixing.answers import Counts, plain_text
from coherence.inputs import Floats
from coherence.table.schema import READABLE

_TABLE = ("model", "test", "observed", "expected", "excess", "pvalue", "pairs")


def flip_dependence(counts: Floats) -> tuple[float, float, float]:
    """Test whether the second flip of an answer depends on the first.

    Null: within every condition the flips of an answer are independent; their rates may be any.

    Assumes independent answers. Conditions with opposite dependence can cancel.

    Cochran-Mantel-Haenszel test with the exact distribution of the sum of hypergeometric counts.
    """
    pairs = np.rint(counts).astype(int)
    total = int(pairs.sum())
    if total == 0:
        return math.nan, math.nan, math.nan
    equal, expected = 0.0, 0.0
    chances, start = np.ones(1), 0
    for neither, second, first, both in pairs:
        n, ones_first, ones_second = neither + second + first + both, first + both, second + both
        low, high = max(0, ones_first + ones_second - n), min(ones_first, ones_second)
        support = np.arange(low, high + 1)
        # Given how often each flip was 1, the answers 11 are hypergeometric.
        chance = stats.hypergeom.pmf(support, n, ones_first, ones_second) if n else np.ones(1)
        # Given the margins, the number of equal flips is n - ones_first - ones_second + 2 * both.
        equal += neither + both
        expected += n - ones_first - ones_second + 2 * float(chance @ support)
        chances, start = np.convolve(chances, chance), start + low
    return (
        float(equal / total),
        float(expected / total),
        _two_sided(chances, int(pairs[:, 3].sum()) - start),
    )


def draw_dependence(sequences: Sequence[Sequence[int]]) -> tuple[float, float, float]:
    """Test whether an answer depends on the one drawn before it.

    Null: within every condition all orders of its answers are equally probable.

    Wald and Wolfowitz (1940), On a test whether two samples are from the same population, Ann.
    Math. Statist. 11(2): the distribution of runs.
    """
    runs, pairs, chances, start, mean = 0, 0, np.ones(1), 0, 0.0
    for sequence in sequences:
        drawn = np.asarray(sequence, dtype=int)
        if drawn.size < 2:
            continue
        # Neighbours are equal wherever no new run begins, so that runs tell the equal pairs.
        low, chance = _run_distribution(int(drawn.sum()), int(drawn.size - drawn.sum()))
        runs += 1 + int(np.count_nonzero(np.diff(drawn)))
        pairs += drawn.size - 1
        mean += drawn.size - float(chance @ np.arange(low, low + chance.size))
        chances, start = np.convolve(chances, chance), start + low
    if pairs == 0:
        return math.nan, math.nan, math.nan
    equal = sum(len(sequence) for sequence in sequences if len(sequence) > 1) - runs
    return float(equal / pairs), float(mean / pairs), _two_sided(chances, runs - start)


def _run_distribution(ones: int, zeros: int) -> tuple[int, Floats]:
    """Return the least number of runs, and the probabilities of it and of every larger number."""
    if min(ones, zeros) == 0:
        return 1, np.ones(1)
    number = np.arange(2, ones + zeros + 1)
    half = number // 2
    # An even number of runs has as many of ones as of zeros; an odd one has one more of either.
    even = math.log(2) + _log_choices(ones - 1, half - 1) + _log_choices(zeros - 1, half - 1)
    odd = np.logaddexp(
        _log_choices(ones - 1, half) + _log_choices(zeros - 1, half - 1),
        _log_choices(ones - 1, half - 1) + _log_choices(zeros - 1, half),
    )
    ways = np.where(number % 2 == 0, even, odd)
    return 2, np.asarray(special.softmax(ways))


def _log_choices(n: int, k: NDArray[np.int64]) -> Floats:
    """Return logarithms of binomial coefficients, minus infinity where there is none to choose."""
    # The coefficients themselves leave the range of a float from about a thousand answers on.
    inside = k <= n
    k = np.minimum(k, n)
    choices = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(inside, choices, -np.inf)


def _two_sided(chances: Floats, observed: int) -> float:
    """Return the probability of a count at least as far from its mean; NaN for a single count."""
    if chances.size < 2:
        return math.nan
    distance = np.abs(np.arange(chances.size) - float(chances @ np.arange(chances.size)))
    # Counts as far on the other side must not be lost to rounding.
    return min(float(chances[distance >= distance[observed] - 1e-9].sum()), 1.0)


def dependence_table(answers: pd.DataFrame, counted: dict[str, dict[str, Counts]]) -> pd.DataFrame:
    """Return both tests for every model whose answers allow them."""
    rows = []
    for model, parts in counted.items():
        if "two_flips" in parts and not parts["two_flips"].exact:
            weights = parts["two_flips"].weights
            result = (*flip_dependence(weights), float(weights.sum()))
            rows.append((model, "second flip given the first", *result))
        sequences = _sequences(answers, model) if "flip" in parts else []
        if sequences:
            n_pairs = float(sum(len(sequence) - 1 for sequence in sequences))
            result = (*draw_dependence(sequences), n_pairs)
            rows.append((model, "flip given the draw before", *result))
    table = pd.DataFrame(rows, columns=[name for name in _TABLE if name != "excess"])
    table.insert(4, "excess", table["observed"] - table["expected"])
    return table


def _sequences(answers: pd.DataFrame, model: str) -> list[list[int]]:
    """Return the single flips of a model in the order of their draws, condition by condition."""
    if "draw" not in answers.columns:
        return []
    # Numbers that came as text would stand in the order 1, 10, 100, 2; and p is rounded as in
    # `count_answers`.
    draw = pd.to_numeric(answers["draw"], errors="coerce")
    p = pd.to_numeric(answers["p"], errors="coerce").astype(float).round(9)
    kept = (answers["experiment"] == "flip") & draw.notna() & answers["answer"].notna()
    if "model" in answers.columns:
        kept &= plain_text(answers["model"]) == model
    # Rows of several answers do not say in which order these came.
    if "count" in answers.columns and (pd.to_numeric(answers.loc[kept, "count"]) != 1).any():
        return []
    if "status" in answers.columns:
        kept &= answers["status"].isin(READABLE)
    ones = answers["answer"].astype(str).str.strip().str.startswith("1").astype(int)
    flips = pd.DataFrame({"p": p, "draw": draw, "one": ones})[kept]
    in_order = flips.sort_values("draw", kind="stable")
    return [rows["one"].tolist() for _, rows in in_order.groupby("p")]
