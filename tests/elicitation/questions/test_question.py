"""The keys that answers are stored under. Breaks if two different answers share one."""

from dataclasses import replace

import pytest

from elicitation.questions.question import Question, Topic
from elicitation.spelling.forms import AnswerForm

BELIEF = AnswerForm("lines", ("No", "Yes"))
SETTINGS = {"base_seed": 0, "temperature": 1.0, "max_new_tokens": 20, "max_lines": 2}


def test_a_distribution_has_a_key_of_its_own_for_each_form():
    exact = Question.of_form("How much?", BELIEF)
    keys = {
        exact.key("f"),
        Question.of_form("How much?", AnswerForm("lines", ("Yes", "No"))).key("f"),
        Question.of_form("How much?", AnswerForm("number")).key("f"),
        Question.of_form("How many?", BELIEF).key("f"),
        exact.key("g"),
        Question.of("How much?", 0, form=BELIEF, **SETTINGS).key("f"),
        Question.of("How much?", 0, **SETTINGS).key("f"),
        Question.of_labels("How much?", ("No", "Yes")).key("f"),
    }
    assert len(keys) == 8
    # Nothing is drawn: neither seed nor setting can change it.
    assert exact.request.seed == exact.number == exact.base_seed == 0
    assert Question.of_form("How much?", BELIEF, about="x").key("f") == exact.key("f")


def test_draws_from_a_form_have_the_seeds_of_free_ones():
    forced, free = (Question.of("How much?", 3, form=form, **SETTINGS) for form in (BELIEF, None))
    assert forced.request == free.request
    assert forced.request.seed != Question.of("How much?", 4, form=BELIEF, **SETTINGS).request.seed


@pytest.mark.parametrize(
    ("question", "key"),
    [
        (
            Question.of("How much?", 0, **SETTINGS),
            "04f0d16d903aa94df4ac42ef1c13ed97c1c5e44f8ce69892faa103a22ddbd22a",
        ),
        (
            Question.of("How much?", 0, form=BELIEF, **SETTINGS),
            "1278b355cbb2b54cc13e7ad459d67cdc6e707e526ff1a85583d88ae9841ee499",
        ),
        (
            Question.of_form("How much?", BELIEF),
            "94ee59d7b6f94251e4d15c628947579ec2f596f67ff2eec106fd383a4eeee6c0",
        ),
        (
            Question.of_labels("How much?", ("No", "Yes")),
            "9df6bb8eb14de4e717df2c026b948f060362f22f8807936f40906498ed9325a7",
        ),
    ],
)
def test_keys_are_those_of_the_stores_that_exist(question, key):
    """Breaks if answers that were paid for are asked again."""
    assert question.key("f") == key
    # What a session notes beside a question is no part of it.
    topic = Topic("belief", "standard", ("No", "Yes"))
    assert replace(question, topic=topic, about=topic.about, case=3, rep=1).key("f") == key
