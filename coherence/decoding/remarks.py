"""What a reply says beside its answer: whether it takes the answer back, or states another.

Courtesies are no corrections: an apology for being vague, an offer to revise later. Words can
contradict a number without another number: "most likely healthy" beside a probability of .8.
"""

import re
from fractions import Fraction

from coherence.decoding.cues import (
    CORRECTION,
    NEGATION,
    OPPOSITE,
    OWN,
    SEVERAL,
    WORLD,
    probabilities_in,
    sentences_of,
)

# Swallowed up to the end of the clause, and never over a number.
_COURTESY = re.compile(
    r"\b(?:sorry|apologi[sz]e|apologies)\b,?\s+(?:but\s+|that\s+|if\s+)?(?:"
    r"i (?:can't|cannot|can not|don't have|do not have|couldn't|could not|am unable|"
    r"am not able)\b(?! decide| answer)|"
    r"(?:this|that|it|my answer) (?:is|isn't|was|wasn't|may|might)"
    r"(?: not|n't)? (?:not |be )?(?:more |very |so |too )?(?:helpful|useful|enough|precise|"
    r"what you|"
    r"short|brief|vague)|"
    r"(?:for|about) (?!(?:the|my|this|that)\b[^.!?\n]{0,30}\b(?:mistake|error|confusion|mix|wrong))"
    r"|to hear\b)[^.!?,;\n0-9]*|"
    r"\b(?:happy|glad|let me know|feel free|if you|if more|if new|should you|once (?:i|you|we|"
    r"more)|"
    r"(?:i|we) (?:can|could|would|may|might|will))\b[^.!?\n0-9]{0,80}"
    r"\b(?:revis|updat|refin|adjust|reconsider|chang|re-?think|doubl|correct)[^.!?\n0-9]{0,200}"
    r"(?=[.!?\n]|$)|\bwait(?:ing)? (?:for|until|on)\b",
    re.IGNORECASE,
)
_MAY_BE_COURTESY = re.compile(
    r"sorry|apolog|happy|glad|let me|feel free|if |should you|once|(?:i|we) \w+|wait", re.IGNORECASE
)
# "These would apply only if the ECG were abnormal": the answer is of another case.
_LIMITED = re.compile(
    r"(?:^|[.!?]\s|\n)\W{0,4}(?:these|those|this|they|both|it|(?:the|my|these|those) (?:numbers|"
    r"values|"
    r"probabilities|figures|estimates?|answer))\b[^.\n]{0,30}\b(?:only )?(?:appl(?:y|ies)|holds?|"
    r"(?:is|are) (?:valid|true|correct|only|conditional|for (?:a|an|any|the (?:general|"
    r"average))))\b",
    re.IGNORECASE,
)
# Sentences whose numbers speak of the answer and are none.
_ABOUT = re.compile(
    r"^\W*(?:confidence|certainty|sum|total|check)\b[^.]{0,20}[:=]|"
    r"\b(?:sums?|adds?|adding|total(?:s|ling)?)\b[^.]{0,20}\bto\b",
    re.IGNORECASE,
)
# An event, with a number before or behind it, that is the other one.
_TURNED = re.compile(
    r"\b(?:prob\w*|chance|likelihood|odds|risk|refers? to|stands? for|means|"
    r"denotes?)\b[^.;,\n]{0,60}"
    r"(?:\b(?:not|no|free of|without|healthy|absen\w+)\b|n't\b)",
    re.IGNORECASE,
)
_CHANCE = re.compile(r"\b(?:prob\w*|chances?|likelihood|risk|odds|has|have)\b", re.IGNORECASE)
_CLAIM = re.compile(
    r"\b(?:un)?likely\b|\bimprobable\b|\bprobably\b|\b(?:certain|definite|clear|sure|evident)ly\b|"
    r"\b(?:has|have|having)\b|n't\b|\bnot\b|\bhealthy\b|\bruled? out\b",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"\b(?:mak(?:e|es|ing)|rais\w*|lower\w*|reduc\w*|increas\w*|decreas\w*|if|would|other|another|"
    r"alternativ\w*|suggest\w*|although|though|despite|while|less likely|equally|not (?:un)?likely|"
    r"than (?!not)\w+|often|usually|tends?|people|smokers|patients|could|may|might)\b",
    re.IGNORECASE,
)
_SURE = (
    r"(?:most |very |quite |highly |more )?(?:likely|probably|certainly|definitely|clearly|surely)"
)
_SOMEBODY = r"\b(?:patient|he|she|they|person|child|baby|man|woman|individual|who)"
_LACKS = r"(?:does not|do not|doesn't|don't|has no|have no|is free|is healthy|is unaffected)"
_IT = r"(?:it|this|(?:the|this|that|any) (?:disease|condition|illness|infection|disorder))"
_AGAINST = re.compile(
    rf"\b(?:unlikely|improbable)\b|\b{_SURE}\b[^.;!?\n]{{0,40}}"
    rf"(?:(?<!than )\b(?:not|no|healthy|benign|absent|free)\b|n't\b)|"
    rf"{_SOMEBODY} {_LACKS}\b[^.;,\n]{{0,10}}"
    rf"(?<=\s){_IT}\b|{_SOMEBODY} (?:is|are) (?:healthy|unaffected|fine|well)\b|\bruled? out\b|"
    rf"\b(?:overall|therefore|thus|so|hence|conclude that|in conclusion|i\.e\.)[^.;\n]{{0,30}}"
    rf"{_SOMEBODY} {_LACKS}",
    re.IGNORECASE,
)
_FOR = re.compile(
    rf"\b{_SURE} (?:(?:that )?[^.;!?\n]{{0,40}})?\b(?:has|have|having)\b|more likely than not|"
    rf"{_SOMEBODY} (?:does |do )?(?:has|have) {_IT}\b",
    re.IGNORECASE,
)
_HALF = Fraction(1, 2)


