"""Columns of the runs table that are made of several of a file.

Labels A,B are joined to one id. Beliefs in several states are named after the labels of the truth,
found in what tells the names of the columns apart; a truth in columns of its own is 1 in the one
whose state came true. Of a table of answers, right answers and confidences the state is whether
each answer is right, and the confidence the belief that it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import commonprefix
from typing import Any

import numpy as np
import pandas as pd

from coherence.decoding.ranges import STATED_SUM
from coherence.errors import listing
from coherence.printable import counted, numbered
from coherence.runs.cells import Cells, labels
from coherence.runs.columns import (
    COLUMN_NAMES,
    COMPARED,
    EXACT,
    LABELS,
    STATE_PREFIX,
    Naming,
    Reading,
    is_belief,
)
from coherence.runs.notes import Code, Level
from coherence.runs.roles import Findings
from coherence.runs.row_condition import label_condition
from coherence.runs.runs import Runs
from coherence.runs.states import (
    KNOWN_PAIRS,
    YES,
    case_column,
    compared_labels,
    folded,
    in_order,
    known_pair,
    label_text,
    meant_by,
    typed_option,
)

_TRUTH = {label: at for pair in KNOWN_PAIRS for at, label in enumerate(pair)}
_FEWEST_IDS, _MOST_IDS = 6, 100  # for a note on ids in several sessions, and that are looked at
_BETWEEN = re.compile("[^0-9A-Za-z]")  # words of a name
_MOST_LABELS = 10  # of a closed list of right labels
_TIMES_EACH = 5  # how often each of them must stand there on average
STOOD_ASIDE = {"theta": "unmapped_theta"}
"""What a column of the file is called whose name is that of the state that is made."""


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
    """Give columns their names in the runs table, and make those that are made of others.

    `parts` of columns that the user named need not all be there.
    """
    reading = found.reading
    pair = {name: parts[name][0] for name in COMPARED if name in parts}
    there = {n: of for n, of in parts.items() if {*of} <= {*table} and n not in pair}
    lacking = not {*pair.values()} <= {*table}
    found.absent |= (parts.keys() - there.keys() - pair.keys()) | ({"theta"} if lacking else set())
    found.named = Naming({**found.named.columns, **{n: ",".join(of) for n, of in there.items()}})
    table, columns = _of_several(table, there, found)
    if pair and not lacking:
        used = frozenset(columns.values())
        table = with_right_or_wrong(table, **pair, found=found, used=used)
        # The file's own theta stepped aside, and may be meant as something else.
        columns = {name: STOOD_ASIDE.get(as_, as_) for name, as_ in columns.items()}
    columns |= {name: as_ for name, as_ in reading.columns.items() if name not in there}
    mine = replace(reading, columns=columns).renamed(table)
    if len(there.get("context", ())) > 1:
        truths = [name for name in ("theta", EXACT) if name in mine]
        found.of_options += _shared_parts(table, mine[truths], there["context"])
    return mine


def _of_several(
    table: pd.DataFrame, there: Mapping[str, list[str]], found: Findings
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Make columns that several are together; return what others are called in the file."""
    columns = {name: of[0] for name, of in there.items() if len(of) == 1}
    several = {name: of for name, of in there.items() if len(of) > 1}
    for name, of in several.items():
        if len({*of}) < len(of) or name not in ("p", *LABELS):
            found.of_options.append(
                f"{name!r} is one column, or different ones where it is an id, a belief or a "
                f"truth; received {','.join(of)!r}."
            )
        elif name not in ("p", "theta"):
            columns[name] = ",".join(of)
            table = table.assign(**{columns[name]: joined_labels(table, of)})
            found.note(Code.SHAPE, f"{listing(of)} together are one {name}.")
    beliefs, truths = several.get("p", []), several.get("theta", [])
    if truths and len(truths) != len(beliefs) and "p" not in found.absent:
        found.of_options.append(
            f"truth in {len(truths)} columns, {listing(truths)}, needs as many of beliefs, one for "
            f"each state; received {len(beliefs) or 1}. Name them: --belief A,B,C."
        )
        found.absent |= {"theta"} if beliefs else {"p", "theta"}
        truths = []
    if not beliefs:
        return table, columns
    truth = columns.get("theta", "theta")
    unlabelled = truths or truth not in table.columns or "theta" in found.absent
    named = state_columns(beliefs, None if unlabelled else table[truth])
    of_states = {state: belief for belief, state in named.items()}
    found.named = Naming({**found.named.columns, **of_states})
    table = _with_states(table, named, truths, found)
    return table, {name: named.get(as_, as_) for name, as_ in columns.items()}


def joined_labels(table: pd.DataFrame, parts: Sequence[str]) -> Cells:
    """Return one id of the labels of several columns; none where one of them is empty."""
    texts = [labels(table[part]).astype(object).map(str, na_action="ignore") for part in parts]
    return texts[0].str.cat(pd.concat(texts[1:], axis=1), sep=" / ").astype("str")


