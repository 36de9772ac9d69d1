"""From the text of an answer to a value and a status; strict, so that a value is never guessed.

An answer is `ok` only if it has exactly the lines that were asked for, in their order and spelling, with plain decimal numbers. What else
comes back has a status and no value: `refused` (one of `REFUSALS` occurs in it), `out_of_range` (the right lines, but a number outside
[0, 1], or numbers that do not sum to 1), `unparsed` (everything else). Numbers are kept as stated and never renormalised.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

OK, REFUSED, UNPARSED, OUT_OF_RANGE = "ok", "refused", "unparsed", "out_of_range"
STATUSES = (OK, OUT_OF_RANGE, UNPARSED, REFUSED)
"""All statuses, from the mildest to the gravest."""

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
# Two decimals per label: K labels may miss a sum of 1 by K half-hundredths without any fault of the model's.
_ROUNDING = 0.005
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_YES_NO = {"Yes": True, "No": False}
BELIEF_LABELS = ("No", "Yes")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Decoded(Generic[Value]):
    """A value and how it was read.

    Parameters
    ----------
    value : object or None
        None unless the status is `ok`.
    status : str
        One of `STATUSES`.
    residual : float
        Sum of the stated probabilities minus 1; NaN where no numbers were read.
    """

    value: Value | None
    status: str
    residual: float = math.nan


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
        The numbers as stated, in the order of the labels. They may miss a sum of 1 by 0.02, or by half a hundredth per label if that is more;
        beyond it the status is `out_of_range`.

    Examples
    --------
    >>> decode_distribution("low: 0.25\nhigh: 0.75", ("low", "high")).value
    (0.25, 0.75)
    >>> decode_distribution("high: 0.75\nlow: 0.25", ("low", "high")).status
    'unparsed'
    """
    lines = _visible_lines(text)
    if len(lines) != len(labels):
        return Decoded(None, _unreadable(text))
    numbers = []
    for line, label in zip(lines, labels, strict=True):
        number = _after_label(line, label)
        if number is None or not _NUMBER.fullmatch(number):
            return Decoded(None, _unreadable(text))
        numbers.append(float(number) + 0.0)  # turns -0.0 into 0.0
    # An overlong row of digits overflows to infinity, which is outside [0, 1] like any other large number.
    residual = math.fsum(numbers) - 1 if all(map(math.isfinite, numbers)) else math.inf
    within = all(0 <= number <= 1 for number in numbers)
    if not within or abs(residual) > max(SUM_TOLERANCE, _ROUNDING * len(labels)) + 1e-9:
        return Decoded(None, OUT_OF_RANGE, residual)
    return Decoded(tuple(numbers), OK, residual)


def decode_belief(text: str) -> Decoded[float]:
    r"""Read a stated probability of Yes from the lines ``No: ...`` and ``Yes: ...``.

    Parameters
    ----------
    text : str
        The answer.

    Returns
    -------
    Decoded
        The number on the line of Yes, as stated.

    Examples
    --------
    >>> decode_belief("No: 0.30\nYes: 0.70").value
    0.7
    >>> decode_belief("About 70%.")
    Decoded(value=None, status='unparsed', residual=nan)
    """
    stated = decode_distribution(text, BELIEF_LABELS)
    return Decoded(None if stated.value is None else stated.value[1], stated.status, stated.residual)


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
    able = _YES_NO.get(_after_label(lines[0], "Can decide") or "")
    decision = _YES_NO.get(_after_label(lines[1], "Decision") or "")
    if able is None or decision is None:
        return Decoded(None, _unreadable(text))
    return Decoded(("yes" if decision else "no") if able else "defer", OK)


def worst(statuses: Sequence[str]) -> str:
    """Return the gravest status of several answers.

    Parameters
    ----------
    statuses : sequence of str
        At least one of `STATUSES`.

    Returns
    -------
    str
        The one that comes last in `STATUSES`.

    Examples
    --------
    >>> worst(["ok", "refused", "unparsed"])
    'refused'
    """
    return max(statuses, key=STATUSES.index)


def _visible_lines(text: str) -> list[str]:
    # Only "\n" and "\r\n" end a line: str.splitlines would also split at form feeds and at Unicode separators within a line.
    return [line.strip(" \t\r") for line in text.split("\n") if line.strip()]


def _after_label(line: str, label: str) -> str | None:
    """Return what follows ``label:`` and blanks, or None where the line does not begin with the label."""
    return line[len(label) + 1 :].strip(" \t") if line.startswith(f"{label}:") else None


def _unreadable(text: str) -> str:
    plain = text.lower().replace("\u2019", "'")
    return REFUSED if any(phrase in plain for phrase in REFUSALS) else UNPARSED
