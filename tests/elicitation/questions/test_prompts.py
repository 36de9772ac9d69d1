"""Prompts, byte for byte.

A change of a single character is a different experiment and must show.
"""

# ruff: noqa: E501 (the texts stand here as they are asked)

import pytest

from coherence import decode_distribution
from elicitation import Task, Template
from elicitation.questions.prompts import (
    AUXILIARY,
    BELIEF,
    CONDITIONAL,
    DECISION,
    PLACEHOLDERS,
    case_words,
    label_words,
)

EVIDENCE = {"smoke": "yes", "xray": "no"}
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


@pytest.mark.parametrize("prompt", NOTES)
def test_belief_prompts(asia, prompt):
    words = case_words(asia.phrases, EVIDENCE, "lung")
    assert BELIEF[prompt].fill(**words) == NOTES[prompt] + BELIEF_TEXT


def test_decision_prompt(asia):
    assert DECISION.fill(**case_words(asia.phrases, EVIDENCE, "lung")) == DECISION_TEXT


def test_auxiliary_prompt(asia):
    words = case_words(asia.phrases, EVIDENCE, "lung", z="bronc")
    assert AUXILIARY.fill(**words) == AUXILIARY_TEXT


def test_conditional_prompt_is_the_standard_one_with_z_at_the_end(asia):
    expected = BELIEF_TEXT.replace(
        "a normal chest X-ray.", "a normal chest X-ray and has bronchitis."
    )
    words = case_words(asia.phrases, EVIDENCE, "lung", z="bronc", state="yes")
    assert CONDITIONAL.fill(**words) == expected


def test_three_labels():
    assert label_words(("a", "b", "c")) == {
        "labels": "a, b, c",
        "example": "a: 0.33\nb: 0.33\nc: 0.33",
        "n_lines": "3",
    }


def test_belief_and_action_are_never_asked_for_in_one_text():
    for template in (*BELIEF.values(), AUXILIARY, CONDITIONAL):
        assert "Decision" not in template.text
        assert "decide" not in template.text
    assert "probab" not in DECISION.text


def test_words_are_put_in_as_they_are():
    # Words of a case are data: braces in them must not be taken for placeholders.
    template = Template("t", "A patient who {description} {question}")
    assert (
        template.fill(description="{question} {0}", question="x")
        == "A patient who {question} {0} x"
    )
    assert set(PLACEHOLDERS) >= {
        "description",
        "question",
        "condition",
        "auxiliary",
        "labels",
        "example",
        "n_lines",
    }


def test_a_description_is_about_the_subject_of_its_network():
    task = Task.load("fever")
    words = case_words(task.phrases, {"lethargy": "yes"}, task.target)
    text = BELIEF["standard"].fill(**words)
    assert text.startswith("Consider a young child who ")


@pytest.mark.parametrize(
    ("labels", "listed"),
    [
        (("No", "Yes"), "No, Yes"),
        (("a cold, or the flu", "neither"), "a cold, or the flu; neither"),
        (("a, b", "c; d"), "a, b | c; d"),
    ],
)
def test_a_comma_within_a_label_does_not_make_two_of_it(labels, listed):
    words = label_words(labels)
    assert words["labels"] == listed
    # The answer that the prompt shows is read with each label as one.
    assert decode_distribution(words["example"], labels).value == (0.5, 0.5)
    bulleted = words["example"].replace("0.50", "50%").replace("\n", "\n- ")
    assert decode_distribution(f"My estimate:\n- {bulleted}", labels).value == (0.5, 0.5)
