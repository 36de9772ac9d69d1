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

import pandas as pd

from coherence.decoding.decode import worst
from coherence.errors import InputError, SchemaError, listing
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
from coherence.importing.log_format import PICKED, AnswerLog, Record, with_fields
from coherence.importing.mapping import (
    action_fields,
    belief_fields,
    check_mapping,
    is_belief,
    split_by_task,
)
from coherence.importing.typed_table import NUMBER_COLUMNS, Columns, typed_table
from coherence.table.exact import EXACT
from coherence.table.probabilities import Tally, judge_percentages
from coherence.table.runs import REFERENCE
from coherence.table.scales import Scale
from coherence.table.schema import ACTION_PREFIX
from coherence.table.validation import examined

_MISSING = (None, "")
_Key = tuple[str, str, str, int]


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
        if EXACT in log.field_names and EXACT not in {*log.fields, *mapping}
    ]
    stated: list[Columns] = []
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
            names = ", ".join(name for column, name in fields.items() if is_belief(column))
            scale = reading.scale
            notes.append(f"{names} was read on the scale {scale}: {scale.described()}")
        stated.append(_belief_columns(log, fields, reading, shared, percent))
    answers = _stacked(stated)
    _number_repetitions(answers, counted=counted)
    _refuse_doubles(answers, ("prompt", "z", "z_state"))
    unpaired: list[str] = []
    if actions:
        chosen: list[Columns] = []
        for log in actions:
            fields = action_fields(log, mapping)
            mapped.append(_line("action", log, fields))
            shared = {"task": beliefs[0].task, "model": log.model or model}
            chosen.append(_action_columns(log, fields, reading, shared))
        choices = _stacked(chosen)
        _number_repetitions(choices, counted=counted)
        _refuse_doubles(choices, ())
        answers, unpaired = _joined(answers, choices)
    runs = typed_table(answers, reading.positive)
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
    policies = [name for name in log.field_names if name.startswith(ACTION_PREFIX)]
    notes = [
        f"{log.file}: {', '.join(policies)} left out: probabilities of actions are not "
        "imported; coherence analyze reads them where they are"
    ] * bool(policies)
    stated = {column: name for column, name in fields.items() if is_belief(column)}
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
        if errors:
            raise InputError.all_at_once(log.file, errors)
    return notes


def _bare_number(record: Record, log: AnswerLog, name: str) -> float | None:
    picked = _picked(record, log, name)
    answer = picked[0] if picked else record.get(name)
    return as_number(answer.replace(",", ".") if isinstance(answer, str) else answer)


def _plain(log: AnswerLog, fields: Mapping[str, str], shared: Mapping[str, object]) -> Columns:
    """Every column that is neither an answer nor its status."""
    columns: Columns = {column: [value] * len(log.records) for column, value in shared.items()}
    for column, name in fields.items():
        # These are decoded, and have statuses of their own.
        if is_belief(column) or column in ("action", "status"):
            continue
        cells = [record.get(name) for record in log.records]
        if column in NUMBER_COLUMNS:
            cells = [
                cell if cell in _MISSING else _number(cell, column, name, log) for cell in cells
            ]
        columns[column] = cells
    return columns


def _number(cell: object, column: str, name: str, log: AnswerLog) -> float:
    number = as_number(cell)
    if number is None:
        raise InputError(
            f"{log.file}: field {name!r} must hold numbers to be used as {column!r}; "
            f"received {cell!r}. Map another field."
        )
    return number


def _belief_columns(
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
    percent: bool,
) -> Columns:
    columns = _plain(log, fields, shared)
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    form: dict[str, Any] = {"percent": percent, "scale": reading.scale}
    if "p" in stated:
        name = stated["p"]
        # Answers are read once, however often they were given.
        read = lru_cache(maxsize=None, typed=True)(partial(belief_cell, **form))
        beliefs = [
            picked_cell(
                record.get(name),
                _picked(record, log, name),
                partial(read, reason=_cut(record, log, name)),
            )
            if reading.pattern is None
            else found_cell(
                record.get(name),
                reading.pattern,
                partial(read, reason=_cut(record, log, name)),
            )
            for record in log.records
        ]
        columns["p"] = [belief.value for belief in beliefs]
    else:
        beliefs = [
            distribution_cells(
                {column: record.get(name) for column, name in stated.items()}, **form
            )
            for record in log.records
        ]
        for column in stated:
            columns[column] = [
                belief.value[column] if isinstance(belief.value, dict) else None
                for belief in beliefs
            ]
    columns["raw_belief"] = _raw(beliefs, columns.get("raw_belief"))
    actions: list[Cell | None] = [None] * len(beliefs)
    logged = _logged(log, fields)
    if "action" in fields:
        name, read_action = fields["action"], _action_reader(log, fields, reading)
        # Rows of the law of iterated expectation ask for no action, nor does a row without the
        # label that a program wrote, where it has a status that says so.
        actions = [
            None
            if given_z or (name in log.labels and said and record.get(name) in _MISSING)
            else read_action(record)
            for record, given_z, said in zip(
                log.records, columns.get("z", actions), logged, strict=True
            )
        ]
    if any(actions):
        columns["action"] = [action and action.value for action in actions]
        columns["raw_action"] = _raw(actions, columns.get("raw_action"))
    columns["status"] = [
        row_status([belief] if action is None else [belief, action], said)
        for belief, action, said in zip(beliefs, actions, logged, strict=True)
    ]
    return columns