def _shared_parts(table: pd.DataFrame, truths: pd.DataFrame, parts: Sequence[str]) -> Iterator[str]:
    """Refuse ids of contexts a part of which alone has the state, so that contexts share it."""
    rows = table[[*parts]].join(truths).assign(id=joined_labels(table, parts)).dropna()
    cases = case_column(rows.drop_duplicates("id"), parts)
    if cases is not None and len(cases.columns) == 1:
        part = cases.columns[0]
        other = next(other for other in parts if other != part)
        yield (
            f"context takes {listing(parts)} together where contexts share nothing; "
            f"{cases.sentence}. Name that as context and who judged it as person: "
            f"{typed_option('--context', part)} {typed_option('--person', other)}."
        )


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
    seen = runs.theta.unique().tolist() if len(states) > 1 else []
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
    sums = runs.table.loc[rows, runs.states].sum(axis=1, skipna=False)
    add = f"add {numbered(len(strays), 'it', 'them')}"
    lost = f"{numbered(len(strays), 'a column of beliefs is', 'columns of beliefs are')} missing"
    if matched and bool((sums < 1 - STATED_SUM).any()):  # they leave room for another state
        found.absent |= {f"{STATE_PREFIX}{label_text(label)}" for label in strays}
        remedy = f"Beliefs in these rows sum to {sums.min():g}: {lost}: {add}"
    else:
        cells = f"table[{found.file_name('theta')!r}]"
        likely = _named_alike(seen, [state for state in states if known_pair([state])])
        renamed = {label_text(label): likely.get(label, "STATE") for label in strays or seen}
        remedy = f"Name them alike, in pandas: {cells} = {cells}.astype(str).replace({renamed})"
        if matched and strays:
            condition = label_condition(found.file_name("theta"), [*map(label_text, strays)])
            rest = f"leave out the {counted(int(rows.sum()), 'row')} whose label is no state"
            remedy += f"; or {rest}: {typed_option('--where', condition)}"
    found.of_table.append(
        f"{title} is {listing(map(repr, seen), 4)}, and columns of beliefs are named after "
        f"{listing(map(repr, states), 6)}. {remedy}."
    )
    return runs


def _with_states(
    table: pd.DataFrame, beliefs: Mapping[str, str], truths: Sequence[str], found: Findings
) -> pd.DataFrame:
    """Return a table with beliefs under the names of their states.

    `truths` are columns of outcomes, which go by name with those of the beliefs where both are told
    apart alike, else by their order.
    """
    states = [name.removeprefix(STATE_PREFIX) for name in beliefs.values()]
    others = [name for name in map(str, table.columns) if name not in beliefs and is_belief(name)]
    aside, columns = {name: f"unmapped_{name}" for name in others}, list(beliefs)
    if truths:
        told = zip(told_apart([*beliefs]), told_apart(truths), strict=True)
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
        aside |= STOOD_ASIDE if "theta" in table.columns else {}
        table = table.rename(columns=aside).assign(theta=theta).drop(columns=columns)
    named = [f"{s} ({c})" if s != c else s for s, c in zip(states, columns, strict=True)]
    found.note(Code.SHAPE, f"the states are {listing(named, 8)}.")
    return table.rename(columns={**aside, **beliefs})


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
    truths, of_case = labels(rows["theta"]), rows["p"].groupby(rows["context"], observed=True)
    whole = (of_case.sum() - 1).abs() <= STATED_SUM
    if not (whole & (of_case.nunique() > 1)).mean() > 1 / 2:
        return
    seen = {*map(folded, truths.dropna().unique())}
    for name in unused:
        options = labels(rows[name])
        offered = list(dict.fromkeys(options.dropna()))
        forms = {*map(folded, offered)}
        if not 1 < len(forms) == of_case.size().median() or not seen <= forms:
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
    table: pd.DataFrame, prediction: str, gold: str, found: Findings, used: frozenset[str]
) -> pd.DataFrame:
    """Put in theta whether each prediction is right, and count them.

    Both columns go, but for those that are `used` for something else; rows that lack one have no
    state.
    """
    both = [
        labels(table[name], found.reading.decimal).astype(object) for name in (prediction, gold)
    ]
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
    # Right labels that are a short list: free answers are often wrong in words of their own.
    elif 1 < n_possible <= _MOST_LABELS and n_known >= _TIMES_EACH * n_possible:
        counts = both[0][known & ~forms[0].isin({*possible})].value_counts()
        if len(counts):
            held = listing((f"{each!r} ({counted(n, 'row')})" for each, n in counts.items()), 4)
            condition = label_condition(prediction, list(counts.index))
            text = (
                f"{counted(int(counts.sum()), 'prediction')} of {n_known} can never be right, for "
                f"{gold!r} has no such label, and count as wrong: {held}. Where such a label is no "
                f"answer, leave these rows out: {typed_option('--where', condition)}."
            )
            found.note(Code.NEVER_RIGHT, text, Level.WARNING)
    right = (forms[0] == forms[1]).astype(object).where(known, None)
    table = table.drop(columns=[name for name in (prediction, gold) if name not in used])
    text = (
        f"theta is whether {prediction!r} is {gold!r}, but for blanks, case, Unicode form, "
        f"type and marks around it: {int(right.sum())} of {counted(n_known, 'prediction')} right."
    )
    found.note(Code.PREDICTIONS, text)
    theta = right.map(int, na_action="ignore").astype("Int64")
    named = {"theta": theta, "theta_name": f"{prediction} is right"}
    return table.rename(columns=STOOD_ASIDE).assign(**named)
