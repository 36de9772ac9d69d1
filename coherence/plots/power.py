"""The picture of a power simulation: the share that rejects against the number of cases."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.plots.style import (
    DASHES,
    FAINT,
    INK,
    SERIES_COLOURS,
    Style,
    canvas,
    frame_axes,
    probability_scales,
    require_columns,
    set_title,
)
from coherence.printable import clean, counted
from coherence.public_names import described
from coherence.result import LEVEL

_LINES = ("agent", "check", "signal", "n_reps")
_NEEDED = (*_LINES, "n_cases", "power", "low", "high")


@described
def plot_power(table: pd.DataFrame, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of simulated tables that reject against the number of cases.

    Parameters
    ----------
    table : DataFrame
        What `coherence.power` returned, or several such tables below each other.

    Returns
    -------
    Axes
        A line for each result, signal and number of repetitions with exact 95% intervals, cases
        on a logarithmic axis; dashed lines at the level, .05, and at a power of .8.

    Raises
    ------
    InputError
        The table lacks a column.

    Examples
    --------
    >>> import coherence
    >>> shares = coherence.power("shaded", [20, 40], 1, 0.4, n_simulations=10, rng=1)
    >>> coherence.plots.plot_power(shares).get_title(loc="left")
    'sufficiency: power by number of cases'
    """
    require_columns(table, _NEEDED, "table must be what power returned")
    with canvas(ax, size=(6.4, 3.3)) as axes:
        frame_axes(axes)
        several = [name for name in _LINES if table[name].nunique() > 1]
        for number, (_, rows) in enumerate(table.groupby(list(_LINES), sort=False)):
            line = rows.sort_values("n_cases")
            share, low, high = (line[name].to_numpy(float) for name in ("power", "low", "high"))
            texts = {
                "agent": clean(line["agent"].iloc[0], limit=44),
                "check": clean(line["check"].iloc[0], limit=44),
                "signal": f"signal {line['signal'].iloc[0]:g}".replace(" 0.", " ."),
                "n_reps": counted(int(line["n_reps"].iloc[0]), "repetition"),
            }
            label = ", ".join(texts[name] for name in several or ["signal"])
            colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
            style: Style = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 1.2}
            reach = np.array([share - low, high - share])
            axes.errorbar(line["n_cases"], share, yerr=reach, elinewidth=0.8, label=label, **style)
        sizes = sorted(table["n_cases"].unique())
        shown = sizes if len(sizes) <= 6 else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
        axes.set_xscale("log")
        axes.set_xticks(shown, [f"{size:g}" for size in shown])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("cases", color=INK)
        probability_scales(axes, x=False)
        for height, label in ((LEVEL, "level .05 and power .8"), (0.8, "_")):
            axes.axhline(height, color=FAINT, linestyle=DASHES, linewidth=0.8, label=label)
        axes.set_ylabel("share rejected", color=INK)
        # Beside the axes: lines may be anywhere inside.
        beside: Style = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(frameon=False, fontsize="small", **beside)
        names = table["check"].unique()
        one = clean(names[0] if len(names) == 1 else str(names[0]).partition(":")[0])
        set_title(axes, title, f"{one}: power by number of cases")
        return axes
