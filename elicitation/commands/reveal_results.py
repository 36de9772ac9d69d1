"""What ``coherence reveal`` writes and prints, whoever answered."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files
from elicitation.commands.paper_option import write_paper_tables

if TYPE_CHECKING:
    import pandas as pd

# All that the command may write, but for the store of answers.
_WRITTEN = (
    r"(table|summary|scores|beliefs|influence|orders|stated|stated_errors|misses|bets)\.csv"
    r"|(outcomes|previous|orders|misses)\.png|runs\.parquet|results\.json|report\.html"
)


@dataclass
class Battery:
    """Tables of what was asked, one of each kind per model."""

    beliefs: "list[pd.DataFrame]" = field(default_factory=list)
    stated: "list[pd.DataFrame]" = field(default_factory=list)
    bets: "list[pd.DataFrame]" = field(default_factory=list)
    runs: "list[pd.DataFrame]" = field(default_factory=list)


def write_battery(
    folder: Path,
    battery: Battery,
    *,
    seed: int,
    inputs: "Sequence[str]" = (),
    paper: Path | None = None,
) -> None:
    """Write tables and figures, print the summary, and with a runs table the verdict."""
    from coherence.batteries.revealed.figures import misses_figure, write_figures
    from coherence.table.storage import write_runs

    beliefs, stated, bets, runs = map(
        _together, (battery.beliefs, battery.stated, battery.bets, battery.runs)
    )
    tables, texts = _scored(beliefs, stated, bets)
    # No file without rows: of coins there are no orders of options, for instance.
    filled = {f"{name}.csv": table for name, table in tables.items() if len(table)}
    failure: Exception | None = None
    where = f"{folder}{in_place(folder, _WRITTEN)}"
    with new_files(folder, _WRITTEN, inputs) as new:
        for name, table in filled.items():
            table.to_csv(new / name, index=False)
        if beliefs is not None:
            write_figures(beliefs, new)
        if "misses.csv" in filled:
            misses_figure(tables["beliefs"], tables["misses"]).savefig(new / "misses.png")
        # Before the checks, which take longer.
        print("\n\n".join(filter(None, texts)))
        if runs is not None:
            # First, so that a check that fails leaves the table to look at.
            write_runs(runs, new / "runs.parquet")
            try:
                print(f"\n{_check_coherence(runs, new, seed)}")
            except OSError:  # of the files
                raise
            except Exception as error:  # of a check: what was measured is there all the same
                failure = error
        written = [path.name for path in new.iterdir()]
    print(f"wrote {', '.join(sorted(written))} to {where}", file=sys.stderr)
    if paper is not None:
        _write_paper(paper, tables)
    if failure is not None:
        raise failure


def _scored(
    beliefs: "pd.DataFrame | None", stated: "pd.DataFrame | None", bets: "pd.DataFrame | None"
) -> "tuple[dict[str, pd.DataFrame], list[str]]":
    """Return every table by the name of its file, and what they say."""
    from coherence.batteries.revealed.scores import (
        compare_misses,
        comparison_table,
        order_preferences,
        previous_influences,
        render_misses,
        score_beliefs,
        score_stated,
        score_wagers,
        summarise_scores,
    )
    from coherence.batteries.revealed.text import (
        render_bets,
        render_distances,
        render_notes,
        render_stated,
    )

    tables: dict[str, pd.DataFrame] = {}
    texts: list[str] = []
    if stated is not None:
        tables |= {"stated": stated, "stated_errors": score_stated(stated)}
    if beliefs is not None:
        scores = score_beliefs(beliefs)
        summary = summarise_scores(scores)
        distances = comparison_table(summary, tables.get("stated_errors"))
        influences, orders = previous_influences(beliefs), order_preferences(beliefs)
        tables |= {
            "beliefs": beliefs,
            "scores": scores,
            "summary": summary,
            "table": distances,
            "influence": influences,
            "orders": orders,
        }
        texts += [render_distances(distances), render_notes(scores, influences, orders)]
    if stated is not None:
        texts.append(render_stated(tables["stated_errors"]))
    if stated is not None and beliefs is not None:
        tables["misses"] = compare_misses(beliefs, stated)
        texts.append(render_misses(tables["misses"]))
    if bets is not None:
        tables["bets"] = score_wagers(bets)
        texts.append(render_bets(tables["bets"]))
    return tables, texts


def _write_paper(paper: Path, tables: "Mapping[str, pd.DataFrame]") -> None:
    """Write the tables of the paper, and the figure of both ways of asking."""
    from coherence.batteries.revealed.paper_tables import EARLIER, revealed_tables
    from coherence.report.tables.document import PaperFigure

    misses = tables.get("misses")

    def draw(folder: Path) -> list[PaperFigure]:
        if misses is None or not len(misses):
            return []
        from coherence.batteries.revealed.figures import CAPTION, TITLE, misses_figure

        drawn = misses_figure(tables["beliefs"], misses)
        for ending, date in (("svg", "Date"), ("pdf", "CreationDate")):
            drawn.savefig(folder / f"misses.{ending}", metadata={date: None})
        return [PaperFigure("misses", "Figure", TITLE, CAPTION)]

    summary, errors = tables.get("summary"), tables.get("stated_errors")
    laid_out = [] if summary is None else revealed_tables(summary, errors, misses)
    write_paper_tables(paper, "Revealed beliefs", laid_out, draw, earlier=EARLIER)


def _check_coherence(runs: "pd.DataFrame", folder: Path, seed: int) -> str:
    """Run the ordinary checks, write their report and return it as text."""
    from coherence.analysis.analyze import analyze
    from coherence.report.terminal import render_report

    print("checking the coherence of beliefs and bets", file=sys.stderr)
    report = analyze(runs, rng=seed)
    (folder / "results.json").write_text(report.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
    return render_report(report.units, full=True)


def _together(tables: "list[pd.DataFrame]") -> "pd.DataFrame | None":
    """Return the tables below each other, or None if there is no row."""
    import pandas as pd

    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else None
