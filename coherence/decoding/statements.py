"""Statements of a reply: lines, JSON objects and `Answer:` lines that hold a value and no more.

Markup is taken off and then every line is held against a few closed forms as a whole: what is not
one of them is a remark, and a remark is never read, whatever it says. So no word of a reply gives
or takes away a value; only another statement that differs does.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

ANSWER_NAMES = (
    "answer",
    "probability",
    "prob",
    "p",
    "risk",
    "estimate",
    "estimated probability",
    "probability estimate",
    "belief",
    "prediction",
    "choice",
    "decision",
    "action",
    "selection",
    "response",
    "conclusion",
    "verdict",
)
"""Names that stand for the value that was asked for, with 'the', 'my' or 'final' before them."""
_OBJECT_NAMES = frozenset((*ANSWER_NAMES, "probabilities", "distribution", "answers", "output"))
ANSWER = ""
"""Name of a statement without a label: the bare value, or one behind an answer's name."""

Value = Fraction | str
ParseValue = Callable[[str, set[str]], Value | None]
"""A piece of text -> the value that it is as a whole, or None; takes note of repairs."""

MOST_DIGITS = 40  # longer numbers are no probabilities and would only cost time
_MOST_OBJECTS = 8
_MOST_CELL = 200

_SIGNS = str.maketrans("−﹣－＋：％٪．٫，⁄＝’‘“”", "---+:%%..,/=''\"\"")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf)\s?\{([^{}\n]{1,200})\}")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{([0-9]{1,40})\}\s?\{([0-9]{1,40})\}")
_BOXED = re.compile(r"\\boxed\s?\{([^{}\n]{1,200})\}")
_LATEX_MARKS = re.compile(r"\\[()\[\]]|\$(?=[^$\n]{1,200}\$)|(?<=\S)\$(?=\s|[.,;]|$)|\\(?=%)")
_OPEN_TAG = re.compile(
    r"<(?:final[ _-]?)?(?:answer|probability)>|<\|begin_of_box\|>", re.IGNORECASE
)
_CLOSE_TAG = re.compile(
    r"</(?:final[ _-]?)?(?:answer|probability)>|<\|end_of_box\|>|</?(?:p|ul|ol|li|div|br ?/?)>",
    re.IGNORECASE,
)
_INLINE_TAG = re.compile(r"</?(?:b|i|em|strong)>", re.IGNORECASE)
# At the borders of words alone: "5**2" is no emphasis.
_EMPHASIS = re.compile(r"(?<![\w*_`])[*_`]{1,3}(?=[^\s*_`])|(?<=[^\s*_`])[*_`]{1,3}(?![\w*_`])")
_BULLET = re.compile(r"(?:[-*+•·▪◦‣>–]|#{1,6})[ \t]+(?=\S)|\(?[0-9]{1,2}[.)][ \t]+(?=[^\s0-9.])")
_SEPARATOR = r"[\"')\]]{0,2}\s{0,4}(?::\s?\||=>|->|-->|[:=|→⇒])[ \t*_]{0,6}"
_DASH = r"\s{1,3}[-–—]{1,2}\s{1,3}"
_LEAD = r"(?:(?:p|pr|prob|probability|chance|likelihood)\s?(?:\(|of )\s?)"
_ANSWER_LEAD = re.compile(
    rf"(?:(?:the|my|your|so,?|therefore,?) ){{0,2}}(?:final )?(?:{'|'.join(ANSWER_NAMES)})"
    r"(?:\s{0,3}[:=|]|\s{1,3}is(?: therefore)?:?(?=\s))\s{0,3}"
    r"|i (?:would )?(?:choose|pick):?\s{1,3}",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[0-9]{1,40}[.)]")
_JSON_OBJECT = re.compile(r"\{\s*\"")
_DIGITS = r"[0-9]++"
_NUMBER = re.compile(
    rf"(?P<numerator>{_DIGITS})\s?(?:/|out of|in)\s?(?P<denominator>{_DIGITS})|"
    rf"(?P<number>[+-]?(?:{_DIGITS}(?:[.,]{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?[0-9]{{1,3}})?)"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b))?"
)
_TWICE = re.compile(r"\s{0,3}(?:\(\s?=?|=)\s{0,3}")


