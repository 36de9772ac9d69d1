"""Which rows of a table a condition keeps: comparisons of columns with literals, and, or, not.

The text is parsed by Python's grammar and walked node by node; nothing in it is evaluated. A column
whose name is not an identifier stands in backticks, nested fields with their dots.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import InputError, closest, listing
from coherence.printable import counted
from coherence.table.notes import Code, Note

Literal = str | int | float | bool | None
_Mask = NDArray[np.bool_]
_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`""")
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda cells, value: cells < value,
    ast.LtE: lambda cells, value: cells <= value,
    ast.Gt: lambda cells, value: cells > value,
    ast.GtE: lambda cells, value: cells >= value,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_RULE = (
    "compare columns with literals, joined by and, or, not, such as --where "
    "'type == \"binary\" and score >= 0.5'; a name with blanks stands in backticks"
)


def quoted_column(name: str) -> str:
    """Write the name of a column as a condition takes it."""
    parts = name.split(".")
    plain = all(part.isidentifier() and ast_safe(part) for part in parts)
    return name if plain else f"`{name}`"


def ast_safe(word: str) -> bool:
    """Tell whether a word is a name to Python's grammar, and no keyword."""
    try:
        return isinstance(ast.parse(word, mode="eval").body, ast.Name)
    except SyntaxError:
        return False


