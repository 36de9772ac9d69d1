"""What is wrong with a runs table: every error at once, with row numbers and remedies.

What the declaration of a column says of its labels is checked for every column alike; what binds
several columns stands below, a rule each. Labels that are written differently and look like one
(yes, YES) double contexts and split actions if taken as different, and may hide a distinction if
taken as one: a table that has them is refused, with the line of pandas for either.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
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
    FEATURE_PREFIX,
    FRAMES,
    KEY,
    LEVEL_OPTIONS,
    NEEDED,
    OPTIONS,
    Naming,
    answer_columns,
    declared,
    is_belief,
)
from coherence.runs.needs import EVIDENCE
from coherence.runs.notes import Code, Note, warning
from coherence.runs.roles import SAY_PERCENT, Findings, broken, rows_of
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import folded, several_spellings, tidy, typed_option

_Errors: TypeAlias = Iterator[str]
FEWEST_ALIKE = 5  # rows of a case beside which a single one that differs may be a slip
_OPTIONS = {column: f"--{option}" for option, column in OPTIONS.items()}
"""Column -> option of `coherence analyze` that names it."""
_OF_NEEDED = {"context": " (the case, which has one state)", "acts": " (the action that stakes it)"}
_TO_TYPE = {name: f"{option} NAME" for name, option in _OPTIONS.items()}
_TO_TYPE |= {"loss": "--penalty NAME", "acts": "--acts LABEL"}


def shape_errors(table: pd.DataFrame) -> list[str]:
    """List what keeps a frame from having plain names of columns."""
    if table.columns.nlevels > 1:
        return [
            f"columns must have one level of names; these have {table.columns.nlevels}. "
            "Join them, for example runs.columns = runs.columns.map('_'.join)."
        ]
    doubled = sorted(set(map(str, table.columns[table.columns.duplicated()])))
    doubled += [str(name) for name in table.index.names if name in table.columns and name]
    if doubled:
        return [
            f"names of columns and of the index must be unique; {', '.join(doubled)} occur more "
            "than once. Rename one, or drop the index: runs.reset_index(drop=True)."
        ]
    return []


def cell_errors(table: pd.DataFrame, named: Naming) -> dict[str, str]:
    """Return the columns that hold lists and the like, with what to do; raw answers may."""
    errors = {}
    for name in map(str, table.columns):
        column, cells = declared(name, table.columns), table[name]
        wrapped = isinstance(cells.dtype, pd.ArrowDtype) or cells.dtype in (object, complex)
        if not wrapped or column is None or column.kind == "text":
            continue
        cells = cells.astype(object)
        single = np.array(
            [pd.api.types.is_scalar(c) and not isinstance(c, bytes | complex) for c in cells]
        )
        if not single.all():
            first = type(cells[~single].iloc[0]).__name__
            errors[name] = (
                f"column {named(name)} must hold single values; {int((~single).sum())} of "
                f"{len(cells)} cells do not, the first is a {first}. Give each part a column or a "
                "row of its own."
            )
    return errors


_SHORTENED = re.compile(r"[0-9][.,]([0-9]{4,})E[+]([0-9]+)")  # as spreadsheets write long ids


def _without_digits(cell: object) -> bool:
    if isinstance(cell, float):
        return abs(cell) >= 2**53
    found = _SHORTENED.fullmatch(cell) if isinstance(cell, str) else None
    return found is not None and len(found[1]) < int(found[2])


def damaged_ids(labels: pd.DataFrame) -> dict[str, str]:
    """Return the labels that have lost digits, of which several are one: floats, 1.23457E+18."""
    errors = dict[str, str]()
    for name, cells in labels.items():
        if pd.api.types.is_integer_dtype(cells) or pd.api.types.is_bool_dtype(cells):
            continue
        some = cells
        if isinstance(cells.dtype, pd.StringDtype):  # whose cells are slow to look at one by one
            some = cells[cells.str.contains("E+", regex=False, na=False)]
        try:
            short = [cell for cell in some.unique() if _without_digits(cell)]
        except (TypeError, NotImplementedError):  # lists in cells, which are refused below
            continue
        for error in broken(
            repr(name),
            "hold ids with all their digits",
            cells.isin(short),
            cells.map(str),
            "Different ids became one where a float or a spreadsheet shortened them. Take the file "
            "that it was made of, with this column as text: "
            f"pandas.read_csv(FILE, dtype={{{name!r}: 'str'}}), or read_runs(FILE).",
        ):
            errors[str(name)] = error
    return errors


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def wide_columns(names: Sequence[str]) -> str:
    """Return where to read how a table becomes long whose columns are numbered; empty without."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.sub(r"[0-9]+", "#", name), []).append(name)
    most = max((of for of in stems.values() if len(of) > 2), key=len, default=[])
    return (
        f" If {listing(map(repr, most), 3)} hold one answer each: a row is one answer here, and "
        "pandas.wide_to_long makes it so (docs/own-data.md#rows-and-cells-to-change-first)."
    ) * bool(most)


