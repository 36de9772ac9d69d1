"""What an answer that misses the form may still say without any doubt: a closed list of repairs.

A repair changes the spelling of what is there and never adds to it. Two different numbers where one
belongs, a hedge ("about", "at least", "not"), a comma that may part thousands, a number without a
percent sign that only a percentage would explain: all of these stay unread. The value of a number
is kept as an exact fraction, so that "0.70 (70%)" is one number, said twice.
"""

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from coherence.decoding.numerals import (
    NUMBER,
    RepairedText,
    UnreadableError,
    plain_character,
    value_of,
)

REPAIR_MEANINGS = {
    "repaired:characters": "digits, signs or blanks of another script: '０.７', '0٫7', '−', '¾'",
    "repaired:markup": "a code fence, emphasis, a bullet, quotation marks: '**0.7**'",
    "repaired:json": 'a JSON object with one number per label: \'{"No": 0.3, "Yes": 0.7}\'',
    "repaired:spelling": (
        "a label in other letters, blanks before the colon, '=' for ':': 'YES = 0.7'"
    ),
    "repaired:punctuation": "a mark at the end of a line: '0.7.'",
    "repaired:notation": "a plus sign, an exponent: '+0.7', '7e-1'",
    "repaired:comma": "a decimal comma: '0,7'",
    "repaired:percent": "a percentage with its sign or word: '70%', '70 percent'",
    "repaired:fraction": "a fraction: '7/10', '7 out of 10'",
    "repaired:layout": "the labels in another order, in one line or behind their numbers",
    "repaired:single": (
        "one probability, of Yes or of No, where one per label was asked for: 'Yes: 0.7', '0.7'"
    ),
    "repaired:words": "plain words around, such as 'The probability is 0.7' or 'Sure!'",
    "repaired:passage": (
        "one complete answer within other text, such as reasons before or after it: "
        "'0.7, since smoking matters'"
    ),
    "repaired:sentence": "the one number of a sentence: 'There is a 70% chance that it rains.'",
}
"""Every repair and what it covers, from the mildest to the one that departs furthest from the
form."""

# Words that carry no content of their own. Hedges, bounds and negations are missing on purpose:
# with one of them the answer is not read.
_PLAIN_TEXT = (
    "a an answer answers are chance estimate estimated final following for here i is it likelihood "
    "likely my of p prob probabilities probability say sure that the this would"
)
_PLAIN_WORDS = frozenset(_PLAIN_TEXT.split())
_MARKS = " \t:=.,;!()[]\"'"
_DIGIT = re.compile(r"[0-9]")
_WORD = re.compile(r"[^\W\d_]+")

_MOST_CHARACTERS = 2_000
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*\w*[ \t]*\r?$", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|`{1,3})(?=\S)([^*_`\n]*[^*_`\s])\1(?!\w)")
# Before a letter only: in front of a number these marks may be a sign or a bound.
_BULLET = re.compile(r"^[ \t]*[*•>-][ \t]+(?=[^\W\d])", re.MULTILINE)
_CHOICE_LEAD = re.compile(
    r"(?:(?:my|the|final(?! option)|i|would|choose|pick|answer|action|choice|decision|option|"
    r"is)\b[ \t:]*)+",
    re.IGNORECASE,
)


def read_probabilities(text: str, labels: Sequence[str]) -> tuple[list[Fraction], str]:
    r"""Read one number per label from an answer that missed the form.

    Parameters
    ----------
    text : str
        The answer.
    labels : sequence of str
        Labels in the order that was asked for. The one number of an answer without labels is read
        only where they are No and Yes, as that of Yes.

    Returns
    -------
    numbers : list of Fraction
        One per label, or one for Yes; not checked against [0, 1].
    status : str
        One of `coherence.table.schema.REPAIRS`.

    Raises
    ------
    UnreadableError
        No repair, or more than one meaning.

    Examples
    --------
    >>> read_probabilities("**Yes**: 70 %\n**No**: 30 %", ("No", "Yes"))
    ([Fraction(3, 10), Fraction(7, 10)], 'repaired:layout')
    """
    reading = _cleaned(text)
    folded = [label.casefold() for label in labels]
    if len(set(folded)) < len(folded):
        raise UnreadableError  # "a" and "A" are told apart by the strict form alone
    stated = _from_json(reading, folded)
    if stated is None:
        stated = _from_lines(reading, list(labels), folded)
    # A single number is that of Yes only where the reader can know that No is the rest.
    if folded == ["no", "yes"] and list(stated) in (["yes"], [""]):
        reading.note("single")
        return list(stated.values()), reading.status
    if set(stated) != set(folded):
        raise UnreadableError
    if list(stated) != folded:
        reading.note("layout")
    return [stated[label] for label in folded], reading.status


def read_number(text: str) -> tuple[Fraction, str]:
    """Read the number of an answer to a question for a number alone, as `read_probabilities` does.

    Parameters
    ----------
    text : str
        The answer.

    Returns
    -------
    number : Fraction
        Not checked against [0, 1].
    status : str
        One of `coherence.table.schema.REPAIRS`.

    Raises
    ------
    UnreadableError
        No repair, or more than one meaning.
    """
    reading = _cleaned(text)
    stated = _from_lines(reading, ["Yes"], ["yes"])
    if list(stated) == ["yes"]:
        reading.note("words")
    elif list(stated) != [""]:
        raise UnreadableError
    (number,) = stated.values()
    return number, reading.status


