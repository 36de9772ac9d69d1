"""Typos: of a column's name a validation error, of a label a note."""

import pandas as pd
import pytest

from coherence import analyze, read_runs, simulate
from coherence.table.typos import MOST_LABELS, column_meant, is_typo, spelling_notes


@pytest.mark.parametrize(
    ("text", "meant", "typo"),
    [
        ("biy", "buy", True),
        ("by", "buy", False),  # two letters are a word of their own
        ("bu1", "buy", False),  # a digit numbers the label
        ("wiat", "wait", True),
        ("wai", "wait", True),
        ("waitt", "wait", True),
        ("Wiat", "wait", True),
        ("wait", "wait", False),
        ("WAIT", "wait", False),  # `--merge-labels` speaks of these
        ("treat", "retreat", False),
        ("dose 10", "dose 20", False),
        ("option_1", "option_2", False),
        ("option_1", "option_12", False),
        ("hepatitis A", "hepatitis B", False),
        ("plan_x", "plan_y", False),
        ("type II", "type III", False),
        ("stage IV", "stage VI", False),
        ("mix", "mixi", True),  # a word by itself is no numeral
        ("wait a lot", "waits a lot", True),
        ("option A", "optoin A", True),
        ("asymptomatic", "symptomatic", False),
        ("atypical pain", "typical pain", False),
        ("<=5", ">=5", False),
        ("a+b", "a-b", False),
        ("treat.", "treat", True),
        ("treat it", "treatit", True),
    ],
)
def test_one_letter_wrong_missing_added_or_swapped_is_a_typo(text, meant, typo):
    assert is_typo(text, meant) is typo
    assert is_typo(meant, text) is typo


def test_only_rare_labels_are_named_with_what_they_look_like():
    actions = pd.Series(["buy"] * 500 + ["sell"] * 40 + ["biy"] + ["cell"] * 30)
    (note,) = spelling_notes(pd.DataFrame({"action": actions}))
    assert str(note) == (
        "warning: the action 'biy' (1 row) is spelt nearly like 'buy' (500 rows), and counts as "
        "an action of its own. If it is a typo, fix the table; nothing was changed."
    )
    # As many of them are no typo.
    assert not spelling_notes(pd.DataFrame({"action": ["cell"] * 30 + ["sell"] * 40}))


def test_columns_of_texts_are_left_alone_and_many_typos_counted():
    typos = [f"buy{letter}" for letter in "abcdefgh"]
    notes = spelling_notes(pd.DataFrame({"action": ["buy"] * 500 + typos}))
    assert len(notes) == 5
    assert str(notes[-1]) == "warning: 4 more labels are spelt nearly like a common one."
    texts = [f"text {number}" for number in range(MOST_LABELS)]
    assert not spelling_notes(pd.DataFrame({"action": ["buy"] * 500 + ["biy", *texts]}))


def test_labels_cannot_send_commands_to_the_terminal():
    (note,) = spelling_notes(pd.DataFrame({"action": ["b\x1b[31muy"] * 60 + ["b\x1b[31mui"]}))
    assert "\x1b" not in note.text


def test_a_label_that_stands_for_none_elsewhere_gets_a_caution():
    rows = pd.DataFrame({"action": ["treat"] * 10 + ["NA"] * 3, "theta": ["n/a"] + ["sick"] * 12})
    action, state = spelling_notes(rows)
    assert action.text.startswith("the action 'NA' (3 rows) counts as an action of its own.")
    assert state.text.startswith("the state 'n/a' (1 row) counts as a state of its own.")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acton", "action"),
        ("actions", "action"),
        ("Action", "action"),
        ("acitno", None),  # two typos
        ("thtea", "theta"),
        (" theta", "theta"),
        ("contexts", "context"),
        ("reps", "rep"),
        ("P", "p"),
        ("p_ture", "p_true"),
        ("z-state", "z_state"),
        ("X_age", "x_..."),
        ("Action_yes", "action_..."),
        ("content", None),
        ("section", None),
        ("confidence", None),
        ("ref", None),
        ("beta", None),
    ],
)
def test_one_typo_is_seen_and_other_words_are_not(name, meant):
    assert column_meant(name, [name]) == meant


@pytest.fixture
def runs():
    table = simulate("rational", n_contexts=30, n_reps=1, prompts=("standard",), rng=1)
    return table[table["z_state"].isna()][["context", "p", "action", "theta"]]


def test_a_misspelt_action_is_a_fault_with_its_remedies(runs, tmp_path):
    wrong = runs.rename(columns={"action": "acton"})
    path = tmp_path / "runs.csv"
    wrong.to_csv(path, index=False)
    with pytest.raises(ValueError, match="nothing reads 'acton'.*'action'.*--ignore acton"):
        read_runs(path)
    assert "acton" not in read_runs(path, ignore=["acton"])
    assert "action" in read_runs(path, columns={"action": "acton"})
    with pytest.raises(ValueError, match="there is no column 'action' to ignore. Closest name"):
        read_runs(path, ignore="action")


def test_other_columns_are_listed(runs):
    report = analyze(runs.assign(truth=1, note="x"), checks=["calibration"], rng=1)
    assert "columns that nothing reads: truth, note." in map(str, report.evaluations[0].notes)
    silent = analyze(runs, checks=["calibration"], rng=1)
    assert not any("nothing reads" in note.text for note in silent.evaluations[0].notes)
