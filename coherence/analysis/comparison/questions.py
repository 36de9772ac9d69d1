"""What all models of a task were asked alike: prompts, variables z, and the state of a belief."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from coherence.analysis.comparison.cases import Task
from coherence.analysis.comparison.effects import Answers
from coherence.analysis.reading import positive_labels, states_of_tasks
from coherence.checks.catalogue import declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import MIN_CONTEXTS, as_codes
from coherence.report.variation import Variation
from coherence.table.audit import answering
from coherence.table.printable import clean, format_numbers
from coherence.table.runs import Runs
from coherence.table.states import meant_by

# Of their declarations it follows whether it must be known which state beliefs are in.
_CHECKS = ("calibration", "sufficiency")
Everything = Mapping[str, Mapping[str, Runs]]


def asked_alike(
    tasks: Sequence[Task],
    positive: Any,
    reference: str | None,
    everything: Everything,
    state: str = "auto",
) -> tuple[dict[str, dict[str, Answers]], list[str]]:
    """Return the answers to shared questions by task and model, and what was left out.

    A task whose models have too few cases or no prompt in common is left out, unless it is the only
    one. `everything` has the rows of tasks that are not compared too, whose states may be named.
    """
    answers: dict[str, dict[str, Answers]] = {}
    errors, notes = [], []
    for task in tasks:
        if error := _error(task):
            errors.append(task.where + error)
            continue
        answers[task.name], of_task = _answers(task, positive_labels(positive), reference, state)
        notes += of_task
    if not answers:
        raise InputError.all_at_once("", errors)
    left_out = [f"not compared: {error}" for error in errors]
    compared = [each.rows for task in answers.values() for each in task.values()]
    every = [rows for task in everything.values() for rows in task.values()]
    return answers, [*left_out, *notes, *_unused(positive, compared, every)]


def _error(task: Task) -> str:
    if len(task.contexts) < MIN_CONTEXTS:
        return (
            f"runs must have at least {MIN_CONTEXTS} common contexts; received "
            f"{len(task.contexts)}. Ask about more cases."
        )
    prompts = _prompts(task)
    if set.intersection(*prompts.values()):
        return ""
    asked = "; ".join(f"{model!r}: {listing(sorted(own))}" for model, own in prompts.items())
    return (
        f"runs must have a prompt in common; received {asked}. Where one prompt has several names, "
        "give it one."
    )


def _prompts(task: Task) -> dict[str, set[Any]]:
    """Return what beliefs, and not those given z, were asked by."""
    return {
        model: set(rows.table.loc[~rows.given_z, "prompt"].dropna())
        for model, rows in task.rows.items()
    }


def _variables(task: Task) -> dict[str, set[str]]:
    return {
        model: set(rows.table.loc[rows.known("z"), "z"].astype(str)) if "z" in rows.names else set()
        for model, rows in task.rows.items()
    }


def _answers(
    task: Task, wanted: Sequence[Any], named: str | None, state: str
) -> tuple[dict[str, Answers], list[str]]:
    """Read one task: shared prompts and variables, a reference prompt, and states."""
    prompts, variables, notes = _prompts(task), _variables(task), []
    for what, every in (("prompt variants", prompts), ("variables z", variables)):
        apart = sorted(set.union(*every.values()) - set.intersection(*every.values()))
        if apart:
            shown = listing(map(repr, apart))
            notes.append(
                f"{task.where}{what} that not every model was asked were left out: {shown}."
            )
    shared, same_z = (set.intersection(*each.values()) for each in (prompts, variables))
    # The reference is found by the actions and rows of all models together.
    together = pd.concat(
        [
            rows.table[["prompt"]].assign(
                z_state=rows.table["z_state"].astype(object),
                action=rows.asked_to_act.astype(object).where(rows.asked_to_act, None),
            )[rows.table["prompt"].isin(shared)]
            for rows in task.rows.values()
        ],
        ignore_index=True,
    )
    reference = Runs(together).reference(named, where=f"{task.where}all models")
    checks = [declaration(name) for name in _CHECKS]
    answers = {}
    for model, rows in task.rows.items():
        meant = [word for word in wanted if meant_by(word, _state_names(rows))]
        labels, positive = states_of_tasks(rows, meant or None, checks)[task.name]
        table = rows.table
        asked = table["prompt"].isin(shared)
        if "z" in rows.names:
            asked |= table["prompt"].isna()  # beliefs given z, of the reference prompt
            asked &= table["z"].isna() | table["z"].astype(str).isin(same_z)
        answers[model] = Answers(
            rows.subset(table[asked]),
            reference,
            tuple(sorted(shared - {reference})),
            positive,
            labels,
            bool((rows.asked_to_act & ~asked).any()),
            state,
        )
    answers, of_state = _one_state(task, answers)
    return answers, [*_little(task, answers), *notes, *of_state, *_ways(task)]


def _one_state(task: Task, answers: dict[str, Answers]) -> tuple[dict[str, Answers], list[str]]:
    """Let all models of a task be compared by one state: exact only where all have it."""
    exact = {model: each.evaluation.exact_state for model, each in answers.items()}
    kind = "exact" if all(exact.values()) else "realised"
    note = []
    if any(exact.values()) and kind == "realised":
        lacking = listing([repr(model) for model, known in exact.items() if not known])
        note = [f"{task.where}choices are compared with theta, for {lacking} lacks p_true."]
    return {model: replace(each, state=kind) for model, each in answers.items()}, note


def _little(task: Task, answers: Mapping[str, Answers]) -> list[str]:
    """Return a note for each model that hardly moves: small effects are no merit of its."""
    return [
        f"{task.where}{model!r} hardly moves ({_stillness(each.variation)}): it is ranked in "
        "distance to the truth and in unparsed answers alone."
        for model, each in answers.items()
        if each.variation.narrow or each.variation.one_sided
    ]


def _stillness(varies: Variation) -> str:
    beliefs = f"its beliefs have an SD of {format_numbers([varies.sd])[0]}" if varies.narrow else ""
    action, share = next(iter(varies.actions.items()), ("", 0.0))
    choices = f"{clean(action, limit=30)} is {share:.1%} of its choices" if varies.one_sided else ""
    return " and ".join(filter(None, [beliefs, choices]))


def _state_names(rows: Runs) -> list[Any]:
    """Return what states are called: by their columns, or else in theta."""
    return rows.state_names or list(as_codes(rows.theta, "theta")[1])


def _unused(positive: Any, compared: Sequence[Runs], every: Sequence[Runs]) -> list[str]:
    """Note labels of what was not compared, as one command may compare what another analyses."""
    wanted = positive_labels(positive)
    names = [name for rows in compared for name in _state_names(rows)]
    unused = [word for word in wanted if not meant_by(word, names)]
    if not unused:
        return []
    everywhere = [name for rows in every for name in _state_names(rows)]
    unknown = [word for word in unused if not meant_by(word, everywhere)]
    if unknown:
        raise InputError(
            f"positive must be a label of theta; received {listing(map(repr, unknown))}. "
            f"{closest(str(unknown[0]), dict.fromkeys(map(str, everywhere)))}"
        )
    return [f"positive: nothing that is compared has the states of {listing(map(repr, unused))}."]


def _ways(task: Task) -> list[str]:
    """Say where models answered in different ways."""
    ways = {}
    for model, rows in task.rows.items():
        way = answering(rows)
        kinds = listing(way.kinds) or "not said"
        ways[model] = f"{kinds}, actions as probabilities" if way.policies else kinds
    if len(set(ways.values())) < 2:
        return []
    said = "; ".join(f"{model!r} {way}" for model, way in ways.items())
    return [
        f"{task.where}beliefs were elicited in different ways ({said}): differences may be theirs."
    ]
