"""Columns that nothing reads: one whose name is a slip of the pen away from a known one is a fault.

``acton`` in place of ``action`` would leave a table without actions, and every check of them would
be passed over as if none had been asked.
"""

import re
from collections.abc import Collection, Sequence

from coherence.errors import closest
from coherence.table.runs import Runs
from coherence.table.schema import (
    ACTION_PREFIX,
    COLUMNS,
    FEATURE_PREFIX,
)

# What checks read; a missing note on an answer changes no number.
_READ = tuple(column.name for column in COLUMNS if column.kind in ("label", "probability"))
# Names of up to three letters are a slip away from too many words.
_SHORTEST = 4
_MOST = 5  # sentences that differ in a name alone
# Words of their own, which tables of answers have.
_OTHER_WORDS = frozenset({"ask", "content", "contest", "mask", "modal", "mode", "state"})


def one_slip_apart(first: str, second: str) -> bool:
    """Tell whether one letter too many, too few or wrong, or two swapped ones, tell names apart."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    swapped = len(first) == 2 and first == second[::-1]
    return swapped or max(len(first), len(second)) <= 1


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.casefold()).strip("_")


def column_meant(name: str, names: Collection[str]) -> str | None:
    """Return the known column that an unknown name seems to mean."""
    plain = _plain(name)
    for known in _READ:
        if known in names:
            continue
        if plain == known or (plain == f"{known}s" and len(known) > 2):
            return known
        long_enough = len(known.removeprefix("p_")) >= _SHORTEST and plain not in _OTHER_WORDS
        if long_enough and one_slip_apart(plain, known):
            return known
    prefixes = [FEATURE_PREFIX] + ([] if "action" in names else [ACTION_PREFIX])
    prefixes += [] if "p" in names else ["p_"]
    return next((f"{prefix}..." for prefix in prefixes if plain.startswith(prefix)), None)


def column_faults(runs: Runs, missing: Collection[str] = ()) -> list[str]:
    """Say which columns are passed over although they seem to be meant as known ones."""
    names = {*runs.names, *missing}
    near: dict[str, list[str]] = {}
    for name in runs.unread:
        if (meant := column_meant(name, names)) is not None:
            near.setdefault(meant, []).append(name)
    return [fault for meant, named in near.items() for fault in _passed_over(named, meant)]


def _passed_over(names: Sequence[str], meant: str) -> list[str]:
    if len(names) > _MOST:
        first = ", ".join(map(repr, names[:_MOST]))
        return [
            f"{len(names)} columns are not read, and their names are close to {meant!r}, which is "
            f"missing: {first} and more. Rename them if that is meant; else drop them "
            "(--ignore NAME for each)."
        ]
    return [
        f"column {name!r} is not read, and its name is close to {meant!r}, which is missing. "
        f"Rename it if that is meant; else drop it (--ignore {name})."
        for name in names
    ]


def nearly_called(wanted: Sequence[str], names: Sequence[str]) -> str:
    """Name the columns that are called nearly like what is missing, else those that are there."""
    near = {
        meant: name
        for meant in wanted
        for name in names
        if one_slip_apart(name.casefold().removesuffix("s"), meant)
    }
    if len(wanted) == 1 and near:
        return f"Closest name found: {near[wanted[0]]!r}."
    said = [f"For {meant!r} the closest name found is {name!r}." for meant, name in near.items()]
    return " ".join(said) or closest("", names)
