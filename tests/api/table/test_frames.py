"""What is no table is refused with the way to make it one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from coherence import InputError, SchemaError, analyze, simulate, validate_runs, write_runs


class LazyFrame:
    """As of polars: a query that has no rows, and no way to pandas, before it is collected."""

    def collect(self): ...


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ("runs.csv", "received str. Read the file first: coherence.read_runs('runs.csv')."),
        (Path("a/b.csv"), "Read the file first: coherence.read_runs('a/b.csv')."),
        ({"p": [0.5]}, "received dict. Make it one: pandas.DataFrame(runs)."),
        (np.zeros(3), "received numpy.ndarray. Make it one"),
        (pyarrow.chunked_array([[0.5]]), "received pyarrow.lib.ChunkedArray. Convert it"),
        (LazyFrame(), "Run and convert it: runs.collect()."),
        (None, "received NoneType. Pass one, or read a file with coherence.read_runs."),
    ],
)
def test_what_is_no_frame_says_how_to_make_it_one(runs, message):
    with pytest.raises(InputError, match="^runs must be a pandas DataFrame") as error:
        validate_runs(runs)
    assert message in str(error.value)
    said = "no such file" if isinstance(runs, str | Path) else "^runs must be a pandas DataFrame"
    with pytest.raises(InputError, match=said):
        analyze(runs)


class Exporting:
    """As frames of polars: columns are handed out by Arrow's C stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("as_other", [pyarrow.Table.from_pandas, Exporting])
def test_what_exports_its_columns_to_arrow_is_a_table(as_other, tmp_path):
    runs = simulate("leaky", n_contexts=30, n_reps=2, rng=1)
    other = as_other(pyarrow.Table.from_pandas(runs) if as_other is Exporting else runs)
    report = analyze(other, checks=["residual_covariance"], rng=1)
    expected = analyze(runs, checks=["residual_covariance"], rng=1)
    pd.testing.assert_frame_equal(report.results, expected.results)
    write_runs(other, tmp_path / "runs.csv")
    assert len(validate_runs(other)) == len(runs)


@pytest.mark.parametrize("index", ["context", ["task", "model", "context"]])
def test_columns_in_the_index_are_read(index, tmp_path):
    """Breaks if contexts kept in the index are dropped, and every row becomes one of its own."""
    runs = simulate("leaky", n_contexts=30, n_reps=2, rng=1)
    indexed = runs.set_index(index)
    report = analyze(runs, checks=["residual_covariance"], rng=1)
    assert report.evaluations[0].results[0].n_contexts == 30
    write_runs(indexed, tmp_path / "runs.csv")
    for table in (indexed, validate_runs(indexed), tmp_path / "runs.csv"):
        again = analyze(table, checks=["residual_covariance"], rng=1)
        pd.testing.assert_frame_equal(again.results, report.results)


def test_an_index_named_like_a_column_is_refused():
    runs = pd.DataFrame({"context": ["a", "b"], "p": 0.5, "theta": [0, 1]})
    validate_runs(runs.rename_axis("row"))
    with pytest.raises(SchemaError, match="context occur more than once"):
        validate_runs(pd.concat([runs, runs[["context"]]], axis=1))
    with pytest.raises(SchemaError, match="context .* drop the index"):
        validate_runs(runs.set_index("context", drop=False))
