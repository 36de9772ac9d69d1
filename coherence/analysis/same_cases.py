"""The rows of several models about the same cases: what is compared is compared case by case.

A case is a context of a task with all that is known of it: what came true, the exact posterior, the
group, the evidence. Tables whose cases differ under one id are refused, with what differs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.reading import as_runs
from coherence.errors import InputError, listing
from coherence.inputs import MIN_CONTEXTS, require
from coherence.printable import counted
from coherence.runs.columns import Reading
from coherence.runs.notes import Code
from coherence.runs.runs import EVALUATION, Runs
from coherence.runs.states import label_text

TOLERANCE = 1e-6  # what a text file may have rounded off a number
N_ERRORS, N_SHOWN = 6, 3
LACKING = "Ask the models for what they lack, or keep what all have: common=True (--common)."
UNLIKE = (
    "Compare runs about the same cases: ids say which is which (--context COLUMN). Models, or "
    "hospitals, of different cases stand beside each other in coherence analyze."
)
ANOTHER_CASE = (
    "Where two cases have one id, give one of them another, and keep what all have: common=True "
    "(--common). Where it is one case, correct what the tables say of it; where the truth says "
    "whether each model's own answer is right, name answers and right ones: --prediction, --gold."
)
KNOWN = ("theta", "p_true", "group")
"""What the table of one model may say of a case for all models."""


@dataclass(frozen=True)
class Task:
    """One task, and what several models answered about its cases."""

    name: str
    rows: Mapping[str, Runs]  # model -> rows, with what any table says of their cases
    contexts: tuple[str, ...]  # ids of the cases, sorted
    reference: str  # prompt of the beliefs that are compared with anything else, of all models


Sources = Runs | pd.DataFrame | Mapping[str, Runs | pd.DataFrame]


def where_of(task: str) -> str:
    """Return how a message on a task begins."""
    return f"task {task!r}: " if task else ""


def _as_text(value: Any) -> str:
    """Write an id or a label so that 1, 1.0 and "1" are one: files keep types differently."""
    return str(int(value)) if isinstance(value, bool | np.bool_) else label_text(value)


def _completed(runs: Runs | pd.DataFrame, source: str, reading: Reading) -> Runs:
    """Validate one table, fill what may be absent, and write ids of contexts as text."""
    table = as_runs(runs, reading)
    where = f" of {source!r}" if source else ""
    require(
        "context" in table.names,
        f"runs{where} must have a column 'context': models are compared case by case, and rows "
        "without ids cannot be matched. Name the column that says which (--context NAME).",
    )
    completed = table.completed()
    ids = completed.table.groupby([*EVALUATION], sort=False)["context"].unique()
    for key, contexts in ids.items():
        texts = pd.Series(list(map(_as_text, contexts)))
        twice = texts[texts.duplicated()]
        require(
            twice.empty,
            f"ids of cases must differ as text; received {listing(map(repr, twice), 1)} twice "
            f"in {key!r}{where}. Rename one of them.",
        )
    context = completed.table["context"].map(_as_text).astype(object)
    return completed.subset(completed.table.assign(context=context))


def _by_task_and_model(runs: Sources, reading: Reading) -> dict[str, dict[str, Runs]]:
    """Part runs by task and model; a model that is in two tables on one task is two models."""
    sources = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    parts: dict[tuple[str, str], list[tuple[str, Runs]]] = {}
    for source, given in sources.items():
        table = _completed(given, str(source), reading)
        for (task, model), of_model in table.table.groupby([*EVALUATION], sort=False):
            key = str(task), str(model) or str(source)
            parts.setdefault(key, []).append((str(source), table.subset(of_model)))
    twice = {model for (_, model), of_sources in parts.items() if len(of_sources) > 1}
    tasks: dict[str, dict[str, Runs]] = {}
    for (task, model), of_sources in sorted(parts.items(), key=lambda part: part[0][0]):
        for source, rows in of_sources:
            name = f"{model} ({source})" if model in twice and source != model else model
            tasks.setdefault(task, {})[name] = rows
    return tasks


def _facts(rows: Runs) -> pd.DataFrame:
    """What is known of each case, by context; columns without any value left out.

    Whether an own answer is right is no fact of the case.
    """
    plain = rows.table[~rows.given_z]  # rows given z may hold the posterior given z
    own = any(note.code is Code.PREDICTIONS for note in rows.notes)
    of_case = [name for name in KNOWN if name in rows.names and not (own and name == "theta")]
    names = [*of_case, *rows.features]
    facts = plain.groupby("context", sort=True)[names].first()
    return facts.dropna(axis="columns", how="all")


def _differ(first: pd.Series, second: pd.Series) -> "pd.Series[bool]":
    """Tell in which cases two tables know different things of a column."""
    both = first.notna() & second.notna()
    one, other = (
        pd.to_numeric(column.map(_as_text), errors="coerce") for column in (first, second)
    )
    away = (one - other).abs() > TOLERANCE * (1 + one.abs())
    unlike = first.map(_as_text) != second.map(_as_text)
    return both & away.where(one.notna() & other.notna(), unlike)


def _contradictions(facts: Mapping[str, pd.DataFrame], named: Mapping[str, str]) -> Iterator[str]:
    """Compare every model's cases with those of the first that knows a column."""
    seen: dict[str, tuple[str, pd.Series]] = {}
    for model, table in facts.items():
        for column in table.columns:
            first, known = seen.setdefault(column, (model, table[column]))
            known = known.reindex(table.index)
            differ = _differ(known, table[column])
            if differ.any():
                at = differ.index[int(np.argmax(differ.to_numpy()))]
                yield (
                    f"{named.get(column, column)} differs in {int(differ.sum())} of {len(table)} "
                    f"cases of {first!r} and {model!r}, the first is {at!r}: "
                    f"{_as_text(known[at])} and {_as_text(table[column][at])}"
                )


