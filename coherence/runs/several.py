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
    KEY,
    LEVEL_COLUMNS,
    STATE_PREFIX,
    Naming,
    Reading,
    declared,
    is_belief,
)
from coherence.runs.notes import Code, Level
from coherence.runs.roles import Findings, broken
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
_MOST_OPTIONS = 20  # that a question has
_OFF = 0.011  # by which probabilities of the options of a question miss 1 when they are rounded


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
    table: pd.DataFrame, parts: Mapping[str, list[str]], twice: Sequence[str], found: Findings
) -> pd.DataFrame:
    """Give columns their names in the runs table, and make those that are made of others.

    `parts` of columns that the user named need not all be there; names that the file has `twice`
    may not be among them.
    """
    reading = found.reading
    pair = {name: parts[name][0] for name in COMPARED if name in parts}
    there = {n: of for n, of in parts.items() if {*of} <= {*table} and n not in pair}
    lacking = not {*pair.values()} <= {*table}
    found.absent |= (parts.keys() - there.keys() - pair.keys()) | ({"theta"} if lacking else set())
    found.of_options += [
        f"column {name!r} occurs more than once. Name every column once."
        for name in twice
        if any(name in of for of in parts.values())
        or (name in COLUMN_NAMES and name not in reading.columns)
    ]
    found.named = Naming({**found.named.columns, **{n: ",".join(of) for n, of in there.items()}})
    table, columns = _of_several(table, there, found)
    if pair and not lacking:
        compared = {name: labels(table[name], reading.decimal) for name in pair.values()}
        used, action = frozenset(columns.values()), columns.get("action", "action")
        table = with_right_or_wrong(
            table.assign(**compared), **pair, found=found, used=used, action=action
        )
        # The file's own theta stepped aside, and may be meant as something else.
        columns = {name: STOOD_ASIDE.get(as_, as_) for name, as_ in columns.items()}
    columns |= {name: as_ for name, as_ in reading.columns.items() if name not in there}
    mine = replace(reading, columns=columns).renamed(table)
    if len(there.get("context", ())) > 1:
        truths = [name for name in ("theta", EXACT) if name in mine]
        found.of_options += shared_parts(table, mine[truths], there["context"])
    return mine


