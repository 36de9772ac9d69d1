"""Answers of several logs in one table: breaks if one is joined to another case, or lost."""

import io

import pandas as pd
import pytest

from coherence import InputError, SchemaError
from tests.api.importing.conftest import ACTION, BELIEF, assembled, imported, log_of

ONE = {"belief": "rain_belief"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the tasks 'rain_belief', 'rain_action': say which one asked for beliefs"),
        ({"belief": "rain_beleif"}, "say which one asked for beliefs"),
        (ONE | {"action": "rain_belief"}, "say which one asked for beliefs"),
        (ONE, "does not say which actions were offered. .*--actions A,B"),
        (ONE | {"mapping": {"p": "metadata.p_ture"}}, "'metadata.p_ture'.* found: 'metadata.p_tr"),
        (
            ONE | {"mapping": {"theta": "metadata.x_humidity"}, "actions": ("take",)},
            "theta has the labels 'low', 'middling', 'high'",
        ),
        (
            ONE | {"mapping": {"p_true": "target"}, "actions": ("take",)},
            "'target' .mapped to 'p_true'. must hold numbers.*'No'",
        ),
    ],
)
def test_what_is_not_clear_is_asked_for(options, message):
    with pytest.raises((InputError, SchemaError), match=message):
        imported(BELIEF, ACTION, **options)


def joined(beliefs, actions):
    logs = [log_of(beliefs, "beliefs"), log_of(actions, "actions")]
    return assembled(logs, belief_task="beliefs")


def test_actions_without_beliefs_keep_their_rows():
    log = joined("context,p,theta\na,0.2,0\nb,0.8,1\n", "context,action\nb,go\nc,stay\n")
    assert log.runs["context"].tolist() == ["a", "b", "c"]
    assert log.runs["action"].fillna("").tolist() == ["", "go", "stay"]
    assert log.runs["status"].tolist() == ["unparsed", "ok", "unparsed"]
    assert log.runs["p"].fillna(-1).tolist() == [0.2, 0.8, -1]
    assert [said.partition("(1): ")[2] for said in log.unpaired] == [
        "a repetition 0",
        "c repetition 0",
    ]


def test_models_and_tasks_are_joined_each_to_its_own():
    beliefs = "task,model,context,p,theta\nt,m,a,0.1,0\nt,n,a,0.2,0\nu,m,a,0.3,0\n"
    log = joined(beliefs, "task,model,context,action\nu,m,a,three\nt,n,a,two\nt,m,a,one\n")
    assert log.runs["action"].tolist() == ["one", "two", "three"]
    assert log.unpaired == []


def test_actions_stand_on_the_reference_wording():
    log = joined("context,prompt,p\na,other,0.1\na,standard,0.2\n", "context,action\na,go\n")
    assert log.runs["prompt"].tolist() == ["standard", "other"]
    assert log.runs["action"].fillna("").tolist() == ["go", ""]


def test_actions_that_were_asked_in_vain_keep_their_column():
    """Without the column a report would say that nothing was asked."""
    runs = joined("context,p,theta\na,0.2,0\nb,0.8,\n", "context,action\na,\nb,\n").runs
    assert runs["action"].isna().all()
    assert runs["status"].tolist() == ["unparsed", "unparsed"]


SAMPLES = pd.DataFrame({"case": [f"case {at}" for at in range(12)], "p": 0.5, "action": "go"})
SAMPLES["truth"] = [int(at in (0, 3, 4, 7, 9)) for at in range(12)]
HASH, TRUTH, INPUT = {"doc_hash": "case"}, {"theta": "truth"}, {"input": "case"}


def answers(samples, answer, fields):
    """Return a log whose ids follow the order of samples."""
    table = samples[[answer, *fields.values()]].set_axis([answer, *fields], axis="columns")
    return table.reset_index(drop=True).to_csv(index_label="context")


