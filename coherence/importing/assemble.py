"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

Nothing is dropped: an action whose belief was not asked keeps its row, without a belief; a belief
without an action stays a belief. Both are counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.importing.answer_log import PICKED, AnswerLog, Record
from coherence.importing.cells import (
    ActionReader,
    BeliefReader,
    Cell,
    action_cell,
    as_number,
    belief_cell,
    distribution_cells,
    picked_cell,
    row_status,
)
from coherence.importing.empty_actions import with_empty_actions
from coherence.importing.field_paths import with_fields
from coherence.importing.mapping import action_fields, belief_fields, check_mapping, is_belief
from coherence.importing.pairing import join_actions, number_repetitions, refuse_doubles
from coherence.importing.tasks import split_by_task
from coherence.importing.typed_table import NUMBER_COLUMNS, typed_table
from coherence.table.faults import examined
from coherence.table.naming import Naming
from coherence.table.probabilities import Tally, judge_percentages, read_probabilities
from coherence.table.schema import ACTION_PREFIX

Reader = TypeVar("Reader", bound=Callable[..., object])


@dataclass(frozen=True)
class Reading:
    """How answers are to be read."""

    belief: BeliefReader  # text -> probability or None, and status
    action: ActionReader  # text and options -> option or None, and status
    actions: tuple[str, ...] = ()  # the options that were offered, where the log does not name them
    positive: str | None = None  # label of theta = 1
    percent: bool = False  # whether beliefs that a program wrote as numbers are percentages


@dataclass
class Imported:
    """A runs table and where it came from."""

    # a runs table without faults; it may need others beside it before a check can be run
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
    logs = with_fields(logs, mapping.values())
    check_mapping(mapping, logs)
    beliefs, actions = split_by_task(logs, belief_tasks=belief_tasks, action_tasks=action_tasks)
    named = {log.model for log in logs if log.model is not None}
    # A log without a model's name goes with the others, if they agree on one.
    if model is None and len(named) == 1:
        (model,) = named
    # Contexts that gather samples make the log's own numbers repeat within them.
    counted = "context" in mapping and "rep" not in mapping
    mapped, rows = [], []
    percentages: list[str] = []
    # One wording needs no name: the table's default is the standard prompt.
    several = len({log.name for log in beliefs}) > 1
    for log in beliefs:
        fields = belief_fields(log, mapping, reading.positive, with_action=not actions)
        mapped.append(_line("belief", log, fields))
        shared = {
            "task": beliefs[0].task,
            "model": log.model or model,
            "prompt": log.name if several else None,
        }
        scored = any(name.startswith("probability.") for name in fields.values())
        # Shares of log-likelihoods are probabilities whatever the question asked for.
        percent = reading.percent and not scored
        faults: list[str] = []
        if percent:
            faults, doubts = judge_percentages(_bare_numbers(log, fields))
            percentages += [f"{log.file}: {doubt}" for doubt in doubts]
        elif not log.is_text:  # a column with percent signs in some cells alone, as `analyze` does
            stated = {column: name for column, name in fields.items() if is_belief(column)}
            cells = {
                column: pd.Series([record.get(name) for record in log.records], dtype=object)
                for column, name in stated.items()
            }
            faults = read_probabilities(pd.DataFrame(cells), decimal=",", named=Naming(stated))[1]
        if faults:
            raise InputError.all_at_once(log.file, faults)
        scale = 100.0 if percent else 1.0
        rows += [_belief_row(record, log, fields, reading, shared, scale) for record in log.records]
    number_repetitions(rows, counted=counted)
    refuse_doubles(rows, ("prompt", "z", "z_state"))
    unpaired: list[str] = []
    if actions:
        chosen = []
        for log in actions:
            fields = action_fields(log, mapping)
            mapped.append(_line("action", log, fields))
            shared = {"task": beliefs[0].task, "model": log.model or model}
            chosen += [_action_row(record, log, fields, reading, shared) for record in log.records]
        number_repetitions(chosen, counted=counted)
        refuse_doubles(chosen, ())
        rows, unpaired = join_actions(rows, chosen)
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    notes += percentages
    for log in beliefs:
        policies = [name for name in log.field_names() if name.startswith(ACTION_PREFIX)]
        if policies:
            notes.append(
                f"{log.file}: {', '.join(policies)} left out: probabilities of actions are not "
                "imported; coherence analyze reads them where they are"
            )
    runs = typed_table(rows, reading.positive)
    if not actions:  # with a log of its own, an action that is not there was not asked for
        runs = with_empty_actions(runs, [bool(row["told"]) for row in rows])
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    _, faults = examined(runs, part=True)
    if faults:
        raise SchemaError(faults, ", ".join(log.file for log in logs))
    return Imported(runs, mapped, unpaired, notes)


def _line(role: str, log: AnswerLog, fields: Mapping[str, str]) -> str:
    # The answer first.
    columns = sorted(fields, key=lambda column: not is_belief(column) and column != "action")
    sources = (name if name == fields[name] else f"{name} = {fields[name]}" for name in columns)
    return f"{role} from {log.name} ({log.file}): {', '.join(sources)}"