def _with_facts(rows: Runs, facts: pd.DataFrame) -> Runs:
    """Give rows what is known of their cases."""
    context, known = rows.table["context"], dict[str, Any]()
    for name in facts.columns.intersection([*KNOWN]):
        values = facts[name]
        if name == "theta":
            values = values.dropna().astype(object)
            texts = values.map(_as_text)
            # Two files may write one state as 1 and as "1".
            values = texts if texts.nunique() < values.nunique() else values
        known[name] = context.map(values)
    if "p_true" in known:
        known["p_true"] = known["p_true"].where(~rows.given_z)
    return rows.subset(rows.table.assign(**known))


def _asked_alike(name: str, rows: Mapping[str, Runs]) -> tuple[dict[str, Runs], list[str]]:
    """Keep the prompts and variables z that every model was asked, and say what was left out."""
    notes, kept = [], dict(rows)
    for column, what in (("prompt", "prompts"), ("z", "variables z")):
        asked = {
            model: set(of.table.loc[of.given_z == (column == "z"), column].dropna().astype(str))
            if column in of.names
            else set()
            for model, of in kept.items()
        }
        shared = set.intersection(*asked.values())
        if apart := sorted(set.union(*asked.values()) - shared):
            shown = listing(map(repr, apart))
            notes.append(f"{where_of(name)}{what} that not every model has were left out: {shown}.")
            for model, of in kept.items():
                cells = of.table[column] if column in of.names else pd.Series(index=of.table.index)
                kept[model] = of.subset(of.table[cells.isna() | cells.astype(str).isin(shared)])
    return kept, notes


def _unlike(rows: Mapping[str, Runs], n_contexts: int) -> str:
    """Say why models of a task with the same cases cannot be compared; empty where they can."""
    if n_contexts < MIN_CONTEXTS:
        return (
            f"runs must have at least {MIN_CONTEXTS} common cases; received {n_contexts}. Ask "
            "about more cases."
        )
    prompts = {model: set(of.table.loc[~of.given_z, "prompt"]) for model, of in rows.items()}
    if set.intersection(*prompts.values()):
        return ""
    asked = "; ".join(f"{model!r}: {listing(sorted(own))}" for model, own in prompts.items())
    return (
        f"runs must have a prompt in common; received {asked}. Where one prompt has several names, "
        "give it one."
    )


