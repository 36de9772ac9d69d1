"""What the nearest rational agent would choose at each belief, and where it changes its mind."""

from typing import Protocol, runtime_checkable

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.style import (
    FAINT,
    INK,
    action_colours,
    belief_axes,
    canvas,
    probability_scales,
    set_title,
)
from coherence.table.printable import clean

TITLE = "What a rational agent chooses at each belief"
_LABEL = 28
# Lines differ in dashes too, so that colour is not needed to tell them apart.
_LINES = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)))


@runtime_checkable
class ChoosingAgent(Protocol):
    """What `coherence.fit_rational_agent` returns."""

    @property
    def choice_curve(self) -> pd.DataFrame:
        """Columns action, belief, probability, low, high."""

    @property
    def thresholds(self) -> pd.DataFrame:
        """Columns below, above, belief, low, high."""


def plot_choice_curve(
    agent: ChoosingAgent, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the probability of each action by the belief held, and the decision thresholds.

    Parameters
    ----------
    agent : RationalAgent
        Of `coherence.fit_rational_agent`.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        A line per action with its pointwise 95% interval; thresholds are upright lines with the gid
        "threshold" and pale bands for their intervals.

    Raises
    ------
    InputError
        `agent` is something else.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=80, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> ax = coherence.plots.plot_choice_curve(agent)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['defer', 'no', 'yes']
    """
    require(
        isinstance(agent, ChoosingAgent),
        "agent must be what coherence.fit_rational_agent returns; received "
        f"{type(agent).__name__}.",
    )
    with canvas(ax, size=(5.4, 3.9)) as axes:
        belief_axes(axes)
        probability_scales(axes, x=False)
        for row in agent.thresholds.to_dict("records"):
            axes.axvspan(row["low"], row["high"], color=FAINT, alpha=0.15, linewidth=0, zorder=0)
            axes.axvline(row["belief"], color=INK, linewidth=0.9, gid="threshold", zorder=1)
        colours = action_colours(agent.choice_curve["action"].astype(str))
        for number, (action, line) in enumerate(agent.choice_curve.groupby("action", sort=False)):
            colour = colours[str(action)]
            ends = line["low"], line["high"]
            axes.fill_between(line["belief"], *ends, color=colour, alpha=0.2, linewidth=0, zorder=2)
            axes.plot(
                line["belief"],
                line["probability"],
                color=colour,
                linestyle=_LINES[number % len(_LINES)],
                linewidth=1.8,
                label=clean(action, limit=_LABEL),
                zorder=3,
            )
        axes.set_xlabel("belief held")
        axes.set_ylabel("probability of choosing it")
        legend = axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, frameon=False, ncols=3
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        set_title(axes, title, TITLE, lift=24)
        return axes
