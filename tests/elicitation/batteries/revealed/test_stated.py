import pytest

from coherence.batteries.revealed.scores import score_stated
from elicitation import standard_grid
from elicitation.batteries.revealed.questions import LETTERS, distractors, state, stated_questions
from elicitation.batteries.revealed.scenarios import dice

GRID = standard_grid()


def test_stated_questions_have_the_truth_at_every_place_once():
    for setting in GRID:
        questions = stated_questions(setting)
        truth = str(setting.truth[setting.asked])
        assert [question.options.index(truth) for question in questions] == [0, 1, 2, 3]
        for question in questions:
            assert len(set(question.options)) == 4
            assert all(
                f"{letter}. {option}\n" in question.text
                for letter, option in zip(LETTERS, question.options, strict=True)
            )
        # Distinct as numbers, not only as written; and no distractor is right by accident.
        assert len({setting.truth[setting.asked], *distractors(setting)}) == 4


def test_stated_answers_are_scored(store, teller):
    setting = dice.single(1, 6)
    right = {
        question.text: {f" {LETTERS[place]}": 0.6, " E": 0.4}
        for place, question in enumerate(stated_questions(setting))
    }
    assert score_stated(state(teller(right), [setting], store))["stated_error"].item() == 0
    place_lover = {text: {" A": 0.9} for text in right}
    other = teller(place_lover)
    other.fingerprint = "lover"
    assert score_stated(state(other, [setting], store))["stated_error"].item() == pytest.approx(
        0.75
    )