@pytest.mark.parametrize(
    ("fields", "other", "message"),
    [
        (HASH, {}, "12 of 12 joined .* in doc_hash.*--context doc_hash joins"),
        (TRUTH | HASH, {}, "--context doc_hash joins"),
        (INPUT, {}, "differ in input.*--context input joins"),
        ({"metadata.case id": "case"}, {}, "--context 'metadata.case id' joins"),
        (TRUTH, {}, "of 12 joined answers .* differ in theta.*--context FIELD"),
        # One row alone that is another sample; documents that only differ.
        (HASH, {"case": {0: "new"}}, "1 of 12 joined .* in doc_hash"),
        (TRUTH, {"truth": {0: 0}}, "1 of 12 joined .* differ in theta"),
        (HASH, {"case": dict(enumerate("abcdefghijkl"))}, "12 of 12 .* in doc_hash.*Ids must"),
    ],
)
def test_joined_answers_are_about_the_same_sample(fields, other, message):
    """Breaks if the ids of a log in another order join answers to other cases."""
    changed = SAMPLES.iloc[[*range(1, 12), 0]] if not other else SAMPLES.copy()
    for column, cells in other.items():
        changed.loc[[*cells], column] = [*cells.values()]
    logs = answers(SAMPLES, "p", fields), answers(changed, "action", fields)
    with pytest.raises(InputError, match=message):
        joined(*logs)


def test_a_part_of_the_samples_under_other_ids_is_refused_too():
    logs = answers(SAMPLES, "p", INPUT), answers(SAMPLES.iloc[1:], "action", INPUT)
    with pytest.raises(InputError, match=r"11 of 11 .* in input.*--context input joins"):
        joined(*logs)


def test_a_join_that_a_message_proposes_is_the_right_one():
    samples, fields = SAMPLES.assign(p=SAMPLES.index / 20, action=SAMPLES["case"]), HASH | TRUTH
    ordered, beliefs = (answers(samples, name, fields) for name in ("action", "p"))
    logs = [beliefs, answers(samples[::-1], "action", fields)]
    logs = [log_of(*each) for each in zip(logs, ("beliefs", "actions"), strict=True)]
    made = assembled(logs, belief_task="beliefs", mapping={"context": "doc_hash"})
    right = joined(beliefs, ordered)
    assert made.unpaired == made.notes == []
    assert made.runs.drop(columns="context").equals(right.runs.drop(columns="context"))


def test_what_differs_by_design_is_counted():
    """Breaks if another question, right action or order of options stops an ordinary join."""
    fields = {**HASH, **TRUTH, "metadata.order": "truth", "input": "p"}
    other = pd.read_csv(io.StringIO(answers(SAMPLES, "action", fields)), index_col="context")
    other["metadata.order"], other["input"] = other["metadata.order"][::-1].tolist(), "Act?"
    other["theta"] = "do " + other["theta"].astype(str)
    log = joined(answers(SAMPLES.assign(p=SAMPLES.index / 20), "p", fields), other.to_csv())
    assert log.notes[0].endswith("these differ: metadata.order (6), input (12)")
    alone = joined(answers(SAMPLES, "p", {}), answers(SAMPLES, "action", {}))
    assert "were joined by context alone" in alone.notes[0]


def test_one_id_in_two_unicode_forms_is_one():
    beliefs = "context,p,theta\ncafe\u0301,0.2,0\nb,0.4,1\n"
    log = joined(beliefs, "context,action\nb,x\ncaf\u00e9,y\n")
    assert (log.unpaired, log.runs["action"].tolist()) == ([], ["y", "x"])


def test_logs_that_do_not_fit_each_other_are_refused():
    with pytest.raises(
        InputError, match=r"no answer of the action log .* \(1\): a .* \(1\): b rep"
    ):
        joined("context,p,theta\na,0.2,0\n", "context,action\nb,go\n")
    with pytest.raises(
        InputError, match="36 answers occur more than once, the first is context 'ev"
    ):
        imported(BELIEF, BELIEF)
    with pytest.raises(SchemaError, match="theta must be the same in all rows of a context"):
        assembled([log_of("context,p,action,theta\na,0.2,x,0\na,0.2,x,1\n")])
