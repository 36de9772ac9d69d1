"""A streamed answer put together: some servers stream whether or not they were asked to.

Server-sent events (WHATWG HTML, section 9.2) of OpenAI's shape: lines ``data: {...}``, each a piece
of an answer, and ``data: [DONE]`` at the end.
"""

import json
from typing import Any


class BrokenStreamError(ValueError):
    """A stream that ends before its answer does, or is none.

    Parameters
    ----------
    message : str
        What is wrong.
    """


def is_stream(content_type: str, body: bytes) -> bool:
    """Return whether a response is a stream of events."""
    return "text/event-stream" in content_type.lower() or body.lstrip()[:5] == b"data:"


def assemble(body: bytes) -> dict[str, Any]:
    """Put a streamed answer together."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    message: dict[str, Any] = {}
    done = False
    for event in _events(body):
        if event.strip() == "[DONE]":
            done = True
            break
        data = _parsed(event)
        # An error in mid-stream has no other way to come.
        if "error" in data:
            return data
        for name in ("id", "model", "system_fingerprint", "usage"):
            whole[name] = data.get(name) or whole.get(name)
        pieces = data.get("choices")
        # The last event of a stream may have the usage alone; a second choice was not asked for.
        if not isinstance(pieces, list) or not pieces or not isinstance(pieces[0], dict):
            continue
        _add(choice, message, pieces[0])
    if not choice or not (done or choice.get("finish_reason")):
        raise BrokenStreamError("the stream broke off")
    whole = {name: value for name, value in whole.items() if value is not None}
    return {**whole, "choices": [{**choice, "message": message}]}


def _add(choice: dict[str, Any], message: dict[str, Any], piece: dict[str, Any]) -> None:
    # Chats send a delta; completions a text; some send the whole message in the last event.
    for name, value in (piece.get("delta") or piece.get("message") or {}).items():
        _join(message, name, value)
    _join(choice, "text", piece.get("text"))
    if piece.get("finish_reason"):
        choice["finish_reason"] = piece["finish_reason"]
    choice.setdefault("finish_reason", None)
    logprobs = piece.get("logprobs")
    if isinstance(logprobs, dict):
        held = choice.setdefault("logprobs", {})
        for name, value in logprobs.items():
            if isinstance(value, list):
                held[name] = [*held.get(name, []), *value]


def _join(held: dict[str, Any], name: str, value: Any) -> None:
    """Add a piece of a text; what is null in all pieces stays null."""
    if name == "role":
        held[name] = value
    elif isinstance(value, str):
        held[name] = (held.get(name) or "") + value
    elif value is None and name != "text":
        held.setdefault(name, None)


def _events(body: bytes) -> list[str]:
    """Return what follows ``data:`` in each event; comments and other fields are left out."""
    events: list[str] = []
    lines: list[str] = []
    # Not splitlines(), which would cut at characters that may be part of an answer.
    for line in body.decode(errors="strict").replace("\r\n", "\n").split("\n"):
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line.strip() and lines:
            events.append("\n".join(lines))
            lines = []
    return [*events, "\n".join(lines)] if lines else events


def _parsed(event: str) -> dict[str, Any]:
    try:
        data = json.loads(event)
    except (ValueError, RecursionError) as error:
        raise BrokenStreamError("an event of the stream is not JSON") from error
    if not isinstance(data, dict):
        raise BrokenStreamError("an event of the stream is no JSON object")
    return data
