"""Arguments held against the annotations of a function, to say which one is of another kind."""

import collections.abc
import difflib
import inspect
import numbers
import os
import types
import typing
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping
from pathlib import PurePath
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

# What numpy says of texts that it was to calculate with.
_NO_NUMBERS = ("could not convert string to float", "not supported for the input types")
_LOOKED_AT = 1000  # members of a collection
# Names that modules import for annotations alone.
_NAMES = {
    **{name: getattr(collections.abc, name) for name in collections.abc.__all__},
    **{"np": np, "pd": pd, "ArrayLike": ArrayLike, "NDArray": NDArray, "Any": Any},
    **{"Floats": NDArray[np.float64], "Codes": NDArray[np.int64], "Literal": Literal, "os": os},
    **{"Seed": np.random.Generator | int | None},
}


def first_misfit(
    function: Callable[..., Any],
    values: tuple[Any, ...],
    options: Mapping[str, Any],
    error: Exception | None = None,
) -> str | None:
    """Return what is wrong with the first argument that does not fit its annotation.

    Parameters
    ----------
    function : callable
        What was called.
    values : tuple
        Arguments by position.
    options : mapping
        Arguments by name.
    error : Exception, optional
        What the call ended in, which tells whether arrays were to hold numbers.

    Returns
    -------
    str or None
        A message; None where all arguments fit, as far as annotations tell.

    Examples
    --------
    >>> def half(number: float) -> float:
    ...     return number / 2
    >>> first_misfit(half, ("a",), {})
    "number must be a number; received 'a'. See help(half)."
    """
    try:
        bound = inspect.signature(function).bind(*values, **options)
    except TypeError as unbound:
        hint = _meant(function, options)
        return f"{function.__name__}() {unbound}.{hint} See help({function.__name__})."
    as_numbers = any(phrase in str(error) for phrase in _NO_NUMBERS)
    for name, value in bound.arguments.items():
        hint = _hint(function, name)
        texts = as_numbers and hint == ArrayLike and _has_texts(value)
        if texts or not fits(value, hint):
            wanted = "numbers" if texts else _words(hint)
            return (
                f"{name} must be {wanted}; received {_shown(value)}. "
                f"See help({function.__name__.strip('_')})."
            )
    return None


def _meant(function: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Return a hint at the parameter that an unknown name is nearest to."""
    names = list(inspect.signature(function).parameters)
    unknown = next((name for name in options if name not in names), "")
    near = difflib.get_close_matches(unknown, names, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of the kind that an annotation says.

    Parameters
    ----------
    value : object
        Received.
    hint : object
        An annotation; what cannot be told by it fits.

    Returns
    -------
    bool
        False where it is of another kind.
    """
    if hint is Any or isinstance(hint, str | typing.TypeVar):
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint == ArrayLike or _is_array(hint):
        # That of numpy 2.0 for any array lists the kinds of its numbers, whole ones among them.
        whole = hint != ArrayLike and "int" in str(hint)
        return _is_rectangular(value) and (not whole or np.asarray(value).dtype.kind in "iu")
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, member) for member in members)
    if origin is Literal:
        return any(type(value) is type(member) and value == member for member in members)
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is not None:
        return _fits_collection(value, origin, members)
    return _fits_class(value, hint)


def _fits_class(value: Any, hint: Any) -> bool:
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in (int, float):
        wanted = numbers.Integral if hint is int else numbers.Real
        is_number = isinstance(value, wanted) and not isinstance(value, bool)
        return bool(is_number and abs(value) < 2**63)
    if hint in (str, os.PathLike) and isinstance(value, str | PurePath):
        # Half a surrogate pair is no text, and a zero byte ends a path for the system.
        return hint is not str or (isinstance(value, str) and _is_text(value))
    try:
        return isinstance(value, hint)
    except TypeError:  # a protocol, which has no instances
        members = {name for name in (*vars(hint), *hint.__annotations__) if name[0] != "_"}
        return members <= set(dir(value))


