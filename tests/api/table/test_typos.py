"""Typos: of a column's name a validation error, of a label a note."""

import pandas as pd
import pytest

from coherence import read_runs
from coherence.table.typos import column_meant, is_typo, spelling_notes


@pytest.mark.parametrize(
    ("typo", "pairs"),
    [
        (True, ["biy/buy", "wiat/wait", "wai/wait", "waitt/wait", "Wiat/wait", "mix/mixi"]),
        (True, ["wait a lot/waits a lot", "option A/optoin A", "treat it/treatit", "treat./treat"]),
        # Two letters are a word of their own, and a digit numbers the label; an error of
        # its own speaks of what differs by case.
        (False, ["by/buy", "bu1/buy", "wait/wait", "WAIT/wait", "treat/retreat"]),
        (False, ["option_1/option_2", "option_1/option_12", "dose 10/dose 20", "plan A/plan B"]),
        (False, ["plan_x/plan_y", "type II/type III", "stage IV/stage VI", "<=5/>=5", "a+b/a-b"]),
        (False, ["asymptomatic/symptomatic", "atypical pain/typical pain"]),
    ],
)
def test_one_letter_wrong_missing_added_or_swapped_is_a_typo(typo, pairs):
    for pair in pairs:
        text, meant = pair.split("/")
        assert is_typo(text, meant) is is_typo(meant, text) is typo, pair


def test_only_rare_labels_are_named_with_what_they_look_like():
    actions = pd.Series(["buy"] * 500 + ["sell"] * 40 + ["biy"] + ["cell"] * 30)
    (note,) = spelling_notes(pd.DataFrame({"action": actions}))
    said = "warning: the action 'biy' (1 row) is spelt nearly like 'buy' (500 rows)"
    assert str(note).startswith(said)
    # As many of them are no typo.
    assert not spelling_notes(pd.DataFrame({"action": ["cell"] * 30 + ["sell"] * 40}))


def test_one_typo_is_seen_and_other_words_are_not():
    for name, meant in {
        **{"acton": "action", "actions": "action", "Action": "action", "thtea": "theta"},
        **{" theta": "theta", "contexts": "context", "reps": "rep", "P": "p", "p_ture": "p_true"},
        **{"z-state": "z_state", "X_age": "x_...", "Action_yes": "action_..."},
        **dict.fromkeys(("acitno", "content", "section", "confidence", "ref", "beta")),
    }.items():
        assert column_meant(name, [name]) == meant, name


def test_a_misspelt_action_is_a_fault_with_its_remedies(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("context,p,acton,theta\na,.2,x,0\nb,.7,y,1\n")
    with pytest.raises(
        ValueError, match="nothing reads 'acton'.*'action'.*--action acton"
    ) as error:
        read_runs(path)
    names = {"table": pd.read_csv(path, dtype=str, keep_default_na=False)}
    exec(str(error.value)[str(error.value).index("table = ") :].removesuffix("."), names)  # noqa: S102
    assert "acton" not in read_runs(names["table"])
    assert "action" in read_runs(path, columns={"action": "acton"})
