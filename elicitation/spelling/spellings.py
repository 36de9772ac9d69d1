"""How an outcome can be written, and when a text counts as one of its spellings.

The text of an answer is a byte string, whatever its tokens. An outcome happens if the text begins
with one of its spellings and does not go on in a forbidden way: a digit after a number, a letter
after a word. An answer that names an option by its letter, or an outcome, may begin in many ways.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, product
from typing import Literal

from coherence.errors import InputError

Boundary = Literal["auto", "number", "word", "none"]
BOUNDARIES: tuple[Boundary, ...] = ("auto", "number", "word", "none")
Overlap = Literal["none", "part", "whole"]

_DIGITS = tuple(bytes([byte]) for byte in b"0123456789")
_LETTERS = tuple(bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# First bytes of the blocks of Unicode that hold letters; quotation marks, dashes, signs and emoji
# begin with others.
_LETTER_LEADS = tuple(bytes([byte]) for byte in (*range(0xC3, 0xE2), *range(0xE3, 0xEE)))
FORBIDDEN = {
    # "1" is neither 12 nor 1.5 nor 1,000; "1." at the end of a sentence is still 1.
    "number": (*_DIGITS, *(mark + digit for mark in (b".", b",") for digit in _DIGITS)),
    "word": (*_LETTERS, *_DIGITS, *_LETTER_LEADS),
    "none": (),
}


@dataclass(frozen=True)
class Spelling:
    """One way to write an outcome."""

    outcome: str  # the outcome
    text: bytes  # what the answer begins with, in UTF-8
    # what must not follow directly; none of them begins with another
    forbidden: tuple[bytes, ...] = ()
    # in place of `forbidden`: one of these must follow, unless the answer ends before it does
    ends: tuple[bytes, ...] = ()

    @cached_property
    def open_tails(self) -> frozenset[bytes]:
        """What may follow the text and leave it open whether the outcome happens."""
        return frozenset(
            tail[:end] for tail in self.forbidden or self.ends for end in range(len(tail))
        )

    def overlap(self, longer: "Spelling") -> Overlap:
        """Return how much of the event of `longer` belongs to the event of this spelling too.

        The text of `longer` begins with this one's.
        """
        # What `longer` has beyond this text is what the answer goes on with.
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
        return "whole" if all(part.startswith(longer.forbidden) for part in rest) else "part"


@dataclass(frozen=True)
class Collision:
    """Two spellings of which one begins with the other."""

    # first, second: the shorter and the longer one
    first: Spelling
    second: Spelling
    overlap: Overlap  # how much of the longer one's event belongs to the shorter one's too


def spellings_of(
    outcomes: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    boundary: Boundary = "auto",
    leading_space: bool = True,
    ignore_case: bool = False,
) -> list[Spelling]:
    """List the spellings of outcomes."""
    if boundary not in BOUNDARIES:
        raise InputError(f"boundary must be one of {', '.join(BOUNDARIES)}; received {boundary!r}.")
    # Its characters would pass for outcomes.
    if isinstance(outcomes, str):
        raise InputError(
            "outcomes must be a sequence or a mapping; "
            f"received the single string {outcomes!r}. Put it into a list."
        )
    # A mapping cannot name an outcome twice; a sequence can, and is then refused.
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
                f"outcome {outcome!r} must have one or more spellings that are not empty; "
                f"received {texts!r}."
            )
        forms = list(texts)
        if ignore_case:
            forms = [
                form
                for text in texts
                for form in (text, text.lower(), text.upper(), text.capitalize())
            ]
        # Many tokenizers put the blank before a word into the word's own token.
        if leading_space:
            forms += [f" {form}" for form in forms if not form.startswith(" ")]
        listed = []
        for form in dict.fromkeys(forms):
            kind: Boundary = boundary
            if boundary == "auto":
                last = form[-1]
                kind = "number" if last.isdigit() else "word" if last.isalpha() else "none"
            listed.append(Spelling(outcome, form.encode(), FORBIDDEN[kind]))
        spellings += _without_covered(listed)
    return spellings


def _without_covered(spellings: list[Spelling]) -> list[Spelling]:
    """Leave out spellings of one outcome whose event another contains: they would count twice."""
    covered = set()
    for collision in collisions_of(spellings):
        if collision.overlap == "part":
            raise InputError(
                f"spellings {collision.first.text.decode()!r} and "
                f"{collision.second.text.decode()!r} of outcome {collision.first.outcome!r} "
                "overlap in part. Leave one out, or choose another boundary."
            )
        if collision.overlap == "whole":
            covered.add(collision.second)
    return [spelling for spelling in spellings if spelling not in covered]


def collisions_of(spellings: Sequence[Spelling]) -> list[Collision]:
    """List the pairs of spellings of which one begins with the other."""
    # Only a shorter text can be the beginning of a longer one.
    by_length = sorted(spellings, key=lambda spelling: len(spelling.text))
    # `combinations` keeps the order: the first of a pair is never the longer one.
    return [
        Collision(first, second, first.overlap(second))
        for first, second in combinations(by_length, 2)
        if second.text.startswith(first.text)
    ]


def require_exclusive(spellings: Sequence[Spelling]) -> None:
    """Refuse spellings of outcomes that overlap: their probabilities would exceed their sum."""
    for collision in collisions_of(spellings):
        if collision.overlap != "none":
            first, second = collision.first, collision.second
            raise InputError(
                "outcomes must exclude each other; "
                f"{first.outcome!r} written {first.text.decode()!r} overlaps with "
                f"{second.outcome!r} written {second.text.decode()!r}. Choose another boundary, "
                "or other spellings."
            )


_LEADS = (
    "",
    "\n",
    "\n\n",
    "Answer: ",
    "**Answer:** ",
    "**Answer: ",
    "Option ",
    "The answer is ",
    "The correct answer is ",
)
_MARKS = ("", "(", "**", "**(", "[")
"""What a chat model may put before the letter that it chooses."""
_SENTENCE = tuple(f" {letter}".encode() for letter in string.ascii_lowercase)
_OPENING_MARKS = ("", "**", '"', "(")
# An outcome stands alone: "1: 30%", "1. The coin shows 0", "man or woman" begin with one and do not
# choose it. Behind it come at most a stop, a closing mark and two blanks, and the line ends.
_STOPS = ("", ".", "!")
_CLOSING_MARKS = ("", "*", "**", '"', ")")
_ENDS = tuple(
    dict.fromkeys(
        "".join(parts).encode()
        for marks in ((_STOPS, _CLOSING_MARKS), (_CLOSING_MARKS, _STOPS))
        for parts in product(*marks, ("", " ", "  "), "\r\n")
    )
)


def letter_spellings(letters: Sequence[str]) -> list[Spelling]:
    """List the ways in which an answer may begin that chooses an option by its letter."""
    forms = {
        letter: [lead + mark + letter for lead in _LEADS for mark in _MARKS] for letter in letters
    }
    return [
        replace(spelling, forbidden=(*spelling.forbidden, *_SENTENCE))
        for spelling in spellings_of(forms, boundary="word")
    ]


@cache
def opening_spellings(outcomes: tuple[str, ...]) -> list[Spelling]:
    """List the ways in which an answer may begin that gives one of some outcomes."""
    forms = {}
    for outcome in outcomes:
        # Blanks at the end of a line show nowhere; two are a line's end in Markdown.
        spaced = [outcome.replace("\n", end) for end in ("\n", "\n\n", " \n", "  \n")]
        # A single letter counts as it stands: a small one is a word as well.
        turned = (str.lower, str.upper, str.capitalize) if len(outcome) > 1 else ()
        cases = dict.fromkeys(
            case for text in spaced for case in (text, *(turn(text) for turn in turned))
        )
        forms[outcome] = [
            *(mark + case for mark in _OPENING_MARKS for case in cases),
            *(lead + mark + outcome for lead in _LEADS if lead for mark in _OPENING_MARKS),
        ]
    return [replace(spelling, forbidden=(), ends=_ENDS) for spelling in spellings_of(forms)]


def opened_with(
    text: str, outcomes: Sequence[str], *, cut: bool = False
) -> tuple[str | None, str, bool]:
    """Read a drawn answer as `opening_spellings` has it: the same event, of one text.

    It is the outcome, what follows, and whether it was cut where the line might have gone on.
    """
    said = text.encode("utf-8", "replace")
    for spelling in opening_spellings(tuple(outcomes)):
        if not said.startswith(spelling.text):
            continue
        rest = said[len(spelling.text) :]
        if rest in spelling.open_tails:
            return (None, "", True) if cut else (spelling.outcome, rest.decode(), False)
        if rest.startswith(spelling.ends):
            return spelling.outcome, rest.decode("utf-8", "replace"), False
    return None, text, False
