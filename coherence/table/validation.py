"""Validation of a runs table: every error at once, with row numbers and remedies."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.printable import capitalised, counted
from coherence.table.cells import with_labels
from coherence.table.design import case_column
from coherence.table.exact import holds_exact, set_aside
from coherence.table.frames import require_frame, with_index_columns
from coherence.table.labels import label_errors
from coherence.table.needs import EVIDENCE
from coherence.table.probabilities import Tally, stated_columns
from coherence.table.reserved import without_strangers
from coherence.table.runs import EVALUATION, Runs
from coherence.table.schema import (
    ACTION_PREFIX,
    ACTION_SUM_TOLERANCE,
    AS_IN_RUNS,
    BELIEF_CONTEXTS,
    BELIEF_KINDS,
    COLUMN_NAMES,
    COLUMNS,
    EVENT,
    FAILURES,
    FEATURE_PREFIX,
    FRAMES,
    KEY,
    OPTIONS,
    PARSED,
    PROBABILITIES,
    PROBABILITY_TOLERANCE,
    REPAIRS,
    STATE_PREFIX,
    STATE_SUM_TOLERANCE,
    STATUSES,
    TRUTH_KINDS,
    Naming,
)
from coherence.table.states import typed_option
from coherence.table.typos import column_meant, one_typo_apart

_TEXT_COLUMNS = tuple(column.name for column in COLUMNS if column.kind == "text")
_USUAL_STEPS = (2, 3, 4, 5, 6, 7, 9, 10)  # of answers that are no probabilities
_USUAL_MARKS = (-9, -77, -88, -99, -777, -888, -999, -9999, 777, 888, 999, 9999)
_SORTED = (*EVALUATION, "context", "prompt", "z", "z_state")


def shape_errors(table: pd.DataFrame, named: Naming = AS_IN_RUNS) -> list[str]:
    """List what keeps a frame from being a table of plain cells under plain names."""
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
    errors = []
    for name in table.columns:
        prefixed = str(name).startswith((FEATURE_PREFIX, ACTION_PREFIX, STATE_PREFIX))
        # A raw answer may hold anything that a model said.
        if prefixed or (name in COLUMN_NAMES and name not in _TEXT_COLUMNS):
            errors += _cell_errors(table[name], named)
    return errors


def _cell_errors(column: "pd.Series[Any]", named: Naming) -> list[str]:
    """Return an error where cells hold lists and the like, or labels without an order."""
    title, dtype = named(str(column.name)), column.dtype
    nested = isinstance(dtype, pd.ArrowDtype) and pa.types.is_nested(dtype.pyarrow_dtype)
    if not pd.api.types.is_object_dtype(dtype) and dtype.kind != "c" and not nested:
        return []
    column = column.astype(object)
    single = column.map(
        lambda cell: pd.api.types.is_scalar(cell) and not isinstance(cell, bytes | complex)
    ).to_numpy(dtype=bool)
    if not single.all():
        first = type(column[~single].iloc[0]).__name__
        return [
            f"column {title} must hold single values; {int((~single).sum())} of {len(column)} "
            f"cells do not, the first is a {first}. Give each part a column or a row of its own."
        ]
    # Texts are sorted apart from all others, and what is of one kind need not be.
    others = {type(cell): cell for cell in column.dropna() if not isinstance(cell, str)}
    try:
        sorted(others.values() if column.name in _SORTED else [])
    except TypeError:
        kinds = " and ".join(sorted(kind.__name__ for kind in others))
        return [
            f"column {title} must hold labels of one kind; it holds {kinds}, which have no order "
            "among them. Write them all as text: column.astype(str)."
        ]
    return []


def _rows(wrong: np.ndarray) -> str:
    """Name the first rows where something is wrong."""
    positions = np.flatnonzero(wrong)
    return f"row{'s' if positions.size > 1 else ''} {listing(positions)}"


def _broken(title: str, rule: str, wrong: Any, first: object, remedy: str) -> list[str]:
    """Say that some values of a column break a rule; nothing where all keep it."""
    wrong = np.asarray(wrong, dtype=bool)
    if not wrong.any():
        return []
    return [
        f"column {title} must {rule}; {int(wrong.sum())} of {wrong.size} values do not, the first "
        f"is {first} ({_rows(wrong)}). {remedy}"
    ]


def _first(column: "pd.Series[Any]", wrong: Any) -> object:
    cells = column[np.asarray(wrong, dtype=bool)]
    return None if cells.empty else cells.iloc[0]


def _numbers(runs: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    columns = runs[list(names)].apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=float, na_value=np.nan))


def _missing_columns(runs: Runs, named: Naming) -> list[str]:
    names, states = runs.names, runs.states
    errors = []
    if len(states) == 1:
        errors.append(
            f"{states[0]!r} is the only column of beliefs, and beliefs per state need one column "
            f"p_<state> for each state. Rename it to 'p' (--belief {states[0]}) if it is the "
            "probability that theta = 1; otherwise add the columns of the other states."
        )
    elif "p" not in names and not states:
        errors.append(
            f"column 'p' (the stated belief) is missing. {_nearest(['belief'], names)} Say "
            "which it is: --belief NAME; in Python read_runs(..., columns={'p': NAME}), or rename "
            "the column of a DataFrame."
        )
    if "z" in names and not {"z_state", "p_z"} <= set(names):
        errors.append(f"column {named('z')} needs the columns 'z_state' and 'p_z' as well.")
    return errors


def _nearest(wanted: Sequence[str], names: Sequence[str]) -> str:
    """Name the columns that are called nearly like what is missing, else those that are there."""
    near = {
        meant: name
        for meant in wanted
        for name in names
        if one_typo_apart(name.casefold().removesuffix("s"), meant)
    }
    found = [
        f"There is a column {name!r}."
        if name == meant
        else f"For {meant!r} the closest name found is {name!r}."
        for meant, name in near.items()
    ]
    return " ".join(found) or closest("", [name.removeprefix("unmapped_") for name in names])


def _nothing_to_check(runs: Runs, named: Naming) -> list[str]:
    names, several = runs.names, len(runs.states) > 1
    # Columns count even if nothing in them was parsed: a report that shows the unparsed answers is
    # worth having. A missing belief is another rule's concern.
    unmet = runs.unmet(names if several else [*names, "p"])
    if not all(unmet.intersection(needs) for needs in EVIDENCE):
        return []
    action, theta = "'action' (what was chosen)", "'theta' (the realised state)"
    if len(runs.states) > 2:
        wanted = f"{action} together with {theta}"
    else:
        wanted = f"{action}, {theta} or the exact posterior"
    if not several:
        wanted += "; or a second prompt variant in 'prompt'; or 'z', 'z_state' and 'p_z'"
    # A column that is known for something else is not meant.
    unknown = [name for name in names if name not in COLUMN_NAMES] or names
    lacking = [name for name in ("action", "theta", "p_true") if name not in names]
    return [
        f"there is nothing to check beliefs against: give {wanted}. {_nearest(lacking, unknown)} "
        "Say which is which: --action NAME, --truth NAME, --exact NAME; in Python read_runs(..., "
        "columns={'action': NAME, 'theta': NAME, 'p_true': NAME}), or rename the columns of a "
        "DataFrame."
    ]


def _marked(cells: pd.Series) -> str:
    """Propose what reads cells as missing where they hold one text, as marks do."""
    held = set(cells)
    if len(held) != 1 or not isinstance(mark := held.pop(), str) or "," in mark:
        return ""
    typed = typed_option("--missing", mark)
    return f" If {mark!r} stands for it: {typed} (missing=[{mark!r}])." if typed else ""


_PERCENT = "Divide percentages by 100. --percent (percent=True) reads them as they are."


def _remedy_outside(numbers: np.ndarray, *, stated: bool) -> str:
    """Say what to do about numbers that should be probabilities, of which some lie outside.

    Beliefs that were `stated` may be on a scale.
    """
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return "Correct them, or leave the cells empty."
    marks = [mark for mark in _USUAL_MARKS if mark in numbers]
    rest = numbers[~np.isin(numbers, marks)]
    if marks and rest.size and stated:
        listed = ",".join(f"{mark:g}" for mark in marks)
        missing = typed_option("--missing", listed)
        inside = rest.max() <= 1 and rest.min() >= 0
        more = "" if inside else _remedy_outside(rest, stated=stated)
        return f"If {listed} stands for no answer: {missing}. {more}".rstrip()
    largest, smallest = numbers.max(), numbers.min()
    if max(largest - 1, -smallest) <= 0.01:
        return f"Up to {PROBABILITY_TOLERANCE:g} outside is a rounding error and would do."
    if stated and (ends := _scale_of(numbers)):
        typed = typed_option("--scale", ends)
        return f"Answers on a scale: {typed} (scale={ends!r}), with the ends that yours has."
    if not 1 < largest <= 100:
        return "Correct them, or leave the cells empty."
    if Tally.of(numbers).mostly_below_1:
        return "Most values are probabilities; correct the others, a percentage by dividing it."
    return _PERCENT


def _scale_of(numbers: np.ndarray) -> str:
    """Return the ends of the scale that answers seem to be on; empty where they seem to be on none.

    Whole numbers from 1, 0 or the negative of the largest are steps; the highest may not have been
    chosen, so that the next usual number of steps is proposed.
    """
    largest, smallest = float(numbers.max()), float(numbers.min())
    whole = not (numbers % 1).any()
    top = next((steps for steps in _USUAL_STEPS if largest <= steps), 0)
    if smallest < 0:
        reach = max(largest, -smallest)
        ends = [1, *range(2, 11), 100] if whole else [1, 10, 100]
        end = next((end for end in ends if reach <= end), 0)
        return f"-{end}..{end}" if end and largest > 0 else ""
    if whole and top:
        return f"{1 if smallest >= 1 else 0}..{top}"
    if 1 < largest <= 10 and not Tally.of(numbers).mostly_below_1:
        return "0..10"
    return ""


def _probability_errors(runs: Runs, named: Naming) -> list[str]:
    errors = []
    for name in [*PROBABILITIES, *runs.states, *runs.policies]:
        if name not in runs.table.columns:
            continue
        column = runs.table[name]
        if name in runs.policies:
            column = column.where(runs.of_policies)
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.astype(column.dtype.subtype)
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        # True and False would pass as 1 and 0, and are no stated probabilities.
        boolean = np.full(len(column), pd.api.types.is_bool_dtype(column))
        if column.dtype == object:
            cells = column.map(lambda value: isinstance(value, bool | np.bool_))
            boolean = cells.to_numpy(dtype=bool)
        text = (np.isnan(numbers) & column.notna().to_numpy()) | boolean
        errors += _broken(
            named(name),
            "hold numbers",
            text,
            repr(_first(column, text)),
            "Leave the cell empty where there is no number: it counts as an unparsed answer."
            f"{_marked(column[text & ~boolean])}",
        )
        outside = (numbers < -PROBABILITY_TOLERANCE) | (numbers > 1 + PROBABILITY_TOLERANCE)
        if outside.any():
            first = f"{numbers[outside][0]:.10g}"
            remedy = _remedy_outside(numbers, stated=name in stated_columns(runs))
            errors += _broken(named(name), "hold probabilities in [0, 1]", outside, first, remedy)
    if len(runs.states) > 1 and not errors:
        total = _numbers(runs.table, runs.states).sum(axis=1)
        off = np.abs(total - 1) > STATE_SUM_TOLERANCE
        errors += _sum_errors(runs.states, total, off, STATE_SUM_TOLERANCE)
    return errors


def _sum_errors(
    names: Sequence[str], total: np.ndarray, off: np.ndarray, within: float
) -> list[str]:
    if not off.any():
        return []
    return [
        f"the columns {', '.join(names)} must sum to 1 (within {within}); {int(off.sum())} of "
        f"{off.size} rows do not, the first sums to {total[off][0]:g} ({_rows(off)})."
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
        fractions = runs.table["action"].isin(labels[(numbers > 0) & (numbers < 1)])
        errors += _broken(
            named("action"),
            "name what was chosen, and not its probability",
            fractions,
            f"{_first(runs.table['action'], fractions)}",
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
    # Tasks may have actions of their own, whose columns are empty for all others.
    evaluation = [name for name in EVALUATION if name in runs.names]
    # Unsorted: labels of several kinds have no order.
    evaluations = (
        runs.table.groupby(evaluation, dropna=False, observed=True, sort=False)
        if evaluation
        else None
    )
    keys = np.zeros(len(runs)) if evaluations is None else evaluations.ngroup()
    by = [np.asarray(keys), runs.known("level").to_numpy()]  # whose actions are others
    used = pd.DataFrame(there).groupby(by).transform("any").to_numpy()
    partly = there.any(axis=1) & (there != used).any(axis=1)
    if partly.any():
        errors.append(
            f"probabilities of some actions are empty where others are filled in {_rows(partly)}. "
            "Give every action of the task its probability, 0 included, or none."
        )
    return errors


def _value_errors(runs: Runs, named: Naming) -> list[str]:
    """Check what is said of the distribution of answers and of the way in which they were got."""
    table, errors = runs.table, []
    if "p_sd" in table.columns:
        spread = _numbers(table, ["p_sd"])[:, 0]
        # Half of the answers at 0 and half at 1 is as wide as answers can lie.
        wide = (spread > 0.5) & (spread <= 1)
        rule = "be at most 0.5, the largest standard deviation of probabilities"
        errors += _broken(named("p_sd"), rule, wide, _first(table["p_sd"], wide), "Correct them.")
    if {"p_q05", "p_q95"} <= set(table.columns):
        low, high = _numbers(table, ["p_q05", "p_q95"]).T
        rule = f"not lie above {named('p_q95')}"
        first = _first(table["p_q05"], low > high)
        errors += _broken(named("p_q05"), rule, low > high, first, "Are the two exchanged?")
    for name, known in (("belief_kind", BELIEF_KINDS), ("belief_context", BELIEF_CONTEXTS)):
        if name in table.columns:
            kind = table[name].astype("object")
            unknown = kind.notna() & ~kind.isin(known)
            first = repr(_first(kind, unknown))
            rule = f"be one of {', '.join(known)}"
            errors += _broken(named(name), rule, unknown, first, "Or leave the cell empty.")
    if "truth_kind" in table.columns:
        kind = table["truth_kind"].astype("object")
        unknown = kind.notna() & ~kind.isin(TRUTH_KINDS)
        errors += _broken(
            named("truth_kind"),
            f"be {' or '.join(TRUTH_KINDS)}",
            unknown,
            repr(_first(kind, unknown)),
            "If it is something else, drop it, in pandas: "
            f"{dropped(named.columns.get('truth_kind', 'truth_kind'))}.",
        )
    if "tokens" in table.columns:
        number = _numbers(table, ["tokens"])[:, 0]
        wrong = (number < 0) | (number % 1 > 0) | (np.isnan(number) & table["tokens"].notna())
        first = _first(table["tokens"], wrong)
        rule = "hold whole numbers of at least 0"
        errors += _broken(named("tokens"), rule, wrong, first, "Or leave the cell empty.")
    return errors


def _level_errors(runs: Runs, named: Naming) -> list[str]:
    """Check the rows of questions with a level: matching probabilities and stated stakes."""
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
    first = _first(table["level"], wrong)
    certain = np.isin(level[wrong], (0.0, 1.0)).all()
    errors = _broken(
        named("level"),
        "hold chances between 0 and 1, neither of them included",
        wrong,
        f"{first:g}" if isinstance(first, int | float) else repr(first),
        "Leave out these questions, which no belief decides."
        if certain
        else f"{_PERCENT} Leave it empty in ordinary rows.",
    )
    frame = _texts(table, "frame", EVENT)
    unknown = leveled & ~frame.isin(FRAMES).to_numpy()
    rule = f"be one of {', '.join(FRAMES)} where there is a level"
    first = repr(_first(frame, unknown))
    errors += _broken(named("frame"), rule, unknown, first, "Or leave the cell empty: event.")
    order = _texts(table, "order", "")
    options = frame.map(FRAMES)
    odd = [
        bool(name) and isinstance(known, tuple) and name not in known
        for name, known in zip(order, options, strict=True)
    ]
    odd = leveled & np.array(odd)
    errors += _broken(
        named("order"),
        "name the option that comes first: event or lottery, of stakes act or pass",
        odd,
        repr(_first(order, odd)),
        "Rename it, or leave the cell empty.",
    )
    stated = leveled & runs.table[runs.beliefs].notna().any(axis=1).to_numpy()
    errors += _broken(
        named("level"),
        "be empty in rows with a belief",
        stated,
        f"{_first(table['level'], stated)!r}",
        "Give the stated belief of a case a row of its own, and choices at a level theirs.",
    )
    return errors


def _texts(table: pd.DataFrame, name: str, empty: str) -> "pd.Series[Any]":
    """Return a column as text, which may be absent or hold anything."""
    if name not in table.columns:
        return pd.Series(empty, index=table.index, dtype=object)
    cells = table[name].astype(object)
    return cells.map(str).where(cells.notna(), empty)


def _status_errors(runs: Runs, named: Naming) -> list[str]:
    if "status" not in runs.names:
        return []
    status = runs.table["status"].astype("object")
    unknown = ~status.isin(STATUSES).to_numpy()
    errors = _broken(
        named("status"),
        f"be one of ok, {', '.join(FAILURES)}, or a repair ({', '.join(REPAIRS)})",
        unknown,
        repr(_first(status, unknown)),
        "Use the nearest of these.",
    )
    parsed = status.isin(PARSED).to_numpy()
    if runs.beliefs:
        belief = runs.beliefs[0]
        known = runs.table[belief].notna().to_numpy()
        leveled = runs.known("level").to_numpy()
        for name, empty in (
            (belief, ~known & parsed & ~leveled),
            ("action", ~runs.acted.to_numpy() & parsed & leveled),
        ):
            if empty.any():
                errors.append(
                    f"{named.plain('status')} is {_first(status, empty)!r} but {named(name)} is "
                    f"empty in {_rows(empty)}. Give the status that says why, or the "
                    f"{'belief' if name == belief else name}."
                )
        filled = ~parsed & ~unknown & known & runs.acted.to_numpy()
        if filled.any():
            action = "the probabilities of actions" if runs.policies else named("action")
            errors.append(
                f"{named.plain('status')} is {_first(status, filled)!r} but both {named(belief)} "
                f"and {action} are filled in {_rows(filled)}. Leave the unparsed one empty."
            )
    return errors


def _key_errors(runs: Runs, named: Naming) -> list[str]:
    table, names = runs.table, runs.names
    if "context" not in names:
        cases = case_column(table, runs.unused_columns, named.columns)
        remedy = f"{capitalised(cases.sentence)}: " if cases else "Name it: "
        typed = cases.options(table, named.columns) if cases else "--context NAME"
        return [
            f"{named.plain('person')} needs the column 'context': what several persons judged, and "
            f"has one state. {remedy}{typed}."
            for name in names
            if name == "person"
        ]
    errors: list[str] = []
    for name in ("context", "group", "person"):
        if name in names and (empty := table[name].isna().to_numpy()).any():
            errors.append(
                f"column {named(name)} is empty in {_rows(empty)}. Give every row its {name}, "
                "or leave the column out."
            )
    keys = [*(name for name in EVALUATION if name in names), "context"]
    contexts = table.groupby(keys, dropna=False, observed=True, sort=False)
    question = named.columns.get("context", "context")
    cases = case_column(table, runs.unused_columns, named.columns)
    several = (
        "Where rows are several answers to a question, each right or wrong by itself, the question "
        f"is their group and not their context: {typed_option('--group', question)} in place of "
        f"--context ({typed_option('--map', f'group={question}')} of import). Where it is who "
        f"judged, name the cases too: --context NAME {typed_option('--person', question)}."
    )
    if "person" in names:
        who = named.columns.get("person", "person")
        several = (
            "Where ids are numbered anew for each person: "
            f"{typed_option('--context', f'{who},{question}')} {typed_option('--group', who)}. "
            "Where persons share cases, name what has one truth: --context NAME."
        )
    if cases is not None:
        several = f"{capitalised(cases.sentence)}: {cases.options(table, named.columns)}."
    for name, remedy in (
        ("theta", f"Give every realised state its own context id. {several}"),
        (
            "group",
            "Contexts belong to one group each. Who judged a case that others judged too is its "
            f"person: {typed_option('--person', named.columns.get('group', 'group'))} in place of "
            "--group.",
        ),
    ):
        if name in names and (varies := (contexts[name].transform("nunique") > 1).to_numpy()).any():
            ids = table.loc[varies, "context"].astype(str).unique()
            errors.append(
                f"{named.plain(name)} must be the same in all rows of a context; it varies within "
                f"{counted(len(ids), 'context')}, the first is {ids[0]!r} ({_rows(varies)}). "
                f"{remedy}"
            )
    if "person" in names and not (contexts["person"].transform("nunique") > 1).any():
        who = named.columns.get("person", "person")
        errors.append(
            f"{named.plain('person')} must name several persons in some context, who share its "
            f"state; each of {counted(contexts.ngroups, 'context')} has one. "
            + (
                f"{capitalised(cases.sentence)}: {cases.options(table, named.columns)}."
                if cases is not None
                else "If rows of a person depend on each other, it is their group: "
                f"{typed_option('--group', who)} in place of --person. If persons share cases, "
                "name these: --context NAME."
            )
        )
    if "rep" in names:
        key = [name for name in KEY if name in table.columns]
        twice = table.duplicated(key, keep=False).to_numpy()
        if twice.any():
            errors.append(
                f"({', '.join(map(named.plain, key))}) must be unique; {int(twice.sum())} rows "
                f"share theirs with another ({_rows(twice)}). Number repetitions in "
                f"{named.plain('rep')}, and drop copies."
            )
    return errors


_OPTIONS = {column: f"--{option}" for option, column in OPTIONS.items()}
"""Column -> option of `coherence analyze` that names it."""


def _named_by(meant: str, name: str) -> str:
    """Say how a column is named, or that it must be renamed."""
    return f"Name it ({_OPTIONS[meant]} {name})" if meant in _OPTIONS else "Rename the column"


def dropped(*names: str) -> str:
    """Return the line of pandas that leaves columns out of a table."""
    return f"table = table.drop(columns={list(names)!r})"


def _typo_errors(runs: Runs, missing: Collection[str]) -> list[str]:
    """Say which columns are passed over although they seem to be meant as known ones."""
    names = {*runs.names, *missing}
    near: dict[str, list[str]] = {}
    for name in runs.unused_columns:
        if (meant := column_meant(name, names)) is not None:
            near.setdefault(meant, []).append(name)
    return [
        f"nothing reads {listing(map(repr, similar))}, and the name is close to {meant!r}, which "
        f"is missing. {_named_by(meant, similar[0])} if that is meant; else drop it, in pandas: "
        f"{dropped(*similar)}."
        for meant, similar in near.items()
    ]


_RULES = (
    _probability_errors,
    _policy_errors,
    _value_errors,
    _level_errors,
    _status_errors,
    _key_errors,
)


def examined(
    table: pd.DataFrame,
    *,
    part: bool = False,
    named: Naming = AS_IN_RUNS,
    missing: Collection[str] = (),
    ours: bool | None = None,
) -> tuple[Runs, list[str]]:
    """Tell the columns of a table apart, and list everything that is wrong with it.

    Whether the table is `ours` is told by its columns where it is not said. A `part` of a table
    need not allow a check by itself; columns that are `missing` were looked for by names of the
    user's own, and are not told of again.
    """
    runs = Runs(table)
    if len(table) == 0:
        return runs, ["it has no rows."]
    if strange := shape_errors(table, named):  # every later rule would trip over them
        return runs, strange
    table, unnamed = set_aside(with_index_columns(table).reset_index(drop=True))
    table, notes = with_labels(table)
    ours = holds_exact(table.columns) if ours is None else ours
    table, strangers = (table, []) if ours else without_strangers(table, named.columns)
    notes = [*unnamed, *notes, *strangers]
    runs = Runs(table, tuple(dict.fromkeys((*runs.notes, *notes))), named)
    errors = [] if "p" in missing else _missing_columns(runs, named)
    if not part and not missing:
        errors += _nothing_to_check(runs, named)
    errors += [error for rule in _RULES for error in rule(runs, named)]
    errors += _typo_errors(runs, missing)
    if not part:
        errors += label_errors(table, named)
    return runs, errors


def validate_runs(runs: pd.DataFrame, *, source: str = "runs table") -> Runs:
    """Return a table with its columns told apart, or raise `SchemaError` with every error at once.

    >>> import pandas as pd
    >>> validate_runs(pd.DataFrame({"p": [0.2, 85], "action": ["no", "yes"], "theta": [0, 1]}))
    Traceback (most recent call last):
    coherence.errors.SchemaError: runs table has 1 error: column 'p' must hold probabilities in \
[0, 1]; 1 of 2 values do not, the first is 85 (row 1). Divide percentages by 100. \
--percent (percent=True) reads them as they are.
    """
    valid, errors = examined(require_frame(runs))
    if errors:
        raise SchemaError(errors, source)
    return valid


def with_columns(runs: pd.DataFrame, needed: Collection[str] = ()) -> pd.DataFrame:
    """Return a table whose columns, those of its index too, are plain and some of them there."""
    runs = require_frame(runs)
    if strange := shape_errors(runs):
        raise InputError(f"runs: {strange[0]}")
    runs = with_index_columns(runs)
    for name in needed:
        if name not in runs.columns:
            raise InputError(f"runs must have a column {name!r}. {closest(name, runs.columns)}")
    return runs
