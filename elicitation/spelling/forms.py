"""Forms of an answer, as data: how it begins, which answers there are, and where they end.

A form lists its answers with all usual spellings, so that a model can be asked for the probability
of each, or have its answer masked to them. Events exclude each other: an answer's number is the
longest one that it begins with, so that 0.3 is not the beginning of 0.35, nor 1 that of 1/2 or 1%.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from coherence.errors import InputError
from elicitation.spelling.spellings import FORBIDDEN, Spelling, collisions_of, spellings_of

FormKind = Literal["lines", "number", "decision", "choice"]
ABLE, DECISION = "Can decide", "Decision"

_DIGITS = tuple(bytes([byte]) for byte in b"0123456789")
# What would make another number of it: more digits, a sign of percent, an exponent.
_AFTER_DECIMALS = (*_DIGITS, b"%", b" %", b" per", b"e", b"E")
# Of a whole number also decimals, thousands, and fractions: 1/2, 1 in 10, 1 out of 5.
_AFTER_WHOLE = (
    *_AFTER_DECIMALS,
    *(mark + digit for mark in (b".", b",") for digit in _DIGITS),
    *(b"/", b" /", b" in ", b" of ", b" out of"),
)
_PERCENT = ("%", " %", " percent")
_NUMBER = r"(?:0(?:\.[0-9]{1,2})?|1(?:\.0{1,2})?)"
_YES_NO = ("Yes", "No")


@dataclass(frozen=True)
class FormPart:
    """One thing that a model is asked to go on with.

    Parameters
    ----------
    prefill : str
        What the answer has begun with.
    spellings : tuple of Spelling
        What it may go on with; their outcomes are the names of the answers.
    """

    prefill: str
    spellings: tuple[Spelling, ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Names of the answers, in order."""
        return tuple(dict.fromkeys(spelling.outcome for spelling in self.spellings))


@dataclass(frozen=True)
class AnswerForm:
    """What an answer must look like.

    Parameters
    ----------
    kind : {"lines", "number", "decision", "choice"}
        A line ``<label>: <probability>`` for each label; one probability; the two lines of a
        decision; one of several options.
    labels : tuple of str
        Labels of the lines, or the options; of a number and a decision none.
    """

    kind: FormKind
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        several = self.kind in ("lines", "choice")
        distinct = {label.casefold() for label in self.labels}
        if several and (len(self.labels) < 2 or len(distinct) < len(self.labels)):
            raise InputError(
                f"a form of kind {self.kind!r} must have two or more labels that differ; "
                f"received {list(self.labels)}."
            )

    @property
    def pattern(self) -> str:
        """Regular expression of a whole answer, in the plainest spelling of each part."""
        if self.kind == "number":
            return _NUMBER
        if self.kind == "decision":
            either = f"(?:{'|'.join(_YES_NO)})"
            return f"{ABLE}: {either}\n{DECISION}: {either}"
        if self.kind == "choice":
            return f"(?:{'|'.join(map(re.escape, self.labels))})"
        return "\n".join(f"{re.escape(label)}: {_NUMBER}" for label in self.labels)

    @cached_property
    def parts(self) -> tuple[FormPart, ...]:
        """What a model is asked to go on with; all of it together makes the answer.

        The number on the first of two lines says what must be on the second. Of more lines each is
        asked for by itself, as if it came first.
        """
        if self.kind == "number":
            return (FormPart("", _numbers()),)
        if self.kind == "decision":
            return (FormPart(f"{ABLE}:", tuple(_decisions())),)
        if self.kind == "choice":
            return (FormPart("", _options(self.labels)),)
        asked = self.labels[:1] if len(self.labels) == 2 else self.labels
        return tuple(FormPart(f"{label}:", _numbers()) for label in asked)

    @cached_property
    def digest(self) -> str:
        """Digest of all that the probabilities of answers depend on."""
        listed = [
            [
                part.prefill,
                *(
                    (s.outcome, s.text.hex(), [f.hex() for f in s.forbidden])
                    for s in part.spellings
                ),
            ]
            for part in self.parts
        ]
        return hashlib.sha256(json.dumps([self.kind, self.labels, listed]).encode()).hexdigest()

    def write(self, outcomes: Sequence[str]) -> str:
        r"""Return an answer in this form.

        Parameters
        ----------
        outcomes : sequence of str
            Name of the answer to each of `parts`.

        Returns
        -------
        str
            The whole answer, in the plainest spelling.

        Examples
        --------
        >>> AnswerForm("lines", ("No", "Yes")).write(["0.30"])
        'No: 0.30\nYes: 0.70'
        """
        if self.kind != "lines":
            return outcomes[0]
        numbers = list(outcomes)
        if len(self.labels) == 2:
            numbers.append(f"{1 - float(numbers[0]):.2f}")
        return "\n".join(
            f"{label}: {number}" for label, number in zip(self.labels, numbers, strict=True)
        )


