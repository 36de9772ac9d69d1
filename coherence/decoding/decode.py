"""From the text of an answer to a value and a status: the form, then repairs, and never a guess.

An answer is `ok` only if it has exactly the lines that were asked for, in their order and spelling,
with plain decimal numbers. An answer that misses the form and still has one meaning only is
`repaired:<what>` (see `coherence.decoding.repairs`) and keeps its value, wherever in the reply it
stands. All else has a status and no value: `refused` (one of `REFUSALS` occurs in it, or a server
withheld it), `truncated` (cut by length, or while thinking, before a complete answer),
`out_of_range` (a number outside [0, 1]; "70" without a percent sign is one), `sum_not_one`,
`unparsed`. Numbers are kept as stated and never renormalised. Thinking aloud is not read.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from coherence.decoding.cues import sounds_like_refusal
from coherence.decoding.free_text import decision_of, number_of, option_of, probabilities_of
from coherence.decoding.numerals import UnreadableError
from coherence.decoding.repairs import read_choice, read_number, read_probabilities
from coherence.decoding.reply import Reply, take_apart
from coherence.errors import InputError
from coherence.table.schema import READABLE, STATUSES

OK, REFUSED, UNPARSED, OUT_OF_RANGE, SUM_NOT_ONE, TRUNCATED = (
    "ok",
    "refused",
    "unparsed",
    "out_of_range",
    "sum_not_one",
    "truncated",
)
MARKS = "repaired:markup"
WITHHELD = "content_filter"
"""Finish reason of a reply that a server withheld, whatever is left of it."""

SUM_TOLERANCE = 0.02
# Two decimals per label: K labels may miss a sum of 1 by K half-hundredths without any fault of the
# model's.
_ROUNDING = 0.005
_FLOAT_SLACK = 1e-9  # .50 + .52 misses 1 by .02 and, in binary, by a little more
# float() would take "nan", "1_0" and digits of other scripts, which no question asks for.
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_BLANKS = " \t\r\n"  # str.strip() would also take Unicode blanks, which are a repair
BELIEF_LABELS = ("No", "Yes")
DECISION_LABELS = ("Can decide", "Decision")

Form = Literal["lines", "number"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Decoded(Generic[Value]):
    """A value and how it was read.

    Parameters
    ----------
    value : object or None
        None unless the status is `ok` or a repair.
    status : str
        One of `coherence.table.schema.STATUSES`.
    residual : float
        Sum of the stated probabilities minus 1; NaN where no such numbers were read.
    """

    value: Value | None
    status: str
    residual: float = math.nan

    @property
    def readable(self) -> bool:
        """Whether there is a value."""
        return self.status in READABLE


def decode_distribution(
    text: str, labels: Sequence[str], *, finish_reason: str | None = None
) -> Decoded[tuple[float, ...]]:
    r"""Read one probability per label, a line each, ``<label>: <number>``.

    Parameters
    ----------
    text : str
        The reply; blank lines and white space at the ends of lines are ignored.
    labels : sequence of str
        The labels in the order that was asked for.
    finish_reason : str or None
        Why the reply ended: "length" where it was cut, "content_filter" where it was withheld.

    Returns
    -------
    Decoded
        The numbers as stated, in the order of the labels. They may miss a sum of 1 by 0.02, or by
        half a hundredth per label if that is more; beyond it the status is `sum_not_one`.

    Examples
    --------
    >>> decode_distribution("low: 0.25\nhigh: 0.75", ("low", "high")).value
    (0.25, 0.75)
    >>> decode_distribution("high: 75%\nlow: 25%", ("low", "high"))
    Decoded(value=(0.25, 0.75), status='repaired:layout', residual=0.0)
    """
    if len(labels) == 0:
        raise InputError("labels must name at least two states; received none. List them.")

    def read(reply: Reply) -> Decoded[tuple[float, ...]]:
        fractions, status = _probabilities(reply, labels)
        # One number of Yes: a belief can be read from it, a distribution cannot.
        if len(fractions) != len(labels):
            raise UnreadableError
        return _checked(fractions, status)

    return _decode(text, finish_reason, read)


def decode_belief(
    text: str, *, form: Form = "lines", finish_reason: str | None = None
) -> Decoded[float]:
    r"""Read a stated probability of Yes.

    Parameters
    ----------
    text : str
        The reply.
    form : {"lines", "number"}
        What was asked for: the lines ``No: ...`` and ``Yes: ...``, or a number alone.
    finish_reason : str or None
        See `decode_distribution`.

    Returns
    -------
    Decoded
        The probability of Yes, as stated.

    Examples
    --------
    >>> decode_belief("No: 0.30\nYes: 0.70").value
    0.7
    >>> decode_belief("Yes: 70%")
    Decoded(value=0.7, status='repaired:single', residual=nan)
    >>> decode_belief("70%", form="number").status, decode_belief("70", form="number").status
    ('repaired:percent', 'out_of_range')
    >>> decode_belief("About 70%.")
    Decoded(value=None, status='unparsed', residual=nan)
    >>> decode_belief("No: 0.30\nYes: 0.6", finish_reason="length").status
    'truncated'
    """

    def read(reply: Reply) -> Decoded[float]:
        if form == "number":
            return _within(*_number(reply))
        numbers, status = _probabilities(reply, BELIEF_LABELS)
        if len(numbers) == 1:
            return _within(numbers[0], status)
        return _of_yes(_checked(numbers, status))

    return _decode(text, finish_reason, read)


def decode_decision(text: str, *, finish_reason: str | None = None) -> Decoded[str]:
    r"""Read an action from the lines ``Can decide: ...`` and ``Decision: ...``.

    Parameters
    ----------
    text : str
        The reply.
    finish_reason : str or None
        See `decode_distribution`.

    Returns
    -------
    Decoded
        ``"defer"`` where the first line is No, whatever the second says and if it is missing from a
        reply that came to its end; else ``"yes"`` or ``"no"`` from the second.

    Examples
    --------
    >>> decode_decision("Can decide: Yes\nDecision: No").value
    'no'
    >>> decode_decision("Can decide: No\nDecision: No").value
    'defer'
    >>> decode_decision("Can decide: No").value, decode_decision("Can decide: Yes").value
    ('defer', None)
    """

    def read(reply: Reply) -> Decoded[str]:
        lines = _visible_lines(reply.text)
        if len(lines) == 2:
            able, decision = map(_decode_line, lines, DECISION_LABELS)
            if able.value is not None and decision.value is not None:
                return Decoded(
                    decision.value.lower() if able.value == "Yes" else "defer",
                    worst([able.status, decision.status]),
                )
        return Decoded(*decision_of(reply, DECISION_LABELS))

    return _decode(text, finish_reason, read)


def decode_choice(
    text: str,
    options: Sequence[str],
    *,
    words: Sequence[str] = (),
    finish_reason: str | None = None,
) -> Decoded[str]:
    """Read which of several options a reply chooses.

    Parameters
    ----------
    text : str
        The reply.
    options : sequence of str
        Distinct options, as they were offered.
    words : sequence of str
        Where the options are letters, what each of them stands for; the words choose as well as the
        letter, where no other letter has them.
    finish_reason : str or None
        See `decode_distribution`.

    Returns
    -------
    Decoded
        The option as it was offered.

    Examples
    --------
    >>> decode_choice("wait", ("wait", "treat"))
    Decoded(value='wait', status='ok', residual=nan)
    >>> decode_choice("Treat.", ("wait", "treat")).status
    'repaired:punctuation'
    >>> decode_choice("wait or treat", ("wait", "treat")).status
    'unparsed'
    >>> decode_choice("The answer is (B).", ("A", "B")).value
    'B'
    """
    if isinstance(options, str) or not isinstance(options, Sequence):
        raise InputError(f"options must be a list of texts; received {options!r}.")

    def read(reply: Reply) -> Decoded[str]:
        # Exactly as offered; all else is a repair with a name, or unread.
        if reply.text.strip(_BLANKS) in options:
            return Decoded(reply.text.strip(_BLANKS), OK)
        for names in (options, words):
            try:
                name, status = read_choice(reply.text, names)
            except UnreadableError:
                continue
            if list(names).count(name) == 1:
                return Decoded(options[list(names).index(name)], status)
        return Decoded(*option_of(reply, options, words))

    return _decode(text, finish_reason, read)


def _decode(
    text: str, finish_reason: str | None, read: Callable[[Reply], Decoded[Value]]
) -> Decoded[Value]:
    """Take a reply apart, read what was said, and name what cannot be read."""
    if not isinstance(text, str):
        raise InputError(f"text must be the text of a reply; received {text!r}.")
    if finish_reason == WITHHELD:
        return Decoded(None, REFUSED)
    reply = take_apart(text, finish_reason)
    if reply.unfinished:
        return Decoded(None, TRUNCATED)
    try:
        decoded = read(reply)
    except UnreadableError:
        # The whole text, with the line that was cut: a refusal shows in its first words.
        refused = sounds_like_refusal(reply.text if reply.thinking is not None else text)
        return Decoded(None, REFUSED if refused else TRUNCATED if reply.cut else UNPARSED)
    # A mark of a turn is the server's slip, and no part of the form either.
    return replace(decoded, status=MARKS) if decoded.status == OK and reply.marked else decoded


def _probabilities(reply: Reply, labels: Sequence[str]) -> tuple[list[float], str]:
    """Return one number per label, or that of Yes alone, and how they were read."""
    stated = _stated(reply.text, labels)
    if stated is not None:
        return stated, OK
    try:
        fractions, status = read_probabilities(reply.text, labels)
        # A cut reply may have had the other number still to come.
        if reply.cut and len(fractions) < len(labels):
            raise UnreadableError
    except UnreadableError:
        fractions, status = probabilities_of(reply, labels)
    return [_as_float(number) for number in fractions], status


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:  # "1e999" is a number, and out of range like any other large one
        return math.inf


def _number(reply: Reply) -> tuple[float, str]:
    text = reply.text.strip(_BLANKS)
    if _NUMBER.fullmatch(text):
        return float(text), OK
    try:
        # What a cut reply was about to say may make its first number one of the reasons.
        if reply.cut:
            raise UnreadableError
        fraction, status = read_number(text)
    except UnreadableError:
        fraction, status = number_of(reply)
    return _as_float(fraction), status


def worst(statuses: Sequence[str]) -> str:
    """Return the gravest status of several answers.

    Parameters
    ----------
    statuses : sequence of str
        At least one of `coherence.table.schema.STATUSES`.

    Returns
    -------
    str
        The one that comes last in that order.

    Examples
    --------
    >>> worst(["ok", "refused", "unparsed"])
    'refused'
    """
    return max(statuses, key=STATUSES.index)


def _decode_line(line: str, label: str) -> Decoded[str]:
    """Read Yes or No from ``label: Yes``."""
    answer = _after_label(line, label)
    # Markup may sit before the label as well; the options of the whole line tell.
    options = ["Yes", "No"] if answer is not None else [f"{label}: Yes", f"{label}: No"]
    text = line if answer is None else answer
    if text in options:
        return Decoded(text.removeprefix(f"{label}: "), OK)
    try:
        option, status = read_choice(text, options)
    except UnreadableError:
        return Decoded(None, UNPARSED)
    return Decoded(option.removeprefix(f"{label}: "), status)


def _stated(text: str, labels: Sequence[str]) -> list[float] | None:
    """Return the numbers of an answer that has exactly the form, else None."""
    lines = _visible_lines(text)
    if len(lines) != len(labels):
        return None
    numbers = []
    for line, label in zip(lines, labels, strict=True):
        number = _after_label(line, label)
        if number is None or not _NUMBER.fullmatch(number):
            return None
        numbers.append(float(number))
    return numbers


def _checked(numbers: Sequence[float], status: str) -> Decoded[tuple[float, ...]]:
    """Hold stated probabilities against [0, 1] and against a sum of 1."""
    # An overlong row of digits overflows to infinity, which is outside [0, 1] like any other large
    # number.
    residual = math.fsum(numbers) - 1 if all(map(math.isfinite, numbers)) else math.inf
    if not all(0 <= number <= 1 for number in numbers):
        return Decoded(None, OUT_OF_RANGE, residual)
    if abs(residual) > max(SUM_TOLERANCE, _ROUNDING * len(numbers)) + _FLOAT_SLACK:
        return Decoded(None, SUM_NOT_ONE, residual)
    return Decoded(tuple(map(_without_sign, numbers)), status, residual)


def _without_sign(number: float) -> float:
    return number + 0.0  # turns -0.0 into 0.0


def _within(number: float, status: str) -> Decoded[float]:
    if 0 <= number <= 1:
        return Decoded(_without_sign(number), status)
    return Decoded(None, OUT_OF_RANGE)


def _of_yes(stated: Decoded[tuple[float, ...]]) -> Decoded[float]:
    belief = None if stated.value is None else stated.value[1]
    return Decoded(belief, stated.status, stated.residual)


def _visible_lines(text: str) -> list[str]:
    # Only "\n" and "\r\n" end a line: str.splitlines would also split at form feeds and at Unicode
    # separators within a line.
    return [line.strip(" \t\r") for line in text.split("\n") if line.strip()]


def _after_label(line: str, label: str) -> str | None:
    """Return what follows ``label:`` and blanks, or None where the line begins otherwise."""
    return line[len(label) + 1 :].strip(" \t") if line.startswith(f"{label}:") else None
