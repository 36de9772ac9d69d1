"""Replies with the value that a careful reader gives them, from the files beside this one."""

import json
from functools import cache
from pathlib import Path

from coherence.decoding.decode import (
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
)


@cache
def coded(name):
    """Return the replies of a file."""
    text = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def read(row, text=None, finish_reason=None):
    """Read a reply as its form says; another text or ending in its place, if one is given."""
    text = row["text"] if text is None else text
    ended = {"finish_reason": finish_reason or row["finish_reason"]}
    if row["form"] == "belief_lines":
        return decode_belief(text, **ended)
    if row["form"] == "belief_number":
        return decode_belief(text, form="number", **ended)
    if row["form"] == "distribution":
        return decode_distribution(text, row["labels"], **ended)
    if row["form"] == "decision":
        return decode_decision(text, **ended)
    return decode_choice(text, row["options"], words=row.get("words", ()), **ended)


def same(value, coded_value):
    """Return whether two values are one; None is a value here."""
    if value is None or coded_value is None or isinstance(value, str):
        return value == coded_value
    if isinstance(value, tuple):
        return all(abs(a - b) < 1e-9 for a, b in zip(value, coded_value, strict=True))
    return abs(value - coded_value) < 1e-9
