"""Scores of the battery: published and corrected, with attainable ceiling, intervals and bounds.

A score is points times (1 - loss), held between 0 and the points. The ceiling is what a faultless
sampler (every rate the instructed one) gets on average with as many draws, exactly. Intervals are
for the corrected score at the true rates, with the answer as the cluster of resampling; bounds are
over all that unparsed answers might have been. An exact test says whether the second flip of an
answer depends on the first; it conditions on how often each came within a condition, so that
neither the calibration of the rates nor their difference between conditions matters.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.batteries.mixing.design import (
    EXPERIMENTS,
    FLIPS,
    GAMES,
    PARTS,
    Counts,
    check_answers,
    count_checked,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)
from coherence.batteries.mixing.losses import Measure, measures_of
from coherence.inputs import Floats, whole_number
from coherence.statistics.resample import Seed, as_generator
from coherence.statistics.shares import NORMAL_QUANTILE

LEAST_DRAWS = 2
"""Readable answers that every condition needs: a single one shows no noise, and without noise
nothing can be taken out."""
FEWEST_IN_ORDER = 20
"""Draws of every condition from which the order of rates has an interval: of 3 it held .54, of 10
.88 of sessions."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A corrected loss and its uncertainty."""

    points: float  # points of the measure
    loss: float  # corrected loss
    # shape (n_resamples,): the same at rates drawn around the observed ones; shape (1,) where rates
    # are exact
    resampled: Floats
    # by how much the true loss may lie below and above the corrected one besides, see
    # `coherence.batteries.mixing.losses`.
    doubt: tuple[float, float]

    @property
    def score(self) -> float:
        """The corrected score."""
        return _points(self.points, self.loss)

    @property
    def reach(self) -> float:
        """Half the width of a 95% interval from noise alone; 0 where rates are exact."""
        return _reach(self.resampled)

    @property
    def exact(self) -> bool:
        """Whether rates are exact, so that the loss is known and has no interval."""
        return self.resampled.size == 1 and not any(self.doubt)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the loss, at least 0, or at least the estimate where that is below 0."""
        # An estimate below 0 says nothing about how far above 0 the loss may be.
        low = min(max(self.loss - self.reach - self.doubt[0], 0.0), self.loss)
        return low, max(self.loss, 0.0) + self.reach + self.doubt[1]


def estimate(
    counts: Counts, measures: Sequence[Measure], n_resamples: int, rng: np.random.Generator
) -> list[Estimate]:
    """Estimate the corrected losses of a part."""
    shares, draws = counts.shares, counts.draws
    if (draws < LEAST_DRAWS).any():
        unknown = (np.nan, np.full(1, np.nan), (np.nan, np.nan))
        return [Estimate(measure.points, *unknown) for measure in measures]
    drawn = _resample(counts, n_resamples, rng)
    return [
        Estimate(
            measure.points,
            float(measure.corrected.value(shares, draws)),
            measure.corrected.value(drawn, draws),
            measure.corrected.doubt(shares, draws),
        )
        for measure in measures
    ]


def score_interval(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return the 95% interval of the sum of the corrected scores; NaN where rates are exact."""
    # Summed exactly, as in the table of scores, which the interval is to hold to the last digit.
    score = math.fsum(measure.score for measure in estimates)
    if np.isnan(score) or all(measure.exact for measure in estimates):
        return np.nan, np.nan
    # Scores are not capped here: chance lifts some above their points and takes others below 0, and
    # caps would pull all of them the same way. But what is below 0 beyond doubt is worth 0, however
    # far below.
    near = [measure for measure in estimates if measure.interval[0] < 1]
    resampled = [measure.points * (1 - measure.resampled) for measure in near]
    reach = _reach(np.sum(np.broadcast_arrays(*resampled), axis=0)) if near else 0.0
    centres = [measure.points * (1 - measure.loss) for measure in near]
    most = sum(measure.points for measure in estimates)
    # Doubts of measures lean the same way, so that they add up: taken for independent errors they
    # leave the games covered 91% of the time.
    above, below = (
        sum(measure.points * measure.doubt[side] for measure in near) for side in (0, 1)
    )
    low = min(sum(centres), most) - reach - below
    high = sum(max(centre, 0.0) for centre in centres) + reach + above
    low, high = np.clip([low, high], 0, most)
    return min(float(low), score), max(float(high), score)


