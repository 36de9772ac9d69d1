import pytest

from coherence import InputError
from elicitation.batteries.revealed.scenarios import dice


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: dice.single(0, 6), "dice must be from 1 to 20"),
        (lambda: dice.single(21, 6), "dice must be from 1 to 20"),
        (lambda: dice.observed(1, 6, ["prime"]), "observation must be one of"),
        (lambda: dice.observed(1, 6, []), "at least one"),
        (lambda: dice.observed(1, 6, ["even", "odd"]), "rules out all"),
        (lambda: dice.repeated(1, 6, [7], dependent=False), "sums from 1 to 6"),
        (lambda: dice.decompose(1, 6), "at least 2"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_a_total_goes_on_from_earlier_rolls():
    assert dice.repeated(1, 6, [2, 6], dependent=True).outcomes == (
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
    )


def test_histories_have_two_different_results_or_one_three_times():
    histories = [
        setting.parameters["previous"] for setting in dice.several_previous(1, 6, dependent=False)
    ]
    assert histories == ["1, 3", "1, 6", "3, 6", "1, 1, 1", "3, 3, 3", "6, 6, 6"]


@pytest.mark.parametrize("faces", [2, 3, 4])
def test_few_faces_leave_out_observations_that_cannot_be_or_say_the_same(faces):
    settings = dice.grid([1, 2, 3], [faces])
    assert all(sum(setting.truth.values()) == 1 for setting in settings)
    # A word-for-word repetition would count one answer twice.
    texts = [setting.texts["standard"] for setting in settings]
    assert len(set(texts)) == len(texts)
    facts = {
        setting.parameters["observation"]
        for setting in settings
        if setting.parameters["n"] == "1" and "observation" in setting.parameters
    }
    assert ("larger, even" in facts) == (faces != 3)  # of three, only 3 is above the middle
    assert ("not middle" in facts) == (faces > 2)
    assert {"smaller", "larger", "even", "odd", "not first"} <= facts