def _bare_numbers(log: AnswerLog, fields: Mapping[str, str]) -> dict[str, Tally]:
    """Count the numbers of the belief columns of a log that stand alone, without a percent sign."""
    numbers = {}
    for column, name in fields.items():
        if is_belief(column):
            # What the log picked out of a reply is what will be read.
            answers = [
                picked[0] if (picked := _picked(record, log, name)) else record.get(name)
                for record in log.records
            ]
            read = [
                as_number(answer.replace(",", ".") if isinstance(answer, str) else answer)
                for answer in answers
            ]
            numbers[column] = Tally.of(number for number in read if number is not None)
    return numbers


def _plain(record: Record, fields: Mapping[str, str], log: AnswerLog) -> dict[str, object]:
    """Every column that is neither an answer nor its status."""
    cells: dict[str, object] = {}
    for column, name in fields.items():
        value = record.get(name)
        # These are decoded, and have statuses of their own.
        if is_belief(column) or column in ("action", "status"):
            continue
        if column in NUMBER_COLUMNS and value is not None and value != "":
            number = as_number(value)
            if number is None:
                raise InputError(
                    f"{log.file}: field {name!r} must hold numbers to be used as {column!r}; "
                    f"received {value!r}. Map another field, or say --decimal , where numbers have "
                    "decimal commas."
                )
            value = number
        cells[column] = value
    return cells


def _belief_row(
    record: Record,
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
    scale: float,
) -> dict[str, object]:
    row = {**shared, **_plain(record, fields, log)}
    stated = {column: record.get(name) for column, name in fields.items() if is_belief(column)}
    if "p" in stated:
        read = _told(reading.belief, record, log, fields["p"])
        belief = picked_cell(
            stated["p"],
            _picked(record, log, fields["p"]),
            partial(belief_cell, read=read, is_text=log.is_text, scale=scale),
        )
        row["p"] = belief.value
    else:
        belief = distribution_cells(stated, reading.belief, is_text=log.is_text, scale=scale)
        row |= belief.value if isinstance(belief.value, dict) else dict.fromkeys(stated)
    # A text that was logged beside a number stays the raw answer of that number.
    cells = [belief]
    row["raw_belief"] = belief.raw if belief.raw is not None else row.get("raw_belief")
    # Rows of the law of iterated expectation, and of further wordings, ask for no action.
    if (
        "action" in fields
        and not row.get("z")
        and (log.is_text or record.get(fields["action"]) not in (None, ""))
    ):
        chosen = _read_action(record, log, fields, reading)
        cells.append(chosen)
        row |= {
            "action": chosen.value,
            "raw_action": chosen.raw if chosen.raw is not None else row.get("raw_action"),
        }
    row["status"] = row_status(cells, _logged_status(record, fields))
    row["told"] = _logged_status(record, fields) not in (None, "")
    return row


def _action_row(
    record: Record,
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
) -> dict[str, object]:
    cell = _read_action(record, log, fields, reading)
    row = {**shared, **_plain(record, fields, log), "action": cell.value}
    row["raw_action"] = cell.raw if cell.raw is not None else row.get("raw_action")
    row["status"] = row_status([cell], _logged_status(record, fields))
    return row


def _logged_status(record: Record, fields: Mapping[str, str]) -> object:
    return record.get(fields["status"]) if "status" in fields else None


def _read_action(
    record: Record, log: AnswerLog, fields: Mapping[str, str], reading: Reading
) -> Cell:
    name = fields["action"]
    # The user's word for what was offered comes before the log's.
    offered = record.get("choices")
    options = reading.actions or (offered if isinstance(offered, tuple) else ())
    if log.states_scored and name == log.fields["answer"]:
        options = ()  # a program took the most probable one: nothing is to be read
    elif log.is_text and not options:
        # The answers themselves suggest what to write after --actions.
        texts = Counter(str(other.get(name)).strip()[:40] for other in log.records)
        listed = ", ".join(f"{text!r} ({count})" for text, count in texts.most_common(4))
        raise InputError(
            f"{log.file}: it does not say which actions were offered. Name them: --actions A,B. "
            f"The most frequent answers are {listed}."
        )
    read = partial(
        action_cell,
        read=_told(reading.action, record, log, name),
        options=options,
        by_letter=not reading.actions and log.is_text,
    )
    return picked_cell(record.get(name), _picked(record, log, name), read)


def _told(read: Reader, record: Record, log: AnswerLog, name: str) -> Reader:
    """Return a reader that knows that this answer was cut or withheld, if it was."""
    reason = record.get("finish_reason")
    # What a scorer took from the reply may be whole all the same.
    whole = record.get(name) == record.get(log.fields.get("answer", name))
    # A scorer of the log read the reply as it was, and knows how it ended.
    if PICKED in record or not whole or reason not in ("length", "content_filter"):
        return read
    return cast(Reader, partial(read, finish_reason=reason))


def _picked(record: Record, log: AnswerLog, name: str) -> Sequence[str] | None:
    """Return what the log itself took for the answer, unless another field is read."""
    picked = record.get(PICKED) if name == log.fields.get("answer") else None
    return picked if isinstance(picked, tuple) else None
