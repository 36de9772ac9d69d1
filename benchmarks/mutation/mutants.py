"""Small changes of a module that its tests ought to notice, each made in the syntax tree.

What can be told by rule to break no promise is never touched: annotations, texts (messages and
docstrings), what a `raise` holds, `__all__`, decorators, arguments that only guard or save time,
and whether a margin for rounding is itself within the margin.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NEGATED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
# They guard against a mistake of the caller, or save time and memory: the same comes out without.
HARMLESS = {
    "strict",
    "optimize",
    "dtype",
    "n_jobs",
    "thread_count",
    "stacklevel",
    "encoding",
    "out",
    "copy",
}
UNTOUCHED = {"annotation", "returns", "decorator_list", "bases", "type_params", "ctx"}
LARGE = 100  # whole numbers from here on are sizes, not positions: one more is the same size
TINY = 1e-5  # below are margins for rounding: twice a margin is the same margin, none is not
TYPES = {"int", "str", "float", "bool", "object"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Parameters
    ----------
    line : int
        Where it is in the module, as that stands.
    operator : str
        Kind of change.
    before, after : str
        First line of the expression or statement that changes.
    source : str
        The changed module.
    """

    line: int
    operator: str
    before: str
    after: str
    source: str


@dataclass(frozen=True)
class _Slot:
    """Where a node hangs in the tree: a field of its parent, and a position if that is a list."""

    parent: ast.AST
    field: str
    position: int | None

    def node(self) -> ast.AST:
        value = getattr(self.parent, self.field)
        return value if self.position is None else value[self.position]

    def put(self, node: ast.AST) -> None:
        if self.position is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.position] = node


def _fixed(node: ast.AST) -> bool:
    """Whether nothing within a node may change."""
    if isinstance(node, ast.keyword):
        return node.arg in HARMLESS
    if isinstance(node, ast.Assign):
        return any(getattr(target, "id", "") == "__all__" for target in node.targets)
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _slots(parent: ast.AST) -> Iterator[_Slot]:
    """Places of a tree that may change, in the order of the text."""
    for field, value in ast.iter_fields(parent):
        if field in UNTOUCHED:
            continue
        for position, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(node, ast.AST) and not _fixed(node):
                yield _Slot(parent, field, position)
                yield from _slots(node)


def _is_type(node: ast.expr) -> bool:
    """Whether a union with this side is one of types (``int | None``) and not of masks."""
    if isinstance(node, ast.Constant):
        return node.value is None
    return (isinstance(node, ast.Name) and node.id in TYPES) or isinstance(node, ast.Attribute)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def _constants(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, bool):
        yield "constant", not value
    elif isinstance(value, int) and value >= LARGE:
        yield "constant", value * 2
    elif isinstance(value, int):
        yield from (("off by one", value + 1), ("off by one", value - 1))
    elif isinstance(value, float):
        yield "constant", 1.0 if value == 0 else 0.0 if abs(value) < TINY else value * 2


def _has_margin(node: ast.AST) -> bool:
    numbers = (getattr(part, "value", None) for part in ast.walk(node))
    return any(isinstance(number, float) and 0 < number < TINY for number in numbers)


def _calculations(node: ast.BinOp | ast.AugAssign) -> Iterator[tuple[str, ast.AST]]:
    changed = copy.copy(node)
    changed.op = ARITHMETIC.get(type(node.op), type(node.op))()
    if isinstance(node, ast.AugAssign):
        yield "assignment", ast.Assign([node.target], node.value)
        yield "arithmetic", changed
        return
    sides = (node.left, node.right)
    of_types = isinstance(node.op, ast.BitOr) and any(map(_is_type, sides))
    if not of_types and not any(map(_is_text, sides)) and type(node.op) in ARITHMETIC:
        yield "arithmetic", changed


def _conditions(node: ast.If | ast.While | ast.IfExp) -> Iterator[tuple[str, ast.AST]]:
    test = node.test
    # These are negated already, where the comparison or the `not` itself is changed.
    if not (
        (isinstance(test, ast.Compare) and isinstance(test.ops[0], NEGATED))
        or isinstance(test, ast.UnaryOp)
    ):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), test)
        yield "condition", changed


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every change of one node: its kind, and the node that takes the place."""
    match node:
        case ast.Compare():
            for position, operator in enumerate(node.ops):
                if _has_margin(node) and not isinstance(operator, NEGATED):
                    continue
                operators = list(node.ops)
                operators[position] = COMPARISONS[type(operator)]()
                yield "comparison", ast.Compare(node.left, operators, node.comparators)
        case ast.BinOp() | ast.AugAssign():
            yield from _calculations(node)
        case ast.UnaryOp():
            yield ("boolean" if isinstance(node.op, ast.Not) else "arithmetic"), node.operand
        case ast.Constant():
            yield from ((kind, ast.Constant(value)) for kind, value in _constants(node.value))
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", ast.BoolOp(other, node.values)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return", ast.Return(ast.Constant(None))
        case ast.Call():
            for keyword in node.keywords:
                if keyword.arg is not None and keyword.arg not in HARMLESS:
                    rest = [other for other in node.keywords if other is not keyword]
                    yield "argument removed", ast.Call(node.func, node.args, rest)
        case ast.If() | ast.While() | ast.IfExp():
            yield from _conditions(node)


def _first_line(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def sample_mutants(source: str, size: int, seed: str) -> list[Mutant]:
    """Draw mutants of a module.

    Parameters
    ----------
    source : str
        Text of the module.
    size : int
        How many; all if there are fewer.
    seed : str
        Equal seeds draw equal mutants of equal modules.

    Returns
    -------
    list of Mutant
        In the order of the text.
    """
    tree = ast.parse(source)
    drawn: list[tuple[str, int, _Slot, str, str, str, ast.AST]] = []
    seen: Counter[str] = Counter()
    for slot in _slots(tree):
        node = slot.node()
        for operator, replacement in _changes(node):
            before, after = _first_line(node), _first_line(ast.copy_location(replacement, node))
            change = f"{seed} {operator} {before} {after}"
            seen[change] += 1
            # Drawn by what changes and not by a position in the list, so that an edit elsewhere
            # in the module leaves the sample as it was.
            lot = hashlib.sha256(f"{change} {seen[change]}".encode()).hexdigest()
            drawn.append((lot, len(drawn), slot, operator, before, after, replacement))
    chosen = sorted(sorted(drawn, key=itemgetter(0))[:size], key=itemgetter(1))
    mutants = []
    for _, _, slot, operator, before, after, replacement in chosen:
        node = slot.node()
        slot.put(replacement)
        changed = ast.unparse(ast.fix_missing_locations(tree))
        slot.put(node)
        mutants.append(Mutant(node.lineno, operator, before, after, changed))
    return mutants
