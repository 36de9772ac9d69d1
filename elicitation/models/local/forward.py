"""The pass of a network over texts before anything is drawn or scored.

Texts are padded on the left, with explicit positions; each distinct one is read once, and a
beginning that all of them share once for all.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from coherence.errors import InputError

# Below this a common beginning does not pay for the forward pass of its own.
_SHORTEST_COMMON = 16
# Tokens after the common beginning that tell groups of texts apart, such as framings of a question.
_TELLING = 2


def check_fits(network: Any, n_tokens: int, what: str) -> None:
    """Raise `InputError` where a text exceeds the context of a network."""
    # Networks without learnt or scaled positions state no limit.
    limit = getattr(network.config, "max_position_embeddings", None)
    if limit is not None and n_tokens > limit:
        raise InputError(
            f"{what} exceeds the model's context of {limit} tokens. "
            "Use shorter texts or a smaller max_new_tokens."
        )


def sees_everything(cache: Any) -> bool:
    """Return whether every layer sees all tokens before: no sliding window, no recurrent state."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


@dataclass
class TextsRead:
    """Texts that a network has read."""

    cache: Any  # keys and values, one row per text
    mask: torch.Tensor  # shape (n_texts, width): 1 where a column of the cache belongs to the text
    lengths: torch.Tensor  # shape (n_texts,): tokens of the texts
    logits: torch.Tensor  # shape (n_texts, size of the vocabulary): for the token after the text


def remembering(network: Any, cache: Any) -> dict[str, Any]:
    """Return the options with which a network reads on from what it has read."""
    # A network may be wrapped, to be watched or spread over devices.
    networks = (part for part in network.modules() if isinstance(part, PreTrainedModel))
    # Before transformers 5.24 the name is `past_key_values`, which later warns and then goes.
    named = "cache" in inspect.signature(type(next(networks, network)).forward).parameters
    return {"cache" if named else "past_key_values": cache, "use_cache": True}


def read_texts(network: Any, texts: Sequence[Sequence[int]]) -> TextsRead:
    """Have texts read."""
    distinct = list(dict.fromkeys(map(tuple, texts)))
    device, cache = network.device, DynamicCache(config=network.config)
    # Padding after a common beginning would take up the room of tokens in a sliding window.
    common = _common_beginning(distinct) if len(distinct) > 1 and sees_everything(cache) else 0
    options = remembering(network, cache) | {"logits_to_keep": 1}
    if common:
        start = torch.tensor([distinct[0][:common]], device=device)
        network(
            input_ids=start,
            attention_mask=torch.ones_like(start),
            position_ids=torch.arange(common, device=device)[None],
            **options,
        )
        cache.batch_repeat_interleave(len(distinct))
    width = max(map(len, distinct)) - common
    ids = torch.zeros((len(distinct), width), dtype=torch.long)
    mask = torch.zeros((len(distinct), common + width), dtype=torch.long)
    mask[:, :common] = 1
    for i, text in enumerate(distinct):
        ids[i, width + common - len(text) :] = torch.tensor(text[common:])
        mask[i, width + 2 * common - len(text) :] = 1
    ids, mask = ids.to(device), mask.to(device)
    # Positions count the text's own tokens: networks with learnt positions would otherwise answer
    # differently for every amount of padding.
    positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, common:]
    output = network(input_ids=ids, attention_mask=mask, position_ids=positions, **options)
    logits = output.logits[:, -1]
    if len(distinct) < len(texts):
        row_of = {text: i for i, text in enumerate(distinct)}
        index = torch.tensor([row_of[tuple(text)] for text in texts], device=device)
        cache.batch_select_indices(index)
        mask, logits = mask[index], logits[index]
    return TextsRead(cache, mask, mask.sum(-1), logits)


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
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    return shared


def _common_beginning(texts: list[tuple[int, ...]]) -> int:
    """Return how many tokens all texts begin with; 0 where they are too few to pay."""
    # All others lie between these two in order, so they share what the two share.
    shared = n_shared(min(texts), max(texts))
    # One token of every text is left to be read, for the logits after it.
    shared = min(shared, min(map(len, texts)) - 1)
    return shared if shared >= _SHORTEST_COMMON else 0
