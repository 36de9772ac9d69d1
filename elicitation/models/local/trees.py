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

from elicitation.models.local.forward import BatchRead, Reading, read_texts, remembering

ROOT = -1
# Tokens in a forward pass where every sequence is read in full.
_PLAIN_TOKENS = 16_384


class Trees(Protocol):
    """Trees of tokens that grow from texts, one per text."""

    roots: torch.Tensor
    """Logits of the token after each text, shape (n_texts, size of the vocabulary)."""
    ahead: int
    """Nodes per tree that are worth a pass less."""

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes to every tree."""
        ...


class MaskedTrees:
    """Trees as further columns of the texts' own rows.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode, with attention that takes a mask of four dimensions.
    texts : sequence of sequence of int
        Token ids.
    reading : Reading
        How texts are read.
    """

    # A pass of SmolLM2 takes 75 ms of a processor, and 3.3 ms for each node.
    ahead = 12

    def __init__(self, network: Any, texts: Sequence[Sequence[int]], *, reading: Reading) -> None:
        self.network, self.start = network, BatchRead(network, texts, reading)
        self.roots = self.start.logits
        self.sees = np.zeros((len(texts), 0, 0), dtype=bool)  # node x node, itself included

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes in one forward pass; see `Trees`."""
        n_texts, past = self.sees.shape[:2]
        width = max(map(len, nodes))
        ids = np.zeros((n_texts, width), dtype=np.int64)
        sees = np.zeros((n_texts, past + width, past + width), dtype=bool)
        sees[:, :past, :past] = self.sees
        # Every node sees itself, and so do fillers: a softmax over nothing is not a number.
        new = np.arange(past, past + width)
        sees[:, new, new] = True
        for row, added in enumerate(nodes):
            for k, (parent, token) in enumerate(added):
                ids[row, k] = token
                if parent != ROOT:
                    sees[row, past + k] |= sees[row, parent]
        self.sees = sees
        device, dtype = self.network.device, self.network.dtype
        # A node stands as far behind its text as it has ancestors, whatever its column.
        depth = torch.from_numpy(sees[:, past:].sum(-1) - 1).to(device)
        text_columns = self.start.mask.bool()[:, None].expand(-1, width, -1)
        visible = torch.cat([text_columns, torch.from_numpy(sees[:, past:]).to(device)], dim=-1)
        hidden = torch.full(visible.shape, torch.finfo(dtype).min, dtype=dtype, device=device)
        output: torch.Tensor = self.network(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=hidden.masked_fill(visible, 0)[:, None],
            position_ids=self.start.lengths[:, None] + depth,
            **remembering(self.network, self.start.cache),
        ).logits
        return output


class PlainTrees:
    """Trees whose nodes are read from the beginning of their text each time.

    Parameters
    ----------
    network, texts, reading
        As of `MaskedTrees`; any network will do.
    """

    ahead = 0

    def __init__(self, network: Any, texts: Sequence[Sequence[int]], *, reading: Reading) -> None:
        self.network, self.reading = network, reading
        self.paths: list[list[list[int]]] = [[] for _ in texts]
        self.texts = [list(text) for text in texts]
        self.roots = self._read(self.texts)

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
    network: Any, texts: Sequence[Sequence[int]], reading: Reading, *, longest: int
) -> Trees:
    """Return the fastest trees that give right numbers, none longer than `longest` tokens."""
    reading = reading.within(longest)
    return (MaskedTrees if reading.takes_trees else PlainTrees)(network, texts, reading=reading)
