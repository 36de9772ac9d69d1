"""Points with their intervals, below or beside each other: what most figures are made of."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from coherence.plots.style import BLUE, INK, Style


def points_with_intervals(
    ax: Axes,
    table: pd.DataFrame,
    *,
    place: str,
    value: str,
    low: str = "low",
    high: str = "high",
    sideways: bool = False,
    points: Style | None = None,
    lines: Style | None = None,
) -> PathCollection:
    """Draw a point per row of a table, and a line from `low` to `high` where both are known.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    table : DataFrame
        One row per point.
    place, value, low, high : str
        Its columns: where a point stands, what it shows, and the ends of the interval.
    sideways : bool
        Whether values run along the x axis, with the points below each other.
    points, lines : mapping, optional
        Keywords of `Axes.scatter` and of `Axes.vlines`, beside those of all figures.

    Returns
    -------
    PathCollection
        The points.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"p": [0.2, 0.8], "rate": [0.3, 0.7], "low": [0.1, None], "high": 0.9})
    >>> ax = Figure().add_subplot()
    >>> points_with_intervals(ax, table, place="p", value="rate").get_offsets().tolist()
    [[0.2, 0.3], [0.8, 0.7]]
    >>> [path.vertices.tolist() for path in ax.collections[0].get_paths()]
    [[[0.2, 0.1], [0.2, 0.9]]]
    """
    at, shown = (table[name].to_numpy(dtype=float) for name in (place, value))
    known = table.dropna(subset=[low, high])
    draw = ax.hlines if sideways else ax.vlines
    line: Style = {"color": INK, "linewidth": 1.0, "zorder": 2}
    draw(known[place], known[low], known[high], **line | (lines or {}))
    point: Style = {"s": 34, "color": BLUE, "linewidth": 1.4, "zorder": 3}
    return ax.scatter(*((shown, at) if sideways else (at, shown)), **point | (points or {}))
