"""From logs to the runs table: fields become columns, and a log of actions is joined to the beliefs by model, sample and repetition.

Nothing is dropped: an action whose belief was not asked keeps its row, without a belief; a belief
without an action stays a belief. Both are counted.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.importing.answer_log import AnswerLog, Record
from coherence.importing.cells import (
    ActionReader,
    BeliefReader,
    Cell,
    action_cell,
    as_number,
    belief_cell,
    distribution_cells,
    with_own_status,
    worst,
)
from coherence.importing.roles import (
    action_fields,
    assign_roles,
    belief_fields,
    check_mapping,
    is_belief,
)
from coherence.importing.states import as_zero_or_one
from coherence.table.faults import find_faults
from coherence.table.schema import COLUMNS

_NUMBERS = tuple(
    column.name
    for column in COLUMNS
    if column.kind in ("probability", "number") and column.name != "p"
)
_REFERENCE = "standard"
_Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Reading:
    """How answers are to be read.

    Parameters
    ----------
    belief : callable
        Text -> probability or None, and status.
    action : callable
        Text and options -> option or None, and status.
    actions : tuple of str
        The options that were offered, where the log does not name them.
    positive : str or None
        Label of theta = 1.
    percent : bool
        Whether beliefs that a program wrote as numbers are percentages.
    """

    belief: BeliefReader
    action: ActionReader
    actions: tuple[str, ...] = ()
    positive: str | None = None
    percent: bool = False


@dataclass
class Imported:
    """A runs table and where it came from.

    Parameters
    ----------
    runs : DataFrame
        A runs table without faults; it may need others beside it before a check can be run.
    mapped : list of str
        One line per log: which field became which column.
    unpaired : list of str
        Answers of one log without a partner in the other.
    notes : list of str
        What else the reader should know.
    """

    runs: pd.DataFrame
    mapped: list[str]
    unpaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def assemble(
    logs: Sequence[AnswerLog],
    reading: Reading,
    *,
    belief_tasks: Sequence[str] = (),
    action_tasks: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    model: str | None = None,
) -> Imported:
    """Make a runs table of logs.

    Parameters
    ----------
    logs : sequence of AnswerLog
        At least one.
    reading : Reading
        Decoders of free text, and what the logs leave open.
    belief_tasks, action_tasks : sequence of str
        See `assign_roles`. Several belief tasks are several wordings: each becomes a ``prompt``,
        and actions stand on the rows of the first.
    mapping : mapping of str to str, optional
        Column -> field, for what the format does not say, or says otherwise; the field ``-`` leaves
        a column out.
    model : str, optional
        Name of the model, for logs that have none.

    Returns
    -------
    Imported
        One row per belief, and one per action whose belief was not asked.

    Raises
    ------
    InputError
        Roles or fields are not clear, or an answer occurs twice.
    SchemaError
        The table breaks the schema, for example because theta varies within a context.
    """
    mapping = mapping or {}
    check_mapping(mapping, logs)
    beliefs, actions = assign_roles(logs, belief_tasks=belief_tasks, action_tasks=action_tasks)
    named = {log.model for log in logs if log.model is not None} | (
        {model} if model is not None else set()
    )
    default_model = model if model is not None else next(iter(named)) if len(named) == 1 else None
    counted = "context" in mapping and "rep" not in mapping
    mapped, rows = [], []
    several = len({log.name for log in beliefs}) > 1
    for log in beliefs:
        fields = belief_fields(log, mapping, reading.positive, with_action=not actions)
        mapped.append(_line("belief", log, fields))
        shared = {
            "task": beliefs[0].task,
            "model": log.model or default_model,
            "prompt": log.name if several else None,
        }
        rows += [_belief_row(record, log, fields, reading, shared) for record in log.records]
    _number_repetitions(rows, counted=counted)
    _refuse_doubles(rows, ("prompt", "z", "z_state"))
    unpaired: list[str] = []
    if actions:
        asked = []
        for log in actions:
            fields = action_fields(log, mapping)
            mapped.append(_line("action", log, fields))
            shared = {"task": beliefs[0].task, "model": log.model or default_model}
            asked += [_action_row(record, log, fields, reading, shared) for record in log.records]
        _number_repetitions(asked, counted=counted)
        _refuse_doubles(asked, ())
        rows, unpaired = _joined(rows, asked)
    notes = [f"{log.file}: {note}" for log in (*beliefs, *actions) for note in log.notes]
    runs = _table(rows, reading.positive)
    # Wordings and models may be imported one by one, so a table need not allow a check by itself.
    faults = find_faults(runs, part=True)
    if faults:
        raise SchemaError(faults, ", ".join(log.file for log in logs))
    return Imported(runs, mapped, unpaired, notes)


def _line(role: str, log: AnswerLog, fields: Mapping[str, str]) -> str:
    shown = sorted(
        fields.items(), key=lambda item: not is_belief(item[0]) and item[0] != "action"
    )  # the answer first
    return f"{role} from {log.name} ({log.file}): " + ", ".join(
        f"{column} = {name}" if column != name else column for column, name in shown
    )


def _plain(record: Record, fields: Mapping[str, str], log: AnswerLog) -> dict[str, object]:
    """Every column that is neither an answer nor its status."""
    cells: dict[str, object] = {}
    for column, name in fields.items():
        value = record.get(name)
        if is_belief(column) or column in ("action", "status"):
            continue
        if column in _NUMBERS and value is not None and value != "":
            number = as_number(value)
            if number is None:
                raise InputError(
                    f"{log.file}: field {name!r} must hold numbers to be used as {column!r}; received {value!r}. Map another field."
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
) -> dict[str, object]:
    scored = any(name.startswith("probability.") for name in fields.values())
    scale = 100.0 if reading.percent and not scored else 1.0
    row = {**shared, **_plain(record, fields, log)}
    stated = {column: record.get(name) for column, name in fields.items() if is_belief(column)}
    if "p" in stated:
        belief = belief_cell(stated["p"], reading.belief, is_text=log.is_text, scale=scale)
        row["p"] = belief.value
    else:
        belief = distribution_cells(stated, reading.belief, is_text=log.is_text, scale=scale)
        row |= belief.value if isinstance(belief.value, dict) else dict.fromkeys(stated)
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
    row["status"] = with_own_status(
        cells, record.get(fields["status"]) if "status" in fields else None
    )
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
    row["status"] = with_own_status(
        [cell], record.get(fields["status"]) if "status" in fields else None
    )
    return row


def _read_action(
    record: Record, log: AnswerLog, fields: Mapping[str, str], reading: Reading
) -> Cell:
    name = fields["action"]
    offered = record.get("choices")
    options = reading.actions or (offered if isinstance(offered, tuple) else ())
    if log.states_scored and name == log.fields["answer"]:
        options = ()  # a program took the most probable one: nothing is to be read
    elif log.is_text and not options:
        texts = Counter(str(other.get(name)).strip()[:40] for other in log.records)
        listed = ", ".join(f"{text!r} ({count})" for text, count in texts.most_common(4))
        raise InputError(
            f"{log.file}: it does not say which actions were offered. Name them: --actions A,B. The most frequent answers are {listed}."
        )
    return action_cell(
        record.get(name), reading.action, options, by_letter=not reading.actions and log.is_text
    )


def _number_repetitions(rows: list[dict[str, object]], *, counted: bool) -> None:
    """Fill the repetition: as the log has it, or counted where samples were gathered into contexts or no repetition is named."""
    seen: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        if row.get("context") in (None, ""):
            continue
        place = tuple(
            row.get(name) for name in ("task", "model", "prompt", "context", "z", "z_state")
        )
        if counted or row.get("rep") is None:
            row["rep"] = seen[place]
        seen[place] += 1


def _key(row: Mapping[str, object]) -> _Key:
    rep = row.get("rep")
    number = as_number(rep)
    if number is None or number % 1:
        raise InputError(
            f"rep must be a whole number; received {rep!r} in context {row.get('context')!r}. Map another field to rep."
        )
    return (str(row.get("task")), str(row.get("model")), str(row.get("context")), int(number))


def _refuse_doubles(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> None:
    counts = Counter(
        (tuple(row.get(name) for name in names), _key(row))
        for row in rows
        if row.get("context") not in (None, "")
    )
    twice = [key for (_, key), count in counts.items() if count > 1]
    if twice:
        _, model, context, rep = twice[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context {context!r}, repetition {rep}, model {model!r}. "
            "Leave out the file that repeats them, or import models that the logs do not name one by one, each with --model."
        )


def _asks_for_action(row: Mapping[str, object], reference: object) -> bool:
    return row.get("prompt") == reference and row.get("z") in (None, "")


def _joined(
    rows: list[dict[str, object]], asked: list[dict[str, object]]
) -> tuple[list[dict[str, object]], list[str]]:
    """Put actions onto the rows of the reference wording; give those without a belief a row of their own."""
    prompts = list(dict.fromkeys(row.get("prompt") for row in rows))
    reference = _REFERENCE if _REFERENCE in prompts else prompts[0]
    if any(row.get("context") in (None, "") for row in (*rows, *asked)):
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. Map one in both: --map context=FIELD."
        )
    waiting = {_key(row): row for row in asked}
    joined, alone = [], []
    for row in rows:
        partner = waiting.pop(_key(row), None) if _asks_for_action(row, reference) else None
        if partner is not None:
            stated = {column: value for column, value in row.items() if value is not None}
            row = {
                **partner,
                **stated,
                "status": worst([str(partner["status"]), str(row["status"])]),
            }
        elif _asks_for_action(row, reference):
            alone.append(_key(row))
        joined.append(row)
    # A belief that is missing cannot be read either; a row of its own keeps the action.
    joined += [
        {**row, "prompt": reference, "status": worst(["unparsed", str(row["status"])])}
        for row in waiting.values()
    ]
    lines = [
        f"{what} ({len(keys)}): {_listed(keys)}"
        for keys, what in (
            (alone, "beliefs without an action"),
            (list(waiting), "actions without a belief, each a row that is at best unparsed"),
        )
        if keys
    ]
    if len(waiting) == len(asked):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. Map what they share: --map context=FIELD."
        )
    return joined, lines


def _listed(keys: Sequence[_Key]) -> str:
    shown = ", ".join(f"{context} repetition {rep}" for *_, context, rep in keys[:5])
    return shown + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")


def _table(rows: Sequence[Mapping[str, object]], positive: str | None) -> pd.DataFrame:
    """Lay rows out with the columns in the schema's order and one type per column."""
    seen = list(dict.fromkeys(column for row in rows for column in row))
    states = [column for column in seen if is_belief(column) and column != "p"]
    order = []
    for column in COLUMNS:
        order += states if column.name == "p" else []
        order += [column.name] if column.name in seen else []
        order += (
            [name for name in seen if name.startswith("x_")] if column.name == "p_z_true" else []
        )
    runs = pd.DataFrame(
        {
            column: _typed(
                column, [row.get(column) for row in rows], positive if not states else None, states
            )
            for column in order
        }
    )
    # What was asked keeps its column even if no answer could be read; what the logs do not have is
    # no column at all.
    kept = ("action", "status", "p", *states)
    return runs[[column for column in order if column in kept or runs[column].notna().any()]]


