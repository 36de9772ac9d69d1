"""Every figure of a report as SVG, PDF and PNG, for papers and slides, and a table of them."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from coherence.plots.style import save_plot
from coherence.report.forest_figures import forest_figures
from coherence.report.page_figures import unit_figures
from coherence.report.planned_figure import Figure
from coherence.report.ranking import FEW, rank, unit_key
from coherence.report.unit import Unit
from coherence.report.wording import clean

ENDINGS = ("svg", "pdf", "png")
CONTENTS = "figures.csv"
NAMES = r"(unit-[0-9]+-[a-z0-9-]+|forest-[0-9]+)\.(svg|pdf|png)"
"""Names of all files that `write_figures` writes, but for the table of contents."""


def all_figures(units: Sequence[Unit]) -> Iterator[tuple[Unit | None, Figure]]:
    """Plan every figure of a report."""
    for number, unit in enumerate(units, start=1):
        for figure in unit_figures(unit, unit_key(number))[0]:
            yield unit, figure
    if len(units) > FEW:
        for figure in forest_figures(rank(units)[1]):
            yield None, figure


def write_figures(units: Sequence[Unit], folder: Path) -> list[str]:
    """Write every figure in every format, and a table that says what each shows."""
    written, text = [], io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "task", "model", "title", "caption"])
    for unit, figure in all_figures(units):
        for ending in ENDINGS:
            name = f"{figure.key}.{ending}"
            save_plot(figure.draw, folder / name, size=figure.size, salt=figure.key)
            written.append(name)
        of_unit = ("", "") if unit is None else (clean(unit.task), clean(unit.model))
        table.writerow([figure.key, *of_unit, figure.title, figure.caption])
    (folder / CONTENTS).write_text(text.getvalue(), encoding="utf-8")
    return [*written, CONTENTS]
