"""What comes back from Inspect: an answer, likely first tokens, or the line that says what failed.

All of it is text from outside: shown in one short line, and never read as anything but an answer.
"""

from __future__ import annotations

import html
import math
import re
from typing import TYPE_CHECKING, Any

from coherence.errors import CoherenceError
from elicitation.models.base import Answer

if TYPE_CHECKING:
    from inspect_ai.model import ModelAPI, ModelOutput

FILTERED = "content_filter"
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", FILTERED: FILTERED}
_LONGEST_NAME, _SHOWN = 200, 300
# Rounding in the log-probabilities of half-precision servers.
_SLACK = 0.02
# Marks for the terminal in Inspect's own messages, and the tags of a page.
_MARKUP = re.compile(r"\[/?(?:bold|italic|dim|underline|red|yellow|green|blue|[a-z]+ not bold)\]")
_TAGS = re.compile(r"(?s)<(?:head|style|script)\b.*?</(?:head|style|script)>|</?[a-zA-Z!][^>]*>")

NOT_OFFERED = frozenset((400, 404, 405, 501))
"""Codes of a server that does not have what was called, whoever calls and whenever."""


class HostedError(CoherenceError):
    """A service or server does not answer, or no longer; what it answered before is kept."""

    # of the reply that refused the opening call: its code, and what it says
    status: int | None = None
    said: str = ""


class ReplyError(Exception):
    """A reply that holds no answer."""


def answer_of(output: ModelOutput) -> Answer:
    """Read a reply."""
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
    return Answer(
        valid(text),
        n_tokens=usage.output_tokens if usage else None,
        finish_reason=reason,
        thinking=valid("\n".join(filter(None, thought))) or None,
        served_by=valid(output.model)[:_LONGEST_NAME] or None,
    )


def valid(text: str) -> str:
    """Return a text that a file takes: half of a surrogate pair is valid JSON and no valid text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def likely_tokens(output: ModelOutput) -> dict[str, float]:
    """Return the probabilities of the likely first tokens of a reply; none where it lists none."""
    listed = output.choices[0].logprobs if output.choices else None
    if listed is None or not listed.content:
        return {}
    first = listed.content[0]
    likely: dict[str, float] = {}
    least = math.inf
    # The same token listed twice counts once: were it two that look alike, what is left over has
    # the second.
    for token in {(each.token, each.logprob): each for each in first.top_logprobs or []}.values():
        probability = _probability(token.logprob)
        # Two tokens may look the same where only part of a character is shown.
        likely[token.token] = likely.get(token.token, 0.0) + probability
        least = min(least, probability)
    # The token that was drawn may be less likely than those listed. If not, it is one of them,
    # though perhaps spelt otherwise there ("No" for " No"): counted once.
    drawn = _probability(first.logprob)
    if drawn < least * (1 - _SLACK):
        likely.setdefault(first.token, drawn)
    total = math.fsum(likely.values())
    # Scores before the softmax, or of another temperature, would pass as numbers one by one.
    if total > 1 + _SLACK:
        raise ReplyError(
            f"the reply's log-probabilities are none: the listed tokens sum to {total:.3f}"
        )
    return likely


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


def _probability(logprob: float) -> float:
    # Written so that NaN, which compares as false, is refused too.
    if not logprob <= _SLACK:
        raise ReplyError(f"{logprob!r} is no log-probability")
    return math.exp(min(logprob, 0.0))


def cause_of(error: BaseException) -> BaseException:
    """Return what failed at last, out of the errors of retries and groups around it."""
    last_attempt = getattr(error, "last_attempt", None)
    if last_attempt is not None and last_attempt.exception() is not None:
        return cause_of(last_attempt.exception())
    if isinstance(error, BaseExceptionGroup):
        return cause_of(error.exceptions[0])
    # Inspect shows the whole request with the provider's error.
    if getattr(error, "provider_message", None) and error.__cause__ is not None:
        return cause_of(error.__cause__)
    return error


def line_of(error: BaseException) -> str:
    """Return what an error says, in one short line of printable characters."""
    error = cause_of(error)
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    words = str(error)
    if isinstance(body, dict):
        inside = body.get("error", body)
        if isinstance(inside, dict):
            inside = inside.get("message") or inside.get("detail")
        words = str(inside or words)
    elif isinstance(body, str):
        words = body
    elif status is None and error.__cause__ is not None and words.endswith("error."):
        # "Connection error.": what was wrong with it is said beneath.
        words = f"{words} {line_of(error.__cause__)}"
    # Of the program that reads the reply: it found something else than the protocol has there.
    if isinstance(error, TypeError | ValueError | AttributeError | LookupError) and status is None:
        words = f"the reply is not of the shape that the protocol says ({words})"
    words = html.unescape(_TAGS.sub(" ", words)) if status else words
    line = " ".join(_MARKUP.sub("", words).split())
    line = line.partition(" For further information visit")[0].rstrip(".")
    line = line.removeprefix("ERROR: ").removeprefix("server_error: ")
    line = line or type(error).__name__
    shown = f"HTTP {status}: {line}" if isinstance(status, int) else line
    return shown[:_SHOWN].encode("unicode_escape").decode("ascii")
