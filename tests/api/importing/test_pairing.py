import json
from pathlib import Path

import pytest

from coherence import InputError

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"


def test_actions_without_beliefs_keep_their_rows(tmp_path, imported, write_table):
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\nb,0.8,1\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\nb,go\nc,stay\n")
    joined = imported(beliefs, actions, belief=["beliefs"], action=["actions"])
    assert joined.runs["context"].tolist() == ["a", "b", "c"]
    assert joined.runs["action"].fillna("").tolist() == ["", "go", "stay"]
    assert joined.runs["status"].tolist() == ["ok", "ok", "unparsed"]
    assert joined.unpaired == [
        "beliefs without an action (1): a repetition 0",
        "actions without a belief, each a row that is at best unparsed (1): c repetition 0",
    ]


def test_models_and_tasks_are_joined_each_to_its_own(tmp_path, imported, write_table):
    beliefs = write_table(
        tmp_path / "beliefs.csv",
        "task,model,context,p,theta\nt,m,a,0.1,0\nt,n,a,0.2,0\nu,m,a,0.3,0\n",
    )
    actions = write_table(
        tmp_path / "actions.csv", "task,model,context,action\nu,m,a,three\nt,n,a,two\nt,m,a,one\n"
    )
    joined = imported(beliefs, actions, belief=["beliefs"])
    assert joined.runs["action"].tolist() == ["one", "two", "three"]
    assert joined.unpaired == []


def test_actions_stand_on_the_reference_wording_and_not_on_rows_given_z(
    tmp_path, imported, write_table
):
    header = "context,prompt,z,z_state,p_z,p,theta\n"
    beliefs = write_table(
        tmp_path / "beliefs.csv",
        f"{header}a,other,,,,0.1,0\na,standard,season,dry,0.5,0.3,0\na,standard,,,,0.2,0\n",
    )
    actions = write_table(tmp_path / "actions.csv", "context,action\na,go\n")
    assert imported(beliefs, actions, belief=["beliefs"]).runs["action"].fillna("").tolist() == [
        "",
        "",
        "go",
    ]


def test_logs_without_a_common_sample_are_refused(tmp_path, imported, write_table):
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\nb,go\n")
    with pytest.raises(
        InputError,
        match=r"no answer of the action log .* \(1\): a repetition 0; .* \(1\): b repetition 0",
    ):
        imported(beliefs, actions, belief=["beliefs"])


def test_samples_gathered_into_contexts_are_counted(tmp_path, imported, write_table):
    lines = [
        {"id": number, "group": number // 2, "p": 0.5, "theta": 1, "action": "a"}
        for number in range(6)
    ]
    table = write_table(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, lines)))
    runs = imported(table, mapping={"context": "group"}).runs
    assert runs["context"].tolist() == [0, 0, 1, 1, 2, 2]
    assert runs["rep"].tolist() == [0, 1, 0, 1, 0, 1]


def test_the_same_answers_twice_are_refused(imported):
    with pytest.raises(
        InputError,
        match="36 answers occur more than once, the first is context 'evening-00', repetition 0",
    ):
        imported(BELIEF, BELIEF)


def test_a_log_of_actions_gives_no_state(tmp_path, imported, write_table):
    """Its target may be the right action."""
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p\na,0.2\nb,0.8\n")
    actions = write_table(tmp_path / "actions.csv", "context,action,theta\na,go,1\nb,stay,0\n")
    runs = imported(beliefs, actions, belief=["beliefs"]).runs
    assert runs["action"].tolist() == ["go", "stay"]
    assert "theta" not in runs
