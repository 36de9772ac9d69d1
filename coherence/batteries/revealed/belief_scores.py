"""Scores of revealed beliefs: distances per setting and wording, and their means per group.

A belief table has one row per source, setting, wording and outcome (see `BELIEFS`); beliefs are
renormalised over the outcomes here, and how probable the outcomes were at all stays beside them as
the answer mass. The settings of a grid are all there are, while its wordings stand for many others:
intervals are over wordings.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from coherence.batteries.revealed.distances import belief_distance
from coherence.errors import closest, listing
from coherence.inputs import Floats, require
from coherence.table.frames import require_frame

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


def each_belief(beliefs: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield every belief of a table with its `NAMES`, outcomes in the order of the text."""
    for column, meaning in BELIEFS.items():
        require(
            column in beliefs.columns,
            f"beliefs must have a column {column!r}: {meaning}. {closest(column, beliefs.columns)}",
        )
    in_text = beliefs.sort_values("position", kind="stable")
    for _, rows in in_text.groupby(["source", "setting", "wording"], sort=False):
        yield {name: rows[name].iloc[0] for name in NAMES}, rows


def normalised(masses: pd.Series) -> Floats | None:
    """Return a belief over the outcomes; None where they have no probability, or one is unread."""
    values = masses.to_numpy(dtype=np.float64)
    total = values.sum()
    return values / total if total > 0 else None


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
    for names, outcomes in each_belief(beliefs):
        truth = outcomes["truth"]
        belief, beginning = normalised(outcomes["mass"]), normalised(outcomes["mass_beginning"])
        distance = {} if belief is None else vars(belief_distance(truth, belief))
        excess = math.nan if beginning is None else float(beginning[0] - truth.iloc[0])
        # A sum that skipped a probability that was not read would look like little answer mass.
        mass = outcomes["mass"].sum(min_count=len(outcomes))
        read = {"answer_mass": mass, "first_excess_beginning": excess}
        rows.append(names | dict.fromkeys(METRICS, math.nan) | distance | read)
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

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import score_beliefs
    >>> die = pd.DataFrame(
    ...     {
    ...         "source": "model", "setting": "die", "scenario": "dice", "group": "dice",
    ...         "wording": "plain", "outcome": list("123456"), "position": range(1, 7),
    ...         "truth": 1 / 6, "mass": [0.5, 0.1, 0.1, 0.1, 0.1, 0.1], "mass_beginning": None,
    ...         "previous": "", "shift": None, "baseline": "", "pair": "",
    ...     }
    ... )
    >>> summary = summarise_scores(score_beliefs(die)).set_index("metric")
    >>> summary["mean"].round(3)["l1"].item()
    0.667
    """
    require_frame(scores, "scores")
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


def comparison_table(summary: pd.DataFrame, errors: pd.DataFrame | None = None) -> pd.DataFrame:
    """Put sources side by side, with the error of the stated answers."""
    shown = summary[summary["metric"].isin(METRICS[:3])]
    keys = ["scenario", "group", "metric"]
    table = shown.groupby(keys, sort=False)["n_settings"].max().reset_index()
    rows = pd.MultiIndex.from_frame(table[["group", "metric"]])
    for source in dict.fromkeys(summary["source"]):
        of_source = shown[shown["source"] == source].set_index(["group", "metric"])
        table[source] = of_source["mean"].reindex(rows).to_numpy()
        table[f"{source} sd"] = of_source["sd_wordings"].reindex(rows).to_numpy()
    if errors is not None:
        for source in dict.fromkeys(errors["source"]):
            answers = errors[errors["source"] == source]
            means = answers.groupby("group")[["stated_error", "answer_mass"]].mean()
            table[f"{source} stated"] = table["group"].map(means["stated_error"])
            table[f"{source} stated mass"] = table["group"].map(means["answer_mass"])
    return table
