"""A session planned: breaks if two contexts share a draw, a senseless design passes, an option does
not choose its questions, or an answer has no room."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from elicitation import AnswerStore, Design, Task, elicit, plan_task
from elicitation.asking.strategies import ask


def test_contexts_with_the_same_words_get_draws_of_their_own(asia, cases, scripted):
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    questions = plan_task(asia, twins, Design(reps=2)).questions
    assert len({question.key("f") for question in questions}) == len(questions)
    # At temperature 0 they are one question, asked once.
    greedy = plan_task(asia, twins, Design(reps=2, temperature=0.0)).questions
    model = scripted()
    with AnswerStore(":memory:") as store:
        answers, asked = ask(model, greedy, store)
    assert asked == len({question.text for question in questions}) == len(model.asked)
    assert len(answers) == len(questions)


def test_tasks_and_cases_come_from_their_seed(asia):
    pd.testing.assert_frame_equal(asia.cases(30, seed=4), asia.cases(30, seed=4))
    assert not asia.cases(30, seed=4)["context"].equals(asia.cases(30, seed=5)["context"])
    assert Task.load("asia", target="lung").name == "asia"
    assert Task.load("asia", target="bronc").name == "asia:bronc"


@pytest.mark.parametrize(
    "options",
    [
        {"reps": 0},
        {"prompts": ()},
        {"prompts": ("standard", "odd")},
        {"prompts": ("standard", "standard")},
        {"temperature": -1.0},
        {"temperature": np.nan},
        {"seed": -1},
        {"max_new_tokens": 0},
    ],
)
def test_designs_out_of_range(asia, cases, options):
    with pytest.raises(InputError, match=next(iter(options))):
        plan_task(asia, cases, Design(**options))


def test_no_contexts(asia):
    with pytest.raises(InputError, match="contexts must be at least 1"):
        asia.cases(0, seed=0)


def test_exact_answers_are_asked_for_once_and_others_five_times():
    assert Design(answers="exact").n_reps == 1
    assert Design(answers="exact", reps=1).n_reps == 1
    assert Design(answers="forced").n_reps == Design().n_reps == 5
    assert Design(reps=3).n_reps == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answers": "exact", "reps": 2}, "answers='exact' draws nothing: reps and temperature"),
        ({"answers": "exact", "temperature": 0.0}, "received None and 0.0. Leave them out"),
        ({"answers": "guided"}, "answers must be one of drawn, forced, exact; received 'guided'"),
        ({"min_mass": 1.5}, r"min_mass must be in \[0, 1\]; received 1.5"),
        ({"min_mass": float("nan")}, "min_mass must be in"),
        ({"answers": "exact", "belief": "sampled"}, "Take belief='token'"),
        ({"answers": "forced", "belief": "sampled"}, "received answers='forced'"),
        ({"temperature": float("nan")}, "temperature and seed must be at least 0"),
        ({"belief": "guess"}, "belief must be one of"),
        ({"belief": "sampled", "temperature": 0}, "temperature above 0"),
        ({"draws": 0}, "draws must"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(InputError, match=message):
        Design(**options)


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


def test_options_choose_the_questions(asia, cases, store, scripted):
    model = scripted()
    design = Design(reps=1, prompts=("standard", "bayes"), iterated=False)
    runs, tally = elicit(model, asia, cases, store, design=design)
    assert tally.total == 12 * 3
    assert set(runs["prompt"]) == {"standard", "bayes"}
    assert runs["z"].isna().all()
    assert {"p_z", "z", "raw_z"} <= set(runs.columns)  # the same columns whatever was asked
    assert not any("spread over" in request.text for request in model.asked)


def test_room_for_an_answer_suffices_for_any_spelling(asia, cases):
    for question in plan_task(asia, cases, Design(reps=1)).questions:
        longest = "\n" + "\n".join(f"{line}: 0.00" for line in question.topic.lines) + "\n"
        assert question.request.max_new_tokens >= len(longest)
