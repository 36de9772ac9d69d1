"""The one probability that a reply states without labels: boxed, marked, alone in a line, or said.

Evidence has a rank. A number in a box or behind "Answer:", and one that the reply begins with, are
conclusive; a number alone in a later line, or behind a name of a probability, less so; the number
of a sentence counts only where it is the one number that could be meant. What stands before a
conclusive number is reasoning; what differs from it afterwards leaves the reply unread.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from coherence.decoding.cues import (
    CONDITION,
    DISOWNED,
    EXAMPLE,
    GENERIC,
    HEDGE,
    HEDGED_REST,
    NEGATION,
    OPPOSITE,
    REFERS_BACK,
    contradicts,
    probabilities_in,
    sentences_of,
)
from coherence.decoding.json_answers import is_other, leaves
from coherence.decoding.numerals import NUMBER, RepairedText, UnreadableError, value_of

CONCLUSIVE, MARKED, SAID = 3, 2, 1

_BULLETS = re.compile(r"(?:[-*+\u2022>]|\(?[0-9]{1,2}[.)])[ \t]+(?=[^\s0-9.+-])")
_ANSWER = re.compile(
    r"\b(?:answer|final|conclusion|result)\b|\u7b54\u6848|r\u00e9ponse|antwort|respuesta",
    re.IGNORECASE,
)
_PROBABILITY = re.compile(
    r"\b(?:prob(?:ability)?|chance|likelihood|estimate|p ?\(yes\)|yes)\b|\u6982\u7387|"
    r"\u53ef\u80fd\u6027|probabil\w*|wahrscheinlichkeit",
    re.IGNORECASE,
)
_MARK = re.compile(r"[^0-9\n]{1,80}?[:=]\s*\**$")
_SAYS = re.compile(
    r"\b(?:i|i'd|i'll|i would|i will|we|we'd|let me)\b[^.!?;]{0,120}?\b(?:say|put|estimate|assign|"
    r"give|go with|settle on|answer|state|set|place|report|choose)\b[^.!?;]{0,120}$",
    re.IGNORECASE,
)
_IS = re.compile(
    r"\b(?:probability|chance|likelihood|answer|estimate|p ?\([^()]{1,40}\))\b[^!?;]{0,200}?"
    r"(?:\b(?:is|to be|at|of|equals|as|would be|comes to|be)|[=:])\s+(?:a |exactly )?$|"
    r"\bp ?\([^()]{1,40}\)\s?=\s?$",
    re.IGNORECASE,
)
_CHANCE = re.compile(
    r"\s?(?:chance|probability|likelihood)\s+(?:that|of|for|they|he|she|it)\b", re.IGNORECASE
)
_TAIL = re.compile(
    r"\s*(?:$|[.!)\]]+\s*$|[,;:(]|[-\u2013\u2014]|(?:because|since|as|due|given|based|which|so|for|"
    r"that|in)\b)",
    re.IGNORECASE,
)
# "0.7 (no disease)", "0.7 that he does not have it": what a number is the probability of.
_WHAT_OF = re.compile(
    r"\s*(?:\([^)\n]*|[-\u2013\u2014,]?\s*(?:that|of|for)\b[^.;:\n]*)", re.IGNORECASE
)
_MISSED = re.compile(r"\W*(?:wrong|incorrect)\b", re.IGNORECASE)
_NO_FIRST = re.compile(r"\W*no\b\W*(?:$|[.,;])", re.IGNORECASE)
_MONEY = ("$", "\u20ac", "\u00a3", "#")
_END = re.compile(r"[\s.,;!)\]\"'}$]*$")


@dataclass(frozen=True)
class _Candidate:
    value: Fraction
    line: int
    rank: int
    rest: str


def find_number(
    lines: Sequence[str], objects: Sequence[Any], reading: RepairedText, *, cut: bool
) -> Fraction | None:
    """Return the one probability of a reply.

    Parameters
    ----------
    lines : sequence of str
        As from `coherence.decoding.prose.plain_lines`.
    objects : sequence
        JSON objects of the reply.
    reading : RepairedText
        Takes the notes.
    cut : bool
        Whether the reply was cut: then only what is conclusive counts, for nothing that followed
        could overrule it without making the reply unreadable.

    Returns
    -------
    Fraction or None
        Not checked against [0, 1]; None where the reply states none.

    Raises
    ------
    UnreadableError
        Two values, or one that is taken back.
    """
    candidates = [candidate for n, line in enumerate(lines) for candidate in _of_line(line, n)]
    if objects:
        candidates += _of_objects(objects, len(lines))
    if not candidates:
        return None if cut else _of_sentences(lines, reading)
    highest = max(candidate.rank for candidate in candidates)
    if cut and highest < CONCLUSIVE:
        return None
    chosen = [candidate for candidate in candidates if candidate.rank == highest]
    if len({candidate.value for candidate in chosen}) > 1:
        raise UnreadableError
    first, last = chosen[0], chosen[-1]
    # What comes before a conclusive answer is reasoning, and what comes before any other is not
    # known to be.
    rivals = [one for one in candidates if highest < CONCLUSIVE or one.line > first.line]
    if any(one.value != first.value for one in rivals):
        raise UnreadableError
    after = "\n".join([first.rest, *lines[first.line + 1 :]])
    if contradicts(after, {first.value, 1 - first.value}) or _is_of_no(lines, first.rest, after):
        raise UnreadableError
    beside = len(lines) > 1 or first.line != last.line or not _END.match(first.rest)
    _note_value(lines, first, reading)
    reading.note("passage" if beside else "words")
    return first.value


def _is_of_no(lines: Sequence[str], rest: str, after: str) -> bool:
    """Return whether words around a number say that it may be the probability of No."""
    told = _WHAT_OF.match(rest)
    if told and (NEGATION.search(told[0]) or OPPOSITE.search(told[0])):
        return True
    if lines and _NO_FIRST.match(lines[0]):
        return True
    return any(
        REFERS_BACK.search(sentence) and (NEGATION.search(sentence) or OPPOSITE.search(sentence))
        for sentence in sentences_of(after)
    )


def _note_value(lines: Sequence[str], candidate: _Candidate, reading: RepairedText) -> None:
    """Note the repairs that the number itself takes."""
    for match in NUMBER.finditer(lines[candidate.line] if candidate.line < len(lines) else ""):
        noted = RepairedText("")
        if value_of(match, noted) == candidate.value:
            reading.repairs |= noted.repairs
            return


def _of_line(line: str, number: int) -> list[_Candidate]:
    """Return the numbers that stand alone in a line, or behind a mark."""
    bullets = _BULLETS.match(line)
    start = bullets.end() if bullets else 0
    match = NUMBER.search(line, start)
    if match is None:
        return []
    prefix, rest = line[start : match.start()], line[match.end() :]
    rank = _rank(prefix.strip(" \t\"'(["), rest, first=number == 0)
    if not rank:
        return []
    if HEDGED_REST.match(rest) or HEDGE.search(prefix) or NEGATION.search(prefix):
        # A number that is hedged where the answer belongs is an answer that cannot be read.
        if rank == CONCLUSIVE:
            raise UnreadableError
        return []
    try:
        value = value_of(match, RepairedText(""))
    except UnreadableError:
        return []
    others = [other for other in probabilities_in(rest) if other != value]
    if others or CONDITION.search(line):
        # "0.7, or 0.8 if they smoke": the second number belongs to the same answer.
        if rank == CONCLUSIVE:
            raise UnreadableError
        return []
    return [_Candidate(value, number, rank, rest)]


def _rank(prefix: str, rest: str, *, first: bool) -> int:
    """Return what a number between these is worth as an answer; 0 for nothing."""
    ends = bool(_END.match(rest)) or _says_again(rest)
    if not prefix:
        if first:
            return CONCLUSIVE if ends or rest[:2].strip()[:1] in (".", ",", ";", "(") else 0
        return MARKED if ends else 0
    if not _MARK.fullmatch(prefix) or not _TAIL.match(rest):
        return 0
    if any(cue.search(prefix) for cue in (GENERIC, EXAMPLE, CONDITION, OPPOSITE, DISOWNED)):
        return 0
    if _ANSWER.search(prefix):
        return CONCLUSIVE
    return MARKED if _PROBABILITY.search(prefix) else 0


def _says_again(rest: str) -> bool:
    return bool(re.fullmatch(r"\s*[(=]\s*[0-9.,]+\s?%?\s*\)?[.\s]*", rest))


def _of_objects(objects: Sequence[Any], line: int) -> list[_Candidate]:
    candidates = []
    for value in objects:
        if is_other(value):
            raise UnreadableError
        numbers = []
        for leaf in leaves(value):
            match = NUMBER.fullmatch(leaf.strip())
            if match:
                numbers.append(value_of(match, RepairedText("")))
        # An object with several numbers does not say which of them answers.
        if len(set(numbers)) > 1:
            raise UnreadableError
        if numbers:
            candidates.append(_Candidate(numbers[0], line, CONCLUSIVE, ""))
    return candidates


def _of_sentences(lines: Sequence[str], reading: RepairedText) -> Fraction | None:
    """Return the number of a sentence that states a belief; the only number of the reply."""
    text = "\n".join(lines)
    values = probabilities_in(text)
    if len(set(values)) != 1:
        return None
    if contradicts(text, set(values)):
        raise UnreadableError
    for sentence in sentences_of(text):
        for match in NUMBER.finditer(sentence):
            if not probabilities_in(match[0]):
                continue
            if not _states_belief(sentence, match):
                return None
            value = value_of(match, reading)
            reading.note("sentence")
            return value
    return None


def _states_belief(sentence: str, match: re.Match[str]) -> bool:
    before, behind = sentence[: match.start()], sentence[match.end() :]
    if any(cue.search(sentence) for cue in (HEDGE, CONDITION, EXAMPLE)) or _MISSED.match(sentence):
        return False
    if GENERIC.search(sentence) or HEDGED_REST.match(behind) or before.endswith(_MONEY):
        return False
    turned = bool(NEGATION.search(sentence))
    if _CHANCE.match(behind):
        return not turned and not OPPOSITE.search(sentence)
    if not _TAIL.match(behind):
        return False
    if _IS.search(before):
        return not turned and not OPPOSITE.search(before)
    return bool(_SAYS.search(before)) and not turned