def _resample(counts: Counts, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw rates around the observed ones, shape (n_resamples, n_conditions, n_outcomes).

    Exact rates and unknown ones stay what they are.
    """
    if counts.exact:
        return np.broadcast_to(counts.shares, (1, *counts.shares.shape))
    total = counts.parsed[:, None]
    # One answer more, spread over all outcomes, so that answers that are all equal still have some
    # spread; and less weight in all, so that the rates vary as the unbiased estimate of their
    # variance says, which for few answers is more.
    weights = (
        (counts.weights + 1 / counts.weights.shape[1]) * np.maximum(total - 2, 1) / (total + 1)
    )
    # Gamma variables divided by their sum are Dirichlet.
    gamma = rng.gamma(weights, size=(n_resamples, *counts.weights.shape))
    drawn = gamma / gamma.sum(axis=2, keepdims=True)
    drawn[:, counts.parsed == 0] = np.nan
    return np.asarray(drawn)


def _reach(values: Floats) -> float:
    return NORMAL_QUANTILE * float(np.std(values, ddof=1)) if values.size > 1 else 0.0


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


def _two_sided(chances: Floats, observed: int) -> float:
    """Return the probability of a count at least as far from its mean; NaN for a single count."""
    if chances.size < 2:
        return math.nan
    distance = np.abs(np.arange(chances.size) - float(chances @ np.arange(chances.size)))
    # Counts as far on the other side must not be lost to rounding.
    return min(float(chances[distance >= distance[observed] - 1e-9].sum()), 1.0)


def dependence_table(counted: dict[str, dict[str, Counts]]) -> pd.DataFrame:
    """Return the test of independence for every model whose answers allow it."""
    rows = []
    for model, parts in counted.items():
        if "two_flips" in parts and not parts["two_flips"].exact:
            weights = parts["two_flips"].weights
            observed, expected, pvalue = flip_dependence(weights)
            found = (observed, expected, observed - expected, pvalue, float(weights.sum()))
            rows.append((model, "second flip given the first", *found))
    names = ["model", "test", "observed", "expected", "excess", "pvalue", "pairs"]
    return pd.DataFrame(rows, columns=names)


@dataclass(frozen=True, eq=False)
class MixingScores:
    """What `score_mixing` returns: tables, unrounded.

    Parameters
    ----------
    experiments : DataFrame
        One row per model and experiment and one for the total (`experiment` 0): `points`,
        `published`, `ceiling` (expected published score of a faultless sampler with as many draws
        that takes p for the rate everywhere), `equilibrium` (that of one that plays the games at
        their equilibrium), `corrected`, `low`, `high` (95% interval of the corrected score; NaN
        where rates are exact), `worst`, `best` (published score over all that unparsed answers
        might have been),
        `answers`, `refused`, `unread` (shares of the answers).
    measures : DataFrame
        The same by measure, with the losses `published_loss` and `corrected_loss` (S, one minus
        direction, position and preference); chance may take a corrected loss below 0, and
        `loss_low` then with it. `loss_low` and `loss_high` hold the 95% interval, NaN where
        rates are exact, and of directions below 20 draws, where it held .54 to .88.
    curves : DataFrame
        One row per model, part, condition and rate: `p`, `item`, `order`, `quantity`, `rate` (among
        the parsed answers), `rate_least`, `rate_most` (over all that unparsed answers might
        have been), `target`, `optimum`, `draws`, `refused`, `unread` (shares of the answers to the
        condition).
    dependence : DataFrame
        Test of independence, see `flip_dependence`.
    notes : tuple of str
        Why corrected scores are NaN where published ones need not be; names of models are as they
        came.
    """

    experiments: pd.DataFrame
    measures: pd.DataFrame
    curves: pd.DataFrame
    dependence: pd.DataFrame
    notes: tuple[str, ...] = ()


def score_mixing(
    answers: pd.DataFrame, *, n_resamples: int = 1000, rng: Seed = None
) -> MixingScores:
    """Score a table of answers.

    Parameters
    ----------
    answers : DataFrame
        A row for each answer, or for `count` equal ones, of one or several models to all or some
        of the experiments. `experiment` is flip, two_flips, three_outcomes, reads, pennies,
        positioning or words; `p` the probability of 1 (flips), of 0 (three outcomes), of A
        (reads), or in a game the payoff of heads or luxury, where the other pays 1 - p; `answer`
        0 or 1, "0 1", 0 to 2, A or B, heads or tails, luxury or affordable, or the word, empty if
        unparsed. Words have `item` ("cat/dog") and `order` (forward, or reverse where dog was
        listed first). Optional: `model`, `draw` (number of the draw), `status`, `count`, and
        `probability`, the exact rate of the outcome in place of single answers. At most 10,000
        answers to a condition.
    n_resamples : int
        Resamples for the intervals, at least 100.
    rng : Generator, int or None
        Source of the resamples.

    Returns
    -------
    MixingScores
        Scores are NaN where a condition has no parsed answer, corrected ones where drawn answers
        are fewer than two, and totals where an experiment is missing.

    Raises
    ------
    SchemaError
        The table breaks a rule.
    InputError
        Too few conditions to score a part.

    Notes
    -----
    Assumes independent answers; the table `dependence` tests that as far as it can be tested. The
    resamples draw the rates of a condition from a Dirichlet distribution around the observed counts
    (total prior weight of one answer, so that answers that are all equal still have some spread;
    variance as of the unbiased estimate). The interval reaches 1.96 of their standard deviations to
    either side of the corrected score, before the points of single measures are capped; it reaches
    further down by what corrected distances fall short of the true ones, and to both sides for
    directions, by the size of their correction: rates that differ by less than their noise cannot
    be put in order. ``benchmarks/validity/mixing.py`` counts how often it covers.

    Examples
    --------
    >>> from coherence.batteries.mixing.design import expected_answers
    >>> scores = score_mixing(expected_answers("argmax"), rng=0)
    >>> scores.experiments.loc[scores.experiments["experiment"] == 3, "published"].round(2).tolist()
    [11.85]
    """
    whole_number(n_resamples, "n_resamples", 100)
    generator = as_generator(rng)
    table = check_answers(answers)
    counted = count_checked(table)
    measures: list[dict[str, Any]] = []
    experiments: list[dict[str, Any]] = []
    for model, parts in counted.items():
        # One generator per model, so that its interval does not depend on the others.
        (child,) = generator.spawn(1)
        in_order = [parts[name] for name in PARTS if name in parts]
        rows, estimates = _score_parts(model, in_order, n_resamples, child)
        measures += rows
        experiments += _sum_up(model, rows, estimates, parts)
    curves = [_curves(model, part) for model, parts in counted.items() for part in parts.values()]
    return MixingScores(
        pd.DataFrame(experiments),
        pd.DataFrame(measures),
        pd.concat(curves, ignore_index=True),
        dependence_table(counted),
        tuple(note for model, parts in counted.items() for note in _too_few(model, parts)),
    )


def _too_few(model: str, parts: dict[str, Counts]) -> list[str]:
    """Say which parts have conditions that were read, but too seldom for a corrected score."""
    notes = []
    for counts in parts.values():
        few = int(((counts.draws > 0) & (counts.draws < LEAST_DRAWS)).sum())
        if few:
            title = PARTS[counts.part].title
            notes.append(
                f"{f'{model}, ' if model else ''}{title}: no corrected score, "
                f"for {few} of {len(counts.draws)} conditions have fewer than {LEAST_DRAWS} "
                "parsed answers, which show no noise to take out. "
                "Draw more answers, or give exact rates."
            )
    return notes


def _score_parts(
    model: str, parts: list[Counts], n_resamples: int, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], list[Estimate]]:
    """Return a row of the table of measures for every measure, and its estimate."""
    rows, estimates = [], []
    for counts in parts:
        measures = measures_of(counts)
        literal = literal_shares(counts.part, counts.p)
        equilibrium = equilibrium_shares(counts.part, counts.p)
        corrected = estimate(counts, measures, n_resamples, rng)
        for measure, loss in zip(measures, corrected, strict=True):
            few = measure.name == "direction" and counts.draws.min() < FEWEST_IN_ORDER
            known = not loss.exact and not few
            loss_low, loss_high = loss.interval if known else (math.nan, math.nan)
            published = float(measure.published.value(counts.shares, counts.draws))
            best, worst = measure.published.bounds(counts.shares, counts.unparsed)
            rows.append(
                {
                    "model": model,
                    "experiment": PARTS[counts.part].number,
                    "part": counts.part,
                    "measure": measure.name,
                    "points": measure.points,
                    "published_loss": published,
                    "corrected_loss": loss.loss,
                    "published": _points(measure.points, published),
                    "ceiling": _expected(counts, measure, literal),
                    "equilibrium": _expected(counts, measure, equilibrium),
                    "corrected": loss.score,
                    "worst": _points(measure.points, worst),
                    "best": _points(measure.points, best),
                    "loss_low": loss_low,
                    "loss_high": loss_high,
                }
            )
            estimates.append(loss)
    return rows, estimates


def _points(points: float, loss: float) -> float:
    """Return the score of a measure, held between 0 and its points."""
    return float(points * np.clip(1 - loss, 0, 1))


def _expected(counts: Counts, measure: Measure, shares: Floats) -> float:
    """Return the expected published points of a sampler with these rates and as many draws."""
    if (counts.draws < 1).any():
        return math.nan
    # A score cuts off a loss above 1, an expectation does not: below four draws a lower bound.
    return _points(measure.points, measure.published.expected(shares, counts.draws))


def _sum_up(
    model: str, rows: list[dict[str, Any]], estimates: list[Estimate], parts: dict[str, Counts]
) -> list[dict[str, Any]]:
    """Sum measures to experiments, and experiments to the total."""
    summed = ("points", "published", "ceiling", "equilibrium", "corrected", "worst", "best")
    experiments = []
    # The name of the total is 0, so that the column holds numbers.
    for number in (*EXPERIMENTS, 0):
        names = [part.name for part in PARTS.values() if number in (0, part.number)]
        asked = [name for name in names if name in parts]
        if not asked and number != 0:
            continue
        # A sum over some of its parts is no score of an experiment.
        total = dict.fromkeys((*summed, "low", "high"), math.nan)
        if asked == names:
            of_names = [position for position, row in enumerate(rows) if row["part"] in names]
            total = {
                name: math.fsum(rows[position][name] for position in of_names) for name in summed
            }
            interval = score_interval([estimates[position] for position in of_names])
            total |= dict(zip(("low", "high"), interval, strict=True))
        experiments.append({"model": model, "experiment": number} | total | _tally(parts, asked))
    return experiments


def _tally(parts: dict[str, Counts], names: Iterable[str]) -> dict[str, Any]:
    """Count answers, and the shares of them that were refused and that could not be read at all."""
    counted = [parts[name] for name in names]
    lost = sum(float(counts.failures.to_numpy().sum()) for counts in counted)
    total = sum(float(counts.parsed.sum()) for counts in counted) + lost
    refused = sum(float(counts.failures["refused"].sum()) for counts in counted)
    drawn = bool(counted) and not any(counts.exact for counts in counted)
    return {
        "answers": total if drawn else math.nan,
        "refused": refused / total if total else math.nan,
        "unread": lost / total if total else math.nan,
    }


_RATES: dict[str, dict[str, list[float]]] = {
    "two_flips": {
        "first": [float(flips[0] == "1") for flips in FLIPS],
        "second": [float(flips[-1] == "1") for flips in FLIPS],
        "mean": [flips.count("1") / 2 for flips in FLIPS],
    },
    "three_outcomes": {"0": [1, 0, 0], "1": [0, 1, 0], "2": [0, 0, 1]},
    "words": {"first word": [1, 0]},
}


def _curves(model: str, counts: Counts) -> pd.DataFrame:
    part = PARTS[counts.part]
    literal, optimum = literal_shares(counts.part, counts.p), optimal_rates(counts.part, counts.p)
    tables = []
    for name, contrast in _RATES.get(counts.part, {part.outcomes[0]: [1, 0]}).items():
        rate, target = counts.shares @ np.array(contrast), literal @ np.array(contrast)
        # Unparsed answers might all have been the outcome that counts least, or most.
        known = np.where(counts.parsed > 0, rate * (1 - counts.unparsed), 0.0)
        columns = {
            "model": model,
            "part": counts.part,
            "quantity": name,
            "rate": rate,
            "rate_least": known + counts.unparsed * min(contrast),
            "rate_most": known + counts.unparsed * max(contrast),
            "target": target,
            "optimum": optimum if counts.part in GAMES else target,
            "draws": counts.draws,
            "refused": counts.refused,
            "unread": counts.unparsed,
        }
        tables.append(counts.conditions.assign(**columns))
    return pd.concat(tables, ignore_index=True)
