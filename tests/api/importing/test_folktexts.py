from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError

GOLDEN = Path(__file__).parents[2] / "golden"
FOLKTEXTS = GOLDEN / "folktexts_predictions.csv"


def test_folktexts_predictions_are_beliefs_with_labels(imported, study):
    runs = imported(FOLKTEXTS).runs
    written = pd.read_csv(FOLKTEXTS, index_col=0)
    assert runs["p"].tolist() == written["risk_score"].tolist()
    assert (
        runs["theta"].tolist()
        == written["label"].tolist()
        == [int(case.rained) for case in study.CASES]
    )
    assert runs["context"].tolist() == written.index.tolist()
    assert list(runs.columns) == [
        "context",
        "rep",
        "p",
        "theta",
        "truth_kind",
        "status",
    ]  # no column for what folktexts does not have


def test_a_missing_column_names_the_nearest(tmp_path, imported, write_table):
    table = write_table(tmp_path / "a.csv", ",risk_scores,label\n0,0.5,1\n")
    with pytest.raises(
        InputError,
        match="writes a column 'risk_score', and there is none. Closest name found: 'risk_scores'",
    ):
        imported(table, format="folktexts")
