"""The pass of a network over texts, over trees of tokens that grow from them, and which is right.

Texts are padded on the left, with explicit positions; each distinct one is read once, and a
beginning that all of them share once for all. Nodes of a tree are fed as further tokens of the
text's own row, and an attention mask lets each see the text, its ancestors and itself. One forward
pass thus reads a whole tree, at the cost of as many tokens as the tree has inner nodes: sequences
that begin alike share their beginnings.

What a network makes of padding, of a cache, of a mask and of its windows is never assumed from its
name. Two texts, one of them as long as the longest that is to be read, are read in every way that
this module has, the fastest first, and compared with the definition: an unpadded pass without a
cache. A way that gives other numbers is not used: sequences are then read in full, or texts one at
a time. Rounding in half precision would hide what is little, so weights are taken to single
precision meanwhile, where memory suffices.
"""

import copy
import inspect
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Any

import numpy as np
import psutil
import torch
from transformers import DynamicCache, PreTrainedModel

from coherence.errors import CoherenceError, InputError
from elicitation.models.local.loading import quiet_transformers

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
    """How a network is read such that its numbers are right; see `NetworkReading`."""

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


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory did not suffice."""
    text = str(error)
    # On a processor torch says so in a plain RuntimeError.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in text or "out of memory" in text)
    )


Tokens = tuple[int, ...]
logger = logging.getLogger(__name__)

# Largest difference of log-probabilities in single precision: far more than rounding, far less than
# a wrong mask.
_GAP = 1e-3
# Half precision and quantised weights move with the shape of a batch, improbable tokens by .5 and
# more: there it is the mean under the probabilities. Rounding gives SmolLM2 .07 in bfloat16, an
# unheeded mask or position .5 to 2.
_GAP_OF_HALF = 0.25
_STEP = 64  # a length is compared at the next multiple of it, and every shorter one with it
# Tokens that both texts begin with: so many that what is padded behind them comes into the next
# chunk of 16.
_COMMON = 28
_LONGEST_PATH = 12  # tokens read on behind a text: what is little at first is more with every one
_PADDED = ReadingMode(takes_trees=False)
_WAYS = (ReadingMode(), _PADDED, replace(_PADDED, steps_by_whole_mask=False))
_IS_WINDOW = re.compile(r"window|chunk|block_size|local_att|index_topk")


class NetworkReading:
    """How a network is read at every length, compared when a text of that length comes."""

    def __init__(self, network: Any, name: str) -> None:
        self.network, self.name = network, name
        self.window, self.context = least_window(network), context_size(network)
        self.found: dict[int, ReadingMode] = {}
        self.is_checked = False

    def at(self, n_tokens: int) -> ReadingMode:
        """Return how texts are read of which none has more tokens than these, in the end.

        Raises `InputError` where the network gives no probabilities of continuations.
        """
        size = max(1, -(-n_tokens // _STEP)) * _STEP
        if self.window is not None and n_tokens < self.window:
            size = min(size, self.window - 1)
        size = min(size, self.context or size)
        self.check()
        # What is right at a length is right at shorter ones.
        if any(at > size and way.takes_trees for at, way in self.found.items()):
            return replace(_WAYS[0], window=self.window)
        if size not in self.found:
            self.found[size] = replace(self._compare(size), window=self.window)
        return self.found[size]

    def check(self) -> None:
        """Raise `InputError` for what has no probabilities of continuations, looked at once."""
        if self.is_checked:
            return
        if network_within(self.network).training:
            raise InputError(
                f"{self.name} is in training mode, in which its numbers are drawn anew each time. "
                "Call network.eval() first."
            )
        with self._looking():
            causal = _is_causal(self.network)
        if not causal:
            raise InputError(
                f"{self.name} is a masked language model, or another that reads what follows: the "
                "words after a place change what it says there, so that it has no probabilities "
                "of continuations. Use a causal language model."
            )
        self.is_checked = True

    def _compare(self, n_tokens: int) -> ReadingMode:
        """Return the fastest way that gives what plain passes give; say where there is none."""
        # In half precision a window that is exceeded by little would not show.
        ways = _WAYS[self.window is not None and n_tokens >= self.window :]
        with self._looking(), _single_precision(self.network) as precisely:
            right = _fastest(self.network, ways, n_tokens, precisely=precisely)
        if not right.batched and all(way.batched for way in self.found.values()):
            logger.warning(
                "%s gives other numbers in a batch or with a cache than by itself. Its texts are "
                "read one at a time, from the beginning for every token: right, and slower.",
                self.name,
            )
        return right

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Look quietly; say in a line why a text by itself cannot be read."""
        try:
            with quiet_transformers(), torch.inference_mode(False), torch.no_grad():
                yield
        except Exception as error:
            if isinstance(error, CoherenceError) or is_out_of_memory(error):
                raise
            raise InputError(
                f"{self.name} cannot be asked: a text by itself, without padding or cache, ends in "
                f"{type(error).__name__}: {' '.join(str(error).split())[:200]}. Use another model."
            ) from error


