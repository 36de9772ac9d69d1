"""The figure of the main test: how often an action is chosen at each belief, state by state."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.errors import InputError, closest
from coherence.inputs import require
from coherence.plots.choices import choices_of
from coherence.plots.scales import Span, fit_probabilities, span_of
from coherence.plots.style import INK, STATE_COLOURS, Style, belief_axes, canvas, set_title
from coherence.printable import clean
from coherence.statistics.figure_tables import shares_by_state
from coherence.statistics.state_shares import StateShares
from coherence.table.audit import STATED

PANELS_BESIDE = 2
"""Panels in a line: more would make them or their letters small."""
_LABEL = 28
_LEGEND: Style = {"frameon": False, "ncols": 2, "handletextpad": 0.2, "columnspacing": 1.2}
# Parts of the axis: the states stand beside each other where their beliefs are the same.
_ASIDE, _HALF_BAR = 0.007, 0.011
# Colour and marker both tell the states apart.
_STATES = ((0, "s", STATE_COLOURS[0]), (1, "o", STATE_COLOURS[1]))
STATE_NAMES = ("state 0", "state 1")


def title_of(action: object) -> str:
    """Say what the figure of an action shows."""
    return f"Share of {clean(action, limit=40)}, by realised state"


def rising_action(table: pd.DataFrame) -> Any:
    """Return the action whose share rises most from the lowest beliefs to the highest."""
    shares = table.pivot_table(index="bin", columns="action", values="share", sort=False)
    rise = shares.iloc[-1] - shares.iloc[0]
    return max(dict.fromkeys(table["action"]), key=lambda action: float(rise[action]))


def plot_state_shares(
    data: ArrayLike | pd.DataFrame | StateShares,
    action: ArrayLike | pd.DataFrame | None = None,
    truth: ArrayLike | None = None,
    *,
    context: ArrayLike | None = None,
    positive: Any = None,
    shown: Any = None,
    noun: str = STATED,
    title: str | None = None,
    states: Sequence[str] = STATE_NAMES,
    scale: Span | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of one action against the belief, split by the realised state.

    The picture of the null of `coherence.sufficiency_test`: at equal belief, actions do not
    depend on the state. Bars are what that allows.

    Parameters
    ----------
    data : DataFrame, array-like or StateShares
        A runs table of one task and model; beliefs in [0, 1], with `action` and `truth`; or what
        `coherence.statistics.state_shares.state_shares` returned.
    action : array-like, shape (n,) or (n, n_actions), optional
        Beside an array of beliefs: labels, or the probability of each action.
    truth : array-like, shape (n,), optional
        The realised state, constant within a context.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that beliefs are in; not needed for 0 and 1, no and yes, false and true.
    shown : Any
        The action to draw; None takes the one whose share rises most with the belief.
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    states : sequence of str
        What the legend calls the state that the belief is not in, and the one that it is in.
    scale : (float, float), optional
        Least and largest share that the axis must hold, as several figures share it; None takes
        them from this one. From half of [0, 1] on, the axis holds all of it.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Bars with the gid "band-<state>" are what beliefs alone allow, all of them at once in 95% of
        tables; points with the gid "state-<state>" have 95% intervals over contexts; those outside
        their band are ringed, with the gid "outside". The band takes each report for the belief
        itself: where reports scatter around the belief, noise alone moves points out of it.

    Raises
    ------
    InputError
        Belief, action or state is missing, or `shown` is no action.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=200, n_reps=5, rng=1)
    >>> ax = coherence.plots.plot_state_shares(runs)
    >>> ax.get_title(loc="left")
    'Share of yes, by realised state'

    Of arrays, on axes of your own:

    >>> from matplotlib.figure import Figure
    >>> rows = runs[runs["action"].notna()]
    >>> arrays = rows["p"], rows["action"], rows["theta"]
    >>> ax = Figure().add_subplot()
    >>> coherence.plots.plot_state_shares(*arrays, context=rows["context"], shown="no", ax=ax) is ax
    True
    """
    table = _table_of(data, action, truth, context, positive)
    drawn = rising_action(table) if shown is None else shown
    rows = table[table["action"].astype(str) == str(drawn)]
    if rows.empty:
        known = dict.fromkeys(table["action"])
        raise InputError(f"shown must be an action; received {shown!r}. {closest(shown, known)}")
    with canvas(ax, size=(5.4, 3.9)) as axes:
        _draw(rows, span_of(table["belief"]), scale, states, axes)
        # Above the axes: every corner inside may hold points.
        place: Style = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
        axes.legend(**place, **_LEGEND)
        axes.set_xlabel(noun)
        axes.set_ylabel(f"share of {clean(drawn, limit=_LABEL)}", parse_math=False)
        set_title(axes, title, title_of(drawn), lift=24)
        return axes