def _missing_columns(runs: Runs, found: Findings) -> _Errors:
    states, own = runs.states, [name.removeprefix("unmapped_") for name in runs.names]
    if "p" in runs.names or len(states) > 1 or any(map(is_belief, found.absent)):
        return
    if states:
        yield (
            f"{states[0]!r} is the only column of beliefs, and beliefs per state need one column "
            f"p_<state> for each state. Rename it to 'p' (--belief {states[0]}) if it is the "
            "probability that theta = 1; otherwise add the columns of the other states."
        )
    else:
        yield (
            f"column 'p' (the stated belief) is missing. {closest('belief', own)} Say "
            "which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME})."
            f"{wide_columns([name.removeprefix('unmapped_') for name in runs.unused_columns])}"
        )


def _nothing_to_check(runs: Runs, _: Findings) -> _Errors:
    names, several = runs.names, len(runs.states) > 1
    # Columns count even if nothing in them was parsed: a report that shows the unparsed answers is
    # worth having. A missing belief is another rule's concern.
    unmet = runs.unmet(names if several else [*names, "p"])
    if not all(unmet.intersection(needs) for needs in EVIDENCE):
        return
    wanted = "'action' (what was chosen), 'theta' (the realised state) or the exact posterior"
    if len(runs.states) > 2:
        wanted = "'action' (what was chosen) together with 'theta' (the realised state)"
    if not several:
        wanted += "; or a second prompt variant in 'prompt'; or 'z', 'z_state' and 'p_z'"
    # A column that is known for something else is not meant.
    own = [name.removeprefix("unmapped_") for name in names]
    unknown = [name for name in own if name not in COLUMN_NAMES] or own
    yield (
        f"there is nothing to check beliefs against: give {wanted}. {closest('action', unknown)} "
        "Say which is which: --action NAME, --truth NAME, --exact NAME; in Python read_runs(..., "
        "columns={'action': NAME, 'theta': NAME, 'p_true': NAME})."
    )


def _needed_columns(runs: Runs, found: Findings) -> _Errors:
    """Check that the columns are there without which a column means nothing."""
    lacking_of = {
        tuple(each for each in needed if each not in runs.names): name
        for name, needed in reversed(NEEDED.items())
        if name in runs.names
    }
    for lacking, name in reversed(lacking_of.items()):
        if not lacking or {*lacking} & found.absent:
            continue
        typed = " ".join(_TO_TYPE[each] for each in lacking if each in _TO_TYPE)
        remedy = f" Name {numbered(len(lacking), 'it', 'them')}: {typed}." if typed else ""
        if lacking == ("context",):
            remedy = found.of_cases(runs) or remedy
        columns = numbered(len(lacking), "the column", "the columns")
        listed = " and ".join(f"{each!r}{_OF_NEEDED.get(each, '')}" for each in lacking)
        yield f"column {found.named(name)} needs {columns} {listed} as well.{remedy}"


def _value_errors(runs: Runs, found: Findings) -> _Errors:
    """Check labels by the declaration of their column, and what binds the columns of a spread."""
    table = runs.table
    read = {*runs.names} - {*runs.unused_columns}
    for column in (column for column in COLUMNS if column.name in read):
        cells = table[column.name]
        empty = cells.isna().to_numpy()
        if column.choices:
            wrong = ~cells.isin(column.choices).to_numpy() & (column.filled | ~empty)
            rule = f"be one of {', '.join(column.choices)}"
            remedy = column.remedy.format(name=found.file_name(column.name))
            yield from found.broken(column.name, rule, wrong, cells, remedy)
        elif column.filled and empty.any() and not (empty.all() and column.name in EVALUATION):
            yield (
                f"column {found.named(column.name)} is empty in {rows_of(empty)}. Give every row "
                f"its {column.name}, or leave the column out."
            )
    if {"p_q05", "p_q95"} <= set(table.columns):
        low, high = _numbers(table, ["p_q05", "p_q95"]).T
        rule = f"not lie above {found.named('p_q95')}"
        yield from found.broken("p_q05", rule, low > high, table["p_q05"], "Are the two exchanged?")


