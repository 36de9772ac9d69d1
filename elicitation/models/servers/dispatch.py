"""Many calls spread over several servers: so many at once, repeated attempts, addresses set aside.

Each address has workers that draw from one queue, so a slow server simply does less. Results are
handed out as they come, in any order, and the caller can keep each at once. Whatever ends the work
early (an error, Ctrl-C, a caller that stops) ends the calls that are under way.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from coherence.errors import CoherenceError, InputError
from elicitation.models.servers.completions import text_of, usage_of
from elicitation.models.servers.http import CallError, Connection
from elicitation.models.servers.site import Site

Result = TypeVar("Result")
Job = tuple[str, dict[str, Any] | None]
"""Path and payload of a call, see `Connection.call`."""


class ServersError(CoherenceError):
    """No address is left that could do the work.

    Parameters
    ----------
    faults : dict of str to CallError
        The last fault of each address.
    """

    def __init__(self, faults: dict[str, CallError]) -> None:
        self.faults = faults
        listed = "; ".join(f"{address}: {fault}" for address, fault in faults.items())
        super().__init__(
            f"no server is left that answers ({listed}). "
            "What was answered before is kept; see to the servers and start again."
        )


class RefusedError(InputError):
    """A server refuses a request for what it says.

    Parameters
    ----------
    address : str
        The server.
    fault : CallError
        Its words.
    """

    def __init__(self, address: str, fault: CallError) -> None:
        self.fault = fault
        super().__init__(
            f"server {address} refuses a request: {fault}. "
            + (fault.remedy or "Check the model, the length of the texts and max_new_tokens.")
        )


def run(
    sites: Sequence[Site],
    jobs: Sequence[Job],
    read: Callable[[dict[str, Any]], Result],
    *,
    concurrency: int,
) -> Generator[tuple[int, Result], None, None]:
    """Do all jobs and hand the results out as they come."""
    return _Run(sites, jobs, read).results(concurrency)


class _Run(Generic[Result]):
    def __init__(
        self, sites: Sequence[Site], jobs: Sequence[Job], read: Callable[[dict[str, Any]], Result]
    ) -> None:
        self.sites, self.jobs, self.read = sites, jobs, read
        # Guards everything below, and the standing of the sites.
        self.change = threading.Condition()
        # Positions of jobs; one that failed goes back, to whichever address is free first.
        self.waiting = deque(range(len(jobs)))
        self.under_way: list[Connection] = []
        self.done: list[tuple[int, Result]] = []
        self.attempts: Counter[int] = Counter()
        self.successes_seen: dict[tuple[int, int], int] = {}
        self.error: BaseException | None = None
        self.stopped = False

    def results(self, concurrency: int) -> Generator[tuple[int, Result], None, None]:
        missing = len(self.jobs)
        # Daemons: a name that resolves slowly, say, must not hold up the end of the program.
        threads = [
            threading.Thread(target=self._work, args=(site,), daemon=True)
            for site in self.sites
            if site.aside is None
            for _ in range(min(concurrency, missing))
        ]
        for thread in threads:
            thread.start()
        try:
            while missing:
                with self.change:
                    while not self.done and not self._over():
                        # A wait without end could not be interrupted everywhere.
                        self.change.wait(1.0)
                    portion, self.done = self.done, []
                    # Results before the reason for ending: what was answered is handed out first.
                    if not portion:
                        raise self._reason()
                missing -= len(portion)
                yield from portion
        finally:
            with self.change:
                self.stopped = True
                # Threads that read would otherwise wait for as long as the server is silent.
                for connection in self.under_way:
                    connection.abort()
                self.change.notify_all()
            # For all of them together: a thread that resolves a name does not wake.
            deadline = time.monotonic() + 1.0
            for thread in threads:
                thread.join(max(deadline - time.monotonic(), 0.0))

    def _over(self) -> bool:
        return not self.under_way and (
            self.error is not None or all(site.aside is not None for site in self.sites)
        )

    def _reason(self) -> BaseException:
        return self.error or ServersError(
            {str(site.address): site.aside for site in self.sites if site.aside is not None}
        )

    def _work(self, site: Site) -> None:
        connection = site.connect()
        while (turn := self._next(site, connection)) is not None:
            job, reserved = turn
            began = time.monotonic()
            try:
                data = site.call(connection, *self.jobs[job])
                result = self.read(data)
            except CallError as fault:
                with self._after(connection):
                    self._failed(site, job, fault, began)
            except BaseException as error:
                # Ours, not the server's: it belongs into the caller's thread.
                with self._after(connection):
                    self.error = self.error or error
            else:
                with self._after(connection):
                    site.succeeded()
                    site.pace.end(reserved, *usage_of(data))
                    self.done.append((job, result))
        connection.close()

    def _next(self, site: Site, connection: Connection) -> tuple[int, float] | None:
        """Return the next job for a worker, when it may begin; None when there will be none.

        Beside it, what `Pace` reserves for it.
        """
        with self.change:
            while not (self.stopped or self.error or site.aside):
                pause = site.free_at() - time.monotonic()
                if self.waiting and pause <= 0:
                    self.under_way.append(connection)
                    job = self.waiting.popleft()
                    payload = self.jobs[job][1] or {}
                    longest = int(payload.get("max_tokens", 0))
                    return job, site.pace.begin(text_of(payload), longest)
                if not self.waiting and not self.under_way:
                    break
                # With nothing waiting, a call under way may still fail and come back.
                self.change.wait(pause if self.waiting else None)
            return None

    @contextmanager
    def _after(self, connection: Connection) -> Iterator[None]:
        """Hold the lock while a call is taken off the list, and tell everyone."""
        with self.change:
            self.under_way.remove(connection)
            try:
                yield
            finally:
                self.change.notify_all()

    def _failed(self, site: Site, job: int, fault: CallError, began: float) -> None:
        if self.stopped:  # by us: no word about the server
            return
        # It would be refused everywhere, and so, most likely, would others of its make.
        if fault.kind == "request":
            self.error = self.error or RefusedError(str(site.address), fault)
            return
        # At the end: a request that always fails must not keep the others from being answered.
        self.waiting.append(job)
        site.failed(fault, began, time.monotonic())
        # Too many requests are too many of any kind.
        if fault.kind == "busy":
            return
        # Only where other requests succeeded meanwhile is it the request that fails, and not the
        # server.
        pair = (job, id(site))
        self.attempts[job] += site.successes > self.successes_seen.get(pair, 0)
        self.successes_seen[pair] = site.successes
        if site.aside is None and self.attempts[job] >= site.limits.attempts:
            self.error = self.error or CoherenceError(
                f"server {site.address} answers other requests, but not one that was tried "
                f"{self.attempts[job]} times: {fault}. "
                "What was answered before is kept; start again to try once more."
            )
