"""Statements: a label and its value in one line of a reply, or in a row of a table.

What stands before the label and behind the value may make it another label or another value: a
negation, a hedge, a condition, a range. Then the label is spoiled, and so is the reply.
"""

import re
from collections.abc import Callable, Collection, Sequence
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
    OPPOSITE,
    WORLD,
    probabilities_in,
)
from coherence.decoding.introductions import introduces_another
from coherence.decoding.numerals import NUMBER, RepairedText, value_of
from coherence.decoding.reversed_rows import with_labels_first

Value = TypeVar("Value")
ReadValue = Callable[[str, int], tuple[Value, int] | None]
"""Line and position -> value and where it ends; None where none stands there."""

# Labels whose names say nothing but that they are labels; words may stand before them.
_GENERAL = frozenset(("no", "yes", "can decide", "decision"))
_LEAD = r"(?:(?:p|pr|prob(?:ability)?|likelihood|chance|odds)\s?(?:\(\s?|of\s(?:the\s)?))"
_OPEN, _CLOSE = r"[\"'\[(<{]{0,2}", r"[\"'\])>}]{0,2}"
MARK_SEPARATOR = r"\s{0,3}(?::\s?\||=>|-+>|[:=|]|\u2192|\u21d2)\s{0,3}"
_DASH_SEPARATOR = r"\s{1,3}[-\u2013\u2014]{1,3}\s{1,3}|\s?\u2014\s?"
_WORD_SEPARATOR = r"\s(?:is|are|to be|at|would be|should be|has|of)\s{1,3}"
_BULLETS = re.compile(
    r"(?:(?:[-*+\u2022\u00b7\u25aa\u25e6\u2023>\u2013]|\(?[0-9]{1,2}[.)]|\(?[a-zA-Z][.)]|"
    r"[0-9]{1,2} \|)[ \t]+){0,3}"
)
_PLAIN_PREFIX = re.compile(
    r"(?:(?:my|the|final|answer|estimate|estimated|is|and|so|thus|then|hence|therefore|that|"
    r"a|an|i|would|i'd|lean|leaning|towards?|say|set|put|give|assign|label|outcome|probability|"
    r"of|for|class|category)"
    r"[ :,]{0,2})+",
    re.IGNORECASE,
)
# Of blanks only these: a vertical tab or a line separator ends no statement.
_REST = re.compile(
    r"[ \t]*(?:$|[,;:|/(\[*!)\]\"'}>]|\.(?:\s|$)|[-\u2013\u2014]+\s|\u2014|"
    r"(?:because|since|as|due|given|based|for|which|and|so|while|whereas|but|with)\b)",
    re.IGNORECASE,
)
_UNSETTLED = re.compile(
    r"\s*[.,;(\u2013\u2014-]?\s*(?:(?:and|or|but|for|only|pending|provided|except|although|though|"
    r"as long|subject to|after|until|once|not|i\.e\.?|well)\b|"
    r"with\b(?! (?:high|good|reasonable|moderate|some|great|near) (?:confidence|certainty)))|"
    r"\s*(?:\u2192|->|=>)",
    re.IGNORECASE,
)
_BARE_WORD = re.compile(r"\b(?:yes|no)\b(?=\W*$|\s*[.,;:!?)\u2013\u2014-])", re.IGNORECASE)
_VERB_BEFORE = re.compile(r"\b(?:is|are|be|as follows|say|estimate|with)$", re.IGNORECASE)
_ALONE = re.compile(r"[^\w]{0,4}$")


@dataclass(frozen=True)
class Statement(Generic[Value]):
    """A label in lower case, its value, its line, and whether it is shown as an example."""

    label: str
    value: Value
    line: int
    example: bool


@dataclass
class Found(Generic[Value]):
    """All statements of a reply, and what stands beside them.

    Parameters
    ----------
    rows : list of str
        Lines, those that belong together joined.
    statements : list of Statement
        In their order.
    spoiled : bool
        Whether a label has a value that is hedged, negated, conditional or none.
    remarks : list of str
        By line, what of it is no statement.
    """

    rows: list[str]
    statements: list[Statement[Value]] = field(default_factory=list)
    spoiled: bool = False
    remarks: list[str] = field(default_factory=list)


def find_statements(
    lines: Sequence[str], labels: Sequence[str], read: ReadValue[Value]
) -> Found[Value]:
    """Find all statements of a reply.

    Parameters
    ----------
    lines : sequence of str
        As from `coherence.decoding.prose.plain_lines`.
    labels : sequence of str
        Labels, distinct in lower case.
    read : callable
        Reads a value at a position of a line.

    Returns
    -------
    Found
        Statements in their order, and what stands beside them.
    """
    rows = _with_headed_rows(_joined(lines, labels, read), labels, read)
    found = _in_rows(rows, labels, read)
    if found.statements or found.spoiled:
        return found
    turned = with_labels_first(rows, labels)
    return found if turned == rows else _in_rows(turned, labels, read)


