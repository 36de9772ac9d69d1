"""Calls that run over processes, or wherever `joblib.parallel_config` says."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""Called with (done, total, label), where the label is that of the call that is waited for."""


def run_calls(
    function: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int = 1,
    *,
    progress: Progress | None = None,
    labels: Sequence[str] = (),
) -> Iterator[T]:
    """Call a function with every tuple of arguments, and yield what comes back in their order.

    `progress` is called before the first and after each; their names are `labels`.
    """
    if progress is not None and labels:
        progress(0, len(labels), labels[0])
    # Backends hash the function that they are given, and waited for ever on a method of an object
    # that cannot be hashed; so it goes as an argument.
    calls = (delayed(call)(function, *each) for each in arguments)
    running = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, outcome in enumerate(running, start=1):
        yield outcome
        if progress is not None:
            progress(done, len(labels), labels[min(done, len(labels) - 1)])


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function."""
    return function(*arguments)
