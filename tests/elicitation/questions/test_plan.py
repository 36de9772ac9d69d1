"""A session planned: breaks if two contexts share a draw, a senseless design passes, an option does
not choose its questions, or an answer has no room."""

import pandas as pd
import pytest

from coherence import InputError
from elicitation import AnswerStore, Design, load_task, plan_task
from elicitation.asking.session import run_plan


def test_questions_with_the_same_words_are_asked_once_at_temperature_zero(asia, cases, scripted):
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    model, greedy = scripted(), plan_task(asia, twins, Design(reps=2, temperature=0.0))
    with AnswerStore(":memory:") as store:
        _, tally = run_plan(model, greedy, store)
    n_texts = len({question.text for question in greedy.questions})
    assert tally.total == tally.asked == n_texts == len(model.asked)
    assert len(greedy.questions) == len(plan_task(asia, twins, Design(reps=2)).questions)


def test_tasks_and_cases_come_from_their_seed(asia):
    pd.testing.assert_frame_equal(asia.cases(30, seed=4), asia.cases(30, seed=4))
    assert not asia.cases(30, seed=4)["context"].equals(asia.cases(30, seed=5)["context"])
    assert load_task("asia", target="lung").name == "asia"
    assert load_task("asia", target="bronc").name == "asia:bronc"


def test_exact_answers_are_asked_for_once_and_others_five_times():
    assert Design(answers="exact").n_reps == 1
    assert Design(answers="exact", reps=1).n_reps == 1
    assert Design(answers="forced").n_reps == Design().n_reps == 5
    assert Design(reps=3).n_reps == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x_1": "yes"}, "'x_1' is not"),
        ({"x_smoke": "maybe"}, "'x_smoke' of cases must hold states that have words; 'maybe'"),
        ({"x_smoke": [["yes"]] * 12}, "'x_smoke' of cases must hold states"),
        ({"z": "smok"}, "column 'z' of cases must name variables .* 'smok' has none. .*'smoke'"),
    ],
)
def test_cases_without_words_are_named_by_their_column(asia, cases, change, told):
    with pytest.raises(InputError, match=told):
        plan_task(asia, cases.assign(**change), Design())


def test_room_for_an_answer_suffices_for_any_spelling(asia, cases):
    for question in plan_task(asia, cases, Design(reps=1)).questions:
        longest = "\n" + "\n".join(f"{line}: 0.00" for line in question.spec.lines) + "\n"
        assert question.request.max_new_tokens >= len(longest)
