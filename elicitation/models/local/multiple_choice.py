"""Probabilities of given options from a multiple-choice model (BERT and its kin) in this process.

Such a model reads a question together with an option and gives one score; the softmax over the
scores of a question's options is its probability distribution. Every pair is scored by itself, so
neither the other options nor the batch change a score. It cannot write text.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMultipleChoice

from coherence.errors import InputError
from elicitation.models.base import Answer, Request, require_requests
from elicitation.models.local.forward import learnt_positions
from elicitation.models.local.loading import (
    UNQUANTISED,
    find_source,
    load_network,
)

# Tokenizers that know no limit carry a number of this size.
_NO_LIMIT = 10**9


def load_multiple_choice_model(
    model: str | os.PathLike[str],
    *,
    revision: str | None = None,
    batch_size: int = 64,
    dtype: str = "auto",
    device: str = "auto",
    device_map: str | Mapping[str, Any] | None = None,
) -> "MultipleChoiceModel":
    """Load a multiple-choice model and its tokenizer; as `load_causal_model`.

    Weights must have a multiple-choice head; `batch_size` counts pairs of question and option.
    """
    if batch_size < 1:
        raise InputError(f"batch_size must be positive; received {batch_size}.")
    source = find_source(model, revision=revision)
    network, tokenizer, dtype = load_network(
        source,
        AutoModelForMultipleChoice,
        dtype=dtype,
        device=device,
        device_map=device_map,
        as_what="multiple-choice model",
        # An encoder that was never taught to choose would get a head of random numbers.
        remedy="Use a model that was trained with a multiple-choice head.",
    )
    require_padding(tokenizer, source.label)
    return MultipleChoiceModel(
        network,
        tokenizer,
        name=source.name,
        fingerprint=source.fingerprint(f"multiple_choice;dtype={dtype}{UNQUANTISED}"),
        batch_size=batch_size,
    )


class MultipleChoiceModel:
    """A model that weighs given options, in evaluation mode, its tokenizer with a padding token.

    It is made by `load_multiple_choice_model`; `batch_size` counts pairs per forward pass.
    """

    def __init__(
        self, network: Any, tokenizer: Any, *, name: str, fingerprint: str, batch_size: int = 64
    ) -> None:
        self.network, self.tokenizer = network, tokenizer
        self.name, self.fingerprint, self.batch_size = name, fingerprint, batch_size
        # Beyond it an embedding would fail with an index error, or a tokenizer cut in silence.
        self.longest = longest_input(network, tokenizer)

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Raise: such a model writes no text."""
        require_requests(requests)
        raise InputError(
            f"model {self.name} weighs given options and cannot write an answer to "
            f"{len(requests)} texts. Use a causal model; this one is asked by coherence bets."
        )

    def pair_scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the score of each text joined with one option, shape (n,).

        Scores are logits, whose softmax over the options of a text are its probabilities; their
        logistic transform is the normalised score of Tang and Kejriwal, "Can Language
        Representation Models Think in Bets?", section 4.2. Raises `InputError` where a text and an
        option do not fit into the model.
        """
        scores = np.zeros(len(pairs))
        if not pairs:
            return scores
        texts, options = map(list, zip(*pairs, strict=True))
        lengths = [len(ids) for ids in self.tokenizer(texts, options)["input_ids"]]
        if max(lengths) > self.longest:
            raise InputError(
                f"a text with its option has {max(lengths)} tokens and exceeds the {self.longest} "
                f"of model {self.name}. Use shorter texts."
            )
        # Pairs of similar length share a batch: each is padded to the longest of its batch.
        order = sorted(range(len(pairs)), key=lambda i: lengths[i])
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            encoded = self.tokenizer(
                [texts[i] for i in rows],
                [options[i] for i in rows],
                padding=True,
                return_tensors="pt",
            )
            # One option at a time: heads score each option by itself, and a batch then need not
            # hold all options of a question.
            batch = {
                name: values[:, None].to(self.network.device) for name, values in encoded.items()
            }
            with torch.inference_mode():
                scores[rows] = self.network(**batch).logits[:, 0].double().cpu().numpy()
        return scores


def require_padding(tokenizer: Any, label: str) -> None:
    """Refuse a tokenizer that cannot pad; `label` is what messages call the model."""
    if tokenizer.pad_token_id is None:
        raise InputError(
            f"{label} needs a tokenizer with a padding token; it has none. "
            "Set pad_token in its tokenizer_config.json."
        )


def longest_input(network: Any, tokenizer: Any) -> int:
    """Return how many tokens fit: by what the tokenizer states, and by the table of positions."""
    positions = learnt_positions(network) or _NO_LIMIT
    return int(min(_NO_LIMIT, tokenizer.model_max_length, positions))