def _typed(
    column: str, values: list[object], positive: str | None, states: Sequence[str]
) -> pd.Series:
    values = [None if value == "" else value for value in values]
    if column == "theta" and not states:
        return pd.Series(as_zero_or_one(values, positive), dtype="Int64")
    if column in (*_NUMBERS, "p", *states):
        return pd.Series(values, dtype="float64")
    if column.startswith("x_") or column in ("rep", "seed", "context"):
        whole = [_whole(value, as_text=column != "context") for value in values]
        if all(
            (number is None) == (value is None) for number, value in zip(whole, values, strict=True)
        ):
            return pd.Series(whole, dtype="Int64")
    if column.startswith("x_"):
        numbers = [as_number(value) for value in values]
        if all(
            (number is None) == (value is None)
            for number, value in zip(numbers, values, strict=True)
        ):
            return pd.Series(numbers, dtype="float64")
    return pd.Series(
        [None if value is None else _writable(str(value)) for value in values], dtype="string"
    )


def _whole(value: object, *, as_text: bool) -> int | None:
    """Return a whole number that a column of integers can hold; as text only where 007 and 7 are the same."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 2**63 else None
    return (
        int(value)
        if as_text and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value)
        else None
    )


def _writable(text: str) -> str:
    """Replace halves of characters, which JSON can escape and no file can hold."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
