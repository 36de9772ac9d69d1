"""Answers from elsewhere: the table of questions, filled in, as beliefs, stated answers, bets.

What is not filled in was not asked. All errors of a file are listed at once, with their rows.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable, read_answer_table
from coherence.errors import SchemaError, closest, listing
from coherence.runs.columns import STATE_SUM_TOLERANCE
from elicitation.batteries.revealed.questions import (
    BELIEF,
    STATED,
    BatteryQuestion,
    Beliefs,
    Bet,
    battery,
    belief_questions,
    bet_of_masses,
    stated_questions,
    tabulate_beliefs,
    tabulate_stated,
)
from elicitation.batteries.revealed.reading import Masses
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting

_COLUMNS = (
    *map(AnswerColumn, ("question", "setting", "outcome", "answer", "rep", "wording", "source")),
    AnswerColumn("probability", number=True, low=0, high=1, may_lack=True, default=math.nan),
)
_NEEDED = (("question", "setting"), ("probability", "answer"))
"""Of each pair a file must have one."""


@dataclass(frozen=True)
class Answers:
    """What somebody answered."""

    # setting and wording -> probability of every outcome, not renormalised; with the settings that
    # only the law of iterated expectation needs
    beliefs: Beliefs
    stated: dict[str, Masses]  # question -> probability of every letter
    bets: dict[str, Bet]  # by setting


def read_answer_file(
    path: str | os.PathLike[str], settings: Sequence[Setting]
) -> dict[str, Answers]:
    """Read what was elicited elsewhere."""
    known = {question.name: question for question in battery(settings)}
    filled = _filled(read_answer_table(path, texts=None), path, known)
    answers, errors = {}, []
    several = filled["source"].nunique() > 1
    for source, rows in filled.groupby("source", sort=False):
        reader = _Reader(rows, known)
        answers[str(source)] = reader.answers()
        errors += [f"{error} (source {source!r})" if several else error for error in reader.errors]
    if errors:
        raise SchemaError(errors, f"table of answers {path}")
    return answers


def _filled(
    received: pd.DataFrame, path: str | os.PathLike[str], known: dict[str, BatteryQuestion]
) -> pd.DataFrame:
    """Return the rows that are filled in, where none of them breaks a rule for itself."""
    names = list(received.columns)
    lacking = [pair for pair in _NEEDED if not set(pair) & set(names)]
    errors = [
        f"column {first!r} is missing, and {second!r} too. {closest(first, names)}"
        for first, second in lacking
    ]
    if "probability" in names and "outcome" not in names:
        near = closest("outcome", names)
        errors.append(f"column 'outcome' is missing: a probability belongs to one. {near}")
    if errors:
        raise SchemaError(errors, f"table of answers {path}")
    checked = AnswerTable(received, _COLUMNS, source=f"answers {path}")
    table = checked.table
    for name, usual in (("wording", REFERENCE), ("source", Path(path).stem)):
        table[name] = table[name].where(table[name].str.strip() != "", usual)
    if "question" not in names:
        table["question"] = table["setting"] + " | " + table["wording"]
    answered = table["answer"].str.strip() != ""
    valued = table["probability"].notna() | checked.not_numbers("probability")
    if not (answered | valued).any():
        checked.errors.append(
            "nothing is filled in. Write numbers into 'probability', or what was answered into "
            "'answer'."
        )
    rule = "'probability' and 'answer' must not both be filled in"
    checked.refuse(answered & valued, rule, "answer", "Keep one of them.")
    unknown = (answered | valued) & ~table["question"].isin(list(known))
    first = "".join(table["question"][unknown].head(1))
    checked.refuse(
        unknown,
        "column 'question' must name questions of this grid",
        "question",
        f"{closest(first, known)} Give the options that the questions were written with.",
    )
    # The rest is asked of known questions alone: one wrong name is one error, not three.
    valued, answered = valued & ~unknown, answered & ~unknown
    asked = table["question"].map(known)
    rows = zip(asked, table["outcome"], valued, strict=True)
    beside = [
        is_valued and outcome not in question.outcomes for question, outcome, is_valued in rows
    ]
    stray = pd.Series(beside, index=table.index, dtype=bool)
    has = f"It has {', '.join(asked[stray].iloc[0].outcomes)}." if stray.any() else ""
    checked.refuse(stray, "column 'outcome' must be one that the question has", "outcome", has)
    checked.unique(["source", "question", "outcome"], valued)
    beliefs = [name for name, question in known.items() if question.kind == BELIEF]
    belief = answered & ~valued & table["question"].isin(beliefs)
    remedy = "Read it off the model, or use the share of many draws."
    checked.refuse(belief, "beliefs need 'probability', not 'answer'", "answer", remedy)
    # Draws without a number are taken as different ones.
    checked.unique(["source", "question", "rep"], answered & (table["rep"].str.strip() != ""))
    checked.raise_errors()
    return table[answered | valued]


def beliefs_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the beliefs of all sources in settings, as `tabulate_beliefs` does."""
    pieces = [
        tabulate_beliefs(
            [
                (question, answered.beliefs[key])
                for question in belief_questions(settings)
                if (key := (question.setting.name, question.wording)) in answered.beliefs
            ],
            source=source,
        )
        for source, answered in answers.items()
    ]
    return pd.concat(pieces, ignore_index=True)


