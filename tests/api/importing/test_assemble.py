from pathlib import Path

import pytest

from coherence import InputError, SchemaError

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"
ACTION = GOLDEN / "inspect_action.eval"
TEXT = next(GOLDEN.glob("samples_rain_text_*.jsonl"))
YES = next(GOLDEN.glob("samples_rain_yes_*.jsonl"))
CHOICE = next(GOLDEN.glob("samples_rain_choice_*.jsonl"))


def test_several_belief_tasks_are_wordings_and_the_action_stands_on_the_first(imported):
    runs = imported(
        TEXT, YES, CHOICE, belief=["rain_text", "rain_yes"], action=["rain_choice"]
    ).runs
    assert runs.groupby("prompt").size().to_dict() == {"rain_text": 36, "rain_yes": 18}
    assert set(runs.loc[runs["action"].notna(), "prompt"]) == {"rain_text"}
    assert runs["prompt"].iloc[0] == "rain_text"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing says what 'rain_belief', 'rain_action' asked for"),
        (
            {"belief": ["rain_beleif"]},
            "no log has the task 'rain_beleif'. Closest name found: 'rain_belief'",
        ),
        (
            {"belief": ["rain_belief"], "action": ["rain_belief"]},
            "named as belief_task and as action_task",
        ),
        ({"belief": ["rain_belief"]}, "does not say which actions were offered. .* 'take' "),
        ({"action": ["rain_belief", "rain_action"]}, "there is no task of beliefs"),
        (
            {"belief": ["rain_belief"], "mapping": {"p": "metadata.p_ture"}},
            "no log has the field 'metadata.p_ture'.* Closest name found: 'metadata.p_true'",
        ),
        ({"belief": ["rain_belief"], "mapping": {"acton": "output"}}, "'acton'.* 'action'"),
        (
            {
                "belief": ["rain_belief"],
                "mapping": {"theta": "metadata.x_humidity"},
                "actions": ("take",),
            },
            "theta has the labels 'low', 'middling', 'high'",
        ),
        (
            {"belief": ["rain_belief"], "mapping": {"p_true": "target"}},
            "field 'target' must hold numbers to be used as 'p_true'; received 'No'",
        ),
    ],
)
def test_what_is_not_clear_is_asked_for(options, message, imported):
    with pytest.raises(InputError, match=message):
        imported(BELIEF, ACTION, **options)


def test_a_state_that_varies_within_a_context_is_found(tmp_path, imported, write_table):
    table = write_table(tmp_path / "mine.csv", "context,p,action,theta\na,0.2,x,0\na,0.2,x,1\n")
    with pytest.raises(SchemaError, match="theta must be the same in all rows of a context"):
        imported(table)
