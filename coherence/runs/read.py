"""From a table as its file has it to a runs table: columns found, cells read, all checked at once.

Labels A,B are joined to one id. Beliefs in several states are named after the labels of the truth,
found in what tells the names of the columns apart; a truth in columns of its own is 1 in the one
whose state came true. Of predictions, right answers and confidences the state is whether each is
right. What was assumed on the way is a note of the table.
"""

import logging
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence.decoding.ranges import STATED_SUM
from coherence.errors import InputError, SchemaError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import (
    Cells,
    labels,
    numbers_or_labels,
    with_labels,
    without_marks,
    without_na,
)
from coherence.runs.check import (
    cell_errors,
    damaged_ids,
    shape_errors,
    table_errors,
    without_missing_actions,
)
from coherence.runs.columns import (
    ANY,
    AS_IN_RUNS,
    AS_IT_IS,
    COLUMN_NAMES,
    COMPARED,
    EXACT,
    KIND,
    LABELS,
    RECORDED,
    STATE_PREFIX,
    Naming,
    Reading,
    declared,
    holds_exact,
    is_belief,
)
from coherence.runs.formats import FileTable, read_table, require_frame, with_index_columns
from coherence.runs.notes import Code, Level
from coherence.runs.roles import Findings, aside, read_numbers, without_strangers
from coherence.runs.row_condition import RowCondition, label_condition
from coherence.runs.runs import NAMED, Runs
from coherence.runs.states import (
    KNOWN_PAIRS,
    YES,
    compared_labels,
    folded,
    in_order,
    known_pair,
    label_text,
    meant_by,
    typed_option,
)

logger = logging.getLogger(__name__)
_TRUTH = {label: at for pair in KNOWN_PAIRS for at, label in enumerate(pair)}
_FEWEST_IDS, _MOST_IDS = 6, 100  # for a note on ids in several sessions, and that are looked at
_BETWEEN = re.compile("[^0-9A-Za-z]")  # words of a name
_MOST_OPTIONS = 20  # that a question has


def named_parts(table: pd.DataFrame, reading: Reading) -> dict[str, list[str]]:
    """Return the columns that the user named, several together; names have no blanks around."""
    pair = {name: as_ for name in COMPARED if (as_ := getattr(reading, name)) is not None}
    parts = {}
    for name, as_ in {**reading.columns, **pair}.items():
        whole = as_ if as_ in table else as_.strip()
        several = whole not in table and "," in as_
        parts[name] = [part.strip() for part in as_.split(",")] if several else [whole]
    return parts


def with_roles(
    table: pd.DataFrame, parts: Mapping[str, list[str]], found: Findings
) -> pd.DataFrame:
    """Give columns their names in the runs table; `parts` are what the user named, there or not."""
    reading, cells = found.reading, table
    pair = [parts[name][0] for name in COMPARED if name in parts]
    there = {name: of for name, of in parts.items() if name not in COMPARED and {*of} <= {*table}}
    lacking = not {*pair} <= {*table}
    found.absent |= (reading.columns.keys() - there) | ({"theta"} if lacking else set())
    joined = {name: ",".join(of) for name, of in there.items()}
    found.named = Naming({**found.named.columns, **joined})
    several = {name: of for name, of in there.items() if len(of) > 1}
    for name, of in several.items():
        if len({*of}) < len(of) or name not in ("p", *LABELS):
            found.of_options.append(
                f"{name!r} is one column, or different ones where it is an id, a belief or a "
                f"truth; received {','.join(of)!r}."
            )
        elif name not in ("p", "theta"):
            texts = table[of].apply(
                lambda cells: labels(cells).astype(object).map(str, "ignore").astype("str")
            )
            ids = texts[of[0]].str.cat(texts[of[1:]], sep=" / ")
            table = table.assign(**{joined[name]: ids})  # none where one of them is empty
            found.note(Code.SHAPE, f"{listing(of)} together are one {name}.")
    columns = {**reading.columns, **joined}
    table, called = _with_states(table, several, columns.get("theta", "theta"), found)
    if pair and not lacking:
        compared, used = [called.get(n, n) for n in pair], {*joined.values(), *called.values()}
        called["theta"] = aside("theta", table)  # the file's own may be meant as something else
        table = with_right_or_wrong(table, compared, used, found)
    columns = {name: called.get(as_, as_) for name, as_ in columns.items()}
    renamed = {as_: name for name, as_ in columns.items() if as_ != name}
    # A column of the file that already bears the name is not what was asked for.
    odd = {*renamed.values()} & {*table.columns} - renamed.keys()
    mine = table.rename(columns={name: aside(name, table) for name in odd} | renamed)
    # Said to be the exact posterior by the user, of states that are the user's as well.
    if EXACT in there and (joined[EXACT] != EXACT or KIND not in table.columns):
        mine = mine.assign(**{KIND: RECORDED})
    mine = mine if reading.acts is None else mine.assign(acts=reading.acts)
    if "gain" not in mine and {"loss", "acts"} <= {*mine}:
        mine = mine.assign(gain=mine["loss"].notna().astype(float).replace(0.0, np.nan))
    of = there.get("context", [])
    if 1 < len({*of}) == len(of):
        found.of_options += _shared_parts(mine, {part: labels(cells[part]) for part in of})
    return mine


