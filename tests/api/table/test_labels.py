"""Labels that look like one: refused, with the lines of pandas that write or name them."""

import re

import pandas as pd
import pytest

from coherence import SchemaError, read_runs
from coherence.analysis.reading import as_runs
from coherence.runs.columns import Reading
from coherence.runs.read import validate_runs


def test_labels_that_differ_by_more_are_let_be():
    for one, other in (("007", "7"), ("a-1", "a1"), (1, 2), ("1.5", "1"), (1, 1.0), (1, "1")):
        actions = pd.Series([one, other, one], dtype=object)
        validate_runs(pd.DataFrame({"p": 0.5, "theta": [0, 1, 0], "action": actions}))


def line_in(said):
    """Return the lines of pandas that write labels in one way."""
    return re.search(r"in pandas: (table.*?)\.$", said)[1]


@pytest.mark.parametrize(
    ("labels", "left"),
    [
        (["c1", "c1 ", "c2", "c2", "C2", "c1"], {"c1", "c2"}),
        (["Straße", "STRASSE", "not\u00a0 now", "not now", "caf\u00e9", "cafe\u0301"], None),
    ],
)
def test_the_lines_that_the_error_proposes_do_what_it_says_when_typed(labels, left):
    table = pd.DataFrame({"p": 0.5, "theta": [0, 1] * 3, "choice": pd.Series(labels, dtype=object)})
    columns = {"action": "choice"}
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns=columns)
    names = {"table": table.copy()}
    exec(line_in(error.value.errors[0]), names)  # noqa: S102
    actions = read_runs(names["table"], columns=columns)["action"]
    assert set(actions.astype(str)) == left if left else actions.nunique() == 3
    if left:
        assert "'c1' (2 rows), 'c1 ' (1 row); 'c2' (2 rows), 'C2' (1 row)" in str(error.value)


def test_parts_of_a_context_are_written_in_one_way(tmp_path):
    table = pd.DataFrame({"day": ["a", "A", "b", "B"], "id": "x", "p": 0.5, "theta": [0, 0, 1, 1]})
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns={"context": "day,id"})
    names = {"table": table}
    exec(line_in(error.value.errors[0]), names)  # noqa: S102
    assert read_runs(names["table"], columns={"context": "day,id"})["context"].nunique() == 2


def test_labels_of_different_tasks_are_not_compared_until_the_tasks_are_one():
    runs = pd.DataFrame({"p": 0.5, "theta": 1, "task": ["t", "u"], "context": ["a", "A"]})
    validate_runs(runs)
    with pytest.raises(SchemaError, match="column 'context' has labels"):
        validate_runs(runs.assign(task="t"))


@pytest.mark.parametrize(
    ("states", "truth", "expected"),
    [
        ("no yes", [0, 1.0], ["no", "yes"]),
        ("Rain dry", ["rain", "DRY"], ["Rain", "dry"]),
        ("0 1 2", [2, 0], [2, 0]),
        ("no yes other", [0, 1], "replace({'0': 'no', '1': 'yes'})"),
        ("win lose", ["win", "void"], "leave out the 1 row .* --where 'truth != \"void\"'"),
        ("win tie lose", ["win", "lost"], "replace({'lost': 'STATE'})"),
    ],
)
def test_truths_are_named_as_the_beliefs_are_or_refused(states, truth, expected):
    beliefs = {f"p_{state}": 1 / len(states.split()) for state in states.split()}
    table, named = pd.DataFrame({"truth": truth, **beliefs}), Reading({"truth": "truth"})
    if isinstance(expected, list):
        assert as_runs(table, named).table["theta"].tolist() == expected
        return
    with pytest.raises(SchemaError, match=re.escape(expected).replace(r"\.\*", ".*")):
        as_runs(table, named)


def test_an_action_that_says_that_there_is_none_is_missing_and_counted():
    runs = pd.DataFrame({"p": 0.5, "theta": [0, 1] * 3, "action": ["a", "b", "missing"] * 2})
    runs.loc[[0, 3], "action"] = ["Unparsed", " "]
    valid = validate_runs(runs)
    assert valid.table["action"].dropna().tolist() == ["b", "b"]
    assert "action: 3 cells with 'Unparsed', 'missing' are missing." in map(str, valid.notes)
    found = runs.assign(theta=["found", "missing"] * 3)
    assert (validate_runs(found).table["action"] == "missing").sum() == 2
