"""Probabilities of many token sequences after a text, which is read once for all of them.

Both functions walk a tree of sequences from its root, level by level, and read the logits after
every node that they need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import heapify, heappop, heappush

import numpy as np
import torch
from numpy.typing import NDArray

from coherence.errors import CoherenceError
from elicitation.models.local.forward import ROOT, Trees, require_numbers
from elicitation.spelling.tokenizations import SpellingGraph

Floats = NDArray[np.float64]
Tokens = tuple[int, ...]
Ranges = tuple[tuple[int, int], ...]
# Most logits held at a time, in numbers.
_LOGITS = 1 << 26
# Nodes that the trees of a portion may have, with two kilobytes each.
_MOST_NODES = 1 << 21


def continuation_logprobs(
    trees: Trees, continuations: Sequence[Sequence[Sequence[int]]]
) -> list[Floats]:
    """Score token sequences after the texts of trees that have not grown yet."""
    # log p(t1..tn) = sum_k log p(tk | t1..tk-1). The last token of a path is never fed, only read
    # off the logits after its parent: whatever leads on is an inner node.
    # Inner nodes of every tree, shorter paths first: a parent has its number before its children.
    numbers: list[dict[Tokens, int]] = []
    # What is to be read after every node: the paths that are one token longer.
    pending: list[dict[int, list[Tokens]]] = []
    for endings in continuations:
        paths = {tuple(tokens[:end]) for tokens in endings for end in range(1, len(tokens) + 1)}
        inner = {path[:-1] for path in paths} - {()}
        ordered = sorted(inner, key=lambda path: (len(path), path))
        numbers.append({path: k for k, path in enumerate(ordered)})
        pending.append({})
        for path in paths:
            pending[-1].setdefault(numbers[-1].get(path[:-1], ROOT), []).append(path)
    steps: list[dict[Tokens, float]] = [{} for _ in continuations]

    def read(logits: torch.Tensor, first: int) -> None:
        """Note the log-probability of every last token of a path after nodes `first` and on."""
        wanted = [
            (row, k, path)
            for row, paths_after in enumerate(pending)
            for k in range(logits.shape[1])
            for path in paths_after.get(first + k, ())
        ]
        if not wanted:
            return
        index = torch.tensor([(row, k, path[-1]) for row, k, path in wanted]).to(logits.device).T
        # The normaliser in single precision and the difference in double: a whole vocabulary in
        # double would take twice the memory.
        logits = logits.float()
        normaliser = logits.logsumexp(-1).double()[tuple(index[:2])]
        require_numbers(normaliser)
        values = (logits[tuple(index)].double() - normaliser).tolist()
        for (row, _, path), value in zip(wanted, values, strict=True):
            steps[row][path] = value

    read(trees.roots[:, None], ROOT)
    nodes = [[(tree.get(path[:-1], ROOT), path[-1]) for path in tree] for tree in numbers]
    portion = max(1, _LOGITS // trees.roots.numel())
    for first in range(0, max(map(len, nodes)), portion):
        read(trees.grow([added[first : first + portion] for added in nodes]), first)
    scores = []
    for step, endings in zip(steps, continuations, strict=True):
        beginnings = ([tuple(each[:end]) for end in range(1, len(each) + 1)] for each in endings)
        scores.append(np.array([sum(map(step.__getitem__, paths)) for paths in beginnings]))
    return scores


@dataclass(frozen=True)
class _Node:
    state: int
    mass: float
    number: int  # of its parent while it is a child, its own once it has grown
    tokens: Tokens


def spelling_masses(
    trees: Trees,
    graph: SpellingGraph,
    order: NDArray[np.int64],
    *,
    n_spellings: int,
    tolerance: float,
    tolerance_for: Callable[[Floats], float] | None = None,
    alike_share: float = 0.0,
    grown: Callable[[int], None] = lambda n_nodes: None,
) -> tuple[Floats, Floats]:
    """Add up the probability of spellings over all their token sequences; see `ReadsForms`.

    `grown` is called with the number of sequences of a text that were read so far.
    """
    tolerances = [tolerance] * len(trees.roots)
    reading = _MassReader(trees, graph, order, n_spellings)
    # Nodes that have not grown: what they may still add is no more than their own probability.
    waiting = reading.read(trees.roots[:, None], [[_Node(0, 1.0, ROOT, ())] for _ in trees.roots])
    # A level is one forward pass, or several where its logits would not fit.
    n_grown, portion = 0, max(1, _LOGITS // trees.roots.numel())
    while True:
        for row, nodes in enumerate(waiting):
            if tolerance_for is not None and sum(node.mass for node in nodes) <= tolerances[row]:
                tolerances[row] = min(tolerances[row], tolerance_for(reading.masses[row]))
        level = [
            reading.to_grow(row, nodes, tolerances[row], alike_share)
            for row, nodes in enumerate(waiting)
        ]
        if not any(level):
            if alike_share:
                for row, nodes in enumerate(waiting):
                    reading.add_alike(row, nodes)
            # The smallest first, so that the sum does not depend on the order in which they came.
            left = [float(sum(sorted(node.mass for node in nodes))) for nodes in waiting]
            return reading.masses, np.array(left)
        for row, nodes in enumerate(level):
            growing_now = set(nodes)
            waiting[row] = [node for node in waiting[row] if node not in growing_now]
        for first in range(0, max(map(len, level)), portion):
            # Trees are cut alike, so that the numbers of their nodes keep pace.
            growing = [
                _with_next(
                    nodes[first : first + portion], graph, n_grown, trees.ahead, tolerances[row]
                )
                for row, nodes in enumerate(level)
            ]
            logits = trees.grow(
                [[(node.number, node.tokens[-1]) for node in nodes] for nodes in growing]
            )
            numbered = [
                [replace(node, number=n_grown + k) for k, node in enumerate(nodes)]
                for nodes in growing
            ]
            n_grown += logits.shape[1]
            grown(n_grown)
            if n_grown * len(waiting) > _MOST_NODES:
                if len(waiting) > 1:  # a smaller portion may have room
                    raise MemoryError
                raise CoherenceError(
                    f"the answers in this form are spread over more than {_MOST_NODES:,} token "
                    "sequences, as where a tokenizer writes one text in many ways, and are not "
                    "read. Have them drawn (--answers drawn)."
                )
            for nodes, children in zip(waiting, reading.read(logits, numbered), strict=True):
                nodes += children


class _MassReader:
    """What the logits after nodes say about spellings, added up; see `spelling_masses`."""

    def __init__(
        self,
        trees: Trees,
        graph: SpellingGraph,
        order: NDArray[np.int64],
        n_spellings: int,
    ) -> None:
        n_texts, self.vocabulary_size = trees.roots.shape
        self.masses = np.zeros((n_texts, n_spellings))
        # for every text the nodes that were read, each with the masses that are decided after it
        self.nodes: list[list[tuple[_Node, NDArray[np.int64], Floats]]] = [
            [] for _ in range(n_texts)
        ]
        self.graph = graph
        self.tables: dict[int, _Table] = {}
        self.sets = _TokenSets(order, trees.roots.device)

    def read(self, logits: torch.Tensor, level: list[list[_Node]]) -> list[list[_Node]]:
        """Add what is decided after the nodes of a level to `masses`; return what is still open."""
        children: list[dict[Tokens, _Node]] = [{} for _ in level]
        at_nodes = [
            (row, k, node) for row, nodes in enumerate(level) for k, node in enumerate(nodes)
        ]
        # Copies in the precision of the sums lie side by side here: a part of the rows at a time.
        step = max(1, _LOGITS // (4 * self.vocabulary_size))
        for start in range(0, len(at_nodes), step):
            portion = at_nodes[start : start + step]
            tables = [self._table(node.state) for *_, node in portion]
            index = torch.tensor([(row, k) for row, k, _ in portion], device=logits.device).T
            values = logits[tuple(index)]
            values = values if values.dtype == torch.float64 else values.float()
            normaliser = values.logsumexp(-1).double()
            require_numbers(normaliser)
            decided = self.sets.sums(values, normaliser, [table.ranges for table in tables])
            further = _take(values, normaliser, [table.tokens for table in tables])
            for (row, _, node), table, sums, onward in zip(
                portion, tables, decided, further, strict=True
            ):
                # The mass of a node that grew together with its parent is known only now.
                node = replace(node, mass=children[row].pop(node.tokens, node).mass)
                masses = sums[table.which] * node.mass
                self.masses[row, table.spelling] += masses
                self.nodes[row].append((node, table.spelling, masses))
                steps = self.graph.steps[node.state]
                for (token, target), mass in zip(steps, (onward * node.mass).tolist(), strict=True):
                    tokens = *node.tokens, token
                    children[row][tokens] = _Node(target, mass, node.number, tokens)
        return [list(nodes.values()) for nodes in children]

    def _table(self, state: int) -> "_Table":
        # Of thousands of states few are reached with a probability that counts.
        if state not in self.tables:
            self.tables[state] = _Table.of(self.graph, state)
        return self.tables[state]

    def to_grow(
        self, row: int, nodes: list[_Node], tolerance: float, alike_share: float
    ) -> list[_Node]:
        """Choose which nodes grow next; others of their kind may stand for some."""
        limit = alike_share * float(self.masses[row].sum())
        if limit <= tolerance:
            return _to_grow(nodes, tolerance)
        kinds = {self.graph.kinds[node.state] for node, *_ in self.nodes[row]}
        alone: list[_Node] = []
        alike: list[_Node] = []
        for node in sorted(nodes, key=lambda node: (-node.mass, node.tokens)):
            kind = self.graph.kinds[node.state]
            (alike if kind in kinds else alone).append(node)
            kinds.add(kind)
        return sorted(
            _to_grow(alone, tolerance) + _to_grow(alike, limit), key=lambda node: node.tokens
        )

    def add_alike(self, row: int, waiting: list[_Node]) -> None:
        """Have nodes that were not read go on as the most probable one of their kind that was."""
        read = {node.tokens: (spelling, masses) for node, spelling, masses in self.nodes[row]}
        most: dict[int, _Node] = {}
        children: dict[Tokens, list[_Node]] = {}
        for node, *_ in self.nodes[row]:
            kind = self.graph.kinds[node.state]
            most[kind] = max(most.get(kind, node), node, key=lambda node: node.mass)
        for node in [*(node for node, *_ in self.nodes[row]), *waiting]:
            if node.tokens:
                children.setdefault(node.tokens[:-1], []).append(node)

        @cache
        def below(node: _Node) -> Floats:
            total = np.zeros(self.masses.shape[1])
            if node.tokens in read:
                spelling, masses = read[node.tokens]
                total[spelling] += masses
                # Of other kinds, as less of every spelling is missing there: this comes to an end.
                return sum((below(child) for child in children.get(node.tokens, ())), start=total)
            like = most.get(self.graph.kinds[node.state])
            return total if like is None or not like.mass else below(like) * (node.mass / like.mass)

        self.masses[row] = below(self.nodes[row][0][0])


class _TokenSets:
    """Sums of probabilities over sets of tokens, which many states share; see `_Table.ranges`."""

    def __init__(self, order: NDArray[np.int64], device: torch.device) -> None:
        self.order, self.device = order, device
        self.members: dict[Ranges, tuple[torch.Tensor, bool]] = {}

    def sums(
        self, values: torch.Tensor, normaliser: torch.Tensor, wanted: Sequence[tuple[Ranges, ...]]
    ) -> list[Floats]:
        """Return for every row of logits the probabilities of the sets that are wanted there."""
        rows_of: dict[Ranges, list[int]] = {}
        for row, sets in enumerate(wanted):
            for ranges in sets:
                rows_of.setdefault(ranges, []).append(row)
        sums, counted = [], []
        for ranges, rows in rows_of.items():
            ids, complement = self._members_of(ranges)
            at = torch.tensor(rows, device=self.device)
            # All but a few tokens: those few are added up, and the rest is what they leave.
            share = (values[at[:, None], ids].double() - normaliser[at, None]).exp().sum(-1)
            sums.append((1 - share).clamp(min=0) if complement else share)
            counted += [(row, ranges) for row in rows]
        # One transfer from the device for all of them.
        listed = torch.cat(sums).tolist() if sums else []
        share_of = dict(zip(counted, listed, strict=True))
        return [
            np.array([share_of[row, ranges] for ranges in sets], dtype=np.float64)
            for row, sets in enumerate(wanted)
        ]

    def _members_of(self, ranges: Ranges) -> tuple[torch.Tensor, bool]:
        if ranges not in self.members:
            inside = np.zeros(len(self.order), dtype=bool)
            for start, stop in ranges:
                inside[start:stop] = True
            complement = bool(2 * inside.sum() > len(inside))
            ids = self.order[~inside if complement else inside]
            self.members[ranges] = torch.from_numpy(ids).to(self.device), complement
        return self.members[ranges]


@dataclass(frozen=True, eq=False)
class _Table:
    """What the tokens do at one state, as arrays: see `SpellingGraph`.

    `ranges` holds sets of tokens as ranges of places in the vocabulary; those of the set at
    position ``which[i]`` decide in favour of ``spelling[i]``.
    """

    spelling: NDArray[np.int64]
    which: NDArray[np.int64]
    ranges: tuple[Ranges, ...]
    tokens: NDArray[np.int64]  # that keep it open

    @classmethod
    def of(cls, graph: SpellingGraph, state: int) -> "_Table":
        of_spelling: dict[int, list[tuple[int, int]]] = {}
        for spelling, start, stop in graph.deciding[state]:
            of_spelling.setdefault(spelling, []).append((start, stop))
        sets = {spelling: tuple(ranges) for spelling, ranges in of_spelling.items()}
        position = {ranges: k for k, ranges in enumerate(dict.fromkeys(sets.values()))}
        return cls(
            np.array(list(sets), dtype=np.int64),
            np.array([position[ranges] for ranges in sets.values()], dtype=np.int64),
            tuple(position),
            np.array([token for token, _ in graph.steps[state]], dtype=np.int64),
        )


def _take(
    values: torch.Tensor, normaliser: torch.Tensor, columns: Sequence[NDArray[np.int64]]
) -> list[Floats]:
    """Read the probabilities of some tokens in every row, in one transfer from the device."""
    counts = [len(columns_of_row) for columns_of_row in columns]
    row = torch.from_numpy(np.repeat(np.arange(len(columns)), counts)).to(values.device)
    column = torch.from_numpy(np.concatenate(columns)).to(values.device)
    read = (values[row, column].double() - normaliser[row]).exp()
    return np.split(read.cpu().numpy(), np.cumsum(counts)[:-1])


def _with_next(
    nodes: list[_Node], graph: SpellingGraph, first: int, n_more: int, tolerance: float
) -> list[_Node]:
    """Return nodes and behind them, up to so many, those that will most probably grow next.

    They grow in the same pass, before their probability is known: as if all steps were alike. The
    first of the nodes will have the number `first`.
    """
    grown = list(nodes)

    def entry(k: int) -> tuple[float, int]:
        return -grown[k].mass / max(1, len(graph.steps[grown[k].state])), k

    likely = [entry(k) for k in range(len(nodes))]
    heapify(likely)
    while likely and -likely[0][0] > tolerance:
        mass, k = heappop(likely)
        node, steps = grown[k], graph.steps[grown[k].state]
        if len(grown) + len(steps) > len(nodes) + n_more:
            continue
        for token, state in steps:
            grown.append(_Node(state, -mass, first + k, (*node.tokens, token)))
            heappush(likely, entry(len(grown) - 1))
    return grown


def _to_grow(nodes: list[_Node], tolerance: float) -> list[_Node]:
    """Choose which nodes grow next: the most probable, none if all may be given up.

    The others wait, and are given up if at the end all that wait sum to the tolerance at most.
    Nothing is given up level by level: what a level may lose would shrink with every one below it,
    and a long spelling would be followed in all its tokens, however improbable.
    """
    ordered = sorted(nodes, key=lambda node: (node.mass, node.tokens))
    sums = np.cumsum([node.mass for node in ordered])
    if not nodes or sums[-1] <= tolerance:
        return []
    # Half of it for those that wait: with all of it, every pass would end in a nearly equal one.
    n_waiting = int(np.searchsorted(sums, tolerance / 2, side="right"))
    return sorted(ordered[n_waiting:], key=lambda node: node.tokens)
