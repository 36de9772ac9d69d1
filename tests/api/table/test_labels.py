"""Labels that look like one: found, shown side by side, merged or kept apart."""

import unicodedata

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs, simulate
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


def test_the_fault_shows_them_side_by_side_and_names_the_option():
    runs = pd.DataFrame({"p": 0.5, "theta": [0, 1, 0, 1], "context": ["c1", "c1 ", "c2", "C2"]})
    with pytest.raises(SchemaError) as error:
        validate_runs(runs)
    (said,) = error.value.errors
    assert "'c1' (1 row), 'c1 ' (1 row); 'C2' (1 row), 'c2' (1 row)" in said
    assert "(--merge-labels, merge_labels=True)" in said
    assert "(--no-merge-labels, merge_labels=False)" in said
    validate_runs(runs, labels_apart=True)


def test_the_most_frequent_writing_stays(tmp_path):
    path = tmp_path / "runs.csv"
    labels = ("YES", "yes", '"yes "', "No", "yes", "other")
    path.write_text("p,theta,action\n" + "".join(f"0.5,1,{label}\n" for label in labels))
    runs = read_runs(path, merge_labels=True)
    assert runs["action"].tolist() == ["yes", "yes", "yes", "No", "yes", "other"]


def test_labels_of_different_tasks_are_not_compared_until_the_tasks_are_one():
    runs = pd.DataFrame({"p": 0.5, "theta": 1, "task": ["t", "u"], "context": ["a", "A"]})
    validate_runs(runs)
    with pytest.raises(SchemaError, match="column 'context' has labels"):
        validate_runs(runs.assign(task="t"))


@pytest.mark.lengthy
def test_contexts_do_not_double():
    """Half of the answers to each context bear its name with a blank behind it."""
    whole = simulate("rational", n_contexts=40, n_reps=4, prompts=("standard",), rng=2)
    whole = whole[whole["z_state"].isna()][["context", "p", "action", "theta"]]
    blanks = np.where(np.arange(len(whole)) % 2, " ", "")
    split = whole.assign(context=whole["context"] + blanks)
    options = {"checks": ["sufficiency"], "rng": 1}
    with pytest.raises(SchemaError, match="column 'context' has labels that differ only by"):
        analyze(split, **options)
    merged, apart = (analyze(split, merge_labels=wish, **options) for wish in (True, False))
    expected = analyze(whole, **options).results
    assert merged.results["n_contexts"].tolist() == [40]
    assert merged.results["pvalue"].tolist() == expected["pvalue"].tolist()
    assert apart.results["n_contexts"].tolist() == [80]
    for report, said in (
        (merged, "labels of 'context' were merged"),
        (apart, "were kept apart: 'c"),
    ):
        assert any(said in note.text for note in report.evaluations[0].notes)
    assert merged.settings["merge_labels"] is True
    assert "--merge-labels" in merged.to_html()
