"""The whole battery as a list of questions, and as a table for others to ask.

A question is identified by `question`, or by `setting` and `wording`. Beliefs are unfinished texts
whose outcomes get a probability each; stated answers and bets are questions with letters, which get
a probability each too, or answers that were drawn, one row per draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from coherence.decoding.decode import decode_choice
from elicitation.batteries.revealed.bets import even_bet_questions, inner_settings, wagered
from elicitation.batteries.revealed.scenarios.grid import in_between
from elicitation.batteries.revealed.scenarios.setting import Setting
from elicitation.batteries.revealed.stated import stated_questions

BELIEF, STATED, BET = "belief", "stated", "bet"
COLUMNS = (
    "kind",
    "question",
    "setting",
    "wording",
    "text",
    "outcome",
    "option",
    "probability",
    "rep",
    "answer",
)


@dataclass(frozen=True)
class BatteryQuestion:
    """A question of the battery."""

    kind: str  # "belief", "stated" or "bet"
    setting: Setting  # what it is about
    # how a belief is asked for; "stated 1" to "stated 4" and "bet 1", "bet 2" are the orders of the
    # options
    wording: str
    text: str  # what is asked
    outcomes: tuple[str, ...]  # what a probability is needed of: outcomes, or letters
    options: tuple[str, ...] = ()  # what the letters stand for; empty for a belief

    @property
    def name(self) -> str:
        """Value of the column `question`."""
        return f"{self.setting.name} | {self.wording}"

    def letter_of(self, answer: str, finish_reason: str | None = None) -> str | None:
        """Return the letter that a drawn answer chooses, None if it chooses none."""
        decoded = decode_choice(
            answer, self.outcomes, words=self.options, finish_reason=finish_reason
        )
        return decoded.value


def battery(settings: Sequence[Setting], *, only_revealed: bool = False) -> list[BatteryQuestion]:
    """Return all questions about settings."""
    if only_revealed:
        return _belief_questions(settings)
    questions = _belief_questions([*settings, *in_between(settings), *inner_settings(settings)])
    for kind, of_kind, make in (
        (STATED, settings, stated_questions),
        (BET, wagered(settings), even_bet_questions),
    ):
        questions += [
            BatteryQuestion(
                kind, setting, f"{kind} {order}", question.text, question.letters, question.options
            )
            for setting in of_kind
            for order, question in enumerate(make(setting), start=1)
        ]
    return questions


def _belief_questions(settings: Sequence[Setting]) -> list[BatteryQuestion]:
    return [
        BatteryQuestion(BELIEF, setting, wording, text, setting.outcomes)
        for setting in settings
        for wording, text in setting.texts.items()
    ]


def questions_table(settings: Sequence[Setting], *, only_revealed: bool = False) -> pd.DataFrame:
    """Return the questions for others to ask: `COLUMNS`, one row per outcome.

    `probability`, `rep` and `answer` are left to fill in.
    """
    rows = [
        (
            question.kind,
            question.name,
            question.setting.name,
            question.wording,
            question.text,
            outcome,
            option,
        )
        for question in battery(settings, only_revealed=only_revealed)
        for outcome, option in zip(
            question.outcomes, question.options or [""] * len(question.outcomes), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS[:7])).reindex(columns=list(COLUMNS))
