"""What is wrong with a runs table: every error at once, with row numbers and remedies.

What the declaration of a column says of its labels is checked for every column alike; what binds
several columns stands below, a rule each. Labels that are written differently and look like one
(yes, YES) double contexts and split actions if taken as different, and may hide a distinction if
taken as one: a table that has them is refused, with the line of pandas for either.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from coherence.decoding.decode import FAILURES, PARSED
from coherence.errors import closest, listing
from coherence.printable import capitalised, counted, numbered
from coherence.runs.cells import broken, rows_of
from coherence.runs.columns import (
    ACTION_PREFIX,
    ACTION_SUM_TOLERANCE,
    COLUMN_NAMES,
    COLUMNS,
    EVENT,
    FEATURE_PREFIX,
    FRAMES,
    KEY,
    LEVEL_OPTIONS,
    OPTIONS,
    STATE_SUM_TOLERANCE,
    Naming,
    answer_columns,
    declared,
    is_state,
)
from coherence.runs.design import case_column
from coherence.runs.needs import EVIDENCE
from coherence.runs.notes import Code, Note, warning
from coherence.runs.roles import SAY_PERCENT
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import folded, several_spellings, tidy, typed_option


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
        dtype = cells.dtype
        nested = isinstance(dtype, pd.ArrowDtype) and pa.types.is_nested(dtype.pyarrow_dtype)
        plain = not pd.api.types.is_object_dtype(dtype) and dtype.kind != "c" and not nested
        if plain or column is None or column.kind == "text":
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


def damaged_ids(labels: pd.DataFrame) -> list[str]:
    """Refuse labels that have lost digits, of which several are one: floats, 1.23457E+18."""
    errors = []
    for name, cells in labels.items():
        if pd.api.types.is_integer_dtype(cells) or pd.api.types.is_bool_dtype(cells):
            continue
        some = cells
        if isinstance(cells.dtype, pd.StringDtype):  # whose cells are slow to look at one by one
            some = cells[cells.str.contains("E+", regex=False, na=False)]
        try:
            short = [cell for cell in some.unique() if _without_digits(cell)]
        except TypeError:  # lists in cells, which are refused below
            continue
        errors += broken(
            repr(name),
            "hold ids with all their digits",
            cells.isin(short),
            cells.map(str),
            "A float holds 15 to 17 digits, a spreadsheet keeps 15, and different ids became one "
            "where it was made. Take the file that it was made of, with this column as text: "
            f"pandas.read_csv(FILE, dtype={{{name!r}: 'str'}}), or read_runs(FILE).",
        )
    return errors


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def _missing_columns(runs: Runs, named: Naming) -> list[str]:
    names, states = runs.names, runs.states
    own, errors = [name.removeprefix("unmapped_") for name in names], []
    if len(states) == 1:
        errors.append(
            f"{states[0]!r} is the only column of beliefs, and beliefs per state need one column "
            f"p_<state> for each state. Rename it to 'p' (--belief {states[0]}) if it is the "
            "probability that theta = 1; otherwise add the columns of the other states."
        )
    elif "p" not in names and not states:
        errors.append(
            f"column 'p' (the stated belief) is missing. {closest('belief', own)} Say "
            "which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME}), or rename "
            "the column of a DataFrame."
        )
    if "z" in names and not {"z_state", "p_z"} <= set(names):
        errors.append(f"column {named('z')} needs the columns 'z_state' and 'p_z' as well.")
    return errors


def _nothing_to_check(runs: Runs, named: Naming) -> list[str]:
    names, several = runs.names, len(runs.states) > 1
    # Columns count even if nothing in them was parsed: a report that shows the unparsed answers is
    # worth having. A missing belief is another rule's concern.
    unmet = runs.unmet(names if several else [*names, "p"])
    if not all(unmet.intersection(needs) for needs in EVIDENCE):
        return []
    wanted = "'action' (what was chosen), 'theta' (the realised state) or the exact posterior"
    if len(runs.states) > 2:
        wanted = "'action' (what was chosen) together with 'theta' (the realised state)"
    if not several:
        wanted += "; or a second prompt variant in 'prompt'; or 'z', 'z_state' and 'p_z'"
    # A column that is known for something else is not meant.
    unknown = [name for name in names if name not in COLUMN_NAMES] or names
    return [
        f"there is nothing to check beliefs against: give {wanted}. {closest('action', unknown)} "
        "Say which is which: --action NAME, --truth NAME, --exact NAME; in Python read_runs(..., "
        "columns={'action': NAME, 'theta': NAME, 'p_true': NAME}), or rename the columns of a "
        "DataFrame."
    ]


def _value_errors(runs: Runs, named: Naming) -> list[str]:
    """Check labels by the declaration of their column, and what binds the columns of a spread."""
    table, errors = runs.table, []
    for column in COLUMNS:
        if column.name not in table.columns or not (column.choices or column.filled):
            continue
        cells, title = table[column.name], named(column.name)
        empty = cells.isna().to_numpy()
        if column.choices:
            wrong = ~cells.isin(column.choices).to_numpy() & (column.filled | ~empty)
            file_name = named.columns.get(column.name, column.name)
            rule, remedy = f"be one of {', '.join(column.choices)}", column.remedy
            errors += broken(title, rule, wrong, cells, remedy.format(name=file_name))
        elif column.filled and empty.any() and not (empty.all() and column.name in EVALUATION):
            errors.append(
                f"column {title} is empty in {rows_of(empty)}. Give every row its {column.name}, "
                "or leave the column out."
            )
    if {"p_q05", "p_q95"} <= set(table.columns):
        low, high = _numbers(table, ["p_q05", "p_q95"]).T
        rule = f"not lie above {named('p_q95')}"
        remedy = "Are the two exchanged?"
        errors += broken(named("p_q05"), rule, low > high, table["p_q05"], remedy)
    return errors


def _state_errors(runs: Runs, _: Naming) -> list[str]:
    """Check that beliefs in several states are a distribution."""
    if len(runs.states) < 2:
        return []
    total = _numbers(runs.table, runs.states).sum(axis=1)
    off = np.abs(total - 1) > STATE_SUM_TOLERANCE
    return _sum_errors(runs.states, total, off, STATE_SUM_TOLERANCE)


def _sum_errors(
    names: Sequence[str], total: np.ndarray, off: np.ndarray, within: float
) -> list[str]:
    if not off.any():
        return []
    return [
        f"the columns {', '.join(names)} must sum to 1 (within {within}); {int(off.sum())} of "
        f"{off.size} rows do not, the first sums to {total[off][0]:g} ({rows_of(off)})."
    ]


def _policy_errors(runs: Runs, named: Naming) -> list[str]:
    """Check probabilities of actions, each one by itself being a probability already."""
    every = [name for name in runs.names if name.startswith(ACTION_PREFIX)]
    columns, of_policies = runs.policies, runs.of_policies.to_numpy()
    total = np.nansum(_numbers(runs.table, every), axis=1) if every else np.empty(0)
    sums = np.abs(total - 1) <= ACTION_SUM_TOLERANCE
    errors = []
    if "action" in runs.names:
        labels = runs.table["action"].dropna().unique()
        numbers = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce").to_numpy(float)
        actions = runs.table["action"].astype(object)
        errors += broken(
            named("action"),
            "name what was chosen, and not its probability",
            actions.isin(labels[(numbers > 0) & (numbers < 1)]),
            actions,
            "Give the probability of each action in a column action_NAME of its own.",
        )
    # Where an action was chosen, only what looks like probabilities of actions is meant as such.
    chosen = ~of_policies
    if len(every) > 1 and (sums & chosen).any() and (sums | (total == 0))[chosen].all():
        errors.append(
            f"there are chosen actions in {named('action')} and their probabilities in "
            f"{', '.join(every)}; a task and model has one or the other. Drop one of them."
        )
    if not columns:
        return errors
    if len(columns) == 1:
        errors.append(
            f"{columns[0]!r} is the only column of probabilities of actions, and every action "
            "needs one. Add those of the others, or rename it if it holds something else."
        )
    there = runs.table[columns].notna().to_numpy() & of_policies[:, None]
    errors += _sum_errors(columns, total, there.any(axis=1) & ~sums, ACTION_SUM_TOLERANCE)
    # Tasks may have actions of their own, whose columns are empty for all others; as have levels.
    keys = [name for name in EVALUATION if name in runs.names]
    by = runs.table[keys].astype(str).assign(level=runs.known("level") | runs.known("loss"))
    used = pd.DataFrame(there, by.index).groupby([by[name] for name in by]).transform("any")
    partly = there.any(axis=1) & (there != used.to_numpy()).any(axis=1)
    if partly.any():
        errors.append(
            f"probabilities of some actions are empty where others are filled in "
            f"{rows_of(partly)}. Give every action of the task its probability, 0 included, or "
            "none."
        )
    return errors


def _stake_errors(runs: Runs, _: Naming) -> list[str]:
    """Check that a stake is whole: the loss, which action stakes it, and the case."""
    options = {"loss": "--penalty NAME", "acts": "--acts LABEL", "context": "--context NAME"}
    lacking = [option for name, option in options.items() if name not in runs.names]
    if not lacking or not {"gain", "loss", "acts"} & set(runs.names):
        return []
    return [f"a choice that stakes something needs {' and '.join(lacking)} as well."]


def _level_errors(runs: Runs, named: Naming) -> list[str]:
    """Check the rows of questions with a level."""
    if "level" not in runs.names:
        return []
    table, leveled = runs.table, runs.known("level").to_numpy()
    if "context" not in runs.names:
        return ["column 'level' needs the column 'context': the case that a question is about."]
    if leveled.all():
        return [
            f"{named.plain('level')} is filled in every row: stated beliefs of the same cases are "
            "missing. Give each a row of its own, without a level."
        ]
    level = _numbers(table, ["level"])[:, 0]
    wrong = leveled & ~((level > 0) & (level < 1))
    certain = np.isin(level[wrong], (0.0, 1.0)).all()
    errors = broken(
        named("level"),
        "hold chances between 0 and 1, neither of them included",
        wrong,
        table["level"],
        "Leave out these questions, which no belief decides."
        if certain
        else f"{SAY_PERCENT} Leave it empty in ordinary rows.",
    )
    frame = table["frame"].fillna(EVENT) if "frame" in table else pd.Series(EVENT, table.index)
    unknown = leveled & ~frame.isin(FRAMES).to_numpy()
    rule = f"be one of {', '.join(FRAMES)} where there is a level"
    errors += broken(named("frame"), rule, unknown, frame, "Or leave the cell empty: event.")
    if "order" in table:
        order = table["order"].astype(object)
        odd = leveled & order.notna() & ~order.isin(LEVEL_OPTIONS)
        rule = "name the option that comes first: event or lottery"
        remedy = "Rename it, or leave the cell empty."
        errors += broken(named("order"), rule, odd, order, remedy)
    return errors + broken(
        named("level"),
        "be empty in rows with a belief",
        leveled & runs.table[runs.beliefs].notna().any(axis=1).to_numpy(),
        table["level"],
        "Give the stated belief of a case a row of its own, and choices at a level theirs.",
    )


def _status_errors(runs: Runs, named: Naming) -> list[str]:
    """Check statuses against what is filled."""
    if "status" not in runs.names or not runs.beliefs:
        return []
    status, belief, errors = runs.table["status"].astype(object), runs.beliefs[0], list[str]()
    parsed, acted = status.isin(PARSED).to_numpy(), runs.acted.to_numpy()
    known = runs.known(belief).to_numpy()
    leveled = (runs.known("level") | runs.known("loss")).to_numpy() & ~known
    for name, empty in (
        (belief, ~known & parsed & ~leveled),
        ("action", ~acted & parsed & leveled & ~runs.known("says_from").to_numpy()),
    ):
        if empty.any():
            errors.append(
                f"{named.plain('status')} is {status[empty].iloc[0]!r} but {named(name)} is empty "
                f"in {rows_of(empty)}. Give the status that says why, or the "
                f"{'belief' if name == belief else name}."
            )
    filled = status.isin(FAILURES).to_numpy() & known & acted
    if filled.any():
        action = "the probabilities of actions" if runs.policies else named("action")
        errors.append(
            f"{named.plain('status')} is {status[filled].iloc[0]!r} but both {named(belief)} and "
            f"{action} are filled in {rows_of(filled)}. Leave the unparsed one empty."
        )
    return errors


def _key_errors(runs: Runs, named: Naming) -> list[str]:
    table, names = runs.table, runs.names
    if "context" not in names:
        if "person" not in names:
            return []
        cases = case_column(table, runs.unused_columns, named.columns)
        remedy = f"{capitalised(cases.sentence)}: " if cases else "Name it: "
        typed = cases.options(table, named.columns) if cases else "--context NAME"
        return [
            f"{named.plain('person')} needs the column 'context': what several persons judged, and "
            f"has one state. {remedy}{typed}."
        ]
    errors: list[str] = []
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
            group = typed_option("--person", named.columns.get("group", "group"))
            remedy = column.of_case.format(cases=_cases(runs, named), person=group)
            ids = table.loc[varies, "context"].astype(str).unique()
            errors.append(
                f"{named.plain(name)} must be the same in all rows of a context; it varies within "
                f"{counted(len(ids), 'context')}, the first is {ids[0]!r} ({rows_of(varies)}). "
                f"{remedy}"
            )
    if "person" in names and not (contexts["person"].transform("nunique") > 1).any():
        who = typed_option("--group", named.columns.get("person", "person"))
        cases = case_column(table, runs.unused_columns, named.columns)
        remedy = (
            f"{capitalised(cases.sentence)}: {cases.options(table, named.columns)}."
            if cases is not None
            else f"If rows of a person depend on each other, it is their group: {who} in place of "
            "--person. If persons share cases, name these: --context NAME."
        )
        errors.append(
            f"{named.plain('person')} must name several persons in some context, who share its "
            f"state; each of {counted(contexts.ngroups, 'context')} has one. {remedy}"
        )
    if "rep" in names:
        key = [name for name in KEY if name in table.columns]
        twice = table.duplicated(key, keep=False).to_numpy()
        if twice.any():
            errors.append(
                f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
                f"share theirs with another ({rows_of(twice)}). Number repetitions in "
                f"{named.plain('rep')}, and drop copies."
            )
    return errors


def _cases(runs: Runs, named: Naming) -> str:
    """Say what else may be the cases where truths vary within those that were named."""
    cases = case_column(runs.table, runs.unused_columns, named.columns)
    if cases is not None:
        return f"{capitalised(cases.sentence)}: {cases.options(runs.table, named.columns)}."
    question = named.columns.get("context", "context")
    if "person" in runs.names:
        who = named.columns.get("person", "person")
        return (
            "Where ids are numbered anew for each person: "
            f"{typed_option('--context', f'{who},{question}')} {typed_option('--group', who)}. "
            "Where persons share cases, name what has one truth: --context NAME."
        )
    return (
        "Where rows are several answers to a question, each right or wrong by itself, the question "
        f"is their group and not their context: {typed_option('--group', question)} in place of "
        f"--context ({typed_option('--map', f'group={question}')} of import). Where it is who "
        f"judged, name the cases too: --context NAME {typed_option('--person', question)}."
    )


_OPTIONS = {column: f"--{option}" for option, column in OPTIONS.items()}
"""Column -> option of `coherence analyze` that names it."""


def _typo_errors(runs: Runs, missing: Collection[str]) -> list[str]:
    """Say which columns are passed over although they seem to be meant as known ones."""
    names = {*runs.names, *missing}
    near: dict[str, list[str]] = {}
    for name in runs.unused_columns:
        if (meant := column_meant(name, names)) is not None:
            near.setdefault(meant, []).append(name)
    errors = []
    for meant, similar in near.items():
        naming = "Rename the column"
        if meant in _OPTIONS:
            naming = f"Name it ({_OPTIONS[meant]} {similar[0]})"
        errors.append(
            f"nothing reads {listing(map(repr, similar))}, and the name is close to {meant!r}, "
            f"which is missing. {naming} if that is meant; else drop it, in pandas: table = "
            f"table.drop(columns={similar!r})."
        )
    return errors


_NO_ACTION = ("missing", "unparsed")
# What makes labels alike, as pandas writes it.
_ONE_WAY = ".str.normalize('NFC').str.casefold().str.split().str.join(' ')"


def label_errors(table: Runs, named: Naming) -> list[str]:
    """Say which labels differ only in how they are written, one sentence for each column."""
    runs = table.table
    if "theta" in runs.columns and (answers := answer_columns(runs)):
        # The truths of questions that nobody answered by a probability may be numbers and dates.
        runs = runs.assign(theta=runs["theta"].where(runs[answers].notna().any(axis="columns")))
    errors = []
    for name in (each.name for each in COLUMNS if each.kind == "label" and not each.choices):
        if name in ("action", "theta") and (spelled := _spelling_error(runs, name, named)):
            errors.append(spelled)
        elif name in runs.columns and (alike := labels_alike(runs, name)):
            more = f" and {len(alike) - 5} more" if len(alike) > 5 else ""
            errors.append(
                f"column {named(name)} has labels that differ only by blanks, case or Unicode "
                f"form: {'; '.join(map(_alike_shown, alike[:5]))}{more}. "
                f"{_alike_remedy(named.columns.get(name, name), alike[0])}"
            )
    return errors


def _spelling_error(runs: pd.DataFrame, name: str, named: Naming) -> str:
    """Refuse no and yes that a task writes in several ways: they would be states of their own."""
    if name not in runs.columns or pd.api.types.is_numeric_dtype(runs[name]):
        return ""
    labelled = runs[name].dropna()
    tasks = runs["task"] if "task" in runs.columns else pd.Series("", runs.index)
    for _, labels in labelled.groupby(tasks[labelled.index], dropna=False, observed=True):
        if spelled := several_spellings(labels.unique()):
            counts = labels.astype(str).value_counts()
            shown = listing((f"{label!r} ({n})" for label, n in counts.items()), 8)
            cells = f"table[{named.columns.get(name, name)!r}]"
            return (
                f"column {named(name)} writes no and yes in several ways: {shown}. Write each in "
                f"one, in pandas: states = {spelled}; {cells} = "
                f"{cells}.astype(str).str.strip().str.lower().map(states)."
            )
    return ""


def one_action_errors(runs: Runs, named: Naming) -> list[str]:
    """Ask what empty actions are where the others have one label: not acting, or no answer."""
    if "action" not in runs.names or "status" in runs.names or runs.ours or runs.policies:
        return []
    rows = runs.table[runs.believed & ~runs.given_z & ~runs.known("level")]
    keys = [runs.prompt[rows.index], *(rows[name] for name in EVALUATION if name in runs.names)]
    # Of each evaluation and prompt: those without any action were asked for beliefs alone.
    alone = rows["action"].groupby(keys, dropna=False, observed=True).transform("nunique") == 1
    empty = (rows["action"].isna() & alone).reindex(runs.table.index, fill_value=False)
    if not empty.any():
        return []
    label = str(rows["action"][alone].dropna().iloc[0])
    cells = f"table[{named.columns.get('action', 'action')!r}]"
    return [
        f"column {named('action')} holds {label!r} or nothing, and is empty in {rows_of(empty)}: "
        "nothing says whether these did not act, or gave no answer. If they did not act, in "
        f"pandas: {cells} = {cells}.astype(object).fillna({f'not {label}'!r}); if they gave no "
        f"answer: table['status'] = {cells}.notna().map({{True: 'ok', False: 'unparsed'}})."
    ]


def without_missing_actions(runs: pd.DataFrame, named: Naming) -> tuple[pd.DataFrame, list[Note]]:
    """Empty actions that say that there is none, unless the truth has such a label; count them."""
    if "action" not in runs.columns or pd.api.types.is_numeric_dtype(runs["action"]):
        return runs, []
    forms = {label: folded(label) for label in runs["action"].dropna().unique()}
    truths = {*map(folded, runs["theta"].dropna().unique())} if "theta" in runs else set[str]()
    none = [label for label, form in forms.items() if form in {*_NO_ACTION} - truths]
    empty = runs["action"].isin(none)
    if not (n_empty := int(empty.sum())):
        return runs, []
    held = f"{counted(n_empty, 'cell')} with {listing(map(repr, none))}"
    text = f"{named.plain('action')}: {held} {numbered(n_empty, 'is', 'are')} missing."
    return runs.assign(action=runs["action"].mask(empty)), [Note(Code.MISSING, text)]


def labels_alike(runs: pd.DataFrame, name: str) -> "list[pd.Series[int]]":
    """Return labels, with their rows, that differ only in how they are written, in each task."""
    if pd.api.types.is_numeric_dtype(runs[name]):  # which are written in one way
        return []
    cells = runs[name].dropna().astype(str)
    forms = {label: folded(label) for label in cells.unique()}
    if len({*forms.values()}) == len(forms):
        return []
    rows = pd.DataFrame({"form": cells.map(forms), "label": cells})
    by = ["form"]
    if "task" in runs.columns and name not in EVALUATION:
        rows, by = rows.assign(task=runs["task"]), ["task", "form"]
    groups = rows.groupby(by, dropna=False)["label"]
    return [
        group.value_counts().sort_index().sort_values(ascending=False, kind="stable")
        for _, group in groups
        if group.nunique() > 1
    ]


def _alike_shown(alike: "pd.Series[int]") -> str:
    """Return labels side by side, such that they can be told apart."""
    texts = list(map(repr, alike.index))
    if len(set(map(tidy, texts))) < len(texts):  # accents that are one character or two look alike
        texts = list(map(ascii, alike.index))
    pairs = zip(texts, alike, strict=True)
    return ", ".join(f"{text} ({counted(n, 'row')})" for text, n in pairs)


def _alike_remedy(column: str, alike: "pd.Series[int]") -> str:
    """Return the lines of pandas that write labels in one way, or tell them apart."""
    cells = [f"table[{name.strip()!r}]" for name in column.split(",")]  # of several of a context
    lines = "; ".join(f"{each} = {each}{_ONE_WAY}" for each in cells)
    one = f"If they are one, write them in one way, in pandas: {lines}"
    if len(cells) > 1:
        return f"{one}."
    rarest = str(alike.index[-1])
    apart = f"{cells[0]}.replace({{{rarest!r}: {f'{tidy(rarest)} (2)'!r}}})"
    return f"{one}; if they are meant to differ, name one otherwise: {cells[0]} = {apart}."


# What checks read; a missing note on an answer changes no number.
_READ = tuple(column.name for column in COLUMNS if column.kind in ("label", "probability"))
# Names of up to three letters are a typo away from too many words.
_SHORTEST = 4
# Words of their own, which tables of answers have.
_OTHER_WORDS = frozenset({"ask", "content", "contest", "mask", "modal", "mode", "state"})

_MISSING = ("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "<NA>", "#N/A")


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


_RULES = (
    _value_errors,
    _state_errors,
    _policy_errors,
    _level_errors,
    _stake_errors,
    _status_errors,
    _key_errors,
    label_errors,
)


def table_errors(runs: Runs, absent: Collection[str] = (), *, part: bool = False) -> list[str]:
    """List what is wrong with a table of labels and numbers, beyond single columns of numbers.

    A `part` of a table need not allow a check by itself. Columns that are `absent` were looked for
    by names of the user's own, or cannot be read, which is said elsewhere.
    """
    named = runs.named
    unread = [name for name in absent if name == "p" or is_state(name)]
    errors = [] if unread else _missing_columns(runs, named)
    if not part and not absent:
        errors += _nothing_to_check(runs, named)
    for rule in _RULES:
        if not (part and rule is label_errors):
            errors += rule(runs, named)
    return errors + _typo_errors(runs, absent)