def least_window(network: Any) -> int | None:
    """Return the least of the windows that a configuration names; None where it names none."""
    named = [
        size
        for name, value in vars(network.config.get_text_config(decoder=True)).items()
        if _IS_WINDOW.search(name) and not re.search("layer|pattern|^_", name)
        for size in (value if isinstance(value, list | tuple) else [value])
        if type(size) is int and size > 0
    ]
    return min(named, default=None)


def _is_causal(network: Any) -> bool:
    """Return whether what is said before the last token does not depend on it at all.

    The derivative is exactly 0 in any precision, where differences of numbers may be rounding.
    """
    embedded: list[torch.Tensor] = []

    def keep(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[-1].clone()  # which some scale in place

    tokens = _sample(network, min(_COMMON, context_size(network) or _COMMON))[0][0]
    hook = network.get_input_embeddings().register_forward_hook(keep)
    try:
        with torch.enable_grad():
            logits = plain_logits(network, tokens)[:-1].float()
            (slope,) = torch.autograd.grad(logits.square().sum(), embedded[0])
        return not bool(slope[0, -1].nan_to_num().any())
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
    finally:
        hook.remove()
    # Kernels that have no derivative: by the numbers, then.
    first, second = (plain_logits(network, [*tokens[:-1], last])[:-1] for last in tokens[:2])
    return not _gap(first, second) > _GAP_OF_HALF


@contextmanager
def _single_precision(network: Any) -> Iterator[bool]:
    """Have weights in single precision meanwhile, where they fit; return whether they are in it.

    It loses nothing there and back.
    """
    tensors = (*network.parameters(), *network.buffers())
    kept = [(each, each.data) for each in tensors if each.dtype in (torch.bfloat16, torch.float16)]
    on_gpu = any(data.is_cuda for _, data in kept)
    free = torch.cuda.mem_get_info()[0] if on_gpu else psutil.virtual_memory().available
    quantized = getattr(network_within(network), "is_quantized", False)
    # A processor without memory ends the program, with no error to catch.
    fits = 8 * sum(data.numel() for _, data in kept) <= free and not quantized
    try:
        for tensor, data in kept if fits else ():
            tensor.data = data.float()
        yield fits
    finally:
        for tensor, data in kept:
            tensor.data = data


def _fastest(
    network: Any, ways: Sequence[ReadingMode], n_tokens: int, *, precisely: bool
) -> ReadingMode:
    """Return the first way of reading that gives what the texts by themselves give, or `ALONE`."""
    texts, paths = _sample(network, n_tokens)
    plain: dict[tuple[int, Tokens], torch.Tensor] = {}  # after a text and what follows it
    for row, path in ((row, path) for row, of_text in enumerate(paths) for path in of_text):
        logits = plain_logits(network, [*texts[row], *path], last=len(path) + 1)
        require_numbers(logits)
        plain |= {(row, path[:end]): each for end, each in enumerate(logits)}

    def is_plain(logits: torch.Tensor, row: int, path: Tokens) -> bool:
        """Return whether logits are those of a text by itself; NaN agrees with nothing."""
        if precisely:
            return _gap(logits, plain[row, path]) < _GAP
        return _gap(logits, plain[row, path], mean=True) < _GAP_OF_HALF

    for way in ways:
        try:
            if all(is_plain(*read) for read in _reads(network, texts, paths, way)):
                return way
        # Where it does not take an option, a network fails in a way of its own.
        except Exception as error:
            if is_out_of_memory(error):
                raise
    return ALONE


def _reads(
    network: Any, texts: list[list[int]], paths: list[list[Tokens]], way: ReadingMode
) -> Iterator[tuple[torch.Tensor, int, Tokens]]:
    """Yield logits that are read in a way, the number of the text, and what follows it there."""
    trees = MaskedTrees(network, texts, reading=way)
    # Read on apart from the trees, which grow in the cache.
    read = copy.copy(trees.start)
    read.cache = copy.deepcopy(read.cache)
    for n_read in range(1 + max(map(len, chain.from_iterable(paths)))):
        going = [(row, path[0]) for row, path in enumerate(paths) if len(path[0]) >= n_read]
        if n_read:
            # An answer that is complete leaves the batch.
            if len(going) < len(read.lengths):
                read.keep([row for row, _ in going])
            read.step([path[n_read - 1] for _, path in going])
        for logits, (row, path) in zip(read.logits, going, strict=True):
            yield logits, row, path[:n_read]
    if not way.takes_trees:
        return
    numbers: list[dict[Tokens, int]] = [{(): ROOT} for _ in texts]
    # A second time on what has grown, and once more behind the texts alone.
    for n_grown, lengths in enumerate((range(1, 2), *[range(2, 1 + _LONGEST_PATH)] * 2)):
        if n_grown == 2:
            trees.most_columns = trees.n_columns
        first, nodes = trees.n_nodes, list[list[tuple[int, int]]]()
        added = [
            dict.fromkeys(path[:n] for n in lengths for path in of_text if n <= len(path))
            for of_text in paths
        ]
        for known, new in zip(numbers, added, strict=True):
            known |= {path: first + k for k, path in enumerate(new)}
            nodes.append([(known[path[:-1]], path[-1]) for path in new])
        logits = trees.grow(nodes)
        for row, new in enumerate(added):
            yield from ((logits[row, k], row, path) for k, path in enumerate(new))


def _gap(logits: torch.Tensor, expected: torch.Tensor, *, mean: bool = False) -> float:
    """Return the largest difference of log-probabilities, or of their means; NaN for no number."""
    first, second = (each.float().log_softmax(-1) for each in (logits, expected.to(logits.device)))
    # Tokens that cannot follow have a logit of minus infinity in both.
    gaps = torch.where(first == second, 0.0, first - second).abs()
    return float((second.exp() * gaps).sum(-1).max() if mean else gaps.max())


def _sample(network: Any, n_tokens: int) -> tuple[list[list[int]], list[list[Tokens]]]:
    """Return a text that has so many tokens with what follows it, a short one, and what follows.

    What follows the short one divides, and leaves the batch while the other goes on.
    """
    config = network.config.get_text_config(decoder=True)
    special = {
        token
        for name in ("pad_token_id", "bos_token_id", "eos_token_id")
        for token in np.atleast_1d(getattr(config, name, None) or 0).tolist()
    }
    # Some classes tell padding by its token, which an ordinary text does not hold.
    size = network.get_input_embeddings().num_embeddings
    words = [token for token in range(size) if token not in special] or list(range(size))
    drawn = np.random.default_rng(0).choice(words, n_tokens + 1).tolist()
    # A network may have no room for all of it.
    n_path = min(_LONGEST_PATH, n_tokens // 3)
    text, path, half = drawn[: n_tokens - n_path], tuple(drawn[n_tokens - n_path : -1]), n_path // 2
    n_common = max(1, min(_COMMON, len(text) - 1))
    paths = [[path], [path[:half], (*path[: half // 2], drawn[-1])]]
    return [text, [*text[:n_common], text[-1]]], paths
