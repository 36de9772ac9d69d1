"""One task's answers out of one file, as records with dotted field names: ``metadata.p_true``.

Everything in a record came from outside and stays text or a number: no field is ever used as a
path, a pattern or code.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coherence.table.schema import FEATURE_PREFIX
from coherence.table.text_files import bare_name

Record = Mapping[str, object]
PICKED = "picked"
"""Field of what the log itself takes for the answer: words that name it; empty if it found none."""
_DEEPEST = 6  # levels; a document of a thousand would else need as many calls and names as long


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
    # the answers that the model was scored on, if it was; their shares are the fields
    # ``probability.<state>``.
    states: tuple[str, ...] = ()
    # whether answers are what a model said, to be decoded; False where a program wrote them as
    # numbers and labels
    is_text: bool = True
    notes: tuple[str, ...] = ()  # what the reader had to leave out or found missing

    @property
    def name(self) -> str:
        """What messages and ``--belief-task`` call it: the task, or else the file's bare name."""
        return self.task if self.task is not None else bare_name(Path(self.file))

    @property
    def states_scored(self) -> bool:
        """Whether the answer is the most probable of several choices, and no text."""
        return self.fields.get("answer") == "choice"

    def field_names(self) -> tuple[str, ...]:
        """Return every field that some record has, in order of appearance."""
        return tuple(dict.fromkeys(name for record in self.records for name in record))


def flatten(value: object, name: str) -> dict[str, object]:
    """Turn nested JSON into dotted fields."""
    if isinstance(value, dict) and name.count(".") < _DEEPEST:
        return {
            inner: item
            for key, part in value.items()
            for inner, item in flatten(part, f"{name}.{key}").items()
        }
    # As text, a list can still be shown and mapped, and is never a column by accident.
    if isinstance(value, dict | list):
        return {name: json.dumps(value, ensure_ascii=False)}
    return {name: value}


def most_frequent(messages: Counter[str]) -> str:
    """Say in a sentence which error occurred most often."""
    # The first line says what went wrong; a traceback behind it fills a page.
    lines: Counter[str] = Counter()
    for message, times in messages.items():
        lines[next(iter(message.strip().splitlines()), "")[:300]] += times
    shown, count = lines.most_common(1)[0]
    return f"The most frequent error ({count}): {shown or 'without a message'}"


def errors_of(records: Iterable[Record]) -> Counter[str]:
    """Count the messages of the errors that records ended in."""
    return Counter(str(record["error"]) for record in records if "error" in record)


def sample_columns(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return what a log says of its samples under a column's name: exact posterior and evidence."""
    columns = {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}
    return {
        column: name
        for column, name in columns.items()
        # A dot is left of something nested, which is no value of its own.
        if column == "p_true" or (column.startswith(FEATURE_PREFIX) and "." not in column)
    }
