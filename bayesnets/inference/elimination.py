"""Variable elimination for many evidence rows in one pass.

Variables are summed out one after the other (Koller and Friedman 2009, section 9.3), in one order
for all rows, found by a greedy search (section 9.4.3). What remains of a part of the network
depends on a row only through the row's evidence in that part, so each message is computed once per
distinct pattern of evidence behind it and shared by all rows with that pattern. Patterns are the
last axis, so that every operation runs along memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesnets.codes import Codes, Floats
from bayesnets.inference.factors import Table

BLOCK = 2**16  # numbers computed at once: half a megabyte stays in the cache
HOPELESS = 2**200  # operations; more than these would overflow a floating-point number


@dataclass(frozen=True)
class Step:
    """The elimination of one variable.

    Parameters
    ----------
    variable : int
        Position of the node.
    scope : tuple of int
        What the message depends on, ascending.
    """

    variable: int
    scope: tuple[int, ...]


@dataclass(frozen=True)
class EliminationPlan:
    """An order of elimination with its cost.

    Parameters
    ----------
    steps : tuple of Step
        In order.
    cost : float
        An upper bound on the numbers computed for all rows together.
    widest : tuple of int
        The variables of the costliest step.
    largest : int
        Numbers in the largest message, per pattern.
    """

    steps: tuple[Step, ...]
    cost: float
    widest: tuple[int, ...]
    largest: int


@dataclass(frozen=True, eq=False)
class _Message:
    scope: tuple[int, ...]
    values: Floats  # (*states of the scope, n_patterns)
    pattern: Codes | None  # (n_rows,); None where all rows share the only one

    @property
    def n_patterns(self) -> int:
        return int(self.values.shape[-1])


def plan(
    tables: Sequence[Table], codes: Codes, targets: Sequence[int], numbers: Sequence[int]
) -> EliminationPlan:
    """Choose the order: always the variable whose step makes the smallest table.

    Parameters
    ----------
    tables : sequence of Table
        From `relevant_tables`.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Observed states.
    targets : sequence of int
        Variables that stay.
    numbers : sequence of int
        States per node.

    Returns
    -------
    Plan
        With its cost for these rows.
    """
    steps = _steps(tables, set(targets), numbers)
    # How many patterns a message can have: at most the product of those behind it, or the rows.
    variety = [np.count_nonzero(np.bincount(column + 1)) for column in codes.T]
    messages: list[tuple[set[int], int]] = [(set(table.scope), 1) for table in tables]
    widest: tuple[int, ...] = ()
    total, largest, costliest = 0.0, 1, -1.0
    for step in steps:
        used = [patterns for scope, patterns in messages if step.variable in scope]
        patterns = min(math.prod(used) * int(variety[step.variable]), len(codes))
        messages = [message for message in messages if step.variable not in message[0]] + [
            (set(step.scope), patterns)
        ]
        cells = math.prod(numbers[member] for member in step.scope)
        cost = float(min(cells * numbers[step.variable] * patterns * len(used), HOPELESS))
        total += cost
        largest = max(largest, cells)
        if cost > costliest:
            costliest, widest = cost, (step.variable, *step.scope)
    return EliminationPlan(tuple(steps), total, widest, largest)


def _steps(tables: Sequence[Table], kept: set[int], numbers: Sequence[int]) -> list[Step]:
    # Greedy, with the product of the neighbours' numbers of states as cost: "min-weight" in Koller
    # and Friedman (2009, section 9.4.3). Ties go to the first node, so that plans do not depend on
    # the order of a set.
    neighbours: dict[int, set[int]] = {}
    for table in tables:
        for variable in table.scope:
            neighbours.setdefault(variable, set()).update(table.scope)
    for variable, others in neighbours.items():
        others.discard(variable)

    def cells(variable: int) -> int:
        return numbers[variable] * math.prod(numbers[other] for other in neighbours[variable])

    size = {variable: cells(variable) for variable in neighbours if variable not in kept}
    steps = []
    while size:
        variable = min(size, key=lambda candidate: (size[candidate], candidate))
        del size[variable]
        scope = neighbours[variable]
        steps.append(Step(variable, tuple(sorted(scope))))
        # Summing out joins all that the variable was joined to, by a fill-in edge.
        for other in scope:
            neighbours[other] = (neighbours[other] | scope) - {other, variable}
        size.update({other: cells(other) for other in scope if other in size})
    return steps


def eliminate(
    order: EliminationPlan,
    tables: Sequence[Table],
    codes: Codes,
    targets: Sequence[int],
    numbers: Sequence[int],
) -> Floats:
    """Return P(targets, evidence) for every row.

    Parameters
    ----------
    order : Plan
        From `plan`, for these tables.
    tables : sequence of Table
        From `relevant_tables`.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Observed states.
    targets : sequence of int
        Variables that stay.
    numbers : sequence of int
        States per node.

    Returns
    -------
    ndarray, shape (n_rows, *states of the targets)
        Joint probabilities.
    """
    messages = [_Message(table.scope, table.values[..., None], None) for table in tables]
    for step in order.steps:
        used = [message for message in messages if step.variable in message.scope]
        messages = [message for message in messages if step.variable not in message.scope]
        messages.append(_sum_out(step, used, codes[:, step.variable], numbers))
    scope = tuple(sorted(targets))
    product = np.ones((*(numbers[target] for target in scope), len(codes)))
    for message in messages:
        product *= _aligned(
            message.scope,
            message.values
            if message.pattern is None
            else message.values.take(message.pattern, axis=-1),
            scope,
        )
    return product.transpose(-1, *(scope.index(target) for target in targets))


def _sum_out(
    step: Step, messages: list[_Message], observed: Codes, numbers: Sequence[int]
) -> _Message:
    """Multiply the messages; sum over the variable, or take its state where it is observed."""
    pattern, rows = _patterns(messages, observed)
    state = observed[rows]
    # Small factors first, so that most products are small.
    ordered = sorted(messages, key=lambda message: message.values.size // message.n_patterns)
    sources = [None if message.pattern is None else message.pattern[rows] for message in ordered]
    # Slicing a message at each state once, not once per block.
    slices = [
        [_at(message, step, value) for message in ordered]
        for value in range(numbers[step.variable])
    ]
    result = np.empty((*(numbers[member] for member in step.scope), len(rows)))
    block = max(64, BLOCK // (result.size // len(rows)))

    def product(value: int, patterns: slice) -> Floats:
        factors = [
            part if source is None else part.take(source[patterns], axis=-1)
            for part, source in zip(slices[value], sources, strict=True)
        ]
        term = factors[0]
        for factor in factors[1:]:
            term = term * factor
        return term

    # Patterns are sorted by the state of the variable, the unobserved ones first.
    bounds = np.searchsorted(state, np.arange(-1, numbers[step.variable] + 1))
    for value in range(-1, numbers[step.variable]):
        for start in range(bounds[value + 1], bounds[value + 2], block):
            patterns = slice(start, min(start + block, bounds[value + 2]))
            if value >= 0:
                result[..., patterns] = product(value, patterns)
                continue
            part = result[..., patterns]
            part[...] = product(0, patterns)
            for unobserved in range(1, numbers[step.variable]):
                part += product(unobserved, patterns)
    return _Message(step.scope, result, pattern)


def _patterns(messages: list[_Message], observed: Codes) -> tuple[Codes, Codes]:
    """Number the distinct pairs of the variable's state and the patterns behind the messages.

    Returns every row's number, and one row for each number.
    """
    key, width = observed + 1, int(observed.max()) + 2
    shared = [
        (message.pattern, message.n_patterns) for message in messages if message.pattern is not None
    ]
    if any(n_patterns == len(observed) for _, n_patterns in shared):
        # Every row is a pattern by itself already: sorting by the state is all that is left.
        rows = np.argsort(key, kind="stable")
        pattern = np.empty_like(rows)
        pattern[rows] = np.arange(len(rows))
        return pattern, rows
    for behind, n_patterns in shared:
        key, width = key * n_patterns + behind, width * n_patterns
        if width > 4 * len(observed) + 1024:  # too wide for a table of flags: renumber in order
            distinct, key = np.unique(key, return_inverse=True)
            width = len(distinct)
    number = np.zeros(width, dtype=np.int64)
    number[key] = 1
    present = np.flatnonzero(number)
    number[present] = np.arange(len(present))
    pattern = number[key]
    rows = np.empty(len(present), dtype=np.int64)
    rows[pattern] = np.arange(len(observed))
    return pattern, rows


def _at(message: _Message, step: Step, value: int) -> Floats:
    axis = message.scope.index(step.variable)
    scope = (*message.scope[:axis], *message.scope[axis + 1 :])
    return _aligned(scope, message.values[(slice(None),) * axis + (value,)], step.scope)


def _aligned(scope: tuple[int, ...], values: Floats, target: tuple[int, ...]) -> Floats:
    """Give the values an axis of length one per variable of the target scope that they lack."""
    length = iter(values.shape[:-1])
    return values.reshape(
        *(next(length) if member in scope else 1 for member in target), values.shape[-1]
    )
