"""One look at a model when it is loaded: how it is read such that its numbers are right.

What a network makes of padding, of a cache, of a mask and of its windows is never assumed from its
name. A few short texts are read in every way that this package has, and each is compared with the
definition: an unpadded pass without a cache. A way that gives other numbers is not used.

A class shows what it does beyond its windows in a text of a few dozen tokens where they are
narrower: a tiny random network of the class is looked at as well, with narrow layers and short
windows. Nothing is known of classes here: sizes are found by the names that configurations give
them, and divided by what leaves a network that reads a text.
"""

import copy
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig

from coherence.errors import CoherenceError, InputError
from elicitation.models.local.forward import (
    ALONE,
    ROOT,
    MaskedTrees,
    ReadingMode,
    context_size,
    n_shared,
    network_within,
    plain_logits,
    positions_turn,
    require_numbers,
)
from elicitation.models.local.loading import quiet_transformers
from elicitation.models.local.memory import is_out_of_memory

_WORDS = 96
_EXPERTS = 32  # some classes choose two or more in each of eight groups
_DEPTH = 8
_MOST_WEIGHTS = 30_000_000
_NARROWER = (32, 16, 8, 4, 2, 1)
_IS_WINDOW = re.compile(r"window|chunk|block_size|local_att|index_topk")
_IS_WIDTH = re.compile(
    r"hidden|intermediate|inner|ffn|embd|embed|dim|_size$|rank|width|(^|_)d_(?!conv)"
)
_IS_NO_WIDTH = re.compile(r"kernel|position|layer|heads|num_|batch|type_|group")


def tiny_twin(
    kind: type[torch.nn.Module], config: PreTrainedConfig, *, window: int = 16
) -> torch.nn.Module | None:
    """Return a tiny random network of a class, or None where no attempt reads a text.

    Its layers with a window, or anything alike, see `window` tokens at most.
    """
    for narrower, depth in product(_NARROWER, (_DEPTH, None)):
        # A size that cannot be divided ends in any of a dozen errors, from any line of the class.
        try:
            small = _shrunk(config, narrower, depth, window)
            small.validate()
            with torch.device("meta"):
                if sum(weight.numel() for weight in kind(small).parameters()) > _MOST_WEIGHTS:
                    continue
            twin = _filled(kind(small))
            with torch.inference_mode():
                logits = twin(input_ids=5 + torch.arange(2 * window)[None] % 32).logits
        except Exception:
            continue
        if logits.isfinite().all():
            return twin
    return None


def least_window(config: PreTrainedConfig) -> int | None:
    """Return the least of the windows that a configuration names; None where it names none."""
    named = [
        size
        for name, value in vars(config.get_text_config(decoder=True)).items()
        if _is_window(name) and "pattern" not in name and not name.startswith("_")
        for size in (value if isinstance(value, list | tuple) else [value])
        if type(size) is int and size > 0
    ]
    return min(named, default=None)


def _is_window(name: str) -> bool:
    return bool(_IS_WINDOW.search(name)) and "layer" not in name


def rounding(network: torch.nn.Module) -> float:
    """Return by how much rounding may move log-probabilities of a tiny network.

    Moved by one part in ten million, weights move what Llama says by 1e-5 and what a network with
    gated recurrent layers (Qwen3-Next) says by 1e-2: its random weights amplify.
    """
    generator = torch.Generator().manual_seed(0)
    moved = copy.deepcopy(network)
    with torch.no_grad():
        for weight in moved.parameters():
            noise = torch.randn(weight.shape, generator=generator).to(weight)
            weight.mul_(1 + 1e-7 * noise)
    device = next(network.parameters()).device
    words = torch.randint(5, 37, (8, 64), generator=generator).to(device)
    with torch.inference_mode():
        first, second = (each(input_ids=words).logits.log_softmax(-1) for each in (network, moved))
    return float((first - second).nan_to_num(0.0).abs().max())


def _filled(network: torch.nn.Module) -> torch.nn.Module:
    """Give the weights a size at which a token more or less changes what is read."""
    network = network.float().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() < 2:
                continue
            scale = weight.shape[-1] ** -0.5 if weight.std() > 0 else 0.0
            if scale:  # what a class begins with is kept but for its size
                weight.mul_(scale / weight.std())
            else:
                weight.normal_(std=weight.shape[-1] ** -0.5, generator=generator)
    return network


