"""Calls under way beside the program that waits for them.

Inspect's clients are asynchronous, and their connections belong to one event loop. One loop runs in
a thread of its own as long as the process, so that callers need none, and a notebook, where a loop
runs already, keeps its own.
"""

import asyncio
import atexit
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from functools import cache
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


def wait_for(call: Coroutine[Any, Any, Result]) -> Result:
    """Return what a call brings; Ctrl-C ends it."""
    future = asyncio.run_coroutine_threadsafe(call, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def start(call: Coroutine[Any, Any, object]) -> None:
    """Let a call run that nobody waits for."""
    asyncio.run_coroutine_threadsafe(call, _loop())


def as_they_come(
    items: Sequence[Item], ask: Callable[[Item], Awaitable[Result]], *, n_at_once: int
) -> Generator[tuple[int, Result | Exception], None, None]:
    """Yield the position and the result, or the error, of every item as it is there.

    No more than `n_at_once` are under way or wait to be taken: what waits, a killed process loses.
    Closing the generator ends the calls that are under way.
    """
    done: queue.SimpleQueue[tuple[int, Result | Exception] | None] = queue.SimpleQueue()

    free = asyncio.Semaphore(n_at_once)

    async def work() -> None:
        async def one(i: int, item: Item) -> None:
            await free.acquire()  # released once the result has been taken
            try:
                result: Result | Exception = await ask(item)
            except Exception as error:
                result = error
            done.put((i, result))

        # A task, and with it a context, for each: what Inspect notes there of a call goes with it.
        await asyncio.gather(*(one(i, item) for i, item in enumerate(items)))

    future = asyncio.run_coroutine_threadsafe(work(), _loop())
    future.add_done_callback(lambda _: done.put(None))
    try:
        for _ in items:
            got = done.get()
            if got is None:
                future.result()
                raise RuntimeError("the calls ended before all were answered")
            yield got
            _loop().call_soon_threadsafe(free.release)
    finally:
        future.cancel()
