"""Errors that a user can act on.

Every message names the parameter or column, the rule, the value received, where it was found, and
what to do about it. The command line prints them in one line, or several faults in a line each, and
exits with 2.
"""

import errno
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, partial, wraps
from types import FunctionType
from typing import Any, Self


class CoherenceError(Exception):
    """Base of all errors that this toolkit raises on purpose; the text is always of one line.

    Attributes
    ----------
    told : tuple of str
        What is wrong, a sentence each, where several things are and `all_at_once` told them.
    """

    told: tuple[str, ...] = ()
    _opening = ""

    def __str__(self) -> str:
        # Messages quote what was received, which may be a whole table.
        return " ".join(super().__str__().splitlines())

    @classmethod
    def all_at_once(cls, opening: str, faults: Iterable[str]) -> Self:
        """Return an error that tells several faults.

        Parameters
        ----------
        opening : str
            What stands before them, such as "mine.csv has 2 faults"; may be empty.
        faults : iterable of str
            Sentences.

        Returns
        -------
        CoherenceError
            Its text has a bar between two faults.

        Examples
        --------
        >>> error = InputError.all_at_once("mine.csv has 2 faults", ["p is missing.", "q is odd."])
        >>> str(error)
        'mine.csv has 2 faults: p is missing. | q is odd.'
        >>> error.lines()
        ['mine.csv has 2 faults:', '- p is missing.', '- q is odd.']
        """
        told = tuple(faults)
        error = cls(_one_line(opening, told))
        error.told, error._opening = told, opening
        return error

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same error with other names, as of a file that the user does not know.

        Parameters
        ----------
        names : mapping of str to str
            What the message says -> what it is to say.

        Returns
        -------
        CoherenceError
            Of the same kind.
        """

        def said(text: str) -> str:
            for old, new in names.items():
                text = text.replace(old, new)
            return text

        if self.told:
            return type(self).all_at_once(said(self._opening), map(said, self.told))
        return type(self)(said(str(self)))

    def lines(self) -> list[str]:
        """Return the message for a terminal: several faults on a line each.

        Returns
        -------
        list of str
            One line where there is one fault.
        """
        if len(self.told) < 2:
            return [str(self)]
        opening = self._opening or f"{len(self.told)} faults"
        return [f"{opening}:", *(f"- {fault}" for fault in self.told)]


def _one_line(opening: str, faults: Iterable[str]) -> str:
    told = " | ".join(faults)
    return f"{opening}: {told}" if opening else told


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
        self.faults, self._source = list(faults), source
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        self.told, self._opening = tuple(self.faults), f"{source} has {count}"
        super().__init__(_one_line(self._opening, self.told))

    def __reduce__(self) -> tuple[type["SchemaError"], tuple[list[str], str]]:
        # As it was made: its message alone, from another process, is no list of faults.
        return type(self), (self.faults, self._source)


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
    """Return a hint at the known name that is most similar, or at what there is.

    Parameters
    ----------
    name : object
        What was looked for; case does not matter.
    known : iterable
        What exists.
    near : str
        The sentence where a name is similar. It may hold ``{near}``, that name, ``{known}``, all
        names, and ``{quoted}``, the first twelve in quotation marks.
    far : str
        The sentence where none is.

    Returns
    -------
    str
        A sentence to append to an error.

    Examples
    --------
    >>> closest("smok", ["smoke", "lung"])
    "Closest name found: 'smoke'."
    >>> suggestion("age", ["smoke", "lung"])
    'Known: smoke, lung.'
    """
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


def answering(load: Callable[[str], Any], package: str) -> Callable[[str], Any]:
    """Let the functions of a package answer arguments of another kind than they declare.

    Where a call ends in an error of Python, its arguments are held against the annotations of the
    function: one that does not fit is named in an `InputError`. If all fit, the error stays what it
    is, with its traceback; a call that succeeds costs nothing more.

    Parameters
    ----------
    load : callable
        ``__getattr__`` of the package, which loads a public name.
    package : str
        Its name.

    Returns
    -------
    callable
        Likewise.
    """

    @cache
    def answered(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*values: Any, **options: Any) -> Any:
            try:
                return function(*values, **options)
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                if isinstance(error, CoherenceError):
                    raise
                # Loads numpy and pandas, which whoever calls has loaded by now.
                from coherence.errors.annotations import first_misfit

                misfit = first_misfit(function, values, options, error)
                if misfit is None:
                    raise
                raise InputError(misfit) from error
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG or isinstance(error, CoherenceError):
                    raise
                raise InputError(
                    f"path must have a name that the system takes; {str(error.filename)[:60]!r}... "
                    "is too long. Shorten it."
                ) from error

        return call

    def get(name: str) -> Any:
        value = load(name)
        # In place: a class must stay the one that its module knows.
        if isinstance(value, type) and "__dataclass_fields__" in vars(value):
            constructor = vars(value)["__init__"]
            if "__wrapped__" not in vars(constructor):
                value.__init__ = answered(constructor)  # type: ignore[misc]
        if isinstance(value, FunctionType):
            value = answered(value)
            # In place of what the loader put there, which would be found first from now on.
            setattr(sys.modules[package], name, value)
        return value

    return get
