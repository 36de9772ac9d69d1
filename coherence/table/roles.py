"""What a user says of a file's columns: which are those of the runs table, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from coherence.errors import InputError, closest
from coherence.table.exact import EXACT, KIND
from coherence.table.predictions import (
    require_both,
)
from coherence.table.row_condition import RowCondition
from coherence.table.scales import Scale
from coherence.table.schema import (
    COLUMN_NAMES,
    OPTIONS,
    RECORDED,
)

_COMPARED = ("prediction", "gold")
_OPTIONS = {option.replace("-", "_"): name for option, name in OPTIONS.items()} | OPTIONS


@dataclass(frozen=True)
class Reading:
    """How a file's columns are to be understood."""

    # column of the runs table -> column of the file
    columns: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."  # decimal mark of numbers that are text
    percent: bool = False  # whether stated probabilities are percentages
    # columns of the file that hold predicted and right labels, of which theta is made; or neither
    prediction: str | None = None
    gold: str | None = None
    where: str | None = None  # the rows to keep; see `row_condition`
    scale: Scale | None = None  # of stated beliefs that are no probabilities

    def __post_init__(self) -> None:
        """Refuse a mapping of something else than columns of the runs table, or not one to one."""
        require_both(self.prediction, self.gold)
        if self.where is not None:
            RowCondition.parse(self.where)
        if self.scale is not None and self.percent:
            raise InputError(
                f"percent is the scale 0..100; received the scale {self.scale} as well. Leave "
                "percent (--percent) out."
            )
        if not isinstance(self.columns, Mapping):
            raise InputError(
                "columns must map columns of the runs table to columns of the file, such as "
                f"{{'p': 'confidence'}}; received {self.columns!r}."
            )
        for name in self.columns:
            if name not in COLUMN_NAMES:
                raise InputError(
                    f"columns maps to {name!r}, which is not a column of the runs table. "
                    f"{closest(name, (*COLUMN_NAMES, *_OPTIONS, *_COMPARED))}"
                )
        if len(set(self.columns.values())) < len(self.columns):
            raise InputError(
                f"columns uses one column of the file twice: {dict(self.columns)}. Map every "
                "column once."
            )
        if self.prediction is None:
            return
        if "theta" in self.columns:
            raise InputError(
                "prediction and gold say what theta is, whether the prediction is right; received "
                f"the truth {self.columns['theta']!r} as well. Leave --truth out (columns)."
            )
        if self.columns.get("action") in (self.prediction, self.gold):
            raise InputError(
                f"action must be another choice than the prediction, such as whether to abstain; "
                f"received {self.columns['action']!r} for both. Leave --action out (columns)."
            )

    @classmethod
    def of(cls, columns: Mapping[str, str] | None, **fields: Any) -> Reading:
        """Take a mapping as users write it: its keys may be options of the command line.

        Both ``p`` and ``belief`` name the belief; ``prediction`` and ``gold`` may stand there too.
        """
        if not isinstance(columns, Mapping):
            return cls({} if columns is None else columns, **fields)
        mapped: dict[str, str] = {}
        for key, column in columns.items():
            if key in _COMPARED:
                if fields.get(key) is not None:
                    raise InputError(
                        f"{key} is named twice: {fields[key]!r} and {column!r} in columns. Leave "
                        "one out."
                    )
                fields[key] = column
                continue
            name = _OPTIONS.get(key, key)
            if name in mapped:
                raise InputError(
                    f"columns names {name!r} twice: {mapped[name]!r} and {column!r} as {key!r}. "
                    "Leave one out."
                )
            if not isinstance(column, str):
                raise InputError(
                    f"columns maps {key!r} to the name of a column; received {column!r}. Write "
                    "names as text; a DataFrame's become so by runs.columns.map(str)."
                )
            mapped[name] = column
        return cls(mapped, **fields)

    def name_in_file(self, name: str) -> str:
        """Return what a column of the runs table is called in the file."""
        return self.columns.get(name, name)

    @property
    def parts_of_context(self) -> list[str]:
        """Names of the columns that together are the id of a context; none where one is."""
        named = self.columns.get("context", "")
        return [part.strip() for part in named.split(",")] if "," in named else []

    def renamed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give columns of a file their names in the runs table."""
        renamed = {original: name for name, original in self.columns.items() if original != name}
        # A column of the file that already bears the name steps aside: it is not what was asked
        # for.
        aside = {
            name: f"unmapped_{name}"
            for name in renamed.values()
            if name in table.columns and name not in renamed
        }
        mine = table.rename(columns={**aside, **renamed})
        named = self.columns.get(EXACT)
        # Said to be the exact posterior by the user, of states that are the user's as well.
        if named in table.columns and (named != EXACT or KIND not in table.columns):
            mine = mine.assign(**{KIND: RECORDED})
        return mine


AS_IT_IS = Reading()


def option_words(reading: Reading) -> list[str]:
    """Return the options that name the same columns on the command line."""
    named = {option: reading.columns.get(name) for option, name in OPTIONS.items()}
    named |= {name: getattr(reading, name) for name in _COMPARED}
    return [f"--{option}={name}" for option, name in named.items() if name is not None]
