"""The path of a sequential test by number of cases, with the bound at which it stops."""

import math

import numpy as np
import pandas as pd
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
        Of `coherence.sequential_test`, or ``report.result("sufficiency")`` of a table with a plan.
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
    is_result = isinstance(result, CheckResult)
    # Of a table with a plan the details are those of the primary test.
    path = result.fitted if is_result and result.check == "sufficiency" else None
    path = result.details if is_result and path is None else path
    table = path if isinstance(path, pd.DataFrame) else pd.DataFrame()
    plan = str(result.settings.get("plan", "")) if is_result else ""
    kind = next((kind for kind in TITLES if plan.startswith(kind)), "")
    require(
        bool(kind) and not table.empty,
        "result must be a test of coherence.sequential_test, or of a table with a plan, that has a "
        f"path; received {result.check if kind else type(result).__name__}.",
    )
    with canvas(ax, size=(5.4, 3.3)) as axes:
        frame_axes(axes)
        if kind == "looks":
            _draw_looks(table, axes)
        else:
            _draw_evidence(table, float(result.settings["evidence"]), axes)
        if (stopped := result.settings["stopped"]) is not None:
            axes.axvline(stopped, color=FAINT, linewidth=0.9, gid="stopped", zorder=1)
            at = (stopped, 0.0)
            axes.annotate(f" {stopped}", at, xycoords=("data", "axes fraction"), **_note("left"))
        axes.set_xlim(left=0)
        axes.set_xlabel("cases")
        set_title(axes, title, TITLES[kind])
        return axes


def _draw_looks(looks: pd.DataFrame, ax: Axes) -> None:
    ax.plot(looks["cases"], looks["level"], marker="_", markersize=9, **_BOUND)
    ax.plot(looks["cases"], looks["pvalue"], marker="o", **_PATH)
    ax.set_yscale("log")
    ax.set_ylim(1.3, 0.5 * float(np.nanmin(looks[["level", "pvalue"]].to_numpy())))
    ax.set_ylabel("p-value")
    ax.minorticks_off()
    ax.annotate("stops above", (looks["cases"].iloc[-1], looks["level"].iloc[-1]), **_note())


def _draw_evidence(path: pd.DataFrame, enough: float, ax: Axes) -> None:
    ax.step(path["cases"], path["log_evidence"], where="post", **_PATH)
    ax.axhline(math.log(enough), **_BOUND)
    powers = _powers(min(path["log_evidence"].min(), 0), path["log_evidence"].max(), enough)
    ax.set_yticks(powers * math.log(10), [_written(power) for power in powers])
    ax.set_ylabel("evidence")
    ax.annotate(f"{enough:g} is enough", (path["cases"].iloc[0], math.log(enough)), **_note("left"))


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