def _state_errors(runs: Runs, found: Findings) -> _Errors:
    """Check that beliefs in several states are a distribution."""
    if len(runs.states) > 1 and not any(map(is_belief, found.absent)):
        total = _numbers(runs.table, runs.states).sum(axis=1)
        off = np.abs(total - 1) > STATED_SUM
        yield from _sum_errors(runs.states, total, off, STATED_SUM, found)


def _of_another_total(columns: Sequence[str], totals: np.ndarray) -> str:
    """Say how shares of another total are divided by it; of several below 1 a part may lack."""
    one_total = np.ptp(totals) < ROUNDING
    if len(columns) < 2 or not (one_total or (totals > 1).all()):
        return " Is a column missing, or a cell no number?"
    return (
        f" If they are shares of another total, in pandas: table[{columns}] = "
        f"table[{columns}].div(table[{columns}].sum(axis=1), axis=0)."
    )


def _sum_errors(
    names: Sequence[str], total: np.ndarray, off: np.ndarray, within: float, found: Findings
) -> _Errors:
    if off.any():
        columns = [found.file_name(name) for name in names]
        yield (
            f"the columns {', '.join(names)} must sum to 1 (within {within}); {int(off.sum())} of "
            f"{off.size} rows do not, the first sums to {total[off][0]:g} ({rows_of(off)})."
            f"{_of_another_total(columns, total[off])}"
        )


