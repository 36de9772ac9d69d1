"""Trees of tokens that grow from texts, so that sequences that begin alike share their beginnings.

Its nodes are fed as further tokens of the text's own row, and an attention mask lets each see the
text, its ancestors and itself. One forward pass thus reads a whole tree, at the cost of as many
tokens as the tree has inner nodes. Networks that give other numbers with such a mask (sliding
windows, recurrent layers) get every sequence in full.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from elicitation.models.local.forward import BatchRead, ReadingMode, read_texts, remembering

ROOT = -1
# Tokens in a forward pass where every sequence is read in full.
_PLAIN_TOKENS = 16_384
# Columns that a tree may have in the cache: five times those of any tree of a public model.
_MOST_COLUMNS = 4096
# Scores of attention in a pass: half a gigabyte in single precision.
_MOST_CELLS = 1 << 27


class Trees(Protocol):
    """Trees of tokens that grow from texts, one per text."""

    roots: torch.Tensor
    """Logits of the token after each text, shape (n_texts, size of the vocabulary)."""
    ahead: int
    """Nodes per tree that are worth a pass less."""

    @property
    def n_nodes(self) -> int:
        """Nodes of the largest tree."""
        ...

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes to every tree."""
        ...


class MaskedTrees:
    """Trees as further columns of the texts' own rows, by a mask of four dimensions.

    Columns are bounded, by memory and by the windows of the network: where they do not suffice the
    tree is cut back to its text, and what the next nodes grow from is read once more.
    """

    # A pass of SmolLM2 takes 75 ms of a processor, and 3.3 ms for each node.
    ahead = 12

    def __init__(
        self, network: Any, texts: Sequence[Sequence[int]], *, reading: ReadingMode
    ) -> None:
        self.network, self.start = network, BatchRead(network, texts, reading)
        self.roots = self.start.logits
        self.n_of_text = self.start.mask.shape[1]
        self.most_columns = _MOST_COLUMNS
        if reading.window is not None:
            # The last token of a window sees the others, and the cache has room for no more.
            self.most_columns = min(_MOST_COLUMNS, reading.window - 1 - self.n_of_text)
        heads = getattr(network.config.get_text_config(decoder=True), "num_attention_heads", None)
        self.most_cells = _MOST_CELLS // (len(texts) * (heads or 1))
        self.n_columns = 0  # of the trees, in the cache
        # of all nodes by their numbers: the parent, the token, and the column while it has one
        self.parents, self.tokens, self.columns = np.zeros((3, len(texts), 0), dtype=np.int64)

    @property
    def n_nodes(self) -> int:
        """Nodes of the largest tree."""
        return int(self.parents.shape[1])

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes, in one forward pass where they fit; see `Trees`."""
        first, width = self.n_nodes, max(map(len, nodes))
        added = np.zeros((3, len(nodes), width), dtype=np.int64)
        added[[0, 2]] = ROOT
        for row, of_text in enumerate(nodes):
            if of_text:
                added[:2, row, : len(of_text)] = np.transpose(of_text)
        both = np.concatenate([(self.parents, self.tokens, self.columns), added], axis=-1)
        self.parents, self.tokens, self.columns = both
        ends = [first + len(of_text) for of_text in nodes]
        read = []
        while first < self.n_nodes:
            wanted, stop = self._fitting(first, ends)
            if stop == first:
                self.start.cache.crop(-self.n_columns)
                self.columns[:], self.n_columns = ROOT, 0
                wanted, stop = self._fitting(first, ends)
            read.append(self._feed(wanted, slice(first, stop)))
            first = stop
        return read[0] if len(read) == 1 else torch.cat(read, dim=1)

    def _fitting(self, first: int, ends: Sequence[int]) -> tuple[list[set[int]], int]:
        """Return the nodes that the next pass reads for every text, and the first left for later.

        They are as many from `first` on as fit, with all that they grow from and has no column.
        """
        behind = self.n_of_text + self.n_columns
        # The most columns of which each sees those before it.
        by_memory = int((behind**2 / 4 + self.most_cells) ** 0.5 - behind / 2)
        room = min(by_memory, self.most_columns - self.n_columns)
        wanted: list[set[int]] = [set() for _ in ends]
        for node in range(first, self.n_nodes):
            more = []
            for row, end in enumerate(ends):
                path, at = set(), node if node < end else ROOT
                while at != ROOT and at not in wanted[row] and self.columns[row, at] == ROOT:
                    path.add(at)
                    at = int(self.parents[row, at])
                more.append(path)
            fits = all(len(has | path) <= room for has, path in zip(wanted, more, strict=True))
            # A tree of one path always has room.
            if not fits and (node > first or self.n_columns):
                return wanted, node
            for has, path in zip(wanted, more, strict=True):
                has |= path
        return wanted, self.n_nodes

    def _feed(self, wanted: Sequence[set[int]], new: slice) -> torch.Tensor:
        """Read nodes, and return the logits after those that are new."""
        width, before = max(map(len, wanted)), self.n_columns
        at = np.full((len(wanted), width), ROOT)
        for row, nodes in enumerate(wanted):
            at[row, : len(nodes)] = sorted(nodes)  # parents first
            self.columns[row, at[row, : len(nodes)]] = before + np.arange(len(nodes))
        self.n_columns += width
        ids = np.where(at == ROOT, 0, np.take_along_axis(self.tokens, np.maximum(at, 0), axis=1))
        sees = np.zeros((len(wanted), width, self.n_columns), dtype=bool)
        # Every node sees itself, and so do fillers: a softmax over nothing is not a number.
        sees[:, np.arange(width), before + np.arange(width)] = True
        depth = np.full_like(at, -1)
        while (going := at != ROOT).any():
            of_row, place = np.nonzero(going)
            ancestor = at[of_row, place]
            sees[of_row, place, self.columns[of_row, ancestor]] = True
            depth[of_row, place] += 1
            at[of_row, place] = self.parents[of_row, ancestor]
        # A node stands as far behind its text as it has ancestors, whatever its column.
        positions = torch.from_numpy(np.maximum(depth, 0))
        device, dtype = self.network.device, self.network.dtype
        text_columns = self.start.mask.bool()[:, None].expand(-1, width, -1)
        visible = torch.cat([text_columns, torch.from_numpy(sees).to(device)], dim=-1)
        hidden = torch.full(visible.shape, torch.finfo(dtype).min, dtype=dtype, device=device)
        output: torch.Tensor = self.network(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=hidden.masked_fill(visible, 0)[:, None],
            position_ids=self.start.lengths[:, None] + positions.to(device),
            **remembering(self.network, self.start.cache),
        ).logits
        n_new = new.stop - new.start
        places = np.maximum(self.columns[:, new] - before, 0)
        if width == n_new and all(
            len(nodes) == sum(k >= new.start for k in nodes) for nodes in wanted
        ):
            return output
        rows = torch.arange(len(wanted), device=device)[:, None]
        return output[rows, torch.from_numpy(places).to(device)]


class PlainTrees:
    """Trees whose nodes are read from the beginning of their text each time, by any network."""

    ahead = 0

    def __init__(
        self, network: Any, texts: Sequence[Sequence[int]], *, reading: ReadingMode
    ) -> None:
        self.network, self.reading = network, reading
        self.paths: list[list[list[int]]] = [[] for _ in texts]
        self.texts = [list(text) for text in texts]
        self.roots = self._read(self.texts)

    @property
    def n_nodes(self) -> int:
        """Nodes of the largest tree."""
        return len(self.paths[0])

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes; see `Trees`."""
        width = max(map(len, nodes))
        rows, positions = [], []
        for row, added in enumerate(nodes):
            for k, (parent, token) in enumerate(added):
                path = [*([] if parent == ROOT else self.paths[row][parent]), token]
                self.paths[row].append(path)
                rows.append(self.texts[row] + path)
                positions.append((row, k))
            # Fillers are numbered like nodes, see `Trees`, but nothing grows from them.
            self.paths[row] += [[] for _ in range(len(added), width)]
        read = self._read(rows)
        logits = read.new_zeros((len(nodes), width, read.shape[-1]))
        logits[tuple(torch.tensor(positions).T)] = read
        return logits

    def _read(self, rows: list[list[int]]) -> torch.Tensor:
        step = max(1, _PLAIN_TOKENS // max(map(len, rows)))
        portions = (rows[start : start + step] for start in range(0, len(rows), step))
        return torch.cat(
            [read_texts(self.network, portion, self.reading).logits for portion in portions]
        )


def trees_of(
    network: Any, texts: Sequence[Sequence[int]], reading: ReadingMode, *, longest: int
) -> Trees:
    """Return the fastest trees that give right numbers, none longer than `longest` tokens."""
    reading = reading.within(longest)
    in_window = reading.window is None or longest < reading.window
    kind = MaskedTrees if reading.takes_trees and in_window else PlainTrees
    return kind(network, texts, reading=reading)