def _in_rows(rows: list[str], labels: Sequence[str], read: ReadValue[Value]) -> Found[Value]:
    pattern, named = label_pattern(tuple(labels)), _names(tuple(labels))
    names = {label.casefold() for label in labels}
    found: Found[Value] = Found(rows)
    # Whether the last line that is no statement introduces an example.
    example = False
    for number, row in enumerate(rows):
        # Most lines name no label; telling so is cheap.
        if named.search(row):
            stated, beside, spoiled = _row(row, pattern, names, read)
        else:
            stated, beside, spoiled = [], row, False
        found.spoiled |= spoiled
        found.remarks.append(beside)
        if not stated:
            example = bool(EXAMPLE.search(row))
            continue
        example |= bool(EXAMPLE.search(row))
        found.statements += [Statement(label, value, number, example) for label, value in stated]
    return found


def _row(
    row: str, pattern: re.Pattern[str], names: Collection[str], read: ReadValue[Value]
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
        label = label if label in names else label.replace("_", " ")
        # Letters without a small form of one letter match a label, and are not it.
        if label not in names:
            continue
        worded = bool(match["words"])
        bare = not match["separator"].strip()
        value = read(row, match.end())
        if match["gloss"] and not _explains(match["gloss"], label):
            return [], row, True
        if worded and not (match["lead"] or label in _GENERAL):
            continue
        first = not stated
        if bare and not (first and match.start() <= start):
            continue
        if match["paren"] and not (value and _closes(row, value[1])):
            continue  # "No (none of 3 signs): 0.3"
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
        if match["paren"] and row.startswith(")", position):
            position += 1
    if not stated:
        return [], row, False
    rest = row[position:]
    if not _rest_allows(rest, stated[-1][1]):
        return [], row, True
    return stated, " ".join([*gaps, rest]), False


def _explains(gloss: str, label: str) -> bool:
    """Return whether words in brackets behind a label say no other thing than the label."""
    if any(cue.search(gloss) for cue in (HEDGE, CONDITION, EXAMPLE, WORLD)):
        return False
    turned = bool(NEGATION.search(gloss) or OPPOSITE.search(gloss))
    return turned == (label == "no") if label in ("no", "yes") else True


def _closes(row: str, position: int) -> bool:
    return row.startswith(")", position) or row[position - 1 : position] == ")"


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
    if label in _GENERAL and _PLAIN_PREFIX.fullmatch(bare):
        return True
    if bare[-1] == ":" and introduces_another([bare]):
        return False
    if bare[-1] in ":,;.(|!)\u2014\u2013-":
        return True
    # "The distribution is low: 0.3": a verb is no part of the label.
    # "small a: 0.4" may well be another label than "a".
    return bool(match["lead"] or _VERB_BEFORE.search(bare))


def _rest_allows(rest: str, value: object) -> bool:
    """Return whether what follows a value leaves it this value."""
    if not rest.strip(" .,;"):
        return True
    if HEDGED_REST.match(rest) or not _REST.match(rest) or CONDITION.search(rest):
        return False
    if isinstance(value, str):
        # "Yes and no", "Yes, but only after a biopsy", "No. Well, yes."
        return not _UNSETTLED.match(rest) and not any(
            word[0].casefold() != value for word in _BARE_WORD.finditer(rest)
        )
    return all(other == value for other in probabilities_in(rest))


def without_bullets(row: str) -> str:
    """Return a line without bullets and numbering."""
    bullets = _BULLETS.match(row)
    return row[bullets.end() :] if bullets else row


@lru_cache(maxsize=256)
def _names(labels: tuple[str, ...]) -> re.Pattern[str]:
    # Longer labels first: one label may begin like another.
    names = []
    for label in sorted(labels, key=len, reverse=True):
        before = r"(?<!\w)" if label[:1].isalnum() else ""
        behind = r"(?!\w)" if label[-1:].isalnum() else ""
        # JSON and code write names with underscores.
        name = re.escape(label).replace(r"\ ", r"[ _]")
        names.append(f"{before}{name}{behind}")
    return re.compile("|".join(names), re.IGNORECASE)


@lru_cache(maxsize=256)
def label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a label with what may part it from its value."""
    return re.compile(
        rf"(?P<lead>{_LEAD})?{_OPEN}(?P<label>{_names(labels).pattern}){_CLOSE}"
        rf"(?P<separator>(?:\s?\((?P<gloss>[^()0-9\n]{{1,60}})\))?{MARK_SEPARATOR}|"
        rf"{_DASH_SEPARATOR}|(?P<words>{_WORD_SEPARATOR})|"
        rf"(?P<paren>\s?\((?=[01]?\.[0-9]|[0-9.]{{1,8}}\s?%|yes\b|no\b))|"
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


NONE = "none"
_NONE_WORDS = (
    r"n/?a\b|none\b|null\b|not applicable\b|defer(?:red)?\b|undecided\b|unknown\b|"
    r"undetermined\b|[-\u2013\u2014]{1,3}(?=\s*$)"
)


def option_at(options: Sequence[str]) -> ReadValue[str]:
    """Return a reader of single words among options, such as Yes and No; in lower case.

    What says that there is no such word, such as "N/A", is read as `NONE`.
    """
    pattern = re.compile(
        rf"[\"'\[(]?(?:(?P<option>{'|'.join(map(re.escape, options))})\b|(?:{_NONE_WORDS}))"
        r"[\"')\]]?",
        re.IGNORECASE,
    )

    def read(line: str, position: int) -> tuple[str, int] | None:
        match = pattern.match(line, position)
        if match is None:
            return None
        return match["option"].casefold() if match["option"] else NONE, match.end()

    return read
