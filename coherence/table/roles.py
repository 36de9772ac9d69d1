"""What a user says of a table: which columns are those of the runs table, and how it is written.

Each field of `Reading` is an option of the command line, declared here alone.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, closest
from coherence.table.schema import COLUMN_NAMES, EXACT, KIND, OPTIONS, RECORDED

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("prediction", "gold")
_OPTIONS = {option.replace("-", "_"): name for option, name in OPTIONS.items()} | OPTIONS
_OPTIONS["penalty"] = "loss"
_MOST_SHOWN = 8  # steps of a scale whose probabilities are listed


@dataclass(frozen=True)
class Scale:
    """A scale of stated beliefs and the probabilities of its ends: a straight line."""

    low: float
    high: float
    p_low: float = 0.0
    p_high: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read ``1..7`` or ``1..4=.5..1``."""
        number = r"([+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))"
        ends = rf"\s*{number}\s*\.\.\s*{number}\s*"
        match = re.fullmatch(f"{ends}(?:={ends})?", text) if isinstance(text, str) else None
        if match is None:
            raise InputError(
                f"scale must be LOW..HIGH, or LOW..HIGH=P..P, such as 1..7, -1..1 or 1..4=.5..1; "
                f"received {text!r}."
            )
        scale = cls(*(float(end) for end in match.groups() if end is not None))
        if scale.low == scale.high:
            raise InputError(f"scale must have two different ends; received {text!r}.")
        if not (0 <= scale.p_low <= 1 and 0 <= scale.p_high <= 1 and scale.p_low != scale.p_high):
            raise InputError(
                f"scale must map its ends to two different probabilities in [0, 1]; received "
                f"{text!r}. A scale from {scale.low:g} to {scale.high:g} alone is "
                f"--scale={scale.low:g}..{scale.high:g}."
            )
        return scale

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}"

    def probability(self, values: Any, *, spread: bool = False) -> Any:
        """Return the probabilities of values on the scale, or of the width of some."""
        if spread:
            return abs(self.p_high - self.p_low) * (values / abs(self.high - self.low))
        share = (values - self.low) / (self.high - self.low)
        return self.p_low + share * (self.p_high - self.p_low)

    def described(self) -> str:
        """Return the mapping, step by step where it is short."""
        low, high = sorted((self.low, self.high))
        steps = [low, (low + high) / 2, high]
        if low % 1 == high % 1 == 0 and high - low < _MOST_SHOWN:
            steps = [low + at for at in range(int(high - low) + 1)]
        return ", ".join(f"{step:g} as {self.probability(step):.3g}" for step in steps)


PERCENT = Scale(0, 100)


def _option(help_: str, metavar: str | None = "COLUMN", default: Any = None, **more: Any) -> Any:
    """Declare a field that is an option; without a `metavar` it is a switch."""
    shown = {"action": "store_true"} if metavar is None else {"metavar": metavar}
    return field(default=default, metadata={"help": help_, **shown, **more})


