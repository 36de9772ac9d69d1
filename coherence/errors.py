"""Errors that a user can act on.

Every message names the parameter or column, the rule, the value received, where it was found, and
what to do about it. The command line prints a line for each, and exits with 2.
"""

import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Self

MOST_LINES = 10
"""Errors that a terminal shows of many."""


class CoherenceError(Exception):
    """Base of all errors that this toolkit raises on purpose; the text is always of one line.

    Attributes
    ----------
    errors : tuple of str
        What is wrong, a sentence each, where several things are; see `all_at_once`.
    """

    errors: tuple[str, ...] = ()
    _opening = ""

    def __str__(self) -> str:
        # Messages quote what was received, which may be a whole table.
        return " ".join(super().__str__().splitlines())

    @classmethod
    def all_at_once(cls, opening: str, errors: Iterable[str]) -> Self:
        """Return an error that lists several.

        Parameters
        ----------
        opening : str
            What stands before them, such as "mine.csv has 2 errors"; may be empty.
        errors : iterable of str
            Sentences.

        Returns
        -------
        CoherenceError
            Its text has a bar between two of them.

        Examples
        --------
        >>> error = InputError.all_at_once("mine.csv has 2 errors", ["p is missing.", "q is odd."])
        >>> str(error)
        'mine.csv has 2 errors: p is missing. | q is odd.'
        >>> error.lines()
        ['mine.csv has 2 errors:', '- p is missing.', '- q is odd.']
        """
        listed = tuple(errors)
        error = cls(_one_line(opening, listed))
        error.errors, error._opening = listed, opening
        return error

    def lines(self) -> list[str]:
        """Return the message for a terminal: several errors on a line each, at most ten of them.

        Returns
        -------
        list of str
            One line where there is one error.
        """
        if len(self.errors) < 2:
            return [str(self)]
        opening = self._opening or f"{len(self.errors)} errors"
        shown = [f"- {error}" for error in self.errors[:MOST_LINES]]
        left = len(self.errors) - len(shown)
        more = [f"and {left} more"] if left else []
        return [f"{opening}:", *shown, *more]


def _one_line(opening: str, errors: Iterable[str]) -> str:
    listed = " | ".join(errors)
    return f"{opening}: {listed}" if opening else listed


class InputError(CoherenceError, ValueError):
    """An argument breaks a stated rule."""


class SchemaError(CoherenceError, ValueError):
    """A runs table breaks its schema.

    Parameters
    ----------
    errors : sequence of str
        One sentence per error; all errors of the table, not only the first.
    source : str
        Where the table came from, for the message.
    """

    def __init__(self, errors: Sequence[str], source: str = "runs table") -> None:
        self.errors, self._source = tuple(errors), source
        count = "1 error" if len(self.errors) == 1 else f"{len(self.errors)} errors"
        self._opening = f"{source} has {count}"
        super().__init__(_one_line(self._opening, self.errors))

    def __reduce__(self) -> tuple[type["SchemaError"], tuple[tuple[str, ...], str]]:
        # As it was made: its message alone, from another process, is no list of errors.
        return type(self), (self.errors, self._source)


class WriteError(CoherenceError, OSError):
    """A file cannot be written: the disk is full, or failed; the old one is unchanged."""


class MissingExtraError(CoherenceError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    extra : str
        The extra of this distribution that brings it.
    purpose : str
        What it is needed for.
    remedy : str
        What else one can do.
    """

    def __init__(self, extra: str, purpose: str, remedy: str = "") -> None:
        command = f"pip install 'belief-coherence[{extra}]'"
        told = f"{purpose} needs an extra that is not installed. Run: {command}"
        super().__init__(f"{told}. {remedy}" if remedy else told)


def closest(
    name: object,
    known: Iterable[object],
    *,
    near: str = "Closest name found: {near!r}.",
    far: str = "Found: {quoted}.",
) -> str:
    """Return a hint at the known name that is most similar, or at what there is."""
    names = [str(candidate) for candidate in known]
    # Of names that differ in case only the first is proposed.
    lowered = {candidate.lower(): candidate for candidate in reversed(names)}
    similar = get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    # A table may have hundreds of columns; a message stays readable.
    more = ", ..." if len(names) > 12 else ""
    return (near if similar else far).format(
        near=lowered[similar[0]] if similar else "",
        known=", ".join(names) or "none",
        quoted=(", ".join(map(repr, names[:12])) or "nothing") + more,
    )


suggestion = partial(closest, near="Did you mean {near!r}? Known: {known}.", far="Known: {known}.")
"""The hint where all names are few and fixed, as the variables of a network: it lists them too."""


def listing(values: Iterable[object], limit: int = 5) -> str:
    """Return at most `limit` values separated by commas, and how many more there are."""
    items = [str(value) for value in values]
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(items[:limit]) + more


def shown(value: object) -> str:
    """Return what was received as one line of text; its type where it has no `repr`."""
    # pandas warns when it shows some tables, and cannot show others.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return " ".join(repr(value).split())
        except Exception:
            return f"<{type(value).__name__}>"
