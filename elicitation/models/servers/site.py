"""An address and its standing: what it refuses, when it may be called next, whether it is given up.

A server that says "too many requests" is busy and not broken: it is waited for, and this never
counts as a failure.
"""

import logging
import random
from dataclasses import replace
from typing import Any

from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.dialect import Dialect
from elicitation.models.servers.http import CallError, Connection
from elicitation.models.servers.pace import Pace

logger = logging.getLogger(__name__)

# Shorter waits are no news.
_WORTH_SAYING = 10.0


class Site:
    """An address and its standing; whoever calls from several threads holds a lock.

    Parameters
    ----------
    address : Address
        The server.
    limits : Limits
        Timeouts and attempts.
    key : str or None
        See `Connection`.
    announce : bool
        Whether to log that the address is set aside.
    dialect : Dialect or None
        What the server was seen to refuse; None begins with nothing.
    pace : Pace or None
        How many calls a minute; None knows no limit.
    """

    def __init__(
        self,
        address: Address,
        *,
        limits: Limits,
        key: str | None = None,
        announce: bool = True,
        dialect: Dialect | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.address, self.limits, self._key, self._announce = address, limits, key, announce
        self.dialect = Dialect(address) if dialect is None else dialect
        self.pace = Pace(None, None) if pace is None else pace
        self.aside: CallError | None = None
        self.failures = self.successes = 0
        self.failed_at = self.not_before = float("-inf")
        self._n_busy = 0
        self._busy_since = 0.0

    def afresh(self, attempts: int) -> "Site":
        """Return the same address with a standing of its own, for so many attempts at most."""
        limits = replace(self.limits, attempts=min(attempts, self.limits.attempts))
        return Site(
            self.address,
            limits=limits,
            key=self._key,
            announce=False,
            dialect=self.dialect,
            pace=self.pace,
        )

    def connect(self) -> Connection:
        """Return a connection for a worker; it opens with the first call."""
        return Connection(self.address, limits=self.limits, key=self._key)

    def call(
        self, connection: Connection, path: str, payload: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Call in the way that this server takes; no lock is needed."""
        if payload is None:
            return connection.call(path)
        while True:
            body = self.dialect.adapted(payload)
            try:
                return connection.call(path, body)
            except CallError as fault:
                refusal = fault.refusal
                if fault.kind == "request" and refusal is not None:
                    if refusal.filtered:
                        return _wordless("content_filter")
                    if refusal.no_room:
                        return _wordless("length")
                if not self.dialect.learn(fault, body):
                    raise

    def free_at(self) -> float:
        """Return the time from which the next call may begin."""
        return max(self.not_before, self.pace.free_at)

    def succeeded(self) -> None:
        """Note a success: the failures before it were passing ones."""
        self.failures = self._n_busy = 0
        self.successes += 1

    def failed(self, fault: CallError, began: float, now: float) -> None:
        """Note a failure of a call that began at a time: wait, or give the address up."""
        if fault.kind == "busy":
            self._was_busy(fault, began, now)
            return
        if began >= self.failed_at:  # calls that fail together count once
            self.failures += 1
            self.failed_at = now
            self.not_before = max(self.not_before, now + self._back_off(self.failures))
        wait = fault.wait or 0.0
        self.not_before = max(self.not_before, now + wait)
        if wait > self.limits.max_wait:
            fault = self._too_long(fault, wait)
        hopeless = fault.kind == "address" or wait > self.limits.max_wait
        if hopeless or self.failures >= self.limits.attempts:
            self._set_aside(fault)

    def _was_busy(self, fault: CallError, began: float, now: float) -> None:
        """Wait as told, or ever longer; give up what takes longer than the user would wait."""
        if not self._n_busy:
            self._busy_since = now
        if began >= self.failed_at:
            self._n_busy += 1
            self.failed_at = now
            # A wait of no seconds that is asked for again and again is none to rely on.
            wait = fault.wait or self._back_off(self._n_busy)
            self.not_before = max(self.not_before, now + wait)
            if self._n_busy == 1 and wait >= _WORTH_SAYING:
                logger.warning("server %s is busy, and waited for: %s", self.address, fault)
        wait = fault.wait or 0.0
        if wait > self.limits.max_wait:
            self._set_aside(self._too_long(fault, wait))
        elif self.not_before - self._busy_since > self.limits.max_wait:
            self._set_aside(
                CallError(
                    "address",
                    f"{fault}; it answered nothing for {now - self._busy_since:.0f} s, and its "
                    f"next turn would be later than --max-wait {self.limits.max_wait:g} allows",
                    status=fault.status,
                )
            )

    def _back_off(self, n_failures: int) -> float:
        # A large power of two is no float any more.
        wait = self.limits.first_wait * 2.0 ** min(n_failures - 1, 60)
        # Varied at random, so that clients that failed together do not come back together.
        return min(wait, self.limits.longest_wait) * random.uniform(0.5, 1.5)

    def _too_long(self, fault: CallError, wait: float) -> CallError:
        return CallError(
            "address",
            f"{fault}; it asks to wait {wait:.0f} s, more than --max-wait "
            f"{self.limits.max_wait:g} allows",
            status=fault.status,
        )

    def _set_aside(self, fault: CallError) -> None:
        if self.aside is None:
            self.aside = fault
            if self._announce:
                logger.warning("server %s is set aside: %s", self.address, fault)


def _wordless(reason: str) -> dict[str, Any]:
    """Return a response of either API that has a reason and no words."""
    message = {"role": "assistant", "content": None}
    return {"choices": [{"message": message, "text": "", "finish_reason": reason}]}
