"""The one option that a reply chooses: at its beginning, alone in a line, marked or said.

An option that is merely mentioned is not chosen, and the words of an explanation may mention all of
them. Single letters count as they stand, since "a" is a word as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coherence.decoding.cues import CONDITION, CORRECTION, DISOWNED, EXAMPLE, HEDGE, NEGATION
from coherence.decoding.json_answers import is_other, named_answers
from coherence.decoding.numerals import RepairedText, UnreadableError
from coherence.decoding.remarks import claims_of

_CONCLUSIVE, _LESS = 2, 1
_BULLETS = re.compile(r"(?:[-*+\u2022>]|[0-9]{1,2}[.)])[ \t]+(?=\S)")
_OPEN, _CLOSE = r"[\"'(\[<]{0,2}", r"[\"')\]>]{0,2}"
_BEST = r"best|correct|right|better|optimal|preferred|chosen|selected|recommended|wisest|preferable"
# Only words that a reply has for its own choice: "my opponent's choice" is another's.
_MARKED = (
    r"(?:^|[.,;:!?]\s{1,3}|\n)\W{0,4}(?:(?:so|thus|therefore|hence|then|overall|and|i|would|say|"
    r"think|believe|"
    r"that|conclude|the|my|your|our|final|most|appropriate|logical|okay|ok|sure|here|is|it|"
    r"s)\b[\s,:']*|"
    rf"(?P<best>{_BEST})\s+){{0,8}}"
    r"(?:(?:answer|decision|verdict|selection|recommendation|conclusion|response|final|choice|"
    r"action)"
    r"(?:\s+(?:answer|choice|option|decision))?|(?P<weak>option|pick|result|move|course))\b"
    r"(?:\s*[:=]\s*|\s+(?:is|would be|here is)\s*:?\s*(?:to\s+)?)(?:option\s+)?|"
    r"(?:\u6b63\u786e)?(?:\u7b54\u6848|\u9009\u62e9|r\u00e9ponse|antwort|respuesta)\s*"
    r"(?:[:=]|\u662f|est|es|ist)?\s*"
)
_SAID = (
    r"(?:^\W*(?:(?:so|therefore|thus|hence|go with|going with)\b[,:]?\s+)+|\bi'm going with\s+|"
    r"\b(?:i'd|i would|i'll|i will|we should|you should|i should)\s+(?:just\s+)?|"
    r"\bi(?:'d|'ll|\s+would|\s+will|\s+shall)?(?:\s+(?:therefore|rather|now))?\s+(?:choose|pick|"
    r"select|recommend|opt\s+for|go\s+(?:with|for)|say|take|answer|bet\s+on|vote\s+for|advise|"
    r"prefer)"
    r"(?:\s*:|\s+to|\s+(?:that\s+)?you(?:\s+to)?)?\s+)(?:option\s+)?"
)
_REST = re.compile(
    r"\s*(?:$|[.,;:!|(*\-\u2013\u2014](?:\s|$|\()|\)|(?:because|since|as|due|given|based|here|"
    r"now|in this|"
    r"for (?:its|the|his|her|their|now|this|these|two|several|three|many))\b)",
    re.IGNORECASE,
)
_TOLD = (
    r"\b(?:answer|choice|decision|option|verdict|selection|recommendation|action)\b"
    r"(?:\s*[:=]\s*|\s+(?:is|would be)\s*:?\s*)"
)
_NOT_OWN = (HEDGE, CONDITION, NEGATION, DISOWNED)
# "A for a friend, B for myself": another option follows in the same breath.
_AND = re.compile(r"^[^.;\n]{0,60}(?:,|\band|\bor|/)\s*(?:option\s*)?[\"'(*]*$", re.IGNORECASE)
_LETTERED = re.compile(
    r"(?:[Oo]ption\s+)?[(\[]?([A-Za-z])(?:[)\].:]{1,3}| [-\u2013\u2014])\s+(\S.*)$"
)
_IS_BEST = re.compile(
    rf"[\"')\]]{{0,2}}\s+(?:is|seems|would be|it is|looks)\s*(?:clearly |likely )?(?:the |my |a )?"
    rf"(?:{_BEST}|answer|choice|decision|pick)\b(?:\s+(?:choice|option|answer|one|action|move|pick|"
    r"decision|course))?[^?]{0,3}(?:$|[.,;]|(?:because|since|as|here|given|due|for)\b)",
    re.IGNORECASE,
)
# "Yes, possibly", "Yes, I can help with that", "No, more information is needed", "A. Incorrect".
_NO_CHOICE = re.compile(
    r"\W*(?:but|possibly|maybe|perhaps|might|could|i (?:can|can't|cannot|could|understand|see|will|"
    r"guess|think so|suppose)|sure|let's|that(?:'s| is) (?:an? )?(?:great|good|fair|interesting|"
    r"tricky|tough)|let me (?!know)|happy|of course|absolutely,? i|what|"
    r"a minute|1 [a-z]|"
    r"is (?:wrong|incorrect|not|bad|a (?:bad|poor))|incorrect|wrong|as an example|for example|"
    r"doubt|problem|idea|information|means|no\W*$|"
    r"would be|this is|these|then\b)",
    re.IGNORECASE,
)
_UNINFORMED = re.compile(
    r"\b(?:more|enough|insufficient|sufficient|additional|further|no|not enough|without) "
    r"(?:\w+ )?(?:information|info|data|details|evidence|context)\b[^.\n]{0,30}\b(?:need|requir|"
    r"miss|"
    r"to (?:say|tell|know|decide|determine)|is|are|provid|avail|given)|"
    r"\bpossible to (?:say|tell|know|determine|decide)|\b(?:hard|impossible|difficult|unable) to "
    r"(?:say|tell|know|determine)|"
    r"(?:\b(?:not|cannot)|n't)\b[^.\n]{0,40}\b(?:tell|say|know|determine|decide)\b|"
    r"\binformation is\b|\bnaive\w*|\btempting\b|\bbad one\b",
    re.IGNORECASE,
)
_INTERJECTION = re.compile(
    r"wait[\"']?(?:\s*[!,\u2026]|\.\.|\s*[-\u2013\u2014]\s)(?!\s*(?:since|because|as|for|given|"
    r"until)\b)",
    re.IGNORECASE,
)
_URGENT = re.compile(r"\b(?:immediate\w*|urgent\w*|right away|at once)\b", re.IGNORECASE)
# As `coherence.decoding.cues.CORRECTION`, without the word that an option may be.
_TAKES_BACK = re.compile(r"\b(?:wait)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Choice:
    option: str
    line: int
    rank: int
    rest: str


def find_option(
    lines: Sequence[str],
    objects: Sequence[Any],
    options: Sequence[str],
    reading: RepairedText,
    *,
    cut: bool = False,
    words: Sequence[str] = (),
) -> str | None:
    """Return the one option that a reply chooses.

    Parameters
    ----------
    lines : sequence of str
        As from `coherence.decoding.prose.plain_lines`.
    objects : sequence
        JSON objects of the reply.
    options : sequence of str
        Options, distinct in lower case.
    reading : RepairedText
        Takes the notes.
    cut : bool
        Whether the reply was cut: then only what is conclusive counts.
    words : sequence of str
        What letters stand for, where the options are letters; a letter may have its own words
        behind it and no others.

    Returns
    -------
    str or None
        An option as it was offered; None where none is chosen.

    Raises
    ------
    UnreadableError
        Two options are chosen, or one is taken back.
    """
    chosen: list[_Choice] = []
    for number, line in enumerate(lines):
        choice = _of_line(line, number, options, words)
        if choice is not None:
            chosen.append(choice)
    for value in objects:
        if is_other(value):
            raise UnreadableError
        for text in named_answers(value):
            named = _whole(text, options, words)
            if named is None:
                raise UnreadableError
            chosen.append(_Choice(named, len(lines), _CONCLUSIVE, ""))
    if not chosen or (cut and max(choice.rank for choice in chosen) < _CONCLUSIVE):
        return None
    if len({choice.option for choice in chosen}) > 1:
        raise UnreadableError
    first = chosen[0]
    after = "\n".join([first.rest, *lines[first.line + 1 :]])
    if _taken_back(after, options) or _UNINFORMED.search(after) or "other one" in after:
        raise UnreadableError
    if _TAKES_BACK.search(first.option) and _URGENT.search(after):
        raise UnreadableError
    if first.option.casefold() in ("yes", "no"):
        claimed = claims_of(f"{lines[first.line] if first.line < len(lines) else ''}\n{after}")
        if (first.option.casefold() == "no") in claimed:
            raise UnreadableError
    reading.note("passage" if len(lines) > 1 or first.rest.strip(" .!") else "words")
    return first.option


def _taken_back(after: str, options: Sequence[str]) -> bool:
    match = CORRECTION.search(after)
    if match is None:
        return False
    # "wait" may be what is chosen; then it corrects nothing.
    if any(_TAKES_BACK.search(option) for option in options):
        return any(not _TAKES_BACK.fullmatch(one[0]) for one in CORRECTION.finditer(after))
    return True


def _of_line(
    line: str, number: int, options: Sequence[str], words: Sequence[str]
) -> _Choice | None:
    bullets = _BULLETS.match(line)
    bare = line[bullets.end() :] if bullets else line
    whole = _whole(bare, options, words)
    if whole is not None:
        return _Choice(whole, number, _CONCLUSIVE if number == 0 else _LESS, "")
    patterns = _patterns(tuple(options))
    opening = patterns.opening.match(bare) if number == 0 else None
    if opening is not None:
        option, rest = _offered(opening["option"], options), bare[opening.end("option") :]
        # "No, yes": the reply goes on with another option.
        meant = option is not None and _rest_is_own_words(rest, option, options, words)
        if (
            option is not None
            and (_REST.match(rest) or _IS_BEST.match(rest))
            and not patterns.named.search(rest)
            and not CONDITION.search(_sentence(rest))
            and (meant or not _NO_CHOICE.match(rest))
            and not _INTERJECTION.match(bare)
        ):
            return _Choice(option, number, _CONCLUSIVE, rest)
    for pattern, rank in ((patterns.marked, _CONCLUSIVE), (patterns.said, _LESS)):
        matches = list(pattern.finditer(bare))
        if matches:
            return _marked(bare, number, matches, rank, options, words)
    told = patterns.told.search(bare)
    if told and any(cue.search(bare[: told.start("option")]) for cue in _NOT_OWN):
        raise UnreadableError
    return None


def _marked(
    line: str,
    number: int,
    matches: Sequence[re.Match[str]],
    rank: int,
    options: Sequence[str],
    words: Sequence[str],
) -> _Choice | None:
    if any(EXAMPLE.search(line[: match.start()]) for match in matches):
        return None
    # An option among several is the answer only where it is called the best of them.
    matches = [
        match for match in matches if not (_group(match, "weak") and not _group(match, "best"))
    ]
    named = {_offered(match["option"], options) for match in matches} - {None}
    if not named:
        return None
    if len(named) > 1:
        raise UnreadableError
    match = matches[0]
    (option,) = named
    assert option is not None
    rest = line[match.end() :]
    before = line[: match.start()]
    meant = _rest_is_own_words(rest, option, options, words)
    another = [
        found
        for found in _patterns(tuple(options)).named.finditer(rest)
        if _offered(found[0], options) not in (None, option)
    ]
    if not meant and (not _REST.match(rest) or (another and re.match(r"\s*[,/]", rest))):
        raise UnreadableError
    if another and any(
        _AND.search(rest[: found.start()]) for found in another if found.start() < 80
    ):
        raise UnreadableError
    if re.match(r"\W*(?:but|possibly|maybe|perhaps)\b", rest, re.IGNORECASE):
        raise UnreadableError
    if any(cue.search(before) for cue in _NOT_OWN):
        raise UnreadableError
    sentence = _sentence(rest)
    if not meant and (CONDITION.search(sentence) or sentence.rstrip().endswith("?")):
        raise UnreadableError
    return _Choice(option, number, rank, rest)


def _group(match: re.Match[str], name: str) -> str | None:
    return match.groupdict().get(name)


def _sentence(rest: str) -> str:
    """Return what is left of the sentence that an option stands in."""
    return re.split(r"(?<=[.!?;])\s", rest, maxsplit=1)[0]


def _rest_is_own_words(
    rest: str, option: str, options: Sequence[str], words: Sequence[str]
) -> bool:
    if len(words) != len(options):
        return False
    own = words[list(options).index(option)]
    tail = rest.lstrip(" .:)-\u2013\u2014\"'").casefold()
    others = [other for other in words if other and other != own]
    meant = bool(own) and tail.startswith(own.rstrip(".").casefold())
    # A letter with the words of another option: which of them was meant?
    for other in others:
        at = tail.find(other.rstrip(".").casefold())
        if at == 0 or (meant and at > 0):
            raise UnreadableError
    return meant


def _whole(text: str, options: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the option that a text is, apart from marks, or with its own words behind it."""
    bare = text.strip().strip("\"'").rstrip(".,;!").strip()
    named = re.sub(r"^[Oo]ption\s+", "", bare)
    for candidate in (bare, bare.strip("()[]<>"), named, named.strip("()[]<>")):
        option = _offered(candidate, options)
        if option is not None:
            return option
    # "D) 1/3": a letter with what it stands for.
    lettered = _LETTERED.match(bare)
    if lettered and lettered[1] in options and all(len(option) == 1 for option in options):
        if len(words) == len(options):
            own = words[list(options).index(lettered[1])].rstrip(".").casefold()
            return lettered[1] if lettered[2].rstrip(".").casefold() == own else None
        if _NO_CHOICE.match(lettered[2]):
            return None
        # Short enough to be an option's words, and no sentence that weighs other letters.
        letters = set(re.findall(r"\b[A-Z]\b", lettered[2])) & set(options)
        short = len(lettered[2]) <= 60 and "." not in lettered[2][:-1]
        return lettered[1] if short and not letters else None
    return None


