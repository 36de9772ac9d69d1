"""What is left of the hidden shift under noise that all reports of a context share."""

from typing import Protocol, runtime_checkable

import pandas as pd
from matplotlib.axes import Axes

from coherence.inputs import require
from coherence.plots.row_axes import NOTE
from coherence.plots.scales import fit_effects, span_of
from coherence.plots.style import INK, PALE, canvas, frame_axes, set_title

TITLE = "Noise that would explain it"


@runtime_checkable
class SensitivityCurve(Protocol):
    """What `coherence.noise_sensitivity` returns."""

    @property
    def curve(self) -> pd.DataFrame:
        """Columns shared_noise, hidden_shift, low, high."""

    @property
    def explains_interval(self) -> float:
        """Shared noise under which the interval reaches 0, or a bound."""

    @property
    def explains_all(self) -> float:
        """Shared noise under which nothing is left, or a bound."""

    @property
    def interval_is_bound(self) -> bool:
        """Whether more than `explains_interval` is needed."""

    @property
    def all_is_bound(self) -> bool:
        """Whether more than `explains_all` is needed."""


def plot_sensitivity(
    sensitivity: SensitivityCurve, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what is left of the hidden shift under noise that all reports of a context share.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of `coherence.noise_sensitivity`: curve and tipping points.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        The curve with its 95% interval ends where nothing can be told any more; tipping points, or
        their bounds, are upright lines with the gids "explains interval" and "explains all".

    Raises
    ------
    InputError
        There is no curve.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("clairvoyant", n_contexts=60, n_reps=3, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> agent = coherence.fit_rational_agent(
    ...     rows["p"], rows["action"], rows["theta"], context=rows["context"]
    ... )
    >>> curve = coherence.noise_sensitivity(agent, shared_noise=[0.0, 0.1])
    >>> coherence.plots.plot_sensitivity(curve).get_title(loc="left")
    'Noise that would explain it'
    """
    require(
        isinstance(sensitivity, SensitivityCurve),
        "sensitivity must be what coherence.noise_sensitivity returns; received "
        f"{type(sensitivity).__name__}.",
    )
    with canvas(ax) as axes:
        _draw(sensitivity, axes)
        set_title(axes, title, TITLE)
        return axes


def _draw(sensitivity: SensitivityCurve, ax: Axes) -> None:
    frame_axes(ax)
    unknown = sensitivity.curve[["hidden_shift", "low", "high"]].isna().any(axis=1)
    # What comes after an amount under which nothing can be told is not joined to what came before.
    told = sensitivity.curve[~unknown.cummax()]
    noise = told["shared_noise"]
    fit_effects(ax, "y", span_of(told["hidden_shift"], told["low"], told["high"]))
    ax.fill_between(noise, told["low"], told["high"], color=PALE, alpha=0.4, linewidth=0, zorder=2)
    ax.plot(noise, told["hidden_shift"], color=INK, marker="o", gid="curve", zorder=3)
    found = sensitivity
    for position, (at, bound, gid, what) in enumerate(
        (
            (
                found.explains_interval,
                found.interval_is_bound,
                "explains interval",
                "no sign is left",
            ),
            (found.explains_all, found.all_is_bound, "explains all", "all is explained"),
        )
    ):
        ax.axvline(at, color=INK, linewidth=1.2, linestyle=":", gid=gid, zorder=4)
        ax.annotate(
            f"{'above ' if bound else ''}{at:.3f}: {what}",
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4, -6 - 14 * position),
            ha="right",
            va="top",
            **NOTE,
        )
    ax.set_xlim(left=-0.005)
    ax.set_xlabel("noise that reports of a context share (standard deviation)")
    ax.set_ylabel("hidden shift left (belief)")
