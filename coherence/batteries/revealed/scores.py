"""Scores of revealed beliefs, and of what the same model states and does.

The belief is the distribution that a model gives to the outcomes of a chance experiment. Distances
and leaked mass as in "Do large language models exhibit cognitive dissonance? Studying the
difference between revealed beliefs and stated answers" (section 4.3 and its appendices), with two
repairs: distances relative to that of a point mass, which can be compared between numbers of
outcomes; Kullback-Leibler divergence on the possible outcomes, with what leaked to impossible ones
beside it. Assumes outcomes that exclude each other, in the order in which the text lists them.

A belief table has one row per source, setting, wording and outcome (see `BELIEFS`); beliefs are
renormalised over the outcomes here, and how probable the outcomes were at all stays beside them as
the answer mass. The settings of a grid are all there are, while its wordings stand for many others:
intervals are over wordings.

As in the paper (its figures 3 to 6), a distance between distributions stands beside the probability
of a wrong letter, which are different measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.errors import InputError, closest, listing
from coherence.inputs import Floats, as_probabilities, require
from coherence.runs.formats import require_frame


@dataclass(frozen=True)
class BeliefDistance:
    """Distances of a belief from the truth."""

    chebyshev: float  # largest absolute difference of the probability of one outcome, in [0, 1]
    l1: float  # sum of the absolute differences (Manhattan distance), in [0, 2]
    # KL(truth || belief) + KL(belief || truth) over the possible outcomes, in nats, the belief
    # renormalised there; infinite where a possible outcome has no probability in the belief, NaN
    # where none has
    symmetric_kl: float
    leaked_mass: float  # probability that the belief gives to impossible outcomes, in [0, 1]
    # chebyshev_relative, l1_relative: The distance divided by that of a point mass on the most
    # probable outcome: 0 is exact, 1 no better than naming that outcome every time. NaN where a
    # single outcome is possible.
    chebyshev_relative: float
    l1_relative: float
    first_excess: float  # probability of the first outcome less its truth, in [-1, 1]


def belief_distance(truth: ArrayLike, belief: ArrayLike) -> BeliefDistance:
    """Measure how far a belief lies from the truth.

    Parameters
    ----------
    truth : array-like, shape (n_outcomes,)
        Exact probabilities, summing to 1.
    belief : array-like, shape (n_outcomes,)
        Believed probabilities of the same outcomes, summing to 1.

    Returns
    -------
    BeliefDistance
        All distances, unrounded.

    Raises
    ------
    InputError
        Unequal lengths, values outside [0, 1], or a sum that is not 1 within 1e-6.

    Examples
    --------
    >>> distance = belief_distance([0.5, 0.5], [0.9, 0.1])
    >>> round(distance.chebyshev, 3), round(distance.l1, 3), round(distance.symmetric_kl, 3)
    (0.4, 0.8, 0.879)
    >>> round(distance.l1_relative, 3)
    0.8
    """
    exact, believed = _distribution(truth, "truth"), _distribution(belief, "belief")
    require(
        exact.size == believed.size,
        f"belief must have one value per outcome; received {believed.size} for {exact.size} "
        "outcomes.",
    )
    difference = np.abs(believed - exact)
    # Distances of few outcomes run larger than those of many; held against the distance of a point
    # mass they can be compared.
    surest = np.zeros_like(exact)
    surest[np.argmax(exact)] = 1.0
    scale = np.abs(surest - exact)
    # Where one outcome is certain the point mass is the truth, and its distance 0.
    certain = bool(scale.max() < 1e-12)
    return BeliefDistance(
        chebyshev=float(difference.max()),
        l1=float(difference.sum()),
        symmetric_kl=_symmetric_kl(exact, believed),
        leaked_mass=float(believed[exact == 0].sum()),
        chebyshev_relative=math.nan if certain else float(difference.max() / scale.max()),
        l1_relative=math.nan if certain else float(difference.sum() / scale.sum()),
        first_excess=float(believed[0] - exact[0]),
    )


def _symmetric_kl(exact: Floats, believed: Floats) -> float:
    """Return the sum of both Kullback-Leibler divergences over the possible outcomes, in nats.

    The sum and not its half: the cells published for two options, whose L1 distance gives the
    belief, fit the sum alone.

    Jeffreys (1946), An invariant form for the prior probability in estimation problems, Proceedings
    of the Royal Society A 186.
    """
    # Any belief in an impossible outcome would make KL(belief || truth) infinite, however small:
    # so the divergence is on the support, and what leaked stands apart.
    possible = exact > 0
    exact, believed = exact[possible], believed[possible]
    if believed.sum() == 0:
        return math.nan
    believed = believed / believed.sum()
    if (believed == 0).any():
        return math.inf
    # Rounding may leave a sum of terms, each at least 0, a hair below it.
    return max(float(np.sum((believed - exact) * (np.log(believed) - np.log(exact)))), 0.0)


def _distribution(values: ArrayLike, name: str) -> Floats:
    distribution = as_probabilities(values, name)
    require(
        distribution.ndim == 1 and abs(distribution.sum() - 1) < 1e-6,
        f"{name} must sum to 1; it sums to {distribution.sum():g}. "
        "Renormalise it over the outcomes.",
    )
    return distribution


BELIEFS = {
    "source": "whose belief, such as base or instruct",
    "scenario": "kind of experiment",
    "group": "row of a summary that the setting belongs to",
    "setting": "the experiment with its parameters",
    "wording": "how it was told",
    "position": "place of the outcome in the text, from 0",
    "outcome": "what may happen",
    "truth": "its exact probability",
    "mass": "the probability that the belief gives to it, not renormalised",
    "mass_beginning": "that of every answer that begins with it; may be missing",
    "previous": "the last earlier result, empty if none",
    "shift": "what earlier results add to the outcome",
    "baseline": "the setting without earlier results, empty if there is none",
    "pair": "shared by two settings that differ in the order of the options alone, "
    "empty if there is no order",
}
METRICS = (
    "chebyshev",
    "l1",
    "symmetric_kl",
    "chebyshev_relative",
    "l1_relative",
    "leaked_mass",
    "first_excess",
    "answer_mass",
)
_RANGES = dict.fromkeys(METRICS, (0.0, 1.0)) | {
    "l1": (0.0, 2.0),
    "first_excess": (-1.0, 1.0),
    "first_excess_beginning": (-1.0, 1.0),
    # A divergence has no upper end, and a belief may be further off than a point mass.
    "symmetric_kl": (0.0, math.inf),
    "chebyshev_relative": (0.0, math.inf),
    "l1_relative": (0.0, math.inf),
}
NAMES = ["source", "scenario", "group", "setting", "wording"]
"""Columns that say which belief a row is about."""


_BELIEF = ["source", "setting", "wording"]
"""What no two beliefs share."""


def _with_beliefs(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Return a belief table, outcomes in the order of the text, renormalised over them.

    `belief` and `beginning` are missing where the outcomes have no probability, or one is unread;
    `place` counts the outcomes from 0, and `n_outcomes` is their number.
    """
    beliefs = require_frame(beliefs, "beliefs")
    for column, meaning in BELIEFS.items():
        require(
            column in beliefs.columns,
            f"beliefs must have a column {column!r}: {meaning}. {closest(column, beliefs.columns)}",
        )
    in_order = beliefs.groupby(_BELIEF, sort=False).ngroup()
    table = beliefs.iloc[np.lexsort((beliefs["position"], in_order))].reset_index(drop=True)
    table["outcome"] = table["outcome"].astype(str)
    of_belief = table.groupby(_BELIEF, sort=False)["position"]
    table["place"], table["n_outcomes"] = of_belief.cumcount(), of_belief.transform("size")
    for name, mass in (("belief", "mass"), ("beginning", "mass_beginning")):
        table[mass] = table[mass].astype(float)
        masses = table.groupby(_BELIEF, sort=False)[mass]
        read = (masses.transform("sum") > 0) & (masses.transform("count") == table["n_outcomes"])
        table[name] = (table[mass] / masses.transform("sum")).where(read)
    return table


