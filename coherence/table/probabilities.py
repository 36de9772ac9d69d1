"""Probabilities as people write them: 0.35, 35%, "0,35".

A column with a percent sign in every cell holds percentages, and a note says so. Otherwise a number
is taken as something else than it looks like only where the user says so, by `percent` and
`decimal`; and a column of which most numbers may be probabilities is not taken for percentages,
for divided by 100 they would be valid and wrong.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from coherence.table.notes import Code, Note
from coherence.table.reserved import no_chances
from coherence.table.runs import Runs
from coherence.table.schema import AS_IN_RUNS, PROBABILITIES, Naming, is_state

logger = logging.getLogger(__name__)
_WRITTEN = re.compile(r"\s*(?P<number>[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+))\s*(?P<sign>%?)\s*")
_PERCENT_TITLE = re.compile(r"%\s*[)\]]?\s*$|\bper ?cent(ages?)?\b", re.IGNORECASE)
_FEWEST_PERCENT = 10  # up to which the largest number may be a step of some scale
_STATED = ("p", "p_sd", "p_q05", "p_q95", "p_z")
"""Columns of what was stated; exact probabilities are a program's, and no answer in percent."""


@dataclass(frozen=True)
class Tally:
    """What is to be known of numbers that are said to be percentages; those of parts add up."""

    n: int = 0
    largest: float = 0.0  # 0 where none is above 0
    n_below: int = 0  # how many lie between 0 and 1, both left out
    first_below: float = np.nan  # the first of those

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Tally":
        """Count numbers that stand without a percent sign."""
        values = np.asarray(list(numbers), dtype=np.float64)
        values = values[~np.isnan(values)]
        below = values[(values > 0) & (values < 1)]
        first = float(below[0]) if below.size else np.nan
        return cls(values.size, float(values.max(initial=0.0)), below.size, first)

    def __add__(self, later: "Tally") -> "Tally":
        """Put a later part of the column behind this one."""
        first = self.first_below if self.n_below else later.first_below
        n, n_below = self.n + later.n, self.n_below + later.n_below
        return Tally(n, max(self.largest, later.largest), n_below, first)

    @property
    def at_most_1(self) -> bool:
        """Whether all may be probabilities, and are not all 0."""
        return 0 < self.largest <= 1

    @property
    def mostly_below_1(self) -> bool:
        """Whether so many lie below 1 that those above are the odd ones."""
        return self.n_below > 1 and 3 * self.n_below > self.n


def _as_float(cell: object) -> object:
    """Return an integer beyond all floats, which a reply in JSON may hold, as infinite."""
    return np.inf if isinstance(cell, int) and abs(cell) >= 2**1023 else cell


@dataclass(frozen=True)
class Written:
    """The cells of a column, as numbers where they are ones."""

    cells: "pd.Series"  # numbers as they stand, without sign and comma; others as they were
    signed: "pd.Series[bool]"  # numbers with a percent sign
    bare: "pd.Series[bool]"  # numbers without one
    first_signed: str  # the first cell with a sign; empty where there is none
    first_comma: str  # the first cell with a decimal comma

    @classmethod
    def of(cls, column: "pd.Series") -> "Written":
        """Read the cells of a column."""
        nowhere = pd.Series(False, index=column.index)
        if pd.api.types.is_bool_dtype(column):  # refused by validation
            return cls(column, nowhere, nowhere, "", "")
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=False) == "floating":
            column = column.astype(np.float64)
        if pd.api.types.is_numeric_dtype(column):
            return cls(column, nowhere, column.notna(), "", "")
        texts = [_WRITTEN.fullmatch(cell) if isinstance(cell, str) else None for cell in column]
        cells = pd.Series(
            [
                _as_float(cell) if match is None else float(match["number"].replace(",", "."))
                for cell, match in zip(column, texts, strict=True)
            ],
            index=column.index,
            dtype=object,
        )
        signed = pd.Series([bool(match and match["sign"]) for match in texts], index=column.index)
        number = cells.map(lambda cell: isinstance(cell, int | float) and cell == cell)
        if (number | cells.isna()).all() and not cells.map(lambda cell: cell is True).any():
            cells = pd.to_numeric(cells, errors="coerce").astype(np.float64)
        found = [match for match in texts if match is not None]
        return cls(
            cells,
            signed,
            number.astype(bool) & ~signed,
            next((match[0].strip() for match in found if match["sign"]), ""),
            next((match[0] for match in found if "," in match["number"]), ""),
        )

    @property
    def tally(self) -> Tally:
        """What is to be known of the numbers that stand without a percent sign."""
        return Tally.of(self.cells[self.bare])


