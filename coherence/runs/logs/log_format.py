"""What a log is, whichever program wrote it: records of answers with dotted field names.

Everything in a record came from outside and stays text or a
number: no field is ever used as a path, a pattern or code.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from coherence.runs.columns import EXACT, FEATURE_PREFIX
from coherence.runs.text_files import bare_name, dotted_fields

PICKED = "picked"
"""Field of what the log itself takes for the answer; empty if it looked and found none."""
SHARE = "probability."
"""Fields ``probability.<state>`` hold a state's share of what the scored answers have together."""
_as_json = json.JSONEncoder(ensure_ascii=False).encode

Record = Mapping[str, object]


@dataclass(frozen=True)
class AnswerLog:
    """The answers of one task in one file."""

    file: str  # name of the file, for messages
    # task, model: as the log names them; None where it does not
    task: str | None
    model: str | None
    records: tuple[Record, ...]  # one per answer, from field name to a scalar
    # Column of the runs table -> field, as far as the format says what a field means. ``answer``
    # stands for the field of the answer itself.
    fields: Mapping[str, str]
    states: tuple[str, ...] = ()  # answers that were scored, each with a share
    labels: tuple[str, ...] = ()  # fields that a program wrote, where others are to be decoded
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
    # tells by the content whether a file of such an ending has this format
    recognises: Callable[[Path], bool]
    read: Callable[[Path], AnswerLog]


def flatten(value: object, name: str) -> dict[str, object]:
    """Turn nested JSON into dotted fields; lists stay JSON text, which is never a column."""
    return {
        field: _as_json(part) if isinstance(part, list | dict) else part
        for field, part in dotted_fields(name, value)
        if part != {}
    }


def sample_columns(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return what a log says of its samples under a column's name: exact posterior and evidence."""
    columns = {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}
    return {
        column: name
        for column, name in columns.items()
        # A dot is left of something nested, which is no value of its own.
        if column == EXACT or (column.startswith(FEATURE_PREFIX) and "." not in column)
    }
