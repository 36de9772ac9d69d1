"""The figure of stated stakes: the belief from which it acts, and that from which acting pays."""

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.intervals import points_with_intervals
from coherence.plots.style import (
    DASHES,
    FAINT,
    INK,
    Style,
    belief_axes,
    canvas,
    probability_scales,
    set_title,
)
from coherence.result import CheckResult
from coherence.table.audit import STATED

TITLE = "Belief from which it acts"


def plot_thresholds(
    result: CheckResult, *, noun: str = STATED, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the stated belief from which the agent acts against the one from which acting pays.

    Parameters
    ----------
    result : CheckResult
        ``stakes:slope`` of `coherence.stakes_estimates`.
    noun : str
        What the axis calls the stated belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Points with the gid "acts_from", a stated level each, with their 95% intervals; on the
        dashed line it acts where its stated belief pays. What lies beyond [0, 1] is cut off.

    Raises
    ------
    InputError
        The result is another one, or there is no line.

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import CheckResult
    >>> line = pd.DataFrame({"level": [0.2, 0.8], "acts_from": [0.4, 0.6], "low": 0.3, "high": 0.7})
    >>> result = CheckResult("stakes:slope", "", 0.3, "ratio", None, None, 40, 20, details=line)
    >>> plot_thresholds(result).get_ylabel()
    'stated belief from which it acts'
    """
    require(
        isinstance(result, CheckResult) and result.check == "stakes:slope",
        "result must be stakes:slope of coherence.stakes_estimates; received "
        f"{getattr(result, 'check', type(result).__name__)}.",
    )
    require(
        not result.details.empty,
        f"result must have a line to draw; {result.reason or 'it has none'}.",
    )
    with canvas(ax, size=(4.4, 4.5)) as axes:
        draw_thresholds(result.details, ax=axes, noun=noun)
        set_title(axes, title, TITLE)
        return axes


def draw_thresholds(line: pd.DataFrame, *, ax: Axes, noun: str) -> Axes:
    """Draw the details of a result, a point a level."""
    belief_axes(ax)
    probability_scales(ax)
    diagonal: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES}
    ax.plot([0, 1], [0, 1], gid="diagonal", zorder=1, **diagonal)
    ax.plot(line["level"], line["acts_from"], color=INK, linewidth=1.2, zorder=2)
    points: Style = {"color": INK, "gid": "acts_from"}
    points_with_intervals(ax, line, place="level", value="acts_from", points=points)
    ax.set_xlabel("belief from which acting pays")
    ax.set_ylabel(f"{noun} from which it acts")
    ax.set_aspect("equal")
    return ax
