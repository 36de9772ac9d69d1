"""Figure files of revealed beliefs: which settings are shown, and panels of them side by side."""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.batteries.revealed.plots import (
    plot_orders,
    plot_outcomes,
    plot_previous,
    rows_of_setting,
)
from coherence.plots.style import INK, figure_style
from coherence.report.wording import clean

_TITLE = 38  # letters of a title
_MOST_SOURCES = 4  # in figures that have panels of their own for each
_EXAMPLES = {"dice": 2, "coins": 1, "choice": 1, "preference": 2, "counts": 1}
_MOST_EXAMPLES = 6

Panel = tuple[str, Callable[[Axes], Axes]]
"""A title, and what draws the panel."""


def write_figures(beliefs: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the figures that a belief table allows."""
    single = beliefs[beliefs["variant"] == "single"]
    sources = list(dict.fromkeys(beliefs["source"]))[:_MOST_SOURCES]
    outcomes = [(title, partial(plot_outcomes, beliefs, name)) for title, name in _examples(single)]
    orders, n_orders = _order_panels(single, sources)
    # The panels of a history, or of a pair, stand side by side: a column per source.
    columns = {
        "previous": 3 if len(sources) == 3 else 2,
        "orders": 3 if n_orders == 1 else n_orders,
    }
    written = []
    for name, panels, n_columns, size in (
        ("outcomes", outcomes, 3, (3.5, 2.5)),
        ("previous", _previous_panels(beliefs, sources), columns["previous"], (5.4, 2.6)),
        ("orders", orders, columns["orders"], (3.3, 2.4)),
    ):
        if panels:
            written.append(Path(folder) / f"{name}.png")
            shared = name != "previous"  # each history has earlier results of its own
            _save_panels(written[-1], panels, columns=n_columns, size=size, shared=shared)
    return written


def _previous_panels(beliefs: pd.DataFrame, sources: Sequence[str]) -> list[Panel]:
    panels: list[Panel] = []
    for baseline, variant in _histories(beliefs):
        alone = beliefs["setting"] == baseline
        later = (beliefs["baseline"] == baseline) & (beliefs["variant"] == variant)
        for source in sources:
            draw = partial(_empty, source)
            if _is_read(beliefs[alone], source) and _is_read(beliefs[later], source):
                draw = partial(plot_previous, beliefs, baseline, variant, source=source)
            title = f"{_title(rows_of_setting(beliefs, baseline))}, {variant}"
            panels.append((f"{title}{_of_source(source, sources)}", draw))
    return panels


def _order_panels(single: pd.DataFrame, sources: Sequence[str]) -> tuple[list[Panel], int]:
    """Return the panels of both orders of every pair, and how many sources have some."""
    orders = single.groupby(["source", "pair"], sort=False)["setting"].transform("nunique")
    paired = single[(single["pair"] != "") & (orders == 2)]
    sources = [source for source in sources if _is_read(paired, source)]
    panels: list[Panel] = []
    for pair in dict.fromkeys(paired["pair"]):
        for source in sources:
            draw = partial(_empty, source)
            if _is_read(paired[paired["pair"] == pair], source):
                draw = partial(plot_orders, single, str(pair), source=source)
            name = _clipped(str(pair).rpartition("/")[2])
            panels.append((f"{name}{_of_source(source, sources)}", draw))
    return panels, len(sources)


def _save_panels(
    path: Path, panels: Sequence[Panel], *, columns: int, size: tuple[float, float], shared: bool
) -> None:
    """Draw panels on a grid and write them as PNG, with one legend for all if `shared`."""
    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    with figure_style({"font.size": 9.0}):
        # Rounded: older versions of matplotlib cut off what is a hair below a whole pixel.
        inches = (round(size[0] * columns, 6), round(size[1] * lines, 6))
        figure = Figure(figsize=inches, layout="constrained", dpi=150)
        for number, (title, draw) in enumerate(panels):
            ax = draw(figure.add_subplot(lines, columns, number + 1))
            ax.set_title(title, fontsize=9.5, color=INK, loc="left", parse_math=False)
            if number % columns:
                ax.set_ylabel("")
            if shared and (legend := ax.get_legend()):
                legend.remove()
        if shared:
            # Panels may lack a source of which no belief was read: the fullest legend has all.
            legends = [ax.get_legend_handles_labels() for ax in figure.axes]
            entries = max(legends, key=lambda handles_labels: len(handles_labels[1]))
            legend = figure.legend(*entries, loc="outside lower center", ncols=5, frameon=False)
            for text in legend.get_texts():
                text.set_parse_math(False)
        figure.savefig(path, metadata={"Software": None})


def _title(rows: pd.DataFrame) -> str:
    return _clipped(str(rows["setting"].iloc[0]).split("/", 2)[-1].replace("/", ", "))


def _clipped(name: str) -> str:
    """Shorten a long name in its middle: what it ends with tells it from others."""
    text = clean(name, limit=200)
    return text if len(text) <= _TITLE else f"{text[: _TITLE // 2]}…{text[-_TITLE // 2 :]}"


def _is_read(rows: pd.DataFrame, source: str) -> bool:
    """Return whether a source has a belief with any probability among the rows."""
    return bool((rows.loc[rows["source"] == source, "mass"] > 0).any())


def _of_source(source: str, sources: Sequence[str]) -> str:
    return f"\n{clean(source, limit=30)}" if len(sources) > 1 else ""


def _empty(source: str, ax: Axes) -> Axes:
    """Leave a panel empty, and say why, so that the others stay in their columns."""
    ax.set_axis_off()
    note = f"no belief read of\n{clean(source, limit=30)}"
    ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", color=INK, parse_math=False)
    return ax


def _examples(single: pd.DataFrame) -> list[tuple[str, str]]:
    """Choose single experiments: two groups of dice and of preferences, one of other scenarios."""
    examples = []
    for scenario, count in _EXAMPLES.items():
        rows = single[single["scenario"] == scenario]
        groups = list(dict.fromkeys(rows["group"]))
        middle = len(groups) // 2
        positions = ([0, middle] if count == 2 else [middle]) if groups else []
        for group in dict.fromkeys(groups[position] for position in positions):
            names = list(dict.fromkeys(rows.loc[rows["group"] == group, "setting"]))
            # The second of the dice is the one with six faces in the standard grid.
            name = names[min(1, len(names) - 1)] if scenario == "dice" else names[0]
            examples.append((_title(rows[rows["setting"] == name]), name))
    return examples[:_MOST_EXAMPLES]


def _histories(beliefs: pd.DataFrame) -> list[tuple[str, str]]:
    """Choose baselines with settings after earlier results: one of each scenario, and variants."""
    asked_alone = beliefs["baseline"].isin(set(beliefs["setting"]))
    later = beliefs[asked_alone & beliefs["variant"].isin(["independent", "dependent"])]
    histories = []
    for scenario, number in {"dice": 1, "coins": 0, "choice": 1}.items():
        baselines = list(dict.fromkeys(later.loc[later["scenario"] == scenario, "baseline"]))
        if baselines:
            baseline = baselines[min(number, len(baselines) - 1)]
            variants = dict.fromkeys(later.loc[later["baseline"] == baseline, "variant"])
            histories += [(baseline, variant) for variant in variants]
    return histories
