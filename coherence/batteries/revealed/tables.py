"""Tables of revealed beliefs: distances per setting and wording, averages per group with the spread over wordings, influence and order.

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

from coherence.batteries.revealed.distances import (
    belief_distance,
    order_preference,
    previous_influence,
    stated_error,
)
from coherence.errors import InputError, closest
from coherence.inputs import Floats, require

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
    "pair": "shared by two settings that differ in the order of the options alone, empty if there is no order",
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
_RANGES = {
    "chebyshev": (0.0, 1.0),
    "l1": (0.0, 2.0),
    "symmetric_kl": (0.0, math.inf),
    "chebyshev_relative": (0.0, math.inf),
    "l1_relative": (0.0, math.inf),
    "leaked_mass": (0.0, 1.0),
    "first_excess": (-1.0, 1.0),
    "answer_mass": (0.0, 1.0),
    "first_excess_beginning": (-1.0, 1.0),
}
_KEY = ["source", "setting", "wording"]


def _belief_rows(beliefs: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield every belief with what identifies it, outcomes in the order of the text."""
    for column in BELIEFS:
        require(
            column in beliefs.columns,
            f"beliefs must have a column {column!r}: {BELIEFS[column]}. {closest(column, beliefs.columns)}",
        )
    for (source, setting, wording), rows in beliefs.sort_values("position", kind="stable").groupby(
        _KEY, sort=False
    ):
        first = rows.iloc[0]
        yield (
            {
                "source": source,
                "scenario": first["scenario"],
                "group": first["group"],
                "setting": setting,
                "wording": wording,
            },
            rows,
        )