@dataclass(frozen=True)
class Reading:
    """How a table is to be understood; see `coherence.read_runs`."""

    # column of the runs table, or option that names it -> column of the file, several as A,B or as
    # a list; once made, texts by column of the runs table
    columns: Mapping[str, Any] = field(default_factory=dict)
    prediction: str | None = _option(
        "predicted labels, where the belief is the confidence in them: with --gold the truth is "
        "whether they are right"
    )
    gold: str | None = _option("right labels, for --prediction")
    acts: str | None = _option("the action that stakes gain and loss", "LABEL")
    scale: str | None = _option(
        "scale of beliefs and exact posteriors, such as 1..7 or -1..1, mapped to probabilities "
        "from 0 to 1; 1..4=.5..1 maps it to others, as where the lowest step is a guess between "
        "two",
        "LOW..HIGH",
    )
    percent: bool = _option(
        "beliefs and exact posteriors are percentages: 70 or 70%% is 0.7", None, default=False
    )
    where: str | None = _option(
        "rows to keep: columns compared with literals, joined by and, or, not, such as "
        "'type == \"binary\" and score >= 0.5'; of several all must hold",
        "CONDITION",
        action="append",
    )
    sep: str | None = _option(
        "separator of a .csv or .tsv file; ';', tab and '|' are recognised",
        "CHARACTER",
        of_file=True,
    )
    decimal: str = _option(
        "decimal mark of numbers in texts: . or , (default: .)", "MARK", ".", of_file=True
    )
    encoding: str | None = _option(
        "encoding of a text file, such as latin-1 or cp1252 "
        "(default: UTF-8; UTF-16 with its mark is recognised)",
        "NAME",
        of_file=True,
    )
    missing: Collection[str] = _option(
        "what cells hold that are missing, such as NA,-99; empty ones are so anyway",
        "A,B",
        (),
        of_file=True,
    )
    sheet: str | None = _option(
        "sheet of a workbook (default: the one with cells)", "NAME", of_file=True
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself; columns are kept by their names in the runs table."""
        self._map_columns()
        self._require_form()
        if self.where is not None:
            from coherence.table.row_condition import RowCondition

            RowCondition.parse(self.where)
        if self.scale is not None and Scale.parse(self.scale) and self.percent:
            raise InputError(
                f"percent is the scale 0..100; received the scale {self.scale} as well. Leave "
                "percent (--percent) out."
            )
        self._require_both()

    def _map_columns(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise InputError(
                "columns must map columns of the runs table to columns of the file, such as "
                f"{{'p': 'confidence'}}; received {self.columns!r}."
            )
        mapped: dict[str, str] = {}
        for key, column in self.columns.items():
            name = _OPTIONS.get(key, key)
            if name not in (*COLUMN_NAMES, *COMPARED):
                raise InputError(
                    f"columns maps to {name!r}, which is not a column of the runs table. "
                    f"{closest(name, (*COLUMN_NAMES, *_OPTIONS, *COMPARED))}"
                )
            before = getattr(self, name) if name in COMPARED else mapped.get(name)
            if before is not None:
                raise InputError(
                    f"columns names {name!r} twice: {before!r} and {column!r} as {key!r}. Leave "
                    "one out."
                )
            if isinstance(column, list | tuple) and not any("," in str(part) for part in column):
                column = ",".join(map(str, column))
            if not isinstance(column, str):
                raise InputError(
                    f"columns maps {key!r} to the name of a column, or a list of names without "
                    f"commas; received {column!r}. Write names as text; a DataFrame's become so by "
                    "runs.columns.map(str)."
                )
            if name in COMPARED:
                object.__setattr__(self, name, column)
            else:
                mapped[name] = column
        object.__setattr__(self, "columns", mapped)
        if len({*mapped.values()}) < len(mapped):
            raise InputError(
                f"columns uses one column of the file twice: {mapped}. Map every column once."
            )

    def _require_form(self) -> None:
        if self.sep in ("\\t", "tab"):  # what a shell passes on of a tab that was typed
            object.__setattr__(self, "sep", "\t")
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n.' + self.decimal):
            raise InputError(
                f"sep must be one character, and neither the decimal mark nor a quote; received "
                f"{self.sep!r}. A semicolon is --sep ';', a tab --sep tab."
            )
        if self.decimal not in (".", ","):
            raise InputError(f"decimal must be '.' or ','; received {self.decimal!r}.")
        marks = self.missing
        if isinstance(marks, str) or not isinstance(marks, Collection):
            marks = (marks,)
        object.__setattr__(self, "missing", tuple(str(mark).strip() for mark in marks))
        if not all(self.missing):
            raise InputError(
                f"missing must hold texts or numbers, such as --missing NA,-99; received "
                f"{marks!r}. Empty cells are missing without it."
            )
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise InputError(
                f"encoding must be a name that Python knows, such as utf-8, latin-1, cp1252 or "
                f"utf-16; received {self.encoding!r}."
            ) from None

    def _require_both(self) -> None:
        """Refuse a prediction without right labels, and the state or the action beside it."""
        pair = {name: getattr(self, name) for name in COMPARED}
        if [*pair.values()] == [None, None]:
            return
        if not all(isinstance(name, str) for name in pair.values()) or self.prediction == self.gold:
            raise InputError(
                f"prediction and gold must name two columns, or neither; received {pair}. Name the "
                "column of the predicted labels and that of the right ones: --prediction COLUMN "
                "--gold COLUMN (prediction=, gold=)."
            )
        if "theta" in self.columns:
            raise InputError(
                "prediction and gold say what theta is, whether the prediction is right; received "
                f"the truth {self.columns['theta']!r} as well. Leave --truth out (columns)."
            )
        if self.columns.get("action") in pair.values():
            raise InputError(
                f"action must be another choice than the prediction, such as whether to abstain; "
                f"received {self.columns['action']!r} for both. Leave --action out (columns)."
            )

    @cached_property
    def line(self) -> Scale | None:
        """The scale that beliefs are on; None where they are probabilities."""
        if self.percent:
            return PERCENT
        return None if self.scale is None else Scale.parse(self.scale)

    def words(self) -> list[str]:
        """Return what is said of a table as words of the command line."""
        said: dict[str, Any] = {option: self.columns.get(name) for option, name in OPTIONS.items()}
        for each in fields(self):
            if each.metadata and (value := getattr(self, each.name)) != each.default:
                said[each.name] = ",".join(value) if isinstance(value, tuple) else value
        given = {option: value for option, value in said.items() if value is not None}
        return [f"--{name}" if is_ is True else f"--{name}={is_}" for name, is_ in given.items()]

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
        mine = mine if self.acts is None else mine.assign(acts=self.acts)
        if "gain" in mine or not {"loss", "acts"} <= {*mine}:
            return mine
        return mine.assign(gain=mine["loss"].notna().astype(float).replace(0.0, float("nan")))


AS_IT_IS = Reading()
OPTIONS_OF_READING = {each.name: dict(each.metadata) for each in fields(Reading) if each.metadata}
"""Field of a `Reading` -> how its option is declared; `of_file` where it says how a file is."""
