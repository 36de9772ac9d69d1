"""Stated answers: the probability of one outcome, asked for with four options.

Every option stands in every place equally often, so that a liking for a letter averages out.
"""

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from elicitation.asking.loop import Progress
from elicitation.asking.store import AnswerStore
from elicitation.batteries.revealed.options import LETTERS, OptionQuestion, option_question
from elicitation.batteries.revealed.reading import Masses, OutcomeQuestion, read_masses
from elicitation.batteries.revealed.scenarios.setting import Setting
from elicitation.models.base import ScoringModel

STATED_COLUMNS = (
    "source",
    "scenario",
    "variant",
    "group",
    "setting",
    "outcome",
    "rotation",
    "letter",
    "option",
    "correct",
    "mass",
)


def distractors(setting: Setting) -> tuple[Fraction, Fraction, Fraction]:
    """Return three wrong answers to the question for the probability of `setting.asked`."""
    truth = setting.truth[setting.asked]
    mistakes = [
        Fraction(1, len(setting.outcomes)),
        Fraction(1, len(setting.support)),
        1 - truth,
        2 * truth,
        truth / 2,
    ]
    # Four of them are three more than the truth can be equal to, so that three always remain.
    fillers = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(3, 4)]
    # Without copies, in this order.
    first, second, third, *_ = [
        wrong for wrong in dict.fromkeys(mistakes + fillers) if 0 < wrong < 1 and wrong != truth
    ]
    return first, second, third


def stated_questions(setting: Setting) -> list[OptionQuestion]:
    """Ask for the probability of one outcome, once for every place that the truth can have."""
    options = [str(value) for value in (setting.truth[setting.asked], *distractors(setting))]
    question = (
        f"{setting.story} What is the probability that {setting.claim.format(setting.asked)}?"
    )
    return [
        option_question(question, options[-shift:] + options[:-shift])
        for shift in range(len(LETTERS))
    ]


def state(
    model: ScoringModel,
    settings: Sequence[Setting],
    store: AnswerStore,
    *,
    source: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read the stated answers of a model, with the truth at each of four places in turn."""
    questions = [
        OutcomeQuestion(question.text, LETTERS, lettered=True, about=f"{setting.name}, stated")
        for setting in settings
        for question in stated_questions(setting)
    ]
    masses, _ = read_masses(model, questions, store, progress=progress)
    read = [masses[start : start + len(LETTERS)] for start in range(0, len(masses), len(LETTERS))]
    return tabulate_stated(
        list(zip(settings, read, strict=True)), source=model.name if source is None else source
    )


def tabulate_stated(
    stated: Sequence[tuple[Setting, Sequence[Masses]]], *, source: str
) -> pd.DataFrame:
    """Lay out stated answers."""
    rows = [
        (
            source,
            setting.scenario,
            setting.variant,
            setting.group,
            setting.name,
            setting.asked,
            rotation,
            letter,
            option,
            position == rotation,
            masses[letter],
        )
        for setting, orders in stated
        for rotation, (question, masses) in enumerate(
            zip(stated_questions(setting), orders, strict=True)
        )
        for position, (letter, option) in enumerate(
            zip(question.letters, question.options, strict=True)
        )
    ]
    return pd.DataFrame(rows, columns=list(STATED_COLUMNS)).astype({"mass": float})
