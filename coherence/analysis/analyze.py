"""From a runs table to a report: every check that the columns allow, for each (task, model).

Checks declare what they need and turn the data of an evaluation into calls; here it is decided
which rows they get, whether there are any, and from which stream they draw. What cannot be run is
not passed over: notes say what was left out and why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.evaluation import EvaluationRows, joined_names, require_kind_of_state
from coherence.analysis.finishing import adjusted, measured, with_results
from coherence.analysis.reading import (
    as_runs,
    positive_labels,
    read_evaluations,
    settled_by_choice,
)
from coherence.checks import CHECKS
from coherence.checks.check import Call, Check, declaration, declared_name, run
from coherence.checks.sufficiency import NAME as PRIMARY
from coherence.errors import InputError, closest, listing
from coherence.inputs import number_of_jobs, require
from coherence.printable import counted
from coherence.public_names import rng_for_seed
from coherence.report.evaluation import EvaluationReport
from coherence.report.json import package_version, versions
from coherence.report.report import Report
from coherence.report.verdicts import as_margin
from coherence.result import Family
from coherence.runs import needs
from coherence.runs.columns import Reading
from coherence.runs.notes import Code, Level, Note, not_run, warning
from coherence.runs.runs import REFERENCE, Runs
from coherence.statistics.resample import Progress, Seed, as_seed, run_calls
from coherence.statistics.shares import clustered_auc


def _spoken(checks: Sequence[Check]) -> str:
    return joined_names([check.spoken for check in checks])


def _not_run(reason: str, checks: Sequence[Check]) -> Note:
    text = f"{reason}: {_spoken(checks)} {'were' if len(checks) > 1 else 'was'} not run."
    return not_run(text, *(check.name for check in checks))


def _left_out(evaluation: EvaluationRows, checks: Sequence[Check]) -> Iterator[Note]:
    """Count the rows that the checks of belief against action cannot use."""
    rows, parsed, acted = evaluation.reference_rows, evaluation.parsed, evaluation.with_action
    asked, used, lack = evaluation.action_requested, acted, "belief or action"
    where = " of the checks that need both"
    if asked.empty:
        asked, used, lack, where = rows, parsed, "belief", ""
    if len(asked) < len(rows):
        text = (
            f"{len(rows) - len(asked)} of {counted(len(rows), 'row')} asked for no action: "
            "the checks of belief against action leave them out."
        )
        yield Note(Code.LEFT_OUT, text)
    if len(used) < len(asked):
        # Beliefs in some rows and choices in others, as of questions with a level.
        apart = used.empty and bool(where) and not parsed.empty
        hint = " If choices are between the event and stated chances, name these: --level COLUMN."
        text = (
            f"{len(asked) - len(used)} of {counted(len(asked), 'row lacks', 'rows lack')} a "
            f"parsed {lack} and were left out{where}.{hint * apart}"
        )
        yield Note(Code.LEFT_OUT, text)
    n_complete = len(evaluation.complete_cases)
    states_known = evaluation.runs.known("theta")[evaluation.action_requested.index].any()
    if states_known and 0 < n_complete < len(acted):
        text = (
            f"{len(acted) - n_complete} of {len(acted)} rows with a parsed belief and action lack "
            "the state and were left out of the checks that need it."
        )
        yield Note(Code.LEFT_OUT, text)
    others = evaluation.other_prompts
    n_acted = int(evaluation.runs.acted[others.index].sum())
    # Beliefs alone, beside the usual wording, are there to be compared with it.
    if len(others) and (n_acted or evaluation.reference != REFERENCE):
        though = (
            f", {n_acted} of them with an action (--reference NAME takes another; models side by "
            "side are named by --model-column)"
        )
        every = [check for check in checks if check.every_prompt]
        text = (
            f"the reference prompt is {evaluation.reference!r}: {len(others)} of "
            f"{len(others) + len(rows)} rows are under others "
            f"({listing(sorted(set(others['prompt'])))}) and enter "
            f"{f'{_spoken(every)} alone' if every else 'no check'}{though if n_acted else ''}."
        )
        # Choices under them nobody would miss on the screen.
        yield Note(Code.REFERENCE, text, Level.ALERT if n_acted else Level.INFO)


LACKS: dict[str, tuple[Callable[[EvaluationRows], bool], str]] = {
    needs.P: (lambda of: "p" not in of.rows, "no p column"),
    needs.ANOTHER_PROMPT: (lambda of: of.other_prompts.empty, "only one prompt"),
    needs.GIVEN_Z: (
        lambda of: not ({"p", "z", "p_z"} <= {*of.rows} and of.runs.given_z.any()),
        "no z, z_state and p_z columns",
    ),
    needs.MATCHING_QUESTIONS: (
        lambda of: of.questions("level") is None,
        f"no case has a parsed belief and an answer to {needs.MATCHING_QUESTIONS}",
    ),
    needs.STAKES_QUESTIONS: (
        lambda of: of.questions("loss") is None,
        "no case has a parsed belief and a choice at a stake",
    ),
}
"""Need of rows that are asked on purpose -> whether an evaluation lacks them, and the reason."""


def lack_of(evaluation: EvaluationRows, check: Check) -> str:
    """Return why an evaluation has no rows for a check; empty where it has.

    The first reason of those that hold.
    """
    runs, of_state = evaluation.runs, evaluation.of_state(check.needs)
    of_action = needs.ACTION in check.needs
    of_truth = bool({needs.THETA, needs.TARGET} & {*check.needs})
    if evaluation.crossed and not check.of_persons:
        return "persons judged the same cases, and these take the rows of a case for one agent's"
    if of_action and evaluation.action_requested.empty:
        none = "no actions" if runs.levels is None else "beliefs were asked apart"
        return _without(evaluation, "action", none, "--action")
    if of_state and not runs.known("theta")[evaluation.action_requested.index].any():
        return _without(evaluation, "theta", "theta is empty", "--truth")
    if of_action and evaluation.rows_for(check.needs).empty:
        return f"no row has a parsed belief{', action and state' if of_state else ' and action'}"
    # Whichever state came true, choices must move with the belief in one; with a theta of three
    # states it is not known in which.
    if evaluation.n_states_seen and of_action and not of_truth:
        return f"two states are needed, and theta has {evaluation.n_states_seen} states"
    if needs.ONE_BELIEF in check.needs and not evaluation.in_two_states:
        return f"a belief in one of two is needed, not over {len(evaluation.states)} states"
    if runs.graded and of_truth and check.needs != needs.STATE_AND_CHOICES:
        return "the truth differs between rows of a case: its share there is the state"
    if of_action and of_truth and "loss" in evaluation.rows:
        settled = "".join(note.text.rstrip(".") for note in settled_by_choice(evaluation))
        return settled or UNLIKE_STAKES * unlike_stakes(evaluation.rows)
    lacks = (LACKS[need] for need in check.needs if need in LACKS)
    return next((reason for is_lacking, reason in lacks if is_lacking(evaluation)), "")


# Share of cases that have each stake, at the least, and of the variance of stakes that lies between
# cases, at the most: some of the rows may be missing.
EACH_STAKE, MOST_BETWEEN = 0.8, 0.05
UNLIKE_STAKES = (
    "stakes differ between cases, and where they go with the truth, as odds do, choices of any "
    "agent do: compare cases of like stakes (--where)"
)


def unlike_stakes(rows: pd.DataFrame) -> bool:
    """Tell whether cases differ in their stakes: in beliefs from which acting pays."""
    stake = (
        (rows["loss"] / (rows["loss"] + rows["gain"])).mask(np.isinf(rows["loss"]), 1.0).dropna()
    )
    cases = rows["context"].astype(str)[stake.index]
    means = stake.groupby(cases).transform("mean")
    having = cases.groupby(stake.round(2)).nunique()  # amounts in whole cents have like odds
    uneven = means.var(ddof=0) > MOST_BETWEEN * stake.var(ddof=0) + 1e-12
    return bool(uneven or (having < EACH_STAKE * cases.nunique()).any())


def _without(evaluation: EvaluationRows, column: str, empty: str, option: str) -> str:
    hint = f"no {column} column ({option} NAME, if it has another name)"
    return empty if column in evaluation.rows.columns else hint


def _states(evaluation: EvaluationRows) -> Iterator[Note]:
    """Say how beliefs and states were matched, and that beliefs are lower where the state is."""
    if evaluation.state_note:
        yield Note(Code.STATE, evaluation.state_note)
    if evaluation.merged_states:
        merged = evaluation.merged_states.items()
        labels = listing([f"{label!r} ({n} rows)" for label, n in merged], 4)
        yield warning(
            Code.STATE,
            f"{evaluation.runs.named.plain('theta')}: all labels but that of the belief count as "
            f"the other state: {labels}. Leave out the rows of those that do not say what came "
            "true (--where).",
        )
    rows = evaluation.parsed[evaluation.state.notna()]
    if not evaluation.in_two_states or rows.empty:
        return
    clusters = rows["context"].astype(str)
    if "group" in rows.columns:
        clusters = clusters.where(rows["group"].isna(), rows["group"].astype(str))
    area, low, high = clustered_auc(
        evaluation.belief(rows),
        np.asarray(evaluation.state[rows.index]),
        pd.factorize(clusters)[0],
    )
    if high < 0.5:
        yield warning(
            Code.REVERSED,
            "beliefs are lower where the state came true: of two cases, one with it and one "
            f"without, the one with it has the higher belief in {area:.0%} (95% interval "
            f"{max(low, 0):.0%} to {high:.0%}). If truth or belief is coded the other way round, "
            "name the state that the belief is in (--positive LABEL).",
        )


def _exact_state(evaluation: EvaluationRows, checks: Sequence[Check]) -> Iterator[Note]:
    """Say which checks take the exact posterior for the state, and why."""
    taking = [check for check in checks if check.needs == needs.STATE_AND_CHOICES]
    rows, text = evaluation.with_action, ""
    known = int(evaluation.runs.known("p_true")[rows.index].sum())
    if evaluation.exact_state and not evaluation.runs.graded:
        text = (
            "the exact posterior p_true, which every row has: free of the toss that decides theta "
            "(--state realised takes theta)."
        )
    elif evaluation.in_two_states and len(evaluation.complete_cases) and 0 < known < len(rows):
        text = (
            f"theta: of {len(rows)} rows with a belief and an action {known} have p_true, which is "
            "taken where all do."
        )
    if taking and text:
        yield Note(Code.STATE, f"the state of {_spoken(taking)} is {text}")


def _groups(evaluation: EvaluationRows) -> Note:
    """Say what groups of cases are the clusters of."""
    n_groups, level = evaluation.rows["group"].nunique(), Level.INFO
    groups = f"{counted(n_groups, 'group')} of cases"
    if n_groups == 1:
        level = Level.WARNING
        said = (
            f"{evaluation.runs.named.plain('group')} is the same in all cases: as one group they "
            "depend on each other, and what needs several has no interval. Name what only some "
            "cases share, or no group."
        )
    elif evaluation.crossed:
        said = f"{groups} are the clusters of scores and distances."
    elif evaluation.with_action.empty:
        said = f"{groups} are the clusters of tests and intervals."
    else:
        said = (
            f"choices are compared within {groups}, which are the clusters of all other tests and "
            "intervals."
        )
    return Note(Code.GROUPS, said, level)


def _persons(evaluation: EvaluationRows, checks: Sequence[Check], published: bool) -> list[Note]:
    """Say how persons who judged the same cases enter."""
    if not evaluation.crossed:
        lone = "person" in evaluation.rows.columns
        alone = "no two persons judged the same case here: persons were not used."
        return [Note(Code.PERSONS, alone)] * lone
    grouped = "group" in evaluation.runs.names
    how = f"{'groups' if grouped else 'cases'} are the clusters of intervals."
    if not published and any(needs.ACTION in check.needs for check in checks):
        within = ", within groups of cases" if grouped else ""
        how = (
            f"choices are compared at each person's own belief{within}; cases and persons are the "
            "clusters. Single reports are taken as exact."
        )
    persons, cases = evaluation.rows["person"].nunique(), evaluation.rows["context"].nunique()
    judged = f"{counted(persons, 'person')} judged {counted(cases, 'case')}: {how}"
    notes = [Note(Code.PERSONS, judged)]
    if "loss" in evaluation.rows:
        text = (
            "whether choices move with the stakes is not told of persons together: name them as "
            "models (--model-column in place of --person), and it is told of each."
        )
        notes.append(warning(Code.PERSONS, text))
    return notes


def _never_acts(evaluation: EvaluationRows) -> Iterator[Note]:
    """Say where no row chooses the action that stakes: it may be none, or misspelt."""
    rows = evaluation.rows
    if "acts" not in rows or "action" not in rows or evaluation.policies:
        return
    chosen = rows["action"].dropna().astype(str).unique()
    label = rows["acts"].dropna().astype(str)
    if len(chosen) and len(label) and label.iloc[0] not in chosen:
        yield warning(
            Code.UNNAMED_STAKES,
            f"no row chooses {label.iloc[0]!r}, so it is taken never to act: all its choices are "
            f"{listing([*map(repr, chosen)], 2)} (--acts names the one that stakes).",
        )


def plan_evaluation(
    evaluation: EvaluationRows,
    names: Sequence[str],
    *,
    published: bool,
    named: bool = True,
    full: bool = False,
) -> tuple[list[tuple[str, Call]], list[Note]]:
    """Plan every check that was asked for and that the rows allow: calls by its name, and notes.

    Checks that nobody `named` are those that run by themselves; `full` adds all of their parts.
    """
    checks = [declaration(name) for name in names]
    checks = [check for check in checks if named or check.by_itself(evaluation.runs)]
    if evaluation.runs.given_z.all():
        untestable = "every row holds a belief given z, and none one without it: untestable."
        return [], [not_run(untestable, *names)]
    if evaluation.crossed:  # of checks that no column of the table allows nothing is said
        unmet = evaluation.runs.unmet()
        checks = [check for check in checks if check.of_persons or not unmet & set(check.needs)]
    lacks: dict[str, list[Check]] = {}  # by the reason, the primary test first
    for check in sorted(checks, key=lambda check: check.family is not Family.PRIMARY):
        lacks.setdefault(lack_of(evaluation, check), []).append(check)
    there = lacks.pop("", [])
    notes = [
        *_persons(evaluation, there, published),
        *_left_out(evaluation, there),
        *_never_acts(evaluation),
        *(_not_run(reason, of_reason) for reason, of_reason in lacks.items()),
        *_states(evaluation),
        *(() if published else _exact_state(evaluation, there)),
    ]
    if "group" in evaluation.runs.names and not published:
        notes.insert(0, _groups(evaluation))
    if evaluation.runs.graded:
        text = "the truth differs between rows of a case: its share there is the state."
        notes.append(Note(Code.STATE, text))
    calls = list[tuple[str, Call]]()
    # By evidence, that of the primary test first; else in the order of the catalogue.
    for check in sorted(there, key=lambda check: needs.EVIDENCE.index(check.needs)):
        data = evaluation.data(check.needs)
        parts = [p for p in check.parts if named or full or p.by_itself(evaluation.runs)]
        for declared in (of for of in (check, *parts) if of.of_papers or not published):
            for step in declared.plan(data, published):
                if isinstance(step, Note):
                    notes.append(step)
                else:
                    calls.append((check.name, step))
    return calls, notes


def _checked_names(checks: Sequence[str] | None) -> tuple[str, ...]:
    if checks is None:
        return tuple(CHECKS)
    require(
        isinstance(checks, Iterable) and not isinstance(checks, str),
        f"checks must be a list of names; received {checks!r}. Write "
        f"{[checks] if isinstance(checks, str) else ['cmi']}.",
    )
    checks = list(checks)
    for name in checks:
        if name not in CHECKS:
            raise InputError(
                f"checks must be among {', '.join(CHECKS)}; received {name!r}. "
                f"{closest(name, CHECKS)}"
            )
    if not checks:
        raise InputError(
            "checks must name at least one check; received none. Leave the argument out to run all."
        )
    return tuple(name for name in CHECKS if name in checks)


def _ran_by_themselves(names: Sequence[str], evaluations: Sequence[EvaluationReport]) -> list[str]:
    """Return the checks that run on any table, and those that did on this one."""
    ran = {
        declared_name(result.check) for evaluation in evaluations for result in evaluation.results
    }
    anything = Runs(pd.DataFrame())
    return [name for name in names if name in ran or declaration(name).by_itself(anything)]


@rng_for_seed
def analyze(
    runs: Runs | pd.DataFrame | str | os.PathLike[str],
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    checks: Sequence[str] | None = None,
    full: bool = False,
    published: bool = False,
    strict: bool = False,
    positive: Any = None,
    reference: str | None = None,
    state: str = "auto",
    prediction: str | None = None,
    gold: str | None = None,
    acts: str | None = None,
    margin: float | None = None,
    n_jobs: int = 1,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Report:
    """Run every check that the columns allow, for each (task, model).

    Parameters
    ----------
    runs : DataFrame, path or Runs
        A runs table, or the file that `coherence.read_runs` reads it from; see
        `coherence.runs.columns.COLUMNS`. Beliefs ``p`` and something to check them against suffice,
        such as ``action`` or ``theta``. What `read_runs` returns is not validated again.
    columns : mapping of str to str or list of str, optional
        What your columns are called, as for `coherence.read_runs` and on the command line:
        ``{"belief": "confidence", "truth": "correct", "context": "question"}``. A file whose cells
        need more words is read with `coherence.read_runs`.
    checks : sequence of str, optional
        Names out of `coherence.checks.CHECKS`; None runs all, of which `evidence_leak`
        only where ``truth_kind`` says that states were drawn.
    full : bool
        With all checks also run the forests that the gaps of `iterated_expectation` are read
        against, which take long; where `checks` names it, they run without.
    published : bool
        Run the papers' own procedures instead of those that respect contexts.
    strict : bool
        Treat repaired answers as unreadable, so that only answers in the exact form enter the
        checks.
    positive : label or list of labels, optional
        The state whose probability `p` is, as theta names it; for tasks with different states a
        label of each. May be left out where the states are 0 and 1, no and yes, or false and true,
        or have columns p_<state> of their own.
    reference : str, optional
        The prompt whose beliefs are held against actions, states and other prompts, in every task
        and model; None takes "standard", else the one with the most actions, then the most rows,
        then the first by name.
    state : {"auto", "exact", "realised"}
        The state that `sufficiency` compares actions with: the exact posterior ``p_true`` or the
        realised ``theta``. "auto" takes the posterior where every row with a belief and an action
        has it, in two states: actions can know of theta only what the evidence says, and the rest
        is the toss of a coin.
    prediction, gold : str, optional
        Columns with predicted and with right labels, where ``p`` is the confidence in the
        prediction: the state is then whether the two are the same.
    acts : str, optional
        The action that stakes the columns ``gain`` and ``loss``; the other one passes.
    margin : float, optional
        Largest difference that counts as none, such as 0.05. The conclusion then also says whether
        the plain average of `sufficiency` is shown to lie within it, by two one-sided tests at
        2.5%, that is, by 95% intervals of all actions that lie between minus and plus the margin.
    n_jobs : int
        Processes for joblib; -1 for all cores. Results do not depend on it.
    rng : Generator, int or None
        Source of randomness; every check has a stream of its own, of the seed and its name, the
        same in every evaluation and where it is called by itself.
    progress : callable, optional
        Called with (done, total, label) before the first check and after each; the label is that
        of the check that runs.

    Returns
    -------
    Report
        All results, what they say, and what was left out.

    Raises
    ------
    SchemaError
        The table breaks the schema.
    InputError
        Unknown check, nothing says which of two states `p` is the probability of, or `reference`
        was not asked.

    Notes
    -----
    P-values are those of a table that is looked at once: studies that are analysed again as
    contexts come in, and end at the first p of at most .05, reject a true null more often.

    Examples
    --------
    >>> from coherence import simulate
    >>> runs = simulate("leaky", n_contexts=100, n_reps=3, rng=1)
    >>> report = analyze(runs, checks=["sufficiency"], rng=1)
    >>> report.results[["model", "check", "pvalue"]].round(4)
       model        check  pvalue
    0  leaky  sufficiency  0.0001
    """
    names = _checked_names(checks)
    margin = None if margin is None else as_margin(margin)
    require(
        margin is None or not checks or any(declaration(name).takes_margin for name in names),
        f"margin is held against the effect of {PRIMARY}, which checks leave out; received "
        f"checks={list(names)}. Add {PRIMARY} to them.",
    )
    n_jobs = number_of_jobs(n_jobs)
    require_kind_of_state(state)
    reading = Reading(columns or {}, prediction=prediction, gold=gold, acts=acts)
    table = as_runs(runs, reading)
    evaluations, assumed = read_evaluations(
        table, names, strict=strict, positive=positive, reference=reference, state=state
    )
    options: dict[str, Any] = {"named": checks is not None, "full": full, "published": published}
    base = as_seed(rng)
    plans = [plan_evaluation(each, names, **options) for _, each in evaluations]
    labels = [name for of_evaluation, _ in plans for name, _ in of_evaluation]
    calls = [(call, base) for of_evaluation, _ in plans for _, call in of_evaluation]
    outcomes = iter(run_calls(run, calls, n_jobs, progress=progress, labels=labels))
    results = [[each for _ in of for each in next(outcomes)] for of, _ in plans]
    every = zip(evaluations, plans, results, adjusted(results), strict=True)
    found = [
        with_results(measured(key, evaluation, assumed, notes), of, filled, margin)
        for (key, evaluation), (_, notes), of, filled in every
    ]
    seed = int(rng) if isinstance(rng, int | np.integer) else None
    settings = {
        "version": package_version("belief-coherence"),
        "versions": versions(published=published),
        "data": {
            "rows": len(table),
            "columns": len(table.names),
            "fingerprint": table.fingerprint,
        },
        "checks": list(names) if checks is not None else _ran_by_themselves(names, found),
        "published": published,
        "strict": strict,
        "seed": seed,
        "positive": list(map(str, positive_labels(positive))),
        "reference": reference,
        "state": state,
        **({"reading": words} if (words := reading.words()) else {}),
        **({} if margin is None else {"margin": margin}),
    }
    return Report(tuple(found), settings)
