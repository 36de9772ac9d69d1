"""Logs of our tasks in Inspect as the tables that our own sessions write.

Every answer is read again here, from the text in the log: a score that Inspect kept is not used.
Rows and columns come from the same functions as those of ``coherence elicit``, ``bets`` and
``mix``.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.errors import InputError
from coherence.importing.inspect_log import OWN_TASKS, read_inspect_log
from coherence.table.cells import labels
from coherence.table.schema import OFFER_COLUMNS
from elicitation.answers.runs import assemble_runs
from elicitation.batteries.bets.questions import OPTIONS
from elicitation.batteries.bets.words import stated_choice
from elicitation.batteries.mixing import tabulate_mixing
from elicitation.commands.inspect_samples import (
    BELIEFS,
    BETS,
    LISTS,
    MIXING,
    mixing_question_of,
    question_of,
)
from elicitation.models.base import Answer
from elicitation.questions.question import ReadAnswer
from elicitation.questions.tasks import features_of

_PREFIX = "metadata."


@dataclass(frozen=True)
class Answered:
    """A question of a log, its epoch from 0, and the answer."""

    metadata: dict[str, Any]
    epoch: int
    text: str
    answer: Answer


@dataclass(frozen=True)
class _Log:
    """The samples of a log, in the order of the plan, and who answered."""

    path: str
    model: str
    samples: list[Answered]
    notes: tuple[str, ...]


def read_inspect_runs(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[pd.DataFrame, list[str]]:
    """Read logs of the task ``belief_coherence/beliefs_and_actions`` as one runs table."""
    logs = [_read(path, BELIEFS) for path in paths]
    tables = []
    for log in logs:
        with _as_written(log.path):
            tables.append(runs_of(log.samples, log.model))
    key = ["task", "model", "context", "rep", "prompt", "z_state", *OFFER_COLUMNS]
    runs = _joined(logs, tables, key)
    return runs, [f"{log.path}: {note}" for log in logs for note in log.notes]


def read_inspect_bets(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a log of the task ``belief_coherence/bets``: its questions, and answers to them."""
    log = _read(path, BETS)
    if any(sample.epoch for sample in log.samples):
        raise InputError(f"{log.path}: bets are asked once; run the task again without --epochs.")
    questions = pd.DataFrame([sample.metadata for sample in log.samples]).drop(columns="seed")
    said = [
        stated_choice(
            sample.answer.text,
            sample.answer.finish_reason,
            [str(sample.metadata[f"option_{letter}"]) for letter in OPTIONS],
        )
        for sample in log.samples
    ]
    answers = {"question": questions["question"], "model": log.model, "answer": said}
    return questions, pd.DataFrame(answers)


def read_inspect_mixing(paths: Sequence[str | os.PathLike[str]]) -> pd.DataFrame:
    """Read logs of the task ``belief_coherence/mixing`` as a table of answers."""
    logs = [_read(path, MIXING) for path in paths]
    tables = []
    for log in logs:
        n_draws = 1 + max(sample.metadata["draw"] for sample in log.samples)
        tables.append(
            tabulate_mixing(
                log.model,
                [
                    (
                        mixing_question_of(sample.metadata, sample.text),
                        sample.metadata["draw"] + n_draws * sample.epoch,
                        sample.answer.text,
                        sample.answer.finish_reason,
                    )
                    for sample in log.samples
                ],
            )
        )
    return _joined(logs, tables, ["model", "experiment", "p", "item", "order", "draw"])


def _read(path: str | os.PathLike[str], task: str) -> _Log:
    source = Path(path)
    if not source.is_file():
        raise InputError(f"{source}: no such file. Name logs that inspect eval wrote.")
    log = read_inspect_log(source)
    if log.task != task:
        remedy = (
            f"{OWN_TASKS[log.task]} reads it."
            if log.task in OWN_TASKS
            else "coherence import turns other logs of Inspect into a runs table."
        )
        raise InputError(f"{source} is a log of the task {log.task!r}, not of {task}; {remedy}")
    samples = []
    # Inspect numbers samples in the order of the plan, and may shuffle them.
    records: list[dict[str, Any]] = [dict(record) for record in log.records]
    for record in sorted(records, key=lambda record: (record["epoch"], record["id"])):
        with _as_written(source):
            samples.append(_sample(record))
    return _Log(str(source), log.model or "", samples, log.notes)


