"""Answers as JSON within a reply: an object with the labels as names, nested or not."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from coherence.decoding.cues import EXAMPLE, NEGATION, OPPOSITE, WORLD
from coherence.decoding.numerals import UnreadableError

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


def labelled(value: Any, folded: Sequence[str]) -> dict[str, str] | None:
    """Return what an object says of every label; None where it does not name them all.

    Parameters
    ----------
    value : object
        From `objects_in`.
    folded : sequence of str
        Labels in lower case.

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
            said = dict(zip(names, (item for _, item in pairs), strict=True))
            if any(not isinstance(said[label], str) for label in folded):
                raise UnreadableError
            complete.append({label: said[label] for label in folded})
    if len(complete) > 1 and any(one != complete[0] for one in complete):
        raise UnreadableError
    return complete[0] if complete else None


def leaves(value: Any) -> list[str]:
    """Return all texts and numbers of an object, names left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return leaves(value[1])
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return []


def named_answers(value: Any) -> list[str]:
    """Return the texts that an object gives under a name such as "answer" or "choice"."""
    return [
        item
        for node in _nodes(value)
        for name, item in (_pairs(node) or [])
        if _folded(name).replace(" ", "_") in _ANSWERS and isinstance(item, str)
    ]


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
