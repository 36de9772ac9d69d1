"""Questions that state a level: their answers and orders, and the jackknife by cluster.

A question offers the event or a lottery of the stated chance. The jackknife is that of MacKinnon,
Nielsen and Webb (2023), Journal of Econometrics 232(2). Assumes independent cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import Actions, Floats, as_actions, require
from coherence.result import Interval
from coherence.statistics.resample import Clusters
from coherence.table.schema import ACTION_PREFIX, LEVEL_OPTIONS

MOST_DELETED = 300  # clusters that the jackknife deletes one by one; beyond that, in groups


def sides(action: ArrayLike, asked: Any) -> tuple[Floats, str]:
    """Return the share of the first option in each question, NaN where neither was chosen.

    With it which of the two is never chosen although other labels are: it may have another name.
    """
    actions: Actions = as_actions(_asked_alone(action, asked), int(asked.sum()))
    labels = [str(label).removeprefix(ACTION_PREFIX) for label in actions.labels]
    options = LEVEL_OPTIONS
    require(
        bool(set(options) & set(labels)),
        f"action must be {options[0]!r} or {options[1]!r} in rows with a level; received "
        f"{', '.join(map(repr, labels[:4])) or 'none'}. Rename the two options.",
    )
    first, second = (
        actions.share[:, labels.index(name)] if name in labels else np.zeros(int(asked.sum()))
        for name in options
    )
    total = first + second
    side = np.full(len(asked), np.nan)
    side[asked] = np.divide(first, total, out=np.full(len(total), np.nan), where=total > 0)
    others = [label for label in labels if label not in (*options, "")]
    absent = [name for name, share in zip(options, (first, second), strict=True) if not share.any()]
    if not absent or not others:
        return side, ""
    listed = ", ".join(map(repr, others[:4]))
    return side, (
        f"action is never {absent[0]!r} in rows with a level, and {listed} counts as a refusal: "
        f"rename what means {absent[0]!r}, and leave refusals empty"
    )


def _asked_alone(action: Any, asked: Any) -> Any:
    """Return the actions of rows with a level; one that is missing there is a refusal."""
    require(
        len(action) == len(asked),
        f"action must have one row per row of belief; received {len(action)} rows for "
        f"{len(asked)}.",
    )
    if isinstance(action, pd.DataFrame) or np.ndim(action) > 1:
        return pd.DataFrame(action)[asked]
    column = pd.Series(action, dtype=object).reset_index(drop=True)[asked]
    return column.where(column.notna(), "")


def signs(values: ArrayLike | None, name: str, labels: tuple[str, str], asked: Any) -> Floats:
    """Return 1 for the first label, -1 for the second; 0 where nothing was said."""
    if values is None:
        return np.zeros(len(asked))
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    known = column[asked].dropna()
    odd = known[~known.isin(labels)]
    require(
        odd.empty,
        f"{name} must be {labels[0]!r} or {labels[1]!r} in rows with a level; received "
        f"{odd.iloc[0] if len(odd) else ''!r}. Rename its values.",
    )
    return np.asarray(column.map({labels[0]: 1.0, labels[1]: -1.0}).fillna(0.0), dtype=np.float64)


def contrast(signs_of_rows: Floats) -> Floats:
    """Return signs that vary; what is one throughout would share the constant's part."""
    return signs_of_rows if np.ptp(signs_of_rows) else np.zeros(len(signs_of_rows))


@dataclass(frozen=True)
class Jackknife:
    """Estimates, and their spread where one cluster at a time is left out."""

    estimate: Floats
    std_error: Floats
    n: int
    method: str

    def interval(self, at: int) -> Interval:
        """Return the interval of one estimate."""
        reach = float(stats.t.ppf(0.975, self.n - 1)) * float(self.std_error[at])
        value = float(self.estimate[at])
        return Interval(value - reach, value + reach, 0.95, self.method)


def jackknife(
    estimate: Floats, of_part: Callable[[Any], Floats], clusters: Clusters, method: str
) -> Jackknife:
    """Leave out one cluster at a time; `of_part` estimates from the contexts that are kept."""
    part = clusters.of_context % MOST_DELETED
    n = int(part.max()) + 1
    left = np.array([of_part(part != number) for number in range(n)])
    error = np.sqrt((n - 1) / n * ((left - estimate) ** 2).sum(axis=0))
    name = "groups" if clusters.name == "group" else "cases"
    return Jackknife(estimate, error, n, method.format(clusters=name))