def _numbers() -> tuple[Spelling, ...]:
    """Return the spellings of the probabilities with at most two decimals, named like 0.30."""
    spellings = []
    for hundredth in range(101):
        name = f"{hundredth / 100:.2f}"
        whole, decimals = name.split(".")
        # 0.30 is 0.3 as well, and .30 is .3.
        short = [decimals[:1]] if decimals[1] == "0" else []
        texts = [f"{whole}.{digits}" for digits in (decimals, *short)]
        if whole == "0":
            texts += [f".{digits}" for digits in (decimals, *short)]
        listed = [Spelling(name, text.encode(), _AFTER_DECIMALS) for text in texts]
        if decimals == "00":
            listed.append(Spelling(name, whole.encode(), _AFTER_WHOLE))
        listed += [Spelling(name, f"{hundredth}{sign}".encode()) for sign in _PERCENT]
        spellings += [spelling for plain in listed for spelling in _with_blank(plain)]
    return tuple(spellings)


def _decisions() -> Iterator[Spelling]:
    """Yield the spellings of what follows the first label of a decision."""
    words = {word: (word, word.lower(), word.upper()) for word in _YES_NO}
    for able, decision in product(_YES_NO, _YES_NO):
        name = f"{ABLE}: {able}\n{DECISION}: {decision}"
        for first, end, blank, second in product(
            words[able], ("\n", " \n", "\n\n"), (" ", ""), words[decision]
        ):
            text = f"{first}{end}{DECISION}:{blank}{second}"
            yield from _with_blank(Spelling(name, text.encode(), FORBIDDEN["word"]))


def _options(options: tuple[str, ...]) -> tuple[Spelling, ...]:
    """Return the spellings of options; the longest option that an answer begins with is meant."""
    spellings = spellings_of(options, ignore_case=True)
    exclusive = []
    for spelling in spellings:
        longer = [
            other.text[len(spelling.text) :]
            for other in spellings
            if other.outcome != spelling.outcome
            and other.text.startswith(spelling.text)
            and other.text != spelling.text
        ]
        exclusive.append(
            Spelling(spelling.outcome, spelling.text, _shortest({*spelling.forbidden, *longer}))
        )
    for collision in collisions_of(exclusive):
        if collision.overlap != "none":
            raise InputError(
                f"options {collision.first.outcome!r} and {collision.second.outcome!r} cannot be "
                "told apart by how an answer begins. Word them otherwise."
            )
    return tuple(exclusive)


def _shortest(texts: set[bytes]) -> tuple[bytes, ...]:
    """Return the texts of which no other one is a beginning."""
    return tuple(
        sorted(
            text
            for text in texts
            if not any(text.startswith(other) for other in texts if other != text)
        )
    )


def _with_blank(spelling: Spelling) -> Iterator[Spelling]:
    """Yield a spelling, and the same one after a blank."""
    yield spelling
    yield Spelling(spelling.outcome, b" " + spelling.text, spelling.forbidden)