def _shrunk(
    config: PreTrainedConfig, narrower: int, depth: int | None, window: int
) -> PreTrainedConfig:
    """Return a configuration with small sizes, or with the depth that it has."""
    small = copy.deepcopy(config)
    # Weights of full precision: quantised ones need libraries, and are no matter of the class.
    vars(small).pop("quantization_config", None)
    for name, value in list(vars(small).items()):
        if isinstance(value, PreTrainedConfig):
            setattr(small, name, _shrunk(value, narrower, depth, window))
        elif type(value) is int and not name.startswith("_"):
            setattr(small, name, _size(name, value, narrower, window))
    n_layers = getattr(small, "num_hidden_layers", None)
    if depth is not None and isinstance(n_layers, int) and n_layers > depth:
        of_layers = {
            name: value
            for name, value in vars(small).items()
            if isinstance(value, list) and len(value) == n_layers
        }
        # Long enough to have every kind of layer.
        for kinds in of_layers.values():
            if all(isinstance(kind, str) for kind in kinds):
                depth = max(depth, *(kinds.index(kind) + 1 for kind in set(kinds)))
        for name, value in of_layers.items():
            setattr(small, name, value[:depth])
        small.num_hidden_layers = depth
    return small


def _size(name: str, value: int, narrower: int, window: int) -> int:
    """Return what an entry of a configuration becomes."""
    if _is_window(name):
        return min(value, window)
    if "vocab_size" in name and "type" not in name:
        return min(value, _WORDS)
    if name.endswith("token_id"):
        return value if value < _WORDS else 2
    if "experts" in name and "_per_" not in name:
        return min(value, _EXPERTS)
    if _IS_WIDTH.search(name) and not _IS_NO_WIDTH.search(name):
        return value // narrower if value > narrower and value % narrower == 0 else value
    return value


Tokens = tuple[int, ...]
logger = logging.getLogger(__name__)

# Largest difference of log-probabilities in single precision: far more than rounding, far less than
# a wrong mask.
_GAP = 1e-3
# Of a twin many times what rounding moves: a class whose cached step computes a little otherwise
# than a pass (Zamba2, Nemotron-H) is off by a hundred times that, and little more than 1e-3.
_GAP_OF_TWIN, _ROUNDINGS, _MOST_OF_TWIN = 1e-4, 30, 0.05
# Half precision and quantised weights move with the shape of a batch, improbable tokens by .5 and
# more: there it is the mean under the probabilities. Rounding gives SmolLM2 .07 in bfloat16, an
# unheeded mask or position .5 to 2; what is finer, a twin in single precision shows.
_GAP_OF_HALF = 0.25

# Tokens that all texts of a look begin with: more than the windows of a twin have, and so many that
# what is padded behind them comes into the next chunk of 16.
_COMMON = 28
_TAILS = (9, 1)
# Half precision hides what a masked network of little weights says of a token that follows; its
# twin shows it in texts that are shorter than any window.
_SHORT = 8
_NARROW = 16
"""Tokens that a layer with a window sees in a twin that reads beyond it ..."""
_WIDE = 128
"""... and in one whose texts and trees lie within it."""
Paths = tuple[tuple[str, ...], ...]
# What follows each text, a token a letter; two differ in their last token alone.
_PATHS: Paths = (("abc", "abd"), ("e",))
# A twin steps further: what is little at first is more with every token.
_PATHS_OF_TWIN: Paths = (("abceadbaecdbaecbdea", "abd"), ("e",))


def check_network(network: Any, *, name: str) -> ReadingMode:
    """Return how a network is read, or raise where it gives no probabilities of continuations.

    What is found out of a prompt, a tokenizer or a template is in `prompts.examine_prompt`.
    """
    with quiet_transformers():
        look = _look_at(network, name)
        twin = _twin_look(network_within(network), str(network.device))
        if not look.is_causal() or (twin is not None and not twin.begins_causally()):
            if network_within(network).training:
                raise InputError(
                    f"{name} is in training mode, in which its numbers are drawn anew each time. "
                    "Call network.eval() first."
                )
            raise InputError(
                f"{name} is a masked language model, or another that reads what follows: the "
                "words after a place change what it says there, so that it has no probabilities "
                "of continuations. Use a causal language model."
            )
        reading = _fastest(look, twin)
        if reading.batched and not reading.takes_trees and twin is not None:
            reading = _within_windows(network, look, reading)
    if not reading.batched:
        logger.warning(
            "%s gives other numbers in a batch or with a cache than by itself. Its texts are read "
            "one at a time, from the beginning for every token: right, and slower.",
            name,
        )
    return replace(reading, up_to=positions_turn(network)) if reading.batched else reading


