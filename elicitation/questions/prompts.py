"""The texts that a model is asked: templates as data, filled with the words of a case.

The structure follows the published protocol (belief under four variants, a decision with the choice
to defer, and the two questions of the law of iterated expectation); the sentences are this
project's own. A belief and an action are never asked for in one text. Templates of a user's own
come from a file, see `elicitation.questions.prompt_file`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from bayesnets import Phrases
from coherence.decoding.decode import BELIEF_LABELS, Form
from elicitation.questions.offers import LETTERS, Offer

# A line for each label is the form that is read strictly; a model without a chat template goes on
# after "Your answer:".
_LINES = """

Write {n_lines} lines and nothing else, one for each label.
A line reads '<label>: <a number from 0 to 1>'.
Keep the labels in this order: [{labels}]
For instance:
{example}

Your answer:"""

_NOTES = {
    "standard": "",
    "mse": "PLEASE NOTE: Your numbers will be scored with the Brier rule, that is, by mean squared "
    "error. You lose the square of the distance between the probability that you state and what "
    "turns out to be the case. State the probabilities that you find most fitting.\n\n",
    "absolute": "PLEASE NOTE: Your numbers will be scored by mean absolute error. You lose the "
    "plain distance between the probability that you state and what turns out to be the case. "
    "State the probabilities that you find most fitting.\n\n",
}
_CASE = "Consider {subject} who {description}."
_BELIEF = (
    " How probable is it that they {question}? Give one probability for No and one for Yes."
    + _LINES
)


@dataclass(frozen=True)
class Template:
    """One way to ask.

    Parameters
    ----------
    name : str
        Name for the `prompt` column of the runs table.
    text : str
        Text with the placeholders subject, description, question, condition, auxiliary, labels,
        example, n_lines, options, letter, chance, gain and loss, of which each kind of question has
        some.
    form : {"lines", "number"}
        What a belief is asked for as: a line for No and one for Yes, or the probability of Yes
        alone.
    says : Mapping of str to str
        Of a matching or a stakes question what each option says, and what the complement does.
    """

    name: str
    text: str
    form: Form = "lines"
    says: Mapping[str, str] = field(default_factory=dict)

    def fill(self, **words: str) -> str:
        """Return the text with its placeholders filled; a word that it does not use is ignored."""
        return self.text.format(**words)

    def offer(self, of: Offer, options: Sequence[str], **words: str) -> str:
        """Return a matching or a stakes question, its two `options` lettered in order."""
        named = sorted(options, key=lambda option: option != of.order)
        words = {**words, **of.numbers, "letter": LETTERS[named.index(options[0])]}
        # The event is named by its frame.
        texts = [self.says.get(of.frame if each == "event" else each, "") for each in named]
        lines = [
            f"{letter}: {text.format(**words)}" for letter, text in zip(LETTERS, texts, strict=True)
        ]
        return self.fill(**words, options="\n".join(lines))


_BAYES = (
    "PLEASE NOTE: Reason as a Bayesian would. Begin with how common this is among people at "
    "large, then revise that figure in the light of what is known here.\n\n"
)

BELIEF = {
    name: Template(name, note + _CASE + _BELIEF)
    for name, note in {**_NOTES, "bayes": _BAYES}.items()
}
"""The four variants of the belief question, by name; the first is the reference of the others."""

DECISION = Template(
    "decision",
    _CASE
    + """

The question: do they {question}?

Reply in two lines and nothing else.
In the first, say 'Yes' or 'No': do you feel able to judge whether they {question}?
In the second, give the judgement that you would reach if you were obliged to: \
'Yes' (it is likely that they {question}) or 'No' (it is unlikely).
The form of the reply:
Can decide: No
Decision: Yes

