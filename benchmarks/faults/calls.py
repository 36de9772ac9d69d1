"""Calls of every public function and constructor with arguments of any kind, several at a time."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attempts import Attempt, WrongAnswerError
from drawn_columns import CELLS, NAMES, TABLES, columns
from good_calls import good_calls_once, write_files
from hypothesis import strategies as st

DTYPES = ("float64", "float16", "int8", "uint64", "bool", "complex64", "U3", "S2", "M8[D]", "O")


def as_array(values: list[Any], dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            return np.resize(np.array(values, dtype=dtype), shape)
    except Exception:
        array = np.empty(len(values), dtype=object)
        array[:] = [repr(value) for value in values]
        return array


ARRAYS = st.builds(
    as_array,
    st.lists(st.one_of(st.floats(), st.integers(0, 2), CELLS), max_size=4),
    st.sampled_from(DTYPES),
    st.sampled_from([(0,), (1,), (3,), (48,), (96,), (2, 2), (0, 3), (), (1, 1, 1)]),
)
SERIES = st.sampled_from([0, 1, 3, 96]).flatmap(lambda n: few_of(n))


def few_of(n: int) -> st.SearchStrategy[pd.Series]:
    """Return columns of n rows that repeat a few cells."""
    return columns(min(n, 4)).map(
        lambda column: column.iloc[[r % max(len(column), 1) for r in range(n)]]
    )


SIZES = st.sampled_from([0, 1, 2, 5, -1, 2**31, 2**63, 10**13, 10**400])


def a_value(good: Any) -> st.SearchStrategy[Any]:
    """Return arguments in place of a good one: of another kind, or nearly as it is."""
    kinds = [CELLS, ARRAYS, TABLES, SERIES, SIZES, st.sampled_from(NAMES)]
    near = nearly(good)
    return st.one_of(*kinds, *([near] * 4))


@st.composite
def nearly(draw: st.DrawFn, good: Any) -> Any:
    """Draw a value with a fault somewhere within a good one."""
    if isinstance(good, np.ndarray | pd.Series) and len(good):
        cells = list(good)
        for _ in range(draw(st.integers(1, 2))):
            cells[draw(st.integers(0, len(cells) - 1))] = draw(CELLS)
        changed = np.empty(len(cells), dtype=object)
        for place, cell in enumerate(cells):
            changed[place] = cell
        kind = draw(st.sampled_from(["list", "objects", "shorter", "column", "column vector"]))
        return {
            "list": cells,
            "objects": changed,
            "shorter": good[: draw(st.integers(0, len(good)))],
            "column": pd.Series(changed),
            "column vector": np.asarray(good)[:, None],
        }[kind]
    if isinstance(good, pd.DataFrame):
        table = good.copy()
        if len(table) and len(table.columns):
            name = draw(st.sampled_from(list(table.columns)))
            cells = table[name].astype(object).to_list()
            cells[draw(st.integers(0, len(cells) - 1))] = draw(CELLS)
            table[name] = pd.Series(cells, dtype=object, index=table.index)
            table = table.drop(columns=draw(st.sampled_from([[], [], [*table.columns][:1]])))
        return table
    if isinstance(good, list | tuple):
        items = list(good)
        place = draw(st.integers(0, len(items)))
        items[place : place + draw(st.integers(0, 1))] = [draw(CELLS)]
        return draw(st.sampled_from([list, tuple]))(items)
    if isinstance(good, str):
        other = draw(st.sampled_from([good.upper(), good + " ", good.encode(), Path(good), [good]]))
        return other
    if isinstance(good, bool):
        return draw(st.sampled_from([int(good), not good, str(good), np.bool_(good), None]))
    if isinstance(good, int | float):
        return draw(
            st.sampled_from(
                [
                    float(good),
                    str(good),
                    np.int8(1),
                    np.float32(good),
                    [good],
                    np.array(good),
                    -good,
                    complex(good),
                    float(good) + 0.5,
                ]
            )
        )
    return draw(CELLS)


def harmless(value: Any) -> Any:
    """Return a value that as a path stays in the present folder."""
    if isinstance(value, str):
        return value.replace("/", "").replace("..", "")
    if isinstance(value, bytes):
        return value.replace(b"/", b"").replace(b"..", b"")
    return value


class PublicCall:
    """A call, and whether its result is one of those that a function of the kind may give."""

    def __init__(self, function: Callable[..., Any], words: dict[str, Any], kind: type) -> None:
        self.function, self.words, self.kind = function, words, kind

    def __call__(self) -> None:
        result = self.function(**self.words)
        if not isinstance(result, self.kind):
            raise WrongAnswerError(f"{type(result).__name__} in place of {self.kind.__name__}")

    def __repr__(self) -> str:
        name = f"{self.function.__module__}.{self.function.__name__}"
        return f"{name}: {self.words!r}"


# What else a message may be about: a column of a table, or what a path leads to.
WORDS = (
    "column",
    "columns",
    "network",
    "phrases",
    "task",
    "questions",
    "model",
    "store",
    "data set",
)
KINDS: dict[Callable[..., Any], type] = {}


def kind_of_result(function: Callable[..., Any], words: dict[str, Any]) -> type:
    """Return the type of a good call's result, found once."""
    if isinstance(function, type):
        return function
    if function not in KINDS:
        declared = str(inspect.signature(function).return_annotation)
        KINDS[function] = {"Series": pd.Series, "DataFrame": pd.DataFrame}.get(
            declared.rpartition(".")[2].strip("'>"), object
        )
    return KINDS[function]


def prepare() -> None:
    """Write the files that good calls read, and make the good calls."""
    write_files()
    good_calls_once()


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    calls = good_calls_once()
    function = draw(st.sampled_from(sorted(calls, key=lambda f: f"{f.__module__}.{f.__name__}")))
    good = calls[function]
    changed = draw(st.lists(st.sampled_from(sorted(good)), min_size=1, max_size=3, unique=True))
    words = good | {name: harmless(draw(a_value(good[name]))) for name in changed}
    columns_of = {
        str(column)
        for value in words.values()
        if isinstance(value, pd.DataFrame)
        for column in value.columns
    }
    # A message may quote the value instead: a file that is not there, a name that is not known.
    listed = [v if isinstance(v, list | tuple) else [v] for v in words.values()]
    quoted = {str(v) for values in listed for v in values if isinstance(v, str | Path)} - {""}
    # "name_or_path", "addresses": a message has one word of it, or speaks of one of them.
    parts = {part for name in good for part in (*name.split("_"), name.removesuffix("es"))}
    kind = kind_of_result(function, good)
    names = {*good, *parts, *columns_of, *quoted, *WORDS}
    return Attempt(PublicCall(function, words, kind), names, of_any_kind=True)
