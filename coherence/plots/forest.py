"""The effects of one check over evaluations, with their intervals, in one figure."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.inputs import require
from coherence.plots.style import (
    FAINT,
    INK,
    Style,
    canvas,
    fit_effects,
    frame_axes,
    points_with_intervals,
    require_columns,
    set_title,
    span_of,
)
from coherence.printable import clean, evaluation_name
from coherence.public_names import described
from coherence.result import CheckResult, Outcome

_LABEL = 44
_LETTERS = "x-small"


def title_of(check: object) -> str:
    """Say what the figure of a check shows."""
    return f"{clean(check)} over evaluations"


def height_for(n_rows: int) -> float:
    """Return the height in inches that as many rows need."""
    return 1.0 + 0.2 * n_rows


@described
def plot_forest(
    results: pd.DataFrame,
    *,
    check: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the effect of one check in each task and model, the first row of the table on top.

    Parameters
    ----------
    results : DataFrame
        ``Report.results``, or some of its rows.
    check : str, optional
        The check to draw, needed where the table has several.

    Returns
    -------
    Axes
        Points with the gid "effects" and their intervals: full where the test rejects, in a
        report after Holm's correction. Where there is no estimate, that is said.

    Raises
    ------
    InputError
        The table has no such check, several of which none was named, or several units of
        measurement.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=60, n_reps=2, rng=1)
    >>> report = coherence.analyze(runs, checks=["iterated_expectation"], rng=1)
    >>> ax = coherence.plots.plot_forest(report.results, check="iterated_expectation")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['simulated · leaky']
    """
    needed = CheckResult("", "", 0.0, "", None, None, 0, 0).to_row()
    require_columns(results, [*needed], "results must have the columns of Report.results")
    rows = _rows_of(results, check)
    with canvas(ax, size=(5.4, height_for(len(rows)) + 0.4)) as axes:
        _draw(rows, axes)
        set_title(axes, title, title_of(rows["check"].iloc[0]))
        return axes


def _rows_of(table: pd.DataFrame, check: str | None) -> pd.DataFrame:
    """Return the rows of one check, which share a unit of measurement."""
    known = list(dict.fromkeys(table["check"]))
    wanted = known[0] if check is None and len(known) == 1 else check
    if wanted not in known:
        raise InputError(
            f"check must name one check of results; received {check!r}. It has: "
            f"{', '.join(map(str, known)) or 'none'}."
        )
    rows = table[table["check"] == wanted].reset_index(drop=True)
    measures = list(dict.fromkeys(rows["unit"]))
    require(
        len(measures) == 1,
        f"results of {wanted} must have one unit of measurement; received "
        f"{' and '.join(map(str, measures))}. Draw them apart: "
        f"results[results['unit'] == {measures[0]!r}].",
    )
    return rows


def _draw(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw effects below each other."""
    frame_axes(ax)
    heights = np.arange(len(rows))
    fit_effects(ax, "x", span_of(*(rows[name] for name in ("estimate", "low", "high"))))
    inside = np.where(rows["outcome"] == str(Outcome.REJECTED), INK, "white").tolist()
    how: Style = {"color": inside, "edgecolor": INK, "gid": "effects"}
    rows = rows.assign(height=heights)
    points_with_intervals(ax, rows, place="height", value="estimate", sideways=True, points=how)
    blank = pd.Series("", index=rows.index)
    named = zip(rows.get("task", blank), rows.get("model", blank), strict=True)
    # The first on top; text of the user is no mathematics.
    names = [clean(evaluation_name(*names), limit=_LABEL) for names in named]
    ax.set_yticks(heights, names, parse_math=False, fontsize=_LETTERS)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    missing: Style = {"xycoords": ("axes fraction", "data"), "va": "center", "color": FAINT}
    for height in heights[rows["estimate"].isna()]:
        ax.annotate("not estimated", (0.02, height), fontsize=_LETTERS, **missing)
    ax.set_xlabel(f"effect ({clean(rows['unit'].iloc[0])})", parse_math=False)