def _policy_errors(runs: Runs, found: Findings) -> _Errors:
    """Check probabilities of actions, each one by itself being a probability already."""
    if "action" in runs.names:
        labels = runs.table["action"].dropna().unique()
        numbers = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce").to_numpy(float)
        actions, probable = runs.table["action"].astype(object), (numbers > 0) & (numbers < 1)
        yield from found.broken(
            "action",
            "name what was chosen, and not its probability",
            actions.isin(labels[probable & (np.nanmax(numbers, initial=0) <= 1)]),
            actions,
            "Give the probability of each action in a column action_NAME of its own.",
        )
    every = [name for name in runs.names if name.startswith(ACTION_PREFIX)]
    total, of_policies = np.nansum(_numbers(runs.table, every), 1), runs.of_policies.to_numpy()
    sums, chosen = np.abs(total - 1) <= ROUNDING, ~of_policies
    # Where an action was chosen, only what looks like probabilities of actions is meant as such.
    if len(every) > 1 and (sums & chosen).any() and (sums | (total == 0))[chosen].all():
        yield (
            f"there are chosen actions in {found.named('action')} and their probabilities in "
            f"{', '.join(every)}; a task and model has one or the other. Drop one of them."
        )
    if not runs.policies:
        return
    there = runs.table[runs.policies].notna().to_numpy() & of_policies[:, None]
    yield from _sum_errors(runs.policies, total, there.any(axis=1) & ~sums, ROUNDING, found)
    # Tasks may have actions of their own, whose columns are empty for all others; as have levels.
    keys = [name for name in EVALUATION if name in runs.names]
    by = runs.table[keys].astype(str).assign(level=runs.known("level") | runs.known("loss"))
    used = pd.DataFrame(there, by.index).groupby([by[name] for name in by]).transform("any")
    partly = there.any(axis=1) & (there != used.to_numpy()).any(axis=1)
    if partly.any():
        yield (
            f"probabilities of some actions are empty where others are filled in "
            f"{rows_of(partly)}. Give every action of the task its probability, 0 included, or "
            "none."
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
    remedy = "Give the stated belief of a case a row of its own, and choices at a level theirs."
    if not leveled.all():
        rule = "be empty in rows with a belief"
        yield from found.broken("level", rule, stated, table["level"], remedy)


def _status_errors(runs: Runs, found: Findings) -> _Errors:
    """Check statuses against what is filled."""
    if "status" not in runs.names or not runs.beliefs:
        return
    status, belief = runs.table["status"].astype(object), runs.beliefs[0]
    parsed, acted = status.isin(PARSED).to_numpy(), runs.acted.to_numpy()
    known = runs.known(belief).to_numpy()
    leveled = (runs.known("level") | runs.known("loss")).to_numpy() & ~known
    title = found.named.plain("status")
    for name, empty in (
        (belief, ~known & parsed & ~leveled),
        ("action", ~acted & parsed & leveled & ~runs.known("says_from").to_numpy()),
    ):
        if empty.any():
            yield (
                f"{title} is {status[empty].iloc[0]!r} but {found.named(name)} is empty in "
                f"{rows_of(empty)}. Give the status that says why, or the "
                f"{'belief' if name == belief else name}."
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
    for column in COLUMNS:
        name = column.name
        if not column.of_case or name not in names:
            continue
        if name == "theta" and runs.known("loss").any():  # answers may be graded one by one
            continue
        varies = (contexts[name].transform("nunique") > 1).to_numpy()
        if varies.any():
            group = found.file_name("group")
            remedy = column.of_case.format(
                cases=found.of_cases(runs).strip() or _other_cases(names, found),
                person=typed_option("--person", group),
                anew=typed_option("--context", f"{group},{found.file_name('context')}"),
            )
            ids = table.loc[varies, "context"].astype(str).unique()
            yield (
                f"{named.plain(name)} must be the same in all rows of a context; it varies within "
                f"{counted(len(ids), 'context')}, the first is {ids[0]!r} ({rows_of(varies)}). "
                f"{_one_alone(table, name, ids[0], named)}{remedy}"
            )
    if "person" in names and not (contexts["person"].transform("nunique") > 1).any():
        who = typed_option("--group", found.file_name("person"))
        alone = " There is one person: leave --person out." * (table["person"].nunique() == 1)
        remedy = (
            found.of_cases(runs)
            or alone
            or (
                f" If rows of a person depend on each other, it is their group: {who} in place of "
                "--person. If persons share cases, name these: --context NAME."
            )
        )
        yield (
            f"{named.plain('person')} must name several persons in some context, who share its "
            f"state; each of {counted(contexts.ngroups, 'context')} has one.{remedy}"
        )
    key = [name for name in KEY if name in names and name not in runs.unused_columns]
    if "rep" in names and (twice := table.duplicated(key, keep=False).to_numpy()).any():
        yield (
            f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
            f"share theirs with another ({rows_of(twice)}). Number repetitions in "
            f"{named.plain('rep')}, and drop copies."
        )


def _one_alone(table: pd.DataFrame, name: str, case: str, named: Naming) -> str:
    """Point at the one row of a case that differs from many, which may be a slip."""
    rows = table.loc[table["context"].astype(str) == case, name].dropna()
    counts = rows.value_counts()
    if len(counts) != 2 or counts.iloc[1] > 1 or counts.iloc[0] < FEWEST_ALIKE:
        return ""
    odd = np.asarray(table.index == rows[rows == counts.index[1]].index[0])
    return (
        f"There {named.plain(name)} is {str(counts.index[0])!r} in {counts.iloc[0]} rows and "
        f"{str(counts.index[1])!r} in one ({rows_of(odd)}): correct it if it is a slip. "
    )


def _other_cases(names: Sequence[str], found: Findings) -> str:
    """Say what else may be the cases where truths vary within those that were named."""
    question = found.file_name("context")
    for role in (role for role in ("person", "group") if role in names):
        other = found.file_name(role)
        both = typed_option("--context", f"{other},{question}")
        return (
            f"Where ids are numbered anew for each {role}: {both} {typed_option('--group', other)}"
            f"{' in place of --person' * (role == 'person')}. Else name what has one truth: "
            "--context NAME."
        )
    return (
        "Where rows are several answers to a question, each right or wrong by itself, the question "
        f"is their group and not their context: {typed_option('--group', question)} in place of "
        f"--context. Where it is who judged, name the cases too: --context NAME "
        f"{typed_option('--person', question)}."
    )


def _typo_errors(runs: Runs, found: Findings) -> _Errors:
    """Say which columns are passed over although they seem to be meant as known ones."""
    names = {*runs.names, *found.absent}
    near: dict[str, list[str]] = {}
    for name in runs.unused_columns:
        if (meant := column_meant(name, names)) is not None:
            near.setdefault(meant, []).append(name)
    for meant, similar in near.items():
        naming = "Rename the column"
        if meant in _OPTIONS:
            naming = f"Name it ({_OPTIONS[meant]} {similar[0]})"
        yield (
            f"nothing reads {listing(map(repr, similar))}, and the name is close to {meant!r}, "
            f"which is missing. {naming} if that is meant; else drop it, in pandas: table = "
            f"table.drop(columns={similar!r})."
        )


_NO_ACTION = ("missing", "unparsed")
# What makes labels alike, as pandas writes it.
_ONE_WAY = ".str.normalize('NFC').str.casefold().str.split().str.join(' ')"


def _label_errors(table: Runs, found: Findings) -> _Errors:
    """Say which labels differ only in how they are written, one sentence for each column."""
    runs = table.table
    if "theta" in runs.columns and (answers := answer_columns(runs)):
        # The truths of questions that nobody answered by a probability may be numbers and dates.
        runs = runs.assign(theta=runs["theta"].where(runs[answers].notna().any(axis="columns")))
    for name in (each.name for each in COLUMNS if each.kind == "label" and not each.choices):
        if name not in runs.columns or pd.api.types.is_numeric_dtype(runs[name]):
            continue
        if name in ("action", "theta") and (spelled := _spelling_error(runs, name, found)):
            yield spelled
        elif alike := _labels_alike(runs, name):
            more = f" and {len(alike) - 5} more" if len(alike) > 5 else ""
            # Of an id made of several columns each is written in one way.
            cells = [f"table[{part.strip()!r}]" for part in found.file_name(name).split(",")]
            yield (
                f"column {found.named(name)} has labels that differ only by blanks, case or "
                f"Unicode form: {'; '.join(alike[:5])}{more}. Name those that "
                "are meant to differ otherwise; if they are one, in pandas: "
                f"{'; '.join(f'{each} = {each}{_ONE_WAY}' for each in cells)}."
            )


def _spelling_error(runs: pd.DataFrame, name: str, found: Findings) -> str:
    """Refuse no and yes that a task writes in several ways: they would be states of their own."""
    labelled = runs[name].dropna()
    tasks = runs["task"] if "task" in runs.columns else pd.Series("", runs.index)
    for _, labels in labelled.groupby(tasks[labelled.index], dropna=False, observed=True):
        if spelled := several_spellings(labels.unique()):
            counts = labels.astype(str).value_counts()
            shown = listing((f"{label!r} ({n})" for label, n in counts.items()), 8)
            cells = f"table[{found.file_name(name)!r}]"
            return (
                f"column {found.named(name)} writes no and yes in several ways: {shown}. Write "
                f"each in one, in pandas: states = {spelled}; {cells} = "
                f"{cells}.astype(str).str.strip().str.lower().map(states)."
            )
    return ""


def _one_action_errors(runs: Runs, found: Findings) -> _Errors:
    """Ask what empty actions are where the others have one label: not acting, or no answer."""
    told = found.marked_actions or "status" in runs.names or runs.ours or bool(runs.policies)
    if "action" not in runs.names or told:
        return
    rows = runs.table[runs.believed & ~runs.given_z & ~runs.known("level")]
    keys = [runs.prompt[rows.index], *(rows[name] for name in EVALUATION if name in runs.names)]
    # Of each evaluation and prompt: those without any action were asked for beliefs alone.
    alone = rows["action"].groupby(keys, dropna=False, observed=True).transform("nunique") == 1
    empty = (rows["action"].isna() & alone).reindex(runs.table.index, fill_value=False)
    if empty.any():
        label = str(rows["action"][alone].dropna().iloc[0])
        cells = f"table[{found.file_name('action')!r}]"
        yield (
            f"column {found.named('action')} holds {label!r} or nothing, and is empty in "
            f"{rows_of(empty)}: nothing says whether these did not act, or gave no answer. If they "
            f"did not act, in pandas: {cells} = "
            f"{cells}.astype(object).fillna({f'not {label}'!r}); if they gave no answer: "
            f"table['status'] = {cells}.notna().map({{True: 'ok', False: 'unparsed'}})."
        )


def without_missing_actions(runs: pd.DataFrame, found: Findings) -> pd.DataFrame:
    """Empty actions that say that there is none, unless the truth has such a label; count them."""
    if "action" not in runs.columns or pd.api.types.is_numeric_dtype(runs["action"]):
        return runs
    forms = {label: folded(label) for label in runs["action"].dropna().unique()}
    truths = {*map(folded, runs["theta"].dropna().unique())} if "theta" in runs else set[str]()
    none = [label for label, form in forms.items() if form in {*_NO_ACTION} - truths]
    empty = runs["action"].isin(none)
    if n_empty := int(empty.sum()):
        held = f"{counted(n_empty, 'cell')} with {listing(map(repr, none))}"
        verb = numbered(n_empty, "is", "are")
        found.note(Code.MISSING, f"{found.named.plain('action')}: {held} {verb} missing.")
        found.marked_actions = True
    return runs.assign(action=runs["action"].mask(empty))


def _labels_alike(runs: pd.DataFrame, name: str) -> list[str]:
    """Return labels, with their rows, that differ only in how they are written, in each task."""
    cells = runs[name].dropna().astype(str)
    forms = {label: folded(label) for label in cells.unique()}
    if len({*forms.values()}) == len(forms):
        return []
    by_task = "task" in runs.columns and name not in EVALUATION
    keys = [runs["task"][cells.index]] if by_task else []
    shown = []
    for _, labels in cells.groupby([*keys, cells.map(forms)], dropna=False):
        counts = labels.value_counts().sort_index().sort_values(ascending=False, kind="stable")
        texts = list(map(repr, counts.index))
        if len({*map(tidy, texts)}) < len(texts):  # accents of one character or two look alike
            texts = list(map(ascii, counts.index))
        if len(texts) > 1:
            each = zip(texts, counts, strict=True)
            shown.append(", ".join(f"{text} ({counted(n, 'row')})" for text, n in each))
    return shown


# What checks read; a missing note on an answer changes no number.
_READ = tuple(column.name for column in COLUMNS if column.kind in ("label", "probability"))
# Names of up to three letters are a typo away from too many words.
_SHORTEST, _ONE_TYPO = 4, 0.8
# Words of their own, which tables of answers have.
_OTHER_WORDS = frozenset({"ask", "content", "contest", "mask", "modal", "mode", "state"})

_MISSING = ("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "<NA>", "#N/A")


def column_meant(name: str, names: Collection[str]) -> str | None:
    """Return the known column that an unknown name seems to mean."""
    plain = re.sub(r"[^0-9a-z]+", "_", name.casefold()).strip("_")
    for known in _READ:
        if known in names:
            continue
        if plain == known or (plain == f"{known}s" and len(known) > 2):
            return known
        long_enough = len(known.removeprefix("p_")) >= _SHORTEST and plain not in _OTHER_WORDS
        near = SequenceMatcher(None, plain, known).ratio() >= _ONE_TYPO
        if long_enough and near and abs(len(plain) - len(known)) <= 1:
            return known
    prefixes = [FEATURE_PREFIX] + ([] if "action" in names else [ACTION_PREFIX])
    prefixes += [] if "p" in names else ["p_"]
    return next((f"{prefix}..." for prefix in prefixes if plain.startswith(prefix)), None)


def missing_label_notes(rows: pd.DataFrame) -> list[Note]:
    """Name actions and states that other programs write for a missing one; nothing is changed."""
    texts = []
    for column, noun in (("action", "action"), ("theta", "state")):
        counts = rows[column].value_counts().to_dict() if column in rows.columns else {}
        texts += [
            f"the {noun} {label!r} ({counted(counts[label], 'row')}) counts as one of its own. If "
            f"it means that there is none, leave these cells empty (--missing {label}); nothing "
            "was changed."
            for label in counts
            if isinstance(label, str) and label in _MISSING
        ]
    return [warning(Code.SPELLING, text) for text in texts]


_OF_PARTS = (
    _needed_columns,
    *(_value_errors, _state_errors, _policy_errors, _level_errors, _status_errors, _case_errors),
)


def table_errors(runs: Runs, found: Findings, *, part: bool = False) -> list[str]:
    """List what is wrong with a table of labels and numbers, beyond single columns of numbers.

    A `part` of a table need not allow a check by itself.
    """
    # Columns that were looked for by names of the user's own may be what there is to check.
    beside = [] if part or found.absent else [_nothing_to_check]
    of_labels = [] if part else [_label_errors, _one_action_errors]
    rules = [_missing_columns, *beside, *_OF_PARTS, *of_labels, _typo_errors]
    return [*dict.fromkeys(error for rule in rules for error in rule(runs, found))]
