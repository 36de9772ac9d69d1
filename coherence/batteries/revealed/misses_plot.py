"""One figure of revealed against stated: outcomes over the truth, and both distances from it.

After figures 3 to 6 of the paper named in `coherence.batteries.revealed.distances`, with both
errors on one scale (`coherence.batteries.revealed.misses`).
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.batteries.revealed.misses import ALL
from coherence.batteries.revealed.plots import plot_outcomes
from coherence.plots.style import BLUE, FAINT, INK, VERMILION, Style, figure_style, frame_axes
from coherence.report.wording import clean

TITLE = "Revealed belief beside stated answer"
CAPTION = (
    "Left: an example of each scenario, the revealed belief over its outcomes (bars of colour, "
    "points its wordings) over the truth (grey). Right: mean distance from the truth of the "
    "probability of the outcome that the stated question asks about; in brackets the settings "
    "that were read both ways. Points: revealed belief, with a 95% t interval over wordings. "
    "Diamonds: stated answer, expected over its four options, with the range over the orders of "
    "the options. Ticks: a letter at random. Settings that were not read both ways are left out."
)
MOST_GROUPS = 10
_MOST_SOURCES = 3
_NAME = 34  # letters


def plot_misses(misses: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how far revealed beliefs and stated answers of one source are from the truth."""
    frame_axes(ax)
    places = np.arange(len(misses))[::-1].astype(float)
    marks: Style = {"linestyle": "", "zorder": 4}
    for kind, shift, colour, marker, ends in (
        ("revealed", 0.15, BLUE, "o", ("revealed_low", "revealed_high")),
        ("stated", -0.15, VERMILION, "D", ("stated_least", "stated_most")),
    ):
        values = misses[f"{kind}_miss"].to_numpy(dtype=np.float64)
        low, high = (misses[end].to_numpy(dtype=np.float64) for end in ends)
        known = ~np.isnan(low)
        reach: Style = {"color": colour, "linewidth": 1.3, "alpha": 0.7, "zorder": 3}
        ax.hlines(places[known] + shift, low[known], high[known], **reach)
        label = "revealed belief" if kind == "revealed" else "stated answer"
        shape: Style = {"marker": marker, "markersize": 5, "color": colour}
        ax.plot(values, places + shift, label=label, **shape, **marks)
    tick: Style = {"marker": "|", "markersize": 13, "color": FAINT}
    ax.plot(misses["stated_guess"], places - 0.15, label="letter at random", **tick, **marks)
    names = [
        f"{clean(group, limit=_NAME)} ({n})"
        for group, n in zip(misses["group"], misses["n_settings"], strict=True)
    ]
    ax.set_yticks(places, names)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(-0.6, len(misses) - 0.4)
    ax.set_xlim(left=0)
    ax.set_xlabel("distance of the probability from the true one")
    ax.grid(True, axis="x", color="#ececec", linewidth=0.8)
    return ax


def misses_figure(beliefs: pd.DataFrame, misses: pd.DataFrame) -> Figure:
    """Draw a line of panels per scenario: an example of its outcomes, then a panel per source."""
    shown = misses[misses["group"] != ALL]
    scenarios = list(dict.fromkeys(shown["scenario"]))
    sources = list(dict.fromkeys(shown["source"]))[:_MOST_SOURCES]
    heights = [_height(shown, scenario) for scenario in scenarios]
    with figure_style({"font.size": 8.5}):
        size = (3.6 + 4.6 * len(sources), sum(heights) + 0.4)
        figure = Figure(figsize=size, layout="constrained", dpi=150)
        widths = [3.6, *[4.6] * len(sources)]
        grid = figure.add_gridspec(
            len(scenarios), 1 + len(sources), height_ratios=heights, width_ratios=widths
        )
        for line, scenario in enumerate(scenarios):
            ax = figure.add_subplot(grid[line, 0])
            setting = _example(beliefs, scenario)
            plot_outcomes(beliefs, setting, ax)
            _title(ax, setting)
            for column, source in enumerate(sources, start=1):
                rows = shown[(shown["scenario"] == scenario) & (shown["source"] == source)]
                ax = figure.add_subplot(grid[line, column])
                if rows.empty:
                    ax.set_axis_off()
                    continue
                plot_misses(_spread_out(rows), ax)
                _title(ax, f"{scenario}, {source}")
                if line < len(scenarios) - 1:
                    ax.set_xlabel("")
        _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    """Put the legend of the distances below; the outcomes have one of their own."""
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        if "stated answer" in labels:
            figure.legend(handles, labels, loc="outside lower right", ncols=3, frameon=False)
            return


def _height(shown: pd.DataFrame, scenario: str) -> float:
    rows = shown[shown["scenario"] == scenario]
    n_groups = min(int(rows.groupby("source")["group"].nunique().max()), MOST_GROUPS)
    return max(0.9 + 0.3 * n_groups, 2.5)


def _spread_out(rows: pd.DataFrame) -> pd.DataFrame:
    count = min(len(rows), MOST_GROUPS)
    numbers = np.linspace(0, len(rows) - 1, count).round().astype(int)
    return rows.iloc[np.unique(numbers)]


def _example(beliefs: pd.DataFrame, scenario: str) -> str:
    """Choose a setting without earlier results, where the scenario has one."""
    rows = beliefs[beliefs["scenario"] == scenario]
    single = rows[rows["variant"] == "single"]
    names = list(dict.fromkeys((single if len(single) else rows)["setting"]))
    return str(names[min(1, len(names) - 1)])


def _title(ax: Axes, text: str) -> None:
    ax.set_title(clean(text, limit=52), fontsize=9, color=INK, loc="left", parse_math=False)