def _shared_parts(table: pd.DataFrame, parts: dict[str, Cells]) -> Iterator[str]:
    """Refuse ids of contexts a part of which alone has the state, so that contexts share it."""
    truths = [name for name in ("theta", EXACT) if name in table]
    told = table[["context", *truths]].apply(labels)
    for part, other in zip(parts, reversed(parts), strict=True):
        rows = told.groupby(parts[part].to_numpy(), observed=True).nunique()
        one_state = truths and (rows[truths] <= 1).all(axis=None)
        if one_state and len(rows) >= _FEWEST_IDS and rows["context"].min() > 1:
            yield (
                f"context takes {listing(parts)} together where contexts share nothing; each of "
                f"{len(rows)} values of {part!r} has one truth. Name that as context and who "
                f"judged it as person: {typed_option('--context', part)} "
                f"{typed_option('--person', other)}."
            )
            return


def told_apart(names: Sequence[str]) -> list[list[str]]:
    """Return what is left of names without what they begin and end with alike: words, or less.

    Of prob_false and prob_true false and true are left, and not fals and tru; of prob1 and prob2
    whole words are all of them.
    """
    head = len(commonprefix([*names]))  # noqa: RUF071
    tail = len(commonprefix([name[head:][::-1] for name in names]))  # noqa: RUF071
    first, end = names[0], len(names[0]) - tail
    begun, rest = re.split(_BETWEEN, first[:head])[-1], re.split(_BETWEEN, first[end:])[0]
    cuts = (head - len(begun), tail - len(rest)), (head, tail)
    return [[name[low : len(name) - high] for name in names] for low, high in cuts]


def state_columns(beliefs: Sequence[str], truth: "Cells | None") -> dict[str, str]:
    """Return the column p_<state> of each column of beliefs.

    States are called by what tells the columns apart where labels of the truth are; else as the
    columns are.
    """
    seen = set() if truth is None else {folded(label) for label in labels(truth).dropna().unique()}
    states = [*beliefs]
    for parts in told_apart(beliefs):
        pair = len(parts) == 2 and None not in (known_pair(seen), known_pair(parts))
        named = [*labels(pd.Series(parts, dtype="str")).astype(str)]  # p_1.0 is p_1
        if {f"{STATE_PREFIX}{state}" for state in named} & {*COLUMN_NAMES}:
            continue
        if seen and all(parts) and (pair or seen & {*map(folded, parts)}):
            states = named
            break
    return {
        column: f"{STATE_PREFIX}{state.removeprefix(STATE_PREFIX)}"
        for column, state in zip(beliefs, states, strict=True)
    }


