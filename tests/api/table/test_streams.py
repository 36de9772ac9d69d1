"""Tables that come as bytes: breaks if the content is not what tells their kind, or if an error
names a file that is gone."""

import gzip
import io

import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.table.reading import read_stream

RUNS = coherence.simulate("leaky", n_contexts=8, n_reps=2, rng=1)


def written(kind):
    file = io.BytesIO()
    if kind == "parquet":
        RUNS.to_parquet(file, index=False)
    elif kind == "jsonl":
        RUNS.to_json(file, orient="records", lines=True, double_precision=15)
    else:
        sep = {"csv": ",", "semicolon": ";", "tab": "\t"}[kind]
        RUNS.to_csv(file, index=False, sep=sep)
    return file.getvalue()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["csv", "semicolon", "tab", "jsonl"])
def test_text_of_every_kind_is_the_table_that_a_file_of_it_is(kind, packed, tmp_path):
    content = gzip.compress(written(kind), mtime=0) if packed else written(kind)
    path = tmp_path / f"runs.{'jsonl' if kind == 'jsonl' else 'csv'}"
    path.write_bytes(content)
    pd.testing.assert_frame_equal(read_stream(io.BytesIO(content)).table, coherence.read_runs(path))


def test_parquet_is_recognised(tmp_path):
    path = tmp_path / "runs.parquet"
    path.write_bytes(written("parquet"))
    runs = read_stream(io.BytesIO(written("parquet"))).table
    pd.testing.assert_frame_equal(runs, coherence.read_runs(path))
    assert runs["p"].tolist() == RUNS["p"].tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^standard input: nothing came \(0 bytes\)\. Pipe a table"),
        (b"p,action\n", r"^standard input: the table has no rows"),
        (b"[1, 2]\n", r"^standard input: the file must be a JSON array of objects"),
        (b"PAR1 cut short", r"^standard input: the file cannot be read as parquet"),
        (b"p,action\n0.2,1,2\n", r"^standard input: line 2 has 3 cells, the header 2"),
        (
            gzip.compress(b"p,action\n" * 99, mtime=0)[:30],
            r"^standard input: the gzip file is damaged",
        ),
        (b"p,action\n0.2,\xff\n", r"^standard input: the file cannot be read as text"),
    ],
)
def test_errors_name_standard_input_and_no_file(content, message):
    with pytest.raises(InputError, match=message) as error:
        read_stream(io.BytesIO(content))
    assert "coherence-" not in str(error.value)
