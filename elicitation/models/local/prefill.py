"""The reading of texts before anything is drawn or scored: left-padded, each distinct text once, and a common beginning once for all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

# Below this a common beginning does not pay for the forward pass of its own.
_SHORTEST_COMMON = 16


def sees_everything(cache: Any) -> bool:
    """Return whether every layer sees all tokens before: no sliding window, no recurrent state."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


@dataclass
class Prefilled:
    """Texts that a network has read.

    Parameters
    ----------
    cache : transformers.Cache
        Keys and values, one row per text.
    mask : torch.Tensor, shape (n_texts, width)
        1 where a column of the cache belongs to the text.
    lengths : torch.Tensor, shape (n_texts,)
        Tokens of the texts.
    logits : torch.Tensor, shape (n_texts, size of the vocabulary)
        For the token after the text.
    """

    cache: Any
    mask: torch.Tensor
    lengths: torch.Tensor
    logits: torch.Tensor


def prefill(network: Any, texts: Sequence[Sequence[int]]) -> Prefilled:
    """Have texts read.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode.
    texts : sequence of sequence of int
        Token ids, one or more in each.

    Returns
    -------
    Prefilled
        One row per text, in order.
    """
    distinct = list(dict.fromkeys(map(tuple, texts)))
    device, cache = network.device, DynamicCache(config=network.config)
    # Padding after a common beginning would take up the room of tokens in a sliding window.
    common = _common_beginning(distinct) if len(distinct) > 1 and sees_everything(cache) else 0
    options = {"past_key_values": cache, "use_cache": True, "logits_to_keep": 1}
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
    positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, common:]
    logits = network(input_ids=ids, attention_mask=mask, position_ids=positions, **options).logits[
        :, -1
    ]
    if len(distinct) < len(texts):
        place = {text: i for i, text in enumerate(distinct)}
        index = torch.tensor([place[tuple(text)] for text in texts], device=device)
        cache.batch_select_indices(index)
        mask, logits = mask[index], logits[index]
    return Prefilled(cache, mask, mask.sum(-1), logits)


def _common_beginning(texts: list[tuple[int, ...]]) -> int:
    """Return how many tokens all texts begin with, less than the shortest has; 0 where they are too few to pay."""
    first, last = (
        min(texts),
        max(texts),
    )  # all others lie between them in order, so they share what these two share
    shared = next(
        (k for k, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        min(len(first), len(last)),
    )
    shared = min(shared, min(map(len, texts)) - 1)
    return shared if shared >= _SHORTEST_COMMON else 0
