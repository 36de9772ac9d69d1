"""Probabilities of many token sequences after a text, which is read once for all of them.

Both functions walk a tree of sequences from its root, level by level, and read the logits after
every node that they need.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from elicitation.models.local.trees import ROOT, Trees
from elicitation.spelling.tokenizations import Part, SpellingGraph

Floats = NDArray[np.float64]
Tokens = tuple[int, ...]
# Most logits held at a time, in numbers.
_LOGITS = 1 << 26


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
        values = (logits[tuple(index)].double() - normaliser).tolist()
        for (row, _, path), value in zip(wanted, values, strict=True):
            steps[row][path] = value

    read(trees.roots[:, None], ROOT)
    nodes = [[(tree.get(path[:-1], ROOT), path[-1]) for path in tree] for tree in numbers]
    portion = max(1, _LOGITS // trees.roots.numel())
    for first in range(0, max(map(len, nodes)), portion):
        read(trees.grow([added[first : first + portion] for added in nodes]), first)
    return [
        np.array(
            [
                sum(step[tuple(tokens[:end])] for end in range(1, len(tokens) + 1))
                for tokens in endings
            ]
        )
        for step, endings in zip(steps, continuations, strict=True)
    ]


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
    parts: list[Part] | None = None,
) -> tuple[Floats, Floats]:
    """Add up the probability of spellings over all their token sequences."""
    reading = _Reading(trees, graph, order, n_spellings, parts)
    # Nodes that have not grown: what they may still add is no more than their own probability.
    waiting = reading.read(trees.roots[:, None], [[_Node(0, 1.0, ROOT, ())] for _ in trees.roots])
    # A level is one forward pass, or several where its logits would not fit.
    n_grown, portion = 0, max(1, _LOGITS // trees.roots.numel())
    while True:
        level = [_to_grow(nodes, tolerance) for nodes in waiting]
        if not any(level):
            return reading.masses, np.array([_sum_of(nodes) for nodes in waiting])
        for row, nodes in enumerate(level):
            growing_now = set(nodes)
            waiting[row] = [node for node in waiting[row] if node not in growing_now]
        for first in range(0, max(map(len, level)), portion):
            # Trees are cut alike, so that the numbers of their nodes keep pace.
            growing = [nodes[first : first + portion] for nodes in level]
            logits = trees.grow(
                [[(node.number, node.tokens[-1]) for node in nodes] for nodes in growing]
            )
            numbered = [
                [replace(node, number=n_grown + k) for k, node in enumerate(nodes)]
                for nodes in growing
            ]
            n_grown += logits.shape[1]
            for nodes, children in zip(waiting, reading.read(logits, numbered), strict=True):
                nodes += children


class _Reading:
    """What the logits after nodes say about spellings, added up; see `spelling_masses`."""

    def __init__(
        self,
        trees: Trees,
        graph: SpellingGraph,
        order: NDArray[np.int64],
        n_spellings: int,
        parts: list[Part] | None,
    ) -> None:
        n_texts, self.vocabulary_size = trees.roots.shape
        self.masses = np.zeros((n_texts, n_spellings))
        self.parts, self.graph = parts, graph
        self.order = torch.from_numpy(order).to(trees.roots.device)
        # Of thousands of states few are reached with a probability that counts.
        self.tables: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def read(self, logits: torch.Tensor, level: list[list[_Node]]) -> list[list[_Node]]:
        """Add what is decided after the nodes of a level to `masses`; return what is still open."""
        children: list[list[_Node]] = [[] for _ in level]
        at_nodes = [
            (row, k, node) for row, nodes in enumerate(level) for k, node in enumerate(nodes)
        ]
        # Copies in the precision of the sums lie side by side here: a part of the rows at a time.
        step = max(1, _LOGITS // (4 * self.vocabulary_size))
        for first in range(0, len(at_nodes), step):
            portion = at_nodes[first : first + step]
            deciding, steps = zip(*(self._table(node.state) for *_, node in portion), strict=True)
            index = torch.tensor([(row, k) for row, k, _ in portion], device=logits.device).T
            values = logits[tuple(index)]
            shares = (values if values.dtype == torch.float64 else values.float()).softmax(-1)
            # Tokens that begin alike lie side by side in this order, so that the sum over a range
            # of them is a difference; in double precision, for a small one must not drown.
            sums = shares[:, self.order].cumsum(-1, dtype=torch.float64)
            below = _take(sums, [(start - 1).clip(min=0) for _, start, _ in deciding])
            above = _take(sums, [stop - 1 for *_, stop in deciding])
            further = _take(shares, [token for token, _ in steps])
            for (row, _, node), (spelling, start, _), low, high, (token, target), onward in zip(
                portion, deciding, below, above, steps, further, strict=True
            ):
                # Several ranges of tokens may decide in favour of one spelling.
                decided = (high - np.where(start > 0, low, 0)).clip(min=0) * node.mass
                masses = np.bincount(spelling, decided, minlength=self.masses.shape[1])
                self.masses[row] += masses
                if self.parts is not None:
                    self.parts += [
                        Part(row, k, node.tokens, float(masses[k]))
                        for k in dict.fromkeys(spelling.tolist())
                    ]
                children[row] += [
                    _Node(state, mass, node.number, (*node.tokens, last))
                    for last, state, mass in zip(
                        token.tolist(), target.tolist(), (onward * node.mass).tolist(), strict=True
                    )
                ]
        return children

    def _table(self, state: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what the tokens do at a state, in columns: see `SpellingGraph`."""
        if state not in self.tables:
            self.tables[state] = (
                np.array(self.graph.deciding[state], dtype=np.int64).reshape(-1, 3).T,
                np.array(self.graph.steps[state], dtype=np.int64).reshape(-1, 2).T,
            )
        return self.tables[state]


def _take(values: torch.Tensor, columns: Sequence[NDArray[np.int64]]) -> list[Floats]:
    """Read some columns in every row, in one transfer from the device."""
    counts = [len(columns_of_row) for columns_of_row in columns]
    row = torch.from_numpy(np.repeat(np.arange(len(columns)), counts)).to(values.device)
    column = torch.from_numpy(np.concatenate(columns)).to(values.device)
    return np.split(values[row, column].double().cpu().numpy(), np.cumsum(counts)[:-1])


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


def _sum_of(nodes: list[_Node]) -> float:
    return float(np.cumsum(sorted(node.mass for node in nodes))[-1]) if nodes else 0.0