def contradicts(remarks: str, stated: set[Fraction], yes: Fraction | None = None) -> bool:
    """Return whether what stands beside an answer takes it back, or may state another one.

    Parameters
    ----------
    remarks : str
        All that follows.
    stated : set of Fraction
        The numbers of the answer.
    yes : Fraction or None
        Where the answer is a probability of Yes, or a decision as 1 or 0: what it is.

    Returns
    -------
    bool
        True for words of correction, for a claim in words that the answer denies, for another
        case, and for a sentence with a probability that the answer does not have, unless it is one
        of the world at large.
    """
    if not any(character.isalnum() for character in remarks):
        return False
    if takes_back(remarks, yes):
        return True
    if not any(map(remarks.__contains__, "0123456789")):
        return False
    for sentence in sentences_of(remarks):
        if _ABOUT.search(sentence):
            continue
        values = probabilities_in(sentence)
        others = [value for value in values if value not in stated]
        # A rate of the world at large is evidence, unless the sentence goes on to an estimate.
        if others and (OWN.search(sentence) or not WORLD.search(sentence)):
            return True
        if yes is not None and yes != _HALF and _is_turned(sentence, values, yes):
            return True
    return False


def takes_back(remarks: str, yes: Fraction | None = None) -> bool:
    """Return whether words, numbers apart, take an answer back; else as `contradicts`."""
    if CORRECTION.search(_without_courtesies(remarks)) or SEVERAL.search(remarks):
        return True
    if _LIMITED.search(remarks):
        return True
    return yes is not None and yes != _HALF and (yes < _HALF) in claims_of(remarks)


def claims_of(text: str) -> set[bool]:
    """Return what sentences say is the case: True that it is, False that it is not.

    Parameters
    ----------
    text : str
        Words beside an answer.

    Returns
    -------
    set of bool
        Empty where nothing is claimed; conditions and comparisons claim nothing.

    Examples
    --------
    >>> claims_of("The patient most likely has it."), claims_of("Cancer is unlikely.")
    ({True}, {False})
    """
    if not _CLAIM.search(text):
        return set()
    claims = set()
    for sentence in sentences_of(text):
        if _NO_CLAIM.search(sentence):
            continue
        if _AGAINST.search(sentence):
            claims.add(False)
        elif _FOR.search(sentence) and not NEGATION.search(sentence.replace("than not", "")):
            claims.add(True)
    return claims


def _is_turned(sentence: str, values: list[Fraction], yes: Fraction) -> bool:
    """Return whether a sentence gives one of two numbers to the other event."""
    if yes in values and 1 - yes not in values:
        return bool(_TURNED.search(sentence))
    if 1 - yes in values and yes not in values and _CHANCE.search(sentence):
        return not (NEGATION.search(sentence) or OPPOSITE.search(sentence))
    return False


def _without_courtesies(remarks: str) -> str:
    return _COURTESY.sub(" ", remarks) if _MAY_BE_COURTESY.search(remarks) else remarks
