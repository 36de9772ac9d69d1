"""Cells, columns and tables of any kind, as strategies of hypothesis."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from coherence import simulate

NAMES = (
    *("p", "action", "theta", "context", "rep", "prompt", "task", "model", "status", "z", "p_z"),
    *("z_state", "p_true", "p_no", "p_yes", "action_no", "action_yes", "belief_kind", "seed"),
    *("answer_mass", "raw_belief", "raw_action", "finish_reason", "x_a", "P", "p ", "", "index"),
)
HUGE = (2**31, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, -(2**63) - 1)
NUMBERS = (0.0, -0.0, 0.5, 1.0, 1.0000000002, 1.1, 70.0, -1e-12, 5e-324, 1e308)
WORDS = ("yes", "no", "Yes ", "0.7", "0,7", "70%", "nan", "None", "null", "NA", "1e3", "٠.٧", "é")
TEXTS = st.one_of(
    st.sampled_from([*WORDS, "", " ", "a\0b", "\ud800", "=1+1", "\x1b[31m", "x" * 40_000]),
    st.text(max_size=8),
)
TIMES = st.datetimes(datetime.datetime(1600, 1, 1), datetime.datetime(2300, 1, 1))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([*HUGE, *NUMBERS]),
    st.floats(),
    TEXTS,
    st.binary(max_size=6),
    st.complex_numbers(max_magnitude=2),
    st.sampled_from([Decimal("0.5"), Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3)]),
    TIMES,
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.sampled_from([pd.NA, pd.NaT, np.float32(0.5), np.int8(1), np.bool_(True), np.str_("a")]),
    st.sampled_from(
        [np.datetime64("NaT", "ns"), np.array(0.5), np.array([1, 2]), object, int, len]
    ),
    st.builds(object),
)
HASHABLE = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), TEXTS, st.binary(max_size=3)
)
CELLS: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.frozensets(HASHABLE, max_size=2),
    ),
    max_leaves=4,
)
PROBABILITIES = st.floats(0, 1)
LABELS = st.sampled_from(["yes", "no"])
DTYPES = (
    *("float16", "float32", "Float64", "int8", "uint64", "Int64", "UInt8", "boolean", "bool"),
    *("string", "category", "object", "datetime64[ns]", "datetime64[s]", "timedelta64[ns]"),
    *("complex128", "Sparse[float]", "Sparse[int]", "period[D]", "string[pyarrow]"),
)
ARROW = (
    *(pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.string(), pa.binary()),
    *(pa.large_string(), pa.timestamp("us", "UTC"), pa.date32(), pa.time64("ns"), pa.null()),
    *(pa.decimal128(9, 3), pa.duration("s"), pa.list_(pa.int8()), pa.struct({"a": pa.int8()})),
    *(pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.null())),
)


def as_dtype(values: list[Any], dtype: Any) -> pd.Series:
    """Return a column of a dtype, or of objects where the values are none of it."""
    try:
        return pd.Series(values, dtype=dtype)
    except Exception:
        return pd.Series(values, dtype=object)


def columns(n: int) -> st.SearchStrategy[pd.Series]:
    """Return columns of n rows."""

    def many(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(cells, min_size=n, max_size=n)

    objects = many(CELLS).map(lambda cells: as_objects(cells))
    numbers = st.one_of(PROBABILITIES, st.integers(0, 1), st.sampled_from([None, *NUMBERS]))
    plain = st.one_of(numbers, LABELS, TEXTS, TIMES)
    typed = st.builds(as_dtype, many(plain), st.sampled_from(DTYPES))
    constant = st.builds(lambda cell: as_objects([cell] * n), CELLS)
    arrow = st.builds(
        as_dtype,
        many(st.one_of(st.none(), st.integers(0, 1), LABELS, st.lists(st.none(), max_size=2))),
        st.sampled_from(ARROW).map(pd.ArrowDtype),
    )
    zoned = many(TIMES).map(lambda cells: pd.Series(pd.to_datetime(cells, utc=True)))
    bins = st.just(pd.Series(pd.interval_range(0, n, periods=n)) if n else as_objects([]))
    ordered = many(LABELS).map(
        lambda cells: pd.Series(pd.Categorical(cells, ["no", "maybe", "yes"], ordered=True))
    )
    beliefs = many(PROBABILITIES).map(lambda cells: pd.Series(cells, dtype=float))
    return st.one_of(objects, typed, constant, arrow, zoned, bins, ordered, beliefs)


def as_objects(cells: list[Any]) -> pd.Series:
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return pd.Series(array, dtype=object)


COLUMN_NAMES = st.one_of(st.sampled_from(NAMES), HASHABLE, st.tuples(HASHABLE, HASHABLE))


def side_by_side(named: list[tuple[Any, pd.Series]], n: int) -> pd.DataFrame:
    """Return a table whose columns may have one name twice, or none."""
    if not named:
        return pd.DataFrame(index=range(n))
    table = pd.concat([column.reset_index(drop=True) for _, column in named], axis=1)
    names = np.empty(len(named), dtype=object)
    for place, (name, _) in enumerate(named):
        names[place] = name
    return table.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)


@st.composite
def wild_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a table of no more than a few rows in which anything may stand."""
    n = draw(st.sampled_from([0, 1, 2, 5]))
    named = draw(st.lists(st.tuples(COLUMN_NAMES, columns(n)), max_size=6))
    return draw(shapes(side_by_side(named, n)))


