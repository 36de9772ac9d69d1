from pathlib import Path

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
