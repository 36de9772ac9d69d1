"""Revealed belief and stated answer on one scale: how far each puts a probability from the truth.

The paper sets a distance between distributions beside the probability of a wrong letter (its
figures 3 to 6), which are different measures. Both ways of asking give the outcome that the stated
question is about a probability, and its distance from the true one can be compared.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd

from coherence.batteries.revealed.belief_scores import over_wordings
from coherence.errors import InputError
from coherence.report.wording import clean

ALL = "all settings"
COLUMNS = (
    *("source", "scenario", "group", "n_settings", "n_wordings"),
    *("revealed_miss", "revealed_low", "revealed_high", "revealed_uniform"),
    *("stated_miss", "stated_least", "stated_most", "stated_guess"),
    *("difference", "low", "high", "answer_mass"),
)


def compare_misses(beliefs: pd.DataFrame, stated: pd.DataFrame) -> pd.DataFrame:
    """Compare the revealed probability of the outcome that was asked about with the stated one."""
    answers = _stated_misses(stated)
    revealed = _revealed_misses(beliefs, stated)
    keys = ["source", "setting"]
    of_setting = answers.groupby(keys, sort=False, as_index=False).agg(
        stated=("miss", "mean"), guess=("guess", "mean"), mass=("mass", "mean")
    )
    both = revealed.merge(of_setting, on=keys)
    rows = []
    for source, of_source in both.groupby("source", sort=False):
        parts = [(str(name), part) for name, part in of_source.groupby("group", sort=False)]
        for group, part in [*parts, (ALL, of_source)]:
            rotations = answers[
                (answers["source"] == source) & answers["setting"].isin(set(part["setting"]))
            ]
            scenario = "" if group == ALL else part["scenario"].iloc[0]
            rows.append(_row(str(source), scenario, group, part, rotations))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _probability(option: object) -> float:
    try:
        return float(Fraction(str(option).strip()))
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"option must be a probability such as 0.25 or 1/4; received {option!r}. Correct the "
            "table of stated answers."
        ) from None


def _stated_misses(stated: pd.DataFrame) -> pd.DataFrame:
    """Return the expected distance of every rotation of a stated question."""
    value = stated["option"].map(_probability)
    truth = value.where(stated["correct"].astype(bool))
    keys = ["source", "setting"]
    truth = truth.groupby([stated[key] for key in keys]).transform("max")
    away = (value - truth).abs()
    table = stated[[*keys, "rotation", "mass"]].assign(guess=away, weighted=stated["mass"] * away)
    by_rotation = table.groupby([*keys, "rotation"], sort=False)
    # A letter of which the probability is not known leaves the whole rotation unread.
    sums = by_rotation[["mass", "weighted"]].sum(min_count=1)
    unread = (by_rotation["mass"].count() < by_rotation.size()) | ~(sums["mass"] > 0)
    # Without one of the orders a liking for a letter would no longer average out.
    whole = ~unread.groupby(level=keys, sort=False).transform("any")
    read = sums.assign(miss=sums["weighted"] / sums["mass"], guess=by_rotation["guess"].mean())
    return read[whole].reset_index()


def _revealed_misses(beliefs: pd.DataFrame, stated: pd.DataFrame) -> pd.DataFrame:
    """Return the distance of every wording of a text whose setting was asked for as well."""
    keys = ["source", "setting", "wording"]
    by_text = beliefs.groupby(keys, sort=False)["mass"]
    total, known = by_text.transform("sum"), by_text.transform("count")
    n_outcomes = by_text.transform("size")
    table = beliefs.assign(
        belief=(beliefs["mass"] / total).where((total > 0) & (known == n_outcomes)),
        uniform=(1 / n_outcomes - beliefs["truth"]).abs(),
        outcome=beliefs["outcome"].astype(str),
    )
    table["miss"] = (table["belief"] - table["truth"]).abs()
    asked = stated[["source", "setting", "outcome"]].drop_duplicates()
    asked = asked.assign(outcome=asked["outcome"].astype(str))
    shown = [*keys, "scenario", "group", "miss", "uniform"]
    found = table.merge(asked, on=["source", "setting", "outcome"])[shown]
    return found.dropna(subset="miss")


def _row(
    source: str, scenario: object, group: str, part: pd.DataFrame, rotations: pd.DataFrame
) -> tuple[object, ...]:
    of_wordings = part.groupby("wording", sort=False)
    misses = of_wordings["miss"].mean().to_numpy(dtype=np.float64)
    revealed, _, low, high = over_wordings(misses, 0.0, 1.0)
    stated = part.drop_duplicates("setting")["stated"].mean()
    gaps = (part["miss"] - part["stated"]).groupby(part["wording"], sort=False).mean()
    difference, _, least, most = over_wordings(gaps.to_numpy(dtype=np.float64), -1.0, 1.0)
    by_rotation = rotations.groupby("rotation")["miss"].mean()
    settings = part.drop_duplicates("setting")
    return (
        *(source, scenario, group, len(settings), len(misses)),
        *(revealed, low, high, settings["uniform"].mean()),
        *(stated, by_rotation.min(), by_rotation.max(), settings["guess"].mean()),
        *(difference, least, most, settings["mass"].mean()),
    )


def render_misses(misses: pd.DataFrame) -> str:
    """Say for every source which of the two is nearer to the truth, and by how much."""
    lines = []
    for source, rows in misses.groupby("source", sort=False):
        total = rows[rows["group"] == ALL].iloc[0]
        groups = rows[rows["group"] != ALL]
        nearer = "revealed belief" if total["difference"] < 0 else "stated answer"
        n_nearer = int(((groups["difference"] < 0) == (total["difference"] < 0)).sum())
        apart = abs(total["difference"])
        ends = sorted(abs(total[end]) for end in ("low", "high"))
        over = f"over {total['n_wordings']} wordings"
        said = f"the {nearer} is nearer to the truth, by {apart:.3f}"
        if math.isnan(total["low"]):
            said += " (in one wording, so that no interval is known)"
        elif total["low"] <= 0 <= total["high"]:
            said = (
                f"which is nearer to the truth is not settled; on average the {nearer} is, by "
                f"{apart:.3f} (95% interval of revealed less stated {total['low']:+.3f} to "
                f"{total['high']:+.3f} {over})"
            )
        else:
            said += f" (95% interval {ends[0]:.3f} to {ends[1]:.3f} {over})"
        lines.append(
            f"{clean(source, limit=40)}: {said}, and in {n_nearer} of {len(groups)} groups. The "
            f"probability of the outcome asked about is {total['revealed_miss']:.3f} off in the "
            f"revealed belief (with all outcomes alike {total['revealed_uniform']:.3f}) and "
            f"{total['stated_miss']:.3f} off in the stated answer (with letters at random "
            f"{total['stated_guess']:.3f}), on average over {total['n_settings']} settings."
        )
    return "\n".join(lines)
