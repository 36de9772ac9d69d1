"""Hosted models in Inspect's terms: names and addresses, forms as schemas, and what comes back.

Models have the names that Inspect gives them: the provider, a slash, and the provider's own name.
A reply holds an answer, likely first tokens, or the line that says what failed. All of it is text
from outside: shown in one short line, and never read as anything but an answer.

Services and servers hold answers to a schema. What is drawn under one is not what the model would
say if its answer had the form: tokens are masked one at a time, which favours beginnings that lead
nowhere.
"""

from __future__ import annotations

import json
import math
import re
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Answer
from elicitation.spelling.forms import ABLE, DECISION, AnswerForm

if TYPE_CHECKING:
    from inspect_ai.model import ModelAPI, ModelOutput


def address_of(text: str) -> str:
    """Return an address spelt out, with ``/v1`` where it has no path."""
    try:
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, LookupError):
        parts, port = urlsplit(""), 0
    # Addresses are shown in messages and kept in stores, where a secret must not come; and what a
    # parser would quietly drop or repair may be an address of somebody else.
    plain = text.isascii() and text.isprintable() and not set(text) & set(" \\,@?#")
    if not parts.hostname or not plain:
        raise InputError(
            "an address must look like http://localhost:8000 or https://host/v1, without name, "
            "password or query; what was given does not, and is not shown, since it may hold a "
            "key. Put a key into an environment variable and name that variable (--api-key-env)."
        )
    # Colons of IPv6 would run into that of the port.
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/') or '/v1'}"


FILTERED = "content_filter"
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", FILTERED: FILTERED}
_LONGEST_NAME, _SHOWN = 200, 300
# Rounding in the log-probabilities of half-precision servers.
_SLACK = 0.02
# Fewer characters are a placeholder, as is a word without a digit, and perhaps part of an answer.
_SHORTEST_SECRET = 8
_MARKUP = re.compile(r"\[/?bold\]")


class HostedError(CoherenceError):
    """A service or server does not answer, or no longer; what it answered before is kept."""


class ReplyError(Exception):
    """A reply that holds no answer."""


def answer_of(output: ModelOutput, key: str | None = None) -> Answer:
    """Read a reply, with the API key struck out."""
    if not output.choices:
        raise ReplyError(output.error or "the reply has no choices")
    message, reason = output.choices[0].message, _REASONS.get(output.choices[0].stop_reason)
    parts = message.content if isinstance(message.content, list) else []
    # Not Inspect's own text of it, which has a line break between parts.
    text = "".join(part.text for part in parts if part.type == "text") if parts else message.text
    thought = [part.reasoning or part.summary for part in parts if part.type == "reasoning"]
    usage = output.usage
    # Inspect turns a refusal that it knows into a reply whose text is the error's.
    if usage is None and (reason == FILTERED or output.stop_reason == "model_length"):
        text = ""
    thinking, served_by = "\n".join(filter(None, thought)), output.model[:_LONGEST_NAME]
    return Answer(
        without_key(text, key),
        n_tokens=usage.output_tokens if usage else None,
        finish_reason=reason,
        thinking=without_key(thinking, key) or None,
        served_by=without_key(served_by, key) or None,
    )


def without_key(text: str, key: str | None) -> str:
    """Return a text with the API key struck out, as it is or escaped for JSON or an address."""
    if key is None or len(key) < _SHORTEST_SECRET or key.isalpha():
        return text
    in_json = json.dumps(key)[1:-1].replace("/", "\\/")
    for spelling in (key, in_json, quote(key, safe="")):
        text = text.replace(spelling, "***")
    return text


def likely_tokens(output: ModelOutput) -> dict[str, float]:
    """Return the probabilities of the likely first tokens of a reply; none where it lists none."""
    listed = output.choices[0].logprobs if output.choices else None
    if listed is None or not listed.content:
        return {}
    first = listed.content[0]
    # The same token listed twice counts once: were it two that look alike, what is left over has
    # the second.
    tokens = {(each.token, each.logprob): each for each in first.top_logprobs or []}.values()
    likely: dict[str, float] = {}
    for each in tokens:
        # Two tokens may look the same where only part of a character is shown.
        likely[each.token] = likely.get(each.token, 0.0) + _probability(each.logprob)
    # The token that was drawn may be less likely than those listed. If not, it is one of them,
    # though perhaps spelt otherwise there ("No" for " No"): counted once.
    drawn = _probability(first.logprob)
    least = min((_probability(each.logprob) for each in tokens), default=math.inf)
    if drawn < least * (1 - _SLACK):
        likely.setdefault(first.token, drawn)
    total = math.fsum(likely.values())
    # Scores before the softmax, or of another temperature, would pass as numbers one by one.
    if total > 1 + _SLACK:
        raise ReplyError(
            f"the reply's log-probabilities are none: the listed tokens sum to {total:.3f}"
        )
    return likely


def _probability(logprob: float) -> float:
    # Written so that NaN, which compares as false, is refused too.
    if not logprob <= _SLACK:
        raise ReplyError(f"{logprob!r} is no log-probability")
    return math.exp(min(logprob, 0.0))


def read_lists_of_chats(api: ModelAPI) -> None:
    """Have a provider that continues texts also read likely tokens in the layout of chats.

    llama.cpp lists them so, and Inspect reads the layout of completions alone.
    """
    from inspect_ai.model import Logprobs

    inner = api.generate

    async def generate(*args: Any, **options: Any) -> Any:
        result = await inner(*args, **options)
        output, call = result if isinstance(result, tuple) else (result, None)
        reply: Any = call.response if call is not None else None
        if not isinstance(output, Exception) and reply:
            for choice, sent in zip(output.choices, reply.get("choices") or (), strict=False):
                listed = sent.get("logprobs")
                if choice.logprobs is None and isinstance(listed, dict) and listed.get("content"):
                    choice.logprobs = Logprobs.model_validate({"content": listed["content"]})
        return result

    setattr(api, "generate", generate)  # noqa: B010 - mypy takes no method of an instance


def cause_of(error: BaseException) -> BaseException:
    """Return what failed at last, out of the errors of retries and groups around it."""
    tried = getattr(error, "last_attempt", None)
    if tried is not None and tried.exception() is not None:
        return cause_of(tried.exception())
    if isinstance(error, BaseExceptionGroup):
        return cause_of(error.exceptions[0])
    # Inspect shows the whole request with the provider's error.
    if getattr(error, "provider_message", None) and error.__cause__ is not None:
        return cause_of(error.__cause__)
    return error


def line_of(error: BaseException) -> str:
    """Return what an error says, in one short line of printable characters."""
    error = cause_of(error)
    # Marks for the terminal stand in Inspect's own messages.
    words = _MARKUP.sub("", str(error)) or type(error).__name__
    # What a server says beside a code where it says it in plain text.
    if isinstance(body := getattr(error, "body", None), str) and body not in words:
        words = f"{words}: {body}"
    line = " ".join(words.split()).rstrip(".")
    return line[:_SHOWN].encode("unicode_escape").decode("ascii")


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
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fields = _fields(form)
    if not isinstance(reply, dict) or set(reply) != set(fields):
        return None
    if any(reply[name] not in may for name, may in fields.items()):
        return None
    if form.kind == "decision":
        return f"{ABLE}: {reply[ABLE]}\n{DECISION}: {reply[DECISION]}"
    (value,) = reply.values()
    return form.write([value]) if form.kind == "lines" and len(form.labels) == 2 else str(value)
