"""Where the nodes of a picture go: layers from causes to effects, few crossings, short arrows.

The steps of Sugiyama, Tagawa and Toda (1981), Methods for Visual Understanding of Hierarchical
System Structures, IEEE Transactions on Systems, Man, and Cybernetics 11: layers by the longest
path, way-points where an arrow passes a layer, order within layers by barycentres, then
coordinates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_SWEEPS, _PULLS = 24, 80
# By how many ends of a piece of an arrow are way-points: long arrows should run straight.
_STRAIGHT = (1.0, 3.0, 12.0)


@dataclass(frozen=True)
class Point:
    """A node, or the way-point of a node's arrows in a layer that they pass."""

    name: str  # the node
    layer: int  # 0 at the top


@dataclass(frozen=True)
class Layout:
    """Places of all points."""

    layers: tuple[tuple[Point, ...], ...]  # from top to bottom, each from left to right
    x: Mapping[Point, float]  # centres, in the unit of the widths
    home: Mapping[str, Point]  # the node itself among its points

    def route(self, parent: str, child: str) -> list[Point]:
        """Return the points that an arrow runs through."""
        first, last = self.home[parent], self.home[child]
        return [
            first,
            *(Point(parent, layer) for layer in range(first.layer + 1, last.layer)),
            last,
        ]


def layered(
    parents: Mapping[str, Sequence[str]],
    widths: Mapping[str, float],
    *,
    gap: float,
    waypoint: float,
) -> Layout:
    """Place the nodes of an acyclic graph."""
    depth = _layers(parents)
    home = {name: Point(name, layer) for name, layer in depth.items()}
    rows: list[list[Point]] = [[] for _ in range(max(depth.values()) + 1)]
    edges: set[tuple[Point, Point]] = set()
    layout = Layout((), {}, home)
    for child, its_parents in parents.items():
        for parent in its_parents:
            route = layout.route(parent, child)
            edges.update(pairwise(route))
    points = dict.fromkeys(
        [*home.values(), *(point for edge in sorted(edges, key=_key) for point in edge)]
    )
    for point in points:
        rows[point.layer].append(point)
    above: dict[Point, list[Point]] = {point: [] for point in points}
    below: dict[Point, list[Point]] = {point: [] for point in points}
    for upper, lower in sorted(edges, key=_key):
        above[lower].append(upper)
        below[upper].append(lower)
    rows = _ordered(rows, above, below)
    space = {
        point: (widths[point.name] if home[point.name] == point else waypoint) + gap
        for point in points
    }
    return Layout(
        tuple(map(tuple, rows)),
        _coordinates(rows, above, below, space, set(points) - set(home.values())),
        home,
    )


def _key(edge: tuple[Point, Point]) -> tuple[int, str, str]:
    return edge[0].layer, edge[0].name, edge[1].name


def _layers(parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for name, its_parents in parents.items():
        depth[name] = 1 + max((depth[parent] for parent in its_parents), default=-1)
    # A cause without causes stands right above its first effect, not at the top: its arrow would
    # pass everything between.
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, its_parents in parents.items():
        for parent in its_parents:
            children[parent].append(name)
    for name in reversed(list(parents)):
        if children[name] and len(parents[name]) < len(children[name]):
            depth[name] = min(depth[child] for child in children[name]) - 1
    top = min(depth.values())
    return {name: layer - top for name, layer in depth.items()}


def _ordered(
    rows: list[list[Point]], above: Mapping[Point, list[Point]], below: Mapping[Point, list[Point]]
) -> list[list[Point]]:
    """Return the rows in the order with the fewest crossings among the sweeps."""
    rows = [list(row) for row in rows]
    best, fewest = rows, _crossings(rows, below)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            neighbours = above if downwards else below
            rank = _ranks(rows)
            barycentre = {
                point: np.mean([rank[other] for other in neighbours[point]])
                if neighbours[point]
                else (rank[point] + 0.5) / len(row)
                for point in row
            }
            row.sort(key=barycentre.__getitem__)
        rows = _transposed(rows, above, below)
        now = _crossings(rows, below)
        if now < fewest:
            best, fewest = [list(row) for row in rows], now
    return best


def _ranks(rows: Sequence[Sequence[Point]]) -> dict[Point, float]:
    # As shares of the row, so that rows of unequal length can be compared.
    return {
        point: (position + 0.5) / len(row) for row in rows for position, point in enumerate(row)
    }


def _transposed(
    rows: list[list[Point]], above: Mapping[Point, list[Point]], below: Mapping[Point, list[Point]]
) -> list[list[Point]]:
    """Exchange neighbours wherever that saves a crossing."""
    position = {point: column for row in rows for column, point in enumerate(row)}
    for row in rows:
        for left in range(len(row) - 1):
            first, second = row[left], row[left + 1]
            sides = [
                (
                    [position[other] for other in side[first]],
                    [position[other] for other in side[second]],
                )
                for side in (above, below)
            ]
            now = sum(a > b for ours, theirs in sides for a in ours for b in theirs)
            then = sum(b > a for ours, theirs in sides for a in ours for b in theirs)
            if then < now:
                row[left], row[left + 1] = second, first
                position[first], position[second] = left + 1, left
    return rows


def _crossings(rows: Sequence[Sequence[Point]], below: Mapping[Point, list[Point]]) -> int:
    position = {point: column for row in rows for column, point in enumerate(row)}
    total = 0
    for row in rows[:-1]:
        # Arrows in the order of their upper ends; each pair whose lower ends are the other way
        # round crosses.
        ends = [end for point in row for end in sorted(position[lower] for lower in below[point])]
        total += sum(
            later < earlier for index, earlier in enumerate(ends) for later in ends[index + 1 :]
        )
    return total


def _coordinates(
    rows: Sequence[Sequence[Point]],
    above: Mapping[Point, list[Point]],
    below: Mapping[Point, list[Point]],
    space: Mapping[Point, float],
    waypoints: set[Point],
) -> dict[Point, float]:
    from scipy.optimize import isotonic_regression

    x: dict[Point, float] = {}
    offsets = []
    for row in rows:
        half = np.array([space[point] / 2 for point in row])
        offset = np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:])])
        offsets.append(offset)
        x.update(zip(row, (offset - offset[-1] / 2).tolist(), strict=True))
    for sweep in range(_PULLS):
        for row, offset in (
            zip(rows, offsets, strict=True)
            if sweep % 2
            else reversed(list(zip(rows, offsets, strict=True)))
        ):
            wanted, weights = [], []
            for point in row:
                neighbours = above[point] + below[point]
                pulls = [
                    _STRAIGHT[(point in waypoints) + (other in waypoints)] for other in neighbours
                ]
                wanted.append(
                    float(np.average([x[other] for other in neighbours], weights=pulls))
                    if neighbours
                    else x[point]
                )
                weights.append(sum(pulls) or 1.0)
            # Nearest places with the order and the spaces kept: what is left of each offset may
            # only grow to the right.
            kept = isotonic_regression(np.array(wanted) - offset, weights=weights).x + offset
            x.update(zip(row, kept.tolist(), strict=True))
    left = min(x[point] - space[point] / 2 for point in x)
    return {point: value - left for point, value in x.items()}
