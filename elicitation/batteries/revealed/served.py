"""The battery behind a server: letters drawn in words, beliefs where a list of tokens gives them.

A server answers in words; how often it chooses a letter is counted over draws. Of unfinished texts
it lists the likeliest next tokens at best. That tells words apart, but not the number 1 from 10 or
1.5, whose tokens may begin alike: only beliefs over words are read.
"""

import json
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from coherence.decoding.decode import decode_choice
from elicitation.asking.loop import AnswerStream, Progress, Strategy, ask_missing
from elicitation.asking.store import AnswerStore
from elicitation.asking.strategies import ask
from elicitation.batteries.revealed.questions import (
    NO,
    YES,
    Bet,
    OptionQuestion,
    belief_questions,
    bet_of_masses,
    even_bet_questions,
    stated_questions,
    tabulate_beliefs,
    tabulate_stated,
    wagered,
)
from elicitation.batteries.revealed.reading import Masses, OutcomeQuestion
from elicitation.batteries.revealed.scenarios.setting import Setting
from elicitation.models.base import Answer, BoundingModel, Model
from elicitation.questions.question import Question

ROOM = 64
"""Tokens of a drawn answer: a letter, and the words of its option."""
_LARGEST_GAP = 0.01
"""Of the probability on the outcomes: a belief that may lack more than this is not read."""


def _options(question: OptionQuestion) -> list[tuple[str, str]]:
    return list(zip(question.letters, question.options, strict=True))


def state_in_words(
    model: Model,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str,
    reps: int,
    seed: int,
    max_new_tokens: int = ROOM,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Draw the stated answers of a model; the mass of a letter is its share of the draws."""
    asked = [(setting, question) for setting in settings for question in stated_questions(setting)]
    letters = _drawn_letters(
        model,
        [(question, f"{setting.name}, stated") for setting, question in asked],
        store,
        reps=reps,
        seed=seed,
        max_new_tokens=max_new_tokens,
        keep_going=keep_going,
        progress=progress,
    )
    orders: dict[str, list[Masses]] = {}
    for (setting, question), drawn in zip(asked, letters, strict=True):
        orders.setdefault(setting.name, []).append(_shares(question, drawn))
    return tabulate_stated([(setting, orders[setting.name]) for setting in settings], source=source)


def bet_in_words(
    model: Model,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    reps: int,
    seed: int,
    max_new_tokens: int = ROOM,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> dict[str, Bet]:
    """Draw a model's decisions on bets, with the options in both orders."""
    asked = [
        (setting, question)
        for setting in wagered(settings)
        for question in even_bet_questions(setting)
    ]
    letters = _drawn_letters(
        model,
        [(question, f"{setting.name}, bet") for setting, question in asked],
        store,
        reps=reps,
        seed=seed,
        max_new_tokens=max_new_tokens,
        keep_going=keep_going,
        progress=progress,
    )
    shares: dict[str, list[tuple[OptionQuestion, Masses]]] = {}
    decisions: dict[str, list[str | None]] = {}
    for (setting, question), drawn in zip(asked, letters, strict=True):
        shares.setdefault(setting.name, []).append((question, _shares(question, drawn)))
        meant = {letter: {"Yes": YES, "No": NO}[option] for letter, option in _options(question)}
        decisions.setdefault(setting.name, []).extend(
            None if letter is None else meant[letter] for letter in drawn
        )
    read = {name: bet_of_masses(orders) for name, orders in shares.items()}
    return {
        name: Bet(bet.share, bet.answer_mass, tuple(decisions[name])) for name, bet in read.items()
    }


def _shares(question: OptionQuestion, drawn: Sequence[str | None]) -> Masses:
    counts = Counter(drawn)
    # Of all draws: what cannot be read is missing from the sum.
    return {letter: counts[letter] / len(drawn) for letter in question.letters}


def _drawn_letters(
    model: Model,
    questions: Sequence[tuple[OptionQuestion, str]],
    store: AnswerStore,
    *,
    reps: int,
    seed: int,
    max_new_tokens: int,
    keep_going: bool,
    progress: Progress | None,
) -> list[list[str | None]]:
    """Return the letters of so many draws of every question, None where one cannot be read."""
    # By draws first: a session cut short has some answers to every question.
    planned = [
        Question.of(
            question.text,
            number,
            base_seed=seed,
            temperature=1.0,
            max_new_tokens=max_new_tokens,
            max_lines=None,
            about=about,
        )
        for number in range(reps)
        for question, about in questions
    ]
    repeated = [question for _ in range(reps) for question, _ in questions]
    asked_by = dict(zip(planned, repeated, strict=True))

    def readable(draw: Question, answer: Answer) -> bool:
        return _letter(answer, asked_by[draw]) is not None

    answers, _ = ask(
        model, planned, store, readable=None if keep_going else readable, progress=progress
    )
    letters = [
        _letter(answer, question) for question, answer in zip(repeated, answers, strict=True)
    ]
    return [letters[start :: len(questions)] for start in range(len(questions))]


def _letter(answer: Answer, question: OptionQuestion) -> str | None:
    """Return the letter that an answer chooses, None if it chooses none."""
    return decode_choice(
        answer.text,
        question.letters,
        words=question.options,
        finish_reason=answer.finish_reason,
    ).value


def worded(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings whose outcomes are words, which first tokens tell apart."""
    return [setting for setting in settings if setting.scenario == "preference"]


def reveal_by_tokens(
    model: BoundingModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read revealed beliefs over words off lists of the likeliest tokens."""
    questions = belief_questions(worded(settings))
    draws = [
        Question.of_labels(question.text, question.outcomes, about=question.about)
        for *_, question in questions
    ]
    asked_by = {draw: question for draw, (*_, question) in zip(draws, questions, strict=True)}

    def answer(missing: Sequence[Question]) -> AnswerStream:
        groups: dict[tuple[str, ...], list[Question]] = {}
        for draw in missing:
            groups.setdefault(draw.labels, []).append(draw)
        for labels, group in groups.items():
            bounds = model.label_bounds([draw.request.text for draw in group], labels)
            rows = [{"lower": found.lower, "upper": found.upper} for found in bounds]
            yield [(draw, Answer(json.dumps(row))) for draw, row in zip(group, rows, strict=True)]

    stored, _ = ask_missing(model, draws, store, Strategy(answer), progress=progress)
    beliefs = [
        (setting, wording, _masses(json.loads(answered.text), asked_by[draw]))
        for (setting, wording, _), draw, answered in zip(questions, draws, stored, strict=True)
    ]
    return tabulate_beliefs(beliefs, source=source)


def _masses(bounds: dict[str, list[float]], question: OutcomeQuestion) -> Masses:
    """Return the lower bounds as masses, or zeros where they may lack too much."""
    gaps = [high - low for low, high in zip(bounds["lower"], bounds["upper"], strict=True)]
    enough = max(gaps) <= _LARGEST_GAP * sum(bounds["lower"])
    lower = bounds["lower"] if enough else [0.0] * len(gaps)
    return dict(zip(question.outcomes, lower, strict=True))
