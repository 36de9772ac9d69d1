"""Ctrl-C with several processes: this one answers it, and its workers never hear of it.

A terminal sends the signal to all of them. A worker that is just starting would print a traceback
of its imports; whoever started it ends it anyway.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from joblib import register_parallel_backend
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.parallel import LokyBackend


class DeafWorkers(LokyBackend):  # type: ignore[misc]
    """The usual processes, started while the signal is held back: a mask is inherited."""

    def submit(self, func: Callable[..., Any], callback: Any = None) -> Any:
        """Hand a task over; the first ones start the processes."""
        with held_back():
            return super().submit(func, callback)

    def apply_async(self, func: Callable[..., Any], callback: Any = None) -> Any:
        """Hand a task over, as earlier versions of joblib do it."""
        with held_back():
            return super().apply_async(func, callback)


def shield_workers() -> None:
    """Let processes that joblib starts from now on leave Ctrl-C to this one."""
    if sys.platform != "win32":  # whose processes inherit no mask
        register_parallel_backend("loky", DeafWorkers)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold Ctrl-C back for a block; it comes right after.

    Yields
    ------
    None
        While the signal waits.
    """
    # Both let the signal through again while they start, and stay when they are there.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
