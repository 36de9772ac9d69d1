"""Questions about bets put to a model in words, one answer each: the most probable one."""

import pandas as pd

from coherence.batteries.bets.scores import OPTIONS, TEXTS, read_letters
from coherence.decoding.decode import decode_choice
from elicitation.asking.ask import Progress, ask
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model
from elicitation.questions.question import Question

ROOM = 64
"""Tokens of an answer: a letter, and the words of its option."""
_ABOUT = "choice of an option"
_REPLY = "Reply with the letter of one option and nothing else.\n\nYour answer:"


def text_with_options(text: str, options: list[str]) -> str:
    r"""Return a question with its options below it."""
    lines = [f"{letter}) {option}" for letter, option in zip(OPTIONS, options, strict=False)]
    return "\n".join([text, *lines, _REPLY])


def choose_in_words(
    model: Model,
    questions: pd.DataFrame,
    store: AnswerStore,
    *,
    max_new_tokens: int = ROOM,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Ask for the letter of an option, once per question."""
    options = questions[TEXTS].to_numpy().tolist()
    draws = bet_draws(questions, max_new_tokens=max_new_tokens)
    options_of = dict(zip(draws, options, strict=True))

    def readable(draw: Question, answer: Answer) -> bool:
        listed = options_of[draw]
        said = stated_choice(answer.text, answer.finish_reason, listed)
        return bool(read_letters(said, listed))

    answers, _ = ask(
        model, draws, store, readable=None if keep_going else readable, progress=progress
    )
    return pd.DataFrame(
        {
            "question": questions["question"].to_numpy(),
            "model": model.name,
            "answer": [
                stated_choice(answer.text, answer.finish_reason, listed)
                for answer, listed in zip(answers, options, strict=True)
            ],
        }
    )


def bet_draws(questions: pd.DataFrame, *, max_new_tokens: int) -> list[Question]:
    """Return one answer to be had of each question, whose options stand below it."""
    options = questions[TEXTS].to_numpy().tolist()
    return [
        Question.of(
            text_with_options(text, listed),
            0,
            base_seed=0,
            temperature=0.0,
            max_new_tokens=max_new_tokens,
            max_lines=None,
            spec_json=_ABOUT,
        )
        for text, listed in zip(questions["text"], options, strict=True)
    ]


def stated_choice(text: str, finish_reason: str | None, options: list[str]) -> str:
    """Return an answer as it counts: what was cut or is empty is unread, and not "no option"."""
    if not text.strip():
        return "(empty)"
    # What was cut may have been about to say something else: only a complete choice counts.
    cut = (
        finish_reason == "length"
        and not decode_choice(text, OPTIONS, words=options, finish_reason=finish_reason).readable
    )
    return "(cut)" if cut else text
