"""Reading beliefs off a model: the probability of every outcome after an unfinished text.

What is read is kept in an answer store, so that a session resumes.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coherence.errors import InputError
from elicitation.asking.ask import Progress, ask
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model
from elicitation.models.exact import LARGEST_GAP
from elicitation.questions.question import Question

if TYPE_CHECKING:
    from elicitation.models.local.causal import CausalModel

Masses = dict[str, float]


def read_masses(
    model: Model,
    questions: Sequence[Question],
    store: AnswerStore,
    *,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> tuple[list[Masses], int]:
    """Read the probabilities of outcomes after texts, from the store where they are there."""
    stored, asked = ask(model, questions, store, batch_size=batch_size, progress=progress)
    return [_masses(each, answer) for each, answer in zip(questions, stored, strict=True)], asked


def _masses(question: Question, answer: Answer) -> Masses:
    known = json.loads(answer.text)
    if not isinstance(known.get("lower"), list):
        return dict(known)
    # Bounds, of a server's list: the lower ones, or zeros where they may lack too much.
    lower, upper = known["lower"], known["upper"]
    gaps = [high - low for low, high in zip(lower, upper, strict=True)]
    enough = max(gaps) <= LARGEST_GAP * sum(lower)
    labels = question.form.labels if question.form else ()
    return dict(zip(labels, lower if enough else [0.0] * len(lower), strict=True))


# Ends the fingerprint of a model that is asked with its template beside texts without it.
_IN_CHAT = " in its chat template"


def in_chat(model: "CausalModel") -> "CausalModel":
    """Return the same model with its chat template, for questions."""
    from elicitation.models.local.causal import CausalModel, Prompting

    if model.chat or model.tokenizer.chat_template is None:
        return model
    prompting = Prompting(model.tokenizer, name=model.name, chat=True)
    if prompting.facts.thinking:
        raise InputError(
            f"the chat template of {model.name} opens its thinking, and answers to questions would "
            "be read inside of it. Leave the questions out by --only-revealed."
        )
    return CausalModel(
        model.network,
        model.tokenizer,
        name=model.name,
        fingerprint=f"{model.fingerprint}{_IN_CHAT}{prompting.facts.settings}",
        chat=True,
        reading=model.reading,
    )
