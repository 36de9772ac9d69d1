"""Every way in which a model can spell an outcome, token by token.

The text of an answer is a byte string, whatever its tokens. An outcome happens if the text begins
with one of its spellings and does not go on in a forbidden way (a digit after a number, a letter
after a word). After some tokens that is decided, one way or the other, or still open; this module
lists the open states, the tokens that lead from one to the next, and the ranges of tokens that
decide in favour of a spelling. A token may reach past the end of a spelling ("Yes." in one token),
and special tokens end the text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from elicitation.spelling.vocabulary import Vocabulary

Boundary = Literal["auto", "number", "word", "none"]
BOUNDARIES: tuple[Boundary, ...] = ("auto", "number", "word", "none")
Range = tuple[int, int]

_DIGITS = tuple(bytes([byte]) for byte in b"0123456789")
_LETTERS = tuple(bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# First bytes of the blocks of Unicode that hold letters; quotation marks, dashes, signs and emoji
# begin with others.
_LETTER_LEADS = tuple(bytes([byte]) for byte in (*range(0xC3, 0xE2), *range(0xE3, 0xEE)))
_FORBIDDEN = {
    # "1" is neither 12 nor 1.5 nor 1,000; "1." at the end of a sentence is still 1.
    "number": (*_DIGITS, *(mark + digit for mark in (b".", b",") for digit in _DIGITS)),
    "word": (*_LETTERS, *_DIGITS, *_LETTER_LEADS),
    "none": (),
}


@dataclass(frozen=True)
class Spelling:
    """One way to write an outcome.

    Parameters
    ----------
    outcome : str
        The outcome.
    text : bytes
        What the answer begins with, in UTF-8.
    forbidden : tuple of bytes
        What must not follow directly; none of them begins with another.
    """

    outcome: str
    text: bytes
    forbidden: tuple[bytes, ...] = ()

    @property
    def open_tails(self) -> frozenset[bytes]:
        """What may follow the text and leave it open whether something forbidden does."""
        return frozenset(
            forbidden[:end] for forbidden in self.forbidden for end in range(len(forbidden))
        )

    def overlap(self, longer: "Spelling") -> Literal["none", "part", "whole"]:
        """Return how much of the event of `longer`, whose text begins with this one's, belongs to the event of this one too."""
        tail = longer.text[len(self.text) :]
        if any(tail.startswith(forbidden) for forbidden in self.forbidden):
            return "none"
        if tail not in self.open_tails:
            return "whole"
        # Open: `longer` lies within this one if it forbids by itself all that this one forbids
        # further on.
        rest = [
            forbidden[len(tail) :] for forbidden in self.forbidden if forbidden.startswith(tail)
        ]
        return (
            "whole"
            if all(any(part.startswith(other) for other in longer.forbidden) for part in rest)
            else "part"
        )


@dataclass(frozen=True)
class Collision:
    """Two spellings of which one begins with the other.

    Parameters
    ----------
    first, second : Spelling
        The shorter and the longer one.
    overlap : {"none", "part", "whole"}
        How much of the longer one's event belongs to the shorter one's too.
    """

    first: Spelling
    second: Spelling
    overlap: Literal["none", "part", "whole"]


def spellings_of(
    outcomes: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    boundary: Boundary = "auto",
    leading_space: bool = True,
    ignore_case: bool = False,
) -> list[Spelling]:
    """List the spellings of outcomes.

    Parameters
    ----------
    outcomes : sequence of str, or mapping of str to sequence of str
        Outcomes, or their names with one or more ways to write each.
    boundary : {"auto", "number", "word", "none"}
        What must not follow: "number", a digit, or a point or comma with a digit; "word", a letter
        or a digit; "none", nothing is forbidden. "auto" takes "number" after a digit, "word" after
        a letter, and "none" after anything else.
    leading_space : bool
        Whether each is meant with a blank before it as well.
    ignore_case : bool
        Whether each is meant in lower case, in upper case and with a capital as well.

    Returns
    -------
    list of Spelling
        Distinct, outcome by outcome; one whose event another of the same outcome contains is left
        out.

    Raises
    ------
    InputError
        No outcome, an empty one, or two spellings of one outcome that overlap in part.

    Examples
    --------
    >>> [spelling.text for spelling in spellings_of(["Yes"], ignore_case=True)]
    [b'Yes', b'yes', b'YES', b' Yes', b' yes', b' YES']
    """
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary must be one of {', '.join(BOUNDARIES)}; received {boundary!r}.")
    if isinstance(outcomes, str):
        raise InputError(
            f"outcomes must be a sequence or a mapping; received the single string {outcomes!r}. Put it into a list."
        )
    written = (
        dict(outcomes)
        if isinstance(outcomes, Mapping)
        else {outcome: [outcome] for outcome in outcomes}
    )
    if not written or (not isinstance(outcomes, Mapping) and len(written) < len(outcomes)):
        raise InputError(
            f"outcomes must be distinct and at least one; received {list(outcomes)!r}."
        )
    spellings = []
    for outcome, texts in written.items():
        if isinstance(texts, str) or not texts or not all(texts):
            raise InputError(
                f"outcome {outcome!r} must have one or more spellings that are not empty; received {texts!r}."
            )
        cased = [
            form
            for text in texts
            for form in (
                [text, text.lower(), text.upper(), text.capitalize()] if ignore_case else [text]
            )
        ]
        spaced = (
            [*cased, *(f" {text}" for text in cased if not text.startswith(" "))]
            if leading_space
            else cased
        )
        own = [
            Spelling(
                outcome,
                text.encode(),
                _FORBIDDEN[_boundary_of(text) if boundary == "auto" else boundary],
            )
            for text in dict.fromkeys(spaced)
        ]
        covered = set()
        for collision in collisions_of(own):
            if collision.overlap == "part":
                raise InputError(
                    f"spellings {collision.first.text.decode()!r} and {collision.second.text.decode()!r} of outcome {outcome!r} overlap in part. "
                    "Leave one out, or choose another boundary."
                )
            if collision.overlap == "whole":
                covered.add(collision.second)
        spellings += [spelling for spelling in own if spelling not in covered]
    return spellings