def read_choice(text: str, options: Sequence[str]) -> tuple[str, str]:
    """Read one of several options from an answer that is not exactly one of them.

    Parameters
    ----------
    text : str
        The answer, or the part of a line where an option belongs.
    options : sequence of str
        The options.

    Returns
    -------
    option, status : str
        The option as it was offered, and how it was read.

    Raises
    ------
    UnreadableError
        The text is none of the options, even after repairs.

    Examples
    --------
    >>> read_choice("My answer: **Wait.**", ("wait", "treat"))
    ('wait', 'repaired:words')
    """
    reading = _cleaned(text)
    by_name = {option.casefold(): option for option in options}
    if len(by_name) < len(options):
        raise UnreadableError
    answer = reading.text.strip(" \t\r\n")
    lead = _CHOICE_LEAD.match(answer)
    # An option may itself begin with words of a lead, or end in a mark: the least repair first.
    for candidate in (answer, answer[lead.end() :] if lead else answer):
        for name in (candidate, candidate.rstrip(".,;!").rstrip(" ")):
            option = by_name.get(name.casefold())
            if option is not None:
                for repair, before, after in (
                    ("words", answer, candidate),
                    ("punctuation", candidate, name),
                    ("spelling", name, option),
                ):
                    if before != after:
                        reading.note(repair)
                return option, reading.status
    raise UnreadableError


def _cleaned(text: str) -> RepairedText:
    """Undo what changes nothing in the wording: foreign characters and markup."""
    # An answer of pages explains itself, and what it settles on is no matter of spelling.
    if len(text) > _MOST_CHARACTERS:
        raise UnreadableError
    reading = RepairedText(text)
    plain = text if text.isascii() else "".join(map(plain_character, text))
    if plain != text:
        reading.note("characters")
    bare = _BULLET.sub("", _FENCE.sub("", plain))
    # Twice, for emphasis around emphasis: "**`0.7`**".
    bare = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", bare))
    stripped = bare.strip()
    # Quotation marks around the whole answer; inside, they may belong to a label.
    if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
        bare = stripped[1:-1]
    if bare != plain:
        reading.note("markup")
    reading.text = bare
    return reading


def _from_json(reading: RepairedText, folded: list[str]) -> dict[str, Fraction] | None:
    """Read a JSON object; None where the text is none."""
    # Pairs and texts, not dicts and floats: a name that occurs twice must show, and .1 stay exact.
    if not reading.text.strip().startswith("{"):
        return None
    try:
        pairs = json.loads(
            reading.text, object_pairs_hook=list, parse_float=str, parse_int=str, parse_constant=str
        )
    except (ValueError, RecursionError):
        raise UnreadableError from None
    stated: dict[str, Fraction] = {}
    for name, value in pairs:
        # Nested objects, true and null are no numbers; a name twice leaves the choice open.
        if not isinstance(value, str) or name.casefold() in stated or name.casefold() not in folded:
            raise UnreadableError
        stated[name.casefold()] = _only_number(value, reading)
    reading.note("json")
    return stated


def _from_lines(reading: RepairedText, labels: list[str], folded: list[str]) -> dict[str, Fraction]:
    """Read the number of every line that has one, by its label, or by "" where it stands alone."""
    parted = _between_statements(tuple(labels)).sub("\n", reading.text)
    if parted != reading.text:
        reading.note("layout")
    stated: dict[str, Fraction] = {}
    for line in (line.strip(" \t\r") for line in parted.split("\n")):
        if not line:
            continue
        label, rest = _split_label(line, labels, folded, reading)
        # A line without a number may be an opening such as 'Here is my answer:'.
        if not label and not _has_number(rest):
            _check_words(rest, reading)
            continue
        number = _only_number(rest, reading)
        if label in stated:
            raise UnreadableError
        stated[label] = number
    return stated


@lru_cache(maxsize=256)
def _between_statements(labels: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(
        rf"(?<=[0-9%])[ \t]*[,;]?[ \t]+(?=(?:{alternatives})[ \t]*[:=])", re.IGNORECASE
    )


@lru_cache(maxsize=1024)
def _labelled(label: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?P<words>[^:=\n]*?)\b)?[\"']?{re.escape(label)}[\"']?\)?[ \t]*[:=]", re.IGNORECASE
    )


def _split_label(
    line: str, labels: list[str], folded: list[str], reading: RepairedText
) -> tuple[str, str]:
    # Longer labels first: one label may begin like another.
    for label, name in sorted(zip(labels, folded, strict=True), key=lambda pair: -len(pair[0])):
        named = _labelled(label).match(line)
        if named is None:
            continue
        words = (named["words"] or "").strip(" \t('\"").casefold()
        if words and name not in ("no", "yes"):
            continue  # "small a: 0.4" may well be another label than "a"
        if words:
            _check_words(words, reading)
        if not line.startswith(f"{label}:"):
            reading.note("spelling")
        return name, line[named.end() :]
    return "", line


def _has_number(text: str) -> bool:
    if text.isascii():
        return _DIGIT.search(text) is not None
    return any(character.isnumeric() for character in text)


def _check_words(text: str, reading: RepairedText) -> None:
    """Hold that a stretch of text has plain words and marks only."""
    words = _WORD.findall(text.casefold())
    if not _PLAIN_WORDS.issuperset(words) or _WORD.sub("", text).strip(_MARKS):
        raise UnreadableError
    if words:
        reading.note("words")


def _only_number(text: str, reading: RepairedText) -> Fraction:
    """Return the number in a stretch of text, which may say it more than once but no other."""
    matches = list(NUMBER.finditer(text))
    values = {value_of(match, reading) for match in matches}
    around = NUMBER.sub(" ", text)
    if len(values) != 1 or _has_number(around):
        raise UnreadableError
    ending = around.strip()
    if ending and not ending.strip(".,;!"):
        reading.note("punctuation")
    else:
        _check_words(around, reading)
        if ending or len(matches) > 1:
            reading.note("words")
    return values.pop()
