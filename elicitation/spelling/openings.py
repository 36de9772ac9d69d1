"""The many ways in which an answer may begin that names an option by its letter, or an outcome."""

import string
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from elicitation.spelling.spellings import Spelling, spellings_of

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
