"""What columns become: numbers, as people write them, or columns of the owner's own.

A column with a percent sign in every cell holds percentages, and a note says so. Otherwise a number
is taken as something else than it looks like only where the user says so: probabilities divided by
100 would be valid and wrong. ``--percent`` and ``--scale`` are one map, of every column declared
`on_scale`; between two options a guess is one half, so that 1 to 4 may be .5 to 1.

Other people's tables have a `status` of their own, a `theta` that is an ability, a `prompt` that is
the text of the question. In a table that this toolkit did not write such a column, if no option
maps it, is taken for ours only where its values could be; else it is set aside, and a note says so.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.errors import listing
from coherence.printable import counted
from coherence.runs.cells import Cells, Numbers, numbers, numbers_or_labels
from coherence.runs.columns import (
    ACTION_PREFIX,
    ANY,
    COLUMNS,
    EXACT,
    LEVEL_OPTIONS,
    PERCENT,
    PROBABILITY_TOLERANCE,
    Column,
    Reading,
    Scale,
    declared,
    is_state,
)
from coherence.runs.design import case_column
from coherence.runs.findings import Findings, broken
from coherence.runs.notes import Code, Level, Note
from coherence.runs.runs import REFERENCE, Runs
from coherence.runs.states import not_labels, typed_option

Floats = NDArray[np.float64]
_PERCENT_TITLE = re.compile(r"%\s*[)\]]?\s*$|\bper ?cent(ages?)?\b", re.IGNORECASE)
_FEWEST_PERCENT = 10  # up to which the largest number may be a step of some scale
_USUAL_STEPS = (2, 3, 4, 5, 6, 7, 9, 10)  # of answers that are no probabilities
_USUAL_MARKS = (-9, -77, -88, -99, -777, -888, -999, -9999, 777, 888, 999, 9999)
SAY_PERCENT = "Divide percentages by 100. --percent (percent=True) reads them as they are."


_INFINITE = ("inf", "+inf", "infinity", "∞")
_UNBOUNDED = ("number", "amount")


def read_numbers(
    table: pd.DataFrame, reading: Reading, found: Findings, titles: Mapping[str, str]
) -> pd.DataFrame:
    """Return a table with its numbers as such; columns that cannot be read are left out.

    `titles` are what a file calls columns, at length, and may end in a percent sign.
    """
    runs, made, left = Runs(table), dict[str, Cells](), set[str]()
    read: dict[str, Numbers] = {}
    for name in map(str, table.columns):
        column, policy = declared(name, runs.names), name.startswith(ACTION_PREFIX)
        if column is None or column.kind == ANY:
            made[name], each = numbers_or_labels(table[name], reading.decimal)
            if each is not None and (column is not None or each.mark < 0):
                _refuse_marks(found.named(name), [each], reading, found)
        elif column.kind in ("label", "text") or (policy and name not in runs.policies):
            continue  # among these a note on the action that was chosen
        else:
            cells = table[name].where(runs.of_policies) if policy else table[name]
            read[name] = numbers(cells, reading.decimal)
    for names in _groups(read):
        values = _read_group({name: read[name] for name in names}, reading, found, titles)
        made |= values
        left |= {*names} - values.keys()
    for name in {*runs.policies} & made.keys() if not runs.of_policies.all() else ():
        notes = table[name]  # on the action, in rows where one was chosen
        kept = made[name] if pd.api.types.is_numeric_dtype(notes) else made[name].astype(object)
        made[name] = kept.where(runs.of_policies, notes)
    found.absent |= left
    return table.assign(**made).drop(columns=[*left])


def _groups(names: Iterable[str]) -> list[list[str]]:
    """Put the columns of several states together, which are one distribution."""
    listed = list(names)
    states = [name for name in listed if is_state(name)]
    return [[name] for name in listed if name not in states] + ([states] if states else [])


def _read_group(
    group: Mapping[str, Numbers], reading: Reading, found: Findings, titles: Mapping[str, str]
) -> dict[str, Cells]:
    """Return the numbers of columns; nothing where they cannot be read, which is an error then."""
    n_errors, (first, *_) = len(found.of_options), group
    column = declared(first)
    assert column is not None
    quoted = repr(", ".join(group)) if len(group) > 1 else found.named(first)
    _refuse_marks(quoted, [*group.values()], reading, found)
    line = _line(quoted, column, group, reading, found, titles)
    made, well = dict[str, Cells](), len(found.of_options) == n_errors
    for name, read in group.items():
        title, values = found.named(name), read.values
        found.written[name] = read.cells
        if column.kind == "amount":
            words = read.cells.astype(str).str.strip().str.lower()
            values = np.where(words.isin(_INFINITE), np.inf, values)
            wrong = (read.odd & ~np.isinf(values)) | (values < 0)
            remedy = _remedy_of_amounts(found.file_name(name), read, reading.decimal)
            found.of_table += broken(title, "hold amounts of at least 0", wrong, read.cells, remedy)
        elif column.kind == "number":
            if read.odd.any():  # which the rules of the column say more of
                made[name] = read.cells.astype(object)
                continue
        else:
            plain = _without_currency(found.file_name(name), read, reading.decimal)
            found.of_table += _not_numbers(title, read, plain)
        if line is not None and well:
            if line is not PERCENT and name != "p_sd":
                low, high = sorted((line.low, line.high))
                off = (values < low) | (values > high)
                remedy = _remedy_outside(found.file_name(name), read, line, stated=True)
                rule = f"lie on the scale {line}"
                found.of_options += broken(title, rule, off, read.cells, remedy)
            values = np.asarray(line.probability(values, spread=name == "p_sd"))
        values = np.where(read.signed, read.values / 100, values)
        if well and len(found.of_options) == n_errors and column.kind not in _UNBOUNDED:
            file_name = found.file_name(name)
            found.of_table += _out_of_range(title, file_name, column, read, values, line)
            values = _within_bounds(name, column, values, found)
        made[name] = pd.Series(values, index=read.cells.index)
    return made if len(found.of_options) == n_errors else {}


def _within_bounds(name: str, column: Column, values: Floats, found: Findings) -> Floats:
    """Move probabilities a hair outside [0, 1], such as 1.0000000002, to its ends."""
    away = np.maximum(-values, values - 1)
    outside = (away > 0) & (away <= PROBABILITY_TOLERANCE)
    if column.kind != "probability" or not outside.any():
        return values
    text = (
        f"{counted(int(outside.sum()), 'value')} of {name!r} outside [0, 1] by at most "
        f"{away[outside].max():.1g}, a rounding error, taken as 0 or 1."
    )
    found.note(Code.ROUNDED, text)
    return np.where(outside, values.round(), values)


def _refuse_marks(quoted: str, read: Sequence[Numbers], reading: Reading, found: Findings) -> None:
    """Refuse numbers with a mark that is not the decimal one; say what parts thousands."""
    for each in [each for each in read if each.grouped >= 0][:1]:
        text = f"points part thousands in {quoted}: {each.cells.iloc[each.grouped]}."
        found.note(Code.FILE, text)
    for each in [each for each in read if each.pointed >= 0][:1]:
        first = each.cells.iloc[each.pointed]
        text = f"no number in {quoted} has a comma, and points were read as decimal ones: {first}."
        found.note(Code.FILE, text)
    for each in [each for each in read if each.mark >= 0][:1]:
        first = str(each.cells.iloc[each.mark])
        what, remedy = "decimal commas", "Say so: decimal=',' (--decimal ,)."
        if reading.decimal == ",":
            what = "points that do not part thousands beside decimal commas"
            remedy = "Write its numbers in one way."
        elif re.search(r"\d,\d{3}\b", first):
            remedy += " Between thousands, take them out."
        found.of_options.append(
            f"column {quoted} has {what}, such as {first!r} (row {each.mark}). {remedy}"
        )


def _not_numbers(title: str, read: Numbers, plain: str) -> Iterator[str]:
    """Refuse cells that are no numbers; propose what reads them as missing where all are alike."""
    held, hint = {*read.cells[read.odd]} if read.odd.any() else set(), ""
    if len(held) == 1 and isinstance(mark := held.pop(), str) and "," not in mark:
        typed = typed_option("--missing", mark)
        hint = f" If {mark!r} stands for it: {typed} (missing=[{mark!r}])." if typed else ""
    remedy = "Leave the cell empty where there is no number: it counts as an unparsed answer."
    return broken(title, "hold numbers", read.odd, read.cells, plain or f"{remedy}{hint}")


def _without_currency(file_name: str, read: Numbers, decimal: str) -> str:
    """Return the line of pandas that takes signs of a currency away, if numbers are left."""
    letters = {letter for cell in map(str, read.cells[read.odd].unique()) for letter in cell}
    signs = {letter for letter in letters if unicodedata.category(letter) == "Sc"}
    signs |= {letter for letter in letters if letter.isspace()} if signs else set()
    without = str.maketrans("", "", "".join(signs))
    left = numbers(read.cells[read.odd].map(lambda cell: str(cell).translate(without)), decimal)
    if not signs or left.odd.any() or max(left.mark, left.grouped, read.grouped) >= 0:
        return ""
    cells, signs_of = f"table[{file_name!r}]", f"[{''.join(sorted(signs))}]"
    plain = f"{cells}.astype(str).str.replace({signs_of!r}, '', regex=True)"
    plain += ".str.replace(',', '.')" if decimal == "," else ""
    return f"Write numbers alone, in pandas: {cells} = pandas.to_numeric({plain})."


def _remedy_of_amounts(file_name: str, read: Numbers, decimal: str) -> str:
    """Say what to do about amounts with a sign, of a currency or in front."""
    if plain := _without_currency(file_name, read, decimal):
        return plain
    missing, rest = _if_missing(read, 0, np.inf)
    if missing and rest.min() >= 0 < rest.max():
        return missing
    remedy = "Give amounts as plain numbers, or inf."
    if not read.odd.any() and rest.size and rest.max() <= 0:
        cells = f"table[{file_name!r}]"
        remedy = f"Give what is lost without its sign, in pandas: {cells} = {cells}.abs()."
    return f"{missing} {remedy}".strip()


def _line(
    quoted: str,
    column: Column,
    group: Mapping[str, Numbers],
    reading: Reading,
    found: Findings,
    titles: Mapping[str, str],
) -> Scale | None:
    """Return the line that columns are on, or None of probabilities; say what speaks against it."""
    bare = np.concatenate([each.bare for each in group.values()])
    cells = [str(cell).strip() for each in group.values() for cell in each.cells[each.signed][:1]]
    signed = cells[0] if cells else ""
    largest, is_exact = float(bare.max(initial=0.0)), column.name == EXACT
    # Chances may be probabilities where beliefs are percentages.
    may_be = column.on_scale or (column.name == "level" and largest > 1)
    line = reading.line if may_be else None
    if signed and line not in (None, PERCENT):
        found.of_options.append(
            f"column {quoted} has percent signs, such as {signed!r}, and is said to be on a scale. "
            "Leave scale (--scale) out."
        )
        return None
    if signed and bare.size and (line is None or (0 < largest <= 1 and not is_exact)):
        if not (reading.percent and line is None):
            found.of_options.append(_mixed_signs(quoted, signed, bare))
        return None
    if signed and not reading.percent:
        value = numbers(pd.Series([signed]), reading.decimal).values[0] / 100
        text = f"{quoted} has percent signs and was read as percentages: {signed} as {value:g}."
        found.note(Code.PERCENT, text)
    if line is None:
        said = (titles.get(name, "") for name in group)
        title = next((title for title in said if _PERCENT_TITLE.search(title)), "")
        many = _FEWEST_PERCENT <= largest <= 100 and not _mostly_below_1(bare)
        if not (title and many and may_be and reading.line is None):
            return None
        text = f"{quoted} was read as percentages, as its heading {title!r} says:"
        example = f"{largest:g} as {largest / 100:g}"
        found.note(Code.PERCENT, f"{text} {example}.")
        return PERCENT
    if is_exact and bare.size and bare.min() >= 0 and largest <= 1:
        text = f"{quoted} lies in [0, 1] and was taken for probabilities, not for values on {line}."
        found.note(Code.SCALE, text)
        return None
    if line is PERCENT:
        error, notes = _doubt_percent(quoted, bare, several=len(group) > 1)
        found.of_options += [error] if error else []
        found.notes += notes
    elif column.name != "p_sd":
        text = f"{quoted} was read on the scale {line}: {line.described()}."
        found.note(Code.SCALE, text)
        if column.name == "p" and found.n_labels > 1 and min(line.p_low, line.p_high) == 0:
            guess = f"{1 / found.n_labels:.2g}".removeprefix("0")
            text = (
                f"the lowest confidence in a prediction of {found.n_labels} labels was taken as 0, "
                f"where a guess is right with {guess}: if it stands for a guess, say "
                f"--scale={line}={guess}..1."
            )
            found.note(Code.SCALE, text)
    return line


def _mostly_below_1(bare: Floats) -> bool:
    """Tell whether so many numbers lie between 0 and 1 that those above are the odd ones."""
    n_below = int(((bare > 0) & (bare < 1)).sum())
    return n_below > 1 and 3 * n_below > bare.size


def judge_percentages(columns: Mapping[str, Sequence[float]]) -> tuple[list[str], list[Note]]:
    """Refuse columns of numbers that are said to be percentages and are none, as those of a log."""
    errors, notes = list[str](), list[Note]()
    for names in _groups(columns):
        bare = np.array([number for name in names for number in columns[name]], dtype=np.float64)
        error, doubts = _doubt_percent(repr(", ".join(names)), bare, several=len(names) > 1)
        errors, notes = [*errors, *filter(None, [error])], notes + doubts
    return errors, notes


def _doubt_percent(quoted: str, bare: Floats, *, several: bool) -> tuple[str, list[Note]]:
    """Return what is wrong with percentages, and a note that counts those below 1.

    A rare one of `several` states may have .5% throughout, where the others make up the rest.
    """
    largest, below = float(bare.max(initial=0.0)), bare[(bare > 0) & (bare < 1)]
    at_most_1 = 0 < largest <= 1
    if at_most_1 or (not several and _mostly_below_1(bare)):
        few = "" if at_most_1 else f"{below.size} of {bare.size} values lie between 0 and 1, "
        return (
            f"{quoted} is said to hold percentages, and {few}the largest of {bare.size} values is "
            f"{largest:g}. Leave percent (--percent) out if they are probabilities, and correct "
            "any above 1; if all are percentages, say --scale 0..100 (scale='0..100'), which is "
            "not doubted."
        ), []
    if not below.size:
        return "", []
    n, first = f"{below.size} of {bare.size} values of {quoted}", f"{below[0]:g}"
    text = f"{n} below 1 were taken as percentages: {first} as {first}%."
    return "", [Note(Code.PERCENT, text)]


def _mixed_signs(quoted: str, signed: str, bare: Floats) -> str:
    """Say what to do about a column in which only some numbers have a percent sign."""
    below, largest = bare[(bare > 0) & (bare < 1)], bare.max(initial=0.0)
    remedy = "Write it in one way; where all are percentages, say so: percent=True (--percent)."
    if 0 < largest <= 1:
        remedy = (
            "These may be probabilities or percentages, and no option can tell. Write the column "
            "in one way, with a percent sign behind every percentage or as probabilities."
        )
    return (
        f"column {quoted} has both percent signs, such as {signed!r}, and numbers without one, "
        f"such as {below[0] if below.size else largest:g}. {remedy}"
    )


def _out_of_range(
    title: str, file_name: str, column: Column, read: Numbers, values: Floats, line: Scale | None
) -> Iterator[str]:
    """Refuse values that the declaration of a column does not allow; cells stand as written."""
    if column.kind == "integer":
        wrong = (values < 0) | (values % 1 > 0)
        rule = "hold whole numbers of at least 0"
        yield from broken(title, rule, wrong, read.cells, column.remedy)
        return
    outside = (values < -PROBABILITY_TOLERANCE) | (values > 1 + PROBABILITY_TOLERANCE)
    if outside.any():
        said = PERCENT if read.signed.any() else line
        rule = (
            "hold percentages from 0 to 100" if said is PERCENT else "hold probabilities in [0, 1]"
        )
        stated = column.on_scale and column.name != EXACT
        remedy = _remedy_outside(file_name, read, said, stated=stated)
        yield from broken(title, rule, outside, read.cells, remedy)
    wide = ~outside & (values > column.largest) & (column.largest < 1)
    rule = f"be at most {column.largest:g}"
    yield from broken(title, rule, wide, read.cells, column.remedy)


def _if_missing(read: Numbers, low: float, high: float) -> tuple[str, Floats]:
    """Say how usual marks of a missing answer are read as such; return the other numbers.

    A negative mark lies far below other negative numbers: -9 beside -4 is one of them.
    """
    values = read.values[~np.isnan(read.values)]
    least = 5 * values[~np.isin(values, _USUAL_MARKS)].min(initial=0.0)
    marks = [mark for mark in _USUAL_MARKS if mark in values and not low <= mark <= high]
    marks = [mark for mark in marks if mark > 0 or mark < least]
    rest = values[~np.isin(values, marks)]
    if not marks or not rest.size:
        return "", values
    sign = "%" if read.signed.any() else ""
    listed = ",".join(f"{mark:g}{sign}" for mark in marks)
    return f"If {listed} stands for no answer: {typed_option('--missing', listed)}.", rest


def _remedy_outside(file_name: str, read: Numbers, line: Scale | None, *, stated: bool) -> str:
    """Say what to do about numbers of which some lie outside their scale, or [0, 1] without one.

    Beliefs that were `stated` may be on a scale.
    """
    low, high = (0.0, 1.0) if line is None else sorted((line.low, line.high))
    missing, values = _if_missing(read, low, high)
    if values.size == 0 or np.isinf(values).any():
        return "Correct infinite values, or leave their cells empty."
    largest, smallest = values.max(), values.min()
    if missing and low <= smallest and largest <= high:
        return missing
    remedy, off = (
        "Correct them, or leave the cells empty.",
        values[(values < low) | (values > high)],
    )
    if line not in (None, PERCENT):
        ends = f"{math.floor(smallest)}..{math.ceil(largest)}"
        remedy = f"Name a scale that holds them (--scale={ends} does)."
        if len({*off}) == 1:
            typed = typed_option("--missing", f"{off[0]:g}")
            remedy = f"{remedy[:-1]}, or say what cells hold that are missing: {typed}."
    elif line is None and max(largest - 1, -smallest) <= 0.01:
        remedy = f"Up to {PROBABILITY_TOLERANCE:g} outside is a rounding error and would do."
    elif smallest < 0 and largest <= 0 and (values % 1).any():
        cells = f"table[{file_name!r}]"
        remedy = f"If they are log-probabilities, in pandas: {cells} = numpy.exp({cells})."
    elif stated and (line is None or smallest < 0) and (ends := _scale_of(values)):
        typed = f"{typed_option('--scale', ends)}{'' if line is None else ' in place of --percent'}"
        remedy = f"Answers on a scale: {typed} (scale={ends!r}), with the ends that yours has."
    elif line is None and 1 < largest <= 100:
        remedy = SAY_PERCENT
        if _mostly_below_1(values):
            remedy = (
                "Most values are probabilities; correct the others, a percentage by dividing it."
            )
    return f"{missing} {remedy}".lstrip()


def _scale_of(values: Floats) -> str:
    """Return the ends of the scale that answers seem to be on; empty where they seem to be on none.

    Whole numbers from 1, 0 or the negative of the largest are steps; the highest may not have been
    chosen, so that the next usual number of steps is proposed.
    """
    largest, smallest = float(values.max()), float(values.min())
    whole = not (values % 1).any()
    top = next((steps for steps in _USUAL_STEPS if largest <= steps), 0)
    if smallest < 0:
        reach = max(largest, -smallest)
        ends = [1, *range(2, 11), 100] if whole else [1, 10, 100]
        end = next((end for end in ends if reach <= end), 0)
        return f"-{end}..{end}" if end and largest > 0 else ""
    if whole and top:
        return f"{1 if smallest >= 1 else 0}..{top}"
    if 1 < largest <= 10 and not _mostly_below_1(values):
        return "0..10"
    return ""


FEWEST_GROUPS = 10  # fewer are no clusters of an interval, and may be the arms of an experiment
_LONG = 60  # characters, from which a text is no id
_MANY_PROMPTS = 10  # more variants than are asked, and fewer rows of one than tests need


def _why_not_ours(column: Column, runs: Runs, cells: "pd.Series[Any]") -> str:
    """Return why values cannot be what the name of their column says; empty where they can."""
    there, filled = {*runs.names}, cells.dropna()
    values = list(dict.fromkeys(filled.astype(str))) if column.choices else []
    if values and not {*values} & {*column.choices}:
        return f"its values ({listing(map(repr, values), 3)}) are none of those it can have here"
    match column.name:
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
    return _BY_VALUES[column.name](runs, cells) if column.name in _BY_VALUES else ""


def _few_groups(runs: Runs, cells: "pd.Series[Any]") -> str:
    n = cells.nunique()
    if cells.isna().all() or n >= FEWEST_GROUPS:
        return ""
    return (
        f"with {n} {'value' if n == 1 else 'values'} it may be the arm of an experiment, which is "
        "no cluster. If contexts share more than their belief within it, say so: --group group; in "
        "Python read_runs(..., columns={'group': 'group'})"
    )


def _judged_alone(runs: Runs, cells: "pd.Series[Any]") -> str:
    if cells.isna().all():
        return ""
    if "context" not in runs.names:
        return (
            "without --context it is not known which cases persons share; name it to read --person "
            "person"
        )
    if cells.isna().any():
        return f"it is empty in {int(cells.isna().sum())} rows, and every answer has one who judged"
    keys = [runs.table[name] for name in ("task", "model") if name in runs.names]
    persons = cells.groupby([*keys, runs.table["context"]], dropna=False, observed=True).nunique()
    if persons.max() > 1:
        return ""
    return (
        "no two share a case. If rows of one depend on each other, it is their group: --group "
        "person"
    )


def _question_texts(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether no prompt stands in two contexts, which those that are variants do.

    Without contexts: whether there are many, none of which stands in as many rows as tests need.
    """
    table, n_prompts = runs.table, cells.nunique()
    if "loss" in runs.names and n_prompts > 1 and table["loss"].groupby(cells).nunique().max() == 1:
        return "each of its values stands at one stake alone: they are its wordings"
    # A cell may be empty among many texts; among few it stands for the prompt that has no name.
    if (cells == REFERENCE).any() or (cells.isna().any() and n_prompts < _MANY_PROMPTS):
        return ""
    texts = cells.dropna().astype(str)
    if "context" not in table.columns:
        most = int(texts.value_counts().max()) if len(texts) else 0
        if n_prompts < 2 or (most > 1 and (n_prompts < _MANY_PROMPTS or most >= _MANY_PROMPTS)):
            return ""
        if most > 1:
            return (
                f"its {n_prompts} values stand in {most} rows at most, as the texts of questions "
                "do; prompt variants are shared by cases. If rows with the same text are answers "
                "to one question, it is their context (--context)"
            )
    else:
        keys = [table[name].astype(str) for name in ("task", "context") if name in table.columns]
        case = table.groupby(keys, dropna=False).ngroup()
        if case.nunique() < 2 or case[texts.index].groupby(texts).nunique().max() > 1:
            return ""
    return (
        f"each of its {n_prompts} values stands in one case alone, as the text of a question "
        "does; prompt variants are shared by cases"
    )