@dataclass
class Statements:
    """What a reply states."""

    # by label in lower case, or `ANSWER`: every value that is stated
    values: dict[str, list[Value]] = field(default_factory=dict)
    # labels that have a line of their own whose value cannot be parsed
    broken: set[str] = field(default_factory=set)
    repairs: set[str] = field(default_factory=set)  # what it took, as in ``repaired:...``.

    def add(self, name: str, value: Value) -> None:
        """Record a value."""
        self.values.setdefault(name, []).append(value)


def plain_text(text: str, repairs: set[str]) -> str:
    """Return a text in ASCII digits and signs, without fences, emphasis, LaTeX and answer tags."""
    plain = text if text.isascii() else "".join(map(_plain_character, text.translate(_SIGNS)))
    if plain != text:
        repairs.add("characters")
    bare = _EMPHASIS.sub("", _EMPHASIS.sub("", _FENCE.sub("", plain)))
    if "\\" in bare or "$" in bare:
        bare = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_TEXT.sub(r"\1", bare))
        bare = _LATEX_MARKS.sub("", _BOXED.sub(r"\nAnswer: \1\n", bare))
    if "<" in bare:
        bare = _INLINE_TAG.sub("", bare)
        bare = _CLOSE_TAG.sub("\n", _OPEN_TAG.sub("\nAnswer: ", bare))
    if bare.strip() != plain.strip():
        repairs.add("markup")
    return bare


@lru_cache(maxsize=1024)
def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Zs":
        return " "
    if unicodedata.decomposition(character).startswith("<wide>"):
        return unicodedata.normalize("NFKC", character)
    if unicodedata.decomposition(character).startswith("<fraction>"):
        # Set apart, so that "1½" is two numbers, which is to say none.
        return f" {unicodedata.normalize('NFKC', character).replace('⁄', '/')} "
    return character


def parse_probability(text: str, repairs: set[str]) -> Fraction | None:
    """Return the number that a text is as a whole; it may say it twice, as in "0.70 (70%)"."""
    piece = text.strip(" \t\r\"'([{")
    first = _NUMBER.match(piece)
    if first is None:
        return None
    noted: set[str] = set()
    value = _value_of(first, noted)
    rest = piece[first.end() :]
    twice = _TWICE.match(rest)
    again = twice and _NUMBER.match(rest, twice.end())
    if twice and again:
        second = _value_of(again, noted)
        if value is None or second is None or not agree((value, second)):
            return None
        noted.add("words")
        rest = rest[again.end() :]
    ending = rest.strip(" \t\r\"')]}")
    # "0." is a decimal without its digits, and "0.7.." is none; "1." can only be 1.
    if value is None or ending not in ("", ".", ",", ";", "!"):
        return None
    if ending == "." and not again and first["number"] in ("0", "-0", "+0"):
        return None
    if ending:
        noted.add("punctuation")
    elif rest.strip() or piece != text.strip():
        noted.add("markup")
    repairs |= noted
    return value


def _value_of(match: re.Match[str], repairs: set[str]) -> Fraction | None:
    """Return the exact value of a number, a percentage or a fraction."""
    if len(match[0]) > MOST_DIGITS:
        return None
    if match["numerator"]:
        repairs.add("fraction")
        parts = int(match["numerator"]), int(match["denominator"])
        # "50/50" and "30/70" are two shares, and no fraction.
        return None if parts[1] == 0 or sum(parts) == 100 else Fraction(*parts)
    number = match["number"]
    if number[0] == "+" or "e" in number.lower():
        repairs.add("notation")
    if "," in number:
        whole, decimals = number.lstrip("+-").split(",")
        if whole != "0" and len(decimals) > 2:
            return None  # "1,000" may be one or a thousand
        repairs.add("comma")
        number = number.replace(",", ".")
    if not match["percent"]:
        return Fraction(number)
    repairs.add("percent")
    return Fraction(number) / 100


def agree(values: Sequence[Value]) -> bool:
    """Return whether all values are one, numbers within half a hundredth."""
    numbers = [value for value in values if isinstance(value, Fraction)]
    if len(numbers) < len(values):
        return len(set(values)) <= 1
    return max(numbers) - min(numbers) <= Fraction(1, 200)


