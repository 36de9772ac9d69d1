"""A small multiple-choice model with random weights, for lessons that run on any processor.

It has a tokenizer of its own, which knows the words of the texts that it is made from and nothing
else: what a car is worth, say, it must be taught.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coherence.errors import InputError, MissingExtraError
from elicitation.models.local.saving import save_network

try:
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMultipleChoice, PreTrainedTokenizerFast
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Making a small model") from error

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


@dataclass(frozen=True)
class Shape:
    """Size of a small model."""

    # hidden, inner, layers, heads: shape of the transformer; `hidden` is a multiple of `heads`
    hidden: int = 64
    inner: int = 128
    layers: int = 2
    heads: int = 4
    dropout: float = 0.0  # share of activations left out in training


def make_multiple_choice(
    folder: str | os.PathLike[str],
    texts: Sequence[str],
    *,
    shape: Shape | None = None,
    longest: int = 128,
    seed: int = 0,
) -> None:
    """Write a model of BERT's kind with random weights, and a tokenizer of one token per word."""
    if isinstance(texts, str) or not texts:
        raise InputError(f"texts must be a list of one or more texts; received {texts!r}.")
    if seed < 0:
        raise InputError(f"seed must be at least 0; received {seed}.")
    shape = shape or Shape()
    tokenizer = _word_tokenizer(texts, longest)
    torch.manual_seed(seed)
    network: Any = BertForMultipleChoice(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            max_position_embeddings=longest,
            hidden_dropout_prob=shape.dropout,
            attention_probs_dropout_prob=shape.dropout,
            initializer_range=0.1,  # BERT's own 0.02 is made for ten times the width
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    # Words begin nearly alike, so that what lessons about value teach them outweighs what is theirs
    # by chance, and rules that are learnt on some things hold for others.
    with torch.no_grad():
        network.bert.embeddings.word_embeddings.weight.mul_(0.1)
    save_network(network, tokenizer, Path(folder))


def _word_tokenizer(texts: Sequence[str], longest: int) -> Any:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        # Sorted, because words that are equally frequent are numbered in the order of arrival.
        sorted(set(texts)),
        trainers.WordLevelTrainer(special_tokens=list(_SPECIAL), show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        # Ids are places in _SPECIAL: the trainer numbers special tokens first.
        special_tokens=[(token, _SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=longest,
        # Named, since a tokenizer made from an object would leave out the token types, by which
        # BERT tells the option from the question.
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
