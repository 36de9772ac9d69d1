"""Labels that may be slips of the pen: rare, and one letter away from a common one.

A misspelt action is an option of its own to every check. Nothing is changed here: a caution says
what looks like a slip, and the owner of the table knows.
"""

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from coherence.table.column_names import one_slip_apart
from coherence.table.printable import clean, counted

COLUMNS = {"action": "action", "theta": "state"}
"""Column -> what its labels are called."""
MOST_RARE = 0.05  # rows of a slip over those of what was meant
FEWEST_LETTERS = 3  # "no" and "go" are a letter apart, and different words
MOST_LABELS = 200
"""Above so many labels the column holds numbers or texts, and no options."""
_MISSING = frozenset({"NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "<NA>", "#N/A"})
_MOST_SAID = 4
_LONGEST = 60
_TELLING = re.compile(r"[0-9<>=+±]")  # digits number an option, and signs order options
_WORD = re.compile(r"[^\W_]+")
_ROMAN = re.compile(r"[ivx]+")


def spelling_notes(rows: pd.DataFrame) -> list[str]:
    """Name rare actions and states that are spelt nearly like a common one."""
    notes = []
    for column, noun in COLUMNS.items():
        if column not in rows.columns:
            continue
        for label, number in rows[column].value_counts().items():
            if isinstance(label, str) and label in _MISSING:
                notes.append(
                    f"caution: the {noun} {label!r} ({counted(int(number), 'row')}) counts as "
                    f"{'an' if noun[0] in 'aeiou' else 'a'} {noun} of its own. If it means that "
                    "there is none, leave these cells empty; nothing was changed."
                )
        for rare, common, n_rare, n_common in _slips(rows[column]):
            notes.append(
                f"caution: the {noun} {clean(rare)!r} ({counted(n_rare, 'row')}) is spelt nearly "
                f"like {clean(common)!r} ({counted(n_common, 'row')}), and counts as "
                f"{'an' if noun[0] in 'aeiou' else 'a'} {noun} of its own. If it is a slip, mend "
                "the table; nothing was changed."
            )
    more = len(notes) - _MOST_SAID
    if more > 0:
        others = counted(more, "more label is", "more labels are")
        return [*notes[:_MOST_SAID], f"caution: {others} spelt nearly like a common one."]
    return notes


def _slips(column: "pd.Series[Any]") -> Iterator[tuple[str, str, int, int]]:
    counts = column.value_counts()
    if len(counts) > MOST_LABELS:
        return
    texts = [(label, int(n)) for label, n in counts.items() if isinstance(label, str)]
    # In the order of the letters among equals, so that equal tables give equal notes.
    pairs = sorted(texts, key=lambda each: (-each[1], each[0]))
    for at, (rare, n_rare) in enumerate(pairs):
        for common, n_common in pairs[:at]:
            if n_rare > MOST_RARE * n_common:
                break  # those that follow are rarer still
            if is_slip(rare, common):
                yield rare, common, n_rare, n_common
                break


def is_slip(text: str, meant: str) -> bool:
    """Tell whether one letter is wrong, missing, added, or has changed places with the next."""
    if min(len(text), len(meant)) < FEWEST_LETTERS or max(len(text), len(meant)) > _LONGEST:
        return False
    text, meant = text.casefold(), meant.casefold()
    if _TELLING.findall(text) != _TELLING.findall(meant) or _told_apart(text, meant):
        return False
    # Labels that differ in case are `coherence.table.labels`' matter.
    return text != meant and one_slip_apart(text, meant)


def _told_apart(text: str, meant: str) -> bool:
    """Tell whether labels differ in one word that is meant: a letter, a number, or a denial."""
    words, others = _WORD.findall(text), _WORD.findall(meant)
    if len(words) != len(others):
        return False
    pairs = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    if len(pairs) != 1:
        return False
    short, long = sorted(pairs[0], key=len)
    lettered = len(words) > 1 and len(long) == 1
    numerals = len(words) > 1 and bool(_ROMAN.fullmatch(short) and _ROMAN.fullmatch(long))
    return lettered or numerals or long == f"a{short}"
