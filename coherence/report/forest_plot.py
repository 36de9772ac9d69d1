"""The effects of one check over units, with their intervals, in one figure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from coherence.report.figures import BLUE, DASHES, FAINT, INK, VERMILION, frame_axes
from coherence.report.wording import clean

_LABEL = 44
_LETTERS = 7.5  # points


@dataclass(frozen=True)
class Effect:
    """One row of the figure.

    Parameters
    ----------
    label : str
        The unit.
    effect, low, high : float
        Estimate and interval; ends NaN where there is none.
    rejected : bool
        Whether the test rejects after the correction.
    url : str or None
        Where the point leads.
    """

    label: str
    effect: float
    low: float
    high: float
    rejected: bool
    url: str | None = None


def plot_forest(effects: Sequence[Effect], ax: Axes, *, measure: str) -> Axes:
    """Draw effects below each other, the first on top.

    Parameters
    ----------
    effects : sequence of Effect
        At least one, in the same unit of measurement.
    ax : Axes
        Where to draw.
    measure : str
        The unit of measurement.

    Returns
    -------
    Axes
        `ax`. Points have the gid "effects": full and red where the test rejects after the
        correction. Intervals that leave the figure end in no cap at its edge.
    """
    frame_axes(ax)
    rows = np.arange(len(effects))
    at, low, high = (
        np.array([getattr(effect, name) for effect in effects], dtype=float)
        for name in ("effect", "low", "high")
    )
    ax.axvline(0, color=FAINT, linewidth=1.0, linestyle=DASHES, zorder=1)
    ax.hlines(rows, low, high, color=INK, linewidth=1.0, zorder=2)
    rejected = np.array([effect.rejected for effect in effects], dtype=bool)
    points = ax.scatter(
        at,
        rows,
        s=34,
        color=[VERMILION if full else "white" for full in rejected],
        edgecolor=[VERMILION if full else BLUE for full in rejected],
        linewidth=1.4,
        gid="effects",
        zorder=3,
    )
    if any(effect.url for effect in effects):
        points.set_urls([effect.url for effect in effects])
    ax.set_yticks(rows, [clean(effect.label, limit=_LABEL) for effect in effects])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
        label.set_fontsize(_LETTERS)
    ax.set_ylim(len(effects) - 0.4, -0.6)
    ax.set_xlabel(f"effect ({clean(measure)})", parse_math=False)
    return ax