def _task(
    name: str, rows: Mapping[str, Runs], common: bool, reference: str | None
) -> tuple[Task | str, list[str]]:
    """Join the models of one task by its cases, or say why it cannot be compared."""
    contexts = {model: set(of.table["context"]) for model, of in rows.items()}
    kept, everywhere = set.intersection(*contexts.values()), set.union(*contexts.values())
    missing = [
        f"model {model!r} lacks {len(lacking)} of {len(everywhere)} cases "
        f"({listing(map(repr, lacking), N_SHOWN)})"
        for model, there in contexts.items()
        if (lacking := sorted(everywhere - there))
    ]
    notes = list[str]()
    if missing and common:
        notes.append(
            f"{where_of(name)}{len(everywhere) - len(kept)} of {len(everywhere)} cases were "
            f"left out, which not every model was asked about: {listing(missing, N_SHOWN)}."
        )
    shared = {
        model: of.subset(of.table[of.table["context"].isin(kept)]) for model, of in rows.items()
    }
    facts = {model: _facts(of) for model, of in shared.items()}
    named = next(iter(shared.values())).named.columns
    contradictions = list(_contradictions(facts, named))
    errors, remedy = [*([] if common else missing), *contradictions], LACKING
    if not kept:
        errors, remedy = ["no case is common to all models"], UNLIKE
    elif contradictions:
        remedy = ANOTHER_CASE
    if errors:
        raise _refusal([where_of(name) + error for error in errors], remedy)
    if unlike := _unlike(shared, len(kept)):
        return where_of(name) + unlike, []
    known = pd.concat(facts.values()).groupby(level=0).first()
    for column in known.columns.intersection([*KNOWN]):
        if without := [model for model, table in facts.items() if column not in table.columns]:
            lack = f"{column} is not in the table of {listing(map(repr, without), N_SHOWN)}"
            notes.append(f"{where_of(name)}{lack}; that of the other tables was taken.")
    shared, left_out = _asked_alike(name, {m: _with_facts(of, known) for m, of in shared.items()})
    # The reference is found by the rows and actions of all models together.
    asked = [
        of.table[["prompt"]].assign(
            z_state=of.table["z_state"].astype(object),
            action=of.asked_to_act.astype(object).where(of.asked_to_act, None),
        )
        for of in shared.values()
    ]
    together = Runs(pd.concat(asked, ignore_index=True))
    prompt = together.reference(reference, where=f"{where_of(name)}all models")
    return Task(name, shared, tuple(sorted(kept)), prompt), [*notes, *left_out]


def shared_tasks(
    runs: Sources, reading: Reading, *, common: bool, reference: str | None
) -> tuple[list[Task], list[str]]:
    """Return the tasks that several models were asked, and what was assumed or left out.

    Raises `InputError` where models lack cases or tasks of others, unless `common` keeps what all
    have, and where cases of one id are not the same.
    """
    by_task = _by_task_and_model(runs, reading)
    models = list(dict.fromkeys(model for rows in by_task.values() for model in rows))
    require(
        len(models) > 1,
        f"runs must hold at least two models; received {listing(map(repr, models)) or 'none'}. "
        "Give several tables, or one with a column 'model'.",
    )
    tasks, errors, notes = [], list[str](), list[str]()
    for name, rows in by_task.items():
        if absent := [model for model in models if model not in rows]:
            lack = f"task {name!r}: not asked of {listing(map(repr, absent), N_SHOWN)}"
            if not common:
                raise _refusal([lack], LACKING)
            notes.append(f"{lack}.")
        if len(rows) < 2:
            notes.append(f"task {name!r}: of one model only, and not compared.")
            continue
        task, of_task = _task(name, rows, common, reference)
        notes += of_task
        if isinstance(task, Task):
            tasks.append(task)
        else:
            errors.append(task)
    if errors and not tasks:
        raise InputError.all_at_once("", errors)
    require(bool(tasks), "runs must have a task that two models were asked; received none.")
    return tasks, [*(f"not compared: {error}" for error in errors), *notes]


def _refusal(errors: Sequence[str], remedy: str) -> InputError:
    n_more = len(errors) - N_ERRORS
    more = [f"and {counted(n_more, 'more difference')}"] if n_more > 0 else []
    opening = "runs must be about the same cases in every model"
    if len(errors) == 1:
        return InputError(f"{opening}; {errors[0]}. {remedy}")
    return InputError.all_at_once(opening, [*errors[:N_ERRORS], *more, remedy])