def _passages(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether texts, such as passages with questions, stand beside a column of the cases."""
    if not cells.dropna().astype(str).str.len().median() >= _LONG:
        return ""
    rest = runs.table.drop(columns="context")
    cases = case_column(rest, Runs(rest).unused_columns)
    if cases is None:
        return ""
    ids = rest[list(cases.columns)].astype(str).agg("\n".join, axis=1)
    same = cells.groupby(ids).nunique().max() == ids.groupby(cells).nunique().max() == 1
    return "" if same else f"it holds texts, and {cases.remedy}"


def _no_chances(runs: Runs, cells: "pd.Series[Any]") -> str:
    """Tell whether no row with a level has an option of the questions that have one."""
    leveled = runs.table[cells.notna()]
    columns = {f"{ACTION_PREFIX}{option}" for option in LEVEL_OPTIONS} & set(runs.names)
    chosen = leveled["action"] if "action" in runs.names else pd.Series(dtype=object)
    if leveled.empty or columns or chosen.isin(LEVEL_OPTIONS).any():
        return ""
    return f"no row with a level has an action of {', '.join(LEVEL_OPTIONS)}"


_BY_VALUES: dict[str, Callable[[Runs, "pd.Series[Any]"], str]] = {
    "group": _few_groups,
    "person": _judged_alone,
    "prompt": _question_texts,
    "context": _passages,
    "level": _no_chances,
}
MAY_BE_STRANGERS = frozenset(_BY_VALUES) | {column.name for column in COLUMNS if column.choices}
MAY_BE_STRANGERS |= {"tokens", "theta", "z", "gain", "loss", "acts", "says_from", "task"}
_EVEN_IF_MAPPED = ("prompt",)  # as variants, all rows but those of one would be set aside


def without_strangers(
    table: pd.DataFrame, mapped: Collection[str], found: Findings
) -> pd.DataFrame:
    """Set columns aside that are not what their names say here.

    Columns that are `mapped` were named by the user, who means them.
    """
    for column in COLUMNS:
        name = column.name
        if name not in MAY_BE_STRANGERS & {*table.columns} - ({*mapped} - {*_EVEN_IF_MAPPED}):
            continue
        if reason := _why_not_ours(column, Runs(table), table[name]):
            table = table.rename(columns={name: f"unmapped_{name}"})
            text = f"{name} was taken for a column of your own: {reason}."
            found.note(Code.SET_ASIDE, text, Level.WARNING)
    return table
