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
    """Score token sequences after the texts of trees that have not grown yet.

    Parameters
    ----------
    trees : Trees
        One per text.
    continuations : sequence of sequence of sequence of int
        For every text its continuations as token ids; an empty one has probability one.

    Returns
    -------
    list of ndarray
        For every text the natural logarithms of the probabilities of its continuations.
    """
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
    """Add up the probability of spellings over all their token sequences.

    Parameters
    ----------
    trees : Trees
        One per text, not grown yet.
    graph : SpellingGraph
        Open states of the spellings.
    order : ndarray of int
        `Vocabulary.order`.
    n_spellings : int
        Number of spellings in the graph.
    tolerance : float
        Sequences are given up, the least probable first, as long as all of them together are no
        more probable than this.
    parts : list of Part, optional
        Filled with what the probabilities are made of.

    Returns
    -------
    masses : ndarray, shape (n_texts, n_spellings)
        Probabilities.
    unresolved : ndarray, shape (n_texts,)
        Probability of what was given up, at most `tolerance`.
    """
    reading = _Reading(trees, graph, order, n_spellings, parts)
    unresolved = np.zeros(len(trees.roots))
    level = reading.read(trees.roots[:, None], [[_Node(0, 1.0, ROOT, ())] for _ in trees.roots])
    # Each level is one forward pass, or several where its logits would not fit.
    n_grown, portion = 0, max(1, _LOGITS // trees.roots.numel())
    while True:
        for row, nodes in enumerate(level):
            # Half of what is left for this level, so that something is left for those below.
            level[row], lost = _prune(nodes, (tolerance - unresolved[row]) / 2)
            unresolved[row] += lost
        below: list[list[_Node]] = [[] for _ in level]
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
            for nodes, children in zip(below, reading.read(logits, numbered), strict=True):
                nodes += children
        if not any(below):
            return reading.masses, unresolved
        level = below


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
        self.parts = parts
        self.sorted_ids = torch.as_tensor(order, device=trees.roots.device)
        self.tables = [_Table.of(graph, state) for state in range(len(graph.states))]

    def read(self, logits: torch.Tensor, level: list[list[_Node]]) -> list[list[_Node]]:
        """Add what is decided after the nodes of a level to `masses`; return what is still open."""
        children: list[list[_Node]] = [[] for _ in level]
        at_nodes = [
            (row, k, node) for row, nodes in enumerate(level) for k, node in enumerate(nodes)
        ]
        # Copies in double precision lie side by side here: an eighth of the rows at a time.
        step = max(1, _LOGITS // (8 * self.vocabulary_size))
        for start in range(0, len(at_nodes), step):
            portion = at_nodes[start : start + step]
            tables = [self.tables[node.state] for *_, node in portion]
            index = torch.tensor([(row, k) for row, k, _ in portion], device=logits.device).T
            # Ranges are differences of sums, which single precision would not bear.
            probability = logits[tuple(index)].double().softmax(-1)
            cumulative = torch.nn.functional.pad(probability[:, self.sorted_ids].cumsum(-1), (1, 0))
            stops = _take(cumulative, [table.stop for table in tables])
            starts = _take(cumulative, [table.start for table in tables])
            further = _take(probability, [table.token for table in tables])
            for (row, _, node), table, stop, begin, onward in zip(
                portion, tables, stops, starts, further, strict=True
            ):
                self._decide(row, node, table.spelling, (stop - begin) * node.mass)
                masses = (onward * node.mass).tolist()
                children[row] += [
                    _Node(target, mass, node.number, (*node.tokens, token))
                    for token, target, mass in zip(
                        table.token.tolist(), table.target.tolist(), masses, strict=True
                    )
                ]
        return children

    def _decide(self, row: int, node: _Node, spelling: NDArray[np.int64], masses: Floats) -> None:
        # Not `+=`: several ranges of tokens may decide in favour of one spelling.
        np.add.at(self.masses[row], spelling, masses)
        if self.parts is not None:
            self.parts.extend(
                Part(row, int(k), node.tokens, float(mass))
                for k, mass in zip(spelling, masses, strict=True)
            )


@dataclass(frozen=True, eq=False)
class _Table:
    """What the tokens do at one state, as arrays: see `SpellingGraph`."""

    spelling: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    token: NDArray[np.int64]
    target: NDArray[np.int64]

    @classmethod
    def of(cls, graph: SpellingGraph, state: int) -> "_Table":
        deciding = np.array(graph.deciding[state], dtype=np.int64).reshape(-1, 3)
        steps = np.array(graph.steps[state], dtype=np.int64).reshape(-1, 2)
        return cls(*deciding.T, *steps.T)


def _take(values: torch.Tensor, columns: Sequence[NDArray[np.int64]]) -> list[Floats]:
    """Read some columns of every row, in one transfer from the device."""
    counts = [len(columns_of_row) for columns_of_row in columns]
    row = torch.from_numpy(np.repeat(np.arange(len(columns)), counts)).to(values.device)
    column = torch.from_numpy(np.concatenate(columns)).to(values.device)
    return np.split(values[row, column].cpu().numpy(), np.cumsum(counts)[:-1])


def _prune(nodes: list[_Node], most: float) -> tuple[list[_Node], float]:
    """Give up the least probable nodes, as long as they sum to `most` at most."""
    nodes = sorted(nodes, key=lambda node: (node.mass, node.tokens))
    sums = np.cumsum([node.mass for node in nodes])
    # To the right: what cannot happen is given up even where nothing else may be.
    n_lost = int(np.searchsorted(sums, max(most, 0.0), side="right"))
    lost = float(sums[n_lost - 1]) if n_lost else 0.0
    return sorted(nodes[n_lost:], key=lambda node: node.tokens), lost
