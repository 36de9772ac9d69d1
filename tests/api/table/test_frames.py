"""What is no table is refused with the way to make it one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from coherence import InputError, SchemaError, analyze, validate_runs


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ("runs.csv", "received str. Read the file first: coherence.read_runs('runs.csv')."),
        (Path("a/b.csv"), "Read the file first: coherence.read_runs('a/b.csv')."),
        ({"p": [0.5]}, "received dict. Make it one: pandas.DataFrame(runs)."),
        (np.zeros(3), "received numpy.ndarray. Make it one"),
        (pyarrow.table({"p": [0.5]}), "received pyarrow.lib.Table. Convert it: runs.to_pandas()."),
    ],
)
def test_what_is_no_frame_says_how_to_make_it_one(runs, message):
    with pytest.raises(InputError, match="^runs must be a pandas DataFrame") as error:
        validate_runs(runs)
    assert message in str(error.value)
    said = "no such file" if isinstance(runs, str | Path) else "^runs must be a pandas DataFrame"
    with pytest.raises(InputError, match=said):
        analyze(runs)


def test_an_index_named_like_a_column_is_refused():
    runs = pd.DataFrame({"context": ["a", "b"], "p": 0.5, "theta": [0, 1]})
    validate_runs(runs.rename_axis("row"))
    with pytest.raises(SchemaError, match="context occur more than once"):
        validate_runs(pd.concat([runs, runs[["context"]]], axis=1))
    with pytest.raises(SchemaError, match="context .* drop the index"):
        validate_runs(runs.set_index("context", drop=False))
