"""Forms of answers as JSON schemas, which services and servers hold their answers to.

What is drawn under a schema is not what the model would say if its answer had the form: tokens are
masked one at a time, which favours beginnings that lead nowhere.
"""

import json
from itertools import combinations, pairwise
from math import comb
from typing import Any

from elicitation.spelling.forms import ABLE, DECISION, AnswerForm

# Servers compile what they are given, and some refuse long lists.
_MOST_ALTERNATIVES = 300
_STEPS = (5, 10, 20, 25, 50)


def _fields(form: AnswerForm) -> dict[str, list[str]]:
    """Return the fields of an answer, each with all that it may say.

    Numbers are texts of two decimals, which every server's schemas can list. Of two lines the first
    is asked for alone. Masks know no sums: more lines are one text of all of them, of numbers that
    sum to 1, of three lines all that are multiples of .05, of more those of a coarser step, the
    finest that leaves no more than 300.
    """
    hundredths = [f"{hundredth / 100:.2f}" for hundredth in range(101)]
    n_lines = len(form.labels)
    if form.kind == "decision":
        return {label: ["Yes", "No"] for label in (ABLE, DECISION)}
    if form.kind == "choice":
        return {"answer": list(form.labels)}
    if form.kind == "number":
        return {"answer": hundredths}
    if n_lines == 2:
        return {form.labels[0]: hundredths}
    sizes = {step: comb(100 // step + n_lines - 1, n_lines - 1) for step in _STEPS}
    step = next((step for step in _STEPS if sizes[step] <= _MOST_ALTERNATIVES), _STEPS[-1])
    # Ways to write a number as a sum of so many: where bars between the parts can stand.
    last = 100 // step + n_lines - 1
    return {
        "answer": [
            form.write([f"{step * (b - a - 1) / 100:.2f}" for a, b in pairwise((-1, *bars, last))])
            for bars in combinations(range(last), n_lines - 1)
        ]
    }


def schema_of(form: AnswerForm) -> dict[str, Any]:
    """Return a JSON schema whose answers can be written in the form."""
    fields = _fields(form)
    return {
        "type": "object",
        "properties": {name: {"type": "string", "enum": may} for name, may in fields.items()},
        "required": [*fields],
        "additionalProperties": False,
    }


def written(form: AnswerForm, text: str) -> str | None:
    """Write the answer to a schema in its form; None where it does not keep to the schema."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fields = _fields(form)
    if not isinstance(said, dict) or set(said) != set(fields):
        return None
    if any(said[name] not in may for name, may in fields.items()):
        return None
    if form.kind == "decision":
        return f"{ABLE}: {said[ABLE]}\n{DECISION}: {said[DECISION]}"
    (value,) = said.values()
    return form.write([value]) if form.kind == "lines" and len(form.labels) == 2 else str(value)
