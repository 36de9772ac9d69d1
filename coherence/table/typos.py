"""Names that are one letter away from another: of columns, a validation error; of labels, a note.

``acton`` in place of ``action`` would leave a table without actions, and every check of them would
be passed over as if none had been asked. A misspelt action is an option of its own to every check;
there a note says what looks like a typo, and the owner of the table knows.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from coherence.printable import clean, counted
from coherence.table.notes import Code, Note, warning
from coherence.table.schema import ACTION_PREFIX, COLUMNS, FEATURE_PREFIX

# What checks read; a missing note on an answer changes no number.
_READ = tuple(column.name for column in COLUMNS if column.kind in ("label", "probability"))
# Names of up to three letters are a typo away from too many words.
_SHORTEST = 4
# Words of their own, which tables of answers have.
_OTHER_WORDS = frozenset({"ask", "content", "contest", "mask", "modal", "mode", "state"})

SPELT = {"action": "an action", "theta": "a state"}
"""Column -> what each of its labels is."""
MOST_RARE = 0.05  # rows of a typo over those of what was meant
FEWEST_LETTERS = 3  # "no" and "go" are a letter apart, and different words
MOST_LABELS = 200
"""Above so many labels the column holds numbers or texts, and no options."""
_MISSING = ("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "<NA>", "#N/A")
_MOST_NOTES = 4
_TELLING = re.compile(r"[0-9<>=+±]")  # digits number an option, and signs order options
_WORD = re.compile(r"[^\W_]+")


def one_typo_apart(first: str, second: str) -> bool:
    """Tell whether one letter too many, too few or wrong, or two swapped ones, tell names apart."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    swapped = len(first) == 2 and first == second[::-1]
    return swapped or max(len(first), len(second)) <= 1


def column_meant(name: str, names: Collection[str]) -> str | None:
    """Return the known column that an unknown name seems to mean."""
    plain = re.sub(r"[^0-9a-z]+", "_", name.casefold()).strip("_")
    for known in _READ:
        if known in names:
            continue
        if plain == known or (plain == f"{known}s" and len(known) > 2):
            return known
        long_enough = len(known.removeprefix("p_")) >= _SHORTEST and plain not in _OTHER_WORDS
        if long_enough and one_typo_apart(plain, known):
            return known
    prefixes = [FEATURE_PREFIX] + ([] if "action" in names else [ACTION_PREFIX])
    prefixes += [] if "p" in names else ["p_"]
    return next((f"{prefix}..." for prefix in prefixes if plain.startswith(prefix)), None)


def spelling_notes(rows: pd.DataFrame) -> list[Note]:
    """Name rare actions and states that are spelt nearly like a common one; nothing is changed."""
    texts = []
    for column, a_label in SPELT.items():
        if column not in rows.columns:
            continue
        noun, counts = a_label.split()[1], rows[column].value_counts().to_dict()
        for label in (label for label in counts if isinstance(label, str) and label in _MISSING):
            texts.append(
                f"the {noun} {label!r} ({counted(counts[label], 'row')}) counts as "
                f"{a_label} of its own. If it means that there is none, leave these cells empty "
                f"(--missing {label}); nothing was changed."
            )
        for rare, common in _typos(counts):
            texts.append(
                f"the {noun} {clean(rare)!r} ({counted(counts[rare], 'row')}) is "
                f"spelt nearly like {clean(common)!r} ({counted(counts[common], 'row')}), and "
                f"counts as {a_label} of its own. If it is a typo, fix the table; nothing was "
                "changed."
            )
    more = len(texts) - _MOST_NOTES
    if more > 0:
        others = counted(more, "more label is", "more labels are")
        texts = [*texts[:_MOST_NOTES], f"{others} spelt nearly like a common one."]
    return [warning(Code.SPELLING, text) for text in texts]


def _typos(counts: Mapping[Any, int]) -> Iterator[tuple[str, str]]:
    """Yield rare labels, each with the most common one that it may mean."""
    if len(counts) > MOST_LABELS:
        return
    texts = [label for label in counts if isinstance(label, str)]
    # In the order of the letters among equals, so that equal tables give equal notes.
    texts.sort(key=lambda label: (-counts[label], label))
    for rare in texts:
        meant = (
            label
            for label in texts
            if counts[rare] <= MOST_RARE * counts[label] and is_typo(rare, label)
        )
        if (common := next(meant, None)) is not None:
            yield rare, common


def is_typo(text: str, meant: str) -> bool:
    """Tell whether one letter of a label is wrong, missing, added, or swapped with the next."""
    first, second = text.casefold(), meant.casefold()
    # Labels that differ in case are `coherence.table.labels`' matter.
    if first == second or _TELLING.findall(first) != _TELLING.findall(second):
        return False
    words, others = _WORD.findall(first), _WORD.findall(second)
    if not words or len(words) != len(others):
        words, others = [first], [second]
    pairs = zip(words, others, strict=True)
    for short, long in (sorted(pair, key=len) for pair in pairs if pair[0] != pair[1]):
        # Plans A and B differ on purpose, and stages IV and VI, and symptomatic and asymptomatic.
        if len(short) < FEWEST_LETTERS or long == f"a{short}":
            return False
    return one_typo_apart(first, second)
