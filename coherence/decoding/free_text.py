"""Replies in free text: the one complete answer in them, whatever stands around it.

This comes after the form and its plain repairs (`coherence.decoding.repairs`), for replies with an
opening, with reasons, tables, JSON or a closing remark.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from coherence.decoding.blocks import find_block, of_yes
from coherence.decoding.cues import sounds_like_refusal
from coherence.decoding.json_answers import is_other, labelled, objects_in, remarks_in
from coherence.decoding.named_option import find_option
from coherence.decoding.numerals import NUMBER, RepairedText, UnreadableError, value_of
from coherence.decoding.prose import plain_lines
from coherence.decoding.remarks import takes_back
from coherence.decoding.reply import Reply
from coherence.decoding.stated_number import find_number
from coherence.decoding.statements import ReadValue, number_at, option_at

Value = TypeVar("Value")
_DECIDES = re.compile(r"\b(?:i|we) can (?:\w+ )?decide\b", re.IGNORECASE)
_DECIDES_NOT = re.compile(
    r"\b(?:cannot|can't|can not|unable to|not able to|won't) (?:\w+ )?(?:decide|make a decision)\b",
    re.IGNORECASE,
)
_LARGEST_GAP = Fraction(2, 100)


def probabilities_of(reply: Reply, labels: Sequence[str]) -> tuple[list[Fraction], str]:
    """Read one probability per label from a reply in free text.

    Parameters
    ----------
    reply : Reply
        What was said.
    labels : sequence of str
        Labels in the order that was asked for; where they are No and Yes, one of them will do.

    Returns
    -------
    numbers : list of Fraction
        One per label, or one for Yes; not checked against [0, 1].
    status : str
        One of `coherence.table.schema.REPAIRS`.

    Raises
    ------
    UnreadableError
        No answer, or more than one.
    """
    reading = RepairedText(reply.text)
    objects, lines = _parted(reply.text, reading)
    values = _answer(objects, lines, labels, number_at(reading), _json_number(reading), reading)
    folded = [label.casefold() for label in labels]
    if values is not None and len(values) == len(labels):
        return [values[label] for label in folded], reading.status
    # One number is that of Yes only where the reader can know that No is the rest; what a cut reply
    # would have said of the other label is not known.
    if folded != ["no", "yes"] or reply.cut:
        raise UnreadableError
    reading.note("single")
    if values is None:
        number = find_number(lines, [], reading, cut=False)
        if number is None:
            raise UnreadableError
        return [number], reading.status
    ((label, value),) = values.items()
    # Beside other words, No alone may be half an answer of which the other half is garbled.
    if label == "no" and "repaired:passage" in reading.repairs:
        raise UnreadableError
    return [value if label == "yes" else 1 - value], reading.status


def number_of(reply: Reply) -> tuple[Fraction, str]:
    """Read the one probability of a reply in free text; else as `probabilities_of`."""
    reading = RepairedText(reply.text)
    objects, lines = _parted(reply.text, reading)
    # Both labels may be given all the same; and what spoils them spoils the number.
    block = find_block(lines, ("No", "Yes"), number_at(reading), RepairedText(""))
    if block is not None and len(block) == 2 and abs(block["no"] + block["yes"] - 1) > _LARGEST_GAP:
        raise UnreadableError
    number = find_number(lines, objects, reading, cut=reply.cut)
    if number is None:
        raise UnreadableError
    return number, reading.status


def words_of(
    reply: Reply, labels: Sequence[str], options: Sequence[str]
) -> tuple[dict[str, str], str]:
    """Read one of some words per label from a reply in free text; else as `probabilities_of`.

    Parameters
    ----------
    reply : Reply
        What was said.
    labels, options : sequence of str
        Labels, and the words that each may have.

    Returns
    -------
    words : dict of str to str
        Label -> word, both in lower case; "none" where the reply says that there is none. Labels
        that it does not name are left out.
    status : str
        One of `coherence.table.schema.REPAIRS`.
    """
    reading = RepairedText(reply.text)
    objects, lines = _parted(reply.text, reading)
    read = option_at(options)

    def from_json(text: str) -> str:
        word = read(text.strip(), 0)
        if word is None or text.strip()[word[1] :].strip(" ."):
            raise UnreadableError
        return word[0]

    values = _answer(objects, lines, labels, read, from_json, reading, words=True)
    if values is None:
        raise UnreadableError
    return dict(values), reading.status


def decision_of(reply: Reply, labels: Sequence[str]) -> tuple[str, str]:
    """Read an action from a reply in free text; else as `probabilities_of`.

    Parameters
    ----------
    reply : Reply
        What was said.
    labels : sequence of str
        That of whether it can decide, and that of the decision.

    Returns
    -------
    action, status : str
        "defer" where the reply says that it cannot decide, whatever it says then and if it says
        nothing; else "yes" or "no".
    """
    said, status = words_of(reply, labels, ("Yes", "No"))
    able, decision = (said.get(label.casefold()) for label in labels)
    # Whether a line was to follow is not known of a reply that was cut.
    if able == "no" and not (decision is None and reply.cut):
        if not _DECIDES.search(reply.text):
            return "defer", status
    elif able == "yes" and decision in ("yes", "no") and not _DECIDES_NOT.search(reply.text):
        return decision, status
    raise UnreadableError


def option_of(reply: Reply, options: Sequence[str], words: Sequence[str] = ()) -> tuple[str, str]:
    """Read which option a reply in free text chooses; else as `probabilities_of`.

    Parameters
    ----------
    reply : Reply
        What was said.
    options : sequence of str
        The options.
    words : sequence of str
        What they stand for, where they are letters.

    Returns
    -------
    option, status : str
        The option as it was offered, and how it was read.
    """
    if len({option.casefold() for option in options}) < len(options):
        raise UnreadableError
    reading = RepairedText(reply.text)
    objects, lines = _parted(reply.text, reading)
    # "No, I cannot say": the word belongs to a refusal; "buy: no" and "sell: yes" are no choice.
    if "no" in {option.casefold() for option in options} and sounds_like_refusal(reply.text):
        raise UnreadableError
    labelled_lines = {
        option
        for option in options
        for line in lines
        if line.casefold().startswith(f"{option.casefold()}:")
    }
    if len(labelled_lines) > 1:
        raise UnreadableError
    option = find_option(lines, objects, options, reading, cut=reply.cut, words=words)
    if option is None and len({word.casefold() for word in words}) == len(options):
        word = find_option(lines, objects, words, reading, cut=reply.cut)
        option = None if word is None else options[list(words).index(word)]
    if option is None:
        raise UnreadableError
    return option, reading.status


def _parted(text: str, reading: RepairedText) -> tuple[list[Any], list[str]]:
    """Return the JSON objects of a reply, and its other lines without markup."""
    if "{" not in text:
        return [], plain_lines(text, reading)
    objects, rest = objects_in(text)
    if objects:
        reading.note("json")
    lines = plain_lines(rest, reading)
    if objects and any(any(c.isalnum() for c in line) for line in lines):
        reading.note("passage")
    return objects, lines


def _answer(
    objects: Sequence[Any],
    lines: Sequence[str],
    labels: Sequence[str],
    read: ReadValue[Value],
    from_json: Callable[[str], Value],
    reading: RepairedText,
    *,
    words: bool = False,
) -> Mapping[str, Value] | None:
    """Return the one answer of objects and lines together."""
    folded = [label.casefold() for label in labels]
    if len(set(folded)) < len(folded):
        raise UnreadableError  # "a" and "A" are told apart by the exact form alone
    answers: list[Mapping[str, Value]] = []
    for value in objects:
        said = labelled(value, folded, words=words)
        if said is None or is_other(value, folded):
            raise UnreadableError  # an object that answers something else
        answers.append({label: from_json(said[label]) for label in folded})
        # Reasons in an object are apart from its answer: their numbers are no second one.
        if takes_back(remarks_in(value, folded), of_yes(answers[-1])):
            raise UnreadableError
    block = find_block(lines, labels, read, reading, after=bool(objects))
    if block is not None:
        answers.append(block)
    for answer in answers[1:]:
        if any(answer[label] != answers[0][label] for label in answer):
            raise UnreadableError
    return answers[0] if answers else None


def _json_number(reading: RepairedText) -> Callable[[str], Fraction]:
    def read(text: str) -> Fraction:
        match = NUMBER.fullmatch(text.strip())
        if match is None:
            raise UnreadableError
        return value_of(match, reading)

    return read
