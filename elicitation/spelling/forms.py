"""Forms of an answer, as data: how it begins, which answers there are, and where they end.

The text of an answer is a byte string, whatever its tokens. An outcome happens if the text begins
with one of its spellings and does not go on in a forbidden way: a digit after a number, a letter
after a word. An answer that names an option by its letter, or an outcome, may begin in many ways.

A form lists its answers with all usual spellings, so that a model can be asked for the probability
of each, or have its answer masked to them. Events exclude each other: an answer's number is the
longest one that it begins with, so that 0.3 is not the beginning of 0.35, nor 1 that of 1/2 or 1%.

A server names the k most likely next tokens alone. A label whose spellings are not among them has
an unknown probability, not zero: it lies between zero and what the list leaves over, as does that
of a label which a token begins. So every label gets a lower and an upper bound (`LabelBounds`).
"""

import hashlib
import json
import math
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache, cached_property
from itertools import combinations, permutations, product
from typing import Literal

from coherence.errors import InputError

Boundary = Literal["auto", "number", "word", "none"]
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


def spellings_of(
    outcomes: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    boundary: Boundary = "auto",
    leading_space: bool = True,
    ignore_case: bool = False,
) -> list[Spelling]:
    """List the spellings of outcomes."""
    written = outcomes if isinstance(outcomes, Mapping) else {each: [each] for each in outcomes}
    turned = (str.lower, str.upper, str.capitalize) if ignore_case else ()
    spellings = []
    for outcome, texts in written.items():
        forms = [form for text in texts for form in (text, *(turn(text) for turn in turned))]
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
    for shorter, longer, overlap in _overlaps(spellings):
        if overlap == "part":
            raise InputError(
                f"spellings {shorter.text.decode()!r} and {longer.text.decode()!r} of outcome "
                f"{shorter.outcome!r} overlap in part. Leave one out, or choose another boundary."
            )
        covered.add(longer)
    return [spelling for spelling in spellings if spelling not in covered]


def _overlaps(spellings: Sequence[Spelling]) -> Iterator[tuple[Spelling, Spelling, Overlap]]:
    """Yield the pairs of spellings whose events overlap, the shorter one first, and how."""
    # Only a shorter text can be the beginning of a longer one.
    for shorter, longer in combinations(sorted(spellings, key=lambda each: len(each.text)), 2):
        if longer.text.startswith(shorter.text):
            overlap = shorter.overlap(longer)
            if overlap != "none":
                yield shorter, longer, overlap


def require_exclusive(spellings: Sequence[Spelling]) -> None:
    """Refuse spellings of outcomes that overlap: their probabilities would exceed their sum."""
    for first, second, _ in _overlaps(spellings):
        raise InputError(
            f"outcomes must exclude each other; {first.outcome!r} written {first.text.decode()!r} "
            f"overlaps with {second.outcome!r} written {second.text.decode()!r}. "
            "Word them otherwise."
        )


_LEADS = (
    *("", "\n", "\n\n", "Answer: ", "**Answer:** ", "**Answer: ", "Option "),
    *("The answer is ", "The correct answer is "),
)
_LETTER_MARKS = ("", "(", "**", "**(", "[")
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
        letter: [lead + mark + letter for lead in _LEADS for mark in _LETTER_MARKS]
        for letter in letters
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
        cases = (case for text in spaced for case in (text, *(turn(text) for turn in turned)))
        begun = product(_OPENING_MARKS, dict.fromkeys(cases))
        led = product(filter(None, _LEADS), _OPENING_MARKS, [outcome])
        forms[outcome] = ["".join(parts) for parts in (*begun, *led)]
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
        listed: list[list[object]] = []
        for part in self.parts:
            listed.append([part.prefill])
            for each in part.spellings:
                forbidden = [text.hex() for text in each.forbidden]
                listed[-1].append((each.outcome, each.text.hex(), forbidden))
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
        """Read what `elicitation.asking.ask.stored` wrote."""
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
        longer = {
            other.text[len(spelling.text) :]
            for other in spellings
            if other.outcome != spelling.outcome and other.text.startswith(spelling.text)
        }
        tails = {*spelling.forbidden, *longer} - {b""}
        # None of them may begin with another.
        shortest = (tail for tail in tails if not tail.startswith(tuple(tails - {tail})))
        exclusive.append(replace(spelling, forbidden=tuple(sorted(shortest))))
    require_exclusive(exclusive)
    return tuple(exclusive)


