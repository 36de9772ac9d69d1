"""The scores of revealed beliefs as tables: those of the paper, and lines for the terminal."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from coherence.batteries.revealed.scores import ALL
from coherence.report.columns import aligned
from coherence.report.tables import (
    Cell,
    Column,
    PaperTable,
    number_cell,
    spoken_range,
    text_cell,
)
from coherence.report.wording import clean

METRICS = {"chebyshev": "Chebyshev", "l1": "L1", "symmetric_kl": "symmetric KL, nats"}
MOST_ROWS = 28
"""Rows of a table, which a page holds; longer ones go on in another."""
_NOT_READ = "No belief was read: the outcomes had no probability, or one of them was not given."
_NOT_ASKED = "No stated answer was asked for, or read, in this group."

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


_METRICS = {
    "chebyshev": "Chebyshev distance from the truth",
    "l1": "L1 distance from the truth",
    "symmetric_kl": "Symmetric KL from the truth, nats",
}
_ROOM = 48  # for the names of all sources, where there are several
_LITTLE = 0.5  # of the probability: below it a model would rather say something else


def render_distances(table: pd.DataFrame) -> str:
    """Return a table per metric: a row for each group, the sources side by side."""
    sources = [name.removesuffix(" sd") for name in table.columns if name.endswith(" sd")]
    columns = [name for source in sources for name in (source, f"{source} sd")]
    blocks = []
    for metric, title in _METRICS.items():
        rows = [_heading(sources, "sd")]
        for _, row in table[table["metric"] == metric].iterrows():
            group = clean(f"{row['scenario']}: {row['group']}", limit=56)
            rows.append([group, str(row["n_settings"]), *(_number(row[name]) for name in columns)])
        blocks.append("\n".join([title, *aligned(rows, right=range(1, len(rows[0])))]))
    return "\n\n".join([*blocks, "Means over settings; sd: standard deviation over wordings."])


def render_stated(errors: pd.DataFrame) -> str:
    """Return a table of stated answers: a row for each group, the sources side by side."""
    sources = list(dict.fromkeys(errors["source"]))
    rows = [_heading(sources, "mass")]
    for (scenario, group), answers in errors.groupby(["scenario", "group"], sort=False):
        cells = []
        by_source = answers.groupby("source")[["stated_error", "answer_mass"]].mean()
        for error, mass in by_source.reindex(sources).itertuples(index=False):
            cells += [_number(error), "-" if math.isnan(mass) else f"{mass:.2g}"]
        name = clean(f"{scenario}: {group}", limit=56)
        rows.append([name, str(answers["setting"].nunique()), *cells])
    lines = [
        "Stated answers: probability of a wrong one out of four",
        *aligned(rows, right=range(1, len(rows[0]))),
        # One option of four is right, so that a guess is wrong in three cases of four.
        "Knowing nothing is wrong with .75; mass: probability that the answer is a letter at all.",
    ]
    for source, answers in errors.groupby("source", sort=False):
        median = answers["answer_mass"].median()
        if median < _LITTLE:
            lines.append(
                f"{clean(source, limit=40)}: the probability that a stated answer is a letter "
                f"at all is {median:.2g} (median). "
                "The errors are shares of that little, and no belief."
            )
    return "\n".join(lines)


def render_bets(bets: pd.DataFrame) -> str:
    """Return a line on the bets of every source."""
    lines = []
    for source, of_source in bets.groupby("source", sort=False):
        known = of_source.dropna(subset="share")
        name, n = clean(str(source), limit=40), len(of_source)
        line = f"{name}: none of {n} bets could be read"
        if len(known):
            line = (
                f"{name}: takes {known['share'].mean():.0%} of {n} bets at even odds, and loses "
                f"{known['loss'].mean():.2f} points a bet against who knows the truth"
            )
            if len(known) < n:
                line += f"; {n - len(known)} could not be read"
        lines.append(f"{line}.")
        median = of_source["answer_mass"].median()
        if median < _LITTLE:
            lines.append(
                "    The probability that its answer to a bet is a letter at all is "
                f"{median:.2g} (median): hardly its decisions."
            )
    return "\n".join(lines)


def render_notes(scores: pd.DataFrame, influences: pd.DataFrame, orders: pd.DataFrame) -> str:
    """Return in a sentence each what is in the other tables, for every source."""
    lines = []
    for source, beliefs in scores.groupby("source", sort=False):
        median = beliefs["answer_mass"].median()
        parts = [
            f"probability on the outcomes {median:.2g} (median)",
            f"leaked to impossible ones {beliefs['leaked_mass'].mean():.2g}",
        ]
        # "1" is how "10" to "12" begin: what it gets besides shows whether a love of face 1 is only
        # an artefact of reading beginnings.
        die = beliefs[beliefs["group"] == "1 die, single"]
        exact, beginning = die["first_excess"].mean(), die["first_excess_beginning"].mean()
        if not math.isnan(beginning):
            parts.append(
                f"face 1 of a die {exact:+.2f} from the truth "
                f"({beginning:+.2f} if 10 to 12 counted as 1)"
            )
        for label, table, columns in (
            ("an earlier result", influences, ("distance", "pull")),
            ("the order of options", orders, ("position", "label")),
        ):
            rows = table[table["source"] == source]
            if len(rows):
                means = ", ".join(f"{column} {rows[column].mean():+.2f}" for column in columns)
                parts.append(f"{label}: {means}")
        lines.append(f"{clean(source, limit=40)}: {'; '.join(parts)}")
        if median < _LITTLE:
            lines.append(
                "    Most texts would rather go on in another way: "
                "what is shown are shares of the little that falls on the outcomes."
            )
    return "\n".join(lines)


def _heading(sources: list[str], beside: str) -> list[str]:
    """Return the heading of a table with two columns per source."""
    limit = max(12, _ROOM // len(sources))
    cells = [cell for source in sources for cell in (clean(source, limit=limit), beside)]
    return ["", "settings", *cells]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.2f}"


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
