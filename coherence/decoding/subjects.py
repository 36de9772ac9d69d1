"""What a number without a label is the probability of: what was asked about, as far as words tell.

The reader does not know the question. So the words that name a number are held against the few
that a reply has for its own answer ("my final estimate", "I would put the probability at"), and
the event, where there is one, must be that somebody has something. A name with any other word in
it ("test result", "relative risk", "they claim") is the name of another number.
"""

import re

from coherence.decoding.cues import CONDITION, GENERIC, NEGATION, OPPOSITE

_NOUN_WORDS = (
    "probability prob p chance chances likelihood risk estimate answer result conclusion belief "
    "posterior final guess output response prediction estimation"
)
_NOUNS = frozenset(_NOUN_WORDS.split())
_VERB_WORDS = (
    "say put estimate assign give go settle answer state set place report choose think believe "
    "predict rate"
)
_VERBS = frozenset(_VERB_WORDS.split())
_OTHER_WORDS = (
    "the my a an our your final overall estimated posterior resulting reasonable best fair own "
    "personal subjective predicted calculated computed current numeric numerical number value is "
    "are be would will should ll d s to so thus therefore hence in here this as follows patient "
    "patients his her their i we it at of on with that for there comes out equals equal stands "
    "has have ve got case exactly just simply then now also after all and ok okay sure well "
    "am going let me asked given evidence answering however yes person he she they faces "
    "considering everything rather he'd stating would've about's"
)
_NAME_WORDS = _NOUNS | _VERBS | frozenset(_OTHER_WORDS.split())
_THIRD = frozenset(("he", "she", "they", "person"))
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN_NAMES = re.compile(
    r"\W*(?:\u7b54\u6848|\u6982\u7387|\u53ef\u80fd\u6027|"
    r"(?:la |une )?probabilit(?:\u00e9|a|\u00e0|e)(?: (?:est|es|\u00e8))?|"
    r"(?:la )?(?:probabilidade?|r\u00e9ponse|respuesta|risposta)(?: (?:est|es|\u00e9))?|"
    r"(?:die |eine )?(?:wahrscheinlichkeit|antwort)(?: (?:ist|betr\u00e4gt))?)\W*",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:probability|prob|chances?|likelihood|risk)"
    r"(?P<event>\s+(?:of|that|for|this|the|he|she|they|your)\b.*)$|"
    r"\b(?:estimate|prediction)(?P<other>\s+(?:of|for)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
_VERB_END = re.compile(
    r"(?:^|\s)(?:(?:is|are|was|be|at|as|of|to be|would be|should be|will be|equals|"
    r"comes (?:out )?(?:to|at)|stands at|[=:])\s*(?:therefore |thus |then |now |estimated |"
    r"(?:to be|at|as) |a |an |exactly )*)+$",
    re.IGNORECASE,
)
_OF_P = re.compile(r"\bp(?:r|rob)?\s?\((?P<event>[^()]{1,60})\)", re.IGNORECASE)
_IN_P = re.compile(
    r"\W*(?:yes|y|(?P<event>[^|]+?)\s*(?:\||given)\s*(?P<known>.+))\W*", re.IGNORECASE
)
_KNOWN = re.compile(
    r"\W*(?:the|this|these|those|that|all|his|her|their|its|your|what|such)\b.*|"
    r"\W*(?:all )?(?:evidence|data|information|symptoms|findings|observations|history|e|x)\W*",
    re.IGNORECASE | re.DOTALL,
)
_GIVEN = re.compile(
    r"\b(?:given|based on|considering|in view of|in light of)\b(?P<known>.*)$", re.I
)
_HAS = re.compile(r"\b(?:has|have|having|had|suffers?|suffering|getting|with)\b", re.IGNORECASE)
_COMES_TRUE = re.compile(
    r"\b(?:yes|rains?|rain|lands|comes up|shows|occurs|happens|true|"
    r"is (?:sick|ill|present|infected|feverish|hungry|pregnant))\b",
    re.IGNORECASE,
)
_OTHER_EVENT = re.compile(
    r"\b(?:surviv\w*|deaths?|di(?:es?|ed|ying)|mortality|recover\w*|errors?|wrong|right|correct|"
    r"mistake\w*|test\w*|x-?rays?|ecg|ekg|scans?|imaging|results?|findings?|symptoms?|signs?|"
    r"evidence|observ\w*|seeing|positive|false|alarm|smok(?:er|ers|ing)|treat\w*|complicat\w*|"
    r"relaps\w*|else|another|other|different|alternative|success|failure|null|ratio|first|second|"
    r"worst|best|untreated|cured?)\b|[0-9]",
    re.IGNORECASE,
)
_SOMEBODY_ELSE = re.compile(
    r"\b(?:a|an|any|every|each|most|some) (?!patient|person|individual|man|woman|child|baby|"
    r"[0-9]+-year|male|female|\w+ (?:patient|person|man|woman)\b)\w+|\b(?:first|second|other|"
    r"another|average|typical)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|percent|per cent|\bscale\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:.!?]\s+|\n")


