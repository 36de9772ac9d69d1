"""Local models and the questions about bets: scores of every option, and lessons to train on.

Two kinds of models can be asked. A multiple-choice model scores the question joined with each
option; a causal model gives the likelihood of each option as the continuation of the question.
"""

import json
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax

from coherence.batteries.bets.scores import OPTIONS, PROBABILITIES, ROLES, SCORES, TEXTS
from coherence.batteries.bets.truths import right_roles
from coherence.errors import InputError
from elicitation.asking.ask import AnswerBatch, ask
from elicitation.asking.ask import Progress as AskingProgress
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer
from elicitation.models.local.causal import CausalModel
from elicitation.models.local.forward import n_shared
from elicitation.models.local.multiple_choice import MultipleChoiceModel
from elicitation.questions.question import Question
from elicitation.spelling.forms import AnswerForm
from elicitation.training.finetuning import TrainingSet

BATCH = 256
"""Questions whose options are scored at once; neighbours move the last digits of a score."""
_ABOUT = "scores of options"


def score_choices(
    model: MultipleChoiceModel | CausalModel,
    questions: pd.DataFrame,
    *,
    store: AnswerStore | None = None,
    progress: AskingProgress | None = None,
) -> pd.DataFrame:
    """Score every option of every question, one row per question.

    The columns are ``question``, ``model``; ``score_a`` to ``score_c``, in [0, 1], each option by
    itself, for the threshold method (the logistic transform of a multiple-choice model's score; the
    geometric mean of the probabilities of an option's tokens of a causal one); ``prob_a`` to
    ``prob_c``, which sum to 1, for the standard method (of a causal model in proportion to the
    probability of all tokens of an option). Scores are kept in `store`, if any, some hundred
    questions at a time. Raises `InputError` for a model that does not score options, or a question
    that does not fit into it.
    """
    if not isinstance(model, MultipleChoiceModel | CausalModel):
        raise InputError(
            "model must be a local multiple-choice or causal model; received a "
            f"{type(model).__name__}. Score its answers from a file."
        )
    with nullcontext(store) if store is not None else AnswerStore(":memory:") as kept:
        measures = _ask_or_recall(model, option_questions(questions), kept, progress)
    if isinstance(model, MultipleChoiceModel):
        logits = measures[:, 0]
        scores = expit(logits)
    else:
        logits, mean = measures[:, 0], measures[:, 1]
        scores = np.exp(mean)
    table = pd.DataFrame({"question": questions["question"].to_numpy(), "model": model.name})
    table[SCORES] = scores
    table[PROBABILITIES] = softmax(logits, axis=1)
    return table


def option_questions(questions: pd.DataFrame) -> list[Question]:
    """Return the questions for the scores of options, as the store knows them."""
    options = questions[TEXTS].to_numpy().tolist()
    return [
        Question.of_form(text, AnswerForm("options", tuple(labels)), spec_json=_ABOUT)
        for text, labels in zip(questions["text"], options, strict=True)
    ]


def _ask_or_recall(
    model: MultipleChoiceModel | CausalModel,
    draws: Sequence[Question],
    store: AnswerStore,
    progress: AskingProgress | None,
) -> NDArray[np.float64]:
    """Return the measures of every option, shape (n, 1, 3) or, of a causal model, (n, 2, 3)."""

    def read(batch: Sequence[Question]) -> AnswerBatch:
        texts = [each.text for each in batch]
        labels = [each.form.labels for each in batch if each.form is not None]
        if isinstance(model, MultipleChoiceModel):
            pairs = [
                (text, label)
                for text, options in zip(texts, labels, strict=True)
                for label in options
            ]
            measures = model.pair_scores(pairs).reshape(-1, 1, len(OPTIONS))
        else:
            measures = np.stack(_log_likelihoods(model, texts, labels), axis=1)
        answers = [Answer(json.dumps(row)) for row in measures.tolist()]
        return list(zip(batch, answers, strict=True))

    stored, _ = ask(model, draws, store, batch_size=BATCH, read=read, progress=progress)
    rows = 1 if isinstance(model, MultipleChoiceModel) else 2
    measures = np.array([json.loads(answer.text) for answer in stored], dtype=np.float64)
    return measures.reshape(len(stored), rows, len(OPTIONS))


def training_set_from(questions: pd.DataFrame) -> TrainingSet:
    """Make lessons of questions, of which the option of largest gain is right."""
    right = questions[ROLES].eq(right_roles(questions), axis=0).to_numpy().argmax(axis=1)
    options = questions[TEXTS].to_numpy().tolist()
    return TrainingSet(tuple(questions["text"]), tuple(map(tuple, options)), tuple(right.tolist()))


def _log_likelihoods(
    model: CausalModel, texts: Sequence[str], options: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-probabilities of options, in total and per token, shape (n, 3) each."""
    # Plain text needs the blank between question and answer; a chat template ends where the answer
    # begins.
    gap = "" if model.chat else " "
    befores = model.encode(texts)
    prompts, continuations = [], []
    for text, before, labels in zip(texts, befores, options, strict=True):
        wholes = [model.encode([text], answer=gap + label)[0] for label in labels]
        # Where text and option meet, tokens may merge: options begin where tokens first differ.
        shared = min(n_shared(before, whole) for whole in wholes)
        prompts.append(before[:shared])
        continuations.append([whole[shared:] for whole in wholes])
    total = np.stack(model.log_probabilities(prompts, continuations))
    counts = np.array([[len(tokens) for tokens in row] for row in continuations])
    return total, total / counts
