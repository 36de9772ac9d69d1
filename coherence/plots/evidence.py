"""The path of a sequential test by number of cases, with the bound at which it stops."""

import math

import numpy as np
from matplotlib.axes import Axes

from coherence.inputs import Floats, require
from coherence.plots.style import DASHES, FAINT, INK, Style, canvas, frame_axes, set_title
from coherence.result import CheckResult

TITLES = {"looks": "p-value at each look", "evidence": "Evidence case by case"}
_MOST_TICKS = 6
_BOUND: Style = {"color": INK, "linestyle": DASHES, "linewidth": 1.0, "gid": "bound", "zorder": 2}
_PATH: Style = {"color": INK, "linewidth": 1.5, "gid": "path", "zorder": 3}


def plot_evidence(result: CheckResult, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what a sequential test has seen by number of cases, and when that is enough.

    Parameters
    ----------
    result : CheckResult
        Of `coherence.sequential_test`.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Of looks, the p-values (the smaller the higher, on a logarithmic axis) with the levels that
        stop the plan; else the evidence, on a logarithmic axis, with the evidence that is enough.
        Path and bound have the gids "path" and "bound", and a stop is an upright line "stopped".

    Raises
    ------
    InputError
        `result` is something else, or has no path.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("leaky", n_contexts=200, n_reps=1, rng=1)
    >>> rows = runs[runs["action"].notna()]
    >>> result = coherence.sequential_test("p", "action", "theta", data=rows, evidence=20)
    >>> coherence.plots.plot_evidence(result).get_title(loc="left")
    'Evidence case by case'
    """
    plan = result.settings.get("plan") if isinstance(result, CheckResult) else None
    require(
        plan in TITLES and not result.details.empty,
        "result must be a test of coherence.sequential_test that has a path; received "
        f"{result.check if plan in TITLES else type(result).__name__}.",
    )
    with canvas(ax, size=(5.4, 3.3)) as axes:
        frame_axes(axes)
        (_draw_looks if plan == "looks" else _draw_evidence)(result, axes)
        if (stopped := result.settings["stopped"]) is not None:
            axes.axvline(stopped, color=FAINT, linewidth=0.9, gid="stopped", zorder=1)
            at = (stopped, 0.0)
            axes.annotate(f" {stopped}", at, xycoords=("data", "axes fraction"), **_note("left"))
        axes.set_xlim(left=0)
        axes.set_xlabel("cases")
        set_title(axes, title, TITLES[str(plan)])
        return axes


def _draw_looks(result: CheckResult, ax: Axes) -> None:
    looks = result.details
    ax.plot(looks["cases"], looks["level"], marker="_", markersize=9, **_BOUND)
    ax.plot(looks["cases"], looks["pvalue"], marker="o", **_PATH)
    ax.set_yscale("log")
    ax.set_ylim(1.3, 0.5 * float(np.nanmin(looks[["level", "pvalue"]].to_numpy())))
    ax.set_ylabel("p-value")
    ax.minorticks_off()
    ax.annotate("stops above", (looks["cases"].iloc[-1], looks["level"].iloc[-1]), **_note())


def _draw_evidence(result: CheckResult, ax: Axes) -> None:
    path, enough = result.details, float(result.settings["evidence"])
    ax.step(path["cases"], path["log_evidence"], where="post", **_PATH)
    ax.axhline(math.log(enough), **_BOUND)
    powers = _powers(min(path["log_evidence"].min(), 0), path["log_evidence"].max(), enough)
    ax.set_yticks(powers * math.log(10), [_written(power) for power in powers])
    ax.set_ylabel("evidence")
    ax.annotate(f"{enough:g} is enough", (path["cases"].iloc[-1], math.log(enough)), **_note())


def _note(side: str = "right") -> Style:
    place: Style = {"xytext": (0, 8), "textcoords": "offset points", "ha": side, "va": "bottom"}
    return {**place, "fontsize": 9, "color": INK}


def _powers(low: float, high: float, enough: float) -> Floats:
    """Return powers of ten that an axis of evidence names."""
    first = math.floor(low / math.log(10))
    last = math.ceil(max(high, math.log(enough)) / math.log(10))
    step = max(1, -(-(last - first) // _MOST_TICKS))
    return np.arange(first, last + 1, step, dtype=np.float64)


def _written(power: float) -> str:
    return f"{10.0**power:g}" if abs(power) < 4 else f"$10^{{{power:.0f}}}$"
