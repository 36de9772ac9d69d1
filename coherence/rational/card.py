"""What a fitted agent says of itself: a few lines for terminals and notebooks."""

import math
from collections.abc import Sequence

import pandas as pd

from coherence.result import Interval
from coherence.statistics.choices import ChoiceData
from coherence.table.printable import counted

Estimate = tuple[float, Interval | None]


def agent_lines(
    data: ChoiceData,
    *,
    noise: pd.DataFrame | None,
    thresholds: pd.DataFrame,
    lapses: float,
    taste: Estimate,
    hidden_shift: Estimate,
    cautions: Sequence[str],
) -> list[tuple[str, str]]:
    """Return what can be told of an agent, by name."""
    choices, contexts = counted(data.n_rows, "choice"), counted(data.n_contexts, "context")
    lines = [("sample", f"{choices} in {contexts}")]
    lines.append(("reports", _noise(noise)))
    lines.append(("thresholds", _thresholds(thresholds)))
    lines.append(("lapses", f"{lapses:.3f} of the choices"))
    lines.append(("lasting taste", _with_interval(*taste)))
    lines.append(("hidden shift", _with_interval(*hidden_shift)))
    return [*lines, *(("caution", caution) for caution in cautions)]


def _noise(noise: pd.DataFrame | None) -> str:
    if noise is None:
        return "do not scatter: the report is taken for the belief"
    mean = noise.iloc[0]
    return f"scatter with SD {mean['sd']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]"


def _thresholds(table: pd.DataFrame) -> str:
    if table.empty:
        return "none: no belief in (0, 1) changes the best action"
    return "; ".join(
        f"{row['above']} overtakes {row['below']} at {row['belief']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}]"
        for row in table.to_dict("records")
    )


def _with_interval(value: float, interval: Interval | None) -> str:
    if math.isnan(value):
        return "cannot be told"
    ends = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{value:.3f}{ends}"
