from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.dice import ONE_DIE, SEVERAL_DICE


def test_texts_say_what_the_truth_supposes():
    text = dice.observed(2, 6, ["larger", "not middle"]).texts
    assert all("more than 7 and not 7" in story for story in text.values())
    assert all("not 1" in story for story in dice.observed(1, 4, ["not first"]).texts.values())
    assert "2 and 6" in dice.repeated(1, 6, [2, 6], dependent=False).texts["record"]


def test_one_die_and_several_are_told_in_the_same_wordings():
    assert [wording.name for wording in ONE_DIE] == [wording.name for wording in SEVERAL_DICE]
    for one_die, several in zip(ONE_DIE, SEVERAL_DICE, strict=True):
        # The parts of "first" take several dice apart, and stand in the reference wording alone.
        assert set(one_die.pieces) == {
            part for part in several.pieces if "first" not in part and part != "one by one"
        }
