"""Complete answer blocks anywhere in a reply: one value for every label, and no second answer.

A statement is a label and its value in one line, or in a row of a table. Statements make blocks;
one block, or several that agree, is an answer. A block that is shown as an example is none. Two
blocks that differ, a statement beside the block that differs from it, a label whose value is
hedged or negated, or words of correction after the block leave the reply unread.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from coherence.decoding.cues import (
    CONDITION,
    EXAMPLE,
    HEDGE,
    HEDGED_REST,
    NEGATION,
    contradicts,
    probabilities_in,
)
from coherence.decoding.numerals import NUMBER, RepairedText, UnreadableError, value_of

Value = TypeVar("Value")
ReadValue = Callable[[str, int], tuple[Value, int] | None]
"""Line and position -> value and where it ends; None where none stands there."""

# Labels whose names say nothing but that they are labels; words may stand before them.
_GENERAL = frozenset(("no", "yes", "can decide", "decision"))
_LEAD = r"(?:(?:p|pr|prob(?:ability)?|likelihood|chance|odds)\s?(?:\(\s?|of\s(?:the\s)?))"
_OPEN, _CLOSE = r"[\"'\[(<{]{0,2}", r"[\"'\])>}]{0,2}"
_MARK_SEPARATOR = r"\s{0,3}(?::\s?\||=>|-+>|[:=|]|\u2192|\u21d2)\s{0,3}"
_DASH_SEPARATOR = r"\s{1,3}[-\u2013\u2014]{1,3}\s{1,3}|\s?\u2014\s?"
_WORD_SEPARATOR = r"\s(?:is|are|to be|at|would be|should be|has|of)\s{1,3}"
_BULLETS = re.compile(
    r"(?:(?:[-*+\u2022\u00b7\u25aa\u25e6\u2023>\u2013]|\(?[0-9]{1,2}[.)]|\(?[a-zA-Z][.)]|"
    r"[0-9]{1,2} \|)[ \t]+){0,3}"
)
_PLAIN_PREFIX = re.compile(
    r"(?:(?:my|the|final|answer|estimate|estimated|is|and|so|thus|then|hence|therefore|that|"
    r"a|an|i|would|say|set|put|give|assign|label|outcome|probability|of|for|class|category)"
    r"[ :,]{0,2})+",
    re.IGNORECASE,
)
# Of blanks only these: a vertical tab or a line separator ends no statement.
_REST = re.compile(
    r"[ \t]*(?:$|[,;:|(\[*!)\]\"'}>]|\.(?:\s|$)|[-\u2013\u2014]+\s|\u2014|"
    r"(?:because|since|as|due|given|based|for|which|and|so|while|whereas|but|with)\b)",
    re.IGNORECASE,
)
# A line of the same make as a statement, of a label that there is not.
_OTHER_LABEL = re.compile(
    rf"(?!(?:total|sum|confidence|certainty|check|age|note|source)\b)[^\W\d][^:=|\n]{{0,40}}"
    rf"(?:{_MARK_SEPARATOR})(?:[0-9]*\.[0-9]+|[01]|[0-9.]+\s?%)\W{{0,3}}$",
    re.IGNORECASE,
)
_VERB_BEFORE = re.compile(r"\b(?:is|are|be|as follows|say|estimate|with)$", re.IGNORECASE)
_ALONE = re.compile(r"[^\w]{0,4}$")


@dataclass(frozen=True)
class _Statement(Generic[Value]):
    label: str
    value: Value
    line: int
    example: bool


@dataclass
class _Found(Generic[Value]):
    """All statements of a reply, and what stands beside them."""

    statements: list[_Statement[Value]] = field(default_factory=list)
    spoiled: bool = False
    remarks: list[str] = field(default_factory=list)
    """What is no statement, by line; the rest of a line with statements is a remark too."""


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
    rows = _with_headed_rows(_joined(lines, labels, read), labels, read)
    found = _statements(rows, labels, read)
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
    if _has_other_labels(rows, answers) or _is_conditional(rows, answers):
        raise UnreadableError
    behind = "\n".join(found.remarks[answers[0][0].line :])
    stated = {value for value in values.values() if isinstance(value, Fraction)}
    if contradicts(behind, stated):
        raise UnreadableError
    _note_layout(found, reading)
    return values


def _has_other_labels(
    rows: Sequence[str], blocks: Sequence[Sequence[_Statement[Value]]]
) -> bool:
    """Return whether a line right before or behind a block gives a number to another label."""
    edges = [edge for block in blocks for edge in (block[0].line - 1, block[-1].line + 1)]
    stated = {statement.line for block in blocks for statement in block}
    return any(
        0 <= edge < len(rows) and edge not in stated and _OTHER_LABEL.match(_bare(rows[edge]))
        for edge in edges
    )


def _is_conditional(
    rows: Sequence[str], blocks: Sequence[Sequence[_Statement[Value]]]
) -> bool:
    """Return whether the line that introduces a block says under which condition it holds."""
    openings = [rows[block[0].line - 1] for block in blocks if block[0].line]
    return any(row.endswith(":") and CONDITION.search(row) for row in openings)


def _bare(row: str) -> str:
    bullets = _BULLETS.match(row)
    return row[bullets.end() :] if bullets else row


def _note_layout(found: _Found[Value], reading: RepairedText) -> None:
    beside = any(any(c.isalnum() for c in remark) for remark in found.remarks)
    reading.note("passage" if beside else "layout")


def _partial(
    found: _Found[Value],
    strays: list[_Statement[Value]],
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
    stated = {value for value in values.values() if isinstance(value, Fraction)}
    remarks = "\n".join(found.remarks)
    # One label alone is little to go by: no other number may stand beside it, and no other label
    # without one.
    if contradicts(remarks, stated) or set(probabilities_in(remarks)) - stated:
        raise UnreadableError
    pattern = _label_pattern(tuple(labels))
    if any(pattern.match(_bare(remark)) for remark in found.remarks):
        raise UnreadableError
    _note_layout(found, reading)
    return values


def _blocks(
    statements: Sequence[_Statement[Value]], n_labels: int
) -> tuple[list[list[_Statement[Value]]], list[_Statement[Value]]]:
    """Return complete blocks, and the statements that belong to none."""
    blocks, strays = [], []
    current: dict[str, _Statement[Value]] = {}
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


def _is_example(block: dict[str, _Statement[Value]]) -> bool:
    return next(iter(block.values())).example


def _statements(
    rows: Sequence[str], labels: Sequence[str], read: ReadValue[Value]
) -> _Found[Value]:
    pattern = _label_pattern(tuple(labels))
    found: _Found[Value] = _Found()
    # Whether the last line that is no statement introduces an example.
    example = False
    for number, row in enumerate(rows):
        stated, beside, spoiled = _row(row, pattern, read)
        found.spoiled |= spoiled
        found.remarks.append(beside)
        if not stated:
            example = bool(EXAMPLE.search(row))
            continue
        example |= bool(EXAMPLE.search(row))
        found.statements += [
            _Statement(label, value, number, example) for label, value in stated
        ]
    return found


def _row(
    row: str, pattern: re.Pattern[str], read: ReadValue[Value]
) -> tuple[list[tuple[str, Value]], str, bool]:
    """Return the statements of a line, what stands beside them, and whether a label is spoiled."""
    bullets = _BULLETS.match(row)
    start = bullets.end() if bullets else 0
    # A label may look like a bullet: "1 | 2 or more packs".
    stated: list[tuple[str, Value]] = []
    gaps: list[str] = []
    position = 0
    for match in pattern.finditer(row):
        if match.start() < position:
            continue
        label = match["label"].casefold()
        worded = bool(match["words"])
        bare = match["separator"] == ""
        value = read(row, match.end())
        if worded and not (match["lead"] or label in _GENERAL):
            continue
        first = not stated
        if bare and not (first and match.start() <= start):
            continue
        if value is None:
            # "No: maybe .3", "Decision: Maybe": the label is there, and its value is none.
            if first and match.start() <= start and not bare and _has_content(row[match.end() :]):
                return [], row, True
            continue
        if bare and not _ALONE.match(row, value[1]):
            continue
        before = row[position : match.start()]
        if first:
            if not _prefix_allows(row[min(start, match.start()) : match.start()], label, match):
                return [], row, True
            before = row[min(start, match.start()) : match.start()]
        elif not _rest_allows(before, stated[-1][1]):
            return [], row, True
        gaps.append(before)
        stated.append((label, value[0]))
        position = value[1]
    if not stated:
        return [], row, False
    rest = row[position:]
    if not _rest_allows(rest, stated[-1][1]):
        return [], row, True
    return stated, " ".join([*gaps, rest]), False


def _has_content(text: str) -> bool:
    return any(character.isdigit() for character in text) or bool(
        HEDGE.search(text) or re.match(r"\W*(?:yes|no|maybe|n/a|both|not)\b", text, re.IGNORECASE)
    )


def _prefix_allows(prefix: str, label: str, match: re.Match[str]) -> bool:
    """Return whether what stands before the first label of a line leaves it this label."""
    bare = prefix.strip()
    if not bare:
        return True
    if NEGATION.search(bare) or HEDGE.search(bare) or CONDITION.search(bare):
        return False
    if bare[-1] in ":,;.(|!)\u2014\u2013-":
        return True
    # "The distribution is low: 0.3": a verb is no part of the label.
    if match["lead"] or _VERB_BEFORE.search(bare):
        return True
    # "small a: 0.4" may well be another label than "a".
    return label in _GENERAL and bool(_PLAIN_PREFIX.fullmatch(bare))


def _rest_allows(rest: str, value: object) -> bool:
    """Return whether what follows a value leaves it this value."""
    if not rest.strip(" .,;"):
        return True
    if HEDGED_REST.match(rest) or not _REST.match(rest) or CONDITION.search(rest):
        return False
    others = [other for other in probabilities_in(rest) if other != value]
    return not others


@lru_cache(maxsize=256)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    # Longer labels first: one label may begin like another.
    names = []
    for label in sorted(labels, key=len, reverse=True):
        before = r"(?<!\w)" if label[:1].isalnum() else ""
        behind = r"(?!\w)" if label[-1:].isalnum() else ""
        # JSON and code write names with underscores.
        name = re.escape(label).replace(r"\ ", r"[ _]")
        names.append(f"{before}{name}{behind}")
    return re.compile(
        rf"(?P<lead>{_LEAD})?{_OPEN}(?P<label>{'|'.join(names)}){_CLOSE}"
        rf"(?P<separator>{_MARK_SEPARATOR}|{_DASH_SEPARATOR}|(?P<words>{_WORD_SEPARATOR})|"
        rf"(?P<blank>)\s{{1,3}}(?=[0-9.])|)",
        re.IGNORECASE,
    )


def _joined(lines: Sequence[str], labels: Sequence[str], read: ReadValue[Value]) -> list[str]:
    """Put a value that stands below its label, alone in its line, behind it."""
    folded = {label.casefold() for label in labels}
    rows: list[str] = []
    for line in lines:
        value = read(line, 0) if rows and rows[-1].rstrip(": ").casefold() in folded else None
        if value is not None and _ALONE.match(line, value[1]):
            rows[-1] = f"{rows[-1].rstrip(': ')}: {line}"
        else:
            rows.append(line)
    return rows


def _with_headed_rows(
    rows: Sequence[str], labels: Sequence[str], read: ReadValue[Value]
) -> list[str]:
    """Write the rows of a table that has the labels as its heads as statements."""
    folded = [label.casefold() for label in labels]
    heads: list[str] | None = None
    written = []
    for row in rows:
        cells = [cell.strip() for cell in row.split("|")] if "|" in row else []
        names = [cell.casefold() for cell in cells]
        if cells and all(names.count(label) == 1 for label in folded):
            heads = names
        elif heads and len(cells) == len(heads) and _all_read(cells, heads, folded, read):
            pairs = [f"{label}: {cells[heads.index(label.casefold())]}" for label in labels]
            written.append("; ".join(pairs))
        else:
            heads = heads if cells else None
            written.append(row)
    return written


def _all_read(
    cells: Sequence[str], heads: Sequence[str], folded: Sequence[str], read: ReadValue[Value]
) -> bool:
    for label in folded:
        cell = cells[heads.index(label)]
        value = read(cell, 0)
        if value is None or not _ALONE.match(cell, value[1]):
            return False
    return True


def number_at(reading: RepairedText) -> ReadValue[Fraction]:
    """Return a reader of numbers that notes the repairs it takes."""

    def read(line: str, position: int) -> tuple[Fraction, int] | None:
        match = NUMBER.match(line, position)
        return None if match is None else (value_of(match, reading), match.end())

    return read


def option_at(options: Sequence[str]) -> ReadValue[str]:
    """Return a reader of single words among options, such as Yes and No; in lower case."""
    pattern = re.compile(rf"[\"'\[(]?({'|'.join(map(re.escape, options))})\b[\"')\]]?", re.I)

    def read(line: str, position: int) -> tuple[str, int] | None:
        match = pattern.match(line, position)
        return None if match is None else (match[1].casefold(), match.end())

    return read
