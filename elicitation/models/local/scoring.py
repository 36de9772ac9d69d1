"""Probabilities of many token sequences after a text: the text is read once, and sequences that begin alike share their beginnings too.

The sequences form a tree. Its nodes are fed as further tokens of the text's own row, and an
attention mask lets each see the text, its ancestors and itself. One forward pass thus scores a
whole tree, at the cost of as many tokens as the tree has inner nodes. Networks that cannot take
such a mask (sliding windows, recurrent layers) get every sequence in full: slower, with the same
numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from coherence.errors import InputError
from elicitation.models.local.prefill import prefill, sees_everything
from elicitation.spelling.tokenizations import Part, SpellingGraph

Floats = NDArray[np.float64]
ROOT = -1
# Most logits held at a time, in numbers.
_LOGITS = 1 << 26
_PLAIN_TOKENS = 16_384


class Trees(Protocol):
    """Trees of tokens that grow from texts, one per text."""

    roots: torch.Tensor
    """Logits of the token after each text, shape (n_texts, size of the vocabulary)."""

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes to every tree.

        Parameters
        ----------
        nodes : sequence of sequence of (int, int)
            For every text ``(parent, token)``; the parent is `ROOT` or a number in this tree. Nodes
            are numbered as they come; trees that get fewer than others in one call are filled up,
            so that the numbers of the next call begin alike in all trees.

        Returns
        -------
        torch.Tensor, shape (n_texts, most nodes of a tree, size of the vocabulary)
            Logits of the token after each node.
        """
        ...


