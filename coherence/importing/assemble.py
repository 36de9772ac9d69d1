"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

An answer is known by task, model, context and repetition. Nothing is dropped: an action whose
belief was not asked keeps its row, without a belief; a belief without an action stays a belief.
Both are counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
from unicodedata import normalize

import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.importing.cells import (
    Cell,
    action_cell,
    as_number,
    belief_cell,
    distribution_cells,
    found_cell,
    picked_cell,
    row_status,
)
from coherence.importing.joining import (
    LOG,
    MISSING,
    RECORD,
    SampleCheck,
    compare_prompts,
    filled,
    joined,
    stacked,
)
from coherence.importing.log_format import PICKED, AnswerLog, Record
from coherence.importing.mapping import (
    action_fields,
    belief_fields,
    check_mapping,
    is_belief,
    split_by_task,
)
from coherence.importing.typed_table import typed_table
from coherence.table.formats import FileTable
from coherence.table.probabilities import judge_percentages
from coherence.table.roles import Scale
from coherence.table.schema import ACTION_PREFIX, EXACT, Naming
from coherence.table.validation import examined


@dataclass(frozen=True)
class Reading:
    """How answers are to be read."""

    actions: tuple[str, ...] = ()  # the options that were offered, where the log does not name them
    positive: str | None = None  # label of theta = 1
    percent: bool = False  # whether beliefs are percentages
    scale: Scale | None = None  # of beliefs that are no probabilities
    pattern: re.Pattern[str] | None = None  # of the number that is the belief, among words

    def __post_init__(self) -> None:
        """Refuse two scales."""
        if self.scale is not None and self.percent:
            raise InputError(
                f"percent is the scale 0..100; received the scale {self.scale} as well. Leave "
                "percent (--percent) out."
            )


@dataclass
class Imported:
    """A runs table and where it came from."""

    # a valid runs table; it may need others with it before a check can be run
    runs: pd.DataFrame
    mapped: list[str]  # one line per log: which field became which column
    # answers of one log without a partner in the other
    unpaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what else the reader should know


def assemble(
    logs: Sequence[AnswerLog],
    reading: Reading,
    *,
    belief_tasks: Sequence[str] = (),
    action_tasks: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
) -> Imported:
    """Make a runs table of logs."""
    mapping = mapping or {}
    check_mapping(mapping, logs)
    beliefs, actions = split_by_task(logs, belief_tasks=belief_tasks, action_tasks=action_tasks)
    named = {log.model for log in logs if log.model is not None}
    # A log without a model's name goes with the others, if they agree on one.
    if model is None and len(named) == 1:
        (model,) = named
    # Contexts that gather samples make the log's own numbers repeat within them.
    counts = "context" in mapping and "rep" not in mapping
    mapped: list[str] = []
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    notes += [
        f"{log.file}: {EXACT} left out: it may be a stated confidence. If it is the exact "
        f"posterior: --map {EXACT}={EXACT}"
        for log in beliefs
        if EXACT in log.field_names and EXACT not in {*log.fields, *mapping}
    ]
    sources: dict[str, str] = {}  # column -> field
    truths: dict[str, str] = {}  # field of what came true -> its column
    stated = []
    # One wording needs no name: the table's default is the standard prompt.
    several = len({log.name for log in beliefs}) > 1
    for log in beliefs:
        fields = belief_fields(log, mapping, reading.positive, with_action=not actions)
        mapped.append(_line("belief", log, fields))
        sources |= fields
        truths |= {fields[column]: column for column in ("theta", EXACT) if column in fields}
        shared = {
            "task": beliefs[0].task,
            "model": log.model or model,
            "prompt": log.name if several else None,
        }
        scored = any(name.startswith("probability.") for name in fields.values())
        # Shares of log-likelihoods are probabilities whatever the question asked for.
        percent = reading.percent and not scored
        notes += _doubts(log, fields, percent=percent)
        if reading.scale is not None:
            names = ", ".join(name for column, name in fields.items() if is_belief(column))
            scale = reading.scale
            notes.append(f"{names} was read on the scale {scale}: {scale.described()}")
        stated.append(_rows(log, fields, reading, shared, percent))
    answers = stacked(stated, counts=counts)
    unpaired: list[str] = []
    id_field = mapping.get("context", beliefs[0].fields.get("context", ""))
    check = SampleCheck(id_field, truths)
    notes += compare_prompts(answers, check)
    if actions:
        chosen = []
        for log in actions:
            fields = action_fields(log, mapping)
            mapped.append(_line("action", log, fields))
            shared = {"task": beliefs[0].task, "model": log.model or model}
            chosen.append(_rows(log, fields, reading, shared))
        answers, unpaired, differ = joined(answers, stacked(chosen, counts=counts), check)
        notes += differ
    runs = typed_table(answers.drop(columns=[RECORD, LOG]), reading.positive)
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    valid, found = examined(FileTable(runs), part=True, ours=True, named=Naming(sources))
    if errors := [*found.of_options, *found.of_table]:
        raise SchemaError(errors, ", ".join(log.file for log in logs))
    return Imported(valid.table, mapped, unpaired, notes)


