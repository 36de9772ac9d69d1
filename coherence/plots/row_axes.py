"""Figures with a row for each unit, model or check: names at the left, the first on top."""

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes

from coherence.plots.style import FAINT, Style

NOTE_LETTERS = 8.5  # points


def name_rows(ax: Axes, names: Sequence[str], *, letters: float | None = None) -> None:
    """Name the rows of a figure; text of the user is no mathematics."""
    size: Style = {} if letters is None else {"fontsize": letters}
    ax.set_yticks(range(len(names)), list(names), parse_math=False, **size)
    ax.set_ylim(len(names) - 0.4, -0.6)


def note_missing(ax: Axes, heights: Iterable[float], *, letters: float = NOTE_LETTERS) -> None:
    """Say in rows without a number that there is none."""
    style: Style = {"xycoords": ("axes fraction", "data"), "va": "center", "color": FAINT}
    for height in heights:
        ax.annotate("not estimated", (0.02, height), fontsize=letters, **style)
