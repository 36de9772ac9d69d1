"""Breaks if a message speaks of a column that is not in the user's file."""

import pandas as pd
import pytest

from coherence import InputError, SchemaError, read_runs

MAPPED = {
    "p": "prob",
    "action": "choice",
    "theta": "outcome",
    "context": "case",
    "rep": "round",
    "status": "how",
}
GOOD = {
    "prob": ["0.2", "0.8", "0.4", "0.6"],
    "choice": ["a", "b", "a", "b"],
    "outcome": [0, 1, 0, 1],
    "case": ["x", "y", "z", "w"],
    "round": [0, 0, 0, 0],
    "how": ["ok"] * 4,
}


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"prob": ["1.7", "2", "0.1", "0.2"]}, "column 'prob' (mapped to 'p') must hold prob"),
        ({"prob": ["high", "1", "0.1", "0"]}, "column 'prob' (mapped to 'p') must hold numbers"),
        ({"prob": ["20%", "1", "50%", "9"]}, "column 'prob' (mapped to 'p') has both percent"),
        ({"prob": ["0,2", "1", "0,5", "1"]}, "column 'prob' (mapped to 'p') has decimal commas"),
        ({"prob": ["20%", "1", "5%", "1"]}, "column 'prob' (mapped to 'p') has both percent"),
        ({"prob": ["", "1", "0.1", "0"]}, "how (mapped to 'status') is 'ok' but 'prob' (mapped"),
        ({"how": ["ok", "okk", "ok", "ok"]}, "column 'how' (mapped to 'status') must be one of"),
        ({"choice": ["a", "A", "b", "b"]}, "column 'choice' (mapped to 'action') has labels"),
        ({"case": ["x", "x", "z", "w"]}, "outcome (mapped to 'theta') must be the same in all"),
        ({"case": ["x", "y", "x", "w"]}, "(case (mapped to 'context'), round (mapped to 'rep'))"),
        ({"case": ["x", "", "z", "w"]}, "column 'case' (mapped to 'context') is empty in row 1"),
    ],
)
def test_faults_name_the_columns_of_the_file(columns, fault, tmp_path):
    path = tmp_path / "mine.csv"
    pd.DataFrame({**GOOD, **columns}).to_csv(path, index=False)
    with pytest.raises((InputError, SchemaError)) as refused:
        read_runs(path, columns=MAPPED)
    assert fault in str(refused.value)
