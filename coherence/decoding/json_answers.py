"""Answers as JSON within a reply: an object with the labels as names, nested or not."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from coherence.decoding.cues import EXAMPLE, NEGATION, OPPOSITE, WORLD
from coherence.decoding.numerals import NUMBER, UnreadableError

_MOST_OBJECTS = 6
_MOST_LEVELS = 30
_OPENING = re.compile(r"\{\s{0,40}\"")  # braces of TeX open none
_NAME_WORDS = "label name category outcome class state option answer event key stage"
_NAMES = frozenset(_NAME_WORDS.split())
_ANSWER_WORDS = (
    "answer final_answer finalanswer choice action decision option selection selected response "
    "chosen pick verdict result"
)
_ANSWERS = frozenset(_ANSWER_WORDS.split())
_NUMBER_NAME_WORDS = (
    "probability prob p answer estimate estimated value final result yes likelihood risk chance "
    "posterior number of the my belief output response"
)
_NUMBER_NAMES = frozenset(_NUMBER_NAME_WORDS.split())
_COMMENT_WORDS = (
    "reason reasons reasoning explanation explain rationale confidence certainty thought thoughts "
    "thinking analysis justification note notes unit units comment comments disclaimer steps step "
    "because why summary evidence alternative alternatives"
)
# JSON has its own words for Yes, No and nothing.
_JSON_WORDS = {True: "yes", False: "no", None: "none"}
_COMMENTS = frozenset(_COMMENT_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_PERCENT = re.compile(r"%|per ?cent(?:ages?)?", re.IGNORECASE)
_WORD_OR_NUMBER = re.compile(r"\W*(?:yes|no|[0-9.]+\s?%?)\W*", re.IGNORECASE)
_NO = re.compile(r"no\W*", re.IGNORECASE)
_DECODER = json.JSONDecoder(
    # Pairs and texts, not dicts and floats: a name that occurs twice must show, and .1 stay exact.
    object_pairs_hook=list,
    parse_float=str,
    parse_int=str,
    parse_constant=str,
)


def objects_in(text: str) -> tuple[list[Any], str]:
    """Return the JSON objects of a text, outermost ones, and the text without them.

    Parameters
    ----------
    text : str
        A reply.

    Returns
    -------
    objects : list
        Lists of name and value where JSON has objects; numbers are texts.
    rest : str
        What stands around them.

    Raises
    ------
    UnreadableError
        More objects than an answer would have.
    """
    objects, rest, position, tried = [], [], 0, 0
    opening = _OPENING.search(text)
    while opening:
        start = opening.start()
        tried += 1
        if tried > _MOST_OBJECTS:
            raise UnreadableError
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            opening = _OPENING.search(text, start + 1)
            continue
        if _is_deep(value):
            raise UnreadableError
        objects.append(value)
        rest.append(text[position:start])
        position = end
        opening = _OPENING.search(text, end)
    return objects, "".join([*rest, text[position:]])


def _is_deep(value: Any) -> bool:
    """Return whether an object has more levels than an answer would; without going down them."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            item[1] if isinstance(item, tuple) else item
            for node in level
            if isinstance(node, list)
            for item in node
        ]
    return bool(level)


def is_other(value: Any, labels: Sequence[str] = ()) -> bool:
    """Return whether a name in an object, no label, says that it is no answer, or turns it round.

    Parameters
    ----------
    value : object
        From `objects_in`.
    labels : sequence of str
        In lower case.

    Returns
    -------
    bool
        True for names such as "example", "prior" and "probability_no".
    """
    names = {_folded(item[0]) for node in _nodes(value) for item in node if isinstance(item, tuple)}
    cues = (EXAMPLE, NEGATION, OPPOSITE, WORLD)
    return any(cue.search(name) for name in names - set(labels) for cue in cues)


def labelled(value: Any, folded: Sequence[str], *, words: bool = False) -> dict[str, str] | None:
    """Return what an object says of every label; None where it does not name them all.

    Parameters
    ----------
    value : object
        From `objects_in`.
    folded : sequence of str
        Labels in lower case.
    words : bool
        Whether true, false and null say "yes", "no" and "none".

    Returns
    -------
    dict of str to str or None
        Label -> text of its value.

    Raises
    ------
    UnreadableError
        A label twice, or two objects within this one that name all labels.
    """
    candidates = [said for said in map(_pairs, _nodes(value)) if said is not None]
    complete: list[dict[str, str]] = []
    for pairs in candidates:
        names = [_folded(name) for name, _ in pairs]
        if all(label in names for label in folded):
            if any(names.count(label) > 1 for label in folded):
                raise UnreadableError
            said = dict(
                zip(names, (_as_word(item) if words else item for _, item in pairs), strict=True)
            )
            if any(not isinstance(said[label], str) for label in folded):
                raise UnreadableError
            complete.append({label: said[label] for label in folded})
    if len(complete) > 1 and any(one != complete[0] for one in complete):
        raise UnreadableError
    return complete[0] if complete else None


