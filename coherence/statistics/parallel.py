"""Calls that run over processes, or wherever `joblib.parallel_config` says."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

T = TypeVar("T")


def run_calls(
    function: Callable[..., T], arguments: Iterable[tuple[Any, ...]], n_jobs: int = 1
) -> Iterator[T]:
    """Call a function with every tuple of arguments, and yield what comes back in their order.

    Parameters
    ----------
    function : callable
        What to call; it and its arguments are sent to other processes.
    arguments : iterable of tuple
        Of each call.
    n_jobs : int
        Processes of joblib; -1 for all cores. Without effect on a cluster.

    Yields
    ------
    object
        What a call returned.

    Examples
    --------
    >>> list(run_calls(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    # Backends hash the function that they are given, and waited for ever on a method of an object
    # that cannot be hashed; so it goes as an argument.
    calls = (delayed(call)(function, *each) for each in arguments)
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(calls)


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function.

    Parameters
    ----------
    function : callable
        What to call.
    *arguments
        With what.

    Returns
    -------
    object
        What it returned.
    """
    return function(*arguments)