def _named_alike(truths: Sequence[Any], states: Sequence[str]) -> dict[Any, str]:
    """Return the states that truths name: but for blanks and case, or as 0 and 1 of no and yes."""
    pair, ordered = known_pair(truths), in_order(states)
    if len(states) == 2 and pair and ordered and known_pair(states) not in (None, pair):
        return {label: ordered[pair.index(folded(label))] for label in truths}
    meant = {label: meant_by(label_text(label), states) for label in truths}
    return {label: of[0] for label, of in meant.items() if len(of) == 1}


def with_matched_states(runs: Runs, found: Findings) -> Runs:
    """Name truths as the beliefs in several states are; refuse those of which none is meant."""
    states, title = runs.state_names, found.named.plain("theta")
    all_read = len(states) > 1 and not any(map(is_belief, found.absent))
    seen = runs.theta.unique().tolist() if all_read else []
    matched = _named_alike(seen, states)
    strays = [label for label in seen if label not in matched]
    if not strays and len({*matched.values()}) == len(matched):
        said = [f"{label!r} is {to!r}" for label, to in matched.items() if label_text(label) != to]
        if not said:
            return runs
        theta = labels(runs.table["theta"].astype(object).map(matched, na_action="ignore"))
        found.note(Code.STATE, f"{title} is named as the beliefs are: {listing(said, 4)}.")
        return Runs(runs.table.assign(theta=theta), found.notes, runs.named, meant=runs.meant)
    rows = runs.table["theta"].isin(strays)
    cells = f"table[{found.file_name('theta')!r}]"
    likely = _named_alike(seen, [state for state in states if known_pair([state])])
    renamed = {label_text(label): likely.get(label, "STATE") for label in strays or seen}
    remedy = f"Name them alike, in pandas: {cells} = {cells}.astype(str).replace({renamed})"
    sums = runs.table.loc[rows, runs.states].sum(axis=1, skipna=False)
    if matched and bool((sums < 1 - STATED_SUM).any()):  # they leave room for another state
        found.absent |= {f"{STATE_PREFIX}{label_text(label)}" for label in strays}
        remedy = "Beliefs in these rows sum to less than 1: a column of beliefs is missing: add it"
    elif matched and strays:
        condition = label_condition(found.file_name("theta"), [*map(label_text, strays)])
        rest = f"leave out the {counted(int(rows.sum()), 'row')} whose label is no state"
        remedy += f"; or {rest}: {typed_option('--where', condition)}"
    elif len(states) > 2 and known_pair(seen) and not likely:
        found.absent |= {*runs.states}
        remedy = (
            "Beliefs in several states go with the label that came true (--truth NAME), a truth of "
            "yes and no with one (--belief NAME); several forecasters are rows (pandas: table.melt)"
        )
    found.of_table.append(
        f"{title} is {listing(map(repr, seen), 4)}, and columns of beliefs are named after "
        f"{listing(map(repr, states), 6)}. {remedy}."
    )
    return runs


