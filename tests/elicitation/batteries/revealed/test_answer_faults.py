"""Faults of a file: breaks if one is missed, or named without its rows."""

import pandas as pd
import pytest

from coherence import InputError, SchemaError
from elicitation.batteries.revealed.answer_file import read_answer_file
from elicitation.batteries.revealed.scenarios import dice

FOUR = pd.DataFrame(
    {"setting": "dice/single/1 die of 4 faces", "outcome": list("1234"), "probability": 0.25}
)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda table: table.drop(columns="outcome"), "column 'outcome' is missing"),
        (lambda table: table.drop(columns="setting"), "column 'question' is missing"),
        (lambda table: table.drop(columns="probability"), "column 'probability' is missing"),
        (lambda table: table.iloc[:0], "has no rows"),
        (lambda table: table.assign(probability=None), "nothing is filled in"),
        (
            lambda table: table.assign(probability=[0.1, "much", 0.2, 0.3]),
            r"'probability' must hold probabilities in \[0, 1\]; .* 'much' \(row 1\)",
        ),
        (
            lambda table: table.assign(probability=25),
            r"'25' \(row 0, 1, 2, 3\). Divide percentages by 100",
        ),
        (
            lambda table: table.assign(probability=0.5),
            r"at most 1; they sum to 2 \(row 0, 1, 2, 3\)",
        ),
        (
            lambda table: table.assign(setting="dice/single/1 die of 5 faces"),
            "column 'question' must name .*Closest.*die of 4 faces",
        ),
        (lambda table: table.iloc[:3], r"lacks the probability of 4 \(row 0, 1, 2\)"),
        (
            lambda table: table.assign(outcome=list("1239")),
            r"'outcome' must be .* '9' \(row 3\). It has 1, 2, 3, 4",
        ),
        (
            lambda table: table.assign(outcome=list("1233")),
            r"must be unique; 2 rows share theirs with another \(row 2, 3\)",
        ),
        (
            lambda table: table.assign(answer=["", "", "x", ""]),
            r"'probability' and 'answer' must not both .* .row 2.",
        ),
        (
            lambda table: table.assign(probability="", answer="1"),
            r"beliefs need 'probability', not 'answer'; .* \(row 0, 1, 2, 3\)",
        ),
    ],
)
def test_faults_of_a_file_from_elsewhere(change, match, write):
    with pytest.raises(SchemaError, match=match):
        read_answer_file(write(change(FOUR)), [dice.single(1, 4)])


def test_a_repetition_counts_once(fill, draws, write):
    setting = dice.single(1, 4)
    table = draws(
        fill([setting]), {f"{setting.name} | bet {order}": ["A", "B"] for order in (1, 2)}
    )
    table.loc[table["rep"] == 1, "rep"] = 0
    with pytest.raises(SchemaError, match="rep\\) must be unique; 4 rows"):
        read_answer_file(write(table), [setting])


def test_all_faults_are_listed_at_once(tmp_path, write):
    table = pd.concat(
        [
            FOUR.assign(probability=[0.1, 2, "x", 0]),
            FOUR.assign(setting="dice"),
            FOUR.assign(outcome="7"),
        ]
    )
    with pytest.raises(SchemaError) as caught:
        read_answer_file(write(table), [dice.single(1, 4)])
    assert len(caught.value.errors) == 4
    assert "row 1, 2" in caught.value.errors[0]
    assert "row 4, 5, 6, 7" in caught.value.errors[1]
    incomplete = pd.concat([FOUR.iloc[:2], FOUR.assign(wording="story", probability=0.9)])
    with pytest.raises(SchemaError, match="2 errors"):
        read_answer_file(write(incomplete), [dice.single(1, 4)])
    with pytest.raises(InputError, match="no such file"):
        read_answer_file(tmp_path / "nowhere.csv", [dice.single(1, 4)])
