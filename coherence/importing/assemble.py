"""From logs to the runs table: fields become columns, and actions are joined to their beliefs.

An answer is known by task, model, context and repetition. Nothing is dropped: an action whose
belief was not asked keeps its row, without a belief; a belief without an action stays a belief.
Both are counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, SchemaError, listing
from coherence.importing.cells import (
    Cell,
    action_cell,
    as_number,
    belief_cell,
    distribution_cells,
    picked_cell,
    row_status,
)
from coherence.importing.log_format import PICKED, AnswerLog, Record, with_fields
from coherence.importing.mapping import (
    action_fields,
    belief_fields,
    check_mapping,
    is_belief,
    split_by_task,
)
from coherence.importing.typed_table import NUMBER_COLUMNS, typed_table, with_empty_actions
from coherence.table.exact import EXACT
from coherence.table.probabilities import Tally, judge_percentages, read_probabilities
from coherence.table.runs import REFERENCE
from coherence.table.scales import Scale
from coherence.table.schema import ACTION_PREFIX, Naming
from coherence.table.validation import examined

Row = dict[str, object]
_MISSING = (None, "")  # tables write what is missing as an empty cell
_Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Reading:
    """How answers are to be read."""

    actions: tuple[str, ...] = ()  # the options that were offered, where the log does not name them
    positive: str | None = None  # label of theta = 1
    percent: bool = False  # whether beliefs are percentages
    scale: Scale | None = None  # of beliefs that are no probabilities

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
    logs = [with_fields(log, mapping.values()) for log in logs]
    check_mapping(mapping, logs)
    beliefs, actions = split_by_task(logs, belief_tasks=belief_tasks, action_tasks=action_tasks)
    named = {log.model for log in logs if log.model is not None}
    # A log without a model's name goes with the others, if they agree on one.
    if model is None and len(named) == 1:
        (model,) = named
    # Contexts that gather samples make the log's own numbers repeat within them.
    counted = "context" in mapping and "rep" not in mapping
    mapped: list[str] = []
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    notes += [
        f"{log.file}: {EXACT} left out: it may be a stated confidence. If it is the exact "
        f"posterior: --map {EXACT}={EXACT}"
        for log in beliefs
        if EXACT in log.field_names() and EXACT not in {*log.fields, *mapping}
    ]
    rows: list[Row] = []
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
        notes += _doubts(log, fields, percent=percent)
        if reading.scale is not None:
            stated = ", ".join(name for column, name in fields.items() if is_belief(column))
            scale = reading.scale
            notes.append(f"{stated} was read on the scale {scale}: {scale.described()}")
        rows += [
            _belief_row(record, log, fields, reading, shared, percent) for record in log.records
        ]
    _number_repetitions(rows, counted=counted)
    _refuse_doubles(rows, ("prompt", "z", "z_state"))
    unpaired: list[str] = []
    if actions:
        chosen: list[Row] = []
        for log in actions:
            fields = action_fields(log, mapping)
            mapped.append(_line("action", log, fields))
            shared = {"task": beliefs[0].task, "model": log.model or model}
            chosen += [_action_row(record, log, fields, reading, shared) for record in log.records]
        _number_repetitions(chosen, counted=counted)
        _refuse_doubles(chosen, ())
        rows, unpaired = _joined(rows, chosen)
    runs = typed_table(rows, reading.positive)
    if not actions:  # with a log of its own, an action that is not there was not asked for
        runs = with_empty_actions(runs, [bool(row["told"]) for row in rows])
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    _, errors = examined(runs, part=True)
    if errors:
        raise SchemaError(errors, ", ".join(log.file for log in logs))
    return Imported(runs, mapped, unpaired, notes)


def _line(role: str, log: AnswerLog, fields: Mapping[str, str]) -> str:
    # The answer first.
    columns = sorted(fields, key=lambda column: not is_belief(column) and column != "action")
    sources = (name if name == fields[name] else f"{name} = {fields[name]}" for name in columns)
    return f"{role} from {log.name} ({log.file}): {', '.join(sources)}"


def _doubts(log: AnswerLog, fields: Mapping[str, str], *, percent: bool) -> list[str]:
    """Note what is left out or taken as percentages; refuse what may be either."""
    policies = [name for name in log.field_names() if name.startswith(ACTION_PREFIX)]
    notes = [
        f"{log.file}: {', '.join(policies)} left out: probabilities of actions are not "
        "imported; coherence analyze reads them where they are"
    ] * bool(policies)
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    errors: list[str] = []
    if percent:
        # What the log picked out of a reply is what will be read.
        tallies = {
            column: Tally.of(
                number
                for record in log.records
                if (number := _bare_number(record, log, name)) is not None
            )
            for column, name in stated.items()
        }
        errors, doubts = judge_percentages(tallies)
        notes += [f"{log.file}: {doubt}" for doubt in doubts]
    elif not log.is_text:  # a column with percent signs in some cells alone, as `analyze` does
        cells = {
            column: pd.Series([record.get(name) for record in log.records], dtype=object)
            for column, name in stated.items()
        }
        errors = read_probabilities(pd.DataFrame(cells), decimal=",", named=Naming(stated))[1]
    if errors:
        raise InputError.all_at_once(log.file, errors)
    return notes


def _bare_number(record: Record, log: AnswerLog, name: str) -> float | None:
    picked = _picked(record, log, name)
    answer = picked[0] if picked else record.get(name)
    return as_number(answer.replace(",", ".") if isinstance(answer, str) else answer)


def _plain(record: Record, fields: Mapping[str, str], log: AnswerLog) -> Row:
    """Every column that is neither an answer nor its status."""
    cells: Row = {}
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
    percent: bool,
) -> Row:
    row = {**shared, **_plain(record, fields, log)}
    stated = {column: record.get(name) for column, name in fields.items() if is_belief(column)}
    form: dict[str, Any] = {"is_text": log.is_text, "percent": percent, "scale": reading.scale}
    if "p" in stated:
        reason = _cut(record, log, fields["p"])
        read = partial(belief_cell, reason=reason, **form)
        belief = picked_cell(stated["p"], _picked(record, log, fields["p"]), read)
        row["p"] = belief.value
    else:
        belief = distribution_cells(stated, **form)
        row |= belief.value if isinstance(belief.value, dict) else dict.fromkeys(stated)
    # A text that was logged beside a number stays the raw answer of that number.
    cells = [belief]
    row["raw_belief"] = belief.raw if belief.raw is not None else row.get("raw_belief")
    # Rows of the law of iterated expectation, and of further wordings, ask for no action.
    if (
        "action" in fields
        and not row.get("z")
        and (log.is_text or record.get(fields["action"]) not in _MISSING)
    ):
        chosen = _read_action(record, log, fields, reading)
        cells.append(chosen)
        row |= {
            "action": chosen.value,
            "raw_action": chosen.raw if chosen.raw is not None else row.get("raw_action"),
        }
    logged = record.get(fields["status"]) if "status" in fields else None
    return row | {"status": row_status(cells, logged), "told": logged not in _MISSING}


def _action_row(
    record: Record,
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
) -> Row:
    cell = _read_action(record, log, fields, reading)
    row = {**shared, **_plain(record, fields, log), "action": cell.value}
    row["raw_action"] = cell.raw if cell.raw is not None else row.get("raw_action")
    row["status"] = row_status([cell], record.get(fields["status"]) if "status" in fields else None)
    return row


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
        reason=_cut(record, log, name),
        options=options,
        by_letter=not reading.actions and log.is_text,
    )
    return picked_cell(record.get(name), _picked(record, log, name), read)


def _cut(record: Record, log: AnswerLog, name: str) -> str | None:
    """Return why an answer ended, where it was cut or withheld."""
    reason = record.get("finish_reason")
    # What a scorer took from the reply may be whole all the same.
    whole = record.get(name) == record.get(log.fields.get("answer", name))
    # A scorer of the log read the reply as it was, and knows how it ended.
    if PICKED in record or not whole or reason not in ("length", "content_filter"):
        return None
    return str(reason)


def _picked(record: Record, log: AnswerLog, name: str) -> Sequence[str] | None:
    """Return what the log itself took for the answer, unless another field is read."""
    picked = record.get(PICKED) if name == log.fields.get("answer") else None
    return picked if isinstance(picked, tuple) else None


def _number_repetitions(rows: Sequence[Row], *, counted: bool) -> None:
    """Fill in the repetition of rows that have a context."""
    seen: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        if row.get("context") in _MISSING:
            continue
        question = tuple(
            row.get(name) for name in ("task", "model", "prompt", "context", "z", "z_state")
        )
        if counted or row.get("rep") is None:
            row["rep"] = seen[question]
        seen[question] += 1


def _key(row: Row) -> _Key:
    rep, context = row.get("rep"), row.get("context")
    number = as_number(rep)
    # Repetitions are counted; a fraction is some other field, taken for them.
    if number is None or number % 1:
        raise InputError(
            f"rep must be a whole number; received {rep!r} in context {context!r}. "
            "Map another field to rep."
        )
    return (str(row.get("task")), str(row.get("model")), str(context), int(number))


def _refuse_doubles(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Raise if an answer occurs twice."""
    counts = Counter(
        (tuple(row.get(name) for name in names), _key(row))
        for row in rows
        if row.get("context") not in _MISSING
    )
    twice = [key for (_, key), count in counts.items() if count > 1]
    if twice:
        _, model, context, rep = twice[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context {context!r}, "
            f"repetition {rep}, model {model!r}. Leave out the file that repeats them, or import "
            "models that the logs do not name one by one, each with --model."
        )


