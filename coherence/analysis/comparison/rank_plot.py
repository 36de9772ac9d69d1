"""The picture of a comparison: a panel for each effect, estimates beside the possible ranks."""

import io

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.analysis.comparison.effects import EFFECTS
from coherence.plots.ranks import height_for, plot_ranks
from coherence.plots.style import figure_style
from coherence.report.wording import clean

MOST_ACROSS = 3
WIDTH = 4.2  # inches of a panel


def draw_effect(rows: pd.DataFrame, *, ax: Axes, title: str | None = None) -> Axes:
    """Draw the rows of one effect and task, as `coherence.plots.plot_ranks` draws them."""
    signed = EFFECTS[str(rows["effect"].iloc[0])].signed
    return plot_ranks(rows, signed=signed, title=title, ax=ax)


def render_comparison(estimates: pd.DataFrame) -> str:
    """Draw a panel for each task and effect."""
    groups = list(estimates.groupby(["task", "effect"], sort=False))
    across = min(max(len(groups), 1), MOST_ACROSS)
    down = max(-(-len(groups) // across), 1)
    tallest = max((len(rows) for _, rows in groups), default=1)
    buffer = io.BytesIO()
    with figure_style():
        size = (WIDTH * across, height_for(tallest) * down + 0.2)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        several = estimates["task"].nunique() > 1
        for ax, ((task, effect), rows) in zip(panels, groups, strict=False):
            title = f"{clean(task, limit=24)} · {effect}" if several else None
            draw_effect(rows, title=title, ax=ax)
        for ax in panels[len(groups) :]:
            ax.set_visible(False)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode("utf-8")
