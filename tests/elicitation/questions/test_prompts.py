"""Prompts, byte for byte.

A change of a single character is a different experiment and must show.
"""

# ruff: noqa: E501 (the texts stand here as they are asked)

import pandas as pd
import pytest

from coherence.decoding.decode import decode_distribution
from elicitation import Design, plan_task
from elicitation.questions.prompts import label_words

CASE = {"context": "a", "x_smoke": "yes", "x_xray": "no", "theta": 1, "p_true": 0.5}
BELIEF_TEXT = """\
Consider a patient who is a smoker and has a normal chest X-ray. How probable is it that they have lung cancer? Give one probability for No and one for Yes.

Write 2 lines and nothing else, one for each label.
A line reads '<label>: <a number from 0 to 1>'.
Keep the labels in this order: [No, Yes]
For instance:
No: 0.50
Yes: 0.50

Your answer:"""
NOTES = {
    "standard": "",
    "mse": "PLEASE NOTE: Your numbers will be scored with the Brier rule, that is, by mean squared error. You lose the square of the distance between the "
    "probability that you state and what turns out to be the case. State the probabilities that you find most fitting.\n\n",
    "absolute": "PLEASE NOTE: Your numbers will be scored by mean absolute error. You lose the plain distance between the probability that you state and "
    "what turns out to be the case. State the probabilities that you find most fitting.\n\n",
    "bayes": "PLEASE NOTE: Reason as a Bayesian would. Begin with how common this is among people at large, then revise that figure in the light "
    "of what is known here.\n\n",
}
DECISION_TEXT = """\
Consider a patient who is a smoker and has a normal chest X-ray.

The question: do they have lung cancer?

Reply in two lines and nothing else.
In the first, say 'Yes' or 'No': do you feel able to judge whether they have lung cancer?
In the second, give the judgement that you would reach if you were obliged to: 'Yes' (it is likely that they have lung cancer) or 'No' (it is unlikely).
The form of the reply:
Can decide: No
Decision: Yes

Your answer:"""
AUXILIARY_TEXT = """\
Consider a patient who is a smoker and has a normal chest X-ray. How are the probabilities spread over the categories of their bronchitis status? Give one probability for every category.

Write 2 lines and nothing else, one for each label.
A line reads '<label>: <a number from 0 to 1>'.
Keep the labels in this order: [bronchitis, no bronchitis]
For instance:
bronchitis: 0.50
no bronchitis: 0.50

Your answer:"""


def asked(task, z):
    """Return the texts of the questions about the case, by their role and prompt."""
    cases = pd.DataFrame([{**CASE, "z": z}])
    questions = plan_task(task, cases, Design(reps=1)).questions
    texts = {}
    for question in questions:
        texts.setdefault((question.spec.role, question.spec.key), []).append(question.text)
    return texts


@pytest.fixture(scope="module")
def texts(asia):
    return asked(asia, "bronc")


def test_prompts_are_those_above(texts):
    for prompt, note in NOTES.items():
        assert texts["belief", prompt] == [note + BELIEF_TEXT]
    by_role = {}
    for (role, _), asked_texts in texts.items():
        by_role[role] = by_role.get(role, []) + asked_texts
        # Belief and action are never asked for in one text.
        for text in asked_texts:
            assert ("Decision:" in text) == (role == "decision")
            assert ("0.50" in text) == (role != "decision")
    assert by_role["decision"] == [DECISION_TEXT]
    assert by_role["auxiliary"] == [AUXILIARY_TEXT]
    # The conditional prompt is the standard one with z at the end.
    with_z = BELIEF_TEXT.replace("chest X-ray.", "chest X-ray and has bronchitis.")
    assert with_z in by_role["conditional"]
    assert len(by_role["conditional"]) == 2


def test_a_comma_within_a_label_does_not_make_two_of_it(asia):
    """The answer that the prompt shows is read with each label as one."""
    texts = asked(asia, "either")
    (text,) = next(texts[key] for key in texts if key[0] == "auxiliary")
    listed = text.split("in this order: [")[1].split("]")[0]
    labels = listed.split("; ")
    assert any("," in label for label in labels)
    example = text.split("For instance:\n")[1].split("\n\n")[0]
    assert decode_distribution(example, labels).value == (0.5, 0.5)
    assert label_words([", ; | ||", "x"])["labels"] == ", ; | || || x"
    bulleted = example.replace("0.50", "50%").replace("\n", "\n- ")
    assert decode_distribution(f"My estimate:\n- {bulleted}", labels).value == (0.5, 0.5)
