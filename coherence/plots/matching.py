"""The figure of matching probabilities: whether choices answer the stated chance."""

import pandas as pd
from matplotlib.axes import Axes

from coherence.plots.intervals import points_with_intervals
from coherence.plots.style import (
    FAINT,
    INK,
    Style,
    belief_axes,
    canvas,
    details_of,
    probability_scales,
    set_title,
)
from coherence.result import CheckResult

CHANCES = "Choice of the lottery by its stated chance"
ORDERS = {
    "lottery": ("lottery named first", "o", INK),
    "event": ("event named first", "s", "white"),
    "": ("order not known", "o", FAINT),
}
"""Option named first -> what the legend says, the mark, and what fills it."""


def plot_stated_chances(
    result: CheckResult, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the lottery is chosen at each stated chance, by the option named first.

    Parameters
    ----------
    result : CheckResult
        ``matching:swing`` of `coherence.matching_estimates`.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Joined points, with the gid "lottery" or "event" of the option named first and 95% intervals
        over cases. Who answers the stated chance rises from left to right; lines apart show what
        the order does.

    Raises
    ------
    InputError
        The result is another one, or has no choices.

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import CheckResult
    >>> chances = pd.DataFrame(
    ...     {"first": "event", "level": [0.2, 0.8], "lottery": [0.1, 0.9], "low": 0.05, "high": 1.0}
    ... )
    >>> result = CheckResult(
    ...     "matching:swing", "", 0.8, "probability", None, None, 40, 20, details=chances
    ... )
    >>> plot_stated_chances(result).get_xlabel()
    'stated chance of the lottery'
    """
    chances = details_of(result, "matching:swing")
    with canvas(ax) as axes:
        draw_chances(chances, ax=axes)
        set_title(axes, title, CHANCES, lift=24)
        return axes


def draw_chances(chances: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw the details of a result, a line an order."""
    belief_axes(ax)
    probability_scales(ax)
    for first, (label, marker, fill) in ORDERS.items():
        rows = chances[chances["first"] == first].sort_values("level")
        if rows.empty:
            continue
        points: Style = {"marker": marker, "facecolor": fill, "edgecolor": INK, "gid": first}
        ax.plot(rows["level"], rows["lottery"], color=INK, linewidth=1.2, zorder=1)
        points_with_intervals(
            ax,
            rows,
            place="level",
            value="lottery",
            points=points | {"label": label, "color": None},
        )
    ax.set_xlabel("stated chance of the lottery")
    ax.set_ylabel("share choosing the lottery")
    _legend(ax)
    return ax


def _legend(ax: Axes) -> None:
    """Name the marks above the axes: every corner inside may hold points."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
        frameon=False,
        ncols=3,
        fontsize=9,
        handletextpad=0.2,
        columnspacing=1.2,
    )
