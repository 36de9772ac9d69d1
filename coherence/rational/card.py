"""What a fitted agent says of itself: a few lines for terminals and notebooks."""

import math
from typing import Protocol

import pandas as pd

from coherence.result import Interval
from coherence.statistics.choices import ChoiceData


class Fitted(Protocol):
    """What is read of a ``RationalAgent``."""

    @property
    def data(self) -> ChoiceData: ...

    @property
    def noisy(self) -> bool: ...

    @property
    def noise(self) -> pd.DataFrame: ...

    @property
    def thresholds(self) -> pd.DataFrame: ...

    @property
    def lapses(self) -> float: ...

    @property
    def taste(self) -> tuple[float, Interval | None]: ...

    @property
    def hidden_shift(self) -> tuple[float, Interval | None]: ...

    @property
    def converged(self) -> bool: ...

    @property
    def cautions(self) -> tuple[str, ...]: ...


def agent_lines(agent: Fitted) -> list[tuple[str, str]]:
    """Return what can be told of an agent, by name.

    Parameters
    ----------
    agent : RationalAgent
        Fitted.

    Returns
    -------
    list of (str, str)
        Sample, noise of the reports, thresholds, lapses, taste, hidden shift, cautions.
    """
    data = agent.data
    lines = [("sample", f"{data.n_rows} choices in {data.n_contexts} contexts")]
    lines.append(("reports", _noise(agent)))
    lines.append(("thresholds", _thresholds(agent)))
    lines.append(("lapses", f"{agent.lapses:.3f} of the choices"))
    lines.append(("lasting taste", _with_interval(*agent.taste)))
    lines.append(("hidden shift", _with_interval(*agent.hidden_shift)))
    if not agent.converged:
        lines.append(("caution", "the fit did not come to its end"))
    return [*lines, *(("caution", caution) for caution in agent.cautions)]


def _noise(agent: Fitted) -> str:
    if not agent.noisy:
        return "do not scatter: the report is taken for the belief"
    mean = agent.noise.iloc[0]
    return f"scatter with SD {mean['sd']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]"


def _thresholds(agent: Fitted) -> str:
    rows = agent.thresholds.to_dict("records")
    if not rows:
        return "none: no belief in (0, 1) changes the best action"
    return "; ".join(
        f"{row['above']} overtakes {row['below']} at {row['belief']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}]"
        for row in rows
    )


def _with_interval(value: float, interval: Interval | None) -> str:
    if math.isnan(value):
        return "cannot be told"
    ends = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{value:.3f}{ends}"
