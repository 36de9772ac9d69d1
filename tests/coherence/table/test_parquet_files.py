from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError, read_runs
from coherence.table.parquet_files import ParquetFile, count_rows, is_parquet, parquet_files


def touched(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_partitions_say_what_their_files_do_not_hold(tmp_path):
    touched(
        tmp_path,
        "task=a%2Fb/model=__HIVE_DEFAULT_PARTITION__/x.parquet",
        "task=c/model=m/y.pq",
        "task=c/model=m/_metadata.parquet",
        "plain.parquet",
        "results/other.parquet",
        "notes.txt",
    )
    assert parquet_files(tmp_path) == [
        ParquetFile(tmp_path / "plain.parquet"),
        ParquetFile(
            tmp_path / "task=a%2Fb/model=__HIVE_DEFAULT_PARTITION__/x.parquet",
            {"task": "a/b", "model": None},
        ),
        ParquetFile(tmp_path / "task=c/model=m/y.pq", {"task": "c", "model": "m"}),
    ]


def test_a_file_is_its_own_list_and_an_empty_folder_is_refused(tmp_path):
    assert parquet_files(Path("x.parquet")) == [ParquetFile(Path("x.parquet"))]
    assert is_parquet(Path("X.PARQUET"))
    assert not is_parquet(Path("x.csv"))
    with pytest.raises(InputError, match=r"holds no .parquet file"):
        parquet_files(tmp_path)


def test_a_partitioned_table_is_read_whole(tmp_path):
    table = pd.DataFrame({"p": [0.1, 0.9, 0.4], "theta": [0, 1, 1], "task": ["a/b", "c", "c"]})
    table.to_parquet(tmp_path / "t", partition_cols=["task"])
    pd.testing.assert_frame_equal(read_runs(tmp_path / "t"), table, check_dtype=False)
    assert count_rows(tmp_path / "t") == 3
    assert count_rows(tmp_path) == 0
    (tmp_path / "torn.parquet").write_text("no")
    assert count_rows(tmp_path / "torn.parquet") == 0
