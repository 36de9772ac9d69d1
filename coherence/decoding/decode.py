"""From the text of an answer to a value and a status: the form, then repairs, and never a guess.

An answer is `ok` only if it has exactly the lines that were asked for, in their order and spelling,
with plain decimal numbers. Else its statements count (see `coherence.decoding.statements`): lines
and JSON objects that hold a value and no more. All of them must agree, and the words around them
are never read. What it took to read them is the status, `repaired:<what>`. All else has a status
and no value: `refused` (a phrase of refusal occurs, or a server withheld the reply), `truncated`
(cut by length, or while thinking, before a complete answer), `out_of_range` (a number outside
[0, 1]; "70" without a percent sign is one), `sum_not_one`, `unparsed`. Numbers are kept as stated
and never renormalised.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Generic, Literal, TypeVar

from coherence.decoding.ranges import STATED_SUM
from coherence.decoding.statements import (
    ANSWER,
    Reply,
    Statements,
    agree,
    find_statements,
    parse_probability,
    sounds_like_refusal,
    take_apart,
)
from coherence.decoding.statements import Value as Stated

REPAIRS = tuple(
    f"repaired:{what}"
    for what in (
        *("characters", "markup", "json", "spelling", "punctuation", "notation", "comma"),
        *("percent", "fraction", "layout", "single", "words", "passage"),
    )
)
LOW_MASS = "low_mass"
"""A value read off a distribution of which the parsed answers have little; kept, and counted."""
PARSED = ("ok", *REPAIRS, LOW_MASS)
FAILURES = ("sum_not_one", "out_of_range", "truncated", "unparsed", "refused")
STATUSES = (*PARSED, *FAILURES)
"""All statuses, from the mildest to the gravest; a row has the gravest of its answers."""
OK, (SUM_NOT_ONE, OUT_OF_RANGE, TRUNCATED, UNPARSED, REFUSED) = "ok", FAILURES
_ENDINGS = ".,;:!"
_LETTERED = re.compile(
    r"(?:option )?[\"'(\[]?(?P<option>[^\s\"'()\[\].:,]+)"
    r"(?:[\"')\].:]{0,2}|(?:[\"')\].:]{1,2}|[\"')\].:]{0,2} ?[-\u2013\u2014]) (?P<word>.*))",
    re.IGNORECASE,
)
_LONGEST_OPTION = 400
MARKS = "repaired:markup"
WITHHELD = "content_filter"
"""Finish reason of a reply that a server withheld, whatever is left of it."""

# Two decimals per label: K labels may miss a sum of 1 by K half-hundredths without any fault of the
# model's.
_ROUNDING = 0.005
_FLOAT_SLACK = 1e-9  # .50 + .52 misses 1 by .02 and, in binary, by a little more
# float() would take "nan", "1_0" and digits of other scripts, which no question asks for.
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_BLANKS = " \t\r\n"  # str.strip() would also take Unicode blanks, which are a repair
BELIEF_LABELS = ("No", "Yes")
DECISION_LABELS = ("Can decide", "Decision")

Form = Literal["lines", "number"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Decoded(Generic[Value]):
    """A value and how it was read."""

    value: Value | None  # none unless the status is `ok` or a repair
    status: str  # one of `STATUSES`.
    # sum of the stated probabilities minus 1; NaN where no such numbers were read
    residual: float = math.nan

    @property
    def readable(self) -> bool:
        """Whether there is a value."""
        return self.status in PARSED


def decode_distribution(
    text: str, labels: Sequence[str], *, finish_reason: str | None = None
) -> Decoded[tuple[float, ...]]:
    """Read one probability per label, a line each, ``<label>: <number>``, in the order asked for.

    `finish_reason` says why the reply ended: "length" where it was cut, "content_filter" where it
    was withheld. Numbers are as stated, and may miss a sum of 1 by 0.02, or by half a hundredth per
    label if that is more; beyond it the status is `sum_not_one`.
    """

    def read(reply: Reply) -> Decoded[tuple[float, ...]]:
        fractions, status = _probabilities(reply, labels)
        # One number of Yes: a belief can be read from it, a distribution cannot.
        if len(fractions) != len(labels):
            raise _UnparsedError
        return _checked(fractions, status)

    return _decode(text, finish_reason, read)


def decode_belief(
    text: str, *, form: Form = "lines", finish_reason: str | None = None
) -> Decoded[float]:
    r"""Read a stated probability of Yes: the lines ``No: ...`` and ``Yes: ...``, or a number alone.

    >>> decode_belief("Yes: 70%")
    Decoded(value=0.7, status='repaired:single', residual=nan)
    >>> decode_belief("70%", form="number").status, decode_belief("70", form="number").status
    ('repaired:percent', 'out_of_range')
    """

    def read(reply: Reply) -> Decoded[float]:
        if form == "number":
            return _within(*_number(reply))
        numbers, status = _probabilities(reply, BELIEF_LABELS)
        if len(numbers) == 1:
            return _within(numbers[0], status)
        stated = _checked(numbers, status)
        belief = None if stated.value is None else stated.value[1]
        return Decoded(belief, stated.status, stated.residual)

    return _decode(text, finish_reason, read)


def decode_decision(text: str, *, finish_reason: str | None = None) -> Decoded[str]:
    """Read an action from the lines ``Can decide: ...`` and ``Decision: ...``.

    It is ``"defer"`` where the first line is No, whatever the second says and if it is missing from
    a reply that came to its end; else ``"yes"`` or ``"no"`` from the second.
    """

    def read(reply: Reply) -> Decoded[str]:
        found = find_statements(reply.text, DECISION_LABELS, _option_parser(["Yes", "No"]))
        able, decision = (_agreed(found, label.casefold()) for label in DECISION_LABELS)
        final = _agreed(found, ANSWER)
        if able is None or (able == "Yes" and final not in (None, decision)):
            raise _UnparsedError
        if decision is None and (able == "Yes" or reply.cut):
            raise _UnparsedError
        lines = [re.sub(r":[ \t]*", ": ", line) for line in _visible_lines(reply.text)]
        form = [f"{DECISION_LABELS[0]}: {able}", f"{DECISION_LABELS[1]}: {decision}"]
        exact = decision is not None and lines == form
        return Decoded(
            "defer" if able == "No" else str(decision).lower(), OK if exact else _status(found)
        )

    return _decode(text, finish_reason, read)


def decode_choice(
    text: str,
    options: Sequence[str],
    *,
    words: Sequence[str] = (),
    finish_reason: str | None = None,
) -> Decoded[str]:
    """Read which of several distinct options a reply chooses, as it was offered.

    Where the options are letters, `words` are what each of them stands for; the words choose as
    well as the letter, where no other letter has them.

    >>> decode_choice("Treat.", ("wait", "treat")).status
    'repaired:punctuation'
    >>> decode_choice("The answer is (B).", ("A", "B")).value
    'B'
    """

    def read(reply: Reply) -> Decoded[str]:
        if reply.text.strip(_BLANKS) in options:
            return Decoded(reply.text.strip(_BLANKS), OK)
        parse = _option_parser(options, words)
        repairs: set[str] = set()
        # An option may itself have several lines.
        chosen = parse(reply.text, repairs)
        if chosen is not None and not reply.cut:
            return Decoded(chosen, _status(Statements(repairs=repairs)))
        found = find_statements(reply.text, (), parse, bare_lines=True)
        stated = _agreed(found, ANSWER)
        if stated is None:
            raise _UnparsedError
        return Decoded(str(stated), _status(found))

    return _decode(text, finish_reason, read)


class _UnparsedError(Exception):
    """The reply states no value, or more than one."""


def _decode(
    text: str, finish_reason: str | None, read: Callable[[Reply], Decoded[Value]]
) -> Decoded[Value]:
    """Take a reply apart, read what was said, and name what cannot be read."""
    if finish_reason == WITHHELD:
        return Decoded(None, REFUSED)
    reply = take_apart(text, finish_reason)
    if reply.unfinished:
        return Decoded(None, TRUNCATED)
    try:
        decoded = read(reply)
    except _UnparsedError:
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
    folded = [label.casefold() for label in labels]
    if len(set(folded)) < len(folded):
        raise _UnparsedError  # "a" and "A" are told apart by the exact form alone
    found = find_statements(reply.text, labels, parse_probability)
    numbers = [_agreed(found, name) for name in folded]
    if folded == ["no", "yes"]:
        no, yes, answer = *numbers, _agreed(found, ANSWER)
        if answer is not None:
            if _says_no(reply) if yes is None else not agree((yes, answer)):
                raise _UnparsedError
            numbers[1] = yes = answer if yes is None else yes
        if (no is None) != (yes is None):
            # A cut reply may have had the other number to come, a broken line had another in mind.
            if reply.cut or found.broken:
                raise _UnparsedError
            found.repairs.add("single")
            single = yes if yes is not None else 1 - no if isinstance(no, Fraction) else None
            numbers = [single]
    if any(number is None for number in numbers):
        raise _UnparsedError
    if list(found.values)[: len(folded)] != folded and len(numbers) > 1:
        found.repairs.add("layout")
    return [_as_float(number) for number in numbers], _status(found)


def _number(reply: Reply) -> tuple[float, str]:
    """Return the one number of a reply that was asked for a number alone."""
    text = reply.text.strip(_BLANKS)
    if _NUMBER.fullmatch(text):
        return float(text), OK
    found = find_statements(reply.text, BELIEF_LABELS, parse_probability, bare_lines=True)
    stated = [*found.values.get(ANSWER, []), *found.values.get("yes", [])]
    no = [1 - value for value in found.values.get("no", []) if isinstance(value, Fraction)]
    if not stated or not agree([*stated, *no]) or (not no and _says_no(reply)):
        raise _UnparsedError
    if "yes" in found.values:
        found.repairs.add("words")
    return _as_float(stated[0]), _status(found)


def _agreed(found: Statements, name: str) -> Stated | None:
    """Return what all statements of a name say, or None where there is none."""
    values = found.values.get(name, [])
    if not values:
        return None
    if not agree(values):
        raise _UnparsedError
    return values[0]


def _status(found: Statements) -> str:
    """Return the repair that departs furthest from the form; what is not the form is never ok."""
    return worst([f"repaired:{name}" for name in found.repairs or {"layout"}])


def _option_parser(
    options: Sequence[str], words: Sequence[str] = ()
) -> Callable[[str, set[str]], str | None]:
    """Return a parser of pieces that are nothing but one of the options, or the words of one."""
    names: dict[str, list[str]] = {}
    for option, word in zip_longest(options, words):
        spelled = {" ".join(name.casefold().split()) for name in (option, word) if name}
        bare = {name.rstrip(_ENDINGS) for name in spelled}
        for name in spelled | bare | {_unquoted(name).rstrip(_ENDINGS) for name in bare}:
            names.setdefault(name, []).append(option)

    def parse(text: str, repairs: set[str]) -> str | None:
        if len(text) > _LONGEST_OPTION and len(text) > 2 * max(map(len, names), default=0):
            return None
        piece = " ".join(text.split())
        # The least repair first: an option may itself end in a mark.
        for name, repair in (
            (piece, "spelling"),
            (piece.rstrip(_ENDINGS), "punctuation"),
            (_unquoted(piece.rstrip(_ENDINGS)).rstrip(_ENDINGS), "markup"),
        ):
            matching = names.get(name.casefold(), [])
            if len(matching) == 1 and matching[0] is not None:
                if name != matching[0] or repair != "spelling":
                    repairs.add(repair)
                return matching[0]
        # "(B)", "Option B", "B) treat": a letter, and what it stands for.
        lettered = _LETTERED.fullmatch(piece)
        if lettered:
            matching = names.get(lettered["option"].casefold(), [])
            said = _unquoted((lettered["word"] or "").rstrip(_ENDINGS)).rstrip(_ENDINGS).casefold()
            if len(matching) == 1 and (not said or matching[0] in names.get(said, [])):
                repairs.add("words" if said else "markup")
                return matching[0]
        return None

    return parse


def _unquoted(piece: str) -> str:
    start = piece[:1] in tuple("\"'([{")
    end = piece[-1:] in tuple("\"')]}")
    return piece[int(start) : len(piece) - int(end)]


def _says_no(reply: Reply) -> bool:
    """Return whether a statement is No: then a number without a label may be that of No."""
    found = find_statements(reply.text, (), _option_parser(BELIEF_LABELS), bare_lines=True)
    return "No" in found.values.get(ANSWER, [])


def _as_float(number: Stated | None) -> float:
    try:
        return float(number) if isinstance(number, Fraction) else math.nan
    except OverflowError:  # "1e999" is a number, and out of range like any other large one
        return math.inf


def worst(statuses: Sequence[str]) -> str:
    """Return the gravest status of several answers."""
    return max(statuses, key=STATUSES.index)


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
    if abs(residual) > max(STATED_SUM, _ROUNDING * len(numbers)) + _FLOAT_SLACK:
        return Decoded(None, SUM_NOT_ONE, residual)
    return Decoded(tuple(number + 0.0 for number in numbers), status, residual)  # -0.0 is 0.0


def _within(number: float, status: str) -> Decoded[float]:
    return Decoded(number + 0.0, status) if 0 <= number <= 1 else Decoded(None, OUT_OF_RANGE)


def _visible_lines(text: str) -> list[str]:
    # Only "\n" and "\r\n" end a line: str.splitlines would also split at form feeds and at Unicode
    # separators within a line.
    return [line.strip(" \t\r") for line in text.split("\n") if line.strip()]


def _after_label(line: str, label: str) -> str | None:
    """Return what follows ``label:`` and blanks, or None where the line begins otherwise."""
    return line[len(label) + 1 :].strip(" \t") if line.startswith(f"{label}:") else None
