"""Fields within lists: ``choices.0.message.content`` is looked up where the user asks for it.

Lists stay JSON text in a record: a reply's log-probabilities alone would make thousands of fields.
A name that no record has is therefore followed, part by part, into such texts.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from coherence.importing.answer_log import AnswerLog, Record, flatten


def with_fields(logs: Sequence[AnswerLog], names: Iterable[str]) -> list[AnswerLog]:
    """Add fields that lie within lists to the records that have them."""
    wanted = list(dict.fromkeys(names))
    return [_with_fields(log, wanted) for log in logs]


def _with_fields(log: AnswerLog, wanted: Sequence[str]) -> AnswerLog:
    known = set(log.field_names())
    within = [name for name in wanted if name not in known and "." in name]
    if not within:
        return log
    records = []
    for record in log.records:
        inner: dict[str, object] = {}
        for name in within:
            inner |= follow(record, name)
        records.append({**record, **inner} if inner else record)
    return replace(log, records=tuple(records))


def follow(record: Record, name: str) -> dict[str, object]:
    """Follow a dotted name into the JSON text of a list."""
    parts = name.split(".")
    # The longest field first: the rest of the name leads on from there.
    for length in range(len(parts) - 1, 0, -1):
        text = record.get(".".join(parts[:length]))
        if not isinstance(text, str) or text[:1] not in ("[", "{"):
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {}  # a text that begins with a bracket, and is no list
        for part in parts[length:]:
            if isinstance(value, list) and part.isascii() and part.isdigit():
                value = value[int(part)] if len(part) < 10 and int(part) < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            return {}
        whole = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
        return flatten(whole, name)
    return {}