def read_probabilities(
    table: pd.DataFrame,
    *,
    percent: bool = False,
    decimal: str = ".",
    named: Naming = AS_IN_RUNS,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> tuple[pd.DataFrame, list[str], list[Note]]:
    """Turn columns of probabilities into numbers; return what is wrong and what was assumed.

    `titles` are what a file calls columns, at length, and may end in a percent sign.
    """
    runs = Runs(table)
    known = [name for name in PROBABILITIES if name in table.columns]
    known += ["level"] if _has_chances(runs, named) else []
    written = {name: Written.of(table[name]) for name in (*known, *runs.states, *runs.policies)}
    stated = stated_columns(runs)
    errors, notes, read = [], [], {}
    for names in _groups(written):
        columns = [written[name] for name in names]
        quoted = _quoted(names, named)
        commas = [column.first_comma for column in columns if column.first_comma]
        if commas and decimal != ",":
            errors.append(
                f"column {quoted} has decimal commas, such as {commas[0]!r}. "
                "Say so: decimal=',' (--decimal ,)."
            )
        tallies = {name: written[name].tally for name in names}
        bare = sum(tallies.values(), Tally())
        # Chances may be probabilities where beliefs are percentages.
        may_be = names[0] in stated or (names[0] == "level" and bare.largest > 1)
        said = percent and may_be
        signs = [column.first_signed for column in columns if column.first_signed]
        if signs and bare.n and (not percent or (said and bare.at_most_1)):
            errors.append(_mixed_signs(quoted, signs[0], bare))
            said = not bare.at_most_1
        elif signs and not percent:
            value = Written.of(pd.Series(signs[:1])).cells[0] / 100
            text = f"{quoted} has percent signs and was read as percentages: {signs[0]}"
            notes.append(Note(Code.PERCENT, f"{text} as {value:g}."))
        elif not percent and (title := _says_percent(names, titles, bare)) and may_be:
            said = True
            text = f"{quoted} was read as percentages, as its heading {title!r} says:"
            example = f"{bare.largest:g} as {bare.largest / 100:g}"
            notes.append(Note(Code.PERCENT, f"{text} {example}."))
        elif said:
            wrong, doubts = judge_percentages(tallies, named)
            errors, notes, said = errors + wrong, notes + doubts, not wrong
        for name, column in zip(names, columns, strict=True):
            divided = column.signed | (column.bare if said else False)
            if divided.any() or column.cells is not table[name]:
                cells = column.cells.copy()
                if pd.api.types.is_numeric_dtype(cells):
                    cells = cells.astype(np.float64)
                cells[divided] = cells[divided] / 100
                read[name] = cells
    return table.assign(**read), errors, notes


def _says_percent(names: Sequence[str], titles: Mapping[str, str], tally: Tally) -> str:
    """Return the heading that calls a column of numbers up to 100 percentages; else nothing."""
    if not _FEWEST_PERCENT <= tally.largest <= 100 or tally.mostly_below_1:
        return ""
    said = (titles.get(name, "") for name in names)
    return next((title for title in said if _PERCENT_TITLE.search(title)), "")


def _has_chances(runs: Runs, named: Naming) -> bool:
    """Tell whether the column `level` is ours, or said to be."""
    if "level" not in runs.names:
        return False
    return "level" in named.columns or not no_chances(runs, runs.table["level"])


def stated_columns(runs: Runs) -> list[str]:
    """Return the columns that `percent` is about."""
    return [name for name in (*_STATED, *runs.states) if name in runs.names]


def _quoted(names: Sequence[str], named: Naming) -> str:
    return named(names[0]) if len(names) == 1 else repr(", ".join(names))


def _groups(names: Iterable[str]) -> list[list[str]]:
    """Put the columns of several states together, which are one distribution."""
    listed = list(names)
    states = [name for name in listed if is_state(name)]
    return [[name] for name in listed if name not in states] + ([states] if states else [])


def judge_percentages(
    tallies: Mapping[str, Tally], named: Naming = AS_IN_RUNS
) -> tuple[list[str], list[Note]]:
    """Refuse columns that are said to be percentages and are none; count values below 1."""
    errors, notes = [], []
    for names in _groups(tallies):
        tally, quoted = sum((tallies[name] for name in names), Tally()), _quoted(names, named)
        # A rare state may have .5% throughout, where the others make up the rest.
        if tally.at_most_1 or (len(names) == 1 and tally.mostly_below_1):
            below = f"{tally.n_below} of {tally.n} values lie between 0 and 1, "
            errors.append(
                f"{quoted} is said to hold percentages, and "
                f"{'' if tally.at_most_1 else below}the largest of {tally.n} values is "
                f"{tally.largest:g}. Leave percent (--percent) out if they are probabilities, and "
                "correct any above 1; if all are percentages, divide them by 100 yourself."
            )
        elif tally.n_below:
            verb = "is below 1 and was taken as a percentage"
            if tally.n_below > 1:
                verb = "are below 1 and were taken as percentages"
            first = tally.first_below
            text = f"{tally.n_below} of {tally.n} values of {quoted} {verb}"
            notes.append(Note(Code.PERCENT, f"{text}: {first:g} as {first:g}%."))
    return errors, notes


def _mixed_signs(quoted: str, signed: str, tally: Tally) -> str:
    """Say what to do about a column in which only some numbers have a percent sign."""
    bare = tally.first_below if tally.n_below else tally.largest
    remedy = "Write it in one way; where all are percentages, say so: percent=True (--percent)."
    if tally.at_most_1:
        remedy = (
            "These may be probabilities or percentages, and no option can tell. Write the column "
            "in one way, with a percent sign behind every percentage or as probabilities."
        )
    return (
        f"column {quoted} has both percent signs, such as {signed!r}, and numbers without one, "
        f"such as {bare:g}. {remedy}"
    )


def log_notes(notes: Iterable[Note], source: str) -> None:
    """Log what was assumed when a table was read."""
    if said := " ".join(map(str, notes)):
        logger.warning("%s: %s", source, said)
