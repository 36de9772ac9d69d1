"""A session planned: breaks if two contexts share a draw, or a senseless design passes."""

import numpy as np
import pandas as pd
import pytest

from coherence.errors import InputError
from elicitation.asking.loop import ask
from elicitation.asking.store import AnswerStore
from elicitation.questions.grid import plan_questions
from elicitation.questions.plan import Design, number_draws, plan_task
from elicitation.questions.tasks import Task


def test_contexts_with_the_same_words_get_draws_of_their_own(asia, cases, scripted):
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    questions = plan_questions(twins, asia.phrases, "lung", reps=2)
    draws = number_draws(questions, Design())
    assert len({draw.key("f") for draw in draws}) == len(draws)
    # At temperature 0 they are one question, asked once.
    greedy = number_draws(questions, Design(temperature=0.0))
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
    with pytest.raises(InputError, match="contexts must be positive"):
        asia.cases(0, seed=0)