def _sample(record: dict[str, Any]) -> Answered:
    metadata = {
        name.removeprefix(_PREFIX): value
        for name, value in record.items()
        if name.startswith(_PREFIX)
    }
    metadata |= {name: json.loads(metadata[name]) for name in LISTS if name in metadata}
    epoch = int(record["rep"])
    stored = Answer(
        str(record["output"] or ""),
        finish_reason=None if (ended := record.get("finish_reason")) is None else str(ended),
        seed=metadata["seed"] + epoch,
        created=str(record["completed_at"]),
    )
    return Answered(metadata, epoch, str(record.get("input", "")), stored)


@contextmanager
def _as_written(source: object) -> Iterator[None]:
    """Raise an error that names the log where its samples lack what the task wrote into them."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InputError(
            f"{source}: the metadata of its samples are not what the task wrote ({reason}). Get "
            "the log as inspect eval wrote it, or run the task again."
        ) from error


def runs_of(samples: Sequence[Answered], model: str) -> pd.DataFrame:
    """Lay answers out as a runs table."""
    n_reps = 1 + max(sample.metadata["rep"] for sample in samples)
    cases, positions = _cases(samples)
    truth: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    questions = []
    for sample in samples:
        known = sample.metadata
        position = positions[known["case"]]
        rep = known["rep"] + n_reps * sample.epoch
        questions.append(question_of(known | {"case": position, "rep": rep}, sample.text))
        if known["kind"] == "conditional":
            # All states, in the order of the question about z, though some may not be in the log.
            given = truth[position] or {state: {} for state in known["z_states"]}
            given[known["z_state"]] = {name: known[name] for name in ("p_true", "p_z_true")}
            truth[position] = given
    read = [
        ReadAnswer.of(question, sample.answer)
        for question, sample in zip(questions, samples, strict=True)
    ]
    about = samples[0].metadata
    return assemble_runs(cases, read, truth, task=str(about["task"]), model=model)


def _cases(samples: Iterable[Answered]) -> tuple[pd.DataFrame, dict[int, int]]:
    """Return the cases that a log is about, and where each stands."""
    rows: dict[int, dict[str, Any]] = {}
    for known in (sample.metadata for sample in samples):
        row = rows.setdefault(known["case"], {})
        kept = ("context", "theta", "theta_name", "truth_kind", "z")
        names = [name for name in known if name in kept or name[:2] == "x_"]
        # That of a conditional question is given z.
        if known["kind"] != "conditional" and "p_true" in known:
            names.append("p_true")
        row |= {name: known[name] for name in names}
    cases = pd.DataFrame(list(rows.values()))
    if "theta" in cases.columns:  # a label, whole numbers also where some are missing
        cases["theta"] = labels(cases["theta"])
    # A network's evidence is text and its truth is known; a table has the types of its values.
    if "z" in cases.columns:
        types: dict[str, Any] = {"context": object, "theta": "int64"}
        cases = cases.astype(types | dict.fromkeys(features_of(cases), "string"))
    return cases, {case: position for position, case in enumerate(rows)}


def _joined(
    logs: Sequence[_Log], tables: Sequence[pd.DataFrame], key: Sequence[str]
) -> pd.DataFrame:
    """Put tables below each other; raise where two logs have the same answers."""
    seen: dict[tuple[Any, ...], int] = {}
    for number, table in enumerate(tables):
        for row in dict.fromkeys(_keys(table, key)):
            other = seen.setdefault(row, number)
            if other != number:
                raise InputError(
                    f"{logs[number].path} and {logs[other].path} both hold "
                    f"{', '.join(f'{name} {part}' for name, part in zip(key, row, strict=False))}: "
                    "together two answers would stand for one. Leave one of them out; further "
                    "repetitions are asked in one run (-T reps=, --epochs)."
                )
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _keys(table: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    kept = table[[name for name in names if name in table.columns]]
    return kept.astype(object).where(kept.notna(), None).itertuples(index=False, name=None)