# Marks that tokenizers put in place of a leading space, where a server shows tokens in their raw
# spelling.
_SPACES = " \t\r\n\u0120\u2581\u010a"


@dataclass(frozen=True)
class LabelBounds:
    """Bounds on the probabilities that the next token is a spelling of each label.

    They are per label, in [0, 1], and not renormalised.
    """

    labels: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def share(self, label: str) -> tuple[float, float]:
        """Return bounds on a label's share among all; (0, 1) where nothing is known."""
        if label not in self.labels:
            raise InputError(f"label must be one of {', '.join(self.labels)}; received {label!r}.")
        i = self.labels.index(label)
        rest_low, rest_high = (
            math.fsum(bound[:i] + bound[i + 1 :]) for bound in (self.lower, self.upper)
        )
        # Tokens outside the list can be given away once, not to every other label.
        rest_high = min(rest_high, 1.0 - self.lower[i])
        # The least share: its own lower bound beside the most that all others can have.
        low = self.lower[i] / (self.lower[i] + rest_high) if self.lower[i] > 0 else 0.0
        high = self.upper[i] / (self.upper[i] + rest_low) if rest_low > 0 else 1.0
        return low, high


def bound_labels(likely: Mapping[str, float], labels: Sequence[str]) -> LabelBounds:
    """Bound the probabilities of labels by a list of likely tokens."""
    check_labels(labels)
    folded = [label.casefold() for label in labels]
    lower, upper = [0.0] * len(labels), [0.0] * len(labels)
    # Summed without rounding: what is left over is a small difference from 1.
    total = math.fsum(likely.values())
    for token, listed in likely.items():
        # A server in half precision may exceed 1 by rounding.
        probability = listed / max(total, 1.0)
        word = token.strip(_SPACES).casefold()
        # "Yes." and "Yes," are the label; "Yesterday" is another word.
        spelt = [
            i
            for i, label in enumerate(folded)
            if word.startswith(label) and not word[len(label) : len(label) + 1].isalnum()
        ]
        # Part of a character may begin any label that is not ASCII.
        begun = [
            i
            for i, label in enumerate(folded)
            if label.startswith(word) or (_broken(word) and not label.isascii())
        ]
        # A token that begins a label may go on to it or to something else: it counts above alone.
        for i in spelt or begun:
            upper[i] += probability
        for i in spelt:
            lower[i] += probability
    remaining = max(1.0 - total, 0.0)
    return LabelBounds(
        tuple(labels),
        tuple(lower),
        tuple(min(value + remaining, 1.0) for value in upper),
    )


def check_labels(labels: Sequence[str]) -> None:
    """Refuse labels that the first token of an answer cannot tell apart."""
    if len(labels) < 2 or any(not label or label != label.strip() for label in labels):
        raise InputError(
            "labels must be two or more words without white space at their ends; "
            f"received {list(labels)}."
        )
    # In both directions: the first token cannot tell "No" from "Not sure" either way round.
    for label, other in permutations(labels, 2):
        if other.casefold().startswith(label.casefold()):
            raise InputError(
                f"labels must not begin with each other; {label!r} does, in {list(labels)}. "
                "Number the labels instead."
            )


def _broken(word: str) -> bool:
    """Whether a token is part of a character: only its bytes are shown."""
    return "\ufffd" in word or word.startswith(("bytes:", "<0x"))
