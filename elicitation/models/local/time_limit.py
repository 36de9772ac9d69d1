"""A limit on the time of code that came with a model, such as a chat template."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from coherence.errors import InputError


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Raise `InputError` where the block takes longer.

    Only the main thread can be interrupted, and only where the system has interval timers (all but
    Windows); elsewhere there is no limit.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or sys.platform == "win32":
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise InputError(f"{what} within {seconds:g} seconds. Correct it, or use another model.")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
