"""The grid of questions: every case, repetition and framing.

With them go the questions of the law of iterated expectation. Cases come from a network, whose
phrases give the words, or from a table of questions. A question holds its text and the place of its
answer in the runs table. Each is answered in a context of its own: no text asks for a belief and an
action, and no answer sees another.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import pandas as pd

from bayesnets import Phrases
from coherence.decoding.decode import BELIEF_LABELS, DECISION_LABELS, Form
from coherence.errors import InputError
from elicitation.questions.design import check_cases, check_design
from elicitation.questions.prompts import (
    AUXILIARY,
    BELIEF,
    CONDITIONAL,
    DECISION,
    NETWORK_PROMPTS,
    TABLE_PROMPTS,
    PromptSet,
    Template,
    label_words,
)
from elicitation.questions.question import READ_OFF, Answers, Way
from elicitation.questions.tasks import evidence_of
from elicitation.spelling.forms import AnswerForm, FormKind

Role = Literal["belief", "decision", "choice", "auxiliary", "conditional"]
REFERENCE = "standard"
_SPARE_TOKENS = 16  # for white space around an answer
ROOM_FOR_WORDS = 256  # tokens of any answer: cut within its preamble, a reply would be lost


@dataclass(frozen=True)
class Question:
    """A text and the place of its answer."""

    case: int  # row of the cases, from 0
    rep: int  # repetition, from 0
    role: Role  # what is asked; a decision is yes, no or deferred, a choice one of the `lines`
    key: str  # framing of a belief, state of z of a conditional belief, else empty
    text: str  # the question
    # beginnings of the lines that the answer must have, or the answers that there are: those of a
    # choice, Yes and No
    lines: tuple[str, ...]
    form: Form = "lines"  # what a stated belief looks like
    # how a belief is elicited; of the latter two how any answer is
    way: Way | Answers = "verbalised"

    @property
    def max_lines(self) -> int:
        """Lines of an answer in the form asked for; for models that would go on after them."""
        return (
            1
            if self.role == "choice" or self.way in READ_OFF or self.form == "number"
            else len(self.lines)
        )

    @property
    def max_new_tokens(self) -> int:
        """Tokens for an answer in the form, were every character one, and for words around it."""
        if self.role == "choice" or self.way in READ_OFF:
            n_form = max(len(line.encode()) for line in self.lines)
        else:
            # Two decimals are what the example in the prompt shows.
            n_form = sum(len(f"{line}: 0.00\n".encode()) for line in self.lines)
        return max(n_form + _SPARE_TOKENS, ROOM_FOR_WORDS)

    @property
    def about(self) -> str:
        """All that it takes to read the answer, as JSON for the store."""
        return json.dumps(
            {
                "role": self.role,
                "key": self.key,
                "lines": self.lines,
                "form": self.form,
                "way": self.way,
            }
        )


def question_about(about: str) -> Question | None:
    """Return a question without place and text, from `Question.about`; None if that is empty."""
    if not about:
        return None
    known = json.loads(about)
    return Question(
        0, 0, known["role"], known["key"], "", tuple(known["lines"]), known["form"], known["way"]
    )


_form = cache(AnswerForm)


def form_of(question: Question) -> AnswerForm:
    """Return what a readable answer to a question looks like."""
    kinds: dict[str, FormKind] = {"decision": "decision", "choice": "choice"}
    kind = kinds.get(question.role, question.form)
    return _form(kind, () if kind in ("decision", "number") else question.lines)


def _case_words(phrases: Phrases, evidence: dict[str, str], wording: int = 0) -> dict[str, str]:
    return {"subject": phrases.subject, "description": phrases.describe(evidence, wording=wording)}


def belief_question(
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    prompt: str | Template,
    *,
    wording: int = 0,
) -> str:
    """Return the text that asks for the belief in the target."""
    words = {**_case_words(phrases, evidence, wording), "question": phrases.question(target)}
    template = BELIEF[prompt] if isinstance(prompt, str) else prompt
    return template.fill(**words, **label_words(BELIEF_LABELS))


def decision_question(
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    *,
    template: Template = DECISION,
    wording: int = 0,
) -> str:
    """Return the text that asks for an action; else as `belief_question`."""
    words = {**_case_words(phrases, evidence, wording), "question": phrases.question(target)}
    return template.fill(**words)


def auxiliary_question(
    phrases: Phrases,
    evidence: dict[str, str],
    z: str,
    *,
    template: Template = AUXILIARY,
    wording: int = 0,
) -> str:
    """Return the text that asks for the distribution of `z`; else as `belief_question`."""
    words = {**_case_words(phrases, evidence, wording), "auxiliary": phrases.auxiliary_name(z)}
    return template.fill(**words, **label_words(tuple(phrases.labels(z).values())))


def conditional_question(
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    z: str,
    state: str,
    *,
    template: Template = CONDITIONAL,
    wording: int = 0,
) -> str:
    """Return the text that asks for the belief given ``z = state``; else as `belief_question`."""
    words = {**_case_words(phrases, evidence, wording), "question": phrases.question(target)}
    return template.fill(
        **words, condition=phrases.condition(z, state), **label_words(BELIEF_LABELS)
    )


def reference_of(prompts: Sequence[str]) -> str:
    """Return the framing that actions are set beside: "standard" if it is there, or the first."""
    return REFERENCE if REFERENCE in prompts else prompts[0]


def plan_questions(
    cases: pd.DataFrame,
    phrases: Phrases,
    target: str,
    *,
    reps: int,
    prompts: Sequence[str] = tuple(BELIEF),
    iterated: bool = True,
    belief: Way = "verbalised",
    draws: int = 20,
    templates: PromptSet = NETWORK_PROMPTS,
) -> list[Question]:
    """List every question of a session about a network, repetition by repetition.

    Parameters
    ----------
    cases : DataFrame
        As from ``bayesnets.sample_cases``.
    phrases : Phrases
        Words of the network.
    target : str
        The variable asked about.
    reps : int
        Repetitions, positive.
    prompts : sequence of str
        Framings of a verbalised belief, distinct, with "standard" or another one that takes its
        place first.
    iterated : bool
        Whether to ask for the distribution of z and for the belief given each of its states; of
        verbalised beliefs alone.
    belief : {"verbalised", "token", "sampled"}
        How the belief is elicited.
    draws : int
        Answers of one sampled belief, positive.
    templates : PromptSet
        What is asked.

    Returns
    -------
    list of Question
        In a fixed order: more repetitions only add to its end.

    Raises
    ------
    InputError
        An unknown framing or way, or no repetition.

    Examples
    --------
    >>> import elicitation
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> questions = plan_questions(cases, task.phrases, "lung", reps=1, iterated=False)
    >>> len(questions)
    100
    """
    check_design(prompts, templates, reps=reps, belief=belief, draws=draws)
    check_cases(cases, phrases, iterated=iterated)
    once: list[Question] = []
    for position, (_, case) in enumerate(cases.iterrows()):
        evidence = evidence_of(case)
        words = {**_case_words(phrases, evidence), "question": phrases.question(target)}
        once += _belief_questions(position, words, prompts, templates, belief, draws)
        text = decision_question(phrases, evidence, target, template=templates.decision)
        once.append(Question(position, 0, "decision", "", text, DECISION_LABELS))
        # The law is about stated numbers: a read-off belief has no framing to set them beside.
        if iterated and belief == "verbalised" and pd.notna(case["z"]):
            once += _iterated_questions(
                position, phrases, evidence, target, str(case["z"]), templates
            )
    return [replace(question, rep=rep) for rep in range(reps) for question in once]


def _belief_questions(
    position: int,
    words: dict[str, str],
    prompts: Sequence[str],
    templates: PromptSet,
    way: Way,
    draws: int,
) -> list[Question]:
    if way == "verbalised":
        chosen = {name: templates.belief[name] for name in prompts}
        labels = label_words(BELIEF_LABELS)
        return [
            Question(
                position,
                0,
                "belief",
                name,
                template.fill(**words, **labels),
                BELIEF_LABELS,
                template.form,
            )
            for name, template in chosen.items()
        ]
    text = templates.yes_no.fill(**words)
    question = Question(position, 0, "belief", way, text, BELIEF_LABELS, way=way)
    # The draws are one text; `number_draws` tells them apart.
    return [question] * (draws if way == "sampled" else 1)


def _iterated_questions(
    position: int,
    phrases: Phrases,
    evidence: dict[str, str],
    target: str,
    z: str,
    templates: PromptSet,
) -> list[Question]:
    # Templates for tables have neither: there is no z to ask about.
    if not (templates.auxiliary and templates.conditional):
        return []
    labels = phrases.labels(z)
    text = auxiliary_question(phrases, evidence, z, template=templates.auxiliary)
    # One question for the whole distribution of z: its shares are the weights of the law.
    questions = [Question(position, 0, "auxiliary", "", text, tuple(labels.values()))]
    for state in labels:
        text = conditional_question(
            phrases, evidence, target, z, state, template=templates.conditional
        )
        questions.append(Question(position, 0, "conditional", state, text, BELIEF_LABELS))
    return questions


def plan_table(
    table: pd.DataFrame,
    *,
    reps: int,
    prompts: Sequence[str] = tuple(BELIEF),
    belief: Way = "verbalised",
    draws: int = 20,
    templates: PromptSet = TABLE_PROMPTS,
) -> list[Question]:
    """List every question of a session about a table, in the order of `plan_questions`."""
    check_design(prompts, templates, reps=reps, belief=belief, draws=draws)
    # A question for a number does not read as one for Yes or No, so that each way has its column.
    column = "belief_question" if belief == "verbalised" else "yes_no_question"
    if column not in table.columns:
        raise InputError(
            f"belief={belief!r} needs the column {column!r} in the table of questions. "
            "Add it, or elicit the belief in another way."
        )
    once: list[Question] = []
    for position, (_, row) in enumerate(table.iterrows()):
        words = {"question": row[column]}
        once += _belief_questions(position, words, prompts, templates, belief, draws)
        if "action_question" in table.columns:
            text = templates.decision.fill(
                question=row["action_question"],
                options="\n".join(row["options"]),
                **label_words(row["options"]),
            )
            once.append(Question(position, 0, "choice", "", text, row["options"]))
    return [replace(question, rep=rep) for rep in range(reps) for question in once]
