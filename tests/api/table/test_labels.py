"""Labels that look like one: refused, with the lines of pandas that write or name them."""

import re
import unicodedata

import pandas as pd
import pytest

from coherence import SchemaError, read_runs
from coherence.table.validation import validate_runs


def with_actions(*labels):
    actions = pd.Series([*labels, *labels[:1]], dtype=object)
    return pd.DataFrame({"p": 0.5, "theta": [0, 1, 0], "action": actions})


def test_labels_that_look_like_one_are_a_fault_and_others_are_none():
    for one, other in (
        ("yes", "YES"),
        ("yes", "yes "),
        ("c1", "\tc1"),
        ("not now", "not\u00a0 now"),  # a no-break space
        ("caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9")),
        (1, "1"),
        (1.0, "1"),
        (1, "1.0"),
        ("Stra\u00dfe", "STRASSE"),
    ):
        with pytest.raises(SchemaError, match="'action' has labels that differ only by"):
            validate_runs(with_actions(one, other))
    for one, other in (("007", "7"), ("a-1", "a1"), (1, 2), ("1.5", "1"), (1, 1.0)):
        validate_runs(with_actions(one, other))


def lines_in(said):
    """Return the lines of pandas that write labels in one way, and that tell them apart."""
    one = re.search(r"in pandas: (table.*?)(?:; if they|\.$)", said)[1]
    other = re.search(r"name one otherwise: (table.*)\.$", said)
    return one, other and other[1]


@pytest.mark.parametrize(
    ("labels", "left"),
    [
        (["c1", "c1 ", "c2", "c2", "C2", "c1"], {"c1", "c2"}),
        (["Straße", "STRASSE", "not\u00a0 now", "not now", "caf\u00e9", "cafe\u0301"], None),
        ([1, "1", 1.0, 2, "2.0", 2], {"1", "2"}),
    ],
)
def test_the_lines_that_the_error_proposes_do_what_it_says_when_typed(labels, left):
    table = pd.DataFrame({"p": 0.5, "theta": [0, 1] * 3, "choice": pd.Series(labels, dtype=object)})
    columns = {"action": "choice"}
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns=columns)
    one, apart = lines_in(error.value.errors[0])
    names = {"table": table.copy()}
    exec(one, names)  # noqa: S102
    actions = read_runs(names["table"], columns=columns)["action"]
    assert set(actions.astype(str)) == left if left else actions.nunique() == 3
    if left == {"c1", "c2"}:
        assert "'c1' (2 rows), 'c1 ' (1 row); 'c2' (2 rows), 'C2' (1 row)" in str(error.value)
    if labels[0] == "c1":
        names = {"table": table[:2].copy()}
        exec(apart, names)  # noqa: S102
        assert read_runs(names["table"], columns=columns)["action"].nunique() == 2


def test_parts_of_a_context_are_written_in_one_way(tmp_path):
    table = pd.DataFrame({"day": ["a", "A", "b", "B"], "id": "x", "p": 0.5, "theta": [0, 0, 1, 1]})
    with pytest.raises(SchemaError) as error:
        read_runs(table, columns={"context": "day,id"})
    names = {"table": table}
    exec(lines_in(error.value.errors[0])[0], names)  # noqa: S102
    assert read_runs(names["table"], columns={"context": "day,id"})["context"].nunique() == 2


def test_labels_of_different_tasks_are_not_compared_until_the_tasks_are_one():
    runs = pd.DataFrame({"p": 0.5, "theta": 1, "task": ["t", "u"], "context": ["a", "A"]})
    validate_runs(runs)
    with pytest.raises(SchemaError, match="column 'context' has labels"):
        validate_runs(runs.assign(task="t"))