def _normalised(masses: pd.Series) -> Floats | None:
    """Return a belief over the outcomes, or None where they have no probability or it was not read."""
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
    """
    rows = []
    for names, own in _belief_rows(beliefs):
        belief, beginning = _normalised(own["mass"]), _normalised(own["mass_beginning"])
        distance = vars(belief_distance(own["truth"], belief)) if belief is not None else {}
        excess = math.nan if beginning is None else float(beginning[0] - own["truth"].iloc[0])
        mass = own["mass"].sum(min_count=len(own))
        rows.append(
            {
                **names,
                **dict.fromkeys(METRICS, math.nan),
                **distance,
                "answer_mass": mass,
                "first_excess_beginning": excess,
            }
        )
    order = {setting: place for place, setting in enumerate(dict.fromkeys(beliefs["setting"]))}
    columns = [
        "source",
        "scenario",
        "group",
        "setting",
        "wording",
        *METRICS,
        "first_excess_beginning",
    ]
    return pd.DataFrame(rows, columns=columns).sort_values(
        "setting", key=lambda names: names.map(order), kind="stable", ignore_index=True
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
    metrics = [*METRICS, "first_excess_beginning"]
    long = scores.melt(
        id_vars=["source", "scenario", "group", "setting", "wording"],
        value_vars=metrics,
        var_name="metric",
    )
    rows = []
    for (scenario, group, metric, source), own in long.groupby(
        ["scenario", "group", "metric", "source"], sort=False
    ):
        known = own.dropna(subset="value")
        means = known.groupby("wording", sort=False)["value"].mean().to_numpy(dtype=np.float64)
        mean, n = float(means.mean()) if len(means) else math.nan, len(means)
        spread = float(np.std(means, ddof=1)) if n > 1 and np.isfinite(means).all() else math.nan
        reach = float(stats.t.ppf(0.975, n - 1)) * spread / math.sqrt(n) if n > 1 else math.nan
        least, most = _RANGES[str(metric)]
        # Not beyond the mean itself, which rounding may leave outside.
        low, high = min(max(mean - reach, least), mean), max(min(mean + reach, most), mean)
        rows.append(
            (
                scenario,
                group,
                metric,
                source,
                mean,
                spread,
                low,
                high,
                known["setting"].nunique(),
                n,
            )
        )
    columns = [
        "scenario",
        "group",
        "metric",
        "source",
        "mean",
        "sd_wordings",
        "low",
        "high",
        "n_settings",
        "n_wordings",
    ]
    order = {name: place for place, name in enumerate(dict.fromkeys(scores["group"]))}
    table = pd.DataFrame(rows, columns=columns)
    rank = {metric: place for place, metric in enumerate(metrics)}
    return table.sort_values(
        ["group", "metric"],
        key=lambda column: column.map(order if column.name == "group" else rank),
        kind="stable",
        ignore_index=True,
    )


def score_stated(stated: pd.DataFrame) -> pd.DataFrame:
    """Return the error of stated answers.

    Parameters
    ----------
    stated : DataFrame
        One row per option: `source`, `scenario`, `group`, `setting`, `rotation`, `letter`,
        `correct`, `mass`.

    Returns
    -------
    DataFrame
        One row per source and setting: `stated_error` and `answer_mass` (mean probability that the
        answer is an option).

    Raises
    ------
    InputError
        A letter has no probability in one of the rotations of a setting.
    """
    rows = []
    for (source, setting), own in stated.groupby(["source", "setting"], sort=False):
        masses = own.pivot(index="rotation", columns="letter", values="mass")
        missing = np.argwhere(masses.isna().to_numpy())
        if len(missing):
            rotation, letter = masses.index[missing[0, 0]], masses.columns[missing[0, 1]]
            raise InputError(
                f"stated answers of {source!r} to {setting!r} lack the probability of letter {letter!r} in rotation {rotation}"
                f" ({len(missing)} are missing). Give one to every letter in every rotation, or leave the setting out."
            )
        correct = (
            own.pivot(index="rotation", columns="letter", values="correct")
            .to_numpy(dtype=bool)
            .argmax(axis=1)
        )
        first = own.iloc[0]
        error = stated_error(masses.to_numpy(), correct)
        rows.append(
            (
                source,
                first["scenario"],
                first["group"],
                setting,
                error,
                float(masses.sum(axis=1).mean()),
            )
        )
    return pd.DataFrame(
        rows, columns=["source", "scenario", "group", "setting", "stated_error", "answer_mass"]
    )


def score_bets(bets: pd.DataFrame) -> pd.DataFrame:
    """Return what bets at even odds are worth.

    Parameters
    ----------
    bets : DataFrame
        One row per bet: `truth` (probability of the event) and `share` (probability of taking the
        bet; may be missing), and what else there is.

    Returns
    -------
    DataFrame
        The same rows with `gain`, the expected points of the bettor where taking a bet wins or
        loses 1 point, and `loss`, what a bettor who knows the truth gains more, at least 0.

    Examples
    --------
    >>> score_bets(pd.DataFrame({"truth": [0.75, 0.25], "share": [0.5, 0.5]}))[["gain", "loss"]].to_numpy().tolist()
    [[0.25, 0.25], [-0.25, 0.25]]
    """
    edge = 2 * bets["truth"] - 1
    gain = bets["share"] * edge
    return bets.assign(gain=gain, loss=edge.clip(lower=0) - gain)


def comparison_table(summary: pd.DataFrame, errors: pd.DataFrame | None = None) -> pd.DataFrame:
    """Put sources side by side, with the error of the stated answers.

    Parameters
    ----------
    summary : DataFrame
        From `summarise_scores`.
    errors : DataFrame, optional
        From `score_stated`.

    Returns
    -------
    DataFrame
        One row per group and metric (Chebyshev, L1, symmetric KL): `scenario`, `group`, `metric`,
        `n_settings` (of the source that has a value in most), for every source its mean and, as
        `<source> sd`, the standard deviation over wordings, and where there are stated answers
        `<source> stated`, their mean error (a probability), and `<source> stated mass`, the mean
        probability that the answer is an option at all; both the same on all rows of a group.
    """
    shown = summary[summary["metric"].isin(METRICS[:3])]
    sources = list(dict.fromkeys(summary["source"]))
    table = (
        shown.groupby(["scenario", "group", "metric"], sort=False)["n_settings"].max().reset_index()
    )
    for source in sources:
        own = shown[shown["source"] == source].set_index(["group", "metric"])
        key = pd.MultiIndex.from_frame(table[["group", "metric"]])
        table[source] = own["mean"].reindex(key).to_numpy()
        table[f"{source} sd"] = own["sd_wordings"].reindex(key).to_numpy()
    if errors is not None:
        for source in dict.fromkeys(errors["source"]):
            means = (
                errors[errors["source"] == source]
                .groupby("group")[["stated_error", "answer_mass"]]
                .mean()
            )
            table[f"{source} stated"] = table["group"].map(means["stated_error"])
            table[f"{source} stated mass"] = table["group"].map(means["answer_mass"])
    return table


def previous_influences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Compare every belief after an earlier result with the belief without one, in the same wording.

    Parameters
    ----------
    beliefs : DataFrame
        Columns of `BELIEFS`.

    Returns
    -------
    DataFrame
        One row per source, setting and wording: `previous`, `distance` and `pull` (see
        `coherence.batteries.revealed.distances.Influence`); settings whose baseline is not in the
        table are left out.
    """
    told = {
        (names["source"], names["setting"], names["wording"]): (names, rows)
        for names, rows in _belief_rows(beliefs)
    }
    found = []
    for (source, _, wording), (names, rows) in told.items():
        first = rows.iloc[0]
        alone = told.get((source, first["baseline"], wording))
        if alone is None:
            continue
        before, after = _normalised(alone[1]["mass"]), _normalised(rows["mass"])
        if before is None or after is None:
            continue
        outcomes = [str(outcome) for outcome in alone[1]["outcome"]]
        place = (
            outcomes.index(str(first["previous"])) if str(first["previous"]) in outcomes else None
        )
        influence = previous_influence(before, after, place)
        found.append({**names, "previous": first["previous"], **vars(influence)})
    return pd.DataFrame(
        found,
        columns=[
            "source",
            "scenario",
            "group",
            "setting",
            "wording",
            "previous",
            "distance",
            "pull",
        ],
    )


