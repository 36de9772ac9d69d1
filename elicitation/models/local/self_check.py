"""One comparison in a loaded network: how it is read such that its numbers are right.

What a network makes of padding, of a cache, of a mask and of its windows is never assumed from its
name. Two texts, one of them as long as the longest that is to be read, are read in every way that
this package has, the fastest first, and compared with the definition: an unpadded pass without a
cache. A way that gives other numbers is not used. Rounding in half precision would hide what is
little, so weights are taken to single precision meanwhile, where memory suffices.
"""

import copy
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import psutil
import torch

from coherence.errors import CoherenceError, InputError
from elicitation.models.local.forward import (
    ALONE,
    ROOT,
    MaskedTrees,
    ReadingMode,
    context_size,
    is_out_of_memory,
    network_within,
    plain_logits,
    require_numbers,
)
from elicitation.models.local.loading import quiet_transformers

Tokens = tuple[int, ...]
logger = logging.getLogger(__name__)

# Largest difference of log-probabilities in single precision: far more than rounding, far less than
# a wrong mask.
_GAP, _WIDEST_GAP = 1e-3, 0.05
# Half precision and quantised weights move with the shape of a batch, improbable tokens by .5 and
# more: there it is the mean under the probabilities. Rounding gives SmolLM2 .07 in bfloat16, an
# unheeded mask or position .5 to 2.
_GAP_OF_HALF = 0.25
_STEP = 64  # a length is compared at the next multiple of it, and every shorter one with it
# Tokens that both texts begin with: so many that what is padded behind them comes into the next
# chunk of 16.
_COMMON = 28
# What follows the long and the short text, a token a letter. The short one divides, and leaves the
# batch while the other goes on, since what is little at first is more with every token.
_PATHS = (("abceadbaecdb",), ("abcead", "abd"))
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
        size = size if self.context is None else min(size, self.context)
        self.check()
        with _looking():
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
        try:
            with _looking():
                causal = _is_causal(self.network)
        except Exception as error:
            self._refuse(error, _COMMON)
        if not causal:
            raise InputError(
                f"{self.name} is a masked language model, or another that reads what follows: the "
                "words after a place change what it says there, so that it has no probabilities "
                "of continuations. Use a causal language model."
            )
        self.is_checked = True

    def _compare(self, n_tokens: int) -> ReadingMode:
        """Return the fastest way that gives what plain passes give; say where there is none."""
        quantized = getattr(network_within(self.network), "is_quantized", False)
        precisely = self.network.dtype == torch.float32 and not quantized
        for bound in (_GAP,) if precisely else (None,) if quantized else (_GAP, None):
            try:
                with _single_precision(self.network, bound is not None):
                    comparison = _Comparison(self.network, n_tokens, bound)
                    # In half precision a window that is exceeded by little would not show.
                    ways = _WAYS[self.window is not None and n_tokens >= self.window :]
                    right = next(filter(comparison.is_right, ways), ALONE)
                    if right != ways[0] and comparison.allows_rounding():
                        right = next(filter(comparison.is_right, ways), ALONE)
            except Exception as error:
                if bound is None or precisely:
                    self._refuse(error, n_tokens)
            else:
                break
        if not right.batched and not any(not way.batched for way in self.found.values()):
            logger.warning(
                "%s gives other numbers in a batch or with a cache than by itself. Its texts are "
                "read one at a time, from the beginning for every token: right, and slower.",
                self.name,
            )
        return right

    def _refuse(self, error: Exception, n_tokens: int) -> NoReturn:
        """Say in a line why a text by itself cannot be read."""
        if is_out_of_memory(error):
            raise CoherenceError(
                f"memory does not suffice for a text of {n_tokens} tokens. "
                "Use a smaller model or dtype."
            ) from error
        if isinstance(error, CoherenceError):
            raise error
        raise InputError(
            f"{self.name} cannot be asked: a text by itself, without padding or cache, ends in "
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}. Use another model."
        ) from error


@contextmanager
def _looking() -> Iterator[None]:
    with quiet_transformers(), torch.inference_mode(False), torch.no_grad():
        yield


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

    (tokens, *_), _ = _sample(network, min(_COMMON, context_size(network) or _COMMON))
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
    first, second = (
        plain_logits(network, [*tokens[:-1], last])[:-1].float().log_softmax(-1)
        for last in (tokens[-1], tokens[0])
    )
    return bool((first - second).nan_to_num().abs().max() < _GAP_OF_HALF)


@contextmanager
def _single_precision(network: Any, wanted: bool) -> Iterator[None]:
    """Have weights in single precision meanwhile, which loses nothing there and back."""
    tensors = [*network.parameters(), *network.buffers()] if wanted else []
    kept = [(each, each.data) for each in tensors if each.dtype in (torch.bfloat16, torch.float16)]
    needed = 4 * sum(data.numel() for _, data in kept)
    on_gpu = any(data.is_cuda for _, data in kept)
    free = torch.cuda.mem_get_info()[0] if on_gpu else psutil.virtual_memory().available
    if 2 * needed > free:  # a processor without memory ends the program, with no error to catch
        raise MemoryError
    try:
        for tensor, data in kept:
            tensor.data = data.float()
        yield
    finally:
        for tensor, data in kept:
            tensor.data = data


