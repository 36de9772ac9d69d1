from pathlib import Path

import pytest

from coherence import InputError
from coherence.importing.log_format import AnswerLog
from coherence.importing.mapping import action_fields, belief_fields, check_mapping, is_belief

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"
ACTION = GOLDEN / "inspect_action.eval"


def test_a_mapping_of_the_action_is_not_looked_for_in_the_beliefs(imported):
    mapping = {"action": "scores.match.answer", "p": "scores.match.answer"}
    runs = imported(
        BELIEF, ACTION, belief=["rain_belief"], mapping=mapping, actions=("take", "leave")
    ).runs
    assert runs["p"].iloc[0] == 0.05
    assert runs["action"].iloc[0] == "leave"


def test_a_column_can_be_left_out(imported):
    assert "theta" not in imported(BELIEF, mapping={"theta": "-"}).runs.columns


def log(fields, states=(), record=None, **more):
    record = {"q": 1, "r": 2, "say": "0.5", "choice": "a"} if record is None else record
    return AnswerLog("f.jsonl", "t", None, (record,), fields, states, **more)


def test_what_holds_a_belief_is_p_or_a_state_and_no_other_column_of_the_schema():
    assert [is_belief(name) for name in ("p", "p_rain", "p_true", "p_z", "theta")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_user_comes_before_the_format_and_both_kinds_of_belief_do_not_mix():
    fields = {"context": "q", "answer": "say", "theta": "r", "answer_mass": "r"}
    assert belief_fields(log(fields), {}, None, with_action=True) == {
        "context": "q",
        "theta": "r",
        "answer_mass": "r",
        "p": "say",
    }
    # The mass of the scored answers says nothing of a belief from another field.
    assert belief_fields(log(fields), {"p": "q", "theta": "-"}, None, with_action=True) == {
        "context": "q",
        "p": "q",
    }


def test_states_that_were_scored_are_columns_or_one_belief():
    scored = log({"answer": "choice"}, ("No", "Yes"))
    assert belief_fields(scored, {}, None, with_action=False) == {"p": "probability.Yes"}
    assert belief_fields(scored, {}, "No", with_action=False) == {"p": "probability.No"}
    several = log({"answer": "choice"}, ("dry", "wet"))
    assert belief_fields(several, {}, None, with_action=False) == {
        "p_dry": "probability.dry",
        "p_wet": "probability.wet",
    }
    with pytest.raises(InputError, match="state 'true' would make the column 'p_true'"):
        belief_fields(log({}, ("true", "maybe", "no")), {}, None, with_action=False)


def test_an_action_is_read_from_the_belief_log_only_where_there_is_no_other():
    mapping = {"action": "choice"}
    fields = {"answer": "say", "action": "choice"}
    assert belief_fields(log(fields), mapping, None, with_action=True) == {
        "action": "choice",
        "p": "say",
    }
    assert belief_fields(log(fields), mapping, None, with_action=False) == {"p": "say"}


def test_an_action_log_gives_no_state_and_no_belief():
    """Its target may be the right action."""
    fields = {"context": "q", "answer": "say", "theta": "r", "created": "r"}
    assert action_fields(log(fields), {"p": "q"}) == {"context": "q", "action": "say"}
    assert action_fields(log(fields), {"action": "choice", "theta": "r"})["theta"] == "r"
    with pytest.raises(InputError, match="nothing says which field holds the action"):
        action_fields(log({"context": "q"}), {})


@pytest.mark.parametrize("column", ["p", "context"])
def test_an_answer_or_its_context_must_not_be_missing_from_a_log(column):
    with pytest.raises(InputError, match=f"no field 'elsewhere' to use as '{column}'"):
        belief_fields(log({"answer": "say"}), {column: "elsewhere"}, None, with_action=True)
    fields = belief_fields(log({"answer": "say"}), {"theta": "elsewhere"}, None, with_action=True)
    assert fields == {"p": "say"}, "a fact may be missing from one of several logs"


def test_a_mapping_names_columns_of_the_table_and_fields_of_a_log():
    check_mapping({"p": "say", "x_new": "q", "p_rain": "r", "theta": "-"}, [log({})])
    with pytest.raises(InputError, match="map names 'belief'.*'raw_belief'"):
        check_mapping({"belief": "say"}, [log({})])
    with pytest.raises(InputError, match="no log has the field 'sya'.*'say'"):
        check_mapping({"p": "sya"}, [log({})])
