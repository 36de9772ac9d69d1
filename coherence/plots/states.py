"""The figure of the main test: how often an action is chosen at each belief, on both sides."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.errors import InputError, closest
from coherence.inputs import require
from coherence.plots.beliefs import LABELS, choices_of
from coherence.plots.style import (
    ABOVE,
    INK,
    PALE,
    STATE_COLOURS,
    Span,
    Style,
    belief_axes,
    canvas,
    fit_probabilities,
    set_title,
    span_of,
    subplot_in,
)
from coherence.printable import clean
from coherence.public_names import described
from coherence.result import CheckResult
from coherence.runs.runs import STATED, Runs
from coherence.runs.states import STATE_NAMES, named_states
from coherence.statistics.evaluation import as_choices
from coherence.statistics.figure_tables import state_shares

PANELS_BESIDE = 2
"""Panels in a line: more would make them or their letters small."""
_LABEL = 28
_LEGEND: Style = {"frameon": False, "ncols": 3, "handletextpad": 0.4, "columnspacing": 1.2}
# Colour and marker both tell the sides apart.
_SIDES = ((0, "s", STATE_COLOURS[0]), (1, "o", STATE_COLOURS[1]))
BY_POSTERIOR = ("posterior below", "posterior above")
"""What the sides are called where the state is the exact posterior."""
_ASIDE = 0.004  # of the axis: bars of both sides do not hide each other
_LEAST, _AREA = 16.0, 60.0  # points squared, of the smallest dot and beside it of the largest


def rising_action(table: pd.DataFrame) -> Any:
    """Return the action whose share rises most from the lowest beliefs to the highest."""
    shares = table.pivot_table(index="bin", columns="action", values="share", sort=False)
    rise = shares.iloc[-1] - shares.iloc[0]
    return max(dict.fromkeys(table["action"]), key=lambda action: float(rise[action]))


@described
def plot_state_shares(
    data: ArrayLike | pd.DataFrame | CheckResult,
    action: ArrayLike | pd.DataFrame | None = None,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    shown: Any = None,
    noun: str = STATED,
    title: str | None = None,
    states: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of one action against the belief, where more and where less is true.

    The picture of the null of `coherence.sufficiency_test`: at equal belief, actions do not go
    with the state. Both lines are brought to the same belief as the test does it; cases that it
    leaves out are not there, and of persons each is compared at the own belief.

    Parameters
    ----------
    data : CheckResult, Report, DataFrame or array-like
        A result of `sufficiency_test` in two states, or a report of one evaluation, which has one;
        a runs table of one task and model; or beliefs in [0, 1], with `action` and `truth` or
        `exact`.
    shown : Any
        The action to draw; None takes the one whose share rises most with the belief.
    states : sequence of str, optional
        What the legend calls the lower side and the upper one; None takes the labels of the truth
        or, of the exact posterior, whether it is below or above its mean at that belief.

    Returns
    -------
    Axes
        Dots with the gid "state-0" and "state-1", larger the more contexts a bin has on that side,
        with 95% intervals over contexts; the gap between their lines has the gid "gap".

    Raises
    ------
    InputError
        Belief, action or state is missing, nothing can be compared, or `shown` is no action.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=200, n_reps=5, rng=1)
    >>> ax = coherence.plots.plot_state_shares(runs)
    >>> ax.get_title(loc="left")
    'Share of yes at equal belief, by exact posterior'
    """
    primary = getattr(data, "primary", None)  # of a report of one evaluation
    data = primary if isinstance(primary, CheckResult) else data
    if isinstance(data, CheckResult):
        result: Any = data
        require(
            hasattr(result, "states"),
            f"data must be of sufficiency_test; received a result of {data.check}.",
        )
        table, reason = result.fitted, result.reason
        by_posterior, labels = result.state == "exact", (result.states or [])[::-1]
    else:
        given = {"context": context, "exact": exact, "positive": positive}
        choices = choices_of(data, action, truth, **given)
        table, by_posterior = _shares_of(choices)
        reason, labels = "", choices.attrs.get(LABELS, ())
    if not isinstance(table, pd.DataFrame) or table.empty:
        several = table is None and not labels
        why = "beliefs over several states" if several else "too few contexts on either side"
        raise InputError(f"data must hold what two lines can compare; received {reason or why}.")
    drawn = rising_action(table) if shown is None else shown
    rows = table[table["action"] == str(drawn)]
    if rows.empty:
        known = dict.fromkeys(table["action"])
        raise InputError(f"shown must be an action; received {shown!r}. {closest(shown, known)}")
    if states is None:
        states = named_states(labels) if len(labels) == 2 else STATE_NAMES
        states = BY_POSTERIOR if by_posterior else states
    with canvas(ax, size=(5.4, 3.9)) as axes:
        _draw(rows, span_of(table["belief"]), shown_shares(rows), states, axes)
        # Above the axes: every corner inside may hold points.
        axes.legend(**ABOVE, **_LEGEND)
        axes.set_xlabel(noun)
        axes.set_ylabel(f"share of {clean(drawn, limit=_LABEL)}", parse_math=False)
        by = "exact posterior" if by_posterior else "realised state"
        default = f"Share of {clean(drawn, limit=40)} at equal belief, by {by}"
        set_title(axes, title, default, lift=24)
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

    `table` is that of a result of `sufficiency_test` (``fitted``).
    """
    whole, figure = subplot_in(ax)
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


def _shares_of(choices: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Compare the sides in a table of choices; also tell whether the state is the posterior."""
    require("belief" in choices, "data must hold a belief in one of two states.")
    require(
        "person" not in choices,
        "data holds persons who judged the same cases; draw the result of sufficiency_test, which "
        "compares each at the own belief.",
    )
    named = Runs(choices).action_names
    rows = choices[Runs(choices).acted & choices["belief"].notna()]
    require(len(rows) > 0, "data must hold actions beside beliefs; there are no parsed actions.")
    exact = "p_true" in rows and bool(rows["p_true"].notna().all())
    if not exact:
        require("truth" in rows, "truth or exact must be given: no state is known.")
        rows = rows[rows["truth"].notna()]
    data = as_choices(
        rows["belief"],
        rows[list(named)].rename(columns=named) if named else rows["action"],
        None if exact else rows["truth"],
        rows["context"],
        exact=rows["p_true"] if exact else None,
        positive=None if exact else 1,
        oriented=True,
        group=rows.get("group"),
    )
    require(not data.degenerate, f"data must leave something to compare; {data.degenerate}.")
    return state_shares(data), exact


