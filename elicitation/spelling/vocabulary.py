"""A tokenizer's vocabulary as byte strings, sorted: tokens that begin alike lie side by side.

A token of a byte-level vocabulary may be a part of a character, so that texts are compared as UTF-8
bytes and never as decoded strings. Two families are read: byte-level (GPT-2, Llama 3, Qwen) and
SentencePiece with its mark for a blank and its byte tokens (Llama 2, Mistral, Gemma).
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError

_BLANK = "\u2581"  # SentencePiece's mark
_CHECKED_TOKENS = 1000


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a model as byte strings."""

    # bytes of every token id that the model can draw; None for what is no text: special tokens,
    # unused ids
    spelling: Sequence[bytes | None]

    @property
    def size(self) -> int:
        """Number of token ids."""
        return len(self.spelling)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Token ids in the order of their bytes, those without text last."""
        ends = [i for i, text in enumerate(self.spelling) if not text]
        return np.array([*self._sorted_ids, *ends], dtype=np.int64)

    @cached_property
    def _sorted_ids(self) -> list[int]:
        return [i for _, i in sorted((text, i) for i, text in enumerate(self.spelling) if text)]

    @cached_property
    def _sorted_texts(self) -> list[bytes]:
        return [self.spelling[i] or b"" for i in self._sorted_ids]

    @cached_property
    def _ids_of(self) -> dict[bytes, list[int]]:
        ids_of: dict[bytes, list[int]] = {}
        for i, text in enumerate(self.spelling):
            if text:
                ids_of.setdefault(text, []).append(i)
        return ids_of

    def ids(self, text: bytes) -> Sequence[int]:
        """Return the tokens that are exactly `text`; a vocabulary may spell it more than once."""
        return self._ids_of.get(text, ())

    def exactly(self, text: bytes) -> tuple[int, int]:
        """Return the places in `order` of the tokens that are exactly `text`."""
        # No byte string lies between a text and the same text with a zero byte behind it.
        return bisect_left(self._sorted_texts, text), bisect_left(self._sorted_texts, text + b"\0")

    def beginning(self, text: bytes) -> tuple[int, int]:
        """Return the places in `order` of the tokens that begin with `text`, which is not empty."""
        after = text.rstrip(b"\xff")  # the least string above all that begin with `text`
        last = (
            len(self._sorted_texts)
            if not after
            else bisect_left(self._sorted_texts, after[:-1] + bytes([after[-1] + 1]))
        )
        return bisect_left(self._sorted_texts, text), last

    @property
    def ending(self) -> tuple[int, int]:
        """The places in `order` of the tokens without text, which end the answer."""
        return len(self._sorted_texts), self.size

    @classmethod
    def of(cls, tokenizer: Any, size: int) -> "Vocabulary":
        """Read the vocabulary of a tokenizer."""
        # Slow tokenizers of transformers lack the attribute.
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise InputError(
                "exact probabilities need a fast tokenizer; "
                f"received {type(tokenizer).__name__}. Convert it to tokenizer.json."
            )
        steps = list(_decoders(json.loads(backend.to_str())["decoder"]))
        kinds = [kind for kind, _ in steps]
        byte_level = "ByteLevel" in kinds
        if not byte_level and "Metaspace" not in kinds and ("Replace", _BLANK) not in steps:
            raise InputError(
                "exact probabilities need a byte-level or a SentencePiece tokenizer; "
                f"the decoder of this one is {', '.join(kinds) or 'none'}. "
                "Use a model with such a tokenizer."
            )
        # Special tokens are no text, whatever they look like: they end the answer.
        special = set(tokenizer.all_special_ids) | {
            i for i, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        spelling: list[bytes | None] = [None] * size
        for token, i in tokenizer.get_vocab().items():
            if i < size and i not in special:
                spelling[i] = (
                    _byte_level(token)
                    if byte_level
                    else _sentence_piece(token, "ByteFallback" in kinds)
                )
        # The rules above are ours; the tokenizer itself has the last word.
        _check(tokenizer, spelling)
        return cls(spelling)


def _decoders(decoder: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the kind of every step of a decoder, with what a replacing step replaces."""
    if decoder is None:
        return
    if decoder["type"] == "Sequence":
        for step in decoder["decoders"]:
            yield from _decoders(step)
    else:
        yield decoder["type"], decoder.get("pattern", {}).get("String", "")


def _printable_bytes() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for."""
    # As of GPT-2: a printable byte stands for itself, the others are characters from 256 on.
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


_BYTE_OF = _printable_bytes()


def _byte_level(token: str) -> bytes:
    # A token added as text, with a blank in it for instance, is not in the alphabet: the decoder
    # leaves it as it is.
    return (
        bytes(_BYTE_OF[char] for char in token)
        if all(char in _BYTE_OF for char in token)
        else token.encode()
    )


def _sentence_piece(token: str, has_bytes: bool) -> bytes:
    if has_bytes and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace(_BLANK, " ").encode()


def _check(tokenizer: Any, spelling: Sequence[bytes | None]) -> None:
    """Compare with what the tokenizer decodes, over tokens spread evenly."""
    whole = [(i, text.decode()) for i, text in enumerate(spelling) if text and _is_utf8(text)]
    # Decoded after a letter or digit, because some decoders strip a leading blank.
    anchor = next(((i, text) for i, text in whole if text.isascii() and text.isalnum()), None)
    if anchor is None:
        raise InputError(
            "exact probabilities need a vocabulary with a token of letters or digits; "
            "this one has none. Use a complete tokenizer."
        )
    for i, text in whole[:: max(1, len(whole) // _CHECKED_TOKENS)]:
        decoded = tokenizer.decode([anchor[0], i], clean_up_tokenization_spaces=False)
        if decoded != anchor[1] + text:
            raise InputError(
                f"token {i} should decode to {text!r} after {anchor[1]!r}, "
                f"and the tokenizer makes it {decoded!r}. Its decoder changes texts "
                "in a way that exact probabilities do not cover; use another tokenizer."
            )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
