"""Trees of tokens that grow from texts, so that sequences that begin alike share their beginnings.

Its nodes are fed as further tokens of the text's own row, and an attention mask lets each see the
text, its ancestors and itself. One forward pass thus reads a whole tree, at the cost of as many
tokens as the tree has inner nodes. Networks that cannot take such a mask (sliding windows,
recurrent layers) get every sequence in full: slower, with the same numbers.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from transformers import DynamicCache

from elicitation.models.local.forward import read_texts, remembering, sees_everything

ROOT = -1
# Tokens in a forward pass where every sequence is read in full.
_PLAIN_TOKENS = 16_384
# Of log-probabilities in single precision: far more than rounding, far less than a wrong mask.
_GAP = 1e-3


class Trees(Protocol):
    """Trees of tokens that grow from texts, one per text."""

    roots: torch.Tensor
    """Logits of the token after each text, shape (n_texts, size of the vocabulary)."""

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
    """

    def __init__(self, network: Any, texts: Sequence[Sequence[int]]) -> None:
        self.network, self.start = network, read_texts(network, texts)
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
    network, texts
        As of `MaskedTrees`; any network will do.
    """

    def __init__(self, network: Any, texts: Sequence[Sequence[int]]) -> None:
        self.network = network
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
        return torch.cat([read_texts(self.network, portion).logits for portion in portions])


def trees_for(network: Any) -> type[MaskedTrees] | type[PlainTrees]:
    """Return the fastest kind of trees that gives right numbers for a network.

    What a network can do is tried on a small example: some take a mask and do not heed it.
    """
    # A window would show on long texts only.
    if not sees_everything(DynamicCache(config=network.config)):
        return PlainTrees
    size = network.get_input_embeddings().num_embeddings
    # Any tokens that differ will do; small vocabularies have few.
    long = [token % size for token in (5, 3, 8, 7, 11)]
    texts = [long, long[:3]]  # of unequal length, so that one of them is padded
    branches = [(ROOT, 9 % size), (ROOT, 4 % size), (1, 6 % size), (0, 10 % size)]
    nodes = [branches, branches[:2]]
    with torch.inference_mode():
        try:
            masked = MaskedTrees(network, texts).grow(nodes).float()
            if network.dtype != torch.float32:
                return MaskedTrees if _heeds_masks(network, texts, nodes, masked) else PlainTrees
        except (RuntimeError, TypeError, ValueError, IndexError):
            return PlainTrees
        expected = PlainTrees(network, texts).grow(nodes).float().log_softmax(-1)
    gaps = (masked.log_softmax(-1) - expected).abs()
    gap = max(float(gaps[row, : len(added)].max()) for row, added in enumerate(nodes))
    return MaskedTrees if gap < _GAP else PlainTrees


def _heeds_masks(
    network: Any,
    texts: Sequence[Sequence[int]],
    nodes: list[list[tuple[int, int]]],
    logits: torch.Tensor,
) -> bool:
    """Return whether a network in half precision heeds masks and positions.

    Its numbers depend on the shapes of what it computes, after odd tokens by as much as a wrong
    mask would change them. So shapes are kept here: what a node must not see is changed, then what
    it must see, then where it stands.
    """
    first = nodes[0]
    other = (first[0][0], first[1][1])  # another token, in the place of the first node
    changed = MaskedTrees(network, texts).grow([[other, *first[1:]], nodes[1]]).float() - logits
    moved = MaskedTrees(network, texts)
    moved.start.lengths += 1
    shifted = moved.grow(nodes).float() - logits
    parents = [parent for parent, _ in first]
    hidden = [k for k, parent in enumerate(parents) if k and parent != 0]
    seeing = [k for k, parent in enumerate(parents) if parent == 0]
    seen = min(float(changed[0, seeing].abs().max()), float(shifted[0].abs().max()))
    return seen > 0 and float(changed[0, hidden].abs().max()) < seen / 10
