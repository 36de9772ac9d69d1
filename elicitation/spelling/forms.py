"""Forms of an answer, as data: how it begins, which answers there are, and where they end.

A form lists its answers with all usual spellings, so that a model can be asked for the probability
of each, or have its answer masked to them. Events exclude each other: an answer's number is the
longest one that it begins with, so that 0.3 is not the beginning of 0.35, nor 1 that of 1/2 or 1%.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Literal

from coherence.errors import InputError
from elicitation.spelling.spellings import (
    FORBIDDEN,
    Spelling,
    collisions_of,
    letter_spellings,
    opening_spellings,
    require_exclusive,
    spellings_of,
)

FormKind = Literal[
    "lines", "number", "decision", "choice", "labels", "outcomes", "letters", "openings", "options"
]
BY_LABEL = ("labels", "outcomes", "letters", "openings", "options")
"""Kinds whose answers are known by their labels alone, in stores too."""
Masses = Mapping[str, float]


class Mark(StrEnum):
    """Ends the name of what is read of a label, where that is not the label as it stands."""

    LETTER = ")"  # in all the forms of `letter_spellings`
    OPENING = "$"  # in all the forms of `opening_spellings`
    BEGINNING = "…"  # of longer numbers, too: 1 is also 10 and 12


ABLE, DECISION = "Can decide", "Decision"

# What must not follow a number directly, for it would make another number of it, or may: 0.355,
# 0.5%, 0.5 percent, 1/2, 1 in 10, 1e-3. Single characters, so that the next token decides: what is
# still open after it takes a further pass for each of a hundred numbers.
_AFTER_DECIMALS = (*FORBIDDEN["word"], *(bytes([byte]) for byte in b" %/-+^"))
_AFTER_WHOLE = (*_AFTER_DECIMALS, b".", b",")
_YES_NO = ("Yes", "No")


_MARKS = {"letters": Mark.LETTER, "openings": Mark.OPENING}


@dataclass(frozen=True)
class FormPart:
    """One thing that a model is asked to go on with."""

    prefill: str  # what the answer has begun with
    # what it may go on with; their outcomes are the names of the answers
    spellings: tuple[Spelling, ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Names of the answers, in order."""
        return tuple(dict.fromkeys(spelling.outcome for spelling in self.spellings))


@dataclass(frozen=True)
class AnswerForm:
    """What an answer must look like."""

    # a line ``<label>: <probability>`` for each label; one probability; the two lines of a
    # decision; one of several options. Then what is only ever read: the label that an answer begins
    # with, in any case; the outcome that a text goes on with, closely; letters of options, and
    # outcomes, in all their forms; options that are scored one by one.
    kind: FormKind
    # labels of the lines, or the options; of a number and a decision none
    labels: tuple[str, ...] = ()
    ignore_case: bool = False  # whether outcomes count in any case

    def __post_init__(self) -> None:
        several = self.kind in ("lines", "choice")
        distinct = {label.casefold() for label in self.labels}
        if several and (len(self.labels) < 2 or len(distinct) < len(self.labels)):
            raise InputError(
                f"a form of kind {self.kind!r} must have two or more labels that differ; "
                f"received {list(self.labels)}."
            )

    @cached_property
    def parts(self) -> tuple[FormPart, ...]:
        """What a model is asked to go on with; all of it together makes the answer.

        The number on the first of two lines says what must be on the second. Of more lines each is
        asked for by itself, as if it came first. The colon is no part of what an answer has begun
        with: a tokenizer may join it with the blank after it, and a text that ends between both
        would be one that the model never saw.
        """
        if self.kind == "number":
            return (FormPart("", _numbers(("", " "))),)
        if self.kind == "decision":
            return (FormPart(ABLE, tuple(_decisions())),)
        if self.kind == "choice":
            return (FormPart("", _options(self.labels)),)
        if self.kind in BY_LABEL:
            return (FormPart("", tuple(self._spellings_of_labels())),)
        asked = self.labels[:1] if len(self.labels) == 2 else self.labels
        return tuple(FormPart(label, _numbers((": ",))) for label in asked)

    def _spellings_of_labels(self) -> list[Spelling]:
        if self.kind == "letters":
            return letter_spellings(self.labels)
        if self.kind == "openings":
            return opening_spellings(self.labels)
        if self.kind == "outcomes" and self.is_numeric:
            # Both readings of a number in one pass; they overlap by intention.
            closed = spellings_of(self.labels, boundary="number")
            return closed + [Spelling(f"{s.outcome}{Mark.BEGINNING}", s.text) for s in closed]
        any_case = self.ignore_case or self.kind == "labels"
        spellings = spellings_of(self.labels, ignore_case=any_case)
        require_exclusive(spellings)
        return spellings

    @property
    def is_numeric(self) -> bool:
        """Whether the labels are numbers."""
        return all(label.isdigit() for label in self.labels)

    @cached_property
    def settings(self) -> str:
        """What a distribution over its answers is asked for by, as canonical JSON."""
        if self.kind not in BY_LABEL:
            return json.dumps({"answers": "exact", "form": self.digest})
        names = [f"{label}{_MARKS.get(self.kind, '')}" for label in self.labels]
        if self.kind == "outcomes" and self.is_numeric:
            names += [f"{label}{Mark.BEGINNING}" for label in self.labels]
        return json.dumps({"labels": names})

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
        r"""Return an answer in this form."""
        if self.kind != "lines":
            return outcomes[0]
        numbers = list(outcomes)
        if len(self.labels) == 2:
            # In decimals, so that both lines have as many digits.
            numbers.append(str(1 - Decimal(numbers[0])))
        return "\n".join(
            f"{label}: {number}" for label, number in zip(self.labels, numbers, strict=True)
        )


