"""The figure of beliefs by action: small histograms below each other, on one scale."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.plots.choices import Columns, choices_of
from coherence.plots.scales import fit_probabilities, is_narrow, span_of
from coherence.plots.style import (
    FAINT,
    INK,
    OTHER_ACTIONS,
    Style,
    action_colours,
    belief_axes,
    canvas,
    set_title,
)
from coherence.printable import clean
from coherence.runs.audit import STATED
from coherence.statistics.figure_tables import belief_bars

ALL = "all answers"
_LABEL = 40
_BAR = 0.68  # of a row of the small multiples; the label takes the rest


def _spoken(count: float) -> str:
    # Sums of probabilities are no whole numbers.
    return f"{count:.0f}" if count % 1 == 0 else f"{count:.1f}"


def plot_beliefs(
    data: ArrayLike | pd.DataFrame,
    action: ArrayLike | pd.DataFrame | None = None,
    *,
    columns: Columns | None = None,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one histogram of the belief per action, stacked as small multiples on a common scale.

    Parameters
    ----------
    data : DataFrame or array-like, shape (n,)
        A runs table of one task and model, or beliefs in [0, 1].
    action : array-like, shape (n,) or (n, n_actions), optional
        Beside an array of beliefs: labels, or the probability of each action, with which a belief
        then counts. Without actions there is one histogram.
    columns : mapping, optional
        What a table calls the columns, as for `coherence.analyze`.
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        The histogram of an action has the gid "action-<number>", counted from 0 at the top.

    Raises
    ------
    InputError
        No belief is there to draw, or an array breaks its rule.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=60, n_reps=2, rng=1)
    >>> [text.get_text() for text in coherence.plots.plot_beliefs(runs).texts]
    ['defer (n = 59)', 'no (n = 26)', 'yes (n = 35)']
    """
    table = belief_bars(choices_of(data, action, columns=columns))
    with canvas(ax, size=(5.0, height_for(table))) as axes:
        draw_beliefs(table, ax=axes, noun=noun)
        set_title(axes, title, title_of(table, noun))
        return axes


def title_of(table: pd.DataFrame, noun: str) -> str:
    """Say what the figure of a table of `belief_bars` shows."""
    acted = (table["n_actions"] > 0).any()
    return "Beliefs by action" if acted else f"{noun[:1].upper()}{noun[1:]}s"


def height_for(table: pd.DataFrame) -> float:
    """Return the height in inches that as many histograms need; lower, a label would be cut."""
    return max(1.2 + 0.75 * table["action"].nunique(), 2.6)


def _labels(table: pd.DataFrame) -> list[str]:
    """Return the printable name of each histogram."""
    labels: list[str] = []
    for action, n_actions in table[["action", "n_actions"]].drop_duplicates().to_numpy().tolist():
        name = {0: ALL, 1: clean(action, limit=_LABEL) or "(blank)"}.get(
            n_actions, f"{n_actions} other actions"
        )
        # Two labels may look alike once cleaned and cut; a number keeps them apart.
        labels.append(name if name not in labels else f"{name} ({len(labels) + 1})")
    return labels


def draw_beliefs(
    table: pd.DataFrame, *, ax: Axes, noun: str, colours: Mapping[str, str] | None = None
) -> Axes:
    """Draw a table of `belief_bars`, each action in its colour."""
    groups = [rows for _, rows in table.groupby(["action", "n_actions"], sort=False)]
    colours = colours or action_colours(table.loc[table["n_actions"] == 1, "action"])
    tallest = float(table["n"].max())
    edges = np.append(groups[0]["low"].to_numpy(), groups[0]["high"].iloc[-1])
    belief_axes(ax)
    # The rows have counts of their own, which one grid cannot mark.
    ax.grid(False)
    # The first action on top, as one reads.
    for number, (rows, label) in enumerate(zip(groups, _labels(table), strict=True)):
        action, n_actions = rows["action"].iloc[0], rows["n_actions"].iloc[0]
        colour = colours[action] if n_actions == 1 else OTHER_ACTIONS if n_actions else INK
        baseline = float(len(groups) - 1 - number)
        heights = baseline + _BAR * rows["n"].to_numpy(dtype=float) / (tallest or 1.0)
        bars: Style = {"baseline": baseline, "color": colour}
        ax.stairs(heights, edges, fill=True, alpha=0.55, zorder=2, **bars)
        ax.stairs(heights, edges, linewidth=1.3, gid=f"action-{number}", zorder=3, **bars)
        ax.axhline(baseline, color=FAINT, linewidth=0.8, zorder=1)
        # A label above its own row of bars, not beside the axis: long action names then take no
        # width from the plot.
        ax.text(
            edges[0],
            baseline + 0.94,
            f"{label} (n = {_spoken(rows['n'].sum())})",
            ha="left",
            va="top",
            color=INK,
            parse_math=False,
        )
    ax.set_ylim(-0.05, len(groups))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    if is_narrow(span_of(edges)):
        fit_probabilities(ax, "x", span_of(edges))
    else:
        ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel(noun)
    ax.set_ylabel(f"answers (tallest bar: {_spoken(tallest)})")
    return ax