def _fits_collection(value: Any, origin: Any, members: tuple[Any, ...]) -> bool:
    if origin is os.PathLike:
        return isinstance(value, os.PathLike)
    # A text is a sequence of letters, which nobody means.
    is_column = isinstance(value, pd.Series | pd.Index | np.ndarray) and np.ndim(value) == 1
    if not (isinstance(value, origin) or (is_column and origin is not tuple)):
        return False
    if isinstance(value, np.ndarray) and not value.ndim:
        return False  # a collection to Python, though it has no members
    if isinstance(value, str | bytes):
        return False
    if isinstance(value, Mapping) and len(members) == 2:
        entries = list(value.items())[:_LOOKED_AT]
        return all(fits(key, members[0]) and fits(entry, members[1]) for key, entry in entries)
    if not isinstance(value, Collection):
        return True
    inside = list(value)[:_LOOKED_AT]
    if issubclass(origin, tuple) and Ellipsis not in members:
        return len(inside) == len(members) and all(map(fits, inside, members))
    return all(fits(member, members[0]) for member in inside) if members else True


def _is_array(hint: Any) -> bool:
    # From numpy 2.5 on, NDArray is a type alias, which is its own origin.
    kinds = (np.ndarray, NDArray)
    return hint in kinds or get_origin(hint) in kinds


def _is_rectangular(value: Any) -> bool:
    """Tell whether numpy makes an array of scalars of it."""
    if not isinstance(value, list | tuple | np.ndarray | pd.Series | pd.Index | pd.DataFrame):
        return False
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    if array.dtype != object:
        return array.dtype.kind not in "cV"
    scalar = (str, bool, numbers.Real, np.generic, type(None))
    return all(isinstance(member, scalar) or pd.isna(member) is True for member in array.ravel())


def _has_texts(value: Any) -> bool:
    return any(isinstance(member, str) for member in np.asarray(value, dtype=object).ravel())


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _hint(function: Callable[..., Any], name: str) -> Any:
    """Return the annotation of a parameter; `Any` where it cannot be resolved."""
    hint = inspect.signature(function).parameters[name].annotation
    if hint is inspect.Parameter.empty:
        return Any
    if isinstance(hint, str):
        try:
            # Alone: what one parameter names may be known though the name of another is not.
            alone = types.SimpleNamespace(__annotations__={name: hint})
            known = {**_NAMES, **inspect.unwrap(function).__globals__}
            return typing.get_type_hints(alone, known)[name]
        except NameError:
            return Any
    return hint


def _words(hint: Any) -> str:
    """Name a kind as a user would."""
    if hint == ArrayLike or _is_array(hint):
        return "an array or a list of numbers or labels"
    members = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, members)))
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, members))
    names: dict[Any, str] = {
        **{float: "a number", int: "a whole number", str: "text", bool: "True or False"},
        **{type(None): "None", None: "None", pd.DataFrame: "a DataFrame", os.PathLike: "a path"},
    }
    if isinstance(hint, Hashable) and hint in names:
        return names[hint]
    origin = get_origin(hint)
    if origin is os.PathLike:
        return "a path"
    if origin is not None and members:
        inside = ", ".join(_words(member) for member in members if member is not Ellipsis)
        return f"a {origin.__name__} of {inside}"
    return str(getattr(hint, "__name__", hint))


def shown(value: object) -> str:
    """Return what was received as one line of text.

    Parameters
    ----------
    value : object
        Anything; pandas warns when it shows some tables, and cannot show others.

    Returns
    -------
    str
        Its `repr` without line ends, or its type where it has none.

    Examples
    --------
    >>> shown([1, 2])
    '[1, 2]'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return " ".join(repr(value).split())
        except Exception:
            return f"<{type(value).__name__}>"


def _shown(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= 80 else f"{text[:80]} ... ({type(value).__name__})"
