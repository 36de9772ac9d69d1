import pandas as pd
import pytest

from coherence import simulate
from coherence.table.fingerprint import fingerprint
from coherence.table.storage import read_runs, write_runs


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=20, n_reps=2, rng=1)


def test_equal_values_have_one_fingerprint(runs, tmp_path):
    same = fingerprint(runs)
    write_runs(runs, tmp_path / "runs.parquet")
    assert fingerprint(read_runs(tmp_path / "runs.parquet")) == same
    assert fingerprint(runs[runs.columns[::-1]]) == same
    assert fingerprint(runs.set_index(runs.index + 7)) == same
    assert fingerprint(runs.assign(action=runs["action"].astype("category"))) == same


@pytest.mark.parametrize(
    "change",
    [
        lambda runs: runs.iloc[::-1],
        lambda runs: runs.iloc[:-1],
        lambda runs: runs.rename(columns={"p": "q"}),
        lambda runs: runs.assign(p=runs["p"].where(runs.index != 3, runs["p"] + 1e-12)),
        lambda runs: runs.assign(action=runs["action"].where(runs.index != 0, "other")),
        lambda runs: runs.assign(p=runs["p"].astype(str)),
    ],
)
def test_any_other_table_has_another(runs, change):
    assert fingerprint(change(runs)) != fingerprint(runs)


def test_a_table_without_rows_has_one():
    assert len(fingerprint(pd.DataFrame({"p": []}))) == 64
