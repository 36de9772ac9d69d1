"""Results among their twins in one figure: a row per check, on a scale of the twins' spread."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.results import results_table
from coherence.plots.row_axes import NOTE, NOTE_LETTERS, name_rows
from coherence.plots.scales import null_line
from coherence.plots.style import INK, PALE, canvas, frame_axes, set_title
from coherence.result import CheckResult, rejects
from coherence.table.printable import clean, format_numbers

TITLE = "Beside rational twins"
FARTHEST = 5.0  # half-widths of the band; what lies beyond is an arrow at the edge
_LABEL = 40
_TINY = 1e-12


def scaled(row: Mapping[Any, Any]) -> tuple[float, float, float]:
    """Place a statistic and the ends of its band on the scale of the figure."""
    observed, median, low, high = (
        float(row[f"twin_{name}"]) for name in ("observed", "median", "low", "high")
    )
    half, away = (high - low) / 2, observed - median
    if half <= _TINY:
        far = abs(away) > _TINY
        return (float("inf") if away > 0 else float("-inf")) if far else 0.0, 0.0, 0.0
    return away / half, (low - median) / half, (high - median) / half


def height_for(n_rows: int) -> float:
    """Return the height in inches that as many results need."""
    return 1.2 + 0.28 * n_rows


def plot_twins(
    results: pd.DataFrame | CheckResult | Sequence[CheckResult],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each observed statistic beside the band of its rational twins.

    Parameters
    ----------
    results : DataFrame, CheckResult or sequence of CheckResult
        Rows of ``Report.results`` of one task and model, or results; those without twins are left
        out (``coherence.analyze(..., twins=...)`` draws them).
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        The first result on top. Bands have the gid "band", observed points "observed"; points of
        which at most one twin in twenty is as extreme are full, and what lies beyond the scale is
        an arrow. The number at the right is what was observed.

    Raises
    ------
    InputError
        No result has twins, or the table holds several tasks or models.

    Examples
    --------
    >>> import coherence
    >>> from coherence.result import Twins
    >>> twins = Twins(99, observed=0.4, median=0.2, low=0.1, high=0.5, pvalue=0.3)
    >>> result = coherence.CheckResult("cmi", "", 0.4, "nats", None, None, 90, 30, twins=twins)
    >>> coherence.plots.plot_twins(result).get_title(loc="left")
    'Beside rational twins'
    """
    table = results_table(results)
    shown = table[table["n_twins"] > 0].to_dict("records")
    require(
        bool(shown),
        f"results must hold a result with twins; none of {len(table)} has any. Draw them: "
        "coherence.analyze(runs, twins=...).",
    )
    for name in ("task", "model"):
        units = {row[name] for row in shown if name in row}
        require(
            len(units) < 2,
            f"results must be of one task and one model; received {len(units)} values of {name!r}. "
            f"Draw one at a time: results[results[{name!r}] == ...].",
        )
    with canvas(ax, size=(5.4, height_for(len(shown)) + 0.3)) as axes:
        _draw(shown, axes)
        set_title(axes, title, TITLE)
        return axes


def _draw(shown: Sequence[Mapping[Any, Any]], ax: Axes) -> None:
    frame_axes(ax)
    null_line(ax, "x")
    for height, row in enumerate(shown):
        at, low, high = scaled(row)
        band = ax.barh(height, high - low, left=low, height=0.5, color=PALE, alpha=0.55, zorder=2)
        band[0].set_gid("band")
        extreme = rejects(row["twin_pvalue"])
        inside = abs(at) <= FARTHEST
        ax.scatter(
            [at if inside else (FARTHEST if at > 0 else -FARTHEST)],
            [height],
            marker="o" if inside else (">" if at > 0 else "<"),
            s=42,
            color=INK if extreme else "white",
            edgecolor=INK,
            linewidth=1.5,
            clip_on=False,
            gid="observed",
            zorder=4,
        )
        ax.annotate(
            format_numbers([row["twin_observed"]])[0],
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            va="center",
            **NOTE,
        )
    name_rows(ax, [clean(row["check"], limit=_LABEL) for row in shown], letters=NOTE_LETTERS)
    ax.set_xlim(-FARTHEST - 0.3, FARTHEST + 0.3)
    ax.set_xlabel("half-widths of the band from its median")