def score_beliefs(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Measure every belief of a table.

    Parameters
    ----------
    beliefs : DataFrame
        Columns of `BELIEFS`.

    Returns
    -------
    DataFrame
        One row per source, setting and wording, in order of the settings: `METRICS`, and
        `first_excess_beginning`, the excess of the first outcome where answers that merely begin
        with an outcome count as it. Distances are NaN where the outcomes have no probability at
        all, and with them the answer mass where a probability is missing.

    Raises
    ------
    InputError
        A column is missing, or truths do not sum to 1.

    Examples
    --------
    >>> import pandas as pd
    >>> die = pd.DataFrame(
    ...     {
    ...         "source": "model", "setting": "die", "scenario": "dice", "group": "dice",
    ...         "wording": "plain", "outcome": list("123456"), "position": range(1, 7),
    ...         "truth": 1 / 6, "mass": [0.5, 0.1, 0.1, 0.1, 0.1, 0.1], "mass_beginning": None,
    ...         "previous": "", "shift": None, "baseline": "", "pair": "",
    ...     }
    ... )
    >>> score_beliefs(die)[["l1", "first_excess"]].round(3)
          l1  first_excess
    0  0.667         0.333
    """
    rows = []
    for _, outcomes in _with_beliefs(beliefs).groupby(_BELIEF, sort=False):
        first, belief = outcomes.iloc[0], outcomes["belief"]
        distance = {}
        if belief.notna().all():
            distance = vars(belief_distance(outcomes["truth"], belief))
        # A sum that skipped a probability that was not read would look like little answer mass.
        mass = outcomes["mass"].sum(min_count=len(outcomes))
        excess = first["beginning"] - first["truth"]
        read = {"answer_mass": mass, "first_excess_beginning": excess}
        rows.append({name: first[name] for name in NAMES} | distance | read)
    rank = _ranks(beliefs["setting"])
    scores = pd.DataFrame(rows, columns=[*NAMES, *METRICS, "first_excess_beginning"])
    return scores.sort_values(
        "setting", key=lambda names: names.map(rank), kind="stable", ignore_index=True
    )


def summarise_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Average measures over the settings of a group, with the spread over wordings.

    Parameters
    ----------
    scores : DataFrame
        From `score_beliefs`.

    Returns
    -------
    DataFrame
        One row per scenario, group, metric and source: `mean` (over settings, then over wordings),
        `sd_wordings` (standard deviation of the wordings' means), `low` and `high` (95% t interval
        with the wordings as a sample, held within what the measure can be; NaN for a single one),
        `n_settings`, `n_wordings`. Settings without a value are left out of a mean and of
        `n_settings`; an infinite divergence makes a mean infinite.
    """
    scores = require_frame(scores, "scores")
    metrics = [*METRICS, "first_excess_beginning"]
    absent = [name for name in (*NAMES, *metrics) if name not in scores.columns]
    require(
        not absent,
        f"scores must have the columns of score_beliefs; {listing(absent)} are not there. "
        "Pass what that returns.",
    )
    long = scores.melt(id_vars=NAMES, value_vars=metrics, var_name="metric")
    keys = ["scenario", "group", "metric", "source"]
    rows = []
    for key, values in long.groupby(keys, sort=False):
        known = values.dropna(subset="value")
        means = known.groupby("wording", sort=False)["value"].mean().to_numpy(dtype=np.float64)
        n_settings = known["setting"].nunique()
        rows.append((*key, *over_wordings(means, *_RANGES[str(key[2])]), n_settings, len(means)))
    spread = ["mean", "sd_wordings", "low", "high"]
    table = pd.DataFrame(rows, columns=[*keys, *spread, "n_settings", "n_wordings"])
    ranks = {"group": _ranks(scores["group"]), "metric": _ranks(pd.Series(metrics))}
    return table.sort_values(
        ["group", "metric"],
        key=lambda column: column.map(ranks[str(column.name)]),
        kind="stable",
        ignore_index=True,
    )


def over_wordings(means: Floats, least: float, most: float) -> tuple[float, float, float, float]:
    """Return mean, standard deviation and 95% t interval, held between `least` and `most`."""
    n = len(means)
    mean = float(means.mean()) if n else math.nan
    # Some beliefs are infinitely far off, which leaves no standard deviation.
    spread = float(np.std(means, ddof=1)) if n > 1 and np.isfinite(means).all() else math.nan
    reach = float(stats.t.ppf(0.975, n - 1)) * spread / math.sqrt(n) if n > 1 else math.nan
    # Not beyond the mean itself, which rounding may leave outside.
    low, high = min(max(mean - reach, least), mean), max(min(mean + reach, most), mean)
    return mean, spread, low, high


def _ranks(names: pd.Series) -> dict[str, int]:
    """Return by name its rank in the order of first appearance."""
    return {name: rank for rank, name in enumerate(names.drop_duplicates())}


def previous_influences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Compare every belief after an earlier result with that without one, in the same wording.

    `distance` is the probability that was moved from some outcomes to others; 0 for who knows that
    the earlier result does not matter. `pull` is positive towards a repetition, negative (the
    gambler's fallacy) away from it.
    """
    table = _with_beliefs(beliefs).dropna(subset="belief")
    alone = table[[*_BELIEF, "place", "outcome", "belief", "n_outcomes"]]
    # Wordings differ by themselves, so a belief is compared within its own.
    both = table.merge(
        alone.rename(columns={"setting": "baseline"}),
        on=["source", "baseline", "wording", "place"],
        suffixes=("", "_alone"),
    )
    unlike = both[both["n_outcomes"] != both["n_outcomes_alone"]].head(1)
    for row in unlike.to_dict("records"):
        raise InputError(
            f"setting {row['setting']!r} must have the outcomes of its baseline; it has "
            f"{row['n_outcomes']} of {row['n_outcomes_alone']}."
        )
    moved = both["belief"] - both["belief_alone"]
    repeated = both["outcome_alone"] == both["previous"].astype(str)
    both = both.assign(distance=moved.abs() / 2, pull=moved.where(repeated))
    by_belief = both.groupby([*NAMES, "previous"], sort=False)
    return by_belief.agg(distance=("distance", "sum"), pull=("pull", "first")).reset_index()


def order_preferences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Tell apart preferences for the place and for the label of an option.

    One order alone cannot: pairs of which only one was read are left out.
    """
    table = _with_beliefs(beliefs)
    table = table[table["pair"].astype(str) != ""].dropna(subset="belief")
    options = table.groupby(["source", "pair", "wording"], sort=False)["outcome"]
    table = table[table["outcome"] == options.transform("min")].rename(
        columns={"outcome": "option"}
    )
    named = {"named_first": table["place"] == 0, "named_second": table["place"] == 1}
    table = table.assign(**{name: table["belief"].where(rows) for name, rows in named.items()})
    by_pair = table.groupby(["source", "group", "pair", "wording", "option"], sort=False)
    taste = by_pair[["truth", *named]].first().dropna().reset_index()
    # What the label does is the same in both orders and cancels in the difference; what the place
    # does has opposite signs and cancels in the mean.
    first, second = (taste[name] for name in named)
    return taste.assign(position=(first - second) / 2, label=(first + second) / 2 - taste["truth"])


def score_stated(stated: pd.DataFrame) -> pd.DataFrame:
    """Return the probability of a wrong answer, averaged over the rotations of a question."""
    rows = []
    for (source, setting), answers in stated.groupby(["source", "setting"], sort=False):
        masses = answers.pivot(index="rotation", columns="letter", values="mass")
        correct = answers.pivot(index="rotation", columns="letter", values="correct")
        missing = np.argwhere(masses.isna().to_numpy())
        if len(missing):
            rotation, letter = masses.index[missing[0, 0]], masses.columns[missing[0, 1]]
            raise InputError(
                f"stated answers of {source!r} to {setting!r} lack the probability of letter "
                f"{letter!r} in rotation {rotation} ({len(missing)} are missing). "
                "Give one to every letter in every rotation, or leave the setting out."
            )
        # A model may say much besides the letters: the error is that of its answers among them.
        right = masses.where(correct.astype(bool), 0.0).sum(axis=1) / masses.sum(axis=1)
        error = 1 - float(right.mean(skipna=False))
        mass = float(masses.sum(axis=1).mean())
        first = answers.iloc[0]
        rows.append((source, first["scenario"], first["group"], setting, error, mass))
    columns = ["source", "scenario", "group", "setting", "stated_error", "answer_mass"]
    return pd.DataFrame(rows, columns=columns)


def score_wagers(wagers: pd.DataFrame) -> pd.DataFrame:
    """Return what bets at even odds are worth."""
    # A bet at even odds on an event of probability q gains q - (1 - q) points.
    edge = 2 * wagers["truth"] - 1
    gain = wagers["share"] * edge
    # Who knows the truth takes the bets that gain, and no others.
    return wagers.assign(gain=gain, loss=edge.clip(lower=0) - gain)