def order_preferences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Tell apart preferences for the place and for the label of an option, wherever both orders are in the table.

    Parameters
    ----------
    beliefs : DataFrame
        Columns of `BELIEFS`.

    Returns
    -------
    DataFrame
        One row per source, pair and wording: `option` (the first in alphabetical order),
        `named_first` and `named_second` (its probability by its place), `position` and `label` (see
        `coherence.batteries.revealed.distances.OrderPreference`).
    """
    found = []
    paired = beliefs[beliefs["pair"].astype(str) != ""]
    for (source, pair, wording), both in paired.groupby(["source", "pair", "wording"], sort=False):
        option = min(both["outcome"].astype(str))
        shares = {}
        for _, rows in both.sort_values("position", kind="stable").groupby("setting", sort=False):
            belief = _normalised(rows["mass"])
            if belief is not None:
                place = list(rows["outcome"].astype(str)).index(option)
                shares[place] = float(belief[place])
        if len(shares) < 2:
            continue
        truth = float(both.loc[both["outcome"].astype(str) == option, "truth"].iloc[0])
        first = both.iloc[0]
        preference = order_preference(truth, shares[0], shares[1])
        names = {
            "source": source,
            "group": first["group"],
            "pair": pair,
            "wording": wording,
            "option": option,
        }
        found.append(
            {
                **names,
                "truth": truth,
                "named_first": shares[0],
                "named_second": shares[1],
                **vars(preference),
            }
        )
    columns = [
        "source",
        "group",
        "pair",
        "wording",
        "option",
        "truth",
        "named_first",
        "named_second",
        "position",
        "label",
    ]
    return pd.DataFrame(found, columns=columns)
