"""Answers held to a form by a server, which masks the tokens that would leave it.

Servers know several fields for it, and ignore those that they do not know: each is tried on a small
question, and the first whose answer keeps to the form is used. What is drawn under a mask is not
what the model would say if its answer had the form: masks favour beginnings that lead nowhere.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

from elicitation.spelling.forms import ABLE, DECISION, AnswerForm

# Servers compile what they are given, and some refuse long lists.
_MOST_ALTERNATIVES = 300
_STEPS = (5, 10, 20, 25, 50)

Fields = dict[str, Any]
_HUNDREDTHS = tuple(f"{hundredth / 100:.2f}" for hundredth in range(101))
_YES_NO = ("Yes", "No")
_ANSWER = "answer"
_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")


@dataclass(frozen=True)
class Mask:
    """One way to ask a server for a form."""

    name: str  # as it is called in messages
    fields: Callable[[AnswerForm], Fields]  # takes a form, returns the fields of a request
    # takes a form and an answer's text, returns the text in the form, or None where it has another
    read: Callable[[AnswerForm, str], str | None]


def pattern_of(form: AnswerForm) -> str:
    r"""Return a regular expression of the answers that a server is held to.

    It lists the answers: see `alternatives`.
    """
    return f"({'|'.join(map(_escaped, alternatives(form)))})"


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


def grammar_of(form: AnswerForm) -> str:
    r"""Return the same in the grammar notation of llama.cpp (GBNF)."""
    return f"root ::= {' | '.join(map(_quoted, alternatives(form)))}"


def schema_of(form: AnswerForm) -> Fields:
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


def _as_it_is(form: AnswerForm, text: str) -> str | None:
    return text.strip() if re.fullmatch(pattern_of(form), text.strip()) else None


def _from_json(form: AnswerForm, text: str) -> str | None:
    """Write the answer to a schema in the form that was asked for."""
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


def _json_schema(form: AnswerForm) -> Fields:
    schema = {"name": _ANSWER, "strict": True, "schema": schema_of(form)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


MASKS = (
    Mask(
        "structured_outputs",
        lambda form: {"structured_outputs": {"regex": pattern_of(form)}},
        _as_it_is,
    ),
    Mask("guided_regex", lambda form: {"guided_regex": pattern_of(form)}, _as_it_is),
    Mask("regex", lambda form: {"regex": pattern_of(form)}, _as_it_is),
    Mask("grammar", lambda form: {"grammar": grammar_of(form)}, _as_it_is),
    Mask("response_format json_schema", _json_schema, _from_json),
)
"""Of newer and older vLLM, SGLang, llama.cpp, and OpenAI and most others; a form that the answer
has as it stands comes before one that has to be written."""


def _escaped(text: str) -> str:
    # Not re.escape, which also escapes blanks and hyphens: not every server's reader knows that.
    return _SPECIAL.sub(r"\\\1", text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
