"""Names in error messages: the closest known name, and short lists."""

from collections.abc import Iterable
from difflib import get_close_matches


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
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Known: {', '.join(names) or 'none'}."


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