@dataclass(frozen=True)
class RowCondition:
    """A condition that was parsed."""

    text: str
    tree: ast.expr
    quoted: tuple[str, ...]  # names in backticks, by number

    @classmethod
    def parse(cls, text: str) -> "RowCondition":
        """Parse a condition, or raise `InputError` with what it may hold."""
        quoted: list[str] = []

        def stand_in(match: re.Match[str]) -> str:
            if not match[0].startswith("`"):
                return match[0]
            quoted.append(match[0][1:-1])
            return f"_quoted_{len(quoted) - 1}_"

        if not isinstance(text, str) or not text.strip():
            raise InputError(f"where must be a condition; received {text!r}: {_RULE}.")
        try:
            tree = ast.parse(_QUOTED.sub(stand_in, text.strip()), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"where cannot be parsed: {text!r}.{_hint(text)} Here {_RULE}.") from (
                None
            )
        condition = cls(text, tree, tuple(quoted))
        condition._check(tree)
        return condition

    def kept_rows(
        self, table: pd.DataFrame, compared: Mapping[str, "pd.Series[Any]"]
    ) -> tuple[pd.DataFrame, Note]:
        """Return the rows that meet the condition, and how many they are.

        What is `compared` are columns whose texts were read, as numbers where all of them are.
        """
        keep, of = self.keeps(table.assign(**compared)), counted(len(table), "row")
        if not keep.any():
            raise InputError(
                f"where keeps none of {of}: {self.text!r}. "
                "Check the values it names, also their case and blanks."
            )
        kept = table[keep].reset_index(drop=True)
        return kept, Note(Code.SHAPE, f"where kept {len(kept)} of {of}: {self.text}.")

    def keeps(self, table: pd.DataFrame) -> _Mask:
        """Return which rows meet the condition; a missing cell is unequal to every literal."""
        return self._mask(self.tree, table)

    def _refuse(self, node: ast.AST, why: str) -> InputError:
        return InputError(f"where: {why} in {self.text!r}. Here {_RULE}.")

    def _check(self, node: ast.expr) -> None:
        """Raise unless every part is one that a condition may have."""
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._check(value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._check(node.operand)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                self._comparison(left, operator, right)
        elif (name := self._column(node)) is not None:
            raise self._refuse(node, f"{name!r} alone is no comparison, such as {name} == 1,")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            raise self._refuse(node, "& and | are written and, or")
        elif isinstance(node, ast.Call):
            raise self._refuse(node, "there is a call")
        else:
            raise self._refuse(node, f"{ast.unparse(node)} is no comparison")

    def _comparison(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> tuple[str, type[ast.cmpop], Any]:
        """Return a column, an operator and a literal, or for in and not in a list of literals."""
        kind = type(operator)
        column = self._column(left)
        if column is None and kind in _MIRRORED and self._column(right) is not None:
            left, right, kind = right, left, _MIRRORED[kind]
            column = self._column(left)
        if column is None:
            raise self._refuse(left, f"{ast.unparse(left)} names no column")
        if kind in (ast.In, ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List | ast.Set):
                raise self._refuse(right, 'in wants a list, as in ("a", "b"),')
            return column, kind, [self._literal(element) for element in right.elts]
        if kind not in (*_ORDER, ast.Eq, ast.NotEq):
            raise self._refuse(operator, "is and is not are written == and !=")
        value = self._literal(right)
        if kind in _ORDER and (value is None or isinstance(value, bool)):
            raise self._refuse(right, f"{value} has no order")
        return column, kind, value

    def _column(self, node: ast.expr) -> str | None:
        """Return the column that a node names, None if it names none."""
        if isinstance(node, ast.Name):
            match = re.fullmatch(r"_quoted_([0-9]+)_", node.id)
            at = int(match[1]) if match else -1
            return self.quoted[at] if 0 <= at < len(self.quoted) else node.id
        if isinstance(node, ast.Attribute) and (outer := self._column(node.value)) is not None:
            return f"{outer}.{node.attr}"
        return None

    def _literal(self, node: ast.expr) -> Literal:
        sign = 1
        inner = node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign, inner = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
        if isinstance(inner, ast.Constant):
            value = inner.value
            if inner is not node and isinstance(value, int | float) and not isinstance(value, bool):
                return sign * value
            if inner is node and (value is None or isinstance(value, str | int | float)):
                return value
        name = self._column(node)
        hint = f'; a text is quoted: "{name}"' if name else ""
        raise self._refuse(node, f"{ast.unparse(node)} is no literal{hint}")

    def _mask(self, node: ast.expr, table: pd.DataFrame) -> _Mask:
        if isinstance(node, ast.BoolOp):
            masks = [self._mask(value, table) for value in node.values]
            join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(join.reduce(masks), dtype=np.bool_)
        if isinstance(node, ast.UnaryOp):
            return ~self._mask(node.operand, table)
        assert isinstance(node, ast.Compare)  # `parse` has checked every node
        sides = [node.left, *node.comparators]
        masks = [
            self._compare(table, *self._comparison(left, operator, right))
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return np.asarray(np.logical_and.reduce(masks), dtype=np.bool_)

    def _compare(
        self, table: pd.DataFrame, column: str, kind: type[ast.cmpop], value: Any
    ) -> _Mask:
        if column not in table.columns:
            raise InputError(
                f"where: there is no column {column!r}, as {self.text!r} has it. "
                f"{closest(column, table.columns)}"
            )
        cells = table[column]
        if kind in (ast.In, ast.NotIn):
            any_of = [self._equal(cells, each) for each in value]
            found: _Mask = np.any([np.zeros(len(table), dtype=np.bool_), *any_of], axis=0)
            return ~found if kind is ast.NotIn else found
        if kind in (ast.Eq, ast.NotEq):
            equal = self._equal(cells, value)
            return ~equal if kind is ast.NotEq else equal
        return self._ordered(cells, kind, value)

    def _equal(self, cells: "pd.Series[Any]", value: Literal) -> _Mask:
        if value is None:
            return np.asarray(cells.isna(), dtype=np.bool_)
        filled = cells.dropna()
        if isinstance(value, str):
            if len(filled) and not filled.map(lambda cell: isinstance(cell, str)).any():
                raise InputError(
                    f"where: column {cells.name!r} holds "
                    f"{listing(map(str, dict.fromkeys(filled.tolist())), 3)}, no texts; compare "
                    f"it without quotes, as in {quoted_column(str(cells.name))} == "
                    f"{filled.iloc[0]}."
                )
            same = cells.map(lambda cell: isinstance(cell, str) and cell == value)
            return np.asarray(same, dtype=np.bool_)
        truth = {"true": 1, "false": 0}
        texts = cells.map(lambda cell: truth.get(cell.lower(), cell) if _is_text(cell) else cell)
        numbers: pd.Series[Any] = pd.to_numeric(texts, errors="coerce").astype("float64")
        if len(filled) and numbers.notna().sum() == 0:
            shown = listing(map(repr, dict.fromkeys(filled.astype(str).tolist())), 3)
            raise InputError(
                f"where: column {cells.name!r} holds texts ({shown}); compare it with one, as in "
                f'{quoted_column(str(cells.name))} == "{filled.iloc[0]}".'
            )
        return np.asarray(numbers == float(value), dtype=np.bool_)

    def _ordered(self, cells: "pd.Series[Any]", kind: type[ast.cmpop], value: Any) -> _Mask:
        filled = cells.notna()
        if isinstance(value, str):  # dates in ISO form have the order of texts
            texts = cells.where(filled, "").astype(str)
            mask = _ORDER[kind](texts, value)
        else:
            numbers = pd.to_numeric(cells, errors="coerce").astype("float64")
            odd = cells[filled & numbers.isna()]
            if len(odd):
                raise InputError(
                    f"where: column {cells.name!r} must hold numbers to be compared with {value}; "
                    f"{len(odd)} of {int(filled.sum())} cells do not, the first is "
                    f"{odd.iloc[0]!r}. If they stand for missing values: --missing {odd.iloc[0]}."
                )
            mask = _ORDER[kind](numbers, value)
        return np.asarray(mask & filled, dtype=np.bool_)


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _hint(text: str) -> str:
    """Return what a condition of another language is here."""
    bare = _QUOTED.sub("", text)
    if "&&" in bare or "||" in bare:
        return " && and || are written and, or."
    if re.search(r"(?<![=!<>])=(?!=)", bare):
        return " Equal is written ==."
    if "<>" in bare or re.search(r"\b(AND|OR|NOT)\b", bare):
        return " Write and, or, not in small letters, and != for unequal."
    return ""
