"""Errors that a user can act on.

Every message names the parameter or column, the rule, the value received, where it was found, and
what to do about it. The command line prints them in one line and exits with 2.
"""

import difflib
from collections.abc import Iterable
from difflib import get_close_matches


class CoherenceError(Exception):
    """Base of all errors that this toolkit raises on purpose."""


class InputError(CoherenceError, ValueError):
    """An argument breaks a stated rule."""


class SchemaError(CoherenceError, ValueError):
    """A runs table breaks its schema.

    Parameters
    ----------
    faults : list of str
        One sentence per fault; all faults of the table, not only the first.
    source : str
        Where the table came from, for the message.
    """

    def __init__(self, faults: list[str], source: str = "runs table") -> None:
        self.faults = list(faults)
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        super().__init__(f"{source} has {count}: " + " | ".join(self.faults))


class MissingExtraError(CoherenceError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    extra : str
        The extra of this distribution that brings it.
    purpose : str
        What it is needed for.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs an extra that is not installed. Run: pip install 'belief-coherence[{extra}]'"
        )


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return a sentence that proposes the closest known name and lists the names.

    Parameters
    ----------
    name : object
        The name that was not found.
    known : iterable of str
        The names that exist.

    Returns
    -------
    str
        A remedy for the end of an error message.

    Examples
    --------
    >>> suggestion("smok", ["smoke", "lung"])
    "Did you mean 'smoke'? Known: smoke, lung."
    """
    names = list(known)
    close = get_close_matches(str(name), names, n=1, cutoff=0.5)
    return (
        f"Did you mean {close[0]!r}? " if close else ""
    ) + f"Known: {', '.join(names) or 'none'}."


def listing(values: Iterable[object], limit: int = 5) -> str:
    """Return at most `limit` values separated by commas, and how many more there are.

    Parameters
    ----------
    values : iterable
        What to list.
    limit : int
        How many are spelt out.

    Returns
    -------
    str
        The list.

    Examples
    --------
    >>> listing(range(7))
    '0, 1, 2, 3, 4 and 2 more'
    """
    items = [str(value) for value in values]
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more


def closest(name: str, candidates: Iterable[object]) -> str:
    """Return a hint that names the most similar candidate, or lists what there is.

    Parameters
    ----------
    name : str
        What was looked for.
    candidates : iterable
        What exists.

    Returns
    -------
    str
        A sentence to append to an error.
    """
    names = [str(candidate) for candidate in candidates]
    lowered = {candidate.lower(): candidate for candidate in reversed(names)}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    if near:
        return f"Closest name found: {lowered[near[0]]!r}."
    listed = ", ".join(repr(candidate) for candidate in names[:12]) + (
        ", ..." if len(names) > 12 else ""
    )
    return f"Found: {listed or 'nothing'}."