def stated_number_in(value: Any) -> tuple[re.Match[str] | None, str]:
    """Return the one number of an object that its name calls a probability, and all its words.

    Parameters
    ----------
    value : object
        From `objects_in`.

    Returns
    -------
    number : re.Match or None
        A match of `coherence.decoding.numerals.NUMBER`; None where no name is one of an answer.
    remarks : str
        The texts that are no number, one a line.

    Raises
    ------
    UnreadableError
        Two numbers, one with a name of its own, or one that is said to be of No or a percentage.
    """
    if is_other(value):
        raise UnreadableError
    numbers: list[re.Match[str]] = []
    remarks = []
    for name, text in _named_leaves(value, ""):
        words = _WORD.findall(_folded(name))
        match = NUMBER.fullmatch(text.strip())
        if "percent" in words or _PERCENT.fullmatch(text.strip()) or _NO.fullmatch(text.strip()):
            raise UnreadableError
        if match is None:
            remarks.append(text)
        elif words and _NUMBER_NAMES.issuperset(words):
            numbers.append(match)
        elif _COMMENTS.isdisjoint(words):
            raise UnreadableError  # which of the numbers answers, if any?
    if len({number[0] for number in numbers}) > 1:
        raise UnreadableError
    return (numbers[0] if numbers else None), "\n".join(remarks)


def remarks_in(value: Any, labels: Sequence[str]) -> str:
    """Return what an object says beside its labels: texts under other names, one a line.

    Raises
    ------
    UnreadableError
        A unit of percent, or a second answer under a name such as "final".
    """
    beside = [
        (_folded(name), text)
        for name, text in _named_leaves(value, "")
        if _folded(name) not in labels
    ]
    for name, text in beside:
        answers = not (_ANSWERS | {"final"}).isdisjoint(name.split())
        if _PERCENT.fullmatch(text.strip()) or (answers and _WORD_OR_NUMBER.fullmatch(text)):
            raise UnreadableError
    return "\n".join(text for _, text in beside if NUMBER.fullmatch(text.strip()) is None)


def _named_leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text or number with the name that stands nearest above it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, tuple):
        yield from _named_leaves(value[1], value[0])
    elif isinstance(value, list):
        for item in value:
            yield from _named_leaves(item, name)


def named_answers(value: Any) -> list[str]:
    """Return the texts that an object gives under a name such as "answer" or "choice".

    Raises
    ------
    UnreadableError
        Another name in it is neither of an answer nor of a comment: "opponent", "is_correct".
    """
    if isinstance(value, tuple):
        return named_answers(value[1])
    if not isinstance(value, list):
        return []
    answers: list[str] = []
    pairs = _pairs(value)
    for name, item in pairs or [("", item) for item in value]:
        if not _COMMENTS.isdisjoint(_WORD.findall(_folded(name))):
            continue
        if _folded(name).replace(" ", "_") not in _ANSWERS and name:
            raise UnreadableError
        answers += [item] if name and isinstance(item, str) else named_answers(item)
    return answers


def _as_word(item: Any) -> Any:
    return _JSON_WORDS[item] if item is None or isinstance(item, bool) else item


def _folded(name: str) -> str:
    return name.casefold().replace("_", " ").strip()


def _nodes(value: Any) -> Iterator[Any]:
    """Yield a value and all lists within it."""
    if isinstance(value, list):
        yield value
        for item in value:
            yield from _nodes(item[1] if isinstance(item, tuple) else item)


def _pairs(node: list[Any]) -> list[tuple[str, Any]] | None:
    """Return the names and values of an object, or of a list of objects with a name each."""
    if node and all(isinstance(item, tuple) for item in node):
        return list(node)
    pairs = []
    for item in node:
        if not isinstance(item, list) or not all(isinstance(part, tuple) for part in item):
            return None
        named = [part for name, part in item if _folded(name) in _NAMES]
        others = [part for name, part in item if _folded(name) not in _NAMES]
        if len(named) != 1 or len(others) != 1 or not isinstance(named[0], str):
            return None
        pairs.append((named[0], others[0]))
    return pairs or None
