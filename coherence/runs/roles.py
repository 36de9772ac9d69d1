"""What columns become: numbers, as people write them, or columns of the owner's own.

A column with a percent sign in every cell holds percentages, and a note says so. Otherwise a number
is taken as something else than it looks like only where the user says so: probabilities divided by
100 would be valid and wrong. ``--percent`` and ``--scale`` are one map, of every column declared
`on_scale`; between two options a guess is one half, so that 1 to 4 may be .5 to 1.

Other people's tables have a `status` of their own, a `theta` that is an ability, a `prompt` that is
the text of the question. In a table that this toolkit did not write such a column, if no option
maps it, is taken for ours only where its values could be; else it is set aside, and a note says so.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from coherence.decoding.ranges import ROUNDING, are_percentages
from coherence.errors import listing
from coherence.printable import counted
from coherence.runs.cells import Cells, Floats, Numbers, numbers, numbers_or_labels
from coherence.runs.columns import (
    ACTION_PREFIX,
    ANY,
    AS_IN_RUNS,
    AS_IT_IS,
    COLUMNS,
    EXACT,
    LEVEL_OPTIONS,
    PERCENT,
    Column,
    Naming,
    Reading,
    Scale,
    declared,
    holds_exact,
    is_state,
)
from coherence.runs.notes import Code, Level, Note
from coherence.runs.runs import EVALUATION, REFERENCE, Runs
from coherence.runs.states import not_labels, typed_option


def aside(name: str, table: pd.DataFrame) -> str:
    """Return a new name for a column of the file, whose own is that of something else here."""
    return f"{'unmapped_' * (1 + (f'unmapped_{name}' in table))}{name}"


def rows_of(wrong: Any) -> str:
    """Name the first rows where something is wrong."""
    positions = np.flatnonzero(np.asarray(wrong))
    return f"row{'s' if positions.size > 1 else ''} {listing(positions)}"


@dataclass
class Findings:
    """What is found on the way from a file to a runs table: what was assumed, and all errors.

    A message speaks of the columns of the user's file, and shows cells as they are written there.
    """

    reading: Reading = AS_IT_IS
    named: Naming = AS_IN_RUNS
    titles: Mapping[str, str] = field(default_factory=dict)  # column of the file -> its heading
    notes: list[Note] = field(default_factory=list)  # what was assumed
    of_options: list[str] = field(default_factory=list)  # errors that another word would mend
    of_table: list[str] = field(default_factory=list)  # errors of cells
    # columns that the user named and that are not there, or that could not be read
    absent: set[str] = field(default_factory=set)
    written: dict[str, Cells] = field(default_factory=dict)  # numbers as the file has them

    def file_name(self, name: str) -> str:
        """Return what the file calls a column."""
        return self.named.columns.get(name, name)

    def note(self, code: Code, text: str, level: Level = Level.INFO) -> None:
        """Keep a remark."""
        self.notes.append(Note(code, text, level))

    def broken(
        self, name: str, rule: str, wrong: Any, cells: Cells, remedy: str, title: str = ""
    ) -> Iterator[str]:
        """Say that cells of a column break a rule, as they are written; nothing where all keep it.

        A column of the file that is none of the runs table has a `title` of its own.
        """
        wrong = np.asarray(wrong, dtype=bool)
        if not wrong.any():
            return
        first, value = self.written.get(name, cells)[wrong].iloc[0], cells[wrong].iloc[0]
        number = numbers(pd.Series([first], dtype=object)).values[0]
        shown = str(first).strip() if np.isfinite(number) else repr(first)
        if isinstance(first, int | float | np.number) and not isinstance(first, bool):
            shown = f"{first:.10g}"
        if isinstance(value, float) and not np.isclose(value, number, equal_nan=True):
            shown += f", read as {value:.10g}"
        yield (
            f"column {title or self.named(name)} must {rule}; {int(wrong.sum())} of {wrong.size} "
            f"values do not, the first is {shown} ({rows_of(wrong)}). {remedy}"
        )


_PERCENT_TITLE = re.compile(r"%\s*[)\]]?\s*$|\bper ?cent(ages?)?\b", re.IGNORECASE)
_FEWEST_PERCENT = 10  # up to which the largest number may be a step of some scale
_USUAL_ENDS = (*range(1, 11), 100)  # of scales of answers that are no probabilities
_USUAL_MARKS = (-9, -77, -88, -99, -777, -888, -999, -9999, 777, 888, 999, 9999)
SAY_PERCENT = (
    "Divide percentages by 100, or --percent (read_runs(..., percent=True)) reads them as they are."
)
_NUMBERS_ALONE = (
    "Write numbers alone (of words, in pandas: table[NAME].map({WORD: NUMBER})), and leave the "
    "cell empty where there is none; a mark of that is named by --missing MARK (missing=)."
)
_INFINITE = ("inf", "+inf", "infinity", "∞")


def read_numbers(table: pd.DataFrame, found: Findings) -> pd.DataFrame:
    """Return a table with its numbers as such; columns that cannot be read are left out."""
    runs, made, read = Runs(table), dict[str, Cells](), dict[str, Numbers]()
    decimal = found.reading.decimal
    for name in map(str, table.columns):
        column, policy = declared(name, runs.names), name.startswith(ACTION_PREFIX)
        if column is None or column.kind == ANY:
            made[name], each = numbers_or_labels(table[name], decimal)
            if each is not None and (column is not None or each.mark < 0):
                _refuse_marks(found.named(name), [each], found)
        elif column.kind in ("label", "text") or (policy and name not in runs.policies):
            continue  # among these a note on the action that was chosen
        else:
            read[name] = numbers(table[name], decimal)
    # The columns of several states are one distribution.
    states = [name for name in read if is_state(name)]
    for names in [[name] for name in read if name not in states] + ([states] if states else []):
        made |= _read_group({name: read[name] for name in names}, found)
    left = read.keys() - made.keys()
    found.absent |= left
    return table.assign(**made).drop(columns=[*left])


def _read_group(group: Mapping[str, Numbers], found: Findings) -> dict[str, Cells]:
    """Return the numbers of columns; nothing where they cannot be read, which is an error then."""
    n_errors, (first, *_) = len(found.of_options), group
    column = declared(first)
    assert column is not None
    quoted = repr(", ".join(group)) if len(group) > 1 else found.named(first)
    _refuse_marks(quoted, [*group.values()], found)
    line = _line(quoted, column, group, found)
    if len(found.of_options) > n_errors:
        return {}
    made = {}
    for name, read in group.items():
        values, odd = read.values, read.odd
        found.written[name] = read.cells
        if column.kind == "number" and odd.any():  # which the rules of the column say more of
            made[name] = read.cells.astype(object)
            continue
        if column.kind == "amount":
            words = read.cells.astype(str).str.strip().str.lower()
            values = np.where(words.isin(_INFINITE), np.inf, values)
            odd = odd & ~np.isinf(values)
        found.of_table += found.broken(name, "hold numbers", odd, read.cells, _NUMBERS_ALONE)
        if line is not None:
            values = np.asarray(line.probability(values, spread=name == "p_sd"))
        values = np.where(read.signed, read.values / 100, values)
        made[name] = pd.Series(values, index=read.cells.index)
        found.of_table += _out_of_range(name, column, read, made[name], line, found)
        away = np.maximum(-made[name], made[name] - 1)  # a hair, as in 1.0000000002
        outside = (away > 0) & (away <= ROUNDING)
        if column.kind == "probability" and outside.any():
            text = (
                f"{counted(int(outside.sum()), 'value')} of {name!r} outside [0, 1] by at most "
                f"{away[outside].max():.1g}, a rounding error, taken as 0 or 1."
            )
            found.note(Code.ROUNDED, text)
            made[name] = made[name].mask(outside, made[name].round())
    return made


def _refuse_marks(quoted: str, read: Sequence[Numbers], found: Findings) -> None:
    """Refuse numbers with a mark that is not the decimal one; say what parts thousands."""
    for each in read:
        if each.grouped >= 0 > each.mark:
            text = f"points part thousands in {quoted}: {each.cells.iloc[each.grouped]}."
            found.note(Code.FILE, text)
    at, cells = next(((each.mark, each.cells) for each in read if each.mark >= 0), (-1, None))
    if cells is not None:
        marks, remedy = "points that do not part thousands", "Write its numbers in one way."
        if found.reading.decimal == ".":
            marks = "decimal commas"
            remedy = "Say so: decimal=',' (--decimal ,). Between thousands, take them out."
        found.of_options.append(
            f"column {quoted} has {marks}, such as {str(cells.iloc[at])!r} (row {at}). {remedy}"
        )


def _line(
    quoted: str, column: Column, group: Mapping[str, Numbers], found: Findings
) -> Scale | None:
    """Return the line that columns are on, or None of probabilities; say what speaks against it."""
    reading, bare = found.reading, np.concatenate([each.bare for each in group.values()])
    cells = [str(cell).strip() for each in group.values() for cell in each.cells[each.signed][:1]]
    largest, is_exact = float(bare.max(initial=0.0)), column.name == EXACT
    # Chances may be probabilities where beliefs are percentages.
    may_be = column.on_scale or (column.name == "level" and largest > 1)
    line = reading.line if may_be else None
    small = bare[(bare > 0) & (bare < 1)]
    if cells:
        mixed = bare.size and (line is None or (0 < largest <= 1 and not is_exact))
        if mixed or line not in (None, PERCENT):
            other = f"numbers without one, such as {small[0] if small.size else largest:g}"
            found.of_options.append(
                f"column {quoted} has both percent signs, such as {cells[0]!r}, and "
                f"{other if mixed else 'a scale (--scale)'}. Write a percent sign behind every "
                "percentage, or probabilities alone; where all are percentages: --percent."
            )
            return None
        if not reading.percent:
            value = numbers(pd.Series(cells[:1]), reading.decimal).values[0] / 100
            text = f"{quoted} has percent signs and was read as percentages:"
            found.note(Code.PERCENT, f"{text} {cells[0]} as {value:g}.")
    if line is None:
        said = (found.titles.get(found.file_name(name), "") for name in group)
        title = next((title for title in said if _PERCENT_TITLE.search(title)), "")
        many = _FEWEST_PERCENT <= largest <= 100 and not _mostly_below_1(bare)
        if not (title and many and may_be and reading.line is None):
            return None
        text = f"{quoted} was read as percentages, as its heading {title!r} says:"
        found.note(Code.PERCENT, f"{text} {largest:g} as {largest / 100:g}.")
        return PERCENT
    if is_exact and bare.size and bare.min() >= 0 and largest <= 1:
        text = f"{quoted} lies in [0, 1] and was taken for probabilities, not for values on {line}."
        found.note(Code.SCALE, text)
        return None
    if line is PERCENT:
        error, notes = doubt_percent(quoted, bare, several=len(group) > 1)
        found.of_options += filter(None, [error])
        found.notes += notes
    elif column.name != "p_sd":
        found.note(Code.SCALE, f"{quoted} was read on the scale {line}: {line.described()}.")
    return line


def _mostly_below_1(bare: Floats) -> bool:
    """Tell whether so many numbers lie between 0 and 1 that those above are the odd ones."""
    n_below = int(((bare > 0) & (bare < 1)).sum())
    return n_below > 1 and 3 * n_below > bare.size


def doubt_percent(quoted: str, bare: Floats, *, several: bool) -> tuple[str, list[Note]]:
    """Return what is wrong with percentages, and a note that counts those below 1.

    A rare one of `several` states may have .5% throughout, where the others make up the rest.
    """
    largest, below = float(bare.max(initial=0.0)), bare[(bare > 0) & (bare < 1)]
    n = f"{below.size} of {bare.size} values"
    if 0 < largest <= 1 or (not several and _mostly_below_1(bare)):
        return (
            f"{quoted} is said to hold percentages, and {n} lie between 0 and 1; the largest of "
            f"{bare.size} values is {largest:g}. Leave percent (--percent) out if they are "
            "probabilities; --scale 0..100 (scale='0..100') is not doubted."
        ), []
    if not below.size:
        return "", []
    text = f"{n} of {quoted} below 1 were taken as percentages: {below[0]:g} as {below[0]:g}%."
    return "", [Note(Code.PERCENT, text)]


def _out_of_range(
    name: str, column: Column, read: Numbers, values: Cells, line: Scale | None, found: Findings
) -> Iterator[str]:
    """Refuse values that the declaration of a column does not allow; cells stand as written."""
    remedy, outside = column.remedy, values < 0
    if column.kind == "integer":
        rule, outside = "hold whole numbers of at least 0", outside | (values % 1 > 0)
    elif column.kind == "amount":
        rule, plain = "hold amounts of at least 0", f"table[{found.file_name(name)!r}]"
        remedy = f"Give what is lost without its sign, in pandas: {plain} = {plain}.abs()."
    elif column.kind == "probability":
        said = PERCENT if read.signed.any() else line
        rule = (
            f"hold {'percentages from 0 to 100' if said is PERCENT else 'probabilities in [0, 1]'}"
        )
        outside = (values < -ROUNDING) | (values > 1 + ROUNDING)
        if said not in (None, PERCENT) and name != "p_sd":
            rule = f"lie on the scale {line}"
            low, high = sorted((said.low, said.high))
            outside = pd.Series((read.values < low) | (read.values > high), values.index)
        if outside.any():
            remedy = _remedy(name, read, said)
    else:
        return
    yield from found.broken(name, rule, outside, read.cells, remedy)


def _remedy(name: str, read: Numbers, line: Scale | None) -> str:
    """Say what to do about numbers of which some lie outside their scale, or [0, 1] without one.

    Marks of a missing answer, percentages and answers on a scale look like it.
    """
    low, high = (0.0, 1.0) if line is None else sorted((line.low, line.high))
    values = read.values[~np.isnan(read.values)]
    marks = [m for m in _USUAL_MARKS if m in values and not low <= m <= high]
    rest = values[~np.isin(values, marks)]
    column, sign = declared(name), "%" if read.signed.any() else ""
    if marks and rest.size and low <= rest.min() and rest.max() <= high:
        listed = ",".join(f"{mark:g}{sign}" for mark in marks)
        return f"If {listed} stands for no answer: {typed_option('--missing', listed)}."
    if line is None and are_percentages(rest):
        return SAY_PERCENT
    top = max(rest.max(initial=0.0), -rest.min(initial=0.0))
    end = next((end for end in _USUAL_ENDS if top <= end), 0)
    on_scale = column is not None and column.on_scale and name != EXACT
    if on_scale and end and (rest.min() < low or not _mostly_below_1(rest)):
        start = -end if rest.min() < 0 else int(rest.min() >= 1 and not (rest % 1).any())
        typed = typed_option("--scale", f"{start}..{end}")
        instead = " in place of --percent" if line is PERCENT else ""
        return f"Answers on a scale: {typed}{instead} (scale=), with the ends that yours has."
    return "Correct these values, or leave their cells empty."


FEWEST_GROUPS = 10  # fewer are no clusters of an interval, and may be the arms of an experiment
_LONG = 60  # characters, from which a text is no id
_MANY_PROMPTS = 10  # more variants than are asked, and fewer rows of one than tests need


def _why_not_ours(column: Column, runs: Runs, cells: "pd.Series[Any]") -> str:
    """Return why values cannot be what the name of their column says; empty where they can."""
    there, filled, n_values = {*runs.names}, cells.dropna(), cells.nunique()
    values = list(dict.fromkeys(filled.astype(str))) if column.choices else []
    if values and not {*values} & {*column.choices}:
        return f"its values ({listing(map(repr, values), 3)}) are none of those it can have here"
    match column.name:
        case "p_true" if not holds_exact(there):
            return (
                "in a table that this toolkit did not write it may be a stated confidence. If it "
                f"is the exact posterior: --exact {EXACT} (columns={{'exact': {EXACT!r}}})"
            )
        case "tokens" if len(filled) and numbers(cells).odd[cells.notna()].all():
            return "it holds no numbers"
        case "theta":
            reason = not_labels(list(filled.unique()), len(cells), numbers_alone=True)
            return f"it holds {reason}: these are no states" if reason else ""
        case "z" if not {"z_state", "p_z"} & there:
            return "there is neither z_state nor p_z beside it"
        case "gain" | "loss" | "acts" | "says_from" if not {"loss", "acts"} <= there:
            return "no option says which action stakes it"
        case "task" if len(cells) >= FEWEST_GROUPS and cells.is_unique:
            return "every row has a value of its own, and a task has many rows"
        case "group" if 0 < n_values < FEWEST_GROUPS:
            return (
                f"with {counted(n_values, 'value')} it may be the arm of an experiment, which is "
                "no cluster. If contexts share more than their belief within it: --group group"
            )
        case "person" if n_values:
            keys = [runs.table[name] for name in (*EVALUATION, "context") if name in there]
            shared = "context" in there and cells.groupby(keys, dropna=False, observed=True)
            if shared is False or cells.isna().any() or shared.nunique().max() < 2:
                return (
                    "it is empty in some rows, or no two share a case (--context names it). If "
                    "rows of one depend on each other, it is their group: --group person"
                )
        case "prompt":
            if "loss" in there and n_values > 1 and _each_at_one(runs.table["loss"], cells):
                return "each of its values stands at one stake alone: they are its wordings"
            if _question_texts(runs, cells):
                return (
                    f"none of its {n_values} values is known to stand in two cases: they are the "
                    "texts of questions. If rows with the same text answer one question: --context"
                )
        case "context" if cells.dropna().astype(str).str.len().median() >= _LONG:
            # Texts, such as passages with questions, beside a column of the cases.
            for name in runs.unused_labels:
                cases = runs.table[name].astype(str)
                nested = cells.nunique() < cases.nunique() < len(cases)
                truth = runs.table.get("theta", cells)
                if nested and _each_at_one(cells, cases) and _each_at_one(truth, cases):
                    return (
                        f"it holds texts, and several values of {name!r} have one: --context {name}"
                    )
        case "level" if len(filled):
            chosen = runs.table.get("action", pd.Series(dtype=object))
            named = {f"{ACTION_PREFIX}{option}" for option in LEVEL_OPTIONS} & there
            if not named and not chosen[cells.notna()].isin(LEVEL_OPTIONS).any():
                return f"no row with a level has an action of {', '.join(LEVEL_OPTIONS)}"
    return ""


def _question_texts(runs: Runs, cells: "pd.Series[Any]") -> bool:
    """Tell whether no prompt stands in two cases, which those that are variants do."""
    n_prompts = cells.nunique()
    # A cell may be empty among many texts; among few it stands for the prompt that has no name.
    few = n_prompts < (_MANY_PROMPTS if cells.isna().any() else 2)
    if few or (cells == REFERENCE).any():
        return False
    if "context" in runs.names:
        keys = [name for name in ("task", "context") if name in runs.names]
        case = runs.table.groupby(keys, dropna=False, observed=True).ngroup()
        return case.nunique() > 1 and _each_at_one(case, cells)
    # Without contexts every row may be a case: many, each in fewer rows than tests need.
    most = cells.value_counts().max()
    return bool(most == 1 or n_prompts >= _MANY_PROMPTS > most)


def _each_at_one(values: "pd.Series[Any]", by: "pd.Series[Any]") -> bool:
    return bool(values.groupby(by).nunique().max() == 1)


MAY_BE_STRANGERS = frozenset(column.name for column in COLUMNS if column.choices) | {
    *("group", "person", "prompt", "context", "level", "tokens", "theta", "z", "task", EXACT),
    *("gain", "loss", "acts", "says_from"),
}
"""Columns that are taken for ours only where their values can be what the name says."""
_EVEN_IF_MAPPED = {"prompt", EXACT}  # as variants; a posterior has its kind beside it


def without_strangers(
    table: pd.DataFrame, mapped: Collection[str], found: Findings
) -> pd.DataFrame:
    """Set columns aside that are not what their names say here, unless the user `mapped` them."""
    for column in COLUMNS:
        name = column.name
        if name not in MAY_BE_STRANGERS & {*table.columns} - ({*mapped} - _EVEN_IF_MAPPED):
            continue
        if reason := _why_not_ours(column, Runs(table), table[name]):
            table = table.rename(columns={name: aside(name, table)})
            text = f"{name} was taken for a column of your own: {reason}."
            found.note(Code.SET_ASIDE, text, Level.WARNING)
    return table
