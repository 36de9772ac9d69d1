"""Tokenizers of a few tokens and random networks, small enough to enumerate every text."""

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from elicitation import CausalModel

SHARED = {"<pad>": None, "<end>": None} | {char: char.encode() for char in "012.a"}
# Token -> its bytes; None ends the text. Byte-level: Ġ is a blank, Ã© the two bytes of é.
BYTE_LEVEL = SHARED | {"Ġ": b" ", "Ã": b"\xc3", "©": b"\xa9", "10": b"10", "12": b"12"}
BYTE_LEVEL |= {"Ġ1": b" 1", "1.": b"1.", "Ã©": b"\xc3\xa9", "a1": b"a1", ".2": b".2"}
# SentencePiece: ▁ is a blank, and <0x31> is a second way to write "1".
SENTENCE_PIECE = SHARED | {"▁": b" ", "<0xC3>": b"\xc3", "<0xA9>": b"\xa9", "é": b"\xc3\xa9"}
SENTENCE_PIECE |= {"12": b"12", "▁1": b" 1", "1.": b"1.", "<0x31>": b"1", "▁a": b" a"}
MERGED = ("10", "12", "Ġ1", "1.", "Ã©", "a1", ".2", "▁1", "▁a")


def tokenizer_of(tokens, decoder):
    vocabulary = {token: i for i, token in enumerate(tokens)}
    merges = [tuple(token) for token in tokens if token in MERGED]
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    backend.decoder = decoder
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )


def sentence_piece():
    blank = decoders.Replace("▁", " "), decoders.ByteFallback()
    steps = [*blank, decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    return tokenizer_of(SENTENCE_PIECE, decoders.Sequence(steps))


def tiny_network(kind, size, seed, scale, n_positions=64):
    """A random network, whose next token depends on what came before as a trained one's does."""
    torch.manual_seed(seed)
    ends = {"vocab_size": size, "bos_token_id": 1, "eos_token_id": 1}
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": n_positions}
        network = GPT2LMHeadModel(GPT2Config(**shape, **ends))
    else:
        shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
        config = LlamaConfig(**shape, **heads, max_position_embeddings=n_positions, **ends)
        network = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(scale)
    return network.eval()


def tiny_model(network, tokenizer, **options):
    return CausalModel(network, tokenizer, name="tiny", fingerprint="f", **options)
