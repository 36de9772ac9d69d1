"""Arguments of a check as names of columns: ``cmi_test("p", "act", "theta", data=table)``."""

import inspect
from collections.abc import Callable, Sized
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pandas as pd

from coherence.errors import InputError, closest
from coherence.table.frames import require_frame

Given = ParamSpec("Given")
Result = TypeVar("Result")


def takes_columns(*names: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Let arguments be names of columns of the table that is given as ``data``.

    Parameters
    ----------
    *names : str
        Parameters that hold a column, or as a list several; what is no name is taken as it is.

    Returns
    -------
    callable
        Decorator of a function that has a parameter ``data``, which it sees as None.
    """

    def decorated(function: Callable[Given, Result]) -> Callable[Given, Result]:
        signature = inspect.signature(function)
        of_columns = [name for name in signature.parameters if name in names]
        needed = {
            n for n in of_columns if signature.parameters[n].default is inspect.Parameter.empty
        }

        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            if kwargs.get("data") is None:
                given = dict(zip(signature.parameters, args, strict=False)) | kwargs
                if text := [name for name in of_columns if isinstance(given.get(name), str)]:
                    raise InputError(
                        f"{text[0]} is the name of a column, and no table is given; received "
                        f"{given[text[0]]!r}. Add data=, the DataFrame that has it."
                    )
                _require_columns(
                    {name: given[name] for name in of_columns if name in given}, needed
                )
                return function(*args, **kwargs)
            given = signature.bind_partial(*args, **kwargs).arguments
            table = require_frame(given.pop("data"), "data")
            for name in of_columns:
                if name in given:
                    given[name] = _column(table, name, given[name])
            _require_columns({name: given[name] for name in of_columns if name in given}, needed)
            return function(**given)  # type: ignore[arg-type, call-arg]

        return called

    return decorated


def _require_columns(given: dict[str, Any], needed: set[str]) -> None:
    """Refuse a single value, or none, where a column is expected."""
    for name, value in given.items():
        if value is None and name not in needed:
            continue
        if not isinstance(value, Sized) or getattr(value, "shape", (1,)) == ():
            raise InputError(
                f"{name} must be an array with a value for every row; received {value!r}. Give a "
                "list, an array or a Series."
            )


def _column(table: pd.DataFrame, name: str, value: Any) -> Any:
    """Return the column, or columns, that an argument names; other values as they are."""
    several = isinstance(value, list) and value and all(isinstance(each, str) for each in value)
    for each in value if several else [value]:
        if isinstance(each, str) and each not in table.columns:
            raise InputError(
                f"{name} must be a column of data; there is no {each!r}. "
                f"{closest(each, table.columns)}"
            )
    return table[value] if several or isinstance(value, str) else value
