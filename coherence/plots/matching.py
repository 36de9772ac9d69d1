"""The figures of matching probabilities: three beliefs of each case, and whether chances count."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.plots.intervals import points_with_intervals
from coherence.plots.row_axes import name_rows
from coherence.plots.style import (
    FAINT,
    INK,
    Style,
    belief_axes,
    canvas,
    details_of,
    frame_axes,
    probability_scales,
    set_title,
)
from coherence.printable import clean
from coherence.result import CheckResult
from coherence.table.audit import STATED

CASES = "Beliefs case by case"
CHANCES = "Choice of the lottery by its stated chance"
MOST_CASES = 40  # evenly spaced beyond, in the order of the figure
_LABEL = 16  # letters
ORDERS = {
    "lottery": ("lottery named first", "o", INK),
    "event": ("event named first", "s", "white"),
    "": ("order not known", "o", FAINT),
}
"""Option named first -> what the legend says, the mark, and what fills it."""


def plot_case_beliefs(
    result: CheckResult, *, noun: str = STATED, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what is true of each case, what was said of it, and which belief was acted on.

    Parameters
    ----------
    result : CheckResult
        ``matching:difference`` of `coherence.matching_estimates`.
    noun : str
        What the legend calls the stated belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        A row for each of up to 40 cases, the lowest exact posterior (or stated belief) on top.
        Points with the gid "acted_on" have lines of the middle 95% of what their choices leave.

    Raises
    ------
    InputError
        The result is another one, or choices did not answer the stated chance.

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import CheckResult
    >>> cases = pd.DataFrame(
    ...     {"context": ["a", "b"], "exact": [0.2, 0.7], "stated": [0.3, 0.6],
    ...      "acted_on": [0.25, 0.65], "low": [0.15, 0.5], "high": [0.35, 0.8]}
    ... )
    >>> result = CheckResult(
    ...     "matching:difference", "", 0.0, "probability", None, None, 40, 2, details=cases
    ... )
    >>> ax = plot_case_beliefs(result)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    cases = details_of(result, "matching:difference")
    with canvas(ax, size=(5.4, height_for(cases))) as axes:
        draw_cases(cases, ax=axes, noun=noun)
        set_title(axes, title, CASES, lift=24)
        return axes


def height_for(cases: pd.DataFrame) -> float:
    """Return the height in inches that cases need."""
    return 1.3 + 0.15 * min(len(cases), MOST_CASES)


def draw_cases(cases: pd.DataFrame, *, ax: Axes, noun: str) -> Axes:
    """Draw the details of a result, a row a case."""
    exact = cases["exact"].notna().all()
    cases = cases.sort_values(["exact", "stated"] if exact else ["stated"], kind="stable")
    kept = np.unique(np.linspace(0, len(cases) - 1, MOST_CASES).round().astype(int))
    shown = cases.iloc[kept].assign(row=np.arange(len(kept)))
    frame_axes(ax)
    probability_scales(ax, y=False)
    ax.grid(True, axis="x", color="#e6e6e6", linewidth=0.8)
    points: Style = {"s": 26, "color": INK, "linewidth": 0, "gid": "acted_on", "label": "acted on"}
    places: Style = {"place": "row", "value": "acted_on", "sideways": True}
    points_with_intervals(ax, shown, **places, points=points, lines={"color": FAINT})
    hollow: Style = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.1, "zorder": 4}
    ax.scatter(shown["stated"], shown["row"], s=26, gid="stated", label=noun, **hollow)
    if exact:
        marks: Style = {"s": 46, "marker": "|", "color": INK, "linewidth": 2.2, "zorder": 5}
        ax.scatter(shown["exact"], shown["row"], gid="exact", label="exact posterior", **marks)
    name_rows(ax, [clean(name, limit=_LABEL) for name in shown["context"]], letters=6.5)
    ax.set_xlabel("probability of the event")
    _legend(ax)
    return ax


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
