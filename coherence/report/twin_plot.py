"""Results among their twins in one figure: a row per check, on a scale of the twins' spread."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from coherence.report.figures import BLUE, DASHES, FAINT, INK, SKY, VERMILION, frame_axes
from coherence.report.wording import clean, format_numbers
from coherence.result import LEVEL, CheckResult, Twins

FARTHEST = 5.0  # half-widths of the band; what lies beyond is an arrow at the edge
_LABEL = 40
_TINY = 1e-12


def scaled(twins: Twins) -> tuple[float, float, float]:
    """Place a statistic and the ends of its band on the scale of the figure.

    Parameters
    ----------
    twins : Twins
        Observed statistic and distribution over twins.

    Returns
    -------
    observed, low, high : float
        Distances from the median of the twins, in half-widths of their 95% band, so that the band
        is 2 wide. Where all twins are alike it has no width, and whatever differs from them is
        infinitely far.
    """
    half = (twins.high - twins.low) / 2
    away = twins.observed - twins.median
    if half <= _TINY:
        far = abs(away) > _TINY
        return (float("inf") if away > 0 else float("-inf")) if far else 0.0, 0.0, 0.0
    return away / half, (twins.low - twins.median) / half, (twins.high - twins.median) / half


def plot_twins(results: Sequence[CheckResult], ax: Axes) -> Axes:
    """Draw each observed statistic beside the band of its twins.

    Parameters
    ----------
    results : sequence of CheckResult
        With twins; others are left out.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`, the first result on top. Bands have the gid "band", observed points "observed"; points
        of which at most one twin in twenty is as extreme are full and red, and what lies beyond the
        scale is an arrow.
    """
    frame_axes(ax)
    shown = [(result, result.twins) for result in results if result.twins is not None]
    ax.axvline(0, color=FAINT, linewidth=1.0, linestyle=DASHES, zorder=1)
    for row, (_, twins) in enumerate(shown):
        at, low, high = scaled(twins)
        ax.barh(row, high - low, left=low, height=0.5, color=SKY, alpha=0.55, gid="band", zorder=2)
        extreme = twins.pvalue <= LEVEL
        inside = abs(at) <= FARTHEST
        ax.scatter(
            [at if inside else (FARTHEST if at > 0 else -FARTHEST)],
            [row],
            marker="o" if inside else (">" if at > 0 else "<"),
            s=42,
            color=VERMILION if extreme else "white",
            edgecolor=VERMILION if extreme else BLUE,
            linewidth=1.5,
            clip_on=False,
            gid="observed",
            zorder=4,
        )
        text = format_numbers([twins.observed])[0]
        ax.annotate(
            text,
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    ax.set_yticks(range(len(shown)), [clean(result.check, limit=_LABEL) for result, _ in shown])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
        label.set_fontsize(8.5)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(-FARTHEST - 0.3, FARTHEST + 0.3)
    ax.set_xlabel("half-widths of the band from its median")
    return ax