class MaskedTrees:
    """Trees as further columns of the texts' own rows.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode, with attention that takes a mask of four dimensions.
    texts : sequence of sequence of int
        Token ids.
    """

    def __init__(self, network: Any, texts: Sequence[Sequence[int]]) -> None:
        self.network, self.start = network, prefill(network, texts)
        self.roots = self.start.logits
        self.sees = np.zeros((len(texts), 0, 0), dtype=bool)  # node x node, itself included

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes in one forward pass; see `Trees`."""
        n_texts, past = self.sees.shape[:2]
        width = max(map(len, nodes))
        ids = np.zeros((n_texts, width), dtype=np.int64)
        sees = np.zeros((n_texts, past + width, past + width), dtype=bool)
        sees[:, :past, :past] = self.sees
        for row, own in enumerate(nodes):
            for k, (parent, token) in enumerate(own):
                ids[row, k] = token
                if parent != ROOT:
                    sees[row, past + k] = sees[row, parent]
                sees[row, past + k, past + k] = True
            for k in range(len(own), width):
                sees[row, past + k, past + k] = (
                    True  # a filler sees itself, for a softmax over nothing is not a number
                )
        self.sees = sees
        device, dtype = self.network.device, self.network.dtype
        positions = self.start.lengths[:, None] + torch.from_numpy(sees[:, past:].sum(-1) - 1).to(
            device
        )
        visible = torch.cat(
            [
                self.start.mask.bool()[:, None].expand(-1, width, -1),
                torch.from_numpy(sees[:, past:]).to(device),
            ],
            dim=-1,
        )
        hidden = torch.full(
            visible.shape, torch.finfo(dtype).min, dtype=dtype, device=device
        ).masked_fill(visible, 0)
        output: torch.Tensor = self.network(
            input_ids=torch.from_numpy(ids).to(device), attention_mask=hidden[:, None], position_ids=positions,
            past_key_values=self.start.cache, use_cache=True,
        ).logits  # fmt: skip
        return output


class PlainTrees:
    """Trees whose nodes are read from the beginning of their text each time; parameters as of `MaskedTrees`."""

    def __init__(self, network: Any, texts: Sequence[Sequence[int]]) -> None:
        self.network = network
        self.paths: list[list[list[int]]] = [[] for _ in texts]
        self.texts = [list(text) for text in texts]
        self.roots = self._read(self.texts)

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes; see `Trees`."""
        width = max(map(len, nodes))
        rows, places = [], []
        for row, own in enumerate(nodes):
            for k, (parent, token) in enumerate(own):
                path = [*([] if parent == ROOT else self.paths[row][parent]), token]
                self.paths[row].append(path)
                rows.append(self.texts[row] + path)
                places.append((row, k))
            self.paths[row] += [[] for _ in range(len(own), width)]
        logits = self._read(rows)
        result = logits.new_zeros((len(nodes), width, logits.shape[-1]))
        result[tuple(torch.tensor(places).T)] = logits
        return result

    def _read(self, rows: list[list[int]]) -> torch.Tensor:
        step = max(1, _PLAIN_TOKENS // max(map(len, rows)))
        return torch.cat(
            [
                prefill(self.network, rows[start : start + step]).logits
                for start in range(0, len(rows), step)
            ]
        )


def trees_for(network: Any) -> type[MaskedTrees] | type[PlainTrees]:
    """Return the fastest kind of trees that gives right numbers for a network; tried on a small example, not believed.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode.

    Returns
    -------
    type
        `MaskedTrees`, or else `PlainTrees`.
    """
    # A window would show on long texts only.
    if not sees_everything(DynamicCache(config=network.config)):
        return PlainTrees
    size = network.get_input_embeddings().num_embeddings
    text = [token % size for token in (5, 3, 8, 7, 11)]
    nodes = [(ROOT, 9 % size), (ROOT, 4 % size), (1, 6 % size), (0, 10 % size)]
    half = network.dtype != torch.float32
    with torch.inference_mode():
        expected = (
            PlainTrees(network, [text, text[:3]]).grow([nodes, nodes[:2]]).float().log_softmax(-1)
        )
        try:
            found = (
                MaskedTrees(network, [text, text[:3]])
                .grow([nodes, nodes[:2]])
                .float()
                .log_softmax(-1)
            )
        except (RuntimeError, TypeError, ValueError, IndexError):
            return PlainTrees
    gap = max(
        float((found[0] - expected[0]).abs().max()),
        float((found[1, :2] - expected[1, :2]).abs().max()),
    )
    return MaskedTrees if gap < (0.5 if half else 1e-3) else PlainTrees


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
    numbers: list[dict[tuple[int, ...], int]] = []  # inner nodes of every tree, parents first
    for own in continuations:
        inner = {tuple(tokens[:end]) for tokens in own for end in range(1, len(tokens))}
        numbers.append(
            {path: k for k, path in enumerate(sorted(inner, key=lambda path: (len(path), path)))}
        )
    reads = [
        sorted(
            {tuple(tokens[:end]) for tokens in own for end in range(1, len(tokens) + 1)}, key=len
        )
        for own in continuations
    ]
    step: list[dict[tuple[int, ...], float]] = [{} for _ in continuations]
    pending: list[dict[int, list[tuple[int, ...]]]] = [{} for _ in continuations]
    for row, paths in enumerate(reads):
        for path in paths:
            pending[row].setdefault(numbers[row].get(path[:-1], ROOT), []).append(path)

    def read(logits: torch.Tensor, first: int) -> None:
        where = [
            (row, k, path) for row in range(len(pending)) for k in range(logits.shape[1]) for path in pending[row].get(first + k, ())
        ]  # fmt: skip
        if not where:
            return
        index = torch.tensor([(row, k, path[-1]) for row, k, path in where], device=logits.device).T
        logits = logits.float()
        values = (
            logits[tuple(index)].double() - logits.logsumexp(-1).double()[tuple(index[:2])]
        ).tolist()
        for (row, _, path), value in zip(where, values, strict=True):
            step[row][path] = value

    read(trees.roots[:, None], ROOT)
    nodes = [[(own.get(path[:-1], ROOT), path[-1]) for path in own] for own in numbers]
    most = max(map(len, nodes))
    portion = max(1, _LOGITS // trees.roots.numel())
    for first in range(0, most, portion):
        read(trees.grow([own[first : first + portion] for own in nodes]), first)
    return [
        np.array([sum(step[row][tuple(tokens[:end])] for end in range(1, len(tokens) + 1)) for tokens in own])
        for row, own in enumerate(continuations)
    ]  # fmt: skip


@dataclass(frozen=True)
class _Node:
    state: int
    mass: float
    number: int  # of its parent while it is a child, its own once it has grown
    tokens: tuple[int, ...]


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
    n_texts, size = trees.roots.shape
    sorted_ids = torch.as_tensor(order, device=trees.roots.device)
    tables = [_Table.of(graph, state) for state in range(len(graph.states))]
    masses, unresolved = np.zeros((n_texts, n_spellings)), np.zeros(n_texts)

    def read(logits: torch.Tensor, level: list[list[_Node]]) -> list[list[_Node]]:
        """Add what is decided after the nodes of a level to `masses`, and return the nodes that keep it open."""
        children: list[list[_Node]] = [[] for _ in level]
        everything = [(row, k, node) for row, own in enumerate(level) for k, node in enumerate(own)]
        for portion in _portions(everything, max(1, _LOGITS // (8 * size))):
            index = torch.tensor([(row, k) for row, k, _ in portion], device=logits.device).T
            # Ranges are differences of sums, which single precision would not bear.
            probability = logits[tuple(index)].double().softmax(-1)
            cumulative = torch.nn.functional.pad(probability[:, sorted_ids].cumsum(-1), (1, 0))
            own = [tables[node.state] for *_, node in portion]
            decided = np.split(
                _take(cumulative, [table.stop for table in own])
                - _take(cumulative, [table.start for table in own]),
                np.cumsum([len(table.stop) for table in own])[:-1],
            )
            going_on = np.split(
                _take(probability, [table.token for table in own]),
                np.cumsum([len(table.token) for table in own])[:-1],
            )
            for (row, _, node), table, here, further in zip(
                portion, own, decided, going_on, strict=True
            ):
                np.add.at(masses[row], table.spelling, here * node.mass)
                if parts is not None:
                    parts.extend(
                        Part(row, int(k), node.tokens, float(mass))
                        for k, mass in zip(table.spelling, here * node.mass, strict=True)
                    )
                children[row] += [
                    _Node(target, mass, node.number, (*node.tokens, token))
                    for token, target, mass in zip(
                        table.token.tolist(),
                        table.target.tolist(),
                        (further * node.mass).tolist(),
                        strict=True,
                    )
                ]
        return children

    level = read(trees.roots[:, None], [[_Node(0, 1.0, ROOT, ())] for _ in range(n_texts)])
    grown, portion = 0, max(1, _LOGITS // trees.roots.numel())
    while True:
        for row, own in enumerate(level):
            level[row], lost = _prune(own, (tolerance - unresolved[row]) / 2)
            unresolved[row] += lost
        below: list[list[_Node]] = [[] for _ in level]
        for first in range(0, max(map(len, level)), portion):
            nodes = [own[first : first + portion] for own in level]
            logits = trees.grow([[(node.number, node.tokens[-1]) for node in own] for own in nodes])
            numbered = [
                [replace(node, number=grown + k) for k, node in enumerate(own)] for own in nodes
            ]
            grown += logits.shape[1]
            for row, own in enumerate(read(logits, numbered)):
                below[row] += own
        if not any(below):
            return masses, unresolved
        level = below


@dataclass(frozen=True, eq=False)
class _Table:
    """What the tokens do at one state, as arrays."""

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


def _portions(
    rows: list[tuple[int, int, _Node]], step: int
) -> Iterator[list[tuple[int, int, _Node]]]:
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _take(values: torch.Tensor, columns: Sequence[NDArray[np.int64]]) -> Floats:
    """Read some columns of every row, row after row."""
    row = torch.from_numpy(np.repeat(np.arange(len(columns)), [len(own) for own in columns])).to(
        values.device
    )
    taken: Floats = (
        values[row, torch.from_numpy(np.concatenate(columns)).to(values.device)].cpu().numpy()
    )
    return taken


def _prune(nodes: list[_Node], most: float) -> tuple[list[_Node], float]:
    """Give up the least probable nodes as long as their sum does not exceed `most`; what cannot happen is always given up."""
    nodes = sorted(nodes, key=lambda node: (node.mass, node.tokens))
    sums = np.cumsum([node.mass for node in nodes])
    gone = int(np.searchsorted(sums, max(most, 0.0), side="right"))
    return sorted(nodes[gone:], key=lambda node: node.tokens), float(
        sums[gone - 1]
    ) if gone else 0.0


def check_fits(network: Any, n_tokens: int, what: str) -> None:
    """Raise `InputError` where a text exceeds the context of a network."""
    limit = getattr(network.config, "max_position_embeddings", None)
    if limit is not None and n_tokens > limit:
        raise InputError(
            f"{what} exceeds the model's context of {limit} tokens. Use shorter texts or a smaller max_new_tokens."
        )
