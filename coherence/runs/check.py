"""What is wrong with a runs table: every error at once, with row numbers and remedies.

What the declaration of a column says of its labels is checked for every column alike; what binds
several columns stands below, a rule each. Labels that are written differently and look like one
(yes, YES) double contexts and split actions if taken as different, and may hide a distinction if
taken as one: a table that has them is refused, with the line of pandas for either.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from coherence.decoding.decode import FAILURES, PARSED
from coherence.decoding.ranges import ROUNDING, STATED_SUM
from coherence.errors import closest, listing
from coherence.printable import counted, numbered
from coherence.runs.columns import (
    ACTION_PREFIX,
    COLUMN_NAMES,
    COLUMNS,
    FRAMES,
    KEY,
    LEVEL_OPTIONS,
    NEEDED,
    OPTIONS,
    answer_columns,
    declared,
    is_belief,
)
from coherence.runs.needs import EVIDENCE
from coherence.runs.notes import Code, Note, warning
from coherence.runs.roles import SAY_PERCENT, Findings, rows_of
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import folded, typed_option

_Errors: TypeAlias = Iterator[str]
_Rule: TypeAlias = Callable[[Runs, Findings], _Errors]
_TO_TYPE = {column: f"--{option} NAME" for option, column in OPTIONS.items()}
_TO_TYPE |= {"loss": "--penalty NAME", "acts": "--acts LABEL"}


def shape_errors(table: pd.DataFrame) -> list[str]:
    """List what keeps a frame from having plain names of columns."""
    if table.columns.nlevels > 1:
        return [
            f"columns must have one level of names; these have {table.columns.nlevels}. "
            "Join them: runs.columns = runs.columns.map('_'.join)."
        ]
    doubled = sorted(set(map(str, table.columns[table.columns.duplicated()])))
    doubled += [str(name) for name in table.index.names if name in table.columns and name]
    return [
        f"names of columns and of the index must be unique; {', '.join(doubled)} occur more than "
        "once. Rename one, or drop the index: runs.reset_index(drop=True)."
    ] * bool(doubled)


def cell_errors(table: pd.DataFrame, found: Findings) -> dict[str, str]:
    """Return the columns that hold lists and the like, with what to do; raw answers may."""
    errors = {}
    for name in map(str, table.columns):
        column, cells = declared(name, table.columns), table[name]
        wrapped = isinstance(cells.dtype, pd.ArrowDtype) or cells.dtype in (object, complex)
        if wrapped and column is not None and column.kind != "text":
            plain = cells.astype(object)
            odd = [not pd.api.types.is_scalar(c) or isinstance(c, bytes | complex) for c in plain]
            for error in found.broken(
                name, "hold single values", odd, plain, "Give each part a column or a row."
            ):
                errors[name] = error
    return errors


_SHORTENED = re.compile(r"[0-9][.,]([0-9]{4,})E[+]([0-9]+)")  # as spreadsheets write long ids


def _without_digits(cell: object) -> bool:
    if isinstance(cell, float):
        return abs(cell) >= 2**53
    match = _SHORTENED.fullmatch(cell) if isinstance(cell, str) else None
    return match is not None and len(match[1]) < int(match[2])


def damaged_ids(labels: pd.DataFrame, found: Findings) -> dict[str, str]:
    """Return the labels that have lost digits, of which several are one: floats, 1.23457E+18."""
    errors = dict[str, str]()
    for name, cells in labels.items():
        some = cells
        if isinstance(cells.dtype, pd.StringDtype):  # whose cells are slow to look at one by one
            some = cells[cells.str.contains("E+", regex=False, na=False)]
        elif not (pd.api.types.is_float_dtype(cells) or cells.dtype == object):
            continue
        try:
            short = [cell for cell in some.unique() if _without_digits(cell)]
        except TypeError:  # lists in cells, which are refused below
            continue
        remedy = (
            "A float or a spreadsheet shortened them. Take the file that it was made of, with this "
            f"column as text: pandas.read_csv(FILE, dtype={{{name!r}: 'str'}}), or read_runs(FILE)."
        )
        rule, wrong = "hold ids with all their digits", cells.isin(short)
        shown = cells.map(str) if short else cells
        for error in found.broken(str(name), rule, wrong, shown, remedy, repr(name)):
            errors[str(name)] = error
    return errors


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def _missing_columns(runs: Runs, found: Findings) -> _Errors:
    states, own = runs.states, [name.removeprefix("unmapped_") for name in runs.names]
    if "p" in runs.names or len(states) > 1 or any(map(is_belief, found.absent)):
        return
    if states:
        yield (
            f"{states[0]!r} is the only column of beliefs, and beliefs per state need one column "
            f"p_<state> for each state. Name it (--belief {states[0]}) if it is the probability "
            "that theta = 1; otherwise add the columns of the other states."
        )
    else:
        yield (
            f"column 'p' (the stated belief) is missing. {closest('belief', own)} Say "
            "which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME})."
        )


def _nothing_to_check(runs: Runs, _: Findings) -> _Errors:
    names, several = runs.names, len(runs.states) > 1
    # Columns count even if nothing in them was parsed: a report that shows the unparsed answers is
    # worth having. A missing belief is another rule's concern.
    unmet = runs.unmet(names if several else [*names, "p"])
    if not all(unmet.intersection(needs) for needs in EVIDENCE):
        return
    # A column that is known for something else is not meant.
    own = [name.removeprefix("unmapped_") for name in names]
    unknown = [name for name in own if name not in COLUMN_NAMES] or own
    both = " (of more than two states both)" if len(runs.states) > 2 else ""
    yield (
        "there is nothing to check beliefs against: give 'action' (what was chosen), 'theta' (the "
        f"realised state){both} or the exact posterior. {closest('action', unknown)} Say which is "
        "which: --action NAME, --truth NAME, --exact NAME; in Python columns={'action': NAME, "
        "'theta': NAME, 'p_true': NAME}."
    )


def _needed_columns(runs: Runs, found: Findings) -> _Errors:
    """Check that the columns are there without which a column means nothing."""
    told = set[str]()
    for name, needed in NEEDED.items():
        lacking = [each for each in needed if each not in runs.names]
        if name not in runs.names or not lacking or {*lacking} & (found.absent | told):
            continue
        told |= {*lacking}
        typed = " ".join(_TO_TYPE[each] for each in lacking if each in _TO_TYPE)
        remedy = f" Name {numbered(len(lacking), 'it', 'them')}: {typed}." if typed else ""
        yield f"column {found.named(name)} needs {listing(map(repr, lacking))} as well.{remedy}"


def _value_errors(runs: Runs, found: Findings) -> _Errors:
    """Check labels by the declaration of their column."""
    table = runs.table
    read = {*runs.names} - {*runs.unused_columns}
    for column in (column for column in COLUMNS if column.name in read):
        cells = table[column.name]
        empty = cells.isna().to_numpy()
        if column.choices:
            wrong = ~cells.isin(column.choices).to_numpy() & (column.filled | ~empty)
            rule = f"be one of {', '.join(column.choices)}"
            yield from found.broken(column.name, rule, wrong, cells, column.remedy)
        elif column.filled and empty.any() and not (empty.all() and column.name in EVALUATION):
            yield (
                f"column {found.named(column.name)} is empty in {rows_of(empty)}. Give every row "
                f"its {column.name}, or leave the column out."
            )


def _sum_errors(
    names: Sequence[str], total: np.ndarray, off: np.ndarray, within: float, found: Findings
) -> _Errors:
    if not off.any():
        return
    columns = [found.file_name(name) for name in names]
    yield (
        f"the columns {', '.join(names)} must sum to 1 (within {within}); {int(off.sum())} of "
        f"{off.size} rows do not, the first sums to {total[off][0]:g} ({rows_of(off)}). Is a "
        "column missing, or a cell no number? Of shares of another total, in pandas: "
        f"table[{columns}] = table[{columns}].div(table[{columns}].sum(axis=1), axis=0)."
    )


def _sums_of_columns(runs: Runs, found: Findings) -> _Errors:
    """Check that beliefs in several states, and probabilities of actions, are distributions."""
    if len(runs.states) > 1 and not any(map(is_belief, found.absent)):
        total = _numbers(runs.table, runs.states).sum(axis=1)
        off = np.abs(total - 1) > STATED_SUM
        yield from _sum_errors(runs.states, total, off, STATED_SUM, found)
    if "action" in runs.names:
        actions = runs.table["action"]
        labels = pd.Series(actions.dropna().unique(), dtype=object)
        chances = pd.to_numeric(labels, errors="coerce").astype(float)
        probable = labels[(chances > 0) & (chances < 1) & bool(chances.max() <= 1)]
        rule = "name what was chosen, and not its probability"
        remedy = "Give the probability of each action in a column action_NAME of its own."
        yield from found.broken("action", rule, actions.isin(probable), actions, remedy)
    every = [name for name in runs.names if name.startswith(ACTION_PREFIX)]
    total = np.nansum(_numbers(runs.table, every), axis=1)
    sums = np.abs(total - 1) <= ROUNDING
    # Where an action was chosen, only what looks like probabilities of actions is meant as such.
    if not runs.policies and len(every) > 1 and sums.any() and (sums | (total == 0)).all():
        yield (
            f"there are chosen actions in {found.named('action')} and their probabilities in "
            f"{', '.join(every)}; a row has one or the other. Drop one of them."
        )
    if not runs.policies:
        return
    there = runs.table[runs.policies].notna().to_numpy()
    yield from _sum_errors(runs.policies, total, there.any(axis=1) & ~sums, ROUNDING, found)
    # Tasks may have actions of their own, whose columns are empty for all others; as have levels.
    keys = [name for name in EVALUATION if name in runs.names]
    by = runs.table[keys].astype(str).assign(level=runs.known("level") | runs.known("loss"))
    used = pd.DataFrame(there, by.index).groupby([*map(by.get, by)], dropna=False).transform("any")
    partly = there.any(axis=1) & (there != used.to_numpy()).any(axis=1)
    if partly.any():
        yield (
            f"probabilities of some actions are empty where others are filled in {rows_of(partly)}."
            " Give every action of the task its probability, 0 included, or none."
        )


def _level_errors(runs: Runs, found: Findings) -> _Errors:
    """Check the rows of questions with a level."""
    if "level" not in runs.names:
        return
    table, leveled = runs.table, runs.known("level").to_numpy()
    if leveled.all():
        yield (
            f"{found.named.plain('level')} is filled in every row: stated beliefs of the same "
            "cases are missing. Give each a row of its own, without a level."
        )
    level = _numbers(table, ["level"])[:, 0]
    wrong = leveled & ~((level > 0) & (level < 1))
    remedy = "Leave out questions at 0 or 1, which no belief decides."
    if not np.isin(level[wrong], (0.0, 1.0)).all():
        remedy = f"{SAY_PERCENT} Leave it empty in ordinary rows."
    rule = "hold chances between 0 and 1, neither of them included"
    yield from found.broken("level", rule, wrong, table["level"], remedy)
    for name, choices in (("frame", FRAMES), ("order", LEVEL_OPTIONS)):
        if name in table:
            cells = table[name].astype(object)
            wrong = leveled & cells.notna() & ~cells.isin(choices)
            rule = f"be one of {', '.join(choices)} where there is a level"
            yield from found.broken(name, rule, wrong, cells, "Or leave the cell empty.")
    stated = leveled & table[runs.beliefs].notna().any(axis=1).to_numpy()
    if not leveled.all():
        remedy = "Give the stated belief of a case a row of its own, and choices at a level theirs."
        rule = "be empty in rows with a belief"
        yield from found.broken("level", rule, stated, table["level"], remedy)


def _status_errors(runs: Runs, found: Findings) -> _Errors:
    """Check statuses against what is filled."""
    if "status" not in runs.names or not runs.beliefs:
        return
    status, belief = runs.table["status"].astype(object), runs.beliefs[0]
    parsed, acted = status.isin(PARSED).to_numpy(), runs.acted.to_numpy()
    known, title = runs.known(belief).to_numpy(), found.named.plain("status")
    leveled = (runs.known("level") | runs.known("loss")).to_numpy() & ~known
    for name, empty in (
        (belief, ~known & parsed & ~leveled),
        ("action", ~acted & parsed & leveled & ~runs.known("says_from").to_numpy()),
    ):
        if empty.any():
            yield (
                f"{title} is {status[empty].iloc[0]!r} but {found.named(name)} is empty in "
                f"{rows_of(empty)}. Give the status that says why, or the missing answer."
            )
    filled = status.isin(FAILURES).to_numpy() & known & acted
    if filled.any():
        action = "the probabilities of actions" if runs.policies else found.named("action")
        yield (
            f"{title} is {status[filled].iloc[0]!r} but both {found.named(belief)} and {action} "
            f"are filled in {rows_of(filled)}. Leave the unparsed one empty."
        )


def _case_errors(runs: Runs, found: Findings) -> _Errors:
    """Check what the rows of a case share, and that persons share cases."""
    table, names, named = runs.table, runs.names, found.named
    if "context" not in names:
        return
    keys = [*(name for name in EVALUATION if name in names), "context"]
    contexts = table.groupby(keys, dropna=False, observed=True, sort=False)
    question, group = found.file_name("context"), found.file_name("group")
    for column in (column for column in COLUMNS if column.of_case and column.name in names):
        name = column.name
        if name == "theta" and runs.known("loss").any():  # answers may be graded one by one
            continue
        varies = (contexts[name].transform("nunique") > 1).to_numpy()
        if varies.any():
            remedy = column.of_case.format(
                question=typed_option("--group", question),
                person=typed_option("--person", group),
                anew=typed_option("--context", f"{group},{question}"),
            )
            ids = table.loc[varies, "context"].astype(str).unique()
            yield (
                f"{named.plain(name)} must be the same in all rows of a context; it varies within "
                f"{counted(len(ids), 'context')}, the first is {ids[0]!r} ({rows_of(varies)}). "
                f"{remedy}"
            )
    if "person" in names and not (contexts["person"].transform("nunique") > 1).any():
        who = typed_option("--group", found.file_name("person"))
        yield (
            f"{named.plain('person')} must name several persons in some context, who share its "
            f"state; each of {contexts.ngroups} contexts has one. Where they share cases, name "
            f"these: --context NAME; else leave it out, or {who} if rows of a person depend on "
            "each other."
        )
    key = [name for name in KEY if name in names and name not in runs.unused_columns]
    if "rep" in names and (twice := table.duplicated(key, keep=False).to_numpy()).any():
        yield (
            f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
            f"share theirs with another ({rows_of(twice)}). Number repetitions in "
            f"{named.plain('rep')}, and drop copies."
        )


# What makes labels alike, as pandas writes it.
_ONE_WAY = ".str.normalize('NFC').str.casefold().str.split().str.join(' ')"


def _label_errors(table: Runs, found: Findings) -> _Errors:
    """Say which labels differ only in how they are written, one sentence for each column."""
    runs = table.table
    if "theta" in runs.columns and (answers := answer_columns(runs)):
        # The truths of questions that nobody answered by a probability may be numbers and dates.
        runs = runs.assign(theta=runs["theta"].where(runs[answers].notna().any(axis="columns")))
    tasks = runs["task"] if "task" in runs.columns else pd.Series("", runs.index)
    for name in (each.name for each in COLUMNS if each.kind == "label" and not each.choices):
        if name not in runs.columns or pd.api.types.is_numeric_dtype(runs[name]):
            continue
        cells = runs[name].dropna().astype(str)
        forms = {label: folded(label) for label in cells.unique()}
        if len({*forms.values()}) == len(forms):
            continue
        by_task = tasks[cells.index] if name not in EVALUATION else pd.Series("", cells.index)
        written = cells.groupby([by_task, cells.map(forms)], dropna=False)
        counts = [labels.value_counts() for _, labels in written]
        alike = [
            ", ".join(f"{label!r} ({counted(n, 'row')})" for label, n in each.items())
            for each in counts
            if len(each) > 1
        ]
        if alike:
            # Of an id made of several columns each is written in one way.
            parts = [f"table[{part.strip()!r}]" for part in found.file_name(name).split(",")]
            yield (
                f"column {found.named(name)} has labels that differ only by blanks, case or "
                f"Unicode form: {'; '.join(alike[:5])}{', ...' * (len(alike) > 5)}. Name those "
                "that are meant to differ otherwise; if they are one, in pandas: "
                f"{'; '.join(f'{each} = {each}{_ONE_WAY}' for each in parts)}."
            )


def without_missing_actions(runs: pd.DataFrame, found: Findings) -> pd.DataFrame:
    """Empty actions that say that there is none, unless the truth has such a label; count them."""
    if "action" not in runs.columns or pd.api.types.is_numeric_dtype(runs["action"]):
        return runs
    truths = {*map(folded, runs["theta"].dropna().unique())} if "theta" in runs else set[str]()
    labels = runs["action"].dropna().unique()
    none = [label for label in labels if folded(label) in {"missing", "unparsed"} - truths]
    empty = runs["action"].isin(none)
    if n_empty := int(empty.sum()):
        held = f"{counted(n_empty, 'cell')} with {listing(map(repr, none))}"
        verb = numbered(n_empty, "is", "are")
        found.note(Code.MISSING, f"{found.named.plain('action')}: {held} {verb} missing.")
    return runs.assign(action=runs["action"].mask(empty))


_MISSING = {"NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "<NA>", "#N/A"}


def missing_label_notes(rows: pd.DataFrame) -> list[Note]:
    """Name actions and states that other programs write for a missing one; nothing is changed."""
    notes = []
    for column, noun in (("action", "action"), ("theta", "state")):
        cells = rows[column] if column in rows.columns else pd.Series(dtype=object)
        for label, n in cells[cells.isin(_MISSING)].value_counts().items():
            text = f"the {noun} {label!r} ({counted(n, 'row')}) counts as one of its own"
            notes.append(warning(Code.SPELLING, f"{text}; if it is none: --missing {label}."))
    return notes


def table_errors(runs: Runs, found: Findings, *, part: bool = False) -> list[str]:
    """List what is wrong with a table of labels and numbers, beyond single columns of numbers."""
    rules: list[_Rule] = [_missing_columns, _needed_columns, _value_errors]
    rules += [_sums_of_columns, _level_errors, _status_errors, _case_errors]
    # Columns that were looked for by names of the user's own may be what there is to check.
    rules += [] if part or found.absent else [_nothing_to_check]
    rules += [] if part else [_label_errors]
    return [*dict.fromkeys(error for rule in rules for error in rule(runs, found))]
