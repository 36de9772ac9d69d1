"""The pass of a network over texts, and over trees of tokens that grow from them.

Texts are padded on the left, with explicit positions; each distinct one is read once, and a
beginning that all of them share once for all. A network that gives other numbers so than alone is
read alone.

Nodes of a tree are fed as further tokens of the text's own row, and an attention mask lets each see
the text, its ancestors and itself. One forward pass thus reads a whole tree, at the cost of as many
tokens as the tree has inner nodes: sequences that begin alike share their beginnings. Networks that
give other numbers with such a mask (sliding windows, recurrent layers) get every sequence in full.
"""

import gc
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from coherence.errors import CoherenceError, InputError

# Below this a common beginning does not pay for the forward pass of its own.
_SHORTEST_COMMON = 16
# Tokens after the common beginning that tell groups of texts apart, such as variants of a question.
_TELLING = 2


def require_numbers(logprobs: torch.Tensor) -> None:
    """Raise `CoherenceError` where a network gave what is no number."""
    if logprobs.isnan().any():
        raise CoherenceError(
            "the model's log-probabilities of some token are not numbers (NaN). A model may exceed "
            "the range of float16: load it with dtype bfloat16 or float32."
        )


def context_size(network: Any) -> int | None:
    """Return how many tokens a network reads; None where it states no limit."""
    # Networks without learnt or scaled positions state none.
    stated = [
        getattr(config, "max_position_embeddings", None)
        # A network of texts and pictures states it for its text alone.
        for config in (network.config, network.config.get_text_config(decoder=True))
    ]
    limits = [limit for limit in (*stated, learnt_positions(network)) if limit and limit > 0]
    return min(limits, default=None)


def learnt_positions(network: Any) -> int | None:
    """Return how many tokens a table of positions has room for; None where there is none."""
    # Not by the config: it counts positions that some networks keep for padding.
    sizes = []
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa counts positions from behind the padding's own.
            reserved = 0 if module.padding_idx is None else module.padding_idx + 1
            sizes.append(module.num_embeddings - reserved)
    return min(sizes, default=None)


@dataclass(frozen=True)
class ReadingMode:
    """How a network is read such that its numbers are right; see `self_check`."""

    batched: bool = True  # padded on the left, with a cache; else alone, without either
    # reads what all texts begin with once, padding behind it, and heeds a mask of four dimensions
    takes_trees: bool = True
    # A cached step takes the mask of all columns; else that of its own, as recurrent layers do.
    steps_by_whole_mask: bool = True
    # The least window that the configuration names: trees have fewer columns.
    window: int | None = None


ALONE = ReadingMode(batched=False, takes_trees=False)
"""Without padding, cache or mask: every text by itself, from its beginning for every token."""