def _look_at(network: Any, name: str) -> "_Look":
    """Read texts by themselves, or say in a line why that cannot be done."""
    quantized = getattr(network_within(network), "is_quantized", False)
    try:
        precise = network.dtype == torch.float32 and not quantized
        look = _Look(network, _PATHS, bound=_GAP if precise else None)
    except Exception as error:
        if is_out_of_memory(error):
            raise CoherenceError(
                f"memory does not suffice for a text of {_COMMON} tokens. "
                "Use a smaller model or dtype."
            ) from error
        raise InputError(
            f"{name} cannot be asked: a short text by itself, without padding or cache, ends in "
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}. Use another model."
        ) from error
    for of_text in look.logits:
        for logits in of_text.values():
            require_numbers(logits)
    return look


def _fastest(look: "_Look", twin: "_Look | None") -> ReadingMode:
    """Return the fastest way of reading that is right for a network and for its twin."""
    looks = [look] if twin is None else [look, twin]

    def is_right(reading: ReadingMode) -> bool:
        return all(each.is_right(reading) for each in looks)

    # A window may lie beyond the texts of a look. Where no twin shows it, texts are padded on the
    # left alone: what stands between two tokens is then what stands there in the text by itself.
    if twin is not None and is_right(ReadingMode()):
        return ReadingMode()
    padded = ReadingMode(shares_beginnings=False, takes_trees=False)
    for reading in (padded, replace(padded, steps_by_whole_mask=False)):
        if not is_right(reading):
            continue
        for further in ("shares_beginnings", "takes_trees"):
            faster = replace(reading, **{further: True})
            if twin is not None and is_right(faster):
                reading = faster
        return reading
    return ALONE


def _within_windows(network: Any, look: "_Look", reading: ReadingMode) -> ReadingMode:
    """Return a reading with trees as long as no window leaves any of their columns out."""
    inner = network_within(network)
    window, trees = least_window(inner.config), replace(reading, takes_trees=True)
    if window is None or not look.is_right(trees):
        return reading
    wide = _twin_look(inner, str(network.device), window=_WIDE)
    return reading if wide is None or not wide.is_right(trees) else replace(trees, window=window)


class _Look:
    """A network and what it says of some texts when they are read by themselves."""

    def __init__(self, network: Any, paths: Paths, *, bound: float | None) -> None:
        self.network, self.bound = network, bound  # of every token; None in half precision
        self.tried: dict[ReadingMode, bool] = {}
        self.texts, self.paths = _sample(network, paths)
        with torch.inference_mode():
            self.logits = [
                {path: plain_logits(network, [*text, *path]) for path in paths}
                for text, paths in zip(self.texts, self.paths, strict=True)
            ]

    def is_causal(self) -> bool:
        """Return whether tokens leave what is said before them as it is."""
        first, second = self.paths[0][:2]
        n_same = len(self.texts[0]) + n_shared(first, second)
        return self._is_same(*(self.logits[0][path][:n_same] for path in (first, second)))

    def begins_causally(self) -> bool:
        """Return whether tokens leave what is said before them in texts shorter than any window.

        Beyond it some classes let a whole text choose what its places see (Doge, DeepSeek-V3.2).
        """
        text, paths = self.texts[0][:_SHORT], self.paths[0][:2]
        with torch.inference_mode():
            return self._is_same(
                *(plain_logits(self.network, [*text, path[-1]])[:-1] for path in paths)
            )

    def is_right(self, reading: ReadingMode) -> bool:
        """Return whether a way of reading gives what the texts by themselves give."""
        if reading not in self.tried:
            # Where it does not take an option, a network fails in a way of its own.
            try:
                with torch.inference_mode():
                    self.tried[reading] = all(self._compare(reading))
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                self.tried[reading] = False
        return self.tried[reading]

    def _compare(self, reading: ReadingMode) -> Iterator[bool]:
        """Yield whether the texts by themselves give the same, one read after the other."""
        rows = range(len(self.texts))
        trees = MaskedTrees(self.network, self.texts, reading=reading)
        # Read on apart from the trees, which grow in the cache.
        read = copy.copy(trees.start)
        read.cache = copy.deepcopy(read.cache)
        yield self._is_plain(read.logits, [(row, ()) for row in rows])
        firsts = [paths[0] for paths in self.paths]
        read.step([path[0] for path in firsts])
        yield self._is_plain(read.logits, [(row, firsts[row][:1]) for row in rows])
        # An answer that is complete leaves the batch.
        going = [row for row in rows if len(firsts[row]) > 1]
        read.keep(going)
        for n_read in range(2, 1 + min(len(firsts[row]) for row in going)):
            read.step([firsts[row][n_read - 1] for row in going])
            yield self._is_plain(read.logits, [(row, firsts[row][:n_read]) for row in going])
        if not reading.takes_trees:
            return
        numbers: list[dict[Tokens, int]] = [{(): ROOT} for _ in rows]
        n_grown = 0
        longest = max(len(path) for row in self.paths for path in row)
        # A second time on what has grown, and once more behind the texts alone.
        for lengths in (range(1, 2), range(2, 1 + longest), range(2, 1 + longest)):
            if numbers[0].get(firsts[0]) is not None:
                trees.most_columns = trees.n_columns
            added = [
                list(dict.fromkeys(path[:n] for n in lengths for path in paths if len(path) >= n))
                for paths in self.paths
            ]
            for row in rows:
                numbers[row] |= {path: n_grown + k for k, path in enumerate(added[row])}
            logits = trees.grow(
                [[(numbers[row][path[:-1]], path[-1]) for path in added[row]] for row in rows]
            )
            n_grown += logits.shape[1]
            for row in rows:
                if added[row]:
                    at_nodes = logits[row, : len(added[row])]
                    yield self._is_plain(at_nodes, [(row, path) for path in added[row]])

    def _is_plain(self, logits: torch.Tensor, places: Sequence[tuple[int, Tokens]]) -> bool:
        """Return whether logits are those of texts by themselves."""
        plain = []
        for row, beginning in places:
            n_read = len(self.texts[row]) + len(beginning)
            path = next(path for path in self.paths[row] if path[: len(beginning)] == beginning)
            plain.append(self.logits[row][path][n_read - 1])
        return self._is_same(logits, torch.stack(plain))

    def _is_same(self, logits: torch.Tensor, plain: torch.Tensor) -> bool:
        """Return whether two arrays of logits agree but for rounding; NaN agrees with nothing."""
        first, second = logits.float().log_softmax(-1), plain.float().log_softmax(-1)
        # Tokens that cannot follow have a logit of minus infinity in both.
        gaps = torch.where(first == second, 0.0, first - second).abs()
        if self.bound is not None:
            return bool(gaps.max() < self.bound)
        return bool((second.exp() * gaps).sum(-1).max() < _GAP_OF_HALF)


