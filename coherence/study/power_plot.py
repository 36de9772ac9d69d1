"""The picture of a power simulation: a panel for each result, power against contexts."""

import io
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.plots.power import plot_power
from coherence.plots.style import INK, Style, figure_style
from coherence.report.wording import clean

PANEL = (3.4, 2.9)  # inches
MOST_ACROSS = 3


def render_power(table: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    """Draw a panel for each result.

    Parameters
    ----------
    table : DataFrame
        Of `PowerResult`.
    settings : mapping
        Of `PowerResult`.

    Returns
    -------
    str
        SVG text, equal bytes for equal tables.
    """
    results = list(dict.fromkeys(table["check"]))
    across = min(len(results), MOST_ACROSS)
    down = -(-len(results) // across)
    size = (PANEL[0] * max(across, 1.3), PANEL[1] * down + 0.9)
    buffer = io.BytesIO()
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        panels = figure.subplots(down, across, squeeze=False, sharey=False).ravel()
        for ax, result in zip(panels, results, strict=False):
            rows = table[table["check"] == result]
            options = {"alpha": settings["alpha"], "target": settings["target"]}
            plot_power(rows, title=clean(result, limit=44), legend=False, ax=ax, **options)
        for ax in panels[len(results) :]:
            ax.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        # A panel is as wide as one long label, or two short ones.
        columns = across * (1 if max(map(len, labels)) > 20 else 2)
        style: Style = {"frameon": False, "fontsize": 8.5, "columnspacing": 1.2}
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
        of = f"{settings['population']}, {settings['planted']} planted"
        figure.suptitle(clean(of, limit=80), fontsize=10.5, color=INK, parse_math=False)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode("utf-8")
