"""When asking stops, as a table says it: the column ``plan``, and the order of its cases.

A plan is looks fixed in advance ("looks=5 most=300 seed=7") or evidence to reach ("evidence=20"),
and the same in all rows of a model on a task. Cases stand in the order of the column ``arrival``,
which no sorting changes; without it, in that of their first rows.
"""

import math
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import InputError, shown

Codes = NDArray[np.int64]
FIELDS = ("looks", "most", "evidence", "seed")
EXAMPLES = "looks=5 most=300 seed=7, or evidence=20"
REMEDY = "Write the plan as it was before the first case."
MOST_LOOKS = 40
"""From some 45 on, levels of first looks fall below what floating point holds."""


@dataclass(frozen=True)
class StoppingPlan:
    """Looks fixed in advance, or evidence to reach; `looks` is None where it is evidence."""

    looks: int | None = None
    most: int | None = None  # cases at the last look; of evidence no part of the test
    evidence: float | None = None  # 1 / alpha
    seed: int = 0  # of what looks draw

    def __post_init__(self) -> None:
        by_looks = self.evidence is None
        _require(
            (self.looks is not None) == by_looks and (self.most is not None or not by_looks),
            f"a plan has looks and most, or evidence: {EXAMPLES}; received {self}. {REMEDY}",
        )
        if self.looks is not None and self.most is not None:
            _require(
                1 <= self.looks <= self.most,
                f"a plan has at least one look, and at most one a case; received {self}. {REMEDY}",
            )
            _require(
                self.looks <= MOST_LOOKS,
                f"a plan has at most {MOST_LOOKS} looks; received {self}. Plan fewer before the "
                "first case, or evidence (evidence=20), which may be looked at after every case.",
            )
        _require(
            self.evidence is None or 1 < self.evidence < math.inf,
            f"evidence of a plan is a number above 1, such as 20; received {self}. {REMEDY}",
        )

    def __str__(self) -> str:
        """Return the plan as a table has it."""
        if self.evidence is None:
            return f"looks={self.looks} most={self.most} seed={self.seed}"
        most = "" if self.most is None else f" most={self.most}"
        return f"evidence={self.evidence:g}{most}"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return the plan that a cell holds."""
        words = [word.partition("=") for word in str(text).split()]
        names = [name for name, _, _ in words]
        if not words or set(names) - set(FIELDS) or len(set(names)) < len(names):
            _refuse(text)
        kinds: dict[str, Any] = {"evidence": float}
        try:
            said = {name: kinds.get(name, int)(value) for name, _, value in words}
        except ValueError:
            _refuse(text)
        if any(value < 0 for value in said.values()):
            _refuse(text)
        return cls(**said)

    @property
    def sizes(self) -> Codes:
        """Cases at each look."""
        assert self.looks is not None
        assert self.most is not None
        return np.asarray(-(-np.arange(1, self.looks + 1) * self.most // self.looks))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InputError(otherwise)


def _refuse(text: object) -> NoReturn:
    raise InputError(f"plan must read {EXAMPLES}; received {shown(text):.80}. {REMEDY}")


@dataclass(frozen=True)
class Arrivals:
    """The cases of an evaluation with a plan, in the order in which they were asked."""

    plan: StoppingPlan
    place: Codes  # shape (n_contexts,): of each context, from 1
    n_asked: int  # the last place
    in_order_of_rows: bool = False  # whether no column says the order


def arrivals_of(rows: pd.DataFrame) -> "tuple[Arrivals, pd.Series[int]] | None":
    """Return the plan of an evaluation and the place of each of its contexts; None without one."""
    if "plan" not in rows.columns or rows.empty or rows["plan"].isna().all():
        return None
    texts = rows["plan"].astype(object).where(rows["plan"].notna(), "").map(str)
    plans = {text: StoppingPlan.parse(text) for text in texts.unique() if text}
    names = [f"{text!r} in {int((texts == text).sum())}" for text in texts.unique()]
    _require(
        len(set(plans.values())) == 1 and "" not in set(texts),
        f"plan must be the same in all rows of a model on a task; received {' and '.join(names)} "
        "rows. Give rows that were asked under other plans another name (column model), or leave "
        "them out (--where).",
    )
    plan, cases = next(iter(plans.values())), rows["context"]
    by_rows = "arrival" not in rows.columns or bool(rows["arrival"].isna().all())
    if by_rows:
        first = cases.drop_duplicates()
        place = pd.Series(np.arange(1, len(first) + 1), index=first)
    else:
        pairs = pd.DataFrame({"case": cases, "place": pd.to_numeric(rows["arrival"])})
        pairs = pairs.drop_duplicates()
        wrong = pairs["place"].isna() | pairs["case"].duplicated(keep=False)
        wrong |= pairs["place"].duplicated(keep=False) | ~(pairs["place"] >= 1)
        _require(
            not wrong.any(),
            "arrival must be the place of a case among all cases of a model on a task, a whole "
            "number from 1; it is missing, or stands for several cases, or a case has several, in "
            f"{int(wrong.sum())} cases, such as {pairs.loc[wrong, 'case'].tolist()[:1]}"
            ". Leave the column out: cases then stand in the order of their first rows.",
        )
        place = pd.Series(pairs["place"].to_numpy(dtype=np.int64), index=pairs["case"])
    n_asked = int(place.max())
    later = (
        f"those after the first {plan.most} in the order of rows"
        if by_rows
        else f"--where 'arrival <= {plan.most}'"
    )
    _require(
        plan.looks is None or n_asked <= (plan.most or 0),
        f"a plan of looks ends with its last one; received {n_asked} cases under {str(plan)!r}. "
        f"Leave the cases out that came later ({later}).",
    )
    return Arrivals(plan, place.to_numpy(dtype=np.int64), n_asked, by_rows), place
