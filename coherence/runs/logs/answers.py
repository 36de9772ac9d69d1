"""What a log is, whichever program wrote it, and its answers as values.

A log has records of answers with dotted field names. Everything in one stays text or a number: no
field is ever used as a path, a pattern or code. What a model said is decoded as when it is elicited
here; what was not parsed keeps its text.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pandas as pd

from coherence.decoding.decode import WITHHELD, decode_belief, decode_choice, worst
from coherence.decoding.ranges import STATED_SUM
from coherence.errors import InputError
from coherence.runs.cells import numbers
from coherence.runs.columns import EXACT, FEATURE_PREFIX, PERCENT, Scale, is_belief
from coherence.runs.formats import bare_name, dotted_fields

PICKED = "picked"  # field of what the log's own scorer takes for the answer; empty for none
SHARE = "probability."
"""Fields ``probability.<state>`` hold a state's share of what the scored answers have together."""
_as_json = json.JSONEncoder(ensure_ascii=False).encode

Record = Mapping[str, object]


@dataclass(frozen=True)
class AnswerLog:
    """The answers of one task in one file."""

    file: str  # name of the file, for messages
    task: str | None  # it and the model as the log names them; None where it does not
    model: str | None
    records: tuple[Record, ...]  # one per answer, from field name to a scalar
    # Column of the runs table -> field, as the format has it; ``answer`` is the answer itself
    fields: Mapping[str, str]
    states: tuple[str, ...] = ()  # answers that were scored, each with a share
    labels: tuple[str, ...] = ()  # fields that a program wrote, where others are to be decoded
    probabilities: tuple[str, ...] = ()  # fields that are on no scale, whatever was asked for
    notes: tuple[str, ...] = ()  # what the reader had to leave out or found missing

    @property
    def name(self) -> str:
        """What messages and ``--belief-task`` call it: the task, or else the file's bare name."""
        return self.task if self.task is not None else bare_name(Path(self.file))

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """Every field that some record has, in order of appearance."""
        return names_of(self.records)


def names_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Return every field that some record has, in order of appearance."""
    return tuple(dict.fromkeys(name for record in records for name in record))


@dataclass(frozen=True)
class LogFormat:
    """A format that logs can have."""

    name: str
    endings: tuple[str, ...]  # endings of its files, in small letters, with the dot
    recognises: Callable[[Path], bool]  # tells a file of such an ending by its content
    read: Callable[[Path], AnswerLog]


def flatten(value: object, name: str) -> dict[str, object]:
    """Turn nested JSON into dotted fields; lists stay JSON text, which is never a column."""
    return {
        field: _as_json(part) if isinstance(part, list | dict) else part
        for field, part in dotted_fields(name, value)
        if part != {}
    }


def sample_columns(records: Sequence[Record], prefix: str) -> dict[str, str]:
    """Return what a log says of its samples under a column's name: exact posterior and evidence."""
    # A list, as one posterior a turn, is no value of a column; a dot is left of something nested.
    lists = {name for each in records for name, value in each.items() if str(value)[:1] == "["}
    names = [name for name in names_of(records) if name.startswith(prefix) and name not in lists]
    return {
        column: name
        for column, name in ((name.removeprefix(prefix), name) for name in names)
        if column == EXACT or (column.startswith(FEATURE_PREFIX) and "." not in column)
    }


_WITHOUT_TEXT = {"length": "truncated", WITHHELD: "refused"}
_BARE_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+")