BASES = [simulate(name, n_contexts=6, n_reps=2, rng=1) for name in ("rational", "leaky")]
BASES.append(simulate("noisy", n_contexts=6, n_reps=2, rng=1, policies=True))


@st.composite
def changed_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a good runs table of which some columns or cells are of another kind."""
    table = draw(st.sampled_from(BASES))
    n = draw(st.sampled_from([len(table), len(table), 1, 0]))
    table = table.iloc[:n].copy()
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.one_of(st.sampled_from(list(table.columns)), st.sampled_from(NAMES)))
        if draw(st.booleans()) and name in table.columns and n:
            cells = table[name].astype(object).to_list()
            for _ in range(draw(st.integers(1, 3))):
                cells[draw(st.integers(0, n - 1))] = draw(CELLS)
            table[name] = as_objects(cells).set_axis(table.index)
        elif draw(st.booleans()) and name in table.columns:
            dtype = draw(st.sampled_from(DTYPES))
            table[name] = as_dtype(table[name].to_list(), dtype).set_axis(table.index)
        else:
            few = draw(columns(3)).to_list()
            repeated = [few[place % 3] for place in range(n)]
            table[name] = as_objects(repeated).set_axis(table.index)
    return draw(shapes(table))


@st.composite
def shapes(draw: st.DrawFn, table: pd.DataFrame) -> pd.DataFrame:
    """Draw another index, order or set of names for a table."""
    n, width = table.shape
    kind = draw(st.sampled_from(["", "", "", "", "rows", "names", "twice", "levels", "axes"]))
    if kind == "rows" and n:
        index = draw(columns(n))
        if index.dtype == np.float16:  # of which pandas makes no index
            index = index.astype(object)
        table = table.set_axis(pd.Index(index, tupleize_cols=False), axis=0)
        table.index.name = draw(st.sampled_from([None, "p", "context", 3, ("a", "b")]))
    elif kind == "rows":
        table = table.set_axis(pd.MultiIndex.from_arrays([table.index, table.index]), axis=0)
    elif kind == "names" and width:
        names = list(table.columns)
        names[draw(st.integers(0, width - 1))] = draw(COLUMN_NAMES)
        table = table.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)
    elif kind == "twice" and width:
        names = [str(name) for name in table.columns]
        assume(not any("\ud800" <= letter <= "\udfff" for letter in "".join(names)))  # pandas'
        table = pd.concat([table, table.iloc[:, [draw(st.integers(0, width - 1))]]], axis=1)
    elif kind == "levels":
        table = pd.concat({"a": table}, axis=draw(st.integers(0, 1)))
    elif kind == "axes":
        backwards = table.iloc[::-1, ::-1].T.T if draw(st.booleans()) else table.iloc[::-1]
        table = backwards.rename_axis(columns=draw(st.sampled_from(["p", 1, None])))
    return table


TABLES = st.one_of(changed_tables(), changed_tables(), wild_tables())