class _Comparison:
    """What a network says of two texts when they are read by themselves, and otherwise."""

    def __init__(self, network: Any, n_tokens: int, bound: float | None) -> None:
        self.network, self.bound = network, bound  # of every token; None in half precision
        self.texts, self.paths = _sample(network, n_tokens)
        self.plain: dict[tuple[int, Tokens], torch.Tensor] = {}  # after a text and what follows it
        for row, paths in enumerate(self.paths):
            for path in paths:
                logits = plain_logits(network, [*self.texts[row], *path], last=len(path) + 1)
                require_numbers(logits)
                after = {(row, path[:end]): each for end, each in enumerate(logits)}
                self.plain = after | self.plain

    def allows_rounding(self) -> bool:
        """Widen the bound to what rounding moves, where that is more; return whether it is.

        Some networks amplify it, and ties of experts turn.
        """
        if self.bound is None:
            return False

        def move(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            signs = 1 - 2 * (torch.arange(output.numel(), device=output.device) % 2)
            return output * (1 + 1e-6 * signs.reshape(output.shape))

        hook = self.network.get_input_embeddings().register_forward_hook(move)
        (path,), before = self.paths[0], self.bound
        try:
            moved = plain_logits(self.network, [*self.texts[0], *path], last=len(path) + 1)
        finally:
            hook.remove()
        still = torch.stack([self.plain[0, path[:end]] for end in range(len(path) + 1)])
        self.bound = max(before, min(5 * _gap(moved, still), _WIDEST_GAP))
        return self.bound > before

    def is_right(self, way: ReadingMode) -> bool:
        """Return whether a way of reading gives what the texts by themselves give."""
        try:
            return all(self._is_plain(*read) for read in self._reads(way))
        except Exception as error:
            # Where it does not take an option, a network fails in a way of its own.
            if is_out_of_memory(error):
                raise
            return False

    def _reads(self, way: ReadingMode) -> Iterator[tuple[torch.Tensor, list[tuple[int, Tokens]]]]:
        """Yield logits, one read after the other, each with the texts and what follows them."""
        trees, rows = MaskedTrees(self.network, self.texts, reading=way), range(len(self.texts))
        # Read on apart from the trees, which grow in the cache.
        read = copy.copy(trees.start)
        read.cache = copy.deepcopy(read.cache)
        yield read.logits, [(row, ()) for row in rows]
        firsts, going = [paths[0] for paths in self.paths], list(rows)
        for n_read in range(1, 1 + max(map(len, firsts))):
            # An answer that is complete leaves the batch.
            if any(len(firsts[row]) < n_read for row in going):
                read.keep([k for k, row in enumerate(going) if len(firsts[row]) >= n_read])
                going = [row for row in going if len(firsts[row]) >= n_read]
            read.step([firsts[row][n_read - 1] for row in going])
            yield read.logits, [(row, firsts[row][:n_read]) for row in going]
        if not way.takes_trees:
            return
        numbers: list[dict[Tokens, int]] = [{(): ROOT} for _ in rows]
        n_grown, longest = 0, max(map(len, chain.from_iterable(self.paths)))
        # A second time on what has grown, and once more behind the texts alone.
        for lengths in (range(1, 2), range(2, 1 + longest), range(2, 1 + longest)):
            if n_grown > 2:
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
                yield logits[row, : len(added[row])], [(row, path) for path in added[row]]

    def _is_plain(self, logits: torch.Tensor, places: Sequence[tuple[int, Tokens]]) -> bool:
        """Return whether logits are those of texts by themselves; NaN agrees with nothing."""
        expected = torch.stack([self.plain[place] for place in places]).to(logits.device)
        if self.bound is not None:
            return _gap(logits, expected) < self.bound
        return _gap(logits, expected, mean=True) < _GAP_OF_HALF


def _gap(logits: torch.Tensor, expected: torch.Tensor, *, mean: bool = False) -> float:
    """Return the largest difference of log-probabilities, or of their means; NaN for no number."""
    first, second = (each.float().log_softmax(-1) for each in (logits, expected))
    # Tokens that cannot follow have a logit of minus infinity in both.
    gaps = torch.where(first == second, 0.0, first - second).abs()
    return float((second.exp() * gaps).sum(-1).max() if mean else gaps.max())


def _sample(network: Any, n_tokens: int) -> tuple[list[list[int]], list[list[Tokens]]]:
    """Return a text that has so many tokens with what follows it, a short one, and the paths."""
    config = network.config.get_text_config(decoder=True)
    special = {
        token
        for name in ("pad_token_id", "bos_token_id", "eos_token_id")
        for token in np.atleast_1d(getattr(config, name, None) or 0).tolist()
    }
    # Some classes tell padding by its token, which an ordinary text does not hold.
    size = network.get_input_embeddings().num_embeddings
    words = [token for token in range(size) if token not in special] or list(range(size))
    # A network may have no room for all of it.
    paths = [[path[: n_tokens // 3] for path in row] for row in _PATHS]
    n_common = max(1, min(_COMMON, n_tokens - len(paths[1][0]) - 1))
    drawn = np.random.default_rng(0).choice(words, n_tokens - len(paths[0][0]))
    texts = [drawn.tolist(), [*drawn[:n_common].tolist(), int(drawn[-1])]]
    letters = sorted(set("".join(chain.from_iterable(_PATHS))))
    spaced = np.linspace(0, len(words) - 1, len(letters)).round().astype(int)
    token_of = {letter: words[k] for letter, k in zip(letters, spaced, strict=True)}
    return texts, [[tuple(map(token_of.__getitem__, path)) for path in row] for row in paths]
