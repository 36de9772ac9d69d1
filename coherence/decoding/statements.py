"""Statements of a reply: lines, JSON objects and `Answer:` lines that hold a value and no more.

Markup is taken off and then every line is held against a few closed forms as a whole: what is not
one of them is a remark, and a remark is never read, whatever it says. So no word of a reply gives
or takes away a value; only another statement that differs does.

A model may write its thinking before its answer, between tags of its own; a server may cut a reply
or withhold it; marks that end a turn may be left in the text, with another turn behind them. None
of that is the answer, and none of it is read as one.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
# With a maker's name before it, as in <seed:think> and <longcat_think>; <|START_THINKING|> is
# Cohere's, <|channel> Gemma's, <|inner_prefix|> that of Apertus. Linear: every alternative begins
# with a bracket, and what could overlap is short.
_TAG = re.compile(
    r"(?P<open>[<\u25c1]\|?)(?P<slash>/?)(?:(?P<edge>begin|start|end)(?:_of)?_)?"
    rf"(?:[a-z]{{1,9}}[:_|])?(?:{_NAMES})\s?\|?[>\u25b7]|\[(?P<bar>/?)THINK\]"
    r"|<\|channel>|(?P<after><channel\|>)|<\|inner_(?:prefix|(?P<suffix>suffix))\|>",
    re.IGNORECASE,
)
_CLOSED_BY = {"<|channel>": "<channel|>", "<|inner_prefix|>": "<|inner_suffix|>"}
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>")
# A tag of another name at the beginning is taken for one of thinking, if it is none of an answer.
# A label in brackets, `<No>: 0.3`, is no tag.
_FIRST = re.compile(r"\s*<\|?(?P<name>[a-z][\w:-]{0,40})\|?>(?!:)", re.IGNORECASE)
_OF_ANSWERS = re.compile(
    r"(?:final[ _-]?)?(?:answer|probability|response|output|result|reply|json|code)|final"
    r"|begin_of_box|p|ul|ol|li|div|span|br ?/?|b|i|em|strong|table|html|body|pre|h[1-6]|s|bos",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"^\s*(?:<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>)?\s*"
    r"(?:<\|im_start\|>\s*assistant|<start_of_turn>\s*model|<\|assistant\|>"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>)?"
)
_END = re.compile(
    r"<\|(?:im_end|eot|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn|END_OF_TURN_TOKEN|return"
    r"|eos)\|>"
    r"|</s>|<end_of_turn>|<eos>|<eot>|<\uff5cend\u2581of\u2581sentence\uff5c>|\[EOS\]"
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
"""Phrases (lower case, straight apostrophes) that make an unparsed reply a refusal."""


def sounds_like_refusal(text: str) -> bool:
    """Return whether a text has one of the phrases of a refusal, with either apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    return any(phrase in plain for phrase in REFUSALS)


@dataclass(frozen=True)
class Reply:
    """What of a reply is to be read."""

    # what was said, without thinking and without the marks of a turn; of a cut reply its complete
    # lines alone, since whatever comes last may have been cut itself
    text: str
    thinking: str | None = None  # what was thought aloud; None where nothing was
    cut: bool = False  # whether the reply was cut before its end
    unfinished: bool = False  # whether it was still thinking when it ended
    marked: bool = False  # whether marks of a turn were taken away


def open_thinking(prompt: str) -> str:
    """Return a prompt from where it opens a thinking that it does not close; "" where it does not.

    An answer to it begins inside the thinking.
    """
    channels = list(_CHANNEL.finditer(prompt))
    if channels and channels[-1][1].lower() != "final":
        return prompt[channels[-1].start() :]
    start: int | None = None
    for tag in _TAG.finditer(prompt):
        if _closes(tag):
            start = None
        elif start is None:
            start = tag.start()
    return "" if start is None else prompt[start:]


