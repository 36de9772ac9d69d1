"""The figure of what was offered: how often it was taken, a lane a stake or an order of options."""

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
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
from coherence.runs.runs import STATED

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
    >>> result = CheckResult("stakes:movement", "", details=shares.assign(low=0.4, high=0.8))
    >>> [label.get_text() for label in plot_offers(result).get_yticklabels()]
    ['1:1', '9:1']
    """
    shares, named = getattr(result, "details", pd.DataFrame()), getattr(result, "check", result)
    columns = columns_of(shares)
    require(
        columns is not None,
        "result must be stakes:movement of coherence.stakes_estimates or matching:swing of "
        f"coherence.matching_estimates, with choices to draw; received {named} "
        f"{getattr(result, 'reason', '')}.",
    )
    lanes, place, value = columns or STAKES
    staked, kinds = lanes == "stake", sorted(shares[lanes].unique())
    step: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES, "zorder": 1}
    points: Style = {"s": 26, "gid": "shares"}
    with canvas(ax, size=(4.6, height_for(shares))) as axes:
        frame_axes(axes)
        probability_scales(axes, y=False)
        for lane, kind in enumerate(kinds):
            of = shares[shares[lanes] == kind].sort_values(place)
            of = of.assign(**{name: lane + LANE * of[name] for name in (value, "low", "high")})
            axes.axhline(lane, color="#e6e6e6", linewidth=0.8, zorder=0)
            if staked:
                rise = [lane, lane, lane + LANE, lane + LANE]
                axes.plot([0, kind, kind, 1], rise, gid="step", **step)
            axes.plot(of[place], of[value], color=BLUE, linewidth=1.2, zorder=2)
            points_with_intervals(axes, of, place=place, value=value, points=points)
        names = [odds(kind) if staked else ORDERS[kind] for kind in kinds]
        axes.set_yticks([lane + LANE / 2 for lane in range(len(kinds))], names)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.15, len(kinds))
        axes.set_xlabel(noun if staked else "stated chance of the lottery")
        axes.set_ylabel("share that acts, by loss : gain" if staked else "share that takes it")
        set_title(axes, title, TITLES[columns or STAKES])
        return axes


def columns_of(shares: pd.DataFrame) -> tuple[str, str, str] | None:
    """Return which columns are drawn; None of a table that has none of them, or no rows."""
    return next((of for of in (STAKES, CHANCES) if {*of} <= {*shares} and len(shares)), None)


def height_for(shares: pd.DataFrame) -> float:
    """Return the height of the figure, in inches."""
    return 0.9 + 0.62 * max(shares.iloc[:, 0].nunique(), 2)