def _joined(beliefs: Sequence[Row], actions: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Put actions onto the belief rows of the reference prompt."""
    prompts = list(dict.fromkeys(row.get("prompt") for row in beliefs))
    reference = REFERENCE if REFERENCE in prompts else prompts[0]
    if any(row.get("context") in _MISSING for row in (*beliefs, *actions)):
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. "
            "Map one in both: --map context=FIELD."
        )
    waiting = {_key(row): row for row in actions}
    joined: list[Row] = []
    alone: list[_Key] = []
    for row in beliefs:
        # Other prompts and rows given z ask for the belief alone.
        asks = row.get("prompt") == reference and row.get("z") in _MISSING
        partner = waiting.pop(_key(row), None) if asks else None
        if partner is not None:
            # Where both logs have a column, the belief log's value stands unless it is missing.
            stated = {column: value for column, value in row.items() if value is not None}
            status = worst([str(partner["status"]), str(row["status"])])
            row = {**partner, **stated, "status": status}
        elif asks:
            alone.append(_key(row))
        joined.append(row)
    # A belief that is missing is unparsed too; a row of its own keeps the action.
    joined += [
        {**row, "prompt": reference, "status": worst(["unparsed", str(row["status"])])}
        for row in waiting.values()
    ]
    lines = [
        f"{what} ({len(keys)}): "
        + listing(f"{context} repetition {rep}" for *_, context, rep in keys)
        for keys, what in (
            (alone, "beliefs without an action"),
            (list(waiting), "actions without a belief, each a row that is at best unparsed"),
        )
        if keys
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(waiting) == len(actions):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. "
            "Map what they share: --map context=FIELD."
        )
    return joined, lines
