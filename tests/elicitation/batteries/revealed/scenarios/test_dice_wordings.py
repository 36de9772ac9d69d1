from elicitation.batteries.revealed.scenarios import dice


def test_texts_say_what_the_truth_supposes():
    text = dice.observed(2, 6, ["larger", "not middle"]).texts
    assert all("more than 7 and not 7" in story for story in text.values())
    assert all("not 1" in story for story in dice.observed(1, 4, ["not first"]).texts.values())
    assert "2 and 6" in dice.repeated(1, 6, [2, 6], dependent=False).texts["record"]
