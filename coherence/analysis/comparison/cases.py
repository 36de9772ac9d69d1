"""The cases of several models, and whether they are the same.

A case is a context of a task with all that is known of it: what came true, the exact posterior, the
evidence. Differences of models are differences about cases only where all were asked about the same
ones, so that runs whose cases differ are refused, with what differs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.reading import as_runs
from coherence.errors import InputError, listing
from coherence.inputs import require
from coherence.table.printable import counted
from coherence.table.reading import AS_IT_IS, Reading
from coherence.table.runs import EVALUATION, Runs
from coherence.table.states import label_text

TOLERANCE = 1e-6  # what a text file may have rounded off a number
N_ERRORS = 6
N_SHOWN = 3


@dataclass(frozen=True)
class Task:
    """One task, and what several models answered about its cases."""

    name: str  # task
    # model -> its rows, all about the cases of `contexts`; ``theta`` and ``p_true`` are those of
    # the case, also where only another model's table knows them
    rows: Mapping[str, Runs]
    contexts: tuple[str, ...]  # ids of the cases, sorted
    notes: tuple[str, ...] = ()  # what was assumed or left out

    @property
    def where(self) -> str:
        """How a message on the task begins."""
        return f"task {self.name!r}: " if self.name else ""


Sources = Runs | pd.DataFrame | Mapping[str, Runs | pd.DataFrame]


def _as_text(value: Any) -> str:
    """Write an id or a label so that 1, 1.0 and "1" are one: files keep types differently."""
    return str(int(value)) if isinstance(value, bool | np.bool_) else label_text(value)


def _completed(runs: Runs | pd.DataFrame, source: str, reading: Reading) -> Runs:
    """Validate one table, fill what may be absent, and write ids of contexts as text."""
    told = as_runs(runs, reading)
    where = f" of {source!r}" if source else ""
    require(
        "context" in told.names,
        f"runs{where} must have a column 'context': models are compared case by case, and rows "
        "without ids cannot be matched. Name the column that says which case a row is about.",
    )
    completed = told.completed()
    table = completed.table
    ids = table.groupby(["task", "model"], sort=False)["context"].unique()
    for key, of_evaluation in ids.items():
        texts = pd.Series([_as_text(value) for value in of_evaluation])
        twice = texts[texts.duplicated()]
        require(
            twice.empty,
            f"ids of contexts must differ as text; received {listing(map(repr, twice), 1)} twice "
            f"in {key!r}{where}. Rename one of them.",
        )
    return completed.subset(table.assign(context=table["context"].map(_as_text).astype(object)))


def by_task_and_model(
    runs: Sources, reading: Reading = AS_IT_IS
) -> tuple[dict[str, dict[str, Runs]], list[str]]:
    """Part runs by task and model."""
    sources = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    parts: dict[tuple[str, str], list[tuple[str, Runs]]] = {}
    for source, given in sources.items():
        table = _completed(given, str(source), reading)
        for (task, model), rows in table.table.groupby(list(EVALUATION), sort=False):
            key = str(task), str(model) or str(source)
            parts.setdefault(key, []).append((str(source), table.subset(rows)))
    tasks: dict[str, dict[str, Runs]] = {}
    # A model that is in two files about one task was asked twice, and is two models everywhere.
    twice = {model for (_, model), found in parts.items() if len(found) > 1}
    for (task, model), found in sorted(parts.items(), key=lambda part: part[0][0]):
        for source, of_model in found:
            name = f"{model} ({source})" if model in twice and source != model else model
            tasks.setdefault(task, {})[name] = of_model
    notes = [
        f"{model!r} is in several tables, which are told apart by their names."
        for model in sorted(twice)
    ]
    return tasks, notes


@dataclass(frozen=True)
class Refused:
    """Why the cases of a task cannot be compared."""

    errors: list[str]
    contradicted: bool  # whether cases of one id are not the same


def _facts(rows: Runs) -> pd.DataFrame:
    """What is known of each case, by context; columns without any value left out."""
    known = [name for name in ("theta", "p_true") if name in rows.names]
    # Rows given z may hold the posterior given z.
    plain = rows.table[~rows.given_z]
    facts = plain.groupby("context", sort=True)[[*known, *rows.features]].first()
    return facts.dropna(axis="columns", how="all")


def _differ(first: pd.Series, second: pd.Series) -> "pd.Series[bool]":
    """Tell in which cases two tables know different things of a column."""
    both = first.notna() & second.notna()
    one, other = (
        pd.to_numeric(column.map(_as_text), errors="coerce") for column in (first, second)
    )
    numbers = one.notna() & other.notna()
    away = (one - other).abs() > TOLERANCE * (1 + one.abs())
    unlike = first.map(_as_text) != second.map(_as_text)
    return both & away.where(numbers, unlike)


def _missing(contexts: Mapping[str, set[str]]) -> Iterator[str]:
    everywhere = set.union(*contexts.values())
    for model, there in contexts.items():
        lacking = sorted(everywhere - there)
        if lacking:
            shown = listing(map(repr, lacking), N_SHOWN)
            yield f"model {model!r} lacks {len(lacking)} of {len(everywhere)} contexts ({shown})"


def _contradictions(facts: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Compare every model's cases with those of the first that knows a column."""
    seen: dict[str, tuple[str, pd.Series]] = {}
    for model, table in facts.items():
        for column in table.columns:
            if column not in seen:
                seen[column] = model, table[column]
                continue
            first, known = seen[column]
            known = known.reindex(table.index)
            differ = _differ(known, table[column])
            if differ.any():
                at = differ.index[int(np.argmax(differ.to_numpy()))]
                yield (
                    f"{column} differs in {int(differ.sum())} of {len(table)} contexts of "
                    f"{first!r} and {model!r}, the first is {at!r}: {_as_text(known[at])} and "
                    f"{_as_text(table[column][at])}"
                )