def _boundary_of(text: str) -> Literal["number", "word", "none"]:
    return "number" if text[-1].isdigit() else "word" if text[-1].isalpha() else "none"


def collisions_of(spellings: Sequence[Spelling]) -> list[Collision]:
    """List the pairs of spellings of which one begins with the other.

    Parameters
    ----------
    spellings : sequence of Spelling
        In any order; an equal text of two outcomes is a collision.

    Returns
    -------
    list of Collision
        Shorter before longer.
    """
    by_length = sorted(spellings, key=lambda spelling: len(spelling.text))
    pairs = (
        (first, second)
        for place, first in enumerate(by_length)
        for second in by_length[place + 1 :]
    )
    return [
        Collision(first, second, first.overlap(second))
        for first, second in pairs
        if second.text.startswith(first.text)
    ]


@dataclass(frozen=True, eq=False)
class SpellingGraph:
    """The open states of a set of spellings, and what each token does there.

    Parameters
    ----------
    states : list of bytes
        Texts so far that leave something open; the first is the empty one.
    steps : list of list of (int, int)
        For every state the tokens that keep it open, each with the state it leads to.
    deciding : list of list of (int, int, int)
        For every state ``(spelling, start, stop)``: the places in `Vocabulary.order` of tokens that
        decide in favour of a spelling.
    """

    states: list[bytes]
    steps: list[list[tuple[int, int]]]
    deciding: list[list[tuple[int, int, int]]]

    def count_paths(self) -> int:
        """Return the number of sequences of tokens, one or more, that stay among the open states."""
        below = [0] * len(self.states)
        for state in sorted(range(len(self.states)), key=lambda state: -len(self.states[state])):
            below[state] = sum(1 + below[target] for _, target in self.steps[state])
        return below[0]


def spelling_graph(spellings: Sequence[Spelling], vocabulary: Vocabulary) -> SpellingGraph:
    """Work out the open states of spellings under a vocabulary.

    Parameters
    ----------
    spellings : sequence of Spelling
        The spellings.
    vocabulary : Vocabulary
        Tokens of the model.

    Returns
    -------
    SpellingGraph
        All ways to cut the spellings into tokens, the usual one and all others.
    """
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
    deciding = [
        [(k, *span) for k in alive[state] for span in _deciding(state, spellings[k], vocabulary)]
        for state in states
    ]
    return SpellingGraph(states, steps, deciding)


def count_cuts(text: bytes, vocabulary: Vocabulary) -> int:
    """Return the number of ways to cut a text into tokens of a vocabulary."""
    ways = [1] + [0] * len(text)
    for end in range(1, len(text) + 1):
        ways[end] = sum(
            ways[start] * len(vocabulary.ids(text[start:end]))
            for start in range(end)
            if ways[start]
        )
    return ways[-1]


def _deciding(state: bytes, spelling: Spelling, vocabulary: Vocabulary) -> list[Range]:
    """Return where in the order of the vocabulary the tokens lie that decide, at `state`, in favour of `spelling`."""
    if len(state) < len(spelling.text):
        missing = spelling.text[len(state) :]
        still_open = [missing + tail for tail in spelling.open_tails]
        forbidden = [missing + tail for tail in spelling.forbidden]
        whole = vocabulary.beginning(missing)
    else:
        tail = state[len(spelling.text) :]
        still_open = [
            other[len(tail) :]
            for other in spelling.open_tails
            if other.startswith(tail) and other != tail
        ]
        forbidden = [other[len(tail) :] for other in spelling.forbidden if other.startswith(tail)]
        whole = (0, vocabulary.size)  # tokens without text are among these: the answer ends here
    taken = [vocabulary.beginning(text) for text in forbidden] + [
        vocabulary.exactly(text) for text in still_open
    ]
    return _without(whole, taken)


def _without(whole: Range, taken: Iterable[Range]) -> list[Range]:
    """Return what is left of a range."""
    left, position = [], whole[0]
    for start, stop in sorted(taken):
        if start > position:
            left.append((position, start))
        position = max(position, stop)
    if position < whole[1]:
        left.append((position, whole[1]))
    return left


@dataclass(frozen=True)
class Part:
    """A part of an outcome's probability: the answers whose first tokens are these, and whose next token decides.

    Parameters
    ----------
    text : int
        Position of the text.
    spelling : int
        Position of the spelling.
    tokens : tuple of int
        Tokens before the one that decides.
    mass : float
        Probability of the part.
    """

    text: int
    spelling: int
    tokens: tuple[int, ...]
    mass: float


@dataclass(frozen=True, eq=False)
class SpellingMasses:
    """Probabilities of spellings after texts.

    Parameters
    ----------
    masses : ndarray, shape (n_texts, n_spellings)
        Probabilities.
    unresolved : ndarray, shape (n_texts,)
        Probability of the token sequences that were given up: what any of the masses may lack at
        most.
    parts : list of Part
        What the masses are made of; empty unless asked for.
    """

    masses: NDArray[np.float64]
    unresolved: NDArray[np.float64]
    parts: list[Part]
