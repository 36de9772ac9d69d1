"""Every way in which a model can spell an outcome, token by token.

After some tokens it is decided whether a text is one of the spellings of an outcome, one way or the
other, or it is still open. This module lists the open states, the tokens that lead from one to the
next, and the ranges of tokens that decide in favour of a spelling. A token may reach past the end
of a spelling ("Yes." in one token), and special tokens end the text. Unusual tokenizations count:
without them beliefs of models whose tokens have several digits move by up to .004
(measured at commit 947a9e32).

A vocabulary is byte strings, sorted: tokens that begin alike lie side by side. One of a byte-level
vocabulary may be a part of a character, so that texts are compared as UTF-8 bytes and never as
decoded strings. Two families are read: byte-level (GPT-2, Llama 3, Qwen) and SentencePiece with its
mark for a blank and its byte tokens (Llama 2, Mistral, Gemma).
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from elicitation.spelling.forms import Spelling

_BLANK = "\u2581"  # SentencePiece's mark
_CHECKED_TOKENS = 1000


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a model as byte strings."""

    # bytes of every token id that the model can draw; None for what is no text: special tokens,
    # unused ids
    spelling: Sequence[bytes | None]

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

    def ids(self, text: bytes) -> Sequence[int]:
        """Return the tokens that are exactly `text`; a vocabulary may spell it more than once."""
        return self._sorted_ids[slice(*self.exactly(text))]

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
        return len(self._sorted_texts), len(self.spelling)

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
            if i < size and i not in special and byte_level:
                spelling[i] = _byte_level(token)
            elif i < size and i not in special:
                spelling[i] = _sentence_piece(token, "ByteFallback" in kinds)
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


