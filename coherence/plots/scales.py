"""Axes that run as far as what they show: small effects are no specks, and nothing is cut off.

Probabilities that take up half of [0, 1] or more keep the whole of it, as readers expect; an axis
of effects always holds the effect that there is none.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from coherence.plots.style import DASHES, FAINT, probability_scales
from coherence.statistics.figure_tables import WHOLE_FROM

Span = tuple[float, float]
"""Least and largest number that an axis must hold."""
_ROOM = 0.08  # of the width, on both sides: marks stay whole
_SPECK = 0.25  # of an axis, below which a panel gets one of its own
_LEAST_WIDTH = 1e-6
_LONE = 0.05  # on both sides of a single number


def span_of(*shown: ArrayLike) -> Span:
    """Return the least and the largest of numbers."""
    values = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in shown])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)


def is_narrow(span: Span) -> bool:
    """Tell whether probabilities take up too little of [0, 1] to be shown on all of it."""
    return span[1] - span[0] < WHOLE_FROM


def fit_probabilities(ax: Axes, axis: str, span: Span) -> None:
    """Let an axis of probabilities run as far as what it shows."""
    if not is_narrow(span):
        probability_scales(ax, x=axis == "x", y=axis == "y")
        return
    first, last = _with_room(span)
    ticks = [t for t in _ticks(first, last) if 0 <= t <= 1]
    _set(ax, axis, (first, last), ticks, _written(ticks))


def shared_spans(spans: Sequence[Span]) -> list[Span]:
    """Give several panels one scale, but for those that would be specks on it."""
    low, high = span_of(*spans)
    whole = 1.0 if not is_narrow((low, high)) else high - low
    return [span if span[1] - span[0] < _SPECK * whole else (low, high) for span in spans]


def fit_effects(ax: Axes, axis: str, span: Span, *, null: float = 0.0) -> None:
    """Let an axis of effects run as far as what it shows and the effect that there is none."""
    first, last = limits_with(span, null)
    ticks = _ticks(first, last)
    _set(ax, axis, (first, last), ticks, _written(ticks))
    null_line(ax, axis, null)


def limits_with(span: Span, null: float = 0.0) -> Span:
    """Return where an axis begins and ends that holds a span and the null, with room for marks."""
    return _with_room(span_of([*span, null]))


def null_line(ax: Axes, axis: str, null: float = 0.0) -> None:
    """Draw the dashed line of no effect across an axis."""
    draw = ax.axvline if axis == "x" else ax.axhline
    draw(null, color=FAINT, linewidth=1.0, linestyle=DASHES, gid="null", zorder=1)


def _with_room(span: Span) -> Span:
    low, high = span
    room = _ROOM * (high - low) if high - low > _LEAST_WIDTH else _LONE
    return low - room, high + room


def _ticks(first: float, last: float) -> list[float]:
    ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(first, last)
    return [float(tick) for tick in ticks if first <= tick <= last]


def _set(ax: Axes, axis: str, limits: Span, ticks: list[float], labels: list[str]) -> None:
    if axis == "x":
        ax.set_xlim(*limits)
        ax.set_xticks(ticks, labels)
    else:
        ax.set_ylim(*limits)
        ax.set_yticks(ticks, labels)


def _written(ticks: Sequence[float]) -> list[str]:
    """Write .25 for 0.25, with no more decimals than tell numbers apart and no exponent."""
    step = min(np.diff(ticks), default=1.0)
    decimals = max(0, 2 - math.floor(math.log10(step)))
    texts = [f"{tick:.{decimals}f}" for tick in ticks]
    bare = [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]
    texts = ["0" if text in ("-0", "") else text.replace("-", "−") for text in bare]
    return [re.sub("^(−?)0[.]", r"\1.", text) for text in texts]