def _sample(network: Any, paths: Paths) -> tuple[list[list[int]], list[list[Tokens]]]:
    """Return texts of unequal length with a beginning in common, and what follows each."""
    config = network.config.get_text_config(decoder=True)
    special = {
        token
        for name in ("pad_token_id", "bos_token_id", "eos_token_id")
        for token in np.atleast_1d(getattr(config, name, None) or 0).tolist()
    }
    # Some classes tell padding by its token, which an ordinary text does not hold.
    size = network.get_input_embeddings().num_embeddings
    words = [token for token in range(size) if token not in special] or list(range(size))
    rng = np.random.default_rng(0)
    # A network may have no room for all of it.
    longest = max(_TAILS) + max(len(path) for row in paths for path in row)
    rooms = [room for room in (context_size(network), positions_turn(network)) if room is not None]
    n_common = max(1, min([_COMMON, *(room - longest for room in rooms)]))
    drawn = iter(rng.choice(words, n_common + sum(_TAILS)).tolist())
    common = list(islice(drawn, n_common))
    texts = [[*common, *islice(drawn, tail)] for tail in _TAILS]
    letters = sorted(set("".join(sum(paths, ()))))
    spaced = np.linspace(0, len(words) - 1, len(letters)).round().astype(int)
    token_of = {letter: words[k] for letter, k in zip(letters, spaced, strict=True)}
    return texts, [[tuple(map(token_of.__getitem__, path)) for path in row] for row in paths]


_latest_twins: dict[tuple[str, str, str], dict[int, _Look | None]] = {}


def _twin_look(network: Any, device: str, *, window: int = _NARROW) -> _Look | None:
    """Look at a tiny twin, once for the models of a configuration; None where none can be made."""
    kind, config = type(network), network.config
    key = (kind.__qualname__, config.to_json_string(), device)
    if key not in _latest_twins:
        _latest_twins.clear()
    looks = _latest_twins.setdefault(key, {})
    if window not in looks:
        # Random numbers of the user's own go on as if nothing had been drawn.
        with torch.random.fork_rng(devices=[]), quiet_transformers():
            torch.manual_seed(0)
            twin = tiny_twin(kind, config, window=window)
        try:
            looks[window] = None if twin is None else _look_at_twin(twin.to(device))
        except Exception:
            looks[window] = None
    return looks[window]


def _look_at_twin(twin: torch.nn.Module) -> _Look:
    bound = min(max(_GAP_OF_TWIN, _ROUNDINGS * rounding(twin)), _MOST_OF_TWIN)
    return _Look(twin, _PATHS_OF_TWIN, bound=bound)
