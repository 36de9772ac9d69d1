"""The battery behind a server: letters drawn in words, beliefs where a list of tokens gives them.

A server answers in words; how often it chooses a letter is counted over draws. Of unfinished texts
it lists the likeliest next tokens at best. That tells words apart, but not the number 1 from 10 or
1.5, whose tokens may begin alike: only beliefs over words are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from elicitation.asking.ask import Progress, ask
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.questions import (
    BatteryQuestion,
    Bet,
    bet_of_masses,
    even_bet_questions,
    stated_questions,
    tabulate_stated,
    wagered,
)
from elicitation.batteries.revealed.reading import Masses
from elicitation.batteries.revealed.scenarios.setting import Setting
from elicitation.models.base import Answer, Model
from elicitation.questions.question import Question

ROOM = 64
"""Tokens of a drawn answer: a letter, and the words of its option."""


@dataclass(frozen=True)
class SamplingOptions:
    """How answers in words are drawn."""

    reps: int  # draws of every question
    seed: int
    max_new_tokens: int = ROOM
    keep_going: bool = False  # whether to ask on where none of the first answers can be read


def state_in_words(
    model: Model,
    settings: Sequence[Setting],
    store: AnswerStore,
    sampling: SamplingOptions,
    *,
    source: str,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Draw the stated answers of a model; the mass of a letter is its share of the draws."""
    asked = [question for setting in settings for question in stated_questions(setting)]
    drawn = _drawn_letters(model, asked, store, sampling, progress)
    shares = [(question, _shares(question, letters)) for question, letters in drawn]
    return tabulate_stated(shares, source=source)


def bet_in_words(
    model: Model,
    settings: Sequence[Setting],
    store: AnswerStore,
    sampling: SamplingOptions,
    *,
    progress: Progress | None = None,
) -> dict[str, Bet]:
    """Draw a model's decisions on bets, with the options in both orders."""
    asked = [question for setting in wagered(settings) for question in even_bet_questions(setting)]
    orders: dict[str, list[tuple[BatteryQuestion, list[str | None]]]] = {}
    for question, letters in _drawn_letters(model, asked, store, sampling, progress):
        orders.setdefault(question.setting.name, []).append((question, letters))
    return {
        name: bet_of_masses(
            [(question, _shares(question, letters)) for question, letters in drawn],
            [letters for _, letters in drawn],
        )
        for name, drawn in orders.items()
    }


def _shares(question: BatteryQuestion, drawn: Sequence[str | None]) -> Masses:
    # Of all draws: what cannot be read is missing from the sum.
    return {letter: drawn.count(letter) / len(drawn) for letter in question.outcomes}


def letter_draws(questions: Sequence[BatteryQuestion], sampling: SamplingOptions) -> list[Question]:
    """Return all answers to be had; by draws first: a session cut short has some to each."""
    return [
        Question.of(
            question.text,
            number,
            base_seed=sampling.seed,
            temperature=1.0,
            max_new_tokens=sampling.max_new_tokens,
            max_lines=None,
            spec_json=question.read.spec_json,
        )
        for number in range(sampling.reps)
        for question in questions
    ]


def _drawn_letters(
    model: Model,
    questions: Sequence[BatteryQuestion],
    store: AnswerStore,
    sampling: SamplingOptions,
    progress: Progress | None,
) -> list[tuple[BatteryQuestion, list[str | None]]]:
    """Return the letters of all draws of every question, None where one cannot be read."""
    planned = letter_draws(questions, sampling)
    repeated = list(questions) * sampling.reps
    asked_by = dict(zip(planned, repeated, strict=True))

    def letter(question: BatteryQuestion, answer: Answer) -> str | None:
        return question.letter_of(answer.text, answer.finish_reason)

    def readable(draw: Question, answer: Answer) -> bool:
        return letter(asked_by[draw], answer) is not None

    answers, _ = ask(
        model,
        planned,
        store,
        readable=None if sampling.keep_going else readable,
        progress=progress,
    )
    letters = list(map(letter, repeated, answers))
    return [
        (question, letters[start :: len(questions)]) for start, question in enumerate(questions)
    ]


def worded(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings whose outcomes are words, which first tokens tell apart."""
    return [setting for setting in settings if setting.scenario == "preference"]
