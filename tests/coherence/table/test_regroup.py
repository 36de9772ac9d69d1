"""Laying out anew. Breaks if rows are lost, mixed up, or left behind on disk."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, scan_runs, simulate
from coherence.table.regroup import regrouped


@pytest.fixture
def mixed(tmp_path):
    """Rows of eight units in an order in which every group holds all of them."""
    tables = [
        simulate("rational", n_contexts=10, n_reps=2, rng=n).assign(task=f"t{n}") for n in range(8)
    ]
    table = pd.concat(tables).sample(frac=1, random_state=3).reset_index(drop=True)
    table.to_parquet(tmp_path / "mixed.parquet", row_group_size=64)
    return scan_runs(tmp_path / "mixed.parquet")


def test_every_row_is_read_once_afterwards_and_in_its_order(mixed, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    assert mixed.n_rows_read == 8 * mixed.n_rows
    with regrouped(mixed, rows_held=300) as scan:
        assert scan.n_rows_read == scan.n_rows == mixed.n_rows
        assert scan.units == mixed.units
        for key in scan.units:
            pd.testing.assert_frame_equal(scan.read(*key), mixed.read(*key))
        assert list(Path(tmp_path / "scratch").iterdir())
    assert not list(Path(tmp_path / "scratch").iterdir())


def test_a_table_in_order_stays_as_it_is(tmp_path):
    simulate("rational", n_contexts=10, n_reps=1, rng=1).to_parquet(tmp_path / "t.parquet")
    scan = scan_runs(tmp_path / "t.parquet")
    with regrouped(scan) as same:
        assert same is scan


def test_columns_of_several_types_are_said(mixed, tmp_path):
    table = pd.read_parquet(tmp_path / "mixed.parquet")
    (tmp_path / "t").mkdir()
    for number, rows in table.groupby(np.arange(len(table)) % 2):
        other = rows if number else rows.assign(context=rows["context"].factorize()[0])
        other.to_parquet(tmp_path / "t" / f"{number}.parquet", row_group_size=64)
    with (
        pytest.raises(InputError, match="a column holds values of several types"),
        regrouped(scan_runs(tmp_path / "t")),
    ):
        pass
