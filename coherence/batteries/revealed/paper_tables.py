"""The paper's tables of revealed beliefs: scenario x metric x source, and the stated answers."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from coherence.batteries.revealed.scores import ALL
from coherence.report.tables.cells import (
    Cell,
    Column,
    PaperTable,
    number_cell,
    spoken_range,
    text_cell,
)

METRICS = {"chebyshev": "Chebyshev", "l1": "L1", "symmetric_kl": "symmetric KL, nats"}
MOST_ROWS = 28
"""Rows of a table, which a page holds; longer ones go on in another."""
_NOT_READ = "No belief was read: the outcomes had no probability, or one of them was not given."
_NOT_ASKED = "No stated answer was asked for, or read, in this group."
EARLIER = r"revealed-[a-z]+(-\d+)?\.(md|tex|csv)|misses\.(md|tex|csv|svg|pdf)"

_Rows = dict[tuple[str, ...], dict[Any, Any]]


def revealed_tables(
    summary: pd.DataFrame,
    errors: pd.DataFrame | None = None,
    misses: pd.DataFrame | None = None,
) -> list[PaperTable]:
    """Lay out distances from the truth, a table per scenario, and both ways of asking beside."""
    shown = summary[summary["metric"].isin(METRICS)]
    tables = []
    for scenario, of_scenario in shown.groupby("scenario", sort=False):
        groups = list(dict.fromkeys(of_scenario["group"]))
        parts = [groups[start : start + MOST_ROWS] for start in range(0, len(groups), MOST_ROWS)]
        for number, part in enumerate(parts, start=1):
            rows = of_scenario[of_scenario["group"].isin(part)]
            suffix = f"-{number}" if len(parts) > 1 else ""
            tables.append(_distances(str(scenario), suffix, rows, errors))
    if misses is not None and len(misses):
        tables.append(_misses(misses))
    return tables


def _by(table: pd.DataFrame, keys: Sequence[str]) -> _Rows:
    return {tuple(str(row[key]) for key in keys): row for row in table.to_dict("records")}


def _distances(
    scenario: str, suffix: str, shown: pd.DataFrame, errors: pd.DataFrame | None
) -> PaperTable:
    sources = list(dict.fromkeys(shown["source"]))
    asked = [] if errors is None else list(dict.fromkeys(errors["source"]))
    columns = [Column("group", "setting", number=False), Column("n_settings", "settings")]
    columns += [
        Column(f"{metric}.{source}", source, heading)
        for metric, heading in METRICS.items()
        for source in sources
    ]
    columns += [Column(f"stated.{source}", source, "stated error") for source in asked]
    found = _by(shown, ["group", "metric", "source"])
    stated = {} if errors is None else _stated(errors)
    rows = []
    for group, of_group in shown.groupby("group", sort=False):
        n_settings = int(of_group["n_settings"].max())
        cells = [text_cell(str(group)), Cell(str(n_settings), {"": n_settings})]
        for metric in METRICS:
            cells += [_distance(found.get((str(group), metric, source))) for source in sources]
        cells += [stated.get((source, str(group)), Cell("–", note=_NOT_ASKED)) for source in asked]
        rows.append(tuple(cells))
    return PaperTable(
        name=f"revealed-{scenario}{suffix}",
        label="Table",
        title=f"Revealed belief and the truth, {scenario}",
        caption=" ".join(_caption(shown, errors)),
        columns=tuple(columns),
        rows=tuple(rows),
    )


def _distance(row: dict[Any, Any] | None) -> Cell:
    if row is None:
        return Cell("–", note=_NOT_READ)
    exact = {"sd": row["sd_wordings"]} | {
        name: row[name] for name in ("low", "high", "n_settings", "n_wordings")
    }
    cell = number_cell(row["mean"], exact, why=_NOT_READ)
    if math.isnan(row["mean"]) or math.isnan(row["sd_wordings"]):
        return cell
    # The spread has the decimals of the mean, as in the paper.
    decimals = len(cell.text.partition(".")[2])
    return Cell(f"{cell.text} ({row['sd_wordings']:.{decimals}f})", cell.values)


def _stated(errors: pd.DataFrame) -> dict[tuple[str, str], Cell]:
    cells = {}
    for (source, group), answers in errors.groupby(["source", "group"], sort=False):
        known = answers.dropna(subset="stated_error")
        exact = {"answer_mass": answers["answer_mass"].mean(), "n_settings": len(known)}
        error = float(known["stated_error"].mean())
        cells[str(source), str(group)] = number_cell(error, exact, why=_NOT_ASKED)
    return cells


def _caption(shown: pd.DataFrame, errors: pd.DataFrame | None) -> Iterator[str]:
    n_wordings = spoken_range([int(n) for n in shown["n_wordings"]])
    yield (
        "Mean distance of the revealed belief, renormalised over the outcomes, from the true "
        "distribution over the settings of a row, then over wordings; in brackets the standard "
        f"deviation over wordings ({n_wordings} were read). Chebyshev is "
        "the largest difference of a probability, L1 the sum of all (0 to 2), symmetric KL the sum "
        "of both divergences. The CSV file has 95% t intervals with the wordings as a sample."
    )
    if errors is not None:
        rows = errors[errors["group"].isin(set(shown["group"]))]
        unread = int(rows["stated_error"].isna().sum())
        yield (
            "Stated error is the probability of a wrong option out of four, .75 for who knows "
            f"nothing; of {len(rows)} stated answers {unread} could not be read, and the "
            f"probability that one is an option at all is {rows['answer_mass'].median():.2g} "
            "(median)."
        )


def _misses(misses: pd.DataFrame) -> PaperTable:
    columns = (
        Column("source", "source", number=False),
        Column("group", "setting", number=False),
        Column("n_settings", "settings"),
        Column("revealed_miss", "revealed"),
        Column("stated_miss", "stated"),
        Column("difference", "revealed - stated"),
        Column("revealed_uniform", "outcomes alike"),
        Column("stated_guess", "letter at random"),
    )
    rows = []
    for row in misses.to_dict("records"):
        rotations = {"least": row["stated_least"], "most": row["stated_most"]}
        revealed = row["revealed_low"], row["revealed_high"]
        ends = row["low"], row["high"]
        bounds = [dict(zip(("low", "high"), pair, strict=True)) for pair in (revealed, ends)]
        rows.append(
            (
                text_cell(str(row["source"])),
                text_cell(str(row["group"])),
                Cell(str(row["n_settings"]), {"": row["n_settings"]}),
                number_cell(row["revealed_miss"], bounds[0], ends=revealed),
                number_cell(row["stated_miss"], rotations),
                number_cell(row["difference"], bounds[1], ends=ends),
                number_cell(row["revealed_uniform"], {}),
                number_cell(row["stated_guess"], {}),
            )
        )
    return PaperTable(
        name="misses",
        label="Table",
        title="Revealed belief beside stated answer, on one scale",
        caption=(
            "Mean distance from the truth of the probability of the outcome that the stated "
            "question asks about, over settings read both ways: in the revealed belief, in the "
            "stated answer (expected over the four options), and their difference, below 0 where "
            "the revealed belief is nearer. Brackets: 95% t intervals with the wordings of the "
            "revealed belief as a sample. The last columns are those of who knows nothing."
        ),
        columns=columns,
        rows=tuple(rows),
        n_last=0 if (misses["group"] == ALL).sum() > 1 else 1,
    )
