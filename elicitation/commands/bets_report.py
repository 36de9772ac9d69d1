"""What ``coherence bets`` prints: accuracies, ladders and models beside each other."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from coherence.batteries.bets.ladder import LadderFit
    from coherence.batteries.bets.scores import BetScores

_NONE = "–"


def bets_report(scores: "BetScores", comparison: "pd.DataFrame") -> str:
    """Return the accuracies of every model as lines, and several models beside each other."""
    from coherence.report.columns import aligned
    from coherence.report.wording import clean, format_pvalue

    lines: list[str] = []
    header = ["question", "truth", "method", "n", "right", "95% interval", "chance", "always"]
    header += ["p exact", "p z test"]
    for model, rows in scores.accuracy.groupby("model", sort=False):
        cells = [header]
        for row in rows.to_dict("records"):
            numbers = [
                str(row["n"]),
                percent(row["accuracy"]),
                between(row, ".0%"),
                percent(row["chance"]),
                always(row),
            ]
            numbers += [format_pvalue(row["p_exact"]), format_pvalue(row["p_z"])]
            # Names come from files of answers and may hold terminal commands.
            cells.append([clean(row["template"]), row["truth"], row["method"], *numbers])
        lines += [f"{clean(model)}", *aligned(cells, right=range(3, 10)), ""]
    for (model, modality), fit in scores.ladders.items():
        lines += [
            f"{clean(model)}, ladder of a {clean(modality)}: probabilities that choices act on"
        ]
        cells = [["stated", "bets taken", "implied", "95% interval", "status"]]
        for row in fit.table.to_dict("records"):
            implied = _NONE if math.isnan(row["implied"]) else f"{row['implied']:.3f}"
            cells.append(
                [
                    f"{row['stated']:g}",
                    f"{row['share']:.0%}",
                    implied,
                    between(row, ".3f"),
                    row["status"],
                ]
            )
        lines += [*aligned(cells, right=range(4)), *_weighting(fit), ""]
    if "model" in comparison and comparison["model"].nunique() > 1:
        cells = [["all models", "model", "n", "right", "95% interval", "chance", "always"]]
        for row in comparison.to_dict("records"):
            cells.append(
                [
                    row["measure"],
                    clean(row["model"]),
                    str(row["n"]),
                    percent(row["accuracy"]),
                    between(row, ".0%"),
                    percent(row["chance"]),
                    always(row),
                ]
            )
        lines += [*aligned(cells, right=range(2, 7)), ""]
    return "\n".join([*lines, *(f"note: {clean(note)}" for note in scores.notes)]).rstrip()


def _weighting(fit: "LadderFit") -> list[str]:
    """Return the line of implied on stated log odds, and what the intervals take as independent."""
    from coherence.report.wording import format_pvalue

    line, about = fit.weighting, f"intervals take {fit.unit} as independent"
    if math.isnan(line.sensitivity):
        return [about]
    ends = [
        (line.elevation, line.elevation_interval),
        (line.sensitivity, line.sensitivity_interval),
    ]
    elevation, sensitivity = (
        f"{_signed(value)} ({_signed(interval.low)} to {_signed(interval.high)})"
        for value, interval in ends
    )
    return [
        f"elevation {elevation}, sensitivity {sensitivity}; "
        f"implied = stated (0 and 1): p {format_pvalue(line.pvalue)}",
        about,
    ]


def _signed(value: float) -> str:
    """Return two decimals, without the sign of a negative number that rounds to 0."""
    # -0.0 + 0.0 is 0.0, which prints without a sign.
    return f"{round(value, 2) + 0.0:.2f}"


def percent(share: float) -> str:
    """Return a share as a cell."""
    return _NONE if math.isnan(share) else f"{share:.1%}"


def always(row: "Mapping[Any, Any]") -> str:
    """Return the constant answer that is right most often, and how often, as a cell."""
    return f"{row['constant']} {percent(row['constant_rate'])}" if row["constant"] else _NONE


def between(row: "Mapping[Any, Any] | pd.Series[Any]", form: str) -> str:
    """Return an interval as a cell."""
    return _NONE if math.isnan(row["low"]) else f"{row['low']:{form}} to {row['high']:{form}}"
