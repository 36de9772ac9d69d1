"""The figure of stakes: how often it acts by its stated belief, a lane a stake."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
    INK,
    Style,
    canvas,
    details_of,
    frame_axes,
    probability_scales,
    set_title,
)
from coherence.printable import odds
from coherence.result import CheckResult
from coherence.runs.audit import STATED

TITLE = "Share that acts, by stated belief and stake"
LANE = 0.8  # height of a lane, of the distance between two


def plot_stakes(
    result: CheckResult, *, noun: str = STATED, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the agent acts by its stated belief, a lane a stake.

    Parameters
    ----------
    result : CheckResult
        ``stakes:movement`` of `coherence.stakes_estimates`.
    noun : str
        What the axis calls the stated belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        In each lane, from 0 to 1, points with the gid "acts" and their 95% intervals, and the step
        at the belief from which acting pays, dashed. The highest stake is at the top.

    Raises
    ------
    InputError
        The result is another one, or has no choices.

    Examples
    --------
    >>> import pandas as pd
    >>> from coherence import CheckResult
    >>> shares = pd.DataFrame({"stake": [0.5, 0.9], "belief": 0.7, "acts": 0.6})
    >>> shares = shares.assign(low=0.4, high=0.8)
    >>> result = CheckResult("stakes:movement", "", 0.3, "", None, None, 40, 20, details=shares)
    >>> [label.get_text() for label in plot_stakes(result).get_yticklabels()]
    ['1:1', '9:1']
    """
    shares = details_of(result, "stakes:movement")
    with canvas(ax, size=(4.6, height_for(shares))) as axes:
        draw_stakes(shares, ax=axes, noun=noun)
        set_title(axes, title, TITLE)
        return axes


def height_for(shares: pd.DataFrame) -> float:
    """Return the height of the figure, in inches."""
    return 0.9 + 0.62 * shares["stake"].nunique()


def draw_stakes(shares: pd.DataFrame, *, ax: Axes, noun: str) -> Axes:
    """Draw the details of a result."""
    frame_axes(ax)
    probability_scales(ax, y=False)
    stakes = np.sort(shares["stake"].unique())
    step: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES, "zorder": 1}
    for lane, stake in enumerate(stakes):
        of = shares[shares["stake"] == stake]
        ends = [lane, lane, lane + LANE, lane + LANE]
        ax.plot([0, stake, stake, 1], ends, gid="step", **step)
        ax.axhline(lane, color="#e6e6e6", linewidth=0.8, zorder=0)
        ax.vlines(of["belief"], lane + LANE * of["low"], lane + LANE * of["high"], color=INK)
        place = lane + LANE * of["acts"]
        ax.plot(of["belief"], place, color=BLUE, linewidth=1.2, zorder=2)
        ax.scatter(of["belief"], place, s=26, color=BLUE, zorder=3, gid="acts")
    ax.set_yticks(np.arange(len(stakes)) + LANE / 2, [odds(stake) for stake in stakes])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.15, len(stakes))
    ax.set_xlabel(noun)
    ax.set_ylabel("loss : gain at stake")
    return ax