def _line(role: str, log: AnswerLog, fields: Mapping[str, str]) -> str:
    # The answer first.
    columns = sorted(fields, key=lambda column: not is_belief(column) and column != "action")
    sources = (name if name == fields[name] else f"{name} = {fields[name]}" for name in columns)
    return f"{role} from {log.name} ({log.file}): {', '.join(sources)}"


def _doubts(log: AnswerLog, fields: Mapping[str, str], *, percent: bool) -> list[str]:
    """Note what is left out or taken as percentages; refuse what may be either."""
    policies = [name for name in log.field_names if name.startswith(ACTION_PREFIX)]
    notes = [
        f"{log.file}: {', '.join(policies)} left out: probabilities of actions are not "
        "imported; coherence analyze reads them where they are"
    ] * bool(policies)
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    if percent:
        # What the log picked out of a reply is what will be read.
        tallies = {
            column: [
                number
                for record in log.records
                if (number := _bare_number(record, log, name)) is not None
            ]
            for column, name in stated.items()
        }
        errors, doubts = judge_percentages(tallies)
        notes += [f"{log.file}: {doubt}" for doubt in doubts]
        if errors:
            raise InputError.all_at_once(log.file, errors)
    return notes


def _bare_number(record: Record, log: AnswerLog, name: str) -> float | None:
    picked = _picked(record, log, name)
    answer = picked[0] if picked else record.get(name)
    return as_number(answer.replace(",", ".") if isinstance(answer, str) else answer)


def _rows(
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
    percent: bool = False,
) -> pd.DataFrame:
    """Return the answers of a log, a row each, with the records that they were read from."""
    n, records = len(log.records), log.records
    rows: dict[str, Sequence[object]] = {RECORD: records, LOG: [log.name] * n}
    rows |= {column: [value] * n for column, value in shared.items()}
    # Answers and statuses are decoded; all else is as the log has it.
    for column, name in fields.items():
        if not (is_belief(column) or column in ("action", "status")):
            rows[column] = [record.get(name) for record in records]
    # One id may be written in two forms of Unicode.
    rows["context"] = [
        normalize("NFC", cell) if isinstance(cell, str) else cell
        for cell in rows.get("context", [None] * n)
    ]
    logged = [record.get(fields["status"]) if "status" in fields else None for record in records]
    answers: list[list[Cell | None]] = []
    if stated := {column: name for column, name in fields.items() if is_belief(column)}:
        beliefs = _beliefs(log, stated, reading, percent)
        for column in stated:
            rows[column] = [
                belief.value[column] if isinstance(belief.value, dict) else belief.value
                for belief in beliefs
            ]
        rows["raw_belief"] = _raw(beliefs, rows.get("raw_belief"))
        answers.append([*beliefs])
    if "action" in fields:
        name, read_action = fields["action"], _action_reader(log, fields, reading)
        # Rows of the law of iterated expectation ask for no action, nor does a row without the
        # label that a program wrote, where it has a status that says so.
        given_z = rows["z"] if stated and "z" in rows else [None] * n
        actions = [
            None
            if z not in MISSING
            or (stated and name in log.labels and said and record.get(name) in MISSING)
            else read_action(record)
            for record, z, said in zip(records, given_z, logged, strict=True)
        ]
        if any(actions):
            rows["action"] = [action and action.value for action in actions]
            rows["raw_action"] = _raw(actions, rows.get("raw_action"))
        answers.append(actions)
    rows["status"] = [
        row_status([cell for cell in cells if cell is not None], said)
        for *cells, said in zip(*answers, logged, strict=True)
    ]
    return filled(rows)