def _unshared(facts: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Say which evidence is known to some tables only, and could not be compared."""
    features = {model: set(table.columns) - {"theta", "p_true"} for model, table in facts.items()}
    everywhere = set.intersection(*features.values())
    for model, there in features.items():
        if there - everywhere:
            names = listing(sorted(there - everywhere), N_SHOWN)
            yield f"evidence {names} of {model!r} is not known of every model, and not compared."


def _with_facts(rows: Runs, facts: pd.DataFrame) -> Runs:
    """Give rows what is known of their cases."""
    context, given = rows.table["context"], dict[str, Any]()
    if "theta" in facts.columns:
        states = facts["theta"].dropna().astype(object)
        texts = states.map(_as_text)
        # Two files may write one state as 1 and as "1".
        states = texts if texts.nunique() < states.nunique() else states
        given["theta"] = context.map(states)
    if "p_true" in facts.columns:
        given["p_true"] = context.map(facts["p_true"]).where(~rows.given_z)
    return rows.subset(rows.table.assign(**given))


def same_cases(name: str, rows: Mapping[str, Runs], *, common: bool) -> Task | Refused:
    """Hold the cases of one task against each other."""
    where = f"task {name!r}: " if name else ""
    contexts = {model: set(of_model.table["context"]) for model, of_model in rows.items()}
    kept = set.intersection(*contexts.values())
    everywhere = set.union(*contexts.values())
    missing = list(_missing(contexts))
    notes = []
    if missing and common:
        left = len(everywhere) - len(kept)
        notes.append(
            f"{where}{left} of {len(everywhere)} contexts were left out, which not every "
            f"model was asked about: {listing(missing, N_SHOWN)}."
        )
    shared = {
        model: of_model.subset(of_model.table[of_model.table["context"].isin(kept)])
        for model, of_model in rows.items()
    }
    facts = {model: _facts(of_model) for model, of_model in shared.items()}
    contradictions = list(_contradictions(facts))
    errors = [*([] if common else missing), *contradictions]
    if common and not kept:
        errors.append("no context is common to all models")
    if errors:
        return Refused([where + error for error in errors], contradicted=bool(contradictions))
    notes += [where + note for note in _unshared(facts)]
    known = pd.concat(facts.values()).groupby(level=0).first()
    for column in ("theta", "p_true"):
        without = [model for model, table in facts.items() if column not in table.columns]
        if without and column in known.columns:
            lack = f"{where}{column} is not in the table of {listing(map(repr, without), N_SHOWN)}"
            notes.append(f"{lack}; that of the same cases in the other tables was taken.")
    given = {model: _with_facts(of_model, known) for model, of_model in shared.items()}
    return Task(name, given, tuple(sorted(kept)), tuple(notes))


def gather(
    by_task: Mapping[str, Mapping[str, Runs]], *, common: bool = False
) -> tuple[list[Task], list[str]]:
    """Read the rows of tasks and models as tasks with the same cases."""
    models = list(dict.fromkeys(model for rows in by_task.values() for model in rows))
    require(
        len(models) > 1,
        f"runs must hold at least two models; received {listing(map(repr, models)) or 'none'}. "
        "Give several tables, or one with a column 'model'.",
    )
    tasks, errors, notes = [], list[str](), list[str]()
    contradicted = False
    for name, rows in by_task.items():
        absent = [model for model in models if model not in rows]
        if absent:
            lack = f"task {name!r}: not asked of {listing(map(repr, absent), N_SHOWN)}"
            if not common:
                errors.append(lack)
                continue
            notes.append(f"{lack}, and compared among the others.")
        if len(rows) < 2:
            notes.append(f"task {name!r}: of one model only, and not compared.")
            continue
        task = same_cases(name, rows, common=common)
        if isinstance(task, Task):
            tasks.append(task)
        else:
            errors += task.errors
            contradicted |= task.contradicted
    if errors:
        raise _refusal(errors, common, contradicted=contradicted)
    require(
        bool(tasks), "runs must have a task that two models were asked; received none in common."
    )
    return tasks, notes


def _refusal(errors: list[str], common: bool, *, contradicted: bool) -> InputError:
    n_more = len(errors) - N_ERRORS
    more = [f"and {counted(n_more, 'more difference')}"] if n_more > 0 else []
    if contradicted:
        remedy = (
            "Cases of one id that are not the same cannot be compared: ask all models about one "
            "set of cases, or give the ids of one set other names."
        )
    elif common:
        remedy = "Compare runs about the same cases."
    else:
        remedy = "Ask the models for what they lack, or keep what all have: common=True (--common)."
    opening = "runs must be about the same cases in every model"
    if len(errors) == 1:
        return InputError(f"{opening}; {errors[0]}. {remedy}")
    return InputError.all_at_once(opening, [*errors[:N_ERRORS], *more, remedy])