Your answer:""",
)

AUXILIARY = Template(
    "auxiliary",
    _CASE + " How are the probabilities spread over the categories of their {auxiliary}? "
    "Give one probability for every category." + _LINES,
)
"""The distribution of an unobserved variable z given the evidence."""

CONDITIONAL = Template(
    "conditional", "Consider {subject} who {description} and {condition}." + _BELIEF
)
"""The belief given the evidence and one state of z."""


# The two labels are the tokens whose probabilities are read.
_ONE_WORD = "\n\nReply with one word, Yes or No.\n\nYour answer:"
YES_NO = Template("yes_no", _CASE + " Do they {question}?" + _ONE_WORD)
"""The belief asked for as an answer and not as a number: its probability is read from the label
tokens, or from many draws."""

# What differs between the questions of a case stands late: what they begin with is read once.
_ONE_LETTER = " Reply with one letter, A or B, and nothing else.\n\n{options}\n\nYour answer:"
_PRIZE = "There are two ways to win one and the same prize, of which you choose one."
_POINTS = "Of two courses you choose one before the truth is known."
_LOTTERY = "You win the prize in a draw in which the chance of winning is {chance}%."
_PASS = "You neither gain nor lose any points."
_ACT = "You gain {gain} points if it turns out that they {question}, and lose {loss} points if "
_FROM = " on would you choose {letter}? Answer with one number from 0 to 1 and nothing else."
MATCHING = Template(
    "matching",
    f"{_CASE} {_PRIZE}{_ONE_LETTER}",
    says=MappingProxyType(
        {
            "event": "You win the prize if it turns out that they {question}.",
            "complement": "You win the prize if it turns out that they do not {question}.",
            "lottery": _LOTTERY,
        }
    ),
)
"""The same prize on the event, or on its complement, or with a stated chance."""
STAKES = Template(
    "stakes",
    f"{_CASE} {_POINTS}{_ONE_LETTER}",
    says=MappingProxyType(
        {
            "act": _ACT + "they do not.",
            "pass": _PASS,
        }
    ),
)
"""Payoffs for which acting is worth it from some probability of the event on."""
COSTS_SAID = Template(
    "costs_said",
    "Consider {subject} of whom you are not certain whether they {question}. "
    f"{_POINTS}\n\n{{options}}\n\nFrom which probability that they {{question}}{_FROM}\n\n"
    "Your answer:",
    "number",
    STAKES.says,
)
"""From which probability on it would act for these, without a case."""

# Rows of a table need not be people, of whom the prompt variant for networks speaks.
_TABLE_BAYES = (
    "PLEASE NOTE: Reason as a Bayesian would. Begin with how common such a thing is in general, "
    "then revise that figure in the light of what is known here.\n\n"
)
_TABLE_STAKES = MappingProxyType(
    {
        "act": "You gain {gain} points if the answer turns out to be Yes, and lose {loss} "
        "points if it is No.",
        "pass": _PASS,
    }
)
_TABLE_BELIEF = "{question}\n\nGive one probability for No and one for Yes." + _LINES


@dataclass(frozen=True)
class PromptSet:
    """All the templates of a session.

    Parameters
    ----------
    belief : Mapping of str to Template
        Prompt variants of the belief question.
    decision : Template
        The question for an action.
    yes_no : Template
        The question whose answer is Yes or No.
    auxiliary, conditional : Template or None
        The questions of the law of iterated expectation; None where there is no auxiliary variable.
    matching, stakes, costs_said : Template or None
        The questions that offer an event or a lottery, and to act or to pass; and the one from
        which probability on it would act.
    """

    belief: Mapping[str, Template]
    decision: Template
    yes_no: Template
    auxiliary: Template | None = None
    conditional: Template | None = None
    matching: Template | None = None
    stakes: Template | None = None
    costs_said: Template | None = None


NETWORK_PROMPTS = PromptSet(
    *(MappingProxyType(BELIEF), DECISION, YES_NO, AUXILIARY, CONDITIONAL),
    *(MATCHING, STAKES, COSTS_SAID),
)
"""Templates for the cases of a network; the words come from its phrases."""

TABLE_PROMPTS = PromptSet(
    MappingProxyType(
        {
            name: Template(name, note + _TABLE_BELIEF)
            for name, note in {**_NOTES, "bayes": _TABLE_BAYES}.items()
        }
    ),
    Template(
        "decision",
        "{question}\n\nReply with exactly one of these options and nothing else:\n{options}\n\n"
        "Your answer:",
    ),
    Template("yes_no", "{question}" + _ONE_WORD),
    matching=Template(
        "matching",
        f"The question: {{question}}\n\n{_PRIZE}{_ONE_LETTER}",
        says=MappingProxyType(
            {
                "event": "You win the prize if the answer turns out to be Yes.",
                "complement": "You win the prize if the answer turns out to be No.",
                "lottery": _LOTTERY,
            }
        ),
    ),
    stakes=Template(
        "stakes", f"The question: {{question}}\n\n{_POINTS}{_ONE_LETTER}", says=_TABLE_STAKES
    ),
    costs_said=Template(
        "costs_said",
        "Consider a question of which you are not certain whether the answer is Yes. "
        f"{_POINTS}\n\n{{options}}\n\nFrom which probability of Yes{_FROM}\n\nYour answer:",
        "number",
        _TABLE_STAKES,
    ),
)
"""Templates for questions from a file, each of which is a text of its own."""


def label_words(labels: Sequence[str]) -> dict[str, str]:
    r"""Return the placeholders that depend on the labels of the answer."""
    # What parts the labels must not occur in one, or it would read as two.
    separators = (", ", "; ", " | ", " || ")
    fits = [mark for mark in separators if not any(mark.strip() in label for label in labels)]
    return {
        "labels": (fits or separators[-1:])[0].join(labels),
        "example": "\n".join(f"{label}: {1 / len(labels):.2f}" for label in labels),
        "n_lines": str(len(labels)),
    }


def case_words(
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    *,
    z: str | None = None,
    state: str | None = None,
) -> dict[str, str]:
    """Return the placeholders of a case: of a question about the target, or about `z`.

    With `state` it is about the target again, given that `z` is in it.
    """
    words = {
        "subject": phrases.subject,
        "description": phrases.describe(evidence),
        "question": phrases.question(target),
        **label_words(BELIEF_LABELS),
    }
    if z is not None and state is None:
        words |= label_words(tuple(phrases.labels(z).values()))
        words["auxiliary"] = phrases.auxiliary_name(z)
    elif z is not None and state is not None:
        words["condition"] = phrases.condition(z, state)
    return words
