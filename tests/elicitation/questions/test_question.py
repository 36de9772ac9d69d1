"""The keys that answers are stored under. Breaks if two different answers share one."""

from elicitation.questions.question import Question
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


def test_the_key_of_a_free_draw_is_the_one_it_had_before_there_were_forms():
    # From a store of the version before; its answers must be found.
    assert (
        Question.of("How much?", 0, **SETTINGS).key("f")
        == "04f0d16d903aa94df4ac42ef1c13ed97c1c5e44f8ce69892faa103a22ddbd22a"
    )
