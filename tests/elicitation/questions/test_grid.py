"""The grid of questions: breaks if an option does not choose them, or an answer has no room."""

from elicitation.asking.session import elicit
from elicitation.questions.grid import plan_questions
from elicitation.questions.plan import Design


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
    for question in plan_questions(cases, asia.phrases, "lung", reps=1):
        longest = "\n" + "\n".join(f"{line}: 0.00" for line in question.lines) + "\n"
        assert question.max_new_tokens >= len(longest)
