"""What stands before an answer block: whether it introduces the answer, or that of another case.

A line that ends with a colon is a heading, and only a few headings are those of an answer. Any
other line before a block is reasoning, unless it says that the block holds elsewhere.
"""

import re
from collections.abc import Sequence

from coherence.decoding.cues import DISOWNED, EXAMPLE, NEGATION, SEVERAL, WORLD, is_conditional

_OWN = re.compile(
    r"\b(?:here|my|answers?|final|estimat\w*|probabilit\w*|assess\w*|i|given|based|consider\w*|"
    r"conclu\w*|results?|solution|responses?|outputs?|follow(?:s|ing)?|predict\w*|judg\w*|beliefs?|"
    r"distribution|lines|so|thus|therefore|sure|okay|ok|overall|numbers|likelihoods?|values|"
    r"this (?:patient|case|person)|the (?:patient|case|person)|decision|posterior|weigh\w*)\b|"
    r"[^\x00-\x7f]",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:before (?:the|any|this|seeing)|last (?:year|time|week|month)|previous(?:ly)?|earlier|"
    r"without (?:treatment|the|any|this)|untreated|(?:yes|no)\W? means|where (?:yes|no)|"
    r"(?:a|the|any) (?:non-?)?smoker (?:would|has|might)|in percent|(?:a|the|most|"
    r"some) (?:textbook|"
    r"naive|colleague|expert|doctor|physician)s? (?:would|says?|might|estimates?)|"
    r"like this)\b|"
    r"\b(?!patient|here|let|it|that|what|there)\w+'s (?:\w+ )?(?:estimate|answer|opinion|view|"
    r"guess|"
    r"probabilit\w+|numbers)\b|\bin (?:%|per ?cent)|\(%\)",
    re.IGNORECASE,
)
# "The doctor gave these numbers:": others state them.
_REPORTED = re.compile(
    r"\b(?:doctor|physician|colleague|expert|radiologist|textbook|team|nurse|model|study|studies|"
    r"guideline|clinician|calculator|they|he|she|you|people|who|friend|"
    r"user)s?\b[^:\n]{0,40}\b(?:g[ai]ves?|"
    r"said|says?|estimat\w+|thinks?|thought|puts?|report\w*|wrote|claim\w*|told|suggest\w*|"
    r"calculat\w+|provided|offer\w*|would|might)\b|\baccording to\b",
    re.IGNORECASE,
)
_OTHER_HEADING = re.compile(
    r"\b(?:initial(?:ly)?|format|template|thinking|base rates?|would have|percent(?:ages?)?|"
    r"draft)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(r"\b(?:not|never|cannot|avoid)\b|n't\b", re.IGNORECASE)
_BUT = re.compile(r"\b(?:but|however|though|still|nevertheless|that said)\b|[.!?]\s", re.IGNORECASE)


def introduces_another(rows: Sequence[str]) -> bool:
    """Return whether the lines before a block say that it is no answer to this question.

    Parameters
    ----------
    rows : sequence of str
        All lines before it.

    Returns
    -------
    bool
        True for headings such as "Prior:", "Patient B:", "If the test is positive:".

    Examples
    --------
    >>> introduces_another(["Here is my estimate:"]), introduces_another(["Last year:"])
    (False, True)
    """
    if not rows:
        return False
    row = rows[-1]
    said = _last(row)
    if SEVERAL.search(row) or _ELSEWHERE.search(row):
        return True
    ends = row.rstrip(" *\"')")[-1:]
    if ends == ":":
        if not _OWN.search(row) or is_conditional(said) or _OTHER_HEADING.search(row):
            return True
        if EXAMPLE.search(row) or _REPORTED.search(said):
            return True
        return any(cue.search(said) for cue in (DISOWNED, WORLD, NEGATION))
    if ends not in (".", "!", "?") and _REFUSES.search(said):
        return len(row) < 60  # "I would not say"
    return bool(re.match(r"\W*(?:assuming|suppos(?:e|ing)|if)\b", said, re.IGNORECASE)) and (
        is_conditional(said)
    )


def _last(row: str) -> str:
    """Return a line from its last "but" or sentence on."""
    start = 0
    for match in _BUT.finditer(row):
        if row[match.end() :].strip(" :*"):
            start = match.end()
    return row[start:]