@dataclass(frozen=True)
class Distribution:
    """Probabilities of the answers to every part of a form."""

    parts: tuple[Masses, ...]  # for every part of the form answer -> probability, not renormalised

    @property
    def answer_mass(self) -> float:
        """Probability that an answer has the form; of several parts the least."""
        return min(min(math.fsum(part.values()), 1.0) for part in self.parts)

    def shares(self, part: int = 0) -> dict[str, float]:
        """Return the probabilities of the answers to a part, given that it is any of them."""
        total = math.fsum(self.parts[part].values())
        return {name: mass / total for name, mass in self.parts[part].items() if mass > 0}

    @classmethod
    def load(cls, text: str) -> "Distribution":
        """Read what `elicitation.answers.distributions.stored` wrote."""
        return cls(tuple(json.loads(text)))


def _numbers(openings: Sequence[str]) -> tuple[Spelling, ...]:
    """Return the spellings of the probabilities with at most two decimals, named like 0.30."""
    spellings = []
    for hundredth in range(101):
        name = f"{hundredth / 100:.2f}"
        whole, decimals = name.split(".")
        # 0.30 is 0.3 as well. Not .30: next to no mass, and another hundred beginnings to follow.
        fractions = [decimals, decimals[:1]] if decimals[1] == "0" else [decimals]
        ends = dict.fromkeys((f"{whole}.{digits}" for digits in fractions), _AFTER_DECIMALS)
        if decimals == "00":
            ends[whole] = _AFTER_WHOLE
        # A percentage is complete with its sign, whatever follows.
        ends[f"{hundredth}%"] = ()
        spellings += [
            Spelling(name, (opening + text).encode(), forbidden)
            for opening in openings
            for text, forbidden in ends.items()
        ]
    return tuple(spellings)


def _decisions() -> Iterator[Spelling]:
    """Yield the spellings of what follows the first label of a decision."""
    words = {word: (word, word.lower()) for word in _YES_NO}
    for able, decision in product(_YES_NO, _YES_NO):
        name = f"{ABLE}: {able}\n{DECISION}: {decision}"
        for first, end, second in product(words[able], ("\n", "\n\n"), words[decision]):
            text = f": {first}{end}{DECISION}: {second}"
            yield Spelling(name, text.encode(), FORBIDDEN["word"])


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
