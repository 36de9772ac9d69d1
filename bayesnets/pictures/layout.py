"""Where the nodes of a picture go: layers from causes to effects, few crossings, short arrows.

The steps of Sugiyama, Tagawa and Toda (1981), Methods for Visual Understanding of Hierarchical
System Structures, IEEE Transactions on Systems, Man, and Cybernetics 11: layers by the longest
path, way-points where an arrow passes a layer, order within layers by barycentres, then
coordinates.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import networkx as nx

_SWEEPS, _PULLS = 24, 80
# By how many ends of a piece of an arrow are way-points: long arrows should run straight.
_STRAIGHT = (1.0, 3.0, 12.0)


class Point(NamedTuple):
    """A node, or the way-point of a node's arrows in a layer that they pass."""

    layer: int  # 0 at the top
    name: str  # the node


@dataclass(frozen=True)
class Layout:
    """Places of all points."""

    pieces: "nx.DiGraph"  # of arrows, from a layer to the next one; arrows of one parent share them
    layers: tuple[tuple[Point, ...], ...]  # from top to bottom, each from left to right
    x: Mapping[Point, float]  # centres, in the unit of the widths
    home: Mapping[str, Point]  # the node itself among its points

    def route(self, parent: str, child: str) -> list[Point]:
        """Return the points that an arrow runs through."""
        return _route(self.home, parent, child)

    def is_lane(self, point: Point) -> bool:
        """Tell whether arrows pass there."""
        return self.home[point.name] != point


def _route(home: Mapping[str, Point], parent: str, child: str) -> list[Point]:
    layers = range(home[parent].layer, home[child].layer)
    return [*(Point(layer, parent) for layer in layers), home[child]]


def layered(
    parents: Mapping[str, Sequence[str]],
    widths: Mapping[str, float],
    *,
    gap: float,
    waypoint: float,
) -> Layout:
    """Place the nodes of an acyclic graph, whose causes come before their effects."""
    import networkx as nx

    home = {name: Point(layer, name) for name, layer in _layers(parents).items()}
    pieces = nx.DiGraph()
    pieces.add_nodes_from(home.values())
    for child, its_parents in parents.items():
        for parent in its_parents:
            nx.add_path(pieces, _route(home, parent, child))
    depth = 1 + max(point.layer for point in pieces)
    rows = [[point for point in pieces if point.layer == layer] for layer in range(depth)]
    rows = min(_sweeps(pieces, rows), key=lambda each: _crossings(pieces, each))
    space = {
        point: (widths[point.name] if home[point.name] == point else waypoint) + gap
        for point in pieces
    }
    x = _coordinates(pieces, rows, space, {*pieces} - {*home.values()})
    return Layout(pieces, tuple(map(tuple, rows)), x, home)


def _layers(parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((parent, child) for child, of in parents.items() for parent in of)
    rows = enumerate(nx.topological_generations(graph))
    depth = {name: layer for layer, row in rows for name in row}
    # A cause without causes stands right above its first effect, not at the top: its arrow would
    # pass everything between.
    for name in reversed(list(parents)):
        if graph.in_degree(name) < graph.out_degree(name):
            depth[name] = min(depth[child] for child in graph.successors(name)) - 1
    top = min(depth.values())
    return {name: depth[name] - top for name in parents}


def _sweeps(pieces: "nx.DiGraph", rows: list[list[Point]]) -> Iterator[list[list[Point]]]:
    """Order every row by the barycentres of its neighbours above, then below, and so on."""
    yield rows
    for sweep in range(_SWEEPS):
        rows, upwards = [list(row) for row in rows], sweep % 2 == 1
        neighbours = pieces.succ if upwards else pieces.pred
        for row in reversed(rows) if upwards else rows:
            # As shares of the row, so that rows of unequal length can be compared.
            rank = {point: (at + 0.5) / len(of) for of in rows for at, point in enumerate(of)}
            barycentre = {
                point: np.mean([rank[other] for other in neighbours[point] or (point,)])
                for point in row
            }
            row.sort(key=barycentre.__getitem__)
        yield rows


def _crossings(pieces: "nx.DiGraph", rows: Sequence[Sequence[Point]]) -> int:
    place = {point: at for row in rows for at, point in enumerate(row)}
    total = 0
    for row in rows:
        # Arrows in the order of their upper ends; each pair whose lower ends are the other way
        # round crosses.
        ends = [end for point in row for end in sorted(place[of] for of in pieces.succ[point])]
        total += int(np.triu(np.subtract.outer(ends, ends) > 0).sum()) if ends else 0
    return total


def _coordinates(
    pieces: "nx.DiGraph",
    rows: Sequence[Sequence[Point]],
    space: Mapping[Point, float],
    waypoints: set[Point],
) -> dict[Point, float]:
    from scipy.optimize import isotonic_regression

    x: dict[Point, float] = {}
    offsets = []
    for row in rows:
        half = np.array([space[point] / 2 for point in row])
        offsets.append(np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:])]))
        x.update(zip(row, (offsets[-1] - offsets[-1][-1] / 2).tolist(), strict=True))
    pulls = {
        point: {
            other: _STRAIGHT[(point in waypoints) + (other in waypoints)]
            for other in (*pieces.pred[point], *pieces.succ[point])
        }
        or {point: 1.0}
        for point in pieces
    }
    placed = list(zip(rows, offsets, strict=True))
    for sweep in range(_PULLS):
        for row, offset in placed if sweep % 2 else reversed(placed):
            weights = [sum(pulls[point].values()) for point in row]
            wanted = [
                sum(pull * x[other] for other, pull in pulls[point].items()) / weight
                for point, weight in zip(row, weights, strict=True)
            ]
            # Nearest places with the order and the spaces kept: what is left of each offset may
            # only grow to the right.
            kept = isotonic_regression(np.array(wanted) - offset, weights=weights).x + offset
            x.update(zip(row, kept.tolist(), strict=True))
    left = min(x[point] - space[point] / 2 for point in x)
    return {point: value - left for point, value in x.items()}
