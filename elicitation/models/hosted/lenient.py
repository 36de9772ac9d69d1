"""Replies of OpenAI-compatible servers, completed before the client of openai reads them.

Some servers say less than the protocol, or say it otherwise: a content in parts, no name of the
model, a count of tokens that lacks a number, an error under status 200. Inspect takes the client
that calls them as an argument; ours hands it replies as the protocol has them.
"""

import json
import re
from typing import Any

from openai import DefaultAsyncHttpxClient, Timeout

_CONNECT_SECONDS = 60.0
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# Reasons for an end, beside those of the protocol, that servers give of a whole answer ...
_ENDED = frozenset(
    ("stop", "length", "content_filter", "tool_calls", "function_call", "eos", "eos_token")
) | frozenset(("end_turn", "stop_sequence", "complete", "completed", "max_tokens"))
# ... and of a failure.
_FAILED = frozenset(("error", "abort", "aborted", "cancelled", "failed"))
# Codes of an error in the body that a later call may not meet, as of the status itself.
_PASSING = re.compile(r"408|429|5\d\d")
# OpenAI's log-probability of what is too improbable to be listed.
_UNKNOWN = -9999.0


class FailedError(Exception):
    """A reply under status 200 that is none; `status` says whether a later call may fare better."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.status = status


class LenientClient(DefaultAsyncHttpxClient):
    """The usual client of openai, whose replies say what the protocol says."""

    def __init__(self, timeout: float) -> None:
        super().__init__(timeout=Timeout(timeout, connect=_CONNECT_SECONDS))

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request, and complete what comes back."""
        response = await super().send(request, **options)
        if response.status_code != 200 or options.get("stream"):
            return response
        status, reply = 200, None
        try:
            reply = _read(response.content)
            if not isinstance(reply, dict):
                return response  # none at all, as Inspect says
            complete(reply, json.loads(request.content).get("model"))
        except FailedError as failed:
            status, reply = failed.status, {"error": {"message": f"{failed}"}}
        # Inspect tries again, and not openai below it.
        headers = {"x-should-retry": "false", "content-type": "application/json"}
        content = json.dumps(reply).encode()  # half of a surrogate pair is an escape in it
        return type(response)(status, headers=headers, content=content, request=request)


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        if content.lstrip().startswith((b"{", b"[")):
            shape = "the reply is not of the shape that the protocol says"
            begins = content[:60].decode(errors="replace")
            raise FailedError(f"{shape} ({error}): {begins}", 502) from error
        return None


def complete(reply: dict[str, Any], name: str | None) -> None:
    """Complete a reply in place; `name` is that of the model which was asked."""
    if error := reply.get("error"):
        told = error if isinstance(error, dict) else {"message": error}
        passing = _PASSING.fullmatch(str(told.get("code")))
        raise FailedError(str(told.get("message") or error), 503 if passing else 422)
    if not reply.get("choices"):
        raise FailedError("the reply has no choices", 502)
    for choice in reply["choices"]:
        reason = str(choice.get("finish_reason") or "").lower()  # some servers leave it empty
        if reason in _FAILED:
            raise FailedError(f"the generation ended by {reason!r}", 422)
        if reason and reason not in _ENDED:
            choice["finish_reason"] = "length"  # whatever it was, it was no end of its own
        message = choice.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            message["content"], thinking = _text_and_thinking(message["content"])
            if thinking:
                message["reasoning_content"] = thinking
        if isinstance(choice.get("logprobs"), dict):
            _leave_unknown_out(choice["logprobs"])
    reply["model"] = reply.get("model") or name
    usage = reply.get("usage")
    if usage is not None and any(usage.get(count) is None for count in _COUNTS):
        reply["usage"] = None


def _leave_unknown_out(logprobs: dict[str, Any]) -> None:
    """Take tokens without a log-probability off a list: what is not listed has none known."""
    for position in logprobs.get("content") or []:  # of a chat
        listed = position.get("top_logprobs") or []
        position["top_logprobs"] = [each for each in listed if each["logprob"] is not None]
        if position["logprob"] is None:
            position["logprob"] = _UNKNOWN
    # Where texts are continued one list holds the tokens, another their numbers.
    if logprobs.get("top_logprobs") is not None:
        logprobs["top_logprobs"] = [
            {token: value for token, value in (listed or {}).items() if value is not None}
            for listed in logprobs["top_logprobs"]
        ]
    if logprobs.get("token_logprobs") is not None:
        logprobs["token_logprobs"] = [
            _UNKNOWN if value is None else value for value in logprobs["token_logprobs"]
        ]


def _text_and_thinking(content: object) -> tuple[str | None, str | None]:
    """Join the texts of a reply in parts, and apart from them what it thought; None without any.

    A part is text, or an object with a type and a text, which may be a list of parts itself.
    """
    if isinstance(content, str):
        return content, None
    said: list[str] = []
    thought: list[str] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            said.append(part)
            continue
        entry = part if isinstance(part, dict) else {}
        kind = entry.get("type", "text")
        if kind in ("thinking", "reasoning"):
            inner = entry.get("thinking", entry.get("reasoning", entry.get("text")))
            thought.append(_text_and_thinking(inner)[0] or "")
        elif kind in ("text", "output_text"):
            said.append(_text_and_thinking(entry.get("text"))[0] or "")
    return "".join(said) if said else None, "".join(thought) or None