def _with_states(
    table: pd.DataFrame, several: Mapping[str, list[str]], truth: str, found: Findings
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Name beliefs after their states; return the table, and what became of its columns' names.

    A `truth` of several columns goes by name with those of the beliefs where both are told apart
    alike, else by their order.
    """
    beliefs, truths = several.get("p", []), several.get("theta", [])
    if truths and len(truths) != len(beliefs) and "p" not in found.absent:
        found.of_options.append(
            f"truth in {len(truths)} columns, {listing(truths)}, needs as many of beliefs, one for "
            f"each state; received {len(beliefs) or 1}. Name them: --belief A,B,C."
        )
        found.absent |= {"theta"} if beliefs else {"p", "theta"}
        truths = []
    if not beliefs:
        return table, {}
    unlabelled = truths or truth not in table.columns or "theta" in found.absent
    named = state_columns(beliefs, None if unlabelled else table[truth])
    found.named = Naming({**found.named.columns, **{state: of for of, state in named.items()}})
    states = [name.removeprefix(STATE_PREFIX) for name in named.values()]
    others = [name for name in map(str, table.columns) if name not in named and is_belief(name)]
    called, columns = {name: aside(name, table) for name in others} | named, list(named)
    made = dict[str, str]()
    if truths:
        told = zip(told_apart(beliefs), told_apart(truths), strict=True)
        if alike := next(((of, to) for of, to in told if {*of} == {*to}), None):
            truths = [truths[alike[1].index(part)] for part in alike[0]]
        columns = [*truths]
        came = table[columns].apply(
            lambda cells: labels(cells).map(lambda label: _TRUTH.get(folded(label), -1), "ignore")
        )
        unknown = came.isna().all(axis=1).to_numpy()
        numbers = came.to_numpy(dtype=float, na_value=-1)
        odd = ~unknown & ~(np.isin(numbers, (0, 1)).all(axis=1) & (numbers.sum(axis=1) == 1))
        rule = "be 1 in one of them, and 0 in the others, or empty in all"
        remedy = "Leave such rows out (--where); where several come true, analyse each by itself."
        shown = pd.Series([", ".join(map(str, row)) for row in table[columns].to_numpy()])
        title = f"{', '.join(truths)} (mapped to 'theta')"
        found.of_options += found.broken("", rule, odd, shown, remedy, title)
        which = np.array(states, dtype=object)[numbers.argmax(axis=1)]
        theta = pd.Series(which, index=table.index).mask(unknown, None)
        made = {"theta": aside("theta", table), truth: "theta"}
        table = table.drop(columns=columns).rename(columns=made).assign(theta=theta)
    titles = [f"{s} ({c})" if s != c else s for s, c in zip(states, columns, strict=True)]
    found.note(Code.SHAPE, f"the states are {listing(titles, 8)}.")
    return table.rename(columns=called), called | made


def note_repeated_ids(
    table: pd.DataFrame, role: str, unused: Sequence[str], found: Findings
) -> None:
    """Say that an id stands in several sessions, with other labels in each.

    So it is where person 1 is a woman of 30 in one session, and a man of 50 in the next.
    """
    name, n_ids = found.file_name(role), table[role].nunique()
    some = table[table[role].isin(table[role].unique()[:_MOST_IDS])]  # which tell as much as all
    few = [each for each in unused if 1 < some[each].nunique() < len(some) / 2]
    ids = some.groupby(role, observed=True)
    differ = [label for label in few if (ids[label].nunique() > 1).mean() > 1 / 2]
    for session in few if n_ids >= _FEWEST_IDS else ():
        n_both = table.groupby([session, role], observed=True).ngroups
        if not 2 * n_ids <= n_both <= len(table) / 2:
            continue
        both, within = (some.groupby(by, observed=True) for by in ([session, role], session))
        for label in differ:
            is_other = label != session and within[label].nunique().max() > 1
            if is_other and both[label].nunique().max() == 1:
                typed = typed_option(f"--{role}", f"{session},{name}")
                text = (
                    f"{name} has {n_ids} values, and {n_both} together with {session!r}, within "
                    f"which {label!r} is the same. If ids are numbered anew in each: {typed}."
                )
                found.note(Code.SHAPE, text, Level.WARNING)
                return


def doubt_rows_of_options(table: pd.DataFrame, unused: Sequence[str], found: Findings) -> None:
    """Refuse a row for each answer that a question offers: its beliefs are in different states.

    A column that nothing reads names the state then, with as many labels as the truth has, and the
    probabilities of each question sum to 1.
    """
    if not {"p", "theta", "context"} <= {*table.columns}:
        return
    rows = table[table["p"].notna()]
    few = [name for name in unused if 1 < rows[name].head(1000).nunique() <= _MOST_OPTIONS]
    seen = {*map(folded, labels(rows["theta"]).dropna().unique())} if few else set()
    for name in few:
        offered = [*labels(rows[name]).dropna().unique()]
        if not seen or not seen <= {*map(folded, offered)}:
            continue
        of_case = rows["p"].groupby(rows["context"], observed=True)
        whole = ((of_case.sum() - 1).abs() <= STATED_SUM) & (of_case.count() == len(offered))
        if not (whole & (of_case.nunique() > 1)).mean() > 1 / 2:
            continue
        column = name.removeprefix("unmapped_")
        option = next((each for each in offered if folded(each) in YES), offered[0])
        typed = typed_option("--where", label_condition(column, [option], left_out=False))
        if known_pair(offered) is None:
            typed += f" {typed_option('--positive', option)}"
        found.of_options.append(
            f"{column!r} holds the labels of the truth and nothing reads it; within each "
            f"{found.file_name('context')!r} the beliefs sum to 1, one in each state. Keep those "
            f"in one: {typed}; or leave the column out of the file if it is something else."
        )
        return


def with_right_or_wrong(
    table: pd.DataFrame, pair: Sequence[str], used: set[str], found: Findings
) -> pd.DataFrame:
    """Put in theta whether each prediction is right; both columns go, unless otherwise `used`."""
    prediction, gold = pair
    both = [labels(table[name], found.reading.decimal).astype(object) for name in pair]
    known = both[0].notna() & both[1].notna()
    texts = compared_labels(*({*column[known]} for column in both))
    forms = [column.map(of, na_action="ignore") for column, of in zip(both, texts, strict=True)]
    answers, possible = (column[known] for column in forms)
    n_known, n_possible = int(known.sum()), possible.nunique()
    # Few labels, and none in common: one column has the codes of what the other names.
    if n_known and not {*answers} & {*possible} and 2 * n_possible <= n_known:
        first, second = (listing(map(repr, column[known].unique()), 3) for column in both)
        found.of_options.append(
            f"prediction and gold must name labels alike; {prediction!r} holds {first}, {gold!r} "
            f"holds {second}, and no prediction is right. Write both in one way."
        )
    never = both[0][known & ~forms[0].isin({*possible})].value_counts()
    # Right labels that are a short list: free answers are often wrong in words of their own.
    if len(never) and 1 < n_possible <= 10 and n_known >= 5 * n_possible:
        held = listing((f"{each!r} ({counted(n, 'row')})" for each, n in never.items()), 4)
        left_out = typed_option("--where", label_condition(prediction, list(never.index)))
        text = (
            f"{counted(int(never.sum()), 'prediction')} of {n_known} can never be right, for "
            f"{gold!r} has no such label, and count as wrong: {held}. Where such a label is no "
            f"answer, leave these rows out: {left_out}."
        )
        found.note(Code.PREDICTIONS, text, Level.WARNING)
    right = (forms[0] == forms[1]).astype("Int64").where(known)
    table = table.drop(columns=[name for name in pair if name not in used])
    text = (
        f"theta is whether {prediction!r} is {gold!r}, but for blanks, case, Unicode form, "
        f"type and marks around it: {int(right.sum())} of {counted(n_known, 'prediction')} right."
    )
    found.note(Code.PREDICTIONS, text)
    table = table.rename(columns={"theta": aside("theta", table)})
    return table.assign(theta=right, theta_name=f"{prediction} is right")


def as_runs(read: FileTable, reading: Reading, source: Path | str) -> Runs:
    """Turn a table as a file has it into a runs table, or raise with all that is wrong with it."""
    runs, found = examined(read, reading)
    title = f"{source}{', rows that where keeps' if len(runs) < len(read.table) else ''}"
    # All at once: each round of corrections takes a user as long as the first.
    if found.of_options:
        everything = [*dict.fromkeys([*found.of_options, *found.of_table])]
        count = f" has {len(everything)} errors" * (len(everything) > 1)
        raise InputError.all_at_once(f"{title}{count}", everything)
    if found.of_table:
        raise SchemaError(found.of_table, title)
    told = (Code.PERCENT, Code.SCALE, Code.SHAPE)  # all notes are in every report
    if assumed := [note for note in runs.notes if note.code in told]:
        logger.warning("%s: %s", source, " ".join(map(str, assumed)))
    return runs


def validate_runs(runs: pd.DataFrame, *, source: str = "runs table") -> Runs:
    """Return a table with its columns told apart, or raise `SchemaError` with every error."""
    return as_runs(FileTable(require_frame(runs)), AS_IT_IS, source)


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


def examined(
    read: FileTable,
    reading: Reading = AS_IT_IS,
    *,
    part: bool = False,
    named: Naming = AS_IN_RUNS,
    ours: bool = False,
) -> tuple[Runs, Findings]:
    """Read the columns of a table by their roles, and list everything that is wrong with it.

    A `part` of a table need not allow a check by itself. Where it is `ours`, no column is taken for
    one of somebody's own.
    """
    found, table = Findings(reading, named, read.titles), read.table
    given = Runs(table)
    found.notes += [*given.notes, *read.notes]
    if table.columns.nlevels == 1:  # names of columns may be numbers
        table = table.set_axis(table.columns.map(str), axis="columns")
    found.of_table += shape_errors(table) if len(table) else ["it has no rows."]
    if found.of_table:  # every later step would trip over them
        return given, found
    meant = given.meant | {*reading.columns} | {*(["acts"] if reading.acts else [])}
    table = with_index_columns(table).reset_index(drop=True)
    if given.meant and NAMED in table.columns:
        table = table.drop(columns=NAMED)
    parts = named_parts(table, reading)
    found.of_options += [
        f"there is no column {part!r} to use as {name!r}. {closest(part, table.columns)}"
        for part, name in {part: name for name, of in parts.items() for part in of}.items()
        if part not in table
    ]
    try:
        table = _kept_rows(table, read, found)
    except InputError as error:  # of rows that are not wanted nothing can be said
        found.of_options.append(str(error))
        return given, found
    of_labels = [part for name in (*LABELS, *COMPARED) for part in parts.get(name, [name])]
    of_labels = [name for name in dict.fromkeys(of_labels) if name in table]
    table = _without(table, damaged_ids(table[of_labels], found), found)
    table = with_roles(table, parts, found)
    table = _without(table, cell_errors(table, found), found)
    table, notes = with_labels(table, reading.decimal)
    found.notes += notes
    table = without_missing_actions(table, found)
    strange = not (ours or holds_exact(read.table.columns))  # the file's own, before --exact
    if strange:
        table = without_strangers(table, meant, found)
    table = read_numbers(table, found)
    unused = Runs(table).unused_labels
    for role in {"person", "group"} & reading.columns.keys() & {*table.columns}:
        note_repeated_ids(table, role, unused, found)
    if strange:
        doubt_rows_of_options(table, unused, found)
    runs = with_matched_states(Runs(table, found.notes, found.named, meant=meant), found)
    runs.notes = tuple(dict.fromkeys(found.notes))
    found.of_table += table_errors(runs, found, part=part)
    return runs, found


def _without(table: pd.DataFrame, errors: Mapping[str, str], found: Findings) -> pd.DataFrame:
    """Leave out the columns that have errors, which no later step could read."""
    found.of_table += errors.values()
    found.absent |= {*errors}
    return table.drop(columns=[*errors])


def _kept_rows(table: pd.DataFrame, read: FileTable, found: Findings) -> pd.DataFrame:
    """Read labels of values, empty cells that hold a mark, and keep the rows that are wanted."""
    reading = found.reading
    roles = {as_: name for name, as_ in reading.columns.items()}
    labelled = []
    for name, values in read.labelled.items():
        column = declared(roles.get(name, name), table.columns)
        if not values.twice and (column is None or column.kind in ("label", ANY)):
            table = table.assign(**{name: values.cells})
            labelled.append(repr(name))
        elif column is not None and column.kind in ("label", ANY):
            found.of_options.append(
                f"column {name!r} has one label for several values: {values.twice}. Give them "
                "labels of their own, or drop the labels."
            )
    if labelled:
        text = f"labels of values stand for the numbers of {listing(labelled)}."
        found.note(Code.FILE, text)
    table, notes = without_marks(table, [*reading.missing])
    found.notes += notes
    if read.of_text:
        table, notes = without_na(table, reading.decimal)
        found.notes += notes
    if reading.where is None:
        return table
    compared = {
        str(name): numbers_or_labels(table[name], reading.decimal)[0]
        for name in table
        if str(name) in reading.where
    }
    table, note = RowCondition.parse(reading.where).kept_rows(table, compared)
    found.notes.append(note)
    return table


def read_runs(
    path: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    percent: bool = False,
    prediction: str | None = None,
    gold: str | None = None,
    acts: str | None = None,
    missing: Collection[str] = (),
    scale: str | None = None,
    where: str | None = None,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read and validate a runs table.

    Parameters
    ----------
    path : path or DataFrame
        A file: .parquet, .csv, .tsv, .jsonl (an object a line), .json (an array of objects), .xlsx
        (Excel), all also packed by gzip, .dta (Stata) or .sav (SPSS; these and Excel need the extra
        ``files``); or a table in memory, without `sep`, `encoding` and `sheet`.
    columns : mapping of str to str or list of str, optional
        Column of the runs table, or option of the command line that names it -> column of the file,
        for example ``{"belief": "p_ill", "action": "treats"}``; several columns for an id, for
        beliefs in several states and for a truth that is 1 in one of them. What is named is what
        its name says, such as the exact posterior (``{"exact": "p_true"}``), and stays so in what
        is returned and written.
    sep : str, optional
        Separator of a .csv or .tsv file; None: told by the header, comma or semicolon, tab or bar.
    decimal : {".", ","}
        Decimal mark of such a file.
    encoding : str, optional
        Encoding of a text file; None: told by its first bytes (UTF-16, UTF-32), else UTF-8.
    percent : bool
        Whether beliefs and exact posteriors are percentages, with a percent sign or without.
    prediction, gold : str, optional
        Columns of the file with predicted and with right labels: ``theta`` is then whether they are
        the same, and ``p`` the confidence in the prediction.
    acts : str, optional
        The action that stakes ``gain`` and ``loss``; the other one passes. ``columns={"penalty":
        NAME}`` names a loss with a gain of 1.
    missing : collection of str
        What cells hold that are missing, such as ``["NA", "-99"]``; empty cells are so anyway, and
        ``NA`` among the numbers of a .csv file.
    scale : str, optional
        Their scale, mapped by a straight line to probabilities: ``"1..7"``, or ``"1..4=.5..1"``
        where its lowest step is a guess between two.
    where : str, optional
        Rows to keep, as comparisons of the file's columns with literals: ``'type == "binary"'``.
        Nested fields have dotted names.
    sheet : str, optional
        Sheet of a workbook; None: the only one that holds cells.

    Returns
    -------
    DataFrame
        The table under the names of `coherence.runs.columns.COLUMNS`; other columns are kept as
        they are. A label is its text, in every format: whole numbers where all are written so. In
        CSV an empty text is a missing one; raw answers stay as they were written.

    Raises
    ------
    InputError
        The path does not exist, cannot be read, is empty, or a mapped column is missing;
        signs, commas or bytes need an option, which is named.
    SchemaError
        The table breaks the schema; the message lists every error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("p_ill;treats\n80%;treat\n15%;wait\n")
    ...     runs = read_runs(path, columns={"p": "p_ill", "action": "treats"}, percent=True)
    >>> runs[["p", "action"]]
          p action
    0  0.80  treat
    1  0.15   wait
    """
    options = {name: value for name, value in locals().items() if name not in ("path", "columns")}
    reading = Reading({} if columns is None else columns, **options)
    if isinstance(path, str | os.PathLike):
        return read_file(path, reading).frame()
    return read_frame(path, reading).frame()


def read_frame(table: Any, reading: Reading) -> Runs:
    """Read a table in memory under names of its own as a validated runs table."""
    for name in ("sep", "encoding", "sheet"):
        if (value := getattr(reading, name)) is not None:
            raise InputError(
                f"{name} says how a file is written; received {value!r} with a table in memory. "
                "Leave it out."
            )
    return as_runs(FileTable(with_columns(table)), reading, "runs")


def read_file(path: str | os.PathLike[str], reading: Reading = AS_IT_IS) -> Runs:
    """Read a file as a validated runs table."""
    return as_runs(read_table(path, reading), reading, Path(path))