# As of GPT-2: a printable byte stands for itself, the others are characters from 256 on.
_PLAIN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_BYTE_OF = {chr(byte): byte for byte in _PLAIN}
_BYTE_OF |= {chr(256 + i): byte for i, byte in enumerate(sorted({*range(256)} - {*_PLAIN}))}


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
    decoded = ((i, text, text.decode(errors="replace")) for i, text in enumerate(spelling) if text)
    whole = [(i, shown) for i, text, shown in decoded if shown.encode() == text]
    # Decoded after a letter or digit, because some decoders strip a leading blank.
    anchor = next(((i, text) for i, text in whole if text.isascii() and text.isalnum()), None)
    if anchor is None:
        raise InputError(
            "exact probabilities need a vocabulary with a token of letters or digits; "
            "this one has none. Use a complete tokenizer."
        )
    for i, text in whole[:: max(1, len(whole) // _CHECKED_TOKENS)]:
        made = tokenizer.decode([anchor[0], i], clean_up_tokenization_spaces=False)
        if made != anchor[1] + text:
            raise InputError(
                f"token {i} should decode to {text!r} after {anchor[1]!r}, "
                f"and the tokenizer makes it {made!r}. Its decoder changes texts "
                "in a way that exact probabilities do not cover; use another tokenizer."
            )


Range = tuple[int, int]
# What a text lacks of a spelling, what it has beyond it, and what must or must not follow.
_Ending = tuple[bytes, bytes, tuple[bytes, ...], tuple[bytes, ...]]


@dataclass(frozen=True, eq=False)
class SpellingGraph:
    """The open states of a set of spellings, and what each token does there."""

    states: list[bytes]  # texts so far that leave something open; the first is the empty one
    # for every state the tokens that keep it open, each with the state it leads to
    steps: list[list[tuple[int, int]]]
    # for every state ``(spelling, start, stop)``: the places in `Vocabulary.order` of tokens that
    # decide in favour of a spelling.
    deciding: list[list[tuple[int, int, int]]]
    # For every state a number, the same where the same outcomes are still open by the same texts:
    # after "0.3" and " 0.3".
    kinds: list[int]


def spelling_graph(spellings: Sequence[Spelling], vocabulary: Vocabulary) -> SpellingGraph:
    """Work out the open states of spellings under a vocabulary."""
    # A state is open while the text is not complete, and as long as what follows it may still turn
    # into something forbidden.
    alive: dict[bytes, list[int]] = {b"": []}
    for k, spelling in enumerate(spellings):
        heads = [spelling.text[:end] for end in range(len(spelling.text))]
        for state in [*heads, *(spelling.text + tail for tail in sorted(spelling.open_tails))]:
            alive.setdefault(state, []).append(k)
    # Shorter states first, so that the empty one is the first; what no token leads to does no harm.
    states = sorted(alive, key=lambda state: (len(state), state))
    number = {state: i for i, state in enumerate(states)}
    steps: list[list[tuple[int, int]]] = [[] for _ in states]
    for target in states[1:]:
        for end in range(len(target)):
            source = number.get(target[:end])
            if source is not None:
                steps[source] += [(token, number[target]) for token in vocabulary.ids(target[end:])]
    # Spellings that end alike are decided by the same tokens: " Heads", "Heads" and "heads".
    known: dict[_Ending, list[Range]] = {}
    deciding: list[list[tuple[int, int, int]]] = []
    kinds: dict[frozenset[tuple[str, _Ending]], int] = {}
    kind_of: list[int] = []
    for state in states:
        deciding.append([])
        open_here = set()
        for k in alive[state]:
            spelling = spellings[k]
            missing, tail = spelling.text[len(state) :], state[len(spelling.text) :]
            key = missing, tail, spelling.forbidden, spelling.ends
            if key not in known:
                known[key] = _deciding(missing, tail, spelling, vocabulary)
            deciding[-1] += [(k, *span) for span in known[key]]
            open_here.add((spelling.outcome, key))
        kind_of.append(kinds.setdefault(frozenset(open_here), len(kinds)))
    return SpellingGraph(states, steps, deciding, kind_of)


def _deciding(
    missing: bytes, tail: bytes, spelling: Spelling, vocabulary: Vocabulary
) -> list[Range]:
    """Return the places, in the order of the vocabulary, of tokens that decide for `spelling`.

    `missing` is what the text so far lacks of it, `tail` what it has beyond it; one is empty.
    """
    if missing:
        whole = vocabulary.beginning(missing)
        if whole[0] == whole[1]:  # as most: few tokens reach to the end of a spelling
            return []
        still_open = [missing + tail for tail in spelling.open_tails]
        forbidden = [missing + tail for tail in spelling.forbidden]
    else:
        still_open = [
            other[len(tail) :]
            for other in spelling.open_tails
            if other.startswith(tail) and other != tail
        ]
        forbidden = [other[len(tail) :] for other in spelling.forbidden if other.startswith(tail)]
        # Tokens without text are among these: the answer ends here.
        whole = (0, len(vocabulary.spelling))
    if spelling.ends:
        ends = [missing + end[len(tail) :] for end in spelling.ends if end.startswith(tail)]
        spans = [vocabulary.beginning(end) for end in ends]
        if not missing:
            spans.append(vocabulary.ending)
        return [(start, stop) for start, stop in spans if start < stop]
    # A token that goes on in a forbidden way decides against the spelling however it ends; one that
    # is exactly an open tail decides nothing yet.
    against = [vocabulary.beginning(text) for text in forbidden]
    undecided = [vocabulary.exactly(text) for text in still_open]
    return _without(whole, [*against, *undecided])


def _without(whole: Range, taken: Iterable[Range]) -> list[Range]:
    """Return what is left of a range; the ranges taken from it may overlap."""
    # In order, so that one pass over them suffices.
    left, position = [], whole[0]
    for start, stop in sorted(taken):
        if start > position:
            left.append((position, start))
        position = max(position, stop)
    if position < whole[1]:
        left.append((position, whole[1]))
    return left


@dataclass(frozen=True, eq=False)
class SpellingMasses:
    """Probabilities of spellings after texts."""

    masses: NDArray[np.float64]  # shape (n_texts, n_spellings): probabilities
    # shape (n_texts,): probability of the token sequences that were not read: how far any outcome's
    # mass may be off at most
    unresolved: NDArray[np.float64]
