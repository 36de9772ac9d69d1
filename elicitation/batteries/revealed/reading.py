"""Reading beliefs off a model: the probability of every outcome after an unfinished text.

What is read is kept in an answer store, so that a session resumes.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from coherence.errors import InputError
from elicitation.asking.loop import AnswerStream, Progress, Strategy, ask_missing
from elicitation.asking.store import AnswerStore
from elicitation.asking.strategies import as_they_come
from elicitation.models.base import Model
from elicitation.questions.question import Question

if TYPE_CHECKING:
    from elicitation.models.local.causal import CausalModel, Prompting

Masses = dict[str, float]


def read_masses(
    model: Model,
    questions: Sequence[Question],
    store: AnswerStore,
    *,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> tuple[list[Masses], int]:
    """Read the probabilities of outcomes after texts, from the store where they are there.

    A batch is kept once all of it was read: larger ones are no faster, and lose more to a stop.
    """

    def answer(missing: Sequence[Question]) -> AnswerStream:
        # One pass of the model reads the same spellings after every text of it.
        groups: dict[object, list[Question]] = {}
        for each in missing:
            assert each.form is not None
            alike = each.form.kind, frozenset(each.form.labels), each.form.ignore_case
            groups.setdefault(alike, []).append(each)
        for group in groups.values():
            for start in range(0, len(group), batch_size):
                batch = group[start : start + batch_size]
                yield list(chain.from_iterable(as_they_come(model, batch)))

    stored, asked = ask_missing(model, questions, store, Strategy(answer), progress=progress)
    return [json.loads(answer.text) for answer in stored], asked


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
        fingerprint=in_chat_fingerprint(model.fingerprint, prompting),
        chat=True,
        reading=model.reading,
    )


def in_chat_fingerprint(fingerprint: str, prompting: "Prompting") -> str:
    """Return what the answers of a model in its chat template are kept under."""
    return f"{fingerprint}{_IN_CHAT}{prompting.facts.settings}"
