"""Sums over parts of the joint table, for networks with few joint states and many arrows.

The joint table is made once. A row asks for the sum of the entries that agree with its evidence.
Rows are sorted, and the table is walked along its axes: rows that observe a variable go on in the
slice of their state, the others in the table summed over that variable, so that rows that agree so
far share the sums. Where the entries that a group of rows still needs are fewer than the table
holds, they are picked out and added row by row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesnets.codes import Codes, Flags, Floats
from bayesnets.inference.factors import Table

BUFFER = 2**19  # numbers of the tables whose rows are answered together: four megabytes
PICKED = 4  # what picking an entry costs, in additions of neighbouring numbers
MADE = 3  # what an entry of the joint table costs, likewise


@dataclass(frozen=True, eq=False)
class Walk:
    """The rows in the order in which the joint table answers them.

    Parameters
    ----------
    axes : tuple of int
        The variables beside the targets, in the order of the walk.
    numbers : tuple of int
        Their states.
    codes : ndarray of int, shape (n_rows, n_axes)
        Evidence in that order, sorted.
    order : ndarray of int, shape (n_rows,)
        Which row each of them is.
    depth : ndarray of int, shape (n_rows,)
        After how many axes the row's entries are picked.
    cost : float
        Roughly the additions that it takes, the making of the joint table included.
    """

    axes: tuple[int, ...]
    numbers: tuple[int, ...]
    codes: Codes
    order: Codes
    depth: Codes
    cost: float


def joint_states(tables: Sequence[Table], targets: Sequence[int], numbers: Sequence[int]) -> int:
    """Return the number of entries of the joint table.

    Parameters
    ----------
    tables : sequence of Table
        From `relevant_tables`.
    targets : sequence of int
        Variables that are kept.
    numbers : sequence of int
        States per node.

    Returns
    -------
    int
        The product of the states of all variables.
    """
    return math.prod(
        numbers[variable]
        for variable in {*targets, *(member for table in tables for member in table.scope)}
    )


def walk(
    tables: Sequence[Table], codes: Codes, targets: Sequence[int], numbers: Sequence[int]
) -> Walk:
    """Sort the rows, and find where each leaves the walk.

    Parameters
    ----------
    tables : sequence of Table
        From `relevant_tables`.
    codes : ndarray of int, shape (n_rows, n_nodes)
        Observed states, at least one row.
    targets : sequence of int
        Variables that are kept.
    numbers : sequence of int
        States per node.

    Returns
    -------
    Walk
        With its cost.
    """
    others = sorted({member for table in tables for member in table.scope}.difference(targets))

    def growth(variable: int) -> tuple[float, int]:
        observed = codes[:, variable] >= 0
        branches = (not observed.all()) + numbers[variable] * bool(observed.any())
        return branches / numbers[variable], -numbers[variable]

    # The axes along which the walk shrinks the most, or grows the least, come first.
    axes = tuple(sorted(others, key=growth))
    states = tuple(numbers[variable] for variable in axes)
    columns = codes[:, axes]
    key = np.zeros(len(codes), dtype=np.int64)
    for column, number in zip(columns.T, states, strict=True):
        key = key * (number + 1) + column + 1
    order = np.argsort(key, kind="stable")
    columns = columns[order]
    depth, cost = _depths(columns, states)
    kept = math.prod(numbers[target] for target in targets)
    return Walk(axes, states, columns, order, depth, kept * (MADE * math.prod(states) + cost))


def _depths(codes: Codes, numbers: tuple[int, ...]) -> tuple[Codes, float]:
    n_rows, n_axes = codes.shape
    # How many entries a row needs once the axes before this one are dealt with.
    entries = np.ones((n_rows, n_axes + 1))
    entries[:, :n_axes] = np.where(codes < 0, numbers, 1)[:, ::-1].cumprod(axis=1)[:, ::-1]
    # The first axis on which a row differs from the row before it.
    differs = np.full(n_rows, -1, dtype=np.int64)
    unequal = codes[1:] != codes[:-1]
    differs[1:] = (
        np.where(unequal.any(axis=1), unequal.argmax(axis=1), n_axes) if n_axes else n_axes
    )
    depth = np.zeros(n_rows, dtype=np.int64)
    walking = np.arange(n_rows)
    cost = 0.0
    for level in range(n_axes + 1):
        size = math.prod(numbers[level:])
        starts = differs[walking] < level
        starts[0] = True
        group = starts.cumsum() - 1
        needed = np.bincount(group, weights=entries[walking, level])
        # A group whose rows need no more entries than the table holds stops summing and picks.
        picked = (needed <= size) if level < n_axes else np.ones(len(needed), dtype=bool)
        cost += float((~picked).sum()) * size + PICKED * float(needed[picked].sum())
        depth[walking[picked[group]]] = level
        walking = walking[~picked[group]]
        if not walking.size:
            break
    return depth, cost


def sums(
    tables: Sequence[Table], route: Walk, targets: Sequence[int], numbers: Sequence[int]
) -> Floats:
    """Return P(targets, evidence) for every row.

    Parameters
    ----------
    tables : sequence of Table
        From `relevant_tables`.
    route : Walk
        From `walk`, for these tables.
    targets : sequence of int
        Variables that are kept.
    numbers : sequence of int
        States per node.

    Returns
    -------
    ndarray, shape (n_rows, *states of the targets)
        Joint probabilities.
    """
    shape = tuple(numbers[target] for target in targets)
    table = _joint_table(tables, (*targets, *route.axes), numbers).reshape(math.prod(shape), -1)
    result = np.empty((len(table), len(route.order)))
    _Answers(table, route, result).fill()
    back = np.empty_like(result)
    back[:, route.order] = result
    return back.T.reshape(-1, *shape)


def _joint_table(tables: Sequence[Table], axes: Sequence[int], numbers: Sequence[int]) -> Floats:
    """Multiply the tables, the two with the smallest product first, so that few are large."""
    axis_of = {variable: axis for axis, variable in enumerate(axes)}
    factors = []
    for table in tables:
        order = sorted(range(len(table.scope)), key=lambda axis: axis_of[table.scope[axis]])
        shape = [numbers[variable] if variable in table.scope else 1 for variable in axes]
        # Contiguous, because a product takes over the memory order of its factors.
        factors.append(np.array(table.values.transpose(order), order="C").reshape(shape))
    full = tuple(numbers[variable] for variable in axes)
    while len(factors) > 1:
        pairs = (
            (math.prod(map(max, factors[i].shape, factors[j].shape)), i, j)
            for i in range(len(factors))
            for j in range(i)
        )
        _, i, j = min(pairs)
        later, earlier = factors.pop(i), factors.pop(j)
        factors.append(later * earlier)
    return np.ascontiguousarray(np.broadcast_to(factors[0], full))


class _Answers:
    """One walk along the table.

    Tables whose rows are to be answered collect in a buffer and are read together when it is full.
    """

    def __init__(self, table: Floats, route: Walk, result: Floats) -> None:
        self.table, self.codes, self.depth, self.result = table, route.codes, route.depth, result
        self.numbers = np.array(route.numbers, dtype=np.int64)
        self.sizes = [math.prod(route.numbers[level:]) for level in range(len(route.numbers) + 1)]
        self.strides = np.array(self.sizes[1:], dtype=np.int64)
        ahead = np.arange(len(self.numbers)) >= self.depth[:, None]
        self.free: Flags = ahead & (self.codes < 0)
        self.offset = np.where(ahead & ~self.free, self.codes, 0) @ self.strides
        self.buffer = np.empty(
            (len(table), max(BUFFER // len(table), self.sizes[int(self.depth.min())]))
        )
        self.used = 0
        self.waiting: list[tuple[int, int, int]] = []  # first row, end, where in the buffer

    def fill(self) -> None:
        self._visit(self.table, 0, 0, len(self.codes))
        self._answer()

    def _visit(self, table: Floats, level: int, first: int, end: int) -> None:
        if self.depth[first] == level:
            size = self.sizes[level]
            if self.used + size > self.buffer.shape[1]:
                self._answer()
            self.buffer[:, self.used : self.used + size] = table
            self.waiting.append((first, end, self.used))
            self.used += size
            return
        number = int(self.numbers[level])
        slices = table.reshape(len(table), number, -1)
        bounds = first + np.searchsorted(self.codes[first:end, level], np.arange(-1, number + 1))
        if bounds[1] > bounds[0]:
            self._visit(slices.sum(axis=1), level + 1, int(bounds[0]), int(bounds[1]))
        for state in range(number):
            if bounds[state + 2] > bounds[state + 1]:
                self._visit(
                    slices[:, state], level + 1, int(bounds[state + 1]), int(bounds[state + 2])
                )

    def _answer(self) -> None:
        if not self.waiting:
            return
        first, end = self.waiting[0][0], self.waiting[-1][1]
        lengths = [stop - row for row, stop, _ in self.waiting]
        offset = self.offset[first:end] + np.repeat(
            [start for _, _, start in self.waiting], lengths
        )
        free = self.free[first:end]
        for members, states in _alike(free, self.numbers):
            # The free variables of each row, those with the most states first.
            axes = np.where(free[members], -self.numbers, 0).argsort(axis=1, kind="stable")[
                :, : len(states)
            ]
            entries = offset[members, None]
            # One axis at a time: every entry so far, at each state of the next free variable.
            for stride, number in zip(self.strides[axes].T, states, strict=True):
                entries = (
                    entries[:, None, :] + (stride[:, None] * np.arange(number))[:, :, None]
                ).reshape(len(members), -1)
            for plane, values in enumerate(self.buffer):
                self.result[plane, first + members] = values.take(entries).sum(axis=1)
        self.waiting, self.used = [], 0


def _alike(free: Flags, numbers: Codes) -> list[tuple[Codes, list[int]]]:
    """Group the rows whose free variables, whichever they are, have the same numbers of states."""
    distinct = np.unique(numbers)[::-1]
    counts = (
        np.stack([free[:, numbers == number].sum(axis=1) for number in distinct], axis=1)
        if distinct.size
        else np.zeros((len(free), 0), int)
    )
    # Counts are at most the number of axes, so they are digits of one number per row.
    key = counts @ ((len(numbers) + 1) ** np.arange(len(distinct), dtype=np.int64))
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    return [(members, np.repeat(distinct, counts[members[0]]).tolist()) for members in groups]
