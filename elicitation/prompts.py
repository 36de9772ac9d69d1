"""The texts that a model is asked: templates as data, filled with the words of a case.

The structure follows the published protocol (belief under four framings, a decision with the choice to defer, and the two questions of the law
of iterated expectation); the sentences are this project's own. A belief and an action are never asked for in one text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

PLACEHOLDERS = ("description", "question", "condition", "auxiliary", "labels", "example", "n_lines")
"""The placeholders that a template may use."""

_LINES = """

Write {n_lines} lines and nothing else, one for each label.
A line reads '<label>: <a number from 0 to 1>'.
Keep the labels in this order: [{labels}]
For instance:
{example}

Your answer:"""

_CASE = "Consider a patient who {description}."
_BELIEF = " How probable is it that they {question}? Give one probability for No and one for Yes." + _LINES


@dataclass(frozen=True)
class Template:
    """One way to ask.

    Parameters
    ----------
    name : str
        Name for the `prompt` column of the runs table.
    text : str
        Text with placeholders from `PLACEHOLDERS`.
    """

    name: str
    text: str

    def fill(self, **words: str) -> str:
        """Return the text with its placeholders filled.

        Parameters
        ----------
        **words : str
            Values of the placeholders; one that the text does not use is ignored.

        Returns
        -------
        str
            The question.

        Examples
        --------
        >>> Template("short", "Does a patient who {description} {question}?").fill(description="smokes", question="cough")
        'Does a patient who smokes cough?'
        """
        return self.text.format(**words)


BELIEF = {
    template.name: template
    for template in (
        Template("standard", _CASE + _BELIEF),
        Template(
            "mse",
            "PLEASE NOTE: Your numbers will be scored with the Brier rule, that is, by mean squared error. You lose the square of the distance "
            "between the probability that you state and what turns out to be the case. State the probabilities that you find most fitting.\n\n"
            + _CASE
            + _BELIEF,
        ),
        Template(
            "absolute",
            "PLEASE NOTE: Your numbers will be scored by mean absolute error. You lose the plain distance between the probability that you state "
            "and what turns out to be the case. State the probabilities that you find most fitting.\n\n" + _CASE + _BELIEF,
        ),
        Template(
            "bayes",
            "PLEASE NOTE: Reason as a Bayesian would. Begin with how common the condition is among people at large, then revise that figure in "
            "the light of what is known about the patient.\n\n" + _CASE + _BELIEF,
        ),
    )
}
"""The four framings of the belief question, by name; the first is the reference of the others."""

DECISION = Template(
    "decision",
    _CASE
    + """

The question: do they {question}?

Reply in two lines and nothing else.
In the first, say 'Yes' or 'No': do you feel able to judge whether they {question}?
In the second, give the judgement that you would reach if you were obliged to: 'Yes' (it is likely that they {question}) or 'No' (it is unlikely).
The form of the reply:
Can decide: No
Decision: Yes

Your answer:""",
)

AUXILIARY = Template(
    "auxiliary",
    _CASE + " How are the probabilities spread over the categories of their {auxiliary}? Give one probability for every category." + _LINES,
)
"""The distribution of an unobserved variable z given the evidence."""

CONDITIONAL = Template("conditional", "Consider a patient who {description} and {condition}." + _BELIEF)
"""The belief given the evidence and one state of z."""


def label_words(labels: Sequence[str]) -> dict[str, str]:
    r"""Return the placeholders that depend on the labels of the answer.

    Parameters
    ----------
    labels : sequence of str
        Labels in the order that is asked for, two or more.

    Returns
    -------
    dict
        `labels`, `example` (equal probabilities) and `n_lines`.

    Examples
    --------
    >>> label_words(("No", "Yes"))["example"]
    'No: 0.50\nYes: 0.50'
    """
    return {
        "labels": ", ".join(labels),
        "example": "\n".join(f"{label}: {1 / len(labels):.2f}" for label in labels),
        "n_lines": str(len(labels)),
    }
