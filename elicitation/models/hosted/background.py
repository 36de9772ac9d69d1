"""Calls under way beside the program that waits for them.

Inspect's clients are asynchronous, and their connections belong to one event loop. One loop runs in
a thread of its own as long as the process, so that callers need none, and a notebook, where a loop
runs already, keeps its own.
"""

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from itertools import islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_SECONDS_TO_END = 10.0  # of what a call does by itself, such as importing its client


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # A daemon: a call that never ends must not keep the program from ending.
    thread = threading.Thread(target=loop.run_forever, name="hosted models", daemon=True)
    thread.start()

    async def stop() -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for call in under_way:
            call.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        loop.stop()

    def end() -> None:
        # Compiled code that a thread is in when the interpreter goes away aborts the process.
        start(stop())
        thread.join(_SECONDS_TO_END)

    atexit.register(end)
    return loop


def start(call: Coroutine[Any, Any, Result]) -> "Future[Result]":
    """Let a call run; nobody need wait for it."""
    return asyncio.run_coroutine_threadsafe(call, _loop())


def wait_for(call: Coroutine[Any, Any, Result]) -> Result:
    """Return what a call brings; Ctrl-C ends it."""
    future = start(call)
    try:
        return future.result()
    finally:
        future.cancel()


def as_they_come(
    items: Sequence[Item], ask: Callable[[Item], Coroutine[Any, Any, Result]], *, n_at_once: int
) -> Generator[tuple[int, Result | Exception], None, None]:
    """Yield the position and the result, or the error, of every item as it is there.

    No more than `n_at_once` are under way or wait to be taken: what waits, a killed process loses.
    Closing the generator ends the calls that are under way.
    """
    left = iter(enumerate(items))
    under_way: dict[Future[Result], int] = {}
    try:
        while True:
            for i, item in islice(left, n_at_once - len(under_way)):
                under_way[start(ask(item))] = i
            if not under_way:
                return
            future = next(iter(wait(under_way, return_when=FIRST_COMPLETED).done))
            try:
                result: Result | Exception = future.result()
            except Exception as error:
                result = error
            yield under_way.pop(future), result
    finally:
        for future in under_way:
            future.cancel()
