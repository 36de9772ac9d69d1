"""The figure of what was offered: how often it was taken, a lane a stake or an order of options."""

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
    INK,
    Style,
    canvas,
    frame_axes,
    points_with_intervals,
    probability_scales,
    set_title,
)
from coherence.printable import odds
from coherence.public_names import described
from coherence.result import CheckResult
from coherence.runs.audit import STATED

LANE = 0.8  # height of a lane, of the distance between two
STAKES, CHANCES = ("stake", "belief", "acts"), ("first", "level", "lottery")
"""Columns of what can be drawn: what is one lane, the place in it, and the share."""
ORDERS = {"": "order not known", "event": "event first", "lottery": "lottery first"}
TITLES = {
    STAKES: "Share that acts, by stated belief and stake",
    CHANCES: "Share that takes the lottery, by its stated chance",
}


@described
def plot_offers(
    result: CheckResult, *, noun: str = STATED, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often an agent acts at each stake, or takes a lottery by its stated chance.

    Parameters
    ----------
    result : CheckResult
        ``stakes:movement`` of `coherence.stakes_estimates`, or ``matching:swing`` of
        `coherence.matching_estimates`.

    Returns
    -------
    Axes
        A lane a stake, the highest on top, or an order of the options, with shares from 0 to 1:
        points with the gid "shares" and 95% intervals. Of stakes, the dashed step is at the belief
        from which acting pays.

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
    >>> [label.get_text() for label in plot_offers(result).get_yticklabels()]
    ['1:1', '9:1']
    """
    shares = getattr(result, "details", pd.DataFrame())
    require(
        columns_of(shares) is not None,
        "result must be stakes:movement of coherence.stakes_estimates or matching:swing of "
        "coherence.matching_estimates, with choices to draw; received "
        f"{getattr(result, 'check', type(result).__name__)} {getattr(result, 'reason', '')}.",
    )
    with canvas(ax, size=(4.6, height_for(shares))) as axes:
        draw_offers(shares, ax=axes, noun=noun)
        set_title(axes, title, TITLES[columns_of(shares) or STAKES])
        return axes


def columns_of(shares: pd.DataFrame) -> tuple[str, str, str] | None:
    """Return which columns are drawn; None of a table that has none of them, or no rows."""
    return next((of for of in (STAKES, CHANCES) if {*of} <= {*shares} and len(shares)), None)


def height_for(shares: pd.DataFrame) -> float:
    """Return the height of the figure, in inches."""
    return 0.9 + 0.62 * max(shares.iloc[:, 0].nunique(), 2)


def draw_offers(shares: pd.DataFrame, *, ax: Axes, noun: str = STATED) -> Axes:
    """Draw the details of a result."""
    lanes, place, value = columns_of(shares) or STAKES
    staked, kinds = lanes == "stake", sorted(shares[lanes].unique())
    frame_axes(ax)
    probability_scales(ax, y=False)
    step: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES, "zorder": 1}
    for lane, kind in enumerate(kinds):
        of = shares[shares[lanes] == kind].sort_values(place)
        of = of.assign(**{name: lane + LANE * of[name] for name in (value, "low", "high")})
        ax.axhline(lane, color="#e6e6e6", linewidth=0.8, zorder=0)
        if staked:
            ax.plot([0, kind, kind, 1], [lane, lane, lane + LANE, lane + LANE], gid="step", **step)
        ax.plot(of[place], of[value], color=BLUE, linewidth=1.2, zorder=2)
        points: Style = {"s": 26, "gid": "shares"}
        points_with_intervals(ax, of, place=place, value=value, points=points, lines={"color": INK})
    named = [odds(kind) if staked else ORDERS[kind] for kind in kinds]
    ax.set_yticks([lane + LANE / 2 for lane in range(len(kinds))], named)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.15, len(kinds))
    ax.set_xlabel(noun if staked else "stated chance of the lottery")
    ax.set_ylabel("share that acts, by loss : gain" if staked else "share that takes it")
    return ax