def plot_state_panels(
    table: pd.DataFrame,
    actions: Sequence[Any],
    scales: Sequence[Span],
    *,
    ax: Axes,
    noun: str = STATED,
    states: Sequence[str] = STATE_NAMES,
) -> Axes:
    """Draw a panel for each action in the place of axes, two beside each other, under one legend.

    `table` is that of `StateShares`.
    """
    whole, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if whole is None or figure is None:
        raise InputError("ax must be a subplot of a figure; received free axes. Use add_subplot.")
    ax.remove()
    n_columns = min(len(actions), PANELS_BESIDE)
    places = whole.subgridspec(-(-len(actions) // n_columns), n_columns)
    beliefs = span_of(table["belief"])
    panels = []
    for number, (action, scale) in enumerate(zip(actions, scales, strict=True)):
        row, column = divmod(number, n_columns)
        panel = figure.add_subplot(places[row, column])
        _draw(table[table["action"] == action], beliefs, scale, states, panel)
        panel.set_title(clean(action, limit=_LABEL), fontsize=10.5, color=INK, parse_math=False)
        if number + n_columns >= len(actions):
            panel.set_xlabel(noun)
        if not column:
            panel.set_ylabel("share of the action")
        panels.append(panel)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", **_LEGEND)
    return panels[0]


def _table_of(
    data: Any, action: Any, truth: Any, context: ArrayLike | None, positive: Any
) -> pd.DataFrame:
    if isinstance(data, StateShares):
        found = data
    else:
        choices = choices_of(data, action, truth, context=context, positive=positive)
        found = shares_by_state(choices)
    require(
        not found.reason,
        f"data must hold belief, action and state in enough contexts; {found.reason}.",
    )
    return found.table


def shown_shares(rows: pd.DataFrame) -> Span:
    """Return the least and the largest share that is drawn of rows of `StateShares.table`."""
    names = ("share", "low", "high", "expected", "band_low", "band_high")
    return span_of(*(rows[name] for name in names))


def _draw(
    rows: pd.DataFrame,
    beliefs: Span,
    scale: Span | None,
    states: Sequence[str],
    ax: Axes,
) -> None:
    """Draw the shares of one action, and what beliefs alone allow."""
    belief_axes(ax)
    fit_probabilities(ax, "x", beliefs)
    wide = np.ptp(ax.get_xlim())
    fit_probabilities(ax, "y", shown_shares(rows) if scale is None else scale)
    for state, marker, colour in _STATES:
        of_state = rows[rows["state"] == state]
        x = of_state["belief"] + wide * (_ASIDE if state else -_ASIDE)
        _draw_band(of_state, x, wide * _HALF_BAR, state, colour, ax)
        name = clean(states[state], limit=_LABEL)
        _draw_shares(of_state, x, state, colour, (marker, name), ax)


def _draw_band(
    rows: pd.DataFrame, x: "pd.Series[float]", half: float, state: int, colour: str, ax: Axes
) -> None:
    """Draw what beliefs alone allow, and what they would give."""
    height = rows["band_high"] - rows["band_low"]
    ax.bar(
        x,
        height,
        width=2 * half,
        bottom=rows["band_low"],
        color=colour,
        alpha=0.28,
        linewidth=0,
        gid=f"band-{state}",
        zorder=1,
    )
    ax.plot(x, rows["expected"], color=colour, linewidth=1.0, alpha=0.5, zorder=2)


def _draw_shares(
    rows: pd.DataFrame,
    x: "pd.Series[float]",
    state: int,
    colour: str,
    marked: tuple[str, str],
    ax: Axes,
) -> None:
    """Draw what was observed, with its intervals."""
    marker, label = marked
    ax.vlines(x, rows["low"], rows["high"], color=colour, linewidth=1.1, zorder=3)
    outside = rows["outside"].to_numpy(dtype=bool)
    if outside.any():
        ringed = x[outside], rows["share"][outside]
        ring = ax.scatter(*ringed, s=120, facecolor="none", gid="outside", zorder=4)
        ring.set(edgecolor=INK, linewidth=1.3)
    ax.scatter(
        x,
        rows["share"],
        s=34,
        marker=marker,
        color=colour,
        edgecolor="white",
        linewidth=0.8,
        gid=f"state-{state}",
        label=label,
        zorder=5,
    )