@dataclass(frozen=True)
class AnswerForm:
    """How answers are to be read."""

    actions: tuple[str, ...] = ()  # the options that were offered, where the log does not name them
    positive: str | None = None  # label of theta = 1
    line: Scale | None = None  # of beliefs that are no probabilities
    pattern: re.Pattern[str] | None = None  # of the number that is the belief, among words


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, its status, and the text it was read from; None where a program wrote the value."""

    value: object
    status: str
    raw: str | None = None


@lru_cache(maxsize=4096, typed=True)  # answers are read once, however often they were given
def belief_cell(value: Any, reason: str | None = None, line: Scale | None = None) -> Cell:
    """Read a belief; `reason` is why the answer ended, where it was cut or withheld."""
    if value is None or value == "":  # the sample ended before an answer
        return _no_answer(reason)
    if isinstance(value, str | bool) and line in (None, PERCENT):
        return _decoded_belief(str(value), reason, percent=line is not None)
    # Alone in its cell: of other texts on a scale nothing says which number is meant.
    typed = isinstance(value, float)
    number = float(value if typed else numbers(pd.Series([value], dtype=object)).values[0])
    low, high = (0.0, 1.0) if line is None else sorted((line.low, line.high))
    if not math.isfinite(number):
        return Cell(None, "unparsed", str(value))
    # Not clipped: 101 of 100 is an answer that cannot be meant.
    if not low <= number <= high:
        return Cell(None, "out_of_range", str(value))
    return Cell(number if line is None else float(line.probability(number)), "ok")


def _no_answer(reason: str | None) -> Cell:
    return Cell(None, _WITHOUT_TEXT.get(reason or "", "unparsed"))


def _decoded_belief(text: str, reason: str | None, *, percent: bool) -> Cell:
    """Decode a belief: a number alone, or the lines No and Yes."""
    bare = percent and _BARE_NUMBER.fullmatch(text.strip())
    said = f"{text.strip()}%" if bare else text
    number = decode_belief(said, form="number", finish_reason=reason)
    # Logs do not say which of the two forms was asked for: what is unparsed as the one may be the
    # other.
    lines = decode_belief(text, finish_reason=reason)
    unparsed = not number.readable and (lines.readable or number.status == "unparsed")
    best = lines if unparsed or lines.status == "ok" else number
    # Where percentages were asked for, one with its sign is no repair.
    status = "ok" if percent and best.status == "repaired:percent" else best.status
    return Cell(best.value, status, text)


def _distribution(values: Mapping[str, object], line: Scale | None) -> Cell:
    """Read the beliefs in several states: a dictionary of them, if they are a distribution."""
    cells = {column: belief_cell(value, line=line) for column, value in values.items()}
    shares = {column: cell.value for column, cell in cells.items() if isinstance(cell.value, float)}
    raw = "; ".join(f"{column}={value}" for column, value in values.items())
    status = worst([cell.status for cell in cells.values()])
    if len(shares) < len(cells):
        return Cell(None, status, raw)
    # One state alone is a belief of which the others were not logged: there is no sum to miss.
    if len(shares) > 1 and abs(math.fsum(shares.values()) - 1) > STATED_SUM:
        return Cell(None, "sum_not_one", raw)
    return Cell(shares, status)


def _chosen(value: object, reason: str | None, options: Sequence[str], *, by_letter: bool) -> Cell:
    """Read which of several options an answer is."""
    if value is None or value == "":
        return _no_answer(reason)
    text = str(value)
    decoded = decode_choice(text, options, finish_reason=reason)
    if decoded.value is None and by_letter:
        # Multiple choice is asked by letter; the option's own words come first all the same.
        letters = ascii_uppercase[: len(options)]
        letter = decode_choice(text, [*letters], finish_reason=reason)
        if letter.value is not None:
            return Cell(options[letters.index(letter.value)], letter.status, text)
    return Cell(decoded.value, decoded.status, text)


def _read_reply(
    log: AnswerLog,
    record: Record,
    name: str,
    read: Callable[[Any, str | None], Cell],
    pattern: re.Pattern[str] | None = None,
) -> Cell:
    """Read what the log picked of a reply, else the last place that a pattern finds, else all."""
    value, reply = record.get(name), log.fields.get("answer", name)
    if name == reply and record.get(PICKED) is not None:
        return replace(read(record[PICKED], None), raw=str(value))
    # What a scorer took from a reply that was cut may be whole all the same.
    reason = str(record.get("finish_reason")) if value == record.get(reply) else None
    if pattern is None:
        return read(value, reason)
    text = "" if value is None else str(value)
    found = [match[min(pattern.groups, 1)] or "" for match in pattern.finditer(text)]
    cell = read(found[-1] if found else value, reason)
    if found:
        return replace(cell, raw=text)
    return cell if cell.value is None else Cell(None, "unparsed", text)  # a refusal stays one


def _action(log: AnswerLog, record: Record, name: str, form: AnswerForm) -> Cell | None:
    """Read an action; None where a program that names them says that none was asked for."""
    if name in log.labels:  # which a program wrote: they need no reading, and no list of options
        value = record.get(name)
        cell = _no_answer(None) if value in (None, "") else Cell(value, "ok")
        return cell if name in record else None
    # The user's word for what was offered comes before the log's, which letters may stand for.
    options = form.actions or record.get("choices")
    if not isinstance(options, tuple):
        raise InputError(
            f"{log.file}: it does not say which actions were offered. Name them: --actions A,B."
        )
    read = partial(_chosen, options=options, by_letter=not form.actions)
    return _read_reply(log, record, name, read)


def answers_of(log: AnswerLog, fields: Mapping[str, str], form: AnswerForm) -> dict[str, Any]:
    """Return the answers of a log by column, a cell each.

    Beliefs and actions are decoded; all else is as the log has it. A text that was logged beside a
    value that a program wrote stays the raw one of that.
    """
    stated = {column: name for column, name in fields.items() if is_belief(column)}
    rows: dict[str, Any] = {
        column: [record.get(name) for record in log.records]
        for column, name in fields.items()
        if column not in stated and column != "action"
    }
    answers: dict[str, Sequence[Cell | None]] = {}
    if "p" in stated:
        read = partial(belief_cell, line=form.line)
        beliefs = [_read_reply(log, each, stated["p"], read, form.pattern) for each in log.records]
        answers["belief"], rows["p"] = beliefs, [cell.value for cell in beliefs]
    elif stated:
        beliefs = [
            _distribution({column: record.get(name) for column, name in stated.items()}, form.line)
            for record in log.records
        ]
        shares = [cell.value if isinstance(cell.value, dict) else {} for cell in beliefs]
        answers["belief"] = beliefs
        rows |= {column: [share.get(column) for share in shares] for column in stated}
    if "action" in fields:
        answers["action"] = [_action(log, each, fields["action"], form) for each in log.records]
        rows["action"] = [cell and cell.value for cell in answers["action"]]
    for kind, cells in answers.items():
        logged = rows.get(f"raw_{kind}") or [None] * len(cells)
        rows[f"raw_{kind}"] = [
            text if cell is None or cell.raw is None else cell.raw
            for cell, text in zip(cells, logged, strict=True)
        ]
    rows["status"] = [
        worst([cell.status for cell in cells if cell is not None])
        for cells in zip(*answers.values(), strict=True)
    ]
    return rows
