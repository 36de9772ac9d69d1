"""Scores of the battery: published and corrected, with attainable ceiling, intervals and bounds.

A score is points times (1 - loss), held between 0 and the points. The ceiling is what a faultless
sampler (every rate the instructed one) gets on average with as many draws, exactly. Intervals are
for the corrected score at the true rates, see `coherence.batteries.mixing.intervals`; bounds are
over all that unreadable answers might have been.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.mixing.answers import Counts, count_answers
from coherence.batteries.mixing.dependence import dependence_table
from coherence.batteries.mixing.design import (
    EXPERIMENTS,
    FLIPS,
    PARTS,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)
from coherence.batteries.mixing.equilibrium import GAMES
from coherence.batteries.mixing.intervals import (
    LEAST_DRAWS,
    Estimate,
    corrected_points,
    estimate,
    score_interval,
)
from coherence.batteries.mixing.measures import Measure, measures_of
from coherence.inputs import Floats, whole_number
from coherence.statistics.resample import Seed, as_generator


@dataclass(frozen=True, eq=False)
class MixingScores:
    """What `score_mixing` returns: tables, unrounded.

    Parameters
    ----------
    experiments : DataFrame
        One row per model and experiment and one for the total (`experiment` 0): `points`,
        `published`, `ceiling` (expected published score of a faultless sampler with as many draws
        that takes p for the rate everywhere), `equilibrium` (that of one that plays the games at
        their equilibrium), `corrected`, `low`, `high` (95% interval of the corrected score),
        `worst`, `best` (published score over all that unreadable answers might have been),
        `answers`, `refused`, `unread` (shares of the answers).
    measures : DataFrame
        The same by measure, with the losses `published_loss` and `corrected_loss` (S, one minus
        direction, position and preference); chance may take a corrected loss below 0, and
        `loss_low` then with it. `loss_low` and `loss_high` hold the 95% interval.
    curves : DataFrame
        One row per model, part, condition and rate: `p`, `item`, `order`, `quantity`, `rate` (among
        the readable answers), `rate_least`, `rate_most` (over all that unreadable answers might
        have been), `target`, `optimum`, `draws`, `refused`, `unread` (shares of the answers to the
        condition).
    dependence : DataFrame
        Tests of independence, see `dependence_table`.
    notes : tuple of str
        Why corrected scores are NaN where published ones need not be; names of models are as they
        came.
    """

    experiments: pd.DataFrame
    measures: pd.DataFrame
    curves: pd.DataFrame
    dependence: pd.DataFrame
    notes: tuple[str, ...] = ()

    def leaderboard(self) -> pd.DataFrame:
        """Return one row per model, the highest corrected total first.

        Models without a total come last, by name.
        """
        wide = self.experiments.pivot(index="model", columns="experiment", values="published").drop(
            columns=0
        )
        totals = self.experiments[self.experiments["experiment"] == 0].set_index("model")
        board = totals[
            ["published", "ceiling", "equilibrium", "corrected", "low", "high", "refused", "unread"]
        ].join(wide.add_prefix("experiment_"))
        board = board.sort_index().sort_values(
            "corrected", ascending=False, kind="stable", na_position="last"
        )
        board.insert(0, "rank", board["corrected"].rank(ascending=False, method="min"))
        return board.reset_index()


def score_mixing(
    answers: pd.DataFrame, *, n_resamples: int = 1000, rng: Seed = None
) -> MixingScores:
    """Score a table of answers.

    Parameters
    ----------
    answers : DataFrame
        See `coherence.batteries.mixing.answers.count_answers`; one or several models, all or some
        of the experiments.
    n_resamples : int
        Resamples for the intervals, at least 100.
    rng : Generator, int or None
        Source of the resamples.

    Returns
    -------
    MixingScores
        Scores are NaN where a condition has no readable answer, corrected ones where drawn answers
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
    be put in order. How often it covers: ``tests/validity/mixing.py`` and ``docs/mixing.md``.

    Examples
    --------
    >>> from coherence.batteries.mixing.simulated import expected_answers
    >>> scores = score_mixing(expected_answers("argmax"), rng=0)
    >>> scores.experiments.loc[scores.experiments["experiment"] == 3, "published"].round(2).tolist()
    [11.85]
    """
    whole_number(n_resamples, "n_resamples", 100)
    generator = as_generator(rng)
    counted = count_answers(answers)
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
        dependence_table(answers, counted),
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
                "readable answers, which show no noise to take out. "
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
            published = float(measure.published.value(counts.shares, counts.draws))
            best, worst = measure.published.bounds(counts.shares, counts.unread)
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
                    "corrected": corrected_points(loss),
                    "worst": _points(measure.points, worst),
                    "best": _points(measure.points, best),
                    "loss_low": loss.interval[0],
                    "loss_high": loss.interval[1],
                }
            )
            estimates.append(loss)
    return rows, estimates


def _points(points: float, loss: float) -> float:
    return float(points * np.clip(1 - loss, 0, 1))


def _expected(counts: Counts, measure: Measure, shares: Floats) -> float:
    """Expected published points of a sampler with these rates and as many draws.

    A loss above 1 is cut off in a score but not within its expectation here, so that below four
    draws the result is a lower bound.
    """
    if (counts.draws < 1).any():
        return math.nan
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
    total = sum(float(counts.readable.sum()) for counts in counted) + lost
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
        # Unreadable answers might all have been the outcome that counts least, or most.
        known = np.where(counts.readable > 0, rate * (1 - counts.unread), 0.0)
        columns = {
            "model": model,
            "part": counts.part,
            "quantity": name,
            "rate": rate,
            "rate_least": known + counts.unread * min(contrast),
            "rate_most": known + counts.unread * max(contrast),
            "target": target,
            "optimum": optimum if counts.part in GAMES else target,
            "draws": counts.draws,
            "refused": counts.refused,
            "unread": counts.unread,
        }
        tables.append(counts.conditions.assign(**columns))
    return pd.concat(tables, ignore_index=True)