def _beliefs(
    log: AnswerLog, stated: Mapping[str, str], reading: Reading, percent: bool
) -> list[Cell]:
    """Read the beliefs of a log: one number, or of several states a dictionary of them."""
    form: dict[str, Any] = {"percent": percent, "scale": reading.scale}
    if "p" not in stated:
        return [
            distribution_cells(
                {column: record.get(name) for column, name in stated.items()}, **form
            )
            for record in log.records
        ]
    name = stated["p"]
    # Answers are read once, however often they were given.
    read = lru_cache(maxsize=None, typed=True)(partial(belief_cell, **form))
    cells = []
    for record in log.records:
        read_cut = partial(read, reason=_cut(record, log, name))
        cells.append(
            picked_cell(record.get(name), _picked(record, log, name), read_cut)
            if reading.pattern is None
            else found_cell(record.get(name), reading.pattern, read_cut)
        )
    return cells


def _raw(cells: Sequence[Cell | None], logged: Sequence[object] | None) -> list[object]:
    """Return raw answers; a text that was logged beside a number stays the raw one of that."""
    return [
        cell.raw if cell is not None and cell.raw is not None else text
        for cell, text in zip(cells, logged or [None] * len(cells), strict=True)
    ]


def _action_reader(
    log: AnswerLog, fields: Mapping[str, str], reading: Reading
) -> Callable[[Record], Cell]:
    """Return what reads the action of a record."""
    name = fields["action"]
    is_scored = name in log.labels or (log.states_scored and name == log.fields["answer"])
    by_letter = not reading.actions
    read = lru_cache(maxsize=None, typed=True)(partial(action_cell, by_letter=by_letter))

    def read_action(record: Record) -> Cell:
        # The user's word for what was offered comes before the log's.
        offered = record.get("choices")
        options = reading.actions or (offered if isinstance(offered, tuple) else ())
        if is_scored:
            options = ()  # a program named it: nothing is to be read
        elif not options:
            # The answers themselves suggest what to write after --actions.
            texts = Counter(str(other.get(name)).strip()[:40] for other in log.records)
            listed = ", ".join(f"{text!r} ({count})" for text, count in texts.most_common(4))
            raise InputError(
                f"{log.file}: it does not say which actions were offered. Name them: "
                f"--actions A,B. The most frequent answers are {listed}."
            )
        return picked_cell(
            record.get(name),
            _picked(record, log, name),
            partial(read, reason=_cut(record, log, name), options=options),
        )

    return read_action


def _cut(record: Record, log: AnswerLog, name: str) -> str | None:
    """Return why an answer ended, where it was cut or withheld."""
    reason = record.get("finish_reason")
    # A scorer of the log read the reply as it was, and knows how it ended.
    if reason not in ("length", "content_filter") or PICKED in record:
        return None
    # What a scorer took from the reply may be whole all the same.
    whole = record.get(name) == record.get(log.fields.get("answer", name))
    return str(reason) if whole else None


def _picked(record: Record, log: AnswerLog, name: str) -> Sequence[str] | None:
    """Return what the log itself took for the answer, unless another field is read."""
    picked = record.get(PICKED) if name == log.fields.get("answer") else None
    return picked if isinstance(picked, tuple) else None
