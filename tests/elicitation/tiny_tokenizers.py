"""Tokenizers of a few tokens each, byte-level and SentencePiece, whose texts can be enumerated."""

from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

# Token -> its bytes; None ends the text. Byte-level: Ġ is a blank, Ã© the two bytes of é.
BYTE_LEVEL = {
    "<pad>": None,
    "<end>": None,
    "0": b"0",
    "1": b"1",
    "2": b"2",
    "Ġ": b" ",
    ".": b".",
    "a": b"a",
    "Ã": b"\xc3",
    "©": b"\xa9",
    "10": b"10",
    "12": b"12",
    "Ġ1": b" 1",
    "1.": b"1.",
    "Ã©": b"\xc3\xa9",
    "a1": b"a1",
    ".2": b".2",
}


# SentencePiece: ▁ is a blank, and <0x31> is a second way to write "1".
SENTENCE_PIECE = {
    "<pad>": None,
    "<end>": None,
    "0": b"0",
    "1": b"1",
    "2": b"2",
    "▁": b" ",
    ".": b".",
    "a": b"a",
    "<0xC3>": b"\xc3",
    "<0xA9>": b"\xa9",
    "é": b"\xc3\xa9",
    "12": b"12",
    "▁1": b" 1",
    "1.": b"1.",
    "<0x31>": b"1",
    "▁a": b" a",
}


MERGES = {
    "10": ("1", "0"),
    "12": ("1", "2"),
    "Ġ1": ("Ġ", "1"),
    "1.": ("1", "."),
    "Ã©": ("Ã", "©"),
    "a1": ("a", "1"),
    ".2": (".", "2"),
    "▁1": ("▁", "1"),
    "▁a": ("▁", "a"),
}


def tokenizer_of(tokens, decoder):
    backend = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[MERGES[token] for token in tokens if token in MERGES],
        )
    )
    backend.decoder = decoder
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )


def sentence_piece():
    steps = [
        decoders.Replace("▁", " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(" ", 1, 0),
    ]
    return tokenizer_of(SENTENCE_PIECE, decoders.Sequence(steps))
