from pathlib import Path

import pandas as pd
import pytest

from coherence.errors import InputError
from coherence.importing.formats import read_logs

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
        "status",
    ]  # no column for what folktexts does not have


def test_a_table_keeps_ids_and_labels_as_they_are(tmp_path, imported, write_table):
    table = write_table(
        tmp_path / "mine.csv",
        "case,confidence,choice,rain,x_age\n"
        "007,0.7,NA,yes,3\n008,about half,stay,no,4\n009,,stay,no,5\n",
    )
    runs = imported(
        table, mapping={"context": "case", "p": "confidence", "action": "choice", "theta": "rain"}
    ).runs
    assert runs["context"].tolist() == ["007", "008", "009"]
    assert runs["action"].tolist() == ["NA", "stay", "stay"]
    assert runs["status"].tolist() == ["ok", "unparsed", "unparsed"]
    assert runs["raw_belief"].tolist()[1] == "about half"
    assert runs["x_age"].tolist() == [3, 4, 5]


def test_a_missing_column_names_the_nearest(tmp_path, write_table):
    table = write_table(tmp_path / "a.csv", ",risk_scores,label\n0,0.5,1\n")
    with pytest.raises(
        InputError,
        match="writes a column 'risk_score', and there is none. Closest name found: 'risk_scores'",
    ):
        read_logs([table], format="folktexts")
