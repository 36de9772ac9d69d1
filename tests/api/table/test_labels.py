"""Labels that look like one: found, shown side by side, merged or kept apart."""

import unicodedata

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, read_runs, simulate, validate_runs

DECOMPOSED = unicodedata.normalize("NFD", "caf\u00e9")


def with_actions(*labels):
    actions = pd.Series([*labels, *labels[:1]], dtype=object)
    return pd.DataFrame({"p": 0.5, "theta": [0, 1, 0], "action": actions})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("yes", "YES"),
        ("yes", "yes "),
        ("c1", "\tc1"),
        ("not now", "not\u00a0 now"),  # a no-break space
        ("caf\u00e9", DECOMPOSED),
        (1, "1"),
        (1.0, "1"),
        (1, "1.0"),
        ("Stra\u00dfe", "STRASSE"),
    ],
)
def test_labels_that_look_like_one_are_a_fault(one, other):
    with pytest.raises(SchemaError, match="'action' has labels that differ only by"):
        validate_runs(with_actions(one, other))


@pytest.mark.parametrize(
    ("one", "other"), [("007", "7"), ("a-1", "a1"), (1, 2), ("1.5", "1"), (1, 1.0)]
)
def test_other_labels_are_none(one, other):
    validate_runs(with_actions(one, other))


def test_the_fault_shows_them_side_by_side_and_names_the_option():
    runs = pd.DataFrame({"p": 0.5, "theta": [0, 1, 0, 1], "context": ["c1", "c1 ", "c2", "C2"]})
    with pytest.raises(SchemaError) as error:
        validate_runs(runs)
    assert error.value.errors == (
        "column 'context' has labels that differ only by blanks, case, Unicode form or type: "
        "'c1' (1 row), 'c1 ' (1 row); 'C2' (1 row), 'c2' (1 row). If they are one, merge them "
        "(--merge-labels, merge_labels=True); if they are meant to differ, keep them apart "
        "(--no-merge-labels, merge_labels=False).",
    )
    validate_runs(runs, labels_apart=True)


def test_accents_that_look_the_same_are_spelt_out():
    with pytest.raises(SchemaError) as error:
        validate_runs(with_actions("caf\u00e9", DECOMPOSED))
    assert "'caf\\xe9' (2 rows), 'cafe\\u0301' (1 row)" in str(error.value)


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


@pytest.fixture
def doubled():
    """Half of the answers to each context bear its name with a blank behind it."""
    runs = simulate("rational", n_contexts=40, n_reps=4, prompts=("standard",), rng=2)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]]
    runs["context"] = "c" + runs["context"].astype(str)
    second = np.arange(len(runs)) % 2 == 1
    blank = runs.assign(context=runs["context"].where(~second, runs["context"] + " "))
    return runs.reset_index(drop=True), blank.reset_index(drop=True)


@pytest.mark.lengthy
def test_contexts_do_not_double(doubled):
    whole, split = doubled
    options = {"checks": ["residual_covariance"], "rng": 1}
    with pytest.raises(SchemaError, match="column 'context' has labels that differ only by"):
        analyze(split, **options)
    merged, apart = (analyze(split, merge_labels=wish, **options) for wish in (True, False))
    expected = analyze(whole, **options).results
    assert merged.results["n_contexts"].tolist() == [40]
    assert merged.results["pvalue"].tolist() == expected["pvalue"].tolist()
    assert apart.results["n_contexts"].tolist() == [80]
    assert any(
        "labels of 'context' were merged" in note.text for note in merged.evaluations[0].notes
    )
    assert any("were kept apart: 'c" in note.text for note in apart.evaluations[0].notes)
    assert merged.settings["merge_labels"] is True
    assert "--merge-labels" in merged.to_html()


def test_files_are_read_as_the_user_says(doubled, tmp_path):
    path = tmp_path / "runs.csv"
    doubled[1].to_csv(path, index=False)
    with pytest.raises(SchemaError, match="--merge-labels"):
        read_runs(path)
    assert read_runs(path, merge_labels=True)["context"].nunique() == 40
    assert read_runs(path, merge_labels=False)["context"].nunique() == 80


@pytest.mark.parametrize("merge", [None, True, False])
def test_lists_in_cells_are_a_fault_of_the_table_whatever_is_merged(merge):
    runs = simulate("rational", n_contexts=20, n_reps=1, rng=1)
    runs["action"] = [["a"] if row % 2 else "b" for row in range(len(runs))]
    with pytest.raises(SchemaError, match="'action' must hold single values; .* is a list"):
        analyze(runs, merge_labels=merge)
