"""From the text of an answer to a value and a status: the form, then repairs, and never a guess.

An answer is `ok` only if it has exactly the lines that were asked for, in their order and spelling,
with plain decimal numbers. An answer that misses the form and still has one meaning only is
`repaired:<what>` (see `coherence.decoding.repairs`) and keeps its value. All else has a status and
no value: `refused` (one of `REFUSALS` occurs in it), `out_of_range` (a number outside [0, 1]; "70"
without a percent sign is one), `sum_not_one`, `unparsed`. Numbers are kept as stated and never
renormalised.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from coherence.decoding.repairs import UnreadableError, read_choice, read_number, read_probabilities
from coherence.table.schema import READABLE, STATUSES

OK, REFUSED, UNPARSED, OUT_OF_RANGE, SUM_NOT_ONE = (
    "ok",
    "refused",
    "unparsed",
    "out_of_range",
    "sum_not_one",
)
REFUSALS = (
    "i cannot",
    "i can't",
    "i can not",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i'm not able",
    "i won't",
    "i will not",
    "i must decline",
    "i decline",
    "as an ai",
    "not appropriate for me",
)
"""Phrases (lower case, straight apostrophes) that make an unreadable answer a refusal."""

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


def decode_distribution(text: str, labels: Sequence[str]) -> Decoded[tuple[float, ...]]:
    r"""Read one probability per label, a line each, ``<label>: <number>``.

    Parameters
    ----------
    text : str
        The answer; blank lines and white space at the ends of lines are ignored.
    labels : sequence of str
        The labels in the order that was asked for.

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
    stated = _stated(text, labels)
    if stated is not None:
        return _checked(stated, OK)
    try:
        fractions, status = read_probabilities(text, labels)
    except UnreadableError:
        return Decoded(None, _unreadable(text))
    if len(fractions) != len(labels):  # the one number of Yes, which only a belief can be read from
        return Decoded(None, _unreadable(text))
    return _checked([float(number) for number in fractions], status)


def decode_belief(text: str, *, form: Form = "lines") -> Decoded[float]:
    r"""Read a stated probability of Yes.

    Parameters
    ----------
    text : str
        The answer.
    form : {"lines", "number"}
        What was asked for: the lines ``No: ...`` and ``Yes: ...``, or a number alone.

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
    """
    if form == "number":
        if _NUMBER.fullmatch(text.strip(_BLANKS)):
            return _within(float(text.strip(_BLANKS)), OK)
        try:
            fraction, status = read_number(text)
        except UnreadableError:
            return Decoded(None, _unreadable(text))
        return _within(float(fraction), status)
    stated = _stated(text, BELIEF_LABELS)
    if stated is not None:
        return _of_yes(_checked(stated, OK))
    try:
        fractions, status = read_probabilities(text, BELIEF_LABELS)
    except UnreadableError:
        return Decoded(None, _unreadable(text))
    if len(fractions) == 1:
        return _within(float(fractions[0]), status)
    return _of_yes(_checked([float(number) for number in fractions], status))


def decode_decision(text: str) -> Decoded[str]:
    r"""Read an action from the lines ``Can decide: ...`` and ``Decision: ...``.

    Parameters
    ----------
    text : str
        The answer.

    Returns
    -------
    Decoded
        ``"defer"`` where the first line is No, else ``"yes"`` or ``"no"`` from the second.

    Examples
    --------
    >>> decode_decision("Can decide: Yes\nDecision: No").value
    'no'
    >>> decode_decision("Can decide: No\nDecision: No").value
    'defer'
    """
    lines = _visible_lines(text)
    if len(lines) != 2:
        return Decoded(None, _unreadable(text))
    able, decision = map(_decode_line, lines, DECISION_LABELS)
    if able.value is None or decision.value is None:
        return Decoded(None, _unreadable(text))
    return Decoded(
        decision.value.lower() if able.value == "Yes" else "defer",
        worst([able.status, decision.status]),
    )


def decode_choice(text: str, options: Sequence[str]) -> Decoded[str]:
    """Read which of several options an answer names.

    Parameters
    ----------
    text : str
        The answer.
    options : sequence of str
        Distinct options, as they were offered.

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
    """
    # Exactly as offered; all else is a repair with a name, or unread.
    if text.strip(_BLANKS) in options:
        return Decoded(text.strip(_BLANKS), OK)
    try:
        return Decoded(*read_choice(text, options))
    except UnreadableError:
        return Decoded(None, _unreadable(text))


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
    if answer is not None:
        return decode_choice(answer, ("Yes", "No"))
    # Markup may sit before the label as well; the options of the whole line tell.
    decoded = decode_choice(line, [f"{label}: Yes", f"{label}: No"])
    return Decoded(decoded.value and decoded.value.removeprefix(f"{label}: "), decoded.status)


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


def _unreadable(text: str) -> str:
    # Models write either apostrophe.
    plain = text.lower().replace("\u2019", "'")
    return REFUSED if any(phrase in plain for phrase in REFUSALS) else UNPARSED
