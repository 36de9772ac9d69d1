"""From a runs table to its evaluations: rows of a task and model, with states and prompts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.evaluation import EvaluationRows, unnamed_columns
from coherence.checks.check import Check, declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import as_codes
from coherence.runs.columns import (
    AS_IT_IS,
    RECORDED,
    SAME_CONTEXT,
    Reading,
    answer_columns,
)
from coherence.runs.needs import ACTION, TARGET, THETA
from coherence.runs.notes import Code, Level, Note
from coherence.runs.read import read_file, read_frame, validate_runs
from coherence.runs.row_condition import label_condition, quoted_column
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import (
    YES,
    beside_a_pair,
    compared_labels,
    folded,
    known_pair,
    labels_error,
    meant_by,
    typed_option,
    unknown_pair,
    zero_or_one,
)
from coherence.statistics.evaluation import own_answer

_REPEATED = (
    "every row is a case of its own, although rep counts repetitions: they were taken as "
    "independent. If rows repeat a case, p-values and intervals are too optimistic; name the "
    "column of cases (--context NAME)."
)
_SAME_CONTEXT = (
    "beliefs were stated in the conversation in which the agent acts (belief_context), where it "
    "reads them before it acts: the choice may follow what was said because it was said. Ask "
    "aside, in a context of their own."
)
_LOG_CHANCE = -12.0  # log probability of one state alone, by beliefs and by other choices
States = Mapping[str, tuple[tuple[Any, ...], Any]]
"""Task -> its labels of theta, and the one that beliefs are in."""


def as_runs(
    runs: Runs | pd.DataFrame | str | os.PathLike[str], reading: Reading = AS_IT_IS
) -> Runs:
    """Return a validated table, whatever a user has of it: itself, a DataFrame or a file."""
    if isinstance(runs, str | os.PathLike):
        return read_file(runs, reading)
    if reading.columns or reading.prediction is not None or reading.acts is not None:
        return read_frame(runs.frame() if isinstance(runs, Runs) else runs, reading)
    return runs if isinstance(runs, Runs) else validate_runs(runs)


def with_alerts(notes: Sequence[Note], rows: pd.DataFrame) -> tuple[Note, ...]:
    """Raise to an alert, or add, what must be known before a p-value of an evaluation is read."""
    alert = Code.COPIES
    if any(note.code is Code.NO_CONTEXT for note in notes):
        alert = Code.NO_CONTEXT
    # A column that numbers the rows is easily taken for the one that names the cases.
    elif len(rows) > 1 and rows["context"].is_unique and rows["rep"].nunique() > 1:
        return (Note(Code.EACH_ITS_OWN, _REPEATED, Level.ALERT), *notes)
    return tuple(replace(note, level=Level.ALERT) if note.code is alert else note for note in notes)


def settled_by_choice(evaluation: EvaluationRows) -> list[Note]:
    """Say that one choice was followed by one state alone, where beliefs foretell both.

    So it is where an abstention counts as wrong, whatever the agent believes.
    """
    rows = evaluation.complete_cases
    exact = evaluation.exact_state and not evaluation.runs.graded
    if exact or evaluation.policies or not evaluation.in_two_states or rows.empty:
        return []
    cases = pd.DataFrame(
        {"p": evaluation.belief(rows), "state": evaluation.state[rows.index]}
    ).groupby([rows["context"].astype(str), evaluation.action(rows)])
    means = cases.mean().dropna()
    for action, of_action in means.groupby(level=1) if means["state"].nunique() > 1 else ():
        state = of_action["state"].iloc[0]
        belief_in_state = of_action["p"] if state == 1 else 1 - of_action["p"]
        of_others = (means.drop(index=of_action.index)["state"] == state).mean()
        by_chance = max(
            np.log(belief_in_state.clip(lower=1e-9)).sum(),
            len(of_action) * np.log(max(of_others, 1e-9)),
        )
        seldom = by_chance < _LOG_CHANCE or "loss" in rows  # one of these abstains
        if (of_action["state"] != state).any() or not seldom:
            continue
        text = (
            f"in all cases with the choice {action!r} ({len(of_action)}) the truth is the same; "
            f"beliefs there foretell {(1 - belief_in_state).sum():.0f} of the other state. If it "
            "follows from the choice, as where an abstention counts as wrong, every agent is "
            "rejected: ask for an answer in every case."
        )
        return [Note(Code.BY_CHOICE, text, Level.ALERT)]
    return []


def stated_where_it_acts(evaluation: EvaluationRows) -> list[Note]:
    """Say that an agent stated its beliefs in the conversation in which it acts."""
    rows = evaluation.rows
    if "belief_context" not in rows or not (rows["belief_context"] == SAME_CONTEXT).any():
        return []
    return [Note(Code.BELIEF_CONTEXT, _SAME_CONTEXT, Level.ALERT)]


def positive_labels(positive: Any) -> list[Any]:
    """Return the labels that a user named, one or several or none, as a list."""
    wanted = list(positive) if isinstance(positive, list | tuple) else [positive]
    return [label for label in wanted if label is not None]


def states_of_tasks(runs: Runs, positive: Any, checks: Sequence[Check]) -> States:
    """Find the labels of theta in each task of a completed table, and the one of its beliefs."""
    columns = runs.states
    wanted = positive_labels(positive)
    if wanted and len(columns) > 2:
        raise InputError(
            f"positive names the state of a belief in one; received {listing(wanted)}, and there "
            f"are beliefs in {len(columns)} states. Leave it out."
        )
    # In columns of their own the states have names; else theta alone has.
    of_truth = [check for check in checks if {THETA, TARGET} & set(check.needs)]
    must_know = not columns and any(check.states_named for check in of_truth)
    tests_choices = not columns and any(ACTION in check.needs for check in of_truth)
    of_state = not columns and any({ACTION, THETA, TARGET} & set(check.needs) for check in checks)
    may_be_confidence = of_state and not runs.says_state
    states: dict[str, tuple[tuple[Any, ...], Any]] = {}
    errors, everywhere = [], []
    for task, rows in runs.table.groupby("task", sort=True):
        labels = as_codes(runs.subset(rows).theta, "theta")[1]
        named = runs.state_names or list(labels)
        everywhere += named
        meant = [label for word in wanted for label in meant_by(word, named)]
        states[str(task)] = labels, meant[0] if meant else None
        where = f"task {task!r}: " if task else ""
        error = ""
        if of_state:
            column = runs.named.columns.get("theta", "theta")
            error = labels_error("truth", labels, len(rows), numbers_alone=True, column=column)
            strays = [] if error else beside_a_pair(labels)
            error = _not_decided(rows, strays, runs) if strays else error
        if may_be_confidence and not meant:
            error = error or _maybe_confidence(rows, labels, runs)
        if error:
            errors.append(where + error)
        elif len(meant) > 1:
            errors.append(
                f"{where}positive must name one state of a task; received "
                f"{listing(map(repr, meant))}. Name one of them."
            )
        elif must_know and not meant and len(labels) == 2 and known_pair(labels) is None:
            errors.append(where + unknown_pair(labels, "theta"))
        elif tests_choices and not meant and len(labels) > 2:
            # Of equal p, evidence for one of the other states may rightly move choices.
            errors.append(
                f"{where}theta has {len(labels)} states ({listing(map(repr, labels), 4)}), of "
                "which p is the probability of one. If p is the confidence in an answer, name the "
                "answers and the right ones (--prediction COLUMN --gold COLUMN); if it is over all "
                "states, give a column p_<state> for each; if it is that of one state, name it, to "
                "test it against all others (--positive LABEL)."
            )
    errors += [
        f"positive must be a label of theta; received {word!r}. "
        f"{closest(word, dict.fromkeys(everywhere))}"
        for word in wanted
        if not meant_by(word, everywhere)
    ]
    if errors:
        raise InputError.all_at_once("", errors)
    return states


def _not_decided(rows: pd.DataFrame, strays: Sequence[Any], runs: Runs) -> str:
    """Refuse labels that are no state, as those of questions that were annulled."""
    # What nobody forecast goes by one condition, however many labels it has.
    forecasts = rows.loc[rows["p"].notna(), "theta"] if answer_columns(rows) == ["p"] else None
    left = [label for label in strays if forecasts is None or (forecasts == label).any()]
    unanswered = len(left) < len(strays)
    names = {name: runs.named.columns.get(name, name) for name in ("theta", "p")}
    conditions = [f"{quoted_column(names['p'])} != None"] if unanswered else []
    named = left if unanswered else strays
    in_python = [f"runs[{names['p']!r}].notna()"] if unanswered else []
    if named:
        in_python.append(f"~runs[{names['theta']!r}].isin({list(map(str, named))})")
        conditions.append(label_condition(names["theta"], [*map(str, named)]))
    condition = " and ".join(conditions)
    n = int(rows["theta"].isin(strays).sum())
    counts = f"{listing(map(repr, strays), 4)} in {n} of {len(rows)} rows"
    return (
        f"{runs.named.plain('theta')} has labels beside those of two states: {counts}. They do "
        "not say which state came true. Leave these rows out: "
        f"{typed_option('--where', condition)} (in Python runs[{' & '.join(in_python)}]); if such "
        "a label is a state, give a column p_<state> for every state."
    )


def _maybe_confidence(rows: pd.DataFrame, labels: tuple[Any, ...], runs: Runs) -> str:
    """Refuse labels of actions that are those of the states, unless they say what p is about.

    With answers, right answers and confidences no state has the probability p, and every test of
    belief against action would be of something else.
    """
    if not {"action", "p", "theta"} <= set(runs.names):
        return ""
    complete = rows.dropna(subset=["p", "action", "theta"])
    of_actions, of_states = compared_labels(
        {*complete["action"].unique()}, {*complete["theta"].unique(), *labels}
    )
    chosen = set(of_actions.values())
    states = {of_states[label] for label in complete["theta"].unique()}
    common = chosen & states
    if len(common) < 2 and not (chosen and chosen <= states and len(states) > 1):
        return ""
    shared = [label for label in labels if of_states[label] in common]
    about = next((label for label in labels if folded(label) in YES), shared[0])
    case = pd.factorize(complete["context"])[0].astype(np.int64)
    if known_pair(labels) is not None:
        found = own_answer(
            complete["p"].to_numpy(np.float64),
            complete["action"].to_numpy(object),
            complete["theta"].to_numpy(object),
            about,
            case,
        )
        if found is None:
            return ""
        looks = found.sentence(quoted_column(runs.named.columns.get("p", "p")))
    else:
        looks = (
            f"{runs.named.plain('action')} has labels of {runs.named.plain('theta')} "
            f"({listing(map(repr, shared), 4)}), and nothing says what p is the probability of"
        )
    columns = "" if len(states) < 3 else " If it is over all states: a column p_<state> for each."
    return (
        f"{looks}. {compared_instead(runs)}{columns} If it is the probability of one state, name "
        f"it: {typed_option('--positive', about)} (positive={about!r})."
    )


def compared_instead(runs: Runs) -> str:
    """Name the options that read a belief as the confidence in the own answer."""
    action, theta = (runs.named.columns.get(name, name) for name in ("action", "theta"))
    typed = f"{typed_option('--prediction', action)} {typed_option('--gold', theta)}"
    return (
        f"If it is the confidence that {action} is right, in place of --action and --truth: "
        f"{typed} (prediction={action!r}, gold={theta!r})."
    )


def confidence_note(evaluation: EvaluationRows) -> list[Note]:
    """Say that beliefs in a state that was named look like confidences in the own answer."""
    found = evaluation.own_answer
    if found is None:
        return []
    runs = evaluation.runs
    text = f"{found.sentence(runs.named.plain('p'))}. {compared_instead(runs)}"
    return [Note(Code.OWN_ANSWER, text, Level.ALERT)]


def _with_shares(runs: Runs, labels: Sequence[Any], named: Any) -> Runs:
    """Take the share of graded answers in which the state came true for the posterior of a case.

    Not where the truth is known after one choice alone: that share would be of these.
    """
    pair, table = zero_or_one(labels, named) if runs.graded else None, runs.table
    if pair is None or table.get("action", table["theta"])[table["theta"].notna()].nunique() < 2:
        return runs
    state = table["theta"].map(dict(zip(labels, pair, strict=True)), na_action="ignore")
    share = state.astype(float).groupby(table["context"], observed=True).transform("mean")
    return runs.subset(table.assign(p_true=share, truth_kind=RECORDED))


def evaluations_of(
    runs: Runs, states: States, reference: str | None, state: str = "auto"
) -> list[tuple[tuple[str, str], EvaluationRows]]:
    """Part a completed table by task and model, each with its states and its reference prompt."""
    evaluations = []
    for key, rows in runs.evaluations():
        labels, named = states[key[0]]
        rows = _with_shares(rows, labels, named)
        named_by = zip(EVALUATION, key, strict=True)
        where = " and ".join(f"{what} {name!r}" for what, name in named_by if name)
        prompt = rows.reference(reference, where=where or "the table")
        options: dict[str, Any] = {"positive": named, "labels": labels, "reference": prompt}
        evaluations.append((key, EvaluationRows(rows, **options, state=state)))
    return evaluations


def read_evaluations(
    runs: Runs,
    checks: Sequence[str],
    *,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
) -> tuple[list[tuple[tuple[str, str], EvaluationRows]], tuple[Note, ...]]:
    """Part a validated table by task and model, and say what was assumed."""
    table = runs.completed()
    if strict:
        table = table.without_repairs()
    states = states_of_tasks(table, positive, [declaration(name) for name in checks])
    notes = (*table.notes, *unnamed_columns(runs))
    return evaluations_of(table, states, reference, state), notes
