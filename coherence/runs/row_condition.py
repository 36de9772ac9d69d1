"""Which rows of a table a condition keeps: comparisons of columns with literals, and, or, not.

The text is parsed by Python's grammar and walked node by node; nothing in it is evaluated. A column
whose name is not an identifier stands in backticks, nested fields with their dots. Cells have the
type that the file declares: whole numbers are compared as such, ordered categories by their order,
dates with texts in ISO form. Texts have no order but as numbers or dates.
"""

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from keyword import iskeyword
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import InputError, closest, listing
from coherence.printable import counted
from coherence.runs.notes import Code, Note

_Mask = NDArray[np.bool_]
_Tables = tuple[pd.DataFrame, pd.DataFrame]  # as it is, and with texts read as numbers
_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?P<name>[^`]*)`""")
_WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?"
)
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
}
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_RULE = (
    "compare columns with literals by ==, !=, <, in (a list) and the like, joined by and, or, not "
    "(not & and |), such as --where 'type == \"binary\" and score >= 0.5'; texts stand in quotes, "
    "a name with blanks in backticks"
)
_STAND_IN = "_quoted_"  # what names in backticks become, with their bytes as digits


def quoted_column(name: str) -> str:
    """Write the name of a column as a condition takes it."""
    plain = all(part.isidentifier() and not iskeyword(part) for part in name.split("."))
    return name if plain else f"`{name}`"


def label_condition(column: str, labels: Sequence[Any], *, left_out: bool = True) -> str:
    """Return the condition that leaves out the rows with some labels, or keeps these alone."""
    literals = [
        json.dumps(label, ensure_ascii=False) if isinstance(label, str) else str(label)
        for label in labels
    ]
    if len(literals) == 1:
        return f"{quoted_column(column)} {'!=' if left_out else '=='} {literals[0]}"
    return f"{quoted_column(column)} {'not in' if left_out else 'in'} ({', '.join(literals)})"


def _stand_in(match: re.Match[str]) -> str:
    name = match["name"]
    return match[0] if name is None else f"{_STAND_IN}{name.encode().hex()}"


def _column(node: ast.expr) -> str:
    """Return the column that a node names; empty if it names none."""
    if isinstance(node, ast.Attribute) and (outer := _column(node.value)):
        return f"{outer}.{node.attr}"
    name = node.id if isinstance(node, ast.Name) else ""
    digits = name.removeprefix(_STAND_IN)
    return name if digits == name else bytes.fromhex(digits).decode()


@dataclass(frozen=True)
class RowCondition:
    """A condition that was parsed."""

    text: str
    tree: ast.expr

    @classmethod
    def parse(cls, text: str) -> "RowCondition":
        """Parse a condition, or raise `InputError` with what it may hold."""
        try:
            tree = ast.parse(_QUOTED.sub(_stand_in, text.strip()), mode="eval").body
            cls(text, tree)._walk(tree, None)
        except InputError:
            raise
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"where must be a condition; received {text!r}: {_RULE}.") from None
        return cls(text, tree)

    def kept_rows(
        self, table: pd.DataFrame, compared: Mapping[str, "pd.Series[Any]"]
    ) -> tuple[pd.DataFrame, Note]:
        """Return the rows that meet the condition; texts `compared` were read as numbers."""
        keep = self._walk(self.tree, (table, table.assign(**compared)))
        of = counted(len(table), "row")
        if not keep.any():
            raise InputError(
                f"where keeps none of {of}: {self.text!r}. "
                "Check the values it names, also their case and blanks."
            )
        kept = table[keep].reset_index(drop=True)
        return kept, Note(Code.SHAPE, f"where kept {len(kept)} of {of}: {self.text}.")

    def _walk(self, node: ast.expr, tables: _Tables | None) -> _Mask:
        """Return which rows meet a part of the condition; without tables check its form alone."""
        match node:
            case ast.BoolOp():
                masks = [self._walk(value, tables) for value in node.values]
                return np.asarray(
                    (np.any if isinstance(node.op, ast.Or) else np.all)(masks, axis=0)
                )
            case ast.UnaryOp(op=ast.Not()):
                return ~self._walk(node.operand, tables)
            case ast.Compare():
                lefts = [node.left, *node.comparators]
                sides = zip(lefts, map(type, node.ops), node.comparators, strict=False)
                masks = [self._comparison(*side, tables) for side in sides]
                return np.asarray(np.all(masks, axis=0))
        raise self._refusal(node, "is no comparison")

    def _refusal(self, node: ast.expr, why: str) -> InputError:
        return InputError(f"where: {ast.unparse(node)} {why} in {self.text!r}. Here {_RULE}.")

    def _comparison(
        self, left: ast.expr, kind: type[ast.cmpop], right: ast.expr, tables: _Tables | None
    ) -> _Mask:
        alone = kind in (*_ORDER, ast.Eq, ast.NotEq)  # compared with one literal, not with a list
        if not _column(left) and _column(right) and alone:
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        if not (column := _column(left)):
            raise self._refusal(left, "names no column")
        listed = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else None
        try:
            literals = [ast.literal_eval(each) for each in ([right] if listed is None else listed)]
        except (ValueError, SyntaxError, TypeError):
            raise self._refusal(right, "is no literal") from None
        plain = all(each is None or isinstance(each, str | int | float) for each in literals)
        without_order = kind in _ORDER and isinstance(next(iter(literals), 0), bool | None)
        if not plain or without_order or alone != (listed is None) or kind in (ast.Is, ast.IsNot):
            raise self._refusal(right, "is no such literal")
        if tables is None:
            return np.ones(0, dtype=np.bool_)
        if column not in tables[0].columns:
            raise InputError(
                f"where: there is no column {column!r}, as {self.text!r} has it. "
                f"{closest(column, tables[0].columns)}"
            )
        found = np.zeros(len(tables[0]), dtype=np.bool_)
        for literal in literals:
            cells = tables[isinstance(literal, int | float)][column]
            found |= _compare(cells, _ORDER.get(kind, operator.eq), literal)
        return ~found if kind in (ast.NotEq, ast.NotIn) else found


def _compare(cells: "pd.Series[Any]", compared: Callable[[Any, Any], bool], literal: Any) -> _Mask:
    """Compare the different cells of a column with a literal; missing ones are unequal to all."""
    if literal is None:
        return np.asarray(cells.isna(), dtype=np.bool_)
    try:
        codes, distinct = pd.factorize(cells)
        values, to = _comparable(cells, distinct.tolist(), compared is not operator.eq, literal)
    except (TypeError, ValueError) as error:
        shown = listing(dict.fromkeys(map(str, cells.dropna())), 3)
        raise InputError(
            f"where: column {cells.name!r} cannot be compared with {literal!r}: it holds {shown}; "
            f"{error}."
        ) from None
    met = [value is not None and bool(compared(value, to)) for value in values]
    return np.asarray([*met, False], dtype=np.bool_)[codes]


def _comparable(
    cells: "pd.Series[Any]", values: list[Any], ordered: bool, literal: Any
) -> tuple[list[Any], Any]:
    """Return cells and a literal as what they are compared by; None is unequal to it."""
    if ordered and isinstance(cells.dtype, pd.CategoricalDtype) and cells.cat.ordered:
        places = {value: place for place, value in enumerate(cells.cat.categories)}
        if literal not in places:
            raise ValueError(f"compare it with one of {listing(map(repr, places), 6)}")
        return [places[value] for value in values], places[literal]
    if values and all(isinstance(value, date) for value in values):
        if not isinstance(literal, str) or not _ISO.fullmatch(literal):
            raise ValueError('compare it with a date, such as "2026-01-31"')
        days = [pd.Timestamp(value) for value in values]
        return [*days], pd.Timestamp(literal).tz_localize(days[0].tz)
    if isinstance(literal, str):
        texts = [value if isinstance(value, str) else None for value in values]
        if values and texts == [None] * len(values):
            raise ValueError(f"compare it without quotes, such as {values[0]}")
        if not ordered:
            return [*texts], literal
        if not all(text and _ISO.fullmatch(text) for text in [*texts, literal]):
            raise ValueError("texts have no order but as numbers or ISO dates: use == or in")
        return [text and text.replace("T", " ") for text in texts], literal.replace("T", " ")
    numbers = [_number(value) for value in values]
    odd = [value for value, number in zip(values, numbers, strict=True) if number is None]
    if odd and (ordered or len(odd) == len(values)):
        raise ValueError(
            f"{odd[0]!r} is no number. If it is missing: --missing {odd[0]}; else compare it with "
            f'a text, such as "{odd[0]}"'
        )
    return numbers, literal


def _number(value: Any) -> Any:
    """Return a cell as a number, whole ones with all their digits; None where it is none."""
    if not isinstance(value, str):
        return value if isinstance(value, Number) else None
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return int(text)
    truth = {"true": True, "false": False}.get(text.lower())
    return float(text) if _NUMBER.fullmatch(text) else truth
