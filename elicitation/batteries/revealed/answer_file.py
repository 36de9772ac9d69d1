"""Answers from elsewhere: the table of questions, filled in, as beliefs, stated answers, bets.

What is not filled in was not asked. All faults of a file are listed at once, with their rows.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from coherence.errors import InputError, SchemaError
from coherence.table.schema import STATE_SUM_TOLERANCE
from elicitation.batteries.revealed.answer_faults import (
    column_faults,
    name_rows,
    question_faults,
    value_faults,
)
from elicitation.batteries.revealed.battery import BELIEF, STATED, BatteryQuestion, battery
from elicitation.batteries.revealed.beliefs import tabulate_beliefs
from elicitation.batteries.revealed.bets import NO, YES, Beliefs, Bet, bet_of_masses
from elicitation.batteries.revealed.options import OptionQuestion
from elicitation.batteries.revealed.reading import Masses
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting
from elicitation.batteries.revealed.stated import tabulate_stated

_EMPTY = (
    "nothing is filled in. Write numbers into 'probability', or what was answered into 'answer'."
)
_DECISIONS = {"Yes": YES, "No": NO}


@dataclass(frozen=True)
class Answers:
    """What somebody answered."""

    # setting and wording -> probability of every outcome, not renormalised; with the settings that
    # only the law of iterated expectation needs
    beliefs: Beliefs
    # setting -> probability of every letter, one dict for each order of the options
    stated: dict[str, list[Masses]]
    bets: dict[str, Bet]  # by setting


def read_answer_file(
    path: str | os.PathLike[str], settings: Sequence[Setting]
) -> dict[str, Answers]:
    """Read what was elicited elsewhere."""
    table = _read(path)
    faults = column_faults(table)
    if faults:
        raise SchemaError(faults, f"answers {path}")
    filled = _filled(table, Path(path).stem)
    known = {question.name: question for question in battery(settings)}
    faults = [*value_faults(filled), *question_faults(filled, known)] if len(filled) else [_EMPTY]
    if faults:
        raise SchemaError(faults, f"answers {path}")
    answers = {}
    for source, rows in filled.groupby("source", sort=False):
        reader = _Reader(rows, known)
        answers[str(source)] = reader.answers()
        faults += [
            f"{fault} (source {source!r})" if filled["source"].nunique() > 1 else fault
            for fault in reader.faults
        ]
    if faults:
        raise SchemaError(faults, f"answers {path}")
    return answers


def _read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the file as text, with an empty one for what is missing."""
    parquet = Path(path).suffix.lower() == ".parquet"
    try:
        if not parquet:
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"answers {path} cannot be read as {'parquet' if parquet else 'CSV'}: {error}"
        ) from error
    return pd.DataFrame({name: [_text(value) for value in table[name]] for name in table.columns})


def _text(value: object) -> str:
    """Return a value as a CSV file has it."""
    if value is None or value is pd.NA or value != value:
        return ""
    # A column of whole numbers is one of floats as soon as a value is missing.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def beliefs_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the beliefs of all sources in settings, as `tabulate_beliefs` does."""
    keys = [(setting, wording) for setting in settings for wording in setting.texts]
    pieces = [
        tabulate_beliefs(
            [
                (setting, wording, answered.beliefs[setting.name, wording])
                for setting, wording in keys
                if (setting.name, wording) in answered.beliefs
            ],
            source=source,
        )
        for source, answered in answers.items()
    ]
    return pd.concat(pieces, ignore_index=True)


def stated_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the stated answers of all sources in settings, as `tabulate_stated` does."""
    pieces = [
        tabulate_stated(
            [
                (setting, answered.stated[setting.name])
                for setting in settings
                if setting.name in answered.stated
            ],
            source=source,
        )
        for source, answered in answers.items()
    ]
    return pd.concat(pieces, ignore_index=True)


def _filled(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return the rows that are filled in, with all columns that a reader looks at."""
    # Numbered before any is left out: faults name rows of the file.
    table = table.assign(row=np.arange(len(table)))
    for column in ("outcome", "probability", "answer", "rep", "wording", "source"):
        if column not in table.columns:
            table[column] = ""
    table["wording"] = table["wording"].where(table["wording"].str.strip() != "", REFERENCE)
    table["source"] = table["source"].where(table["source"].str.strip() != "", source)
    if "question" not in table.columns:
        table["question"] = table["setting"] + " | " + table["wording"]
    table["number"] = pd.to_numeric(table["probability"], errors="coerce")
    return table[(table["probability"].str.strip() != "") | (table["answer"].str.strip() != "")]


class _Reader:
    """Reads the answers of one source, question by question, and collects their faults."""

    def __init__(self, filled: pd.DataFrame, known: dict[str, BatteryQuestion]) -> None:
        self.faults: list[str] = []
        self.known = known
        self.masses: dict[str, Masses] = {}
        self.drawn: dict[str, list[str | None]] = {}
        for name, rows in filled.groupby("question", sort=False):
            self._read(known[str(name)], rows)

    def _read(self, question: BatteryQuestion, rows: pd.DataFrame) -> None:
        where = name_rows(pd.Series(True, index=rows.index), rows)
        drawn = rows["answer"].str.strip() != ""
        if drawn.any() and not drawn.all():
            self.faults.append(
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
            self.faults.append(
                f"question {question.name!r} lacks the probability of {', '.join(missing)} "
                f"({where}). Fill in 0 for what never comes."
            )
            return
        total = float(rows["number"].sum())
        if total > 1 + STATE_SUM_TOLERANCE:
            self.faults.append(
                f"probabilities of question {question.name!r} must sum to at most 1; they sum to "
                f"{total:g} ({where})."
            )
            return
        # Less than 1 is left as it is: the rest went to other answers.
        scale = max(total, 1.0)
        self.masses[question.name] = {
            outcome: float(number) / scale
            for outcome, number in zip(rows["outcome"], rows["number"], strict=True)
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
        stated: dict[str, list[Masses]] = {}
        bets: dict[str, Bet] = {}
        for (kind, setting), orders in lettered.items():
            missing = [order.name for order in orders if order.name not in self.masses]
            if len(missing) == len(orders):
                continue
            if missing:
                self.faults.append(
                    f"setting {setting!r} needs all {len(orders)} orders of its options, or none; "
                    f"{missing[0]!r} is not filled in."
                )
            elif kind == STATED:
                stated[setting] = [self.masses[order.name] for order in orders]
            else:
                bets[setting] = self._bet(setting, orders)
        return Answers(beliefs, stated, bets)

    def _bet(self, setting: str, orders: Sequence[BatteryQuestion]) -> Bet:
        bet = bet_of_masses(
            [
                (OptionQuestion(order.text, order.outcomes, order.options), self.masses[order.name])
                for order in orders
            ]
        )
        drawn = [self.drawn.get(order.name, []) for order in orders]
        # Else the actions would favour an order, which the share does not.
        if len({len(letters) for letters in drawn}) > 1:
            counts = " and ".join(str(len(letters)) for letters in drawn)
            self.faults.append(
                f"bets on {setting!r} need as many drawn answers in each order of the options; "
                f"received {counts}."
            )
        decisions = [
            None if letter is None else _DECISIONS[order.options[order.outcomes.index(letter)]]
            for order, letters in zip(orders, drawn, strict=True)
            for letter in letters
        ]
        return Bet(bet.share, bet.answer_mass, tuple(decisions))
