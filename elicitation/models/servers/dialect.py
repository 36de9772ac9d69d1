"""What one server was seen to refuse: learnt from its words, said once, kept for its later calls.

A field is left out only where the server names it as one that it does not take. What that means for
the draws is said in a warning, and noted with every answer that follows.
"""

import logging
import threading
from typing import Any

from elicitation.models.servers.address import Address
from elicitation.models.servers.http import CallError

logger = logging.getLogger(__name__)

LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
_MEANINGS = {
    "temperature": "its draws come at a temperature of its own, whatever temperature was asked for",
    "seed": "its draws follow no seed: to ask again would give other answers, and those in the "
    "store are the only record",
    "top_p": "it may leave improbable tokens out by a rule of its own, which narrows the spread of "
    "the draws",
}
"""Fields that can be left out, and what that does to the answers."""
_PLUMBING = ("stream_options",)


class Dialect:
    """How calls to one server depart from the common ones; may be used by several threads.

    Parameters
    ----------
    address : Address
        The server, for warnings.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._dropped: set[str] = set()
        self._renamed = self._streamed = False

    @property
    def unset(self) -> tuple[str, ...]:
        """Fields that shape draws and that the server sets by itself, sorted."""
        with self._lock:
            return tuple(sorted(self._dropped & set(_MEANINGS)))

    def adapted(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a call as this server takes it."""
        with self._lock:
            dropped, renamed, streamed = set(self._dropped), self._renamed, self._streamed
        if "temperature" in dropped:
            _check_temperature(payload)
        body = {name: value for name, value in payload.items() if name not in dropped}
        if renamed and LIMIT in body:
            body[NEW_LIMIT] = body.pop(LIMIT)
        if streamed:
            body["stream"] = True
            # Without it most servers do not count tokens in a stream.
            if "stream_options" not in dropped:
                body["stream_options"] = {"include_usage": True}
        return body

    def learn(self, fault: CallError, sent: dict[str, Any]) -> bool:
        """Take in what a refusal says."""
        refusal = fault.refusal
        if fault.kind != "request" or refusal is None:
            return False
        known = (*_MEANINGS, *_PLUMBING, LIMIT)
        fields = refusal.refused([name for name in known if name in sent])
        # A limit that is too large for the model is refused too, and must not be lifted.
        renames = LIMIT in fields and NEW_LIMIT in refusal.message
        dropped = fields & (set(_MEANINGS) | set(_PLUMBING))
        if "temperature" in dropped:
            _check_temperature(sent)
        streams = not fields and "stream" not in sent and refusal.wants_stream
        if not (renames or dropped or streams):
            return False
        with self._lock:
            news = dropped - self._dropped
            self._dropped |= dropped
            newly_renamed, self._renamed = renames and not self._renamed, self._renamed or renames
            self._streamed = self._streamed or streams
        self._announce(news, renamed=newly_renamed)
        return True

    def _announce(self, fields: set[str], *, renamed: bool) -> None:
        if renamed:
            logger.warning(
                "server %s takes %s in place of %s: what a model thinks before its answer counts "
                "towards --max-new-tokens",
                self._address,
                NEW_LIMIT,
                LIMIT,
            )
        for field in sorted(fields & set(_MEANINGS)):
            logger.warning(
                "server %s refuses %s, which is left out from now on: %s. Answers are kept with "
                "this note",
                self._address,
                field,
                _MEANINGS[field],
            )


def _check_temperature(payload: dict[str, Any]) -> None:
    """Refuse to take random draws for the one answer of temperature 0."""
    # At temperature 0 one answer stands for all repetitions: random ones would look certain.
    if payload.get("temperature") == 0:
        raise CallError(
            "request",
            "it refuses temperature 0 and draws at a temperature of its own, so that one answer "
            "cannot stand for all",
            remedy="Ask at --temperature 1.",
        )
