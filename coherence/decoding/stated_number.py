"""The one probability that a reply states without labels: boxed, marked, alone in a line, or said.

Evidence has a rank. A number in a box or behind "Answer:", and one that the reply begins with, are
conclusive; a number alone in a later line, or behind a name of a probability, less so; the number
of a sentence counts only where it is the one number that could be meant. What stands before a
conclusive number is reasoning; what differs from it afterwards leaves the reply unread.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from coherence.decoding.cues import (
    DISOWNED,
    EXAMPLE,
    GENERIC,
    HEDGE,
    HEDGED_REST,
    NEGATION,
    OPPOSITE,
    REFERS_BACK,
    is_conditional,
    probabilities_in,
    sentences_of,
)
from coherence.decoding.json_answers import stated_number_in
from coherence.decoding.numerals import NUMBER, RepairedText, UnreadableError, value_of
from coherence.decoding.remarks import contradicts
from coherence.decoding.subjects import (
    concerns_another,
    introduces_answer,
    is_asked,
    is_called_answer,
    names_answer,
)

CONCLUSIVE, MARKED, SAID = 3, 2, 1

_BULLETS = re.compile(r"(?:[-*+\u2022>]|\(?[0-9]{1,2}[.)])[ \t]+(?=[^\s0-9.+-])")
_ANSWER = re.compile(
    r"\b(?:answer|final|conclusion|result)\b|\u7b54\u6848|r\u00e9ponse|antwort|respuesta",
    re.IGNORECASE,
)
_MARK = re.compile(r"[^0-9\n]{1,80}?[:=]\s*\**$")
_CHANCE = re.compile(
    r"\s?(?:chance|probability|likelihood|risk)(?P<event>\s+(?:that|of|for|they|he|she|it|this|the|"
    r"your)\b[^.;,\n]*)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s*(?:$|[.!)\]]+\s*$|[.!]\s|[,;:(]|[-\u2013\u2014]|(?:because|since|as|due|given|based|which|"
    r"so|for|that|in|here|overall|now|mainly|mostly)\b)",
    re.IGNORECASE,
)
# Behind a number that a reply begins with.
_OPENING_TAIL = re.compile(
    r"\s*(?:[.,;](?=\s|$)|\((?![^)\n]{0,40}%\))|[-\u2013\u2014](?=\s)|"
    r"(?:in this|that|for this|here|given|because|since|as|due|based|mainly|mostly|overall)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(r"(?:so|thus|therefore|hence|overall|finally|then|okay|ok)[,:]?", re.IGNORECASE)
_NO_FOLLOWS = re.compile(r"\W*no\b\W*(?:$|[.,;])", re.IGNORECASE)
_BARE_NO = re.compile(r"\bno\b[\"')]*[ \t]*(?:$|[.,;!)])", re.IGNORECASE | re.MULTILINE)
_MISSED = re.compile(r"\W*(?:wrong|incorrect)\b", re.IGNORECASE)
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
    stated = {first.value, 1 - first.value}
    if contradicts(after, stated, first.value) or _is_of_no(lines, first, after):
        raise UnreadableError
    beside = len(lines) > 1 or first.line != last.line or not _END.match(first.rest)
    _note_value(lines, first, reading)
    reading.note("passage" if beside else "words")
    return first.value


def _is_of_no(lines: Sequence[str], candidate: _Candidate, after: str) -> bool:
    """Return whether words around a number say that it may be the probability of No."""
    if concerns_another(candidate.rest) or _NO_FOLLOWS.match(candidate.rest):
        return True
    before = lines[: candidate.line]
    if before and _NO_FOLLOWS.match(before[0]):
        return True
    if any(len(line) < 8 and _NO_FOLLOWS.fullmatch(line) for line in lines):
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
    candidates = _of_beginning(line, number)
    if candidates or not _ANSWER.search(line):
        return candidates
    # "The prior is 0.1; final estimate: 0.36": the last sentence may conclude.
    end = max(line.rfind("; "), line.rfind(". "), line.rfind("! "))
    last = _of_beginning(line[end + 2 :], -1) if end > 0 else []
    return [replace(one, line=number) for one in last if one.rank == CONCLUSIVE]


def _of_beginning(line: str, number: int) -> list[_Candidate]:
    bullets = _BULLETS.match(line)
    start = bullets.end() if bullets else 0
    match = NUMBER.search(line, start)
    if match is None:
        return []
    prefix, rest = line[start : match.start()], line[match.end() :]
    whole = bool(match["number"]) and not match["percent"] and match["number"].strip(".").isdigit()
    rest = f".{rest}" if whole and match["number"].endswith(".") else rest
    rank = _rank(prefix.strip(" \t\"'(["), rest, first=number == 0, whole=whole)
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
    if others or is_conditional(line):
        # "0.7, or 0.8 if they smoke": the second number belongs to the same answer.
        if rank == CONCLUSIVE:
            raise UnreadableError
        return []
    return [_Candidate(value, number, rank, rest)]


def _rank(prefix: str, rest: str, *, first: bool, whole: bool) -> int:
    """Return what a number between these is worth as an answer; 0 for nothing."""
    ends = bool(_END.match(rest)) or _says_again(rest)
    # "1. Smoking", "1 of the signs", "1, in 10 cases": whole numbers count other things.
    if whole and rest.strip(" *"):
        return 0
    if not prefix:
        if first:
            opens = ends or _OPENING_TAIL.match(rest) or is_called_answer(rest)
            return CONCLUSIVE if opens else 0
        return MARKED if ends else 0
    if _LEAD.fullmatch(prefix):
        return MARKED if ends else 0
    if not _MARK.fullmatch(prefix) or not _TAIL.match(rest):
        return 0
    if any(cue.search(prefix) for cue in (GENERIC, EXAMPLE, OPPOSITE, DISOWNED)):
        return 0
    if is_conditional(prefix) or not names_answer(prefix):
        return 0
    return CONCLUSIVE if _ANSWER.search(prefix) else MARKED


def _says_again(rest: str) -> bool:
    return bool(re.fullmatch(r"\s*[(=]\s*[0-9.,]+\s?%?\s*\)?[.\s]*", rest))


def _of_objects(objects: Sequence[Any], line: int) -> list[_Candidate]:
    candidates = []
    for value in objects:
        number, remarks = stated_number_in(value)
        if number is not None:
            fraction = value_of(number, RepairedText(""))
            candidates.append(_Candidate(fraction, line, CONCLUSIVE, remarks))
    return candidates


def _of_sentences(lines: Sequence[str], reading: RepairedText) -> Fraction | None:
    """Return the number of a sentence that states a belief; the only number of the reply."""
    text = "\n".join(lines)
    values = probabilities_in(text)
    if len(set(values)) != 1:
        return None
    if contradicts(text, set(values)) or _BARE_NO.search(text):
        raise UnreadableError
    for sentence in sentences_of(text):
        for match in NUMBER.finditer(sentence):
            if not probabilities_in(match[0]):
                continue
            if not _states_belief(sentence, match):
                return None
            value = value_of(match, reading)
            if contradicts(text, {value}, value):
                raise UnreadableError
            reading.note("sentence")
            return value
    return None


def _states_belief(sentence: str, match: re.Match[str]) -> bool:
    before, behind = sentence[: match.start()], sentence[match.end() :]
    if any(cue.search(sentence) for cue in (HEDGE, EXAMPLE)) or _MISSED.match(sentence):
        return False
    if is_conditional(sentence) or GENERIC.search(sentence) or DISOWNED.search(before):
        return False
    if HEDGED_REST.match(behind) or before.endswith(_MONEY):
        return False
    chance = _CHANCE.match(behind)
    if chance:
        return introduces_answer(before) and is_asked(chance["event"])
    if not _TAIL.match(behind) or concerns_another(behind):
        return False
    return names_answer(before)