def find_statements(
    text: str, labels: Sequence[str], parse: ParseValue, *, bare_lines: bool = False
) -> Statements:
    """Find all statements of a reply."""
    found = Statements()
    parse = _remembering(parse)
    text = _take_objects(plain_text(text, found.repairs), labels, parse, found)
    rows = [line for line in (line.strip(" \t\r") for line in text.split("\n")) if line]
    # A repeated line adds nothing, and a reply may repeat itself for pages.
    lines = dict.fromkeys(_with_headed_rows(_joined(rows, labels, parse), labels, parse))
    bare: list[tuple[Value, set[str]]] = []
    remarks = False
    for line in lines:
        bullet = _BULLET.match(line)
        # An option or a value may itself look like a bullet: the line as it stands comes first.
        for candidate in (line, line[bullet.end() :]) if bullet else (line,):
            noted: set[str] = set() if candidate == line else {"markup"}
            value = parse(candidate, noted)
            # A bullet before a number may be its sign, and "1." alone numbers what follows.
            sign = candidate != line and candidate[0] in "0123456789."
            if value is not None and not sign and not _LIST_NUMBER.fullmatch(candidate):
                bare.append((value, noted))
                break
            if _take_line(candidate, labels, parse, found):
                found.repairs |= {"markup"} if candidate != line else set()
                break
        else:
            remarks |= bool(line.strip(" |-:*_#.{}[]"))
    if bare and (bare_lines or not (remarks or found.values or found.broken)):
        for value, noted in bare:
            found.add(ANSWER, value)
            found.repairs |= noted
    if remarks:
        found.repairs.add("passage")
    return found


