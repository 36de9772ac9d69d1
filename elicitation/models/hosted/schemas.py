"""Forms of answers as JSON schemas, which services and servers hold their answers to.

What is drawn under a schema is not what the model would say if its answer had the form: tokens are
masked one at a time, which favours beginnings that lead nowhere.
"""

import json
from collections.abc import Iterator
from math import comb
from typing import Any

from elicitation.spelling.forms import ABLE, DECISION, AnswerForm

# Servers compile what they are given, and some refuse long lists.
_MOST_ALTERNATIVES = 300
_STEPS = (5, 10, 20, 25, 50)
_HUNDREDTHS = tuple(f"{hundredth / 100:.2f}" for hundredth in range(101))
_YES_NO = ("Yes", "No")
_ANSWER = "answer"


def alternatives(form: AnswerForm) -> list[str]:
    """Return all answers that a server is held to.

    Probabilities have two decimals and sum to 1: masks know no sums, so that they are given the
    whole lines. Of two lines there are 101 such answers; of three all that are multiples of .05,
    of more those of a coarser step, the finest that leaves no more than 300.
    """
    if form.kind == "number":
        return list(_HUNDREDTHS)
    if form.kind == "choice":
        return list(form.labels)
    if form.kind == "decision":
        return [f"{ABLE}: {able}\n{DECISION}: {said}" for able in _YES_NO for said in _YES_NO]
    if len(form.labels) == 2:
        return [form.write([number]) for number in _HUNDREDTHS]
    n_lines = len(form.labels)
    sizes = {step: comb(100 // step + n_lines - 1, n_lines - 1) for step in _STEPS}
    step = next((step for step in _STEPS if sizes[step] <= _MOST_ALTERNATIVES), _STEPS[-1])
    return [
        form.write([f"{step * part / 100:.2f}" for part in parts])
        for parts in _compositions(100 // step, n_lines)
    ]


def _compositions(total: int, n_parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a sum of so many, zeros included, in order."""
    if n_parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, n_parts - 1):
            yield (first, *rest)


def schema_of(form: AnswerForm) -> dict[str, Any]:
    """Return a JSON schema whose answers can be written in the form.

    Numbers are texts of two decimals, which every server's schemas can list. Of two lines the first
    is asked for alone; of more the answer is one text of all lines.
    """
    if form.kind == "lines" and len(form.labels) == 2:
        properties = {form.labels[0]: {"type": "string", "enum": [*_HUNDREDTHS]}}
    elif form.kind == "decision":
        properties = {label: {"type": "string", "enum": [*_YES_NO]} for label in (ABLE, DECISION)}
    else:
        properties = {_ANSWER: {"type": "string", "enum": alternatives(form)}}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def written(form: AnswerForm, text: str) -> str | None:
    """Write the answer to a schema in its form; None where it does not keep to the schema."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    properties = schema_of(form)["properties"]
    if not isinstance(said, dict) or set(said) != set(properties):
        return None
    if any(said[name] not in allowed["enum"] for name, allowed in properties.items()):
        return None
    if form.kind == "lines" and len(form.labels) == 2:
        return form.write([said[form.labels[0]]])
    if form.kind == "decision":
        return f"{ABLE}: {said[ABLE]}\n{DECISION}: {said[DECISION]}"
    return str(said[_ANSWER])