def _offered(text: str, options: Sequence[str]) -> str | None:
    if text in options:
        return text
    folded = text.casefold()
    matches = [option for option in options if len(option) > 1 and option.casefold() == folded]
    return matches[0] if len(matches) == 1 else None


@dataclass(frozen=True)
class _Patterns:
    opening: re.Pattern[str]
    named: re.Pattern[str]
    marked: re.Pattern[str]
    told: re.Pattern[str]
    said: re.Pattern[str]


@lru_cache(maxsize=256)
def _patterns(options: tuple[str, ...]) -> _Patterns:
    names = "|".join(
        (r"(?<!\w)" if option[:1].isalnum() else "")
        + re.escape(option)
        + (r"(?!\w)" if option[-1:].isalnum() else "")
        for option in sorted(options, key=len, reverse=True)
    )
    behind = rf"{_OPEN}(?P<option>{names}){_CLOSE}"
    return _Patterns(
        re.compile(rf"(?:option\s+)?{behind}", re.IGNORECASE),
        re.compile(names, re.IGNORECASE),
        re.compile(rf"(?:{_MARKED}){behind}", re.IGNORECASE),
        re.compile(rf"{_TOLD}{behind}", re.IGNORECASE),
        re.compile(rf"(?:{_SAID}){behind}", re.IGNORECASE),
    )
