"""What servers say when they refuse: one plain line, and what it is about.

OpenAI, Azure and most others send ``{"error": {"message", "param", "code"}}``, TGI a text in its
place, FastAPI servers ``{"detail": ...}``, proxies pages of HTML. All of it is untrusted.
"""

import html
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

_FILTERS = {
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "invalid_prompt",
    "data_inspection_failed",
}
"""Codes of OpenAI, Azure and DashScope for a request that they withhold an answer to."""
_SPENT = {"insufficient_quota", "billing_hard_limit_reached", "quota_exceeded"}
_REFUSAL = re.compile(
    r"unsupported|not support|does ?n[o']t support|only the default|only supports?\b"
    r"|unrecogni[sz]ed|unknown|unexpected|not permitted|extra_forbidden|not (?:allowed|available)",
    re.IGNORECASE,
)
_OUT_OF_RANGE = re.compile(r"\bmust be\b", re.IGNORECASE)
# Sent as 1, which means "no cut", and is out of range at TGI; a value of the user's must not be
# replaced by another in silence.
_NEUTRAL = {"top_p"}
_WANTS_STREAM = re.compile(
    r"\b(?:only|must|please|required?s?)\b.{0,60}\bstream"
    r"|\bstream\w*\b.{0,60}\b(?:only|must|require)",
    re.IGNORECASE | re.DOTALL,
)
_NO_ROOM = re.compile(r"could not finish the message because max_tokens", re.IGNORECASE)
_INVISIBLE = re.compile(r"(?is)<(script|style|head\b(?!er))[^>]*>.*?</\1\s*>|<!--.*?-->")
_TITLE = re.compile(r"(?is)<title[^>]*>(.*?)</title\s*>")


@dataclass(frozen=True)
class Refusal:
    """What the body of an error says."""

    message: str = ""  # in words, on one line; empty where the body is
    # codes and types of the error and of what is inside it, in lower case
    codes: frozenset[str] = frozenset()
    param: str = ""  # the field at fault, empty where it is not named

    @property
    def filtered(self) -> bool:
        """Whether the answer is withheld because of what the question or the answer says."""
        return bool(self.codes & _FILTERS)

    @property
    def spent(self) -> bool:
        """Whether an account is empty: no wait of minutes mends that."""
        return bool(self.codes & _SPENT)

    @property
    def no_room(self) -> bool:
        """Whether a model that thinks used all tokens up before its answer began."""
        return bool(_NO_ROOM.search(self.message))

    @property
    def wants_stream(self) -> bool:
        """Whether the server answers in streams alone."""
        return self.param == "stream" or bool(_WANTS_STREAM.search(self.message))

    def refused(self, fields: Collection[str]) -> set[str]:
        """Return those of the fields that were sent which the server does not take."""
        unknown = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
        if not (self.codes & unknown or _REFUSAL.search(self.message)):
            if not _OUT_OF_RANGE.search(self.message):
                return set()
            fields = _NEUTRAL.intersection(fields)
        if self.param in fields:
            return {self.param}
        if self.param and self.param not in ("body", "none"):
            return set()
        return {field for field in fields if re.search(rf"(?<![\w.]){field}(?!\w)", self.message)}


def read_refusal(body: bytes) -> Refusal:
    """Read the body of an error, whatever it is."""
    text = body.decode(errors="backslashreplace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(plain_line(text))
    if not isinstance(data, dict):
        return Refusal(text)
    error = data.get("error")
    inside = error if isinstance(error, dict) else data
    if isinstance(inside.get("detail"), list):
        return _of_validation(inside["detail"], text)
    words = [
        value
        for value in (inside.get("message"), error, data.get("message"), data.get("detail"))
        if isinstance(value, str)
    ]
    param = inside.get("param")
    return Refusal(
        words[0] if words else text,
        _codes(data, inside),
        param if isinstance(param, str) else "",
    )


def plain_line(text: str) -> str:
    """Return the words of a page of HTML, its title first; another text as it is."""
    if not re.match(r"\s*<(?:!doctype|\?xml|html|head|body|h1|center)\b", text, re.IGNORECASE):
        return text
    title = _TITLE.search(text)
    parts = [title.group(1) if title else "", _INVISIBLE.sub(" ", text)]
    lines = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", part)).split()) for part in parts]
    return ": ".join(dict.fromkeys(line for line in lines if line))


def _codes(data: dict[str, Any], error: dict[str, Any]) -> frozenset[str]:
    inner = error.get("innererror") or error.get("inner_error")
    holders = [data, error, inner if isinstance(inner, dict) else {}]
    values = [holder.get(name) for holder in holders for name in ("code", "type", "error_type")]
    return frozenset(value.lower() for value in values if isinstance(value, str))


def _of_validation(details: list[Any], text: str) -> Refusal:
    """Read the list of faults that FastAPI servers send."""
    faults = [fault for fault in details if isinstance(fault, dict)]
    where = [fault.get("loc") for fault in faults]
    names = [str(loc[-1]) for loc in where if isinstance(loc, list) and loc]
    codes = frozenset(str(fault.get("type")).lower() for fault in faults)
    said = "; ".join(
        f"{name}: {fault.get('msg')}" for name, fault in zip(names, faults, strict=False)
    )
    # One fault has a field of its own; of several, all are named in the words.
    return Refusal(said or text, codes, names[0] if len(names) == 1 else "")
