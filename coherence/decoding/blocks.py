"""Complete answer blocks anywhere in a reply: one value for every label, and no second answer.

Statements make blocks; one block, or several that agree, is an answer. A block that is shown as an
example is none. Two blocks that differ, a statement beside the block that differs from it, a label
whose value is hedged or negated, or words of correction after the block leave the reply unread.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from coherence.decoding.cues import probabilities_in
from coherence.decoding.introductions import introduces_another
from coherence.decoding.numerals import RepairedText, UnreadableError
from coherence.decoding.remarks import contradicts
from coherence.decoding.statements import (
    MARK_SEPARATOR,
    Found,
    ReadValue,
    Statement,
    find_statements,
    label_pattern,
    without_bullets,
)

Value = TypeVar("Value")
# A line of the same make as a statement, of a label that there is not.
_OTHER_LABEL = re.compile(
    rf"(?!(?:total|sum|confidence|certainty|check|age|note|source)\b)[^\W\d][^:=|\n]{{0,40}}"
    rf"(?:{MARK_SEPARATOR})(?:[0-9]*\.[0-9]+|[01]|[0-9.]+\s?%)\W{{0,3}}$",
    re.IGNORECASE,
)


def find_block(
    lines: Sequence[str],
    labels: Sequence[str],
    read: ReadValue[Value],
    reading: RepairedText,
    *,
    after: bool = False,
) -> dict[str, Value] | None:
    """Return the one answer of a reply, by label in lower case.

    Parameters
    ----------
    lines : sequence of str
        As from `coherence.decoding.prose.plain_lines`.
    labels : sequence of str
        Labels, distinct in lower case.
    read : callable
        Reads a value at a position of a line.
    reading : RepairedText
        Takes the notes.
    after : bool
        Whether the lines stand around an answer that was found elsewhere, which they must not take
        back.

    Returns
    -------
    dict or None
        One value per label; of some labels only, where no block is complete; None where the reply
        has no statement at all.

    Raises
    ------
    UnreadableError
        Two answers, or one that is hedged, negated, conditional or taken back.
    """
    found = find_statements(lines, labels, read)
    rows = found.rows
    if found.spoiled:
        raise UnreadableError
    if after and contradicts("\n".join(rows), set()):
        raise UnreadableError
    blocks, strays = _blocks(found.statements, len(labels))
    if not blocks:
        return _partial(found, strays, labels, reading)
    answers = [block for block in blocks if not block[0].example]
    if not answers:
        if after:
            return None
        raise UnreadableError  # the example alone: it was shown, not given
    values = {statement.label: statement.value for statement in answers[0]}
    for statement in [*(one for block in answers for one in block), *strays]:
        if statement.value != values[statement.label] and not statement.example:
            raise UnreadableError
    if _has_other_labels(rows, answers):
        raise UnreadableError
    openings = {block[0].line for block in answers if block[0].line}
    if any(introduces_another(rows[line - 1 : line]) for line in openings):
        raise UnreadableError
    behind = "\n".join(found.remarks[answers[0][0].line :])
    stated = _numbers_among(values)
    if contradicts(behind, stated, of_yes(values)):
        raise UnreadableError
    _note_layout(found, reading)
    return values


def _has_other_labels(rows: Sequence[str], blocks: Sequence[Sequence[Statement[Value]]]) -> bool:
    """Return whether a line right before or behind a block gives a number to another label."""
    edges = [edge for block in blocks for edge in (block[0].line - 1, block[-1].line + 1)]
    stated = {statement.line for block in blocks for statement in block}
    return any(
        0 <= edge < len(rows)
        and edge not in stated
        and _OTHER_LABEL.match(without_bullets(rows[edge]))
        for edge in edges
    )


def of_yes(values: Mapping[str, object]) -> Fraction | None:
    """Return how probable an answer calls Yes; a decision is 1 or 0, and None is neither."""
    if ("yes" in values and "no" in values) or set(values) == {"yes"}:
        return values["yes"] if isinstance(values["yes"], Fraction) else None
    if set(values) == {"no"} and isinstance(values["no"], Fraction):
        return 1 - values["no"]
    if values.get("can decide") == "yes" and values.get("decision") in ("yes", "no"):
        return Fraction(values["decision"] == "yes")
    return None


def _numbers_among(values: Mapping[str, object]) -> set[Fraction]:
    return {value for value in values.values() if isinstance(value, Fraction)}


def _note_layout(found: Found[Value], reading: RepairedText) -> None:
    beside = any(any(c.isalnum() for c in remark) for remark in found.remarks)
    reading.note("passage" if beside else "layout")


def _partial(
    found: Found[Value],
    strays: list[Statement[Value]],
    labels: Sequence[str],
    reading: RepairedText,
) -> dict[str, Value] | None:
    """Return what some labels have, where nothing else might be meant."""
    values: dict[str, Value] = {}
    for statement in strays:
        if statement.example or values.setdefault(statement.label, statement.value) != (
            statement.value
        ):
            raise UnreadableError
    if not values:
        return None
    stated = _numbers_among(values)
    remarks = "\n".join(found.remarks)
    # One label alone is little to go by: no other number may stand beside it, and no other label
    # without one.
    if contradicts(remarks, stated, of_yes(values)) or set(probabilities_in(remarks)) - stated:
        raise UnreadableError
    if values == {"can decide": "no"}:
        _note_layout(found, reading)
        return values  # who cannot decide may say what is missing in place of a decision
    pattern = label_pattern(tuple(labels))
    if any(pattern.match(without_bullets(remark)) for remark in found.remarks):
        raise UnreadableError
    _note_layout(found, reading)
    return values


def _blocks(
    statements: Sequence[Statement[Value]], n_labels: int
) -> tuple[list[list[Statement[Value]]], list[Statement[Value]]]:
    """Return complete blocks, and the statements that belong to none."""
    blocks: list[list[Statement[Value]]] = []
    strays: list[Statement[Value]] = []
    current: dict[str, Statement[Value]] = {}
    for statement in statements:
        earlier = current.get(statement.label)
        # An example ends where it does; what begins a block anew makes strays of what came before.
        if earlier is not None or (current and _is_example(current) != statement.example):
            strays += current.values()
            current = {}
        current[statement.label] = statement
        if len(current) == n_labels:
            blocks.append(list(current.values()))
            current = {}
    return blocks, [*strays, *current.values()]


def _is_example(block: dict[str, Statement[Value]]) -> bool:
    return next(iter(block.values())).example