class TextsRead:
    """Texts that a network has read: as the rows of a batch, padded on the left, or each alone.

    What was read in a batch may be read on. `logits` are those of the token after each text, shape
    (n_texts, size of the vocabulary).
    """

    logits: torch.Tensor

    def __init__(self, network: Any, texts: Sequence[Sequence[int]], reading: ReadingMode) -> None:
        self.network, self.reading = network, reading
        distinct = list(dict.fromkeys(map(tuple, texts)))
        row_of = {text: row for row, text in enumerate(distinct)}
        rows = [row_of[tuple(text)] for text in texts]
        if not reading.batched:
            self.logits = torch.cat([plain_logits(network, text, last=1) for text in distinct])[
                rows
            ]
            return
        device = network.device
        self.cache = DynamicCache(config=network.config)
        share = reading.takes_trees and len(distinct) > 1
        common = _common_beginning(distinct) if share else 0
        if common:
            start = torch.tensor([distinct[0][:common]], device=device)
            self._read(start, torch.ones_like(start), torch.arange(common, device=device)[None])
            self._select([0] * len(distinct))
        width = max(map(len, distinct)) - common
        ids = torch.zeros((len(distinct), width), dtype=torch.long)
        mask = torch.zeros((len(distinct), common + width), dtype=torch.long)
        mask[:, :common] = 1
        for i, text in enumerate(distinct):
            ids[i, width + common - len(text) :] = torch.tensor(text[common:])
            mask[i, width + 2 * common - len(text) :] = 1
        ids, self.mask = ids.to(device), mask.to(device)
        # Positions count the text's own tokens: networks with learnt positions would otherwise
        # answer differently for every amount of padding.
        positions = (self.mask.cumsum(-1) - 1).clamp(min=0)[:, common:]
        self.logits = self._read(ids, self.mask, positions)
        self.lengths = self.mask.sum(-1)
        """Tokens of the texts, shape (n_texts,)."""
        if len(distinct) < len(texts):
            self.keep(rows)

    def keep(self, rows: Sequence[int]) -> None:
        """Put the texts at `rows` in the place of all."""
        index = self._select(rows)
        self.mask, self.lengths = self.mask[index], self.lengths[index]
        self.logits = self.logits[index]

    def step(self, tokens: Sequence[int]) -> None:
        """Read a token more of every text."""
        ids = torch.tensor(tokens, device=self.network.device)[:, None]
        self.mask = torch.cat([self.mask, self.mask.new_ones((len(tokens), 1))], dim=1)
        mask = self.mask if self.reading.steps_by_whole_mask else self.mask[:, -1:]
        self.logits = self._read(ids, mask, self.lengths[:, None])
        self.lengths = self.lengths + 1

    def _select(self, rows: Sequence[int]) -> torch.Tensor:
        """Put the rows at these positions into the cache, in place of what it has."""
        index = torch.tensor(rows, device=self.network.device)
        # Meant for beams: of the ways to select rows the one that recurrent layers have too.
        self.cache.reorder_cache(index)
        return index

    def _read(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Return the logits after the last column."""
        options = remembering(self.network, self.cache)
        if "logits_to_keep" in _accepted(self.network):
            options["logits_to_keep"] = 1
        output = self.network(input_ids=ids, attention_mask=mask, position_ids=positions, **options)
        logits: torch.Tensor = output.logits[:, -1]
        return logits


def plain_logits(network: Any, text: Sequence[int], *, last: int = 0) -> torch.Tensor:
    """Return the logits after the last tokens of a text, or all: what a network says of it."""
    ids = torch.tensor([list(text)], device=network.device)
    wanted = {"use_cache": False, "logits_to_keep": last}
    options = {name: value for name, value in wanted.items() if name in _accepted(network)}
    logits: torch.Tensor = network(input_ids=ids, **options).logits[0]
    return logits[-last:]


def network_within(network: Any) -> Any:
    """Return the network of transformers in one that is wrapped, to be watched or spread."""
    inner = (part for part in network.modules() if isinstance(part, PreTrainedModel))
    return next(inner, network)


def remembering(network: Any, cache: Any) -> dict[str, Any]:
    """Return the options with which a network reads on from what it has read."""
    # Before transformers 5.24 the name is `past_key_values`, which later warns and then goes.
    name = "cache" if "cache" in _accepted(network) else "past_key_values"
    return {name: cache, "use_cache": True}


def _accepted(network: Any) -> Mapping[str, Any]:
    """Return the parameters of a network's forward pass."""
    return inspect.signature(type(network_within(network)).forward).parameters


def reading_order(texts: Sequence[Sequence[int]]) -> list[int]:
    """Return the positions of texts in an order in which portions of them are read fast.

    Neighbours share a beginning, which is read once, and are as long as each other, so that little
    is padded.
    """
    distinct = sorted(set(map(tuple, texts)))
    shared = n_shared(distinct[0], distinct[-1]) if distinct else 0

    def order(i: int) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        text = tuple(texts[i])
        return text[shared : shared + _TELLING], len(text), text

    return sorted(range(len(texts)), key=order)


def n_shared(first: Sequence[int], last: Sequence[int]) -> int:
    """Return how many tokens two texts begin with alike."""
    pairs = zip(first, last, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _common_beginning(texts: list[tuple[int, ...]]) -> int:
    """Return how many tokens all texts begin with; 0 where they are too few to pay."""
    # All others lie between these two in order, so they share what the two share.
    shared = n_shared(min(texts), max(texts))
    # One token of every text is left to be read, for the logits after it.
    shared = min(shared, min(map(len, texts)) - 1)
    return shared if shared >= _SHORTEST_COMMON else 0


ROOT = -1
# Tokens in a forward pass where every sequence is read in full.
_PLAIN_TOKENS = 16_384
# Columns that a tree may have in the cache: five times those of any tree of a public model.
_MOST_COLUMNS = 4096
# Scores of attention in a pass: half a gigabyte in single precision.
_MOST_CELLS = 1 << 27


class MaskedTrees:
    """Trees of tokens, one per text, as further columns of its row, by a mask of four dimensions.

    `roots` are the logits of the token after each text, `ahead` nodes per tree that are worth a
    pass less. Columns are bounded, by memory and by the windows of the network: where they do not
    suffice the tree is cut back to its text, and what the next nodes grow from is read once more.
    """

    # A pass of SmolLM2 takes 75 ms of a processor, and 3.3 ms for each node.
    ahead = 12

    def __init__(
        self, network: Any, texts: Sequence[Sequence[int]], *, reading: ReadingMode
    ) -> None:
        self.network, self.start = network, TextsRead(network, texts, reading)
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
        """Add nodes, each a parent's number and a token; return the logits after them.

        It is one forward pass where they fit. Trees with fewer new nodes than others get fillers,
        which are numbered like nodes.
        """
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
        device, dtype = self.network.device, network_within(self.network).dtype
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
    """`MaskedTrees` of any network: nodes are read from the beginning of their text each time."""

    ahead = 0

    def __init__(
        self, network: Any, texts: Sequence[Sequence[int]], *, reading: ReadingMode
    ) -> None:
        self.network, self.reading = network, reading
        self.paths: list[list[list[int]]] = [[] for _ in texts]
        self.texts = [list(text) for text in texts]
        self.roots = self._read(self.texts)

    def grow(self, nodes: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
        """Add nodes; see `MaskedTrees`."""
        width = max(map(len, nodes))
        rows, positions = [], []
        for row, added in enumerate(nodes):
            for k, (parent, token) in enumerate(added):
                path = [*([] if parent == ROOT else self.paths[row][parent]), token]
                self.paths[row].append(path)
                rows.append(self.texts[row] + path)
                positions.append((row, k))
            # Nothing grows from fillers.
            self.paths[row] += [[] for _ in range(len(added), width)]
        read = self._read(rows)
        logits = read.new_zeros((len(nodes), width, read.shape[-1]))
        logits[tuple(torch.tensor(positions).T)] = read
        return logits

    def _read(self, rows: list[list[int]]) -> torch.Tensor:
        step = max(1, _PLAIN_TOKENS // max(map(len, rows)))
        portions = (rows[start : start + step] for start in range(0, len(rows), step))
        read = (TextsRead(self.network, portion, self.reading) for portion in portions)
        return torch.cat([each.logits for each in read])


Trees = MaskedTrees | PlainTrees


# Work in portions that fit into memory: accelerate's `find_executable_batch_size` begins anew after
# a failure, forgets what it learnt with the next call, and collects garbage before each.
Result = TypeVar("Result")
# On a processor larger portions gain nothing; on an accelerator the size doubles from here until
# memory says no.
_START, _MOST = 16_384, 1 << 22
# What larger portions of texts compute on the way is too large for a processor's allocator to keep,
# and the system clears its pages anew for every layer.
_READ_ON_PROCESSOR = 4096


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory did not suffice."""
    text = str(error)
    # On a processor torch says so in a plain RuntimeError.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in text or "out of memory" in text)
    )


class Portions:
    """The size of a portion of work, learnt from what happened so far.

    None rows leave it to memory. Portions that may grow do so while memory suffices.
    """

    def __init__(self, most_rows: int | None, *, grows: bool) -> None:
        if most_rows is not None and most_rows < 1:
            raise InputError(f"batch_size must be positive or None; received {most_rows}.")
        self.most_rows, self.grows = most_rows, grows
        self.cells = _START
        """Tokens in a portion, padding included."""

    def results(
        self,
        sizes: Sequence[int],
        do: Callable[[list[int]], Sequence[Result]],
        *,
        order: Sequence[int] | None = None,
    ) -> list[Result]:
        """Return the result of every item, worked out portion by portion without gradients.

        The largest come first, or in `order` if their neighbours belong together.
        """
        results: dict[int, Result] = {}
        left = sorted(range(len(sizes)), key=lambda i: -sizes[i]) if order is None else list(order)
        while left:
            width = max(1, sizes[left[0]] if order is None else max(sizes[i] for i in left))
            processor = order is not None and not self.grows
            cells = min(self.cells, _READ_ON_PROCESSOR) if processor else self.cells
            rows = left[: min(max(1, cells // width), self.most_rows or len(left))]
            try:
                with torch.inference_mode():
                    results.update(zip(rows, do(rows), strict=True))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                left = left[len(rows) :]
                # Only a portion that used most of the size says that a larger one may fit.
                if self.grows and len(rows) * width > self.cells // 2:
                    self.cells = min(2 * self.cells, _MOST)
                continue
            # Outside the handler, where the failed call's tensors are no longer referred to.
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if len(rows) == 1:
                raise CoherenceError(
                    f"memory does not suffice for a single text of {width} tokens. "
                    "Use a smaller model, dtype or text."
                )
            # From here on no portion is larger than half of what failed.
            self.grows, self.cells = False, max(1, len(rows) * width // 2)
        return [results[i] for i in range(len(sizes))]