def closing_tag(opened: str) -> str:
    """Return what closes a thinking that begins so, as `open_thinking` returns it."""
    tag = _TAG.match(opened)
    if tag is None:
        return "<|channel|>final<|message|>"
    if tag[0] in _CLOSED_BY:
        return _CLOSED_BY[tag[0]]
    if tag["edge"]:
        return tag[0].replace(tag["edge"], "END" if tag["edge"].isupper() else "end")
    opened = tag["open"] or tag[0][0]
    return f"{opened}/{tag[0].removeprefix(opened)}"


def is_thinking_tag(text: str) -> bool:
    """Tell whether a text is a tag that opens or closes a thinking."""
    return _TAG.fullmatch(text) is not None


def _closes(tag: re.Match[str]) -> bool:
    ends = (tag["slash"], tag["bar"], tag["after"], tag["suffix"])
    return any(ends) or (tag["edge"] or "").lower() == "end"


def take_apart(text: str, finish_reason: str | None = None) -> Reply:
    r"""Take thinking, marks of a turn and an incomplete end away from a reply."""
    cut = finish_reason == "length"
    said, thinking, unfinished = _without_thinking(text)
    body, marked = said, False
    if "<" in body or "[" in body:
        turn = _TURN.match(body)
        opening = turn.end() if turn and turn[0].strip() else 0
        end = _END.search(body, opening)
        if end:
            # What follows the end of a turn is no answer to this question, and what stands before
            # it was not cut.
            cut = False
        whole = body
        body = body[opening : end.start() if end else len(body)]
        # Between <s> and </s> a page strikes out what a model with these marks of a turn says: of a
        # reply that goes on after them it is not known which was meant.
        if (
            end
            and end[0] == "</s>"
            and "<s>" in whole[: end.start()]
            and whole[end.end() :].strip()
        ):
            body = ""
        marked = body != said
    if cut:
        body = body[: body.rfind("\n") + 1]
    return Reply(body, thinking, cut, unfinished, marked)


def _is_mark(tag: re.Match[str]) -> bool:
    """Tell whether a tag at the beginning is one of answers, of turns or of their end."""
    if _OF_ANSWERS.fullmatch(tag["name"]):
        return True
    turn, text = _TURN.match(tag.string), tag[0].strip()
    return bool((turn and turn[0].strip()) or _END.fullmatch(text))


def _without_thinking(text: str) -> tuple[str, str | None, bool]:
    """Return what was said, what was thought, and whether the thinking has no end."""
    if not any(mark in text for mark in ("<", "\u25c1", "[THINK]", "[/THINK]")):
        return text, None, False
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        if last[1].lower() != "final":
            return "", text, True
        return text[last.end() :], text[: last.start()], False
    first = _FIRST.match(text)
    if first and not _TAG.match(text.lstrip()) and not _is_mark(first):
        name = re.escape(re.sub("^start_?", "", first["name"], flags=re.IGNORECASE))
        close = re.compile(rf"<(?:/|\|/|\|?end_?){name}\|?>", re.IGNORECASE).search(text)
        if close is None:
            return "", text, True
        rest, more, inside = _without_thinking(text[close.end() :])
        return rest, text[: close.start()] + (more or ""), inside
    said: list[str] = []
    thought: list[str] = []
    inside, position, tags = False, 0, 0
    for tag in _TAG.finditer(text):
        tags += 1
        closes = _closes(tag)
        piece = text[position : tag.start()]
        position = tag.end()
        if inside:
            thought.append(piece)
            inside = not closes
        elif closes:
            # The opening tag may be part of the question's template: all before was thinking.
            thought += [*said, piece]
            said = []
        else:
            said.append(piece)
            inside = True
    if not tags:
        return text, None, False
    (thought if inside else said).append(text[position:])
    return "".join(said), "".join(thought), inside


_NAMES_OF_ANSWERS = (
    "answer|probability|prob|p|risk|estimate|estimated probability|probability estimate|belief"
    "|prediction|choice|decision|action|selection|response|conclusion|verdict"
)
ANSWER_NAMES = tuple(_NAMES_OF_ANSWERS.split("|"))
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
    rf"(?:(?:the|my|your|so,?|therefore,?) ){{0,2}}(?:final )?(?:{_NAMES_OF_ANSWERS})"
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
