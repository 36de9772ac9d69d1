"""Numbers before their labels: "70% Yes, 30% No", in one line or one to a line.

They are written as statements only where every label has one and nothing else stands between.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from coherence.decoding.cues import CONDITION, HEDGE, NEGATION
from coherence.decoding.subjects import introduces_answer

_NUMBER = (
    r"(?<![\w.,/%^*~<>+-])(?P<number>[0-9]{1,3}(?:[.,][0-9]{1,6})?\s?%|[01]?\.[0-9]{1,6}|"
    r"[01](?:\.0{0,6})?)"
)
_JOINT = r"(?:\s(?:chance of|probability of|probability for|for)\s|\s?:\s|\s[-\u2013\u2014]\s|\s)"
_GAP = re.compile(r"(?:[\s,;/&|]|\b(?:and|a|the|with)\b){1,12}", re.IGNORECASE)
_END = re.compile(r"[\s.,;!]*$")


def with_labels_first(rows: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Write the rows that have a number before every label as statements.

    Parameters
    ----------
    rows : sequence of str
        Lines without markup.
    labels : sequence of str
        Labels, distinct in lower case.

    Returns
    -------
    list of str
        The rows, all others as they were.

    Examples
    --------
    >>> with_labels_first(["I'd say 70% Yes, 30% No."], ("No", "Yes"))
    ['Yes: 70%; No: 30%.']
    """
    pattern = _pattern(tuple(labels))
    wanted = sorted(label.casefold() for label in labels)
    written = list(rows)
    alone: list[tuple[int, str, str]] = []
    for n, row in enumerate(rows):
        matches = list(pattern.finditer(row))
        if len(matches) == 1 and matches[0].start() == 0 and _END.match(row, matches[0].end()):
            alone.append((n, matches[0]["label"], matches[0]["number"]))
        if sorted(match["label"].casefold() for match in matches) == wanted:
            written[n] = _row(row, matches)
    # One to a line, below each other.
    if sorted(label.casefold() for _, label, _ in alone) == wanted:
        first, last = alone[0][0], alone[-1][0]
        if last - first == len(alone) - 1:
            for n, label, number in alone:
                written[n] = f"{label}: {number}"
    return written


def _row(row: str, matches: Sequence[re.Match[str]]) -> str:
    before = row[: matches[0].start()]
    gaps = [row[a.end() : b.start()] for a, b in pairwise(matches)]
    if not all(_GAP.fullmatch(gap) for gap in gaps) or not introduces_answer(before):
        return row
    if any(cue.search(before) for cue in (HEDGE, CONDITION, NEGATION)):
        return row
    statements = [f"{match['label']}: {match['number']}" for match in matches]
    return "; ".join(statements) + row[matches[-1].end() :]


@lru_cache(maxsize=256)
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(
        rf"{_NUMBER}{_JOINT}[\"'(]{{0,2}}(?P<label>{names})(?!\w|\s?[:=])[\"')]{{0,2}}",
        re.IGNORECASE,
    )
