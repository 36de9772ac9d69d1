import pandas as pd
import pytest

from coherence.table.misspelt import MOST_LABELS, is_slip, spelling_notes


@pytest.mark.parametrize(
    ("text", "meant", "slip"),
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
        ("a" * 61, "a" * 60, False),
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
def test_one_letter_wrong_missing_added_or_swapped_is_a_slip(text, meant, slip):
    assert is_slip(text, meant) is slip
    assert is_slip(meant, text) is slip


def test_only_rare_labels_are_named_with_what_they_look_like():
    actions = pd.Series(["buy"] * 500 + ["sell"] * 40 + ["biy"] + ["cell"] * 30)
    (note,) = spelling_notes(pd.DataFrame({"action": actions}))
    assert note == (
        "caution: the action 'biy' (1 row) is spelt nearly like 'buy' (500 rows), and counts as "
        "an action of its own. If it is a slip, mend the table; nothing was changed."
    )
    # As many of them are no slip.
    assert not spelling_notes(pd.DataFrame({"action": ["cell"] * 30 + ["sell"] * 40}))


def test_states_are_looked_at_and_numbers_missing_labels_and_absent_columns_are_not():
    rows = pd.DataFrame({"theta": ["rain"] * 60 + ["rian", None], "action": [1] * 62})
    (note,) = spelling_notes(rows)
    assert "the state 'rian' (1 row)" in note
    assert "counts as a state of its own" in note
    assert spelling_notes(pd.DataFrame({"p": [0.5]})) == []


def test_columns_of_texts_are_left_alone_and_many_slips_counted():
    slips = [f"buy{letter}" for letter in "abcdefgh"]
    notes = spelling_notes(pd.DataFrame({"action": ["buy"] * 500 + slips}))
    assert len(notes) == 5
    assert notes[-1] == "caution: 4 more labels are spelt nearly like a common one."
    texts = [f"text {number}" for number in range(MOST_LABELS)]
    assert not spelling_notes(pd.DataFrame({"action": ["buy"] * 500 + ["biy", *texts]}))


def test_labels_cannot_send_commands_to_the_terminal():
    (note,) = spelling_notes(pd.DataFrame({"action": ["b\x1b[31muy"] * 60 + ["b\x1b[31mui"]}))
    assert "\x1b" not in note


def test_a_label_that_stands_for_none_elsewhere_gets_a_caution():
    rows = pd.DataFrame({"action": ["treat"] * 10 + ["NA"] * 3, "theta": ["n/a"] + ["sick"] * 12})
    action, state = spelling_notes(rows)
    assert action.startswith("caution: the action 'NA' (3 rows) counts as an action of its own.")
    assert state.startswith("caution: the state 'n/a' (1 row) counts as a state of its own.")
