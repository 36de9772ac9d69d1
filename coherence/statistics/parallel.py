"""Calls that run over processes, or wherever `joblib.parallel_config` says."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

T = TypeVar("T")


def run_calls(
    function: Callable[..., T], arguments: Iterable[tuple[Any, ...]], n_jobs: int = 1
) -> Iterator[T]:
    """Call a function with every tuple of arguments, and yield what comes back in their order."""
    # Backends hash the function that they are given, and waited for ever on a method of an object
    # that cannot be hashed; so it goes as an argument.
    calls = (delayed(call)(function, *each) for each in arguments)
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(calls)


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function."""
    return function(*arguments)