def shown_shares(rows: pd.DataFrame) -> Span:
    """Return the least and the largest share that is drawn."""
    return span_of(rows["low"], rows["high"])


def _draw(rows: pd.DataFrame, beliefs: Span, scale: Span, states: Sequence[str], ax: Axes) -> None:
    """Draw the shares of one action on both sides, and the gap between them."""
    belief_axes(ax)
    fit_probabilities(ax, "x", beliefs)
    fit_probabilities(ax, "y", scale)
    below, above = (rows[rows["state"] == side] for side in (0, 1))
    gap: Style = {"color": PALE, "alpha": 0.6, "linewidth": 0, "label": "gap", "gid": "gap"}
    ax.fill_between(above["belief"], below["share"], above["share"], **gap)
    most = float(rows["n_contexts"].max())
    for side, marker, colour in _SIDES:
        of_side = rows[rows["state"] == side]
        ax.plot(of_side["belief"], of_side["share"], color=colour, linewidth=1.2, zorder=3)
        aside = float(np.ptp(ax.get_xlim())) * (_ASIDE if side else -_ASIDE)
        ends = of_side["belief"] + aside, of_side["low"], of_side["high"]
        ax.vlines(*ends, color=colour, linewidth=0.8, zorder=2)
        dots = ax.scatter(
            of_side["belief"],
            of_side["share"],
            s=_LEAST + _AREA * of_side["n_contexts"] / most,
            marker=marker,
            label=clean(states[side], limit=_LABEL),
            gid=f"state-{side}",
            zorder=4,
        )
        dots.set(facecolor=colour, edgecolor="white", linewidth=0.8)
