"""Arguments of a check as names of columns: ``cmi_test("p", "act", "theta", data=table)``."""

import inspect
import reprlib
from collections.abc import Callable, Sized
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from coherence.errors import InputError, closest
from coherence.inputs import require, whole_number
from coherence.public_names import refuse_seed, with_entries
from coherence.runs.formats import require_frame

SEVERAL = ("belief", "action", "context", "features")
"""Parameters that may hold several columns."""
LEAST = {"n_draws": 99, "n_permutations": 1, "n_bootstraps": 2, "n_folds": 2, "n_seeds": 1}
LEAST |= {"n_bins": 2}
"""Whole numbers, and the least that each may be."""
Given = ParamSpec("Given")
Result = TypeVar("Result")


def takes_columns(
    *names: str, **least: int
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Decorate a function with `data`: these arguments may be names of its columns, or lists.

    Options that are whole numbers, the `least` of which differs from `LEAST`, and `computed` are
    validated, and parameters that its docstring leaves out are described there.
    """

    def decorated(function: Callable[Given, Result]) -> Callable[Given, Result]:
        signature = inspect.signature(function)
        of_columns = [name for name in signature.parameters if name in names]
        single = {name for name in of_columns if name not in SEVERAL}
        single |= {"belief"} if {"level", "loss"} & {*names} else set()
        needed = {
            name
            for name in of_columns
            if signature.parameters[name].default is inspect.Parameter.empty
        }

        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            if "rng" in signature.parameters:
                refuse_seed(kwargs)
            given = signature.bind_partial(*args, **kwargs).arguments
            if given.get("data") is None:
                if text := [name for name in of_columns if isinstance(given.get(name), str)]:
                    raise InputError(
                        f"{text[0]} is the name of a column, and no table is given; received "
                        f"{given[text[0]]!r}. Add data=, the DataFrame that has it."
                    )
            else:
                table = require_frame(given.pop("data"), "data")
                for name in of_columns:
                    if name in given:
                        given[name] = _column(table, name, given[name])
            for name in of_columns:
                if name in needed or given.get(name) is not None:
                    given[name] = _checked(name, given.get(name), single=name in single)
            for name in given.keys() & (LEAST | least).keys():
                if given[name] is not None:
                    given[name] = whole_number(given[name], name, (LEAST | least)[name])
            computed = given.get("computed", False)
            require(
                isinstance(computed, bool),
                f"computed must be True or False; received {computed!r}.",
            )
            return function(**given)  # type: ignore[call-arg]

        doc = inspect.cleandoc(function.__doc__ or "")
        called.__doc__ = with_entries(doc, signature.parameters, draws=False)
        return called

    return decorated


def _checked(name: str, value: Any, *, single: bool) -> Any:
    """Refuse what is no column, or no columns; of a `single` one return the values."""
    try:
        shape = np.shape(value)
    except ValueError:  # lists of several lengths
        shape = ()
    if not isinstance(value, Sized) or not shape or len(shape) > 2:
        received = f"shape {shape}" if shape else reprlib.repr(value)
        raise InputError(
            f"{name} must be an array with a value for every row; received {received}. Give a "
            "list, an array or a Series."
        )
    if not single or len(shape) == 1:
        return value
    if shape[1] != 1:
        raise InputError(
            f"{name} must have shape (n,); received shape {shape}. Give one column, a value a row."
        )
    return value.iloc[:, 0] if isinstance(value, pd.DataFrame) else np.asarray(value)[:, 0]


def _column(table: pd.DataFrame, name: str, value: Any) -> Any:
    """Return the column, or columns, that an argument names; other values as they are."""
    several = isinstance(value, list) and value and all(isinstance(each, str) for each in value)
    for each in value if several else [value]:
        if isinstance(each, str) and each not in table.columns:
            raise InputError(
                f"{name} must be a column of data; there is no {each!r}. "
                f"{closest(each, table.columns)}"
            )
    if several and name == "context":  # one id of several columns
        if len(value) == 1:
            return table[value[0]]
        whole = table[value].notna().all(axis=1)
        ids = list(table[value].itertuples(index=False, name=None))
        return pd.Series(ids, table.index, dtype=object).where(whole)
    return table[value] if several or isinstance(value, str) else value