def _of_several(
    table: pd.DataFrame, there: Mapping[str, list[str]], found: Findings
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Make columns that several are together; return what others are called in the file."""
    columns = {name: of[0] for name, of in there.items() if len(of) == 1}
    several = {name: of for name, of in there.items() if len(of) > 1}
    for name, of in several.items():
        column = declared(name)
        if len({*of}) < len(of) or not (name == "p" or (column and column.kind == "label")):
            found.of_options.append(
                f"{name!r} is one column, or different ones where it is an id, a belief or a "
                f"truth; received {','.join(of)!r}."
            )
        elif name not in ("p", "theta"):
            table = table.assign(**{",".join(of): joined_labels(table, of)})
            columns[name] = ",".join(of)
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
    if (gold := found.reading.gold) is not None:
        found.of_options.append(
            "prediction and gold say of one answer whether it is right; received beliefs in "
            f"{listing(beliefs)}, one for each answer. Then the right answer is the truth: "
            f"{typed_option('--truth', gold)} in place of --prediction and --gold."
        )
    truth = columns.get("theta", "theta")
    unlabelled = truths or truth not in table.columns or "theta" in found.absent
    named = state_columns(beliefs, None if unlabelled else table[truth])
    of_states = {state: belief for belief, state in named.items()}
    found.named = Naming({**found.named.columns, **of_states})
    table = with_states(table, named, truths, found)
    return table, {name: named.get(as_, as_) for name, as_ in columns.items()}


def joined_labels(table: pd.DataFrame, parts: Sequence[str]) -> Cells:
    """Return one id of the labels of several columns; none where one of them is empty."""
    texts = [labels(table[part]).astype(object).map(str, na_action="ignore") for part in parts]
    return texts[0].str.cat(pd.concat(texts[1:], axis=1), sep=" / ").astype("str")


def shared_parts(table: pd.DataFrame, truths: pd.DataFrame, parts: Sequence[str]) -> Iterator[str]:
    """Refuse ids of contexts a part of which alone has the state, so that contexts share it."""
    rows = table[[*parts]].join(truths).assign(id=joined_labels(table, parts)).dropna()
    cases = case_column(rows.drop_duplicates("id"), parts)
    if cases is None or len(cases.columns) > 1:
        return
    part = cases.columns[0]
    other = next(other for other in parts if other != part)
    typed = f"{typed_option('--context', part)} {typed_option('--person', other)}"
    yield (
        f"context takes {listing(parts)} together where contexts share nothing; {part!r} alone has "
        f"the state: {cases.sentence}. Name that as context and who judged it as person: {typed}; "
        f"in Python columns={{'context': {part!r}, 'person': {other!r}}}."
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
    lost = numbered(len(strays), "a column of beliefs is", "columns of beliefs are")
    lost = f"{lost} missing: add {numbered(len(strays), 'it', 'them')}"
    if matched and bool((sums < 1 - STATED_SUM).any()):  # they leave room for another state
        found.absent |= {f"{STATE_PREFIX}{label_text(label)}" for label in strays}
        shown = listing(map(repr, strays), 6)
        remedy = f"Where it is {shown} the beliefs sum to {sums.min():g}, and {lost}"
    else:
        cells = f"table[{found.file_name('theta')!r}]"
        likely = _named_alike(seen, [state for state in states if known_pair([state])])
        renamed = {label_text(label): likely.get(label, "STATE") for label in strays or seen}
        alike = f"Name them alike, in pandas: {cells} = {cells}.astype(str).replace({renamed})"
        remedy = alike
        if matched and strays:
            condition = label_condition(found.file_name("theta"), [*map(label_text, strays)])
            rest = f"the {counted(int(rows.sum()), 'row')} whose label is no state"
            typed = f"Or leave out {rest}: {typed_option('--where', condition)}"
            state = numbered(len(strays), "is a state", "are states")
            remedy = f"If {listing(map(repr, strays), 4)} {state}, {lost}. {alike}. {typed}"
    found.of_table.append(
        f"{title} is {listing(map(repr, seen), 4)}, and columns of beliefs are named after "
        f"{listing(map(repr, states), 6)}. {remedy}."
    )
    return runs


def with_states(
    table: pd.DataFrame, beliefs: Mapping[str, str], truths: Sequence[str], found: Findings
) -> pd.DataFrame:
    """Return a table with beliefs under the names of their states.

    `truths` are columns of outcomes, which go by name with those of the beliefs where both are told
    apart alike, else by their order.
    """
    states = [name.removeprefix(STATE_PREFIX) for name in beliefs.values()]
    aside = {
        name: f"unmapped_{name}"
        for name in map(str, table.columns)
        if name not in beliefs and is_belief(name)
    }
    columns = list(beliefs)
    if truths:
        told = zip(told_apart([*beliefs]), told_apart(truths), strict=True)
        if alike := next(((of, to) for of, to in told if {*of} == {*to}), None):
            truths = [truths[alike[1].index(part)] for part in alike[0]]
        columns = [*truths]
        came = table[[*truths]].apply(
            lambda cells: labels(cells).map(lambda label: _TRUTH.get(folded(label), -1), "ignore")
        )
        unknown = came.isna().all(axis=1).to_numpy()
        numbers = came.to_numpy(dtype=float, na_value=-1)
        odd = ~unknown & ~(np.isin(numbers, (0, 1)).all(axis=1) & (numbers.sum(axis=1) == 1))
        rule = "be 1 in one of them, and 0 in the others, or empty in all"
        remedy = (
            "Leave such rows out, as of what was annulled (--where). Where several may come true "
            "at once, analyse each by itself."
        )
        shown = pd.Series([", ".join(map(str, row)) for row in table[[*truths]].to_numpy()])
        title = f"{', '.join(truths)} (mapped to 'theta')"
        found.of_options += broken(title, rule, odd, shown, remedy)
        which = np.array(states, dtype=object)[numbers.argmax(axis=1)]
        theta = pd.Series(which, index=table.index).mask(unknown, None)
        aside |= {"theta": "unmapped_theta"} if "theta" in table.columns else {}
        table = table.rename(columns=aside).assign(theta=theta).drop(columns=[*truths])
    named = [f"{s} ({c})" if s != c else s for s, c in zip(states, columns, strict=True)]
    found.note(Code.SHAPE, f"the states are {listing(named, 8)}.")
    return table.rename(columns={**aside, **beliefs})


def note_repeated_ids(
    table: pd.DataFrame, role: str, unused: Sequence[str], found: Findings
) -> None:
    """Say that an id stands in several sessions, and may be another's in each of them.

    So it is where person 1 is a woman of 30 in one session, and a man of 50 in the next: others
    have other labels in each. Or where a session parts the rows that an id has of one case, which
    repetitions do too; not where ids have a label that is the same in all their rows.
    """
    name, n_ids = found.file_name(role), table[role].nunique()
    some = table[table[role].isin(table[role].unique()[:_MOST_IDS])]  # which tell as much as all
    few = [each for each in unused if 1 < some[each].nunique() < len(some) / 2]
    levels = {*LEVEL_COLUMNS} if "level" not in table else set()
    key = [*dict.fromkeys([role, *(each for each in KEY if each in table and each not in levels)])]
    ids = some.groupby(role, observed=True)
    alike = any(ids[label].nunique().max() == 1 for label in few)
    parted = "context" in key and table.duplicated(key).any() and not alike
    for session in few:
        n_both = table.groupby([session, role], observed=True).ngroups
        if not 2 * n_ids <= n_both <= len(table) / 2:
            continue
        both, within = (some.groupby(by, observed=True) for by in ([session, role], session))
        labels_of_both = (
            label
            for label in few
            if label != session
            and both[label].nunique().max() == 1
            and within[label].nunique().max() > 1
            and (ids[label].nunique() > 1).mean() > 1 / 2
        )
        typed = typed_option(f"--{role}", f"{session},{name}")
        if n_ids >= _FEWEST_IDS and (label := next(labels_of_both, None)):
            text = (
                f"{name} has {n_ids} values, and {n_both} together with {session!r}, within "
                f"which {label!r} is the same. If ids are numbered anew in each: {typed}."
            )
        elif parted and not table.duplicated([session, *key]).any():
            text = (
                f"each of {n_ids} values of {name} has several rows of one context, one for each "
                f"value of {session!r}. If {session!r} numbers ids anew: {typed}; if it numbers "
                f"repetitions: {typed_option('--rep', session)}."
            )
        else:
            continue
        found.note(Code.SHAPE, text, Level.WARNING)
        return


def doubt_rows_of_options(table: pd.DataFrame, unused: Sequence[str], found: Findings) -> None:
    """Refuse a row for each answer that a question offers, or warn of it.

    A column that nothing reads names the state of which each row has the probability, so that not
    all beliefs are in the same one. It is one where the probabilities of each question sum to 1,
    and may be one where each of its values stands equally often in each question.
    """
    if not {"p", "theta"} <= {*table.columns}:
        return
    rows = table[table["p"].notna()]
    truths = {*labels(rows["theta"].dropna())}
    for name in unused if truths else ():
        some = rows[name].sample(min(len(rows), 1000), random_state=0)
        if not 1 < labels(some).nunique() <= _MOST_OPTIONS:
            continue
        options = labels(rows[name])
        offered = list(dict.fromkeys(options.dropna()))
        of_options, of_truths = compared_labels(offered, truths)
        if not {*of_truths.values()} <= {*of_options.values()}:
            continue
        cases = ["context"] if "context" in rows else [each for each in unused if each != name]
        for case in cases:
            even, whole = _shares_of_options(rows, case, options)
            words = any(isinstance(option, str) for option in offered)
            if not whole > 1 / 2 and not (even > 1 / 2 and words and "context" in rows):
                continue
            column, question = name.removeprefix("unmapped_"), found.file_name(case)
            option = next((each for each in offered if folded(each) in YES), offered[0])
            typed = typed_option("--where", label_condition(column, [option], left_out=False))
            if known_pair(offered) is None:
                typed += f" {typed_option('--positive', option)}"
            holds = (
                f"{column!r} holds labels of the truth, each as often as the others "
                f"within each {question!r}, and nothing reads it"
            )
            remedy = f"keep those in one state: {typed}."
            if whole > 1 / 2:
                found.of_options.append(
                    f"{holds}; the beliefs sum to 1, one in each state. To test, {remedy} Where "
                    f"{column!r} is something else, leave the column out of the file."
                )
            else:
                text = f"{holds}. If beliefs are in what it names, {remedy}"
                found.note(Code.SHAPE, text, Level.WARNING)
            return


def _shares_of_options(rows: pd.DataFrame, case: str, options: Cells) -> tuple[float, float]:
    """Return in which shares of cases options are equally often there, and beliefs sum to 1 too."""
    keys = labels(rows[case])
    counts = pd.crosstab(keys, options)
    n_options = (counts > 0).sum(axis=1)
    even = (n_options > 1) & (counts.max(axis=1) * n_options == counts.sum(axis=1))
    if not even.any():
        return 0.0, 0.0
    of_case = rows["p"].groupby(keys)
    n_sets, differ = counts.max(axis=1), of_case.nunique() > 1
    whole = even & differ & ((of_case.sum() - n_sets).abs() <= _OFF * np.sqrt(n_sets))
    return float((even & differ).mean()), float(whole.mean())


STOOD_ASIDE = {"theta": "unmapped_theta"}
"""What a column of the file is called whose name is that of the state that is made."""
_MOST_LABELS = 10  # of a closed list of right labels
_TIMES_EACH = 5  # how often each of them must stand there on average
_BY_CHANCE = 0.001  # probability below which labels are not of one action by chance


def _doubt_never_right(
    labels: "list[pd.Series[Any]]",
    forms: "list[pd.Series[Any]]",
    known: "pd.Series[bool]",
    actions: "pd.Series[Any] | None",
    found: Findings,
) -> None:
    """Say which predictions no right label can match, such as "I don't know" among A to D.

    Only where the right labels are a short list that returns: free answers are often wrong in words
    that no right answer has. They are refused where they are all of one of several `actions`, as of
    who abstains: counted as wrong, they would make the state follow from the choice.
    """
    possible, (prediction, gold) = forms[1][known], (str(each.name) for each in labels)
    n_possible = possible.nunique()
    if not 1 < n_possible <= _MOST_LABELS or len(possible) < _TIMES_EACH * n_possible:
        return
    odd = known & ~forms[0].isin(set(possible))
    if not odd.any():
        return
    counts = labels[0][odd].value_counts()
    held = listing((f"{label!r} ({counted(n, 'row')})" for label, n in counts.items()), 4)
    typed = typed_option("--where", label_condition(prediction, list(counts.index)))
    if actions is not None and _are_one_action(actions[known], odd[known]):
        listed = ",".join(map(str, counts.index))
        if listed.count(",") == len(counts) - 1:  # as no answer: rows of who abstains stay
            typed = f"Read them as no answer: {typed_option('--missing', listed)}"
        else:
            typed = f"Leave these rows out: {typed}"
        found.of_options.append(
            f"predictions that {gold!r} never holds would count as wrong, and those of "
            f"{prediction!r} ({held}) all have {str(actions[odd].iloc[0])!r} in {actions.name!r}: "
            "the truth would follow from the choice, and every agent would seem to act on more "
            f"than it says. {typed}. To test whoever abstains, ask for an "
            "answer in every case."
        )
    text = (
        f"{counted(int(odd.sum()), 'prediction')} of {int(known.sum())} can never be right, for "
        f"{gold!r} has no such label, and count as wrong: {held}. Where such a label is no answer, "
        f"leave these rows out: {typed}."
    )
    found.note(Code.NEVER_RIGHT, text, Level.WARNING)


def _are_one_action(actions: "pd.Series[Any]", odd: "pd.Series[bool]") -> bool:
    """Tell whether the `odd` rows are of one of several actions, and not by chance."""
    if actions.nunique() < 2 or actions[odd].nunique(dropna=False) != 1:
        return False
    return bool((actions == actions[odd].iloc[0]).mean() ** int(odd.sum()) < _BY_CHANCE)


def with_right_or_wrong(
    table: pd.DataFrame,
    prediction: str,
    gold: str,
    found: Findings,
    *,
    used: frozenset[str] = frozenset(),
    action: str = "action",
) -> pd.DataFrame:
    """Put in theta whether each prediction is right, and count them.

    Both columns go, but for those that are `used` for something else; rows that lack one have no
    state.
    """
    labels = [table[name].astype(object) for name in (prediction, gold)]
    known = labels[0].notna() & labels[1].notna()
    texts = compared_labels(*({*column[known]} for column in labels))
    forms = [column.map(of, na_action="ignore") for column, of in zip(labels, texts, strict=True)]
    labels_of = [set(column[known]) for column in forms]
    found.n_labels = table[gold].nunique()
    # Few labels, and none in common: one column has the codes of what the other names.
    if known.any() and not labels_of[0] & labels_of[1] and 2 * len(labels_of[1]) <= known.sum():
        first, second = (listing(map(repr, dict.fromkeys(column[known])), 3) for column in labels)
        found.of_options.append(
            f"prediction and gold must name labels alike; {prediction!r} holds {first}, {gold!r} "
            f"holds {second}, and no prediction is right. Write both in one way."
        )
    else:
        actions = table[action] if action in table and action != prediction else None
        _doubt_never_right(labels, forms, known, actions, found)
    right = (forms[0] == forms[1]).astype(object).where(known, None)
    table = table.drop(columns=[name for name in (prediction, gold) if name not in used])
    table = table.rename(columns=STOOD_ASIDE)
    text = (
        f"theta is whether {prediction!r} is {gold!r}, but for blanks, case, Unicode form, "
        f"type and marks around it: {int(right.sum())} of "
        f"{counted(int(known.sum()), 'prediction')} right."
    )
    found.note(Code.PREDICTIONS, text)
    theta = right.map(int, na_action="ignore").astype("Int64")
    return table.assign(theta=theta, theta_name=f"{prediction} is right")
