"""What is left of the hidden shift under noise that all reports of a context share."""

import math

from matplotlib.axes import Axes

from coherence.rational.sensitivity import Sensitivity
from coherence.report.figures import BLUE, DASHES, FAINT, INK, SKY, VERMILION, frame_axes


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes) -> Axes:
    """Draw the hidden shift with its interval against shared noise.

    Parameters
    ----------
    sensitivity : Sensitivity
        Curve and tipping points.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`. The curve ends where nothing can be told any more; tipping points up to .4 are upright
        lines with the gids "explains interval" and "explains all".
    """
    frame_axes(ax)
    ax.axhline(0, color=FAINT, linewidth=1.0, linestyle=DASHES, zorder=1)
    unknown = sensitivity.curve[["hidden_shift", "low", "high"]].isna().any(axis=1)
    # What comes after an amount under which nothing can be told is not joined to what came before.
    told = sensitivity.curve[~unknown.cummax()]
    noise = told["shared_noise"]
    ax.fill_between(noise, told["low"], told["high"], color=SKY, alpha=0.4, linewidth=0, zorder=2)
    ax.plot(noise, told["hidden_shift"], color=BLUE, marker="o", gid="curve", zorder=3)
    end = "nothing can be told" if sensitivity.lost else "no sign is left"
    for position, (at, gid, what) in enumerate(
        (
            (sensitivity.explains_interval, "explains interval", end),
            (sensitivity.explains_all, "explains all", "all is explained"),
        )
    ):
        if not math.isnan(at):
            ax.axvline(at, color=VERMILION, linewidth=1.2, linestyle=":", gid=gid, zorder=4)
            ax.annotate(
                f"{at:.3f}: {what}",
                (at, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(-4, -6 - 14 * position),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=8.5,
                color=INK,
            )
    ax.set_xlim(left=-0.005)
    ax.set_xlabel("noise that reports of a context share (standard deviation)")
    ax.set_ylabel("hidden shift left (belief)")
    return ax
