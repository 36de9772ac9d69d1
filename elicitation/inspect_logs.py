"""Questions as samples of Inspect, and its logs as the tables that our own sessions write.

A sample is a text, and metadata that hold the question whole, as JSON: a log needs neither the
task's arguments nor the files that they name. Every answer is read again here, from the text in the
log: a score that Inspect kept is not used. Questions, seeds, readers and tables are those of
``coherence elicit``.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence.errors import InputError
from coherence.runs.cells import labels
from coherence.runs.columns import OFFER_COLUMNS
from coherence.runs.logs.inspect_log import OWN_TASK, read_inspect_log
from elicitation.asking.session import assemble_runs
from elicitation.models.base import Answer, Request
from elicitation.questions.plan import Plan
from elicitation.questions.question import AnsweredQuestion, Question
from elicitation.questions.tasks import features_of
from elicitation.ways import QuestionSpec, WayOptions

_OF_CASE = ("context", "theta", "theta_name", "p_true", "truth_kind", "z")


@dataclass(frozen=True)
class Replied:
    """A question of a log and what came back: the metadata, the text, the epoch from 0."""

    facts: dict[str, Any]
    text: str
    epoch: int
    answer: Answer

    @classmethod
    def of(cls, metadata: Mapping[str, Any], text: str, epoch: int, answer: Answer) -> "Replied":
        """Read the metadata of a sample."""
        return cls(json.loads(metadata["question"]), text, epoch, answer)

    def read(self) -> AnsweredQuestion:
        """Return the answer to a question of a session, read."""
        spec = QuestionSpec.load(self.facts["spec"])
        request = Request(self.text, self.facts["seed"], spec.max_new_tokens)
        question = Question(request, spec=spec, case=self.facts["case"], rep=self.facts["rep"])
        return AnsweredQuestion.of(question, self.answer, WayOptions())


def belief_samples(plan: Plan) -> Iterator[tuple[Question, dict[str, Any]]]:
    """Yield the questions of a plan, in its order, each with the metadata of its sample."""
    names = [*_OF_CASE, *features_of(plan.cases)]
    known = plan.cases[[name for name in names if name in plan.cases.columns]]
    # As JSON has them: an empty cell is null.
    cases = known.astype(object).where(known.notna(), None).to_dict("records")
    for question in plan.questions:
        facts = {"task": plan.task, "case": question.case, "rep": question.rep}
        facts |= {"spec": question.spec_json, "cells": cases[question.case]}
        if question.spec.role == "conditional":
            facts["truth"] = plan.truth[question.case]
        yield question, {"question": json.dumps(facts | {"seed": question.request.seed})}


@dataclass(frozen=True)
class _Log:
    """The samples of a log, in the order of the plan, and who answered."""

    path: str
    model: str
    samples: list[Replied]
    notes: tuple[str, ...]


def read_inspect_runs(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[pd.DataFrame, list[str]]:
    """Read logs of the task ``belief_coherence/beliefs_and_actions`` as one runs table."""
    logs = [_read(path) for path in paths]
    tables = []
    for log in logs:
        with _as_written(log.path):
            tables.append(_runs_of(log.samples, log.model))
    key = ["task", "model", "context", "rep", "prompt", "z_state", *OFFER_COLUMNS]
    runs = _joined(logs, tables, key)
    return runs, [f"{log.path}: {note}" for log in logs for note in log.notes]


def _read(path: str | os.PathLike[str]) -> _Log:
    source = Path(path)
    if not source.is_file():
        raise InputError(f"{source}: no such file. Name logs that inspect eval wrote.")
    log = read_inspect_log(source)
    if log.task != OWN_TASK:
        raise InputError(
            f"{source} is a log of the task {log.task!r}, not of {OWN_TASK}; "
            "coherence import turns other logs of Inspect into a runs table."
        )
    # Inspect numbers samples in the order of the plan, and may shuffle them.
    records: list[dict[str, Any]] = [dict(record) for record in log.records]
    records.sort(key=lambda record: (record["epoch"], record["id"]))
    with _as_written(source):
        samples = [_replied(record) for record in records]
    return _Log(str(source), log.model or "", samples, log.notes)


def _replied(record: Mapping[str, Any]) -> Replied:
    facts, epoch = json.loads(record["metadata.question"]), int(record["rep"])
    ended = record.get("finish_reason")
    answer = Answer(
        str(record.get("output", "")),
        finish_reason=None if ended is None else str(ended),
        seed=facts["seed"] + epoch,
        created=str(record.get("completed_at")),
    )
    return Replied(facts, str(record.get("input", "")), epoch, answer)


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


def _runs_of(samples: Sequence[Replied], model: str) -> pd.DataFrame:
    """Lay answers out as a runs table."""
    n_reps = 1 + max(sample.facts["rep"] for sample in samples)
    rows = {sample.facts["case"]: sample.facts["cells"] for sample in samples}
    positions = {case: position for position, case in enumerate(rows)}
    truth: dict[int, dict[str, dict[str, float]]] = {}
    for sample in samples:
        facts = sample.facts
        facts["rep"] += n_reps * sample.epoch
        facts["case"] = positions[facts["case"]]
        if "truth" in facts:
            truth[facts["case"]] = facts["truth"]
    cases = pd.DataFrame(list(rows.values()))
    if "theta" in cases.columns:  # a label, whole numbers also where some are missing
        cases["theta"] = labels(cases["theta"])
    # A network's evidence is text and its truth is known; a table has the types of its values.
    if "z" in cases.columns:
        types: dict[str, Any] = {"context": object, "theta": "int64"}
        cases = cases.astype(types | dict.fromkeys(features_of(cases), "string"))
    read = [sample.read() for sample in samples]
    return assemble_runs(cases, read, truth, task=str(samples[0].facts["task"]), model=model)


def _joined(
    logs: Sequence[_Log], tables: Sequence[pd.DataFrame], key: Sequence[str]
) -> pd.DataFrame:
    """Put tables below each other; raise where two logs have the same answers."""
    if len(tables) == 1:
        return tables[0]
    runs = pd.concat(tables, ignore_index=True)
    names = [name for name in key if name in runs.columns]
    of_log = np.repeat(range(len(tables)), [len(table) for table in tables])
    held = runs[names].astype(object).assign(log=of_log).drop_duplicates()
    if (twice := held.duplicated(names)).any():
        row = held.loc[twice, names].iloc[:1]
        first, second = held.merge(row, on=names)["log"][:2]
        cells = ", ".join(f"{name} {cell}" for name, cell in row.iloc[0].dropna().items())
        raise InputError(
            f"{logs[second].path} and {logs[first].path} both hold {cells}: together two answers "
            "would stand for one. Leave one of them out; further repetitions are asked in one run "
            "(-T reps=, --epochs)."
        )
    return runs