def names_answer(name: str) -> bool:
    """Return whether the words before a number name it as the answer.

    Parameters
    ----------
    name : str
        From the beginning of a sentence or line up to the number.

    Returns
    -------
    bool
        False for any word that a reply would not use of its own answer.

    Examples
    --------
    >>> names_answer("My final estimate is"), names_answer("The test result is")
    (True, False)
    >>> names_answer("The probability that she has it is"), names_answer("Chance of survival:")
    (True, False)
    """
    clause = _last_clause(name.rstrip(" :=*\"'(["))
    if _PERCENT.search(clause):
        return False
    if not clause.isascii() and _FOREIGN_NAMES.fullmatch(clause):
        return True
    in_p = _OF_P.search(clause)
    if in_p:
        return _is_of_yes(in_p["event"]) and _is_plain(
            f"{clause[: in_p.start()]} p {clause[in_p.end() :]}"
        )
    event = _EVENT.search(clause)
    if event:
        rest = _VERB_END.sub("", event["event"] or event["other"])
        # "a probability of", "the probability is": no event at all.
        if rest.strip():
            # "The probability of disease is reduced by": another verb than those of a statement.
            ended = len(rest) < len(event["event"] or event["other"])
            if not (ended or name.rstrip(" *\"'([").endswith((":", "="))) or not is_asked(rest):
                return False
        clause = clause[: event.end() - len(event["event"] or event["other"])]
    return _is_plain(clause)


def introduces_answer(before: str) -> bool:
    """Return whether words may stand before "70% chance that": the reply's own, of this."""
    words = _WORD.findall(_last_clause(before).casefold())
    # "They say": they may have it, and what they say is theirs.
    if not _THIRD.isdisjoint(words) and not _VERBS.isdisjoint(words) and "i" not in words:
        return False
    return _NAME_WORDS.issuperset(words) and not _PERCENT.search(before)


def is_asked(event: str) -> bool:
    """Return whether an event may be the one that was asked about.

    Parameters
    ----------
    event : str
        What follows "probability": with "of", "that" or "for".

    Returns
    -------
    bool
        False where it is negated, of somebody else, a test or an outcome of the disease, or
        conditional on anything but the evidence at hand.

    Examples
    --------
    >>> is_asked("that the patient has lung cancer"), is_asked("that the patient survives")
    (True, False)
    """
    known = _GIVEN.search(event)
    if known:
        if not _KNOWN.fullmatch(known["known"]):
            return False
        event = event[: known.start()]
    if NEGATION.search(event) or CONDITION.search(event) or "|" in event:
        return False
    parts = _HAS.split(event)
    subject, thing = "".join(parts[:-1]), parts[-1]
    if _OTHER_EVENT.search(thing) or OPPOSITE.search(thing) or GENERIC.search(thing):
        return False
    if len(parts) > 1:
        return not _SOMEBODY_ELSE.search(subject)
    if re.match(r"\s*(?:of|for)\s+(?!being\b|it\b|him\b|her\b|them\b)", event, re.IGNORECASE):
        return True
    return bool(_COMES_TRUE.search(event))


def _is_of_yes(event: str) -> bool:
    inside = _IN_P.fullmatch(event)
    if inside is None:
        return False
    if not inside["known"]:
        return True
    return bool(_KNOWN.fullmatch(inside["known"])) and is_asked(f"of {inside['event']}")


def _is_plain(clause: str) -> bool:
    words = _WORD.findall(clause.casefold())
    if not _NAME_WORDS.issuperset(words):
        return False
    if not _NOUNS.isdisjoint(words):
        return True
    return not {"i", "we", "me"}.isdisjoint(words) and not _VERBS.isdisjoint(words)


def _last_clause(text: str) -> str:
    start = 0
    for match in _CLAUSE.finditer(text):
        start = match.end()
    return text[start:]


_SCOPE = re.compile(
    r"\s*(?:\((?P<inside>[^)\n]*)|[-\u2013\u2014,]?\s*(?P<word>that|of|for|in|given|when|among|"
    r"if|unless|with|without)\b(?P<event>[^.;:\n]*))",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"\s+(?:(?:this|the|that|his|her|their|my|our|your)\b|conclusion|total|light|view|general\b)",
    re.IGNORECASE,
)
_IS_IT = re.compile(r"\s+(?:is|would be|seems|feels like)\s+(?P<name>[^.;:\n]*)", re.IGNORECASE)


def concerns_another(rest: str) -> bool:
    """Return whether what follows a number makes it one of something else, or of No.

    Parameters
    ----------
    rest : str
        What follows in the line.

    Returns
    -------
    bool
        True for "(no disease)", "that he does not have it", "for a smoker", "in the worst case".

    Examples
    --------
    >>> concerns_another(" in this case."), concerns_another(" for a smoker")
    (False, True)
    """
    scope = _SCOPE.match(rest)
    if scope is None:
        return False
    inside = scope["inside"]
    if inside is not None:
        told = _SCOPE.match(inside)
        if told and told["word"] and concerns_another(f" {inside}"):
            return True
        return any(cue.search(inside) for cue in (NEGATION, OPPOSITE, CONDITION))
    word, event = scope["word"].casefold(), scope["event"]
    if word == "given":
        return not _KNOWN.fullmatch(event)
    if word in ("if", "unless", "when", "among", "without"):
        return True
    if word in ("in", "with", "for") and _HERE.match(event):
        return any(cue.search(event) for cue in (NEGATION, _OTHER_EVENT, CONDITION, GENERIC))
    if word in ("in", "with"):
        return True
    return not is_asked(f"{word}{event}")


def is_called_answer(rest: str) -> bool:
    """Return whether what follows a number calls it the answer: "is my estimate"."""
    match = _IS_IT.match(rest)
    return match is not None and names_answer(match["name"])