def stated_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the stated answers of all sources in settings, as `tabulate_stated` does."""
    questions = [question for setting in settings for question in stated_questions(setting)]
    pieces = [
        tabulate_stated(
            [
                (question, answered.stated[question.name])
                for question in questions
                if question.name in answered.stated
            ],
            source=source,
        )
        for source, answered in answers.items()
    ]
    return pd.concat(pieces, ignore_index=True)


class _Reader:
    """Reads the answers of one source, question by question, and collects their errors."""

    def __init__(self, filled: pd.DataFrame, known: dict[str, BatteryQuestion]) -> None:
        self.errors: list[str] = []
        self.known = known
        self.masses: dict[str, Masses] = {}
        self.drawn: dict[str, list[str | None]] = {}
        for name, rows in filled.groupby("question", sort=False):
            self._read(known[str(name)], rows)

    def _read(self, question: BatteryQuestion, rows: pd.DataFrame) -> None:
        where = f"row {listing(rows.index)}"
        drawn = rows["answer"].str.strip() != ""
        if drawn.any() and not drawn.all():
            self.errors.append(
                f"question {question.name!r} has both probabilities and drawn answers ({where}). "
                "Keep one of them."
            )
        elif drawn.any():
            letters = [question.letter_of(answer) for answer in rows["answer"]]
            self.drawn[question.name] = letters
            # Draws that choose nothing stay in the denominator, as mass off the options.
            self.masses[question.name] = {
                letter: letters.count(letter) / len(letters) for letter in question.outcomes
            }
        else:
            self._read_probabilities(question, rows, where)

    def _read_probabilities(
        self, question: BatteryQuestion, rows: pd.DataFrame, where: str
    ) -> None:
        missing = [outcome for outcome in question.outcomes if outcome not in set(rows["outcome"])]
        if missing:
            self.errors.append(
                f"question {question.name!r} lacks the probability of {', '.join(missing)} "
                f"({where}). Fill in 0 for what never comes."
            )
            return
        total = float(rows["probability"].sum())
        if total > 1 + STATE_SUM_TOLERANCE:
            self.errors.append(
                f"probabilities of question {question.name!r} must sum to at most 1; they sum to "
                f"{total:g} ({where})."
            )
            return
        # Less than 1 is left as it is: the rest went to other answers.
        scale = max(total, 1.0)
        self.masses[question.name] = {
            outcome: float(number) / scale
            for outcome, number in zip(rows["outcome"], rows["probability"], strict=True)
        }

    def answers(self) -> Answers:
        """Put together what was read."""
        beliefs: Beliefs = {}
        lettered: dict[tuple[str, str], list[BatteryQuestion]] = {}
        for name, question in self.known.items():
            if question.kind != BELIEF:
                lettered.setdefault((question.kind, question.setting.name), []).append(question)
            elif name in self.masses:
                beliefs[question.setting.name, question.wording] = self.masses[name]
        stated: dict[str, Masses] = {}
        bets: dict[str, Bet] = {}
        for (kind, setting), orders in lettered.items():
            missing = [order.name for order in orders if order.name not in self.masses]
            if len(missing) == len(orders):
                continue
            if missing:
                self.errors.append(
                    f"setting {setting!r} needs all {len(orders)} orders of its options, or none; "
                    f"{missing[0]!r} is not filled in."
                )
            elif kind == STATED:
                stated |= {order.name: self.masses[order.name] for order in orders}
            else:
                bets[setting] = self._bet(setting, orders)
        return Answers(beliefs, stated, bets)

    def _bet(self, setting: str, orders: Sequence[BatteryQuestion]) -> Bet:
        drawn = [self.drawn.get(order.name, []) for order in orders]
        # Else the actions would favour an order, which the share does not.
        if len({len(letters) for letters in drawn}) > 1:
            counts = " and ".join(str(len(letters)) for letters in drawn)
            self.errors.append(
                f"bets on {setting!r} need as many drawn answers in each order of the options; "
                f"received {counts}."
            )
        return bet_of_masses([(order, self.masses[order.name]) for order in orders], drawn)
