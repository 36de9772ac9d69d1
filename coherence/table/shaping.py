"""What the user makes of a table before its columns are looked up: rows, stacked fields, constants.

A table may hold more kinds of rows than one, two wordings of a question side by side, or lack a
column that is the same throughout. Rows are chosen first, by the columns of the file; then fields
are stacked, and constants added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from coherence.errors import InputError, closest, listing
from coherence.printable import counted
from coherence.table.notes import Code, Note
from coherence.table.row_condition import RowCondition
from coherence.table.runs import NOTES
from coherence.table.schema import STATE_PREFIX

PROMPT, TRUTH = "prompt", "theta"


@dataclass(frozen=True)
class Shape:
    """Rows to keep, fields to stack and columns to add."""

    where: str | None = None  # a condition; see `row_condition`
    # column to make -> fields whose rows stand below each other, under a prompt each
    stack: Mapping[str, Sequence[str]] = field(default_factory=dict)
    set_columns: Mapping[str, Any] = field(default_factory=dict)  # column to add -> its value
    # column of the belief in each of several states -> column that is 1 where it came true, else 0
    outcomes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = {"stack": self.stack, "set_columns": self.set_columns, "outcomes": self.outcomes}
        for name, value in named.items():
            if not isinstance(value, Mapping):
                raise InputError(f"{name} must be a mapping; received {value!r}.")
        lengths = {name: len(fields) for name, fields in self.stack.items()}
        for name, fields in self.stack.items():
            if isinstance(fields, str) or len(set(fields)) < 2 or len(set(fields)) < len(fields):
                raise InputError(
                    f"stack must name two or more different fields for {name!r}, such as "
                    f"--stack p=FIELD,FIELD; received {fields!r}."
                )
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"stack must name equally many fields for each column; received {lengths}."
            )
        if len(set(self.outcomes.values())) < len(self.outcomes) or len(self.outcomes) == 1:
            raise InputError(
                "outcomes must name a column for each of two or more states; received "
                f"{dict(self.outcomes)}."
            )
        if self.where is not None:
            RowCondition.parse(self.where)
        if self.stack and PROMPT in self.set_columns:
            raise InputError(
                "stack makes a column 'prompt' that tells the fields apart; received one by "
                "--set-column as well. Leave it out."
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return self.where is None and not (self.stack or self.set_columns or self.outcomes)

    @property
    def made(self) -> list[str]:
        """Names of the columns that are made here."""
        prompt, truth = [PROMPT] if self.stack else [], [TRUTH] if self.outcomes else []
        return [*self.stack, *prompt, *truth, *self.set_columns]

    @property
    def beliefs(self) -> list[str]:
        """Names of the columns of beliefs in several states."""
        return [f"{STATE_PREFIX}{name}" for name in self.outcomes]

    def apply(self, table: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
        """Return the table as it is to be read, and what was done."""
        notes, left = [], table.attrs.get(NOTES)
        if self.where is not None:
            table, note = _kept(table, RowCondition.parse(self.where))
            notes.append(note)
        if self.stack:
            table, note = self._stacked(table)
            notes.append(note)
        if self.outcomes:
            table, note = self._with_states(table)
            notes.append(note)
        for name in self.set_columns:
            _require_new(table, name, "--set-column")
        table = table.assign(**dict(self.set_columns))
        if left is not None:
            table.attrs[NOTES] = left
        return table, notes

    def _with_states(self, table: pd.DataFrame) -> tuple[pd.DataFrame, Note]:
        """Name beliefs after their states, and make one truth of the columns of outcomes."""
        beliefs, columns = list(self.outcomes), list(self.outcomes.values())
        _refuse_absent(table, [*beliefs, *columns], "outcomes")
        outcomes = table[columns].apply(pd.to_numeric, errors="coerce").astype("float64")
        unknown = table[columns].isna().all(axis=1)
        right = outcomes.isin((0, 1)).all(axis=1) & (outcomes.sum(axis=1) == 1)
        odd = (~right & ~unknown).to_numpy().nonzero()[0]
        if len(odd):
            raise InputError(
                f"outcomes must hold 1 in one of {', '.join(columns)} and 0 in the others, or be "
                f"empty; {len(odd)} of {len(table)} rows do not, the first is row {odd[0]}: "
                f"{listing(map(str, table[columns].iloc[int(odd[0])]), 8)}. If several states "
                "may come true at once, analyse each by itself (--belief, --truth)."
            )
        state = pd.Series(beliefs, index=columns)
        truth = outcomes.fillna(0).idxmax(axis=1).map(state).astype(object).mask(unknown, None)
        table = table.drop(columns=columns)
        for name in (TRUTH, *self.beliefs):
            _require_new(table, name, "--outcomes")
        table = table.rename(columns={name: f"{STATE_PREFIX}{name}" for name in beliefs})
        return table.assign(**{TRUTH: truth}), Note(
            Code.SHAPE,
            f"theta is which of {', '.join(columns)} is 1, and the beliefs are over the states "
            f"{', '.join(beliefs)}.",
        )

    def _stacked(self, table: pd.DataFrame) -> tuple[pd.DataFrame, Note]:
        sources = [name for fields in self.stack.values() for name in fields]
        _refuse_absent(table, sources, "stack")
        rest = table.drop(columns=sources)
        for name in (*self.stack, PROMPT):
            _require_new(rest, name, "--stack")
        prompts = _distinct_parts(next(iter(self.stack.values())))
        parts = [
            rest.assign(
                **{name: table[fields[at]] for name, fields in self.stack.items()},
                **{PROMPT: prompt},
            )
            for at, prompt in enumerate(prompts)
        ]
        stacked = pd.concat(parts, ignore_index=True)
        shown = ", ".join(map(repr, prompts))
        made = f"stack made {counted(len(stacked), 'row')} of {len(table)}"
        return stacked, Note(Code.SHAPE, f"{made}: the prompts are {shown}.")


NO_SHAPE = Shape()
"""The table as it comes."""


def _refuse_absent(table: pd.DataFrame, names: Sequence[str], option: str) -> None:
    errors = [
        f"{option}: there is no field {name!r}. {closest(name, table.columns)}"
        for name in names
        if name not in table.columns
    ]
    if errors:
        raise InputError.all_at_once("", errors)


def _kept(table: pd.DataFrame, condition: RowCondition) -> tuple[pd.DataFrame, Note]:
    keep = condition.keeps(table)
    if not keep.any():
        raise InputError(
            f"where keeps none of {counted(len(table), 'row')}: {condition.text!r}. "
            "Check the values it names, also their case and blanks."
        )
    kept = table[keep].reset_index(drop=True)
    of = counted(len(table), "row")
    return kept, Note(Code.SHAPE, f"where kept {len(kept)} of {of}: {condition.text}.")


def _require_new(table: pd.DataFrame, name: str, option: str) -> None:
    if name in table.columns:
        raise InputError(
            f"{option} makes a column {name!r}, and the file has one. Make one of another name, "
            f"or leave that of the file out: --ignore {name}."
        )


def _distinct_parts(fields: Sequence[str]) -> list[str]:
    """Return what tells dotted names apart: those of ``a.x.b`` and ``a.y.b`` are x and y."""
    parts = [name.split(".") for name in fields]
    shortest = min(map(len, parts)) - 1  # a part is left of each
    head = next((n for n in range(shortest) if len({path[n] for path in parts}) > 1), shortest)
    shortest -= head
    tail = next((n for n in range(shortest) if len({path[-1 - n] for path in parts}) > 1), shortest)
    return [".".join(path[head : len(path) - tail]) for path in parts]
