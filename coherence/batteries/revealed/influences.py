"""What a text moves that should not move a belief: an earlier result, and the order of options."""

from typing import Any

import pandas as pd

from coherence.batteries.revealed.belief_scores import NAMES, each_belief, normalised
from coherence.batteries.revealed.distances import order_preference, previous_influence


def previous_influences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Compare every belief after an earlier result with that without one, in the same wording."""
    by_name = {
        (names["source"], names["setting"], names["wording"]): (names, rows)
        for names, rows in each_belief(beliefs)
    }
    influences: list[dict[str, Any]] = []
    for (source, _, wording), (names, rows) in by_name.items():
        previous = str(rows["previous"].iloc[0])
        # Wordings differ by themselves, so a belief is compared within its own.
        _, alone = by_name.get((source, rows["baseline"].iloc[0], wording), (None, None))
        if alone is None:
            continue
        before, after = normalised(alone["mass"]), normalised(rows["mass"])
        if before is None or after is None:
            continue
        outcomes = list(alone["outcome"].astype(str))
        repetition = outcomes.index(previous) if previous in outcomes else None
        influence = previous_influence(before, after, repetition)
        influences.append(names | {"previous": rows["previous"].iloc[0]} | vars(influence))
    return pd.DataFrame(influences, columns=[*NAMES, "previous", "distance", "pull"])


def order_preferences(beliefs: pd.DataFrame) -> pd.DataFrame:
    """Tell apart preferences for the place and for the label of an option."""
    preferences: list[dict[str, Any]] = []
    paired = beliefs[beliefs["pair"].astype(str) != ""]
    for (source, pair, wording), rows in paired.groupby(["source", "pair", "wording"], sort=False):
        outcomes = rows["outcome"].astype(str)
        option = min(outcomes)
        shares = {}
        in_text = rows.assign(outcome=outcomes).sort_values("position", kind="stable")
        for _, of_setting in in_text.groupby("setting", sort=False):
            belief = normalised(of_setting["mass"])
            if belief is not None:
                position = list(of_setting["outcome"]).index(option)
                shares[position] = float(belief[position])
        # One order alone cannot tell a taste for the place from one for the label.
        if len(shares) < 2:
            continue
        truth = float(rows.loc[outcomes == option, "truth"].iloc[0])
        names = {"source": source, "group": rows["group"].iloc[0], "pair": pair, "wording": wording}
        placed = {"truth": truth, "named_first": shares[0], "named_second": shares[1]}
        preference = vars(order_preference(truth, shares[0], shares[1]))
        preferences.append(names | {"option": option} | placed | preference)
    columns = ["source", "group", "pair", "wording", "option", "truth"]
    columns += ["named_first", "named_second", "position", "label"]
    return pd.DataFrame(preferences, columns=columns)