def _action_columns(
    log: AnswerLog,
    fields: Mapping[str, str],
    reading: Reading,
    shared: Mapping[str, object],
) -> Columns:
    columns = _plain(log, fields, shared)
    actions = list(map(_action_reader(log, fields, reading), log.records))
    columns["action"] = [action.value for action in actions]
    columns["raw_action"] = _raw(actions, columns.get("raw_action"))
    logged = _logged(log, fields)
    columns["status"] = [
        row_status([action], said) for action, said in zip(actions, logged, strict=True)
    ]
    return columns


def _raw(cells: Sequence[Cell | None], logged: list[object] | None) -> list[object]:
    """Return raw answers; a text that was logged beside a number stays the raw one of that."""
    return [
        cell.raw if cell is not None and cell.raw is not None else text
        for cell, text in zip(cells, logged or [None] * len(cells), strict=True)
    ]


def _logged(log: AnswerLog, fields: Mapping[str, str]) -> list[object]:
    """Return the statuses that the log itself gives."""
    return [record.get(fields["status"]) if "status" in fields else None for record in log.records]


def _stacked(parts: Sequence[Columns]) -> Columns:
    """Put the rows of several logs under each other."""
    if len(parts) == 1:
        return parts[0]
    return {
        column: [cell for part in parts for cell in part.get(column, [None] * len(part["status"]))]
        for column in dict.fromkeys(column for part in parts for column in part)
    }


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


def _number_repetitions(answers: Columns, *, counted: bool) -> None:
    """Fill in the repetition of rows that have a context."""
    seen: Counter[tuple[object, ...]] = Counter()
    blank: list[object] = [None] * len(answers["status"])
    contexts = answers.get("context", blank)
    reps = list(answers.get("rep", blank))
    names = ("task", "model", "prompt", "context", "z", "z_state")
    questions = zip(*(answers.get(name, blank) for name in names), strict=True)
    for row, question in enumerate(questions):
        if contexts[row] in _MISSING:
            continue
        if counted or reps[row] is None:
            reps[row] = seen[question]
        seen[question] += 1
    answers["rep"] = reps


def _keys(answers: Columns) -> list[_Key | None]:
    """Return what each answer is known by; None without a context."""
    blank: list[object] = [None] * len(answers["status"])
    names = ("task", "model", "context", "rep")
    return [
        None
        if context in _MISSING
        else (str(task), str(model), str(context), _repetition(rep, context))
        for task, model, context, rep in zip(
            *(answers.get(name, blank) for name in names), strict=True
        )
    ]


def _repetition(rep: object, context: object) -> int:
    number = as_number(rep)
    # Repetitions are counted; a fraction is some other field, taken for them.
    if number is None or number % 1:
        raise InputError(
            f"rep must be a whole number; received {rep!r} in context {context!r}. "
            "Map another field to rep."
        )
    return int(number)


def _refuse_doubles(answers: Columns, names: Sequence[str]) -> None:
    """Raise if an answer occurs twice."""
    keys = _keys(answers)
    columns = [answers[name] for name in names if name in answers]
    counts = Counter(row for row in zip(keys, *columns, strict=True) if row[0] is not None)
    twice = [key for (key, *_), count in counts.items() if count > 1]
    if twice:
        _, model, context, rep = twice[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context {context!r}, "
            f"repetition {rep}, model {model!r}. Leave out the file that repeats them, or import "
            "models that the logs do not name one by one, each with --model."
        )


def _joined(beliefs: Columns, actions: Columns) -> tuple[Columns, list[str]]:
    """Put actions onto the belief rows of the reference prompt."""
    prompts = list(dict.fromkeys(beliefs["prompt"]))
    reference = REFERENCE if REFERENCE in prompts else prompts[0]
    keys = _keys(beliefs)
    waiting = {key: row for row, key in enumerate(_keys(actions))}
    if None in waiting or None in keys:
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. "
            "Map one in both: --map context=FIELD."
        )
    given_z = beliefs.get("z", [None] * len(keys))
    # Other prompts and rows given z ask for the belief alone.
    asks = [
        prompt == reference and z in _MISSING
        for prompt, z in zip(beliefs["prompt"], given_z, strict=True)
    ]
    n_actions = len(waiting)
    partners = [
        waiting.pop(key, None) if asked else None for key, asked in zip(keys, asks, strict=True)
    ]
    alone = [
        key
        for key, asked, partner in zip(keys, asks, partners, strict=True)
        if asked and partner is None
    ]
    # A belief that is missing is unparsed too; a row of its own keeps the action.
    rest = list(waiting.values())
    joined: Columns = {}
    for column in dict.fromkeys((*actions, *beliefs)):
        chosen = actions.get(column, [None] * n_actions)
        # Where both logs have a column, the belief log's value stands unless it is missing.
        joined[column] = [
            chosen[partner] if cell is None and partner is not None else cell
            for cell, partner in zip(beliefs.get(column, [None] * len(keys)), partners, strict=True)
        ] + [chosen[row] for row in rest]
    joined["prompt"][len(keys) :] = [reference] * len(rest)
    joined["status"] = [
        status if partner is None else worst([str(actions["status"][partner]), str(status)])
        for status, partner in zip(beliefs["status"], partners, strict=True)
    ] + [worst(["unparsed", str(actions["status"][row])]) for row in rest]
    lines = [
        f"{what} ({len(unpaired)}): "
        + listing(f"{key[2]} repetition {key[3]}" for key in unpaired if key)
        for unpaired, what in (
            (alone, "beliefs without an action"),
            (list(waiting), "actions without a belief, each a row that is at best unparsed"),
        )
        if unpaired
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(rest) == n_actions:
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. "
            "Map what they share: --map context=FIELD."
        )
    return joined, lines