@lru_cache(maxsize=256)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a label and what parts it from its value."""
    # Longer labels first: one label may begin like another.
    names = "|".join(
        re.escape(label).replace(r"\ ", "[ _]") for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(
        rf"(?<!\w)(?P<lead>{_LEAD})?[\"'(\[{{]{{0,2}}(?P<label>{names})"
        rf"(?:(?P<mark>{_SEPARATOR})|{_DASH}|\s?(?=\([0-9.])|\s{{1,3}}(?=\.?[0-9]))",
        re.IGNORECASE,
    )


def _take_line(line: str, labels: Sequence[str], parse: ParseValue, found: Statements) -> bool:
    """Take the statements of a line that is nothing else; return whether it is one."""
    line = line.strip("| \t")
    lead = _ANSWER_LEAD.match(line)
    if labels:
        for start in {0, lead.end() if lead else 0}:
            piece = line[start:].lstrip("{[( ")
            if _take_pairs(piece, labels, parse, found) or _take_reversed(
                piece, labels, parse, found
            ):
                found.repairs |= {"words"} if start else set()
                return True
    if lead is None:
        return False
    noted: set[str] = set()
    value = parse(line[lead.end() :], noted)
    if value is None:
        return False
    found.add(ANSWER, value)
    found.repairs |= {*noted, "words"}
    return True


def _take_pairs(line: str, labels: Sequence[str], parse: ParseValue, found: Statements) -> bool:
    """Take ``label: value`` once or more; a line that begins so and goes on otherwise is broken."""
    matches = list(_label_pattern(tuple(labels)).finditer(line))
    if not matches or matches[0].start():
        return False
    noted: set[str] = set()
    pairs: list[tuple[str, Value | None]] = []
    for match, end in zip(matches, [*(one.start() for one in matches[1:]), len(line)], strict=True):
        label = _folded(match["label"], labels)
        piece = line[match.end() : end].strip()
        if end < len(line):
            piece = re.sub(r"(?:[,;|/]|\band)[ ]?$", "", piece)
        pairs.append((label, parse(piece, noted)))
        if match["label"] not in labels or (match["mark"] or "").strip() != ":":
            noted.add("spelling")
        if match["lead"]:
            noted.add("words")
    if any(value is None for _, value in pairs):
        found.broken |= {label for label, _ in pairs}
        return False
    if len(pairs) > 1:
        noted.add("layout")
    for label, value in pairs:
        if value is not None:
            found.add(label, value)
    found.repairs |= noted
    return True


def _folded(label: str, labels: Sequence[str]) -> str:
    folded = label.casefold()
    return folded if folded in map(str.casefold, labels) else folded.replace("_", " ")


def _take_reversed(line: str, labels: Sequence[str], parse: ParseValue, found: Statements) -> bool:
    """Take ``30% No, 70% Yes``: a line of values, each with its label behind it."""
    if len(line) > _MOST_CELL:
        return False
    # Longer labels first: one label may end like another.
    names = sorted({label.casefold() for label in labels}, key=len, reverse=True)
    pairs: list[tuple[str, Value]] = []
    for part in re.split(r"[,;|/][ ]|[ ]and[ ]", line.rstrip(" .,;)]}")):
        words = part.strip(" ([").casefold()
        label = next((name for name in names if words.endswith(f" {name}")), None)
        if label is None:
            return False
        value = parse(words[: -len(label)].rstrip(" :=-").removesuffix(" for"), found.repairs)
        if value is None:
            return False
        pairs.append((label, value))
    for label, value in pairs:
        found.add(label, value)
    found.repairs.add("layout")
    return True


def _remembering(parse: ParseValue) -> ParseValue:
    """Return a parser that parses every text once."""
    known: dict[str, tuple[Value | None, set[str]]] = {}

    def remembered(text: str, repairs: set[str]) -> Value | None:
        if text not in known:
            noted: set[str] = set()
            known[text] = parse(text, noted), noted
        repairs |= known[text][1]
        return known[text][0]

    return remembered


def _joined(lines: Sequence[str], labels: Sequence[str], parse: ParseValue) -> list[str]:
    """Put a value that stands below its label, alone in its line, behind it."""
    names = {*(label.casefold() for label in labels), *ANSWER_NAMES, "final answer"}
    rows: list[str] = []
    for line in lines:
        above = rows[-1].rstrip(": ").lstrip("#-* ").casefold() if rows else ""
        if above in names and parse(line, set()) is not None:
            rows[-1] = f"{rows[-1].rstrip(': ')}: {line}"
        else:
            rows.append(line)
    return rows


def _with_headed_rows(rows: Sequence[str], labels: Sequence[str], parse: ParseValue) -> list[str]:
    """Write the rows of a table that has the labels as its heads as statements."""
    folded = [label.casefold() for label in labels]
    heads: list[str] = []
    written = []
    for row in rows:
        cells = [cell.strip() for cell in row.strip("| ").split("|")] if "|" in row else []
        names = [cell.casefold() for cell in cells]
        if labels and cells and all(names.count(label) == 1 for label in folded):
            heads = names
            continue
        if heads and len(cells) == len(heads):
            pairs = [(label, cells[heads.index(label.casefold())]) for label in labels]
            if all(parse(cell, set()) is not None for _, cell in pairs):
                written += [f"{label} = {cell}" for label, cell in pairs]
                continue
        written.append(row)
    return written


def _take_objects(text: str, labels: Sequence[str], parse: ParseValue, found: Statements) -> str:
    """Take the statements of JSON objects and return the text without these objects."""
    names = {label.casefold() for label in labels}
    decoder = json.JSONDecoder(
        object_pairs_hook=tuple, parse_float=str, parse_int=str, parse_constant=str
    )
    position, kept = 0, []
    # What cannot be parsed is left to the lines; a bound keeps a reply of braces linear.
    for _ in range(_MOST_OBJECTS):
        opening = _JSON_OBJECT.search(text, position)
        if opening is None:
            break
        try:
            value, end = decoder.raw_decode(text, opening.start())
            pairs = list(_pairs_in(value))
        except (ValueError, RecursionError):
            kept.append(text[position : opening.end()])
            position = opening.end()
            continue
        kept.append(text[position : opening.start()])
        position = end
        # A number beside "No" or false may be that of No.
        denied = any(stated is False or str(stated).casefold() == "no" for _, stated in pairs)
        for name, stated in pairs:
            folded = name.casefold().replace("_", " ")
            label = name.casefold() if name.casefold() in names else folded
            if label not in names:
                if folded.removeprefix("final ") not in ANSWER_NAMES:
                    continue
                label = ANSWER
            number = parse(stated, found.repairs) if isinstance(stated, str) else None
            if denied and label == ANSWER and isinstance(number, Fraction):
                continue
            if number is not None:
                found.add(label, number)
            elif label != ANSWER:
                found.broken.add(label)
        found.repairs.add("json")
    return "".join([*kept, text[position:]])


def _pairs_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of an object, and of one that it holds as its answer."""
    if isinstance(value, tuple):
        for name, inner in value:
            yield name, inner
            if name.casefold().replace("_", " ").removeprefix("final ") in _OBJECT_NAMES:
                yield from _pairs_in(inner)
