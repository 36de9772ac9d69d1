"""The whole battery asked elsewhere: every question as a row of a file, and what comes back filled in.

A question is identified by `question`, or by `setting` and `wording`. Beliefs are unfinished texts
whose outcomes get a probability each; stated answers and bets are questions with letters, which get
a probability each too, or answers that were drawn, one row per draw. What is not filled in was not
asked. All faults of a file are listed at once, with their rows.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from coherence.decoding.decode import decode_choice
from coherence.errors import InputError, SchemaError, closest
from coherence.table.schema import STATE_SUM_TOLERANCE
from elicitation.batteries.revealed.grid import in_between
from elicitation.batteries.revealed.reading import Masses
from elicitation.batteries.revealed.setting import REFERENCE, Setting
from elicitation.batteries.revealed.stated import (
    NO,
    YES,
    OptionQuestion,
    bet_questions,
    stated_questions,
)
from elicitation.batteries.revealed.tables import tabulate_beliefs, tabulate_stated
from elicitation.batteries.revealed.wager import Bet, Told, bet_of_masses, inner_settings, wagered

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
_EMPTY = (
    "nothing is filled in. Write numbers into 'probability', or what was answered into 'answer'."
)
_DECISIONS = {"Yes": YES, "No": NO}


@dataclass(frozen=True)
class Asked:
    """A question of the battery.

    Parameters
    ----------
    kind : str
        "belief", "stated" or "bet".
    setting : Setting
        What it is about.
    wording : str
        How a belief is asked for; "stated 1" to "stated 4" and "bet 1", "bet 2" are the orders of
        the options.
    text : str
        What is asked.
    outcomes : tuple of str
        What a probability is needed of: outcomes, or letters.
    options : tuple of str
        What the letters stand for; empty for a belief.
    """

    kind: str
    setting: Setting
    wording: str
    text: str
    outcomes: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Value of the column `question`."""
        return f"{self.setting.name} | {self.wording}"

    def letter_of(self, answer: str) -> str | None:
        """Return the letter that a drawn answer chooses, None if it chooses none."""
        ways = [
            (letter, *(f"{letter}{mark} {option}" for mark in ".):"), option)
            for letter, option in zip(self.outcomes, self.options, strict=True)
        ]
        for forms in zip(*ways, strict=True):
            for text in (answer, answer.strip(" ()[]*\n")):
                chosen = decode_choice(text, forms).value
                if chosen is not None:
                    return self.outcomes[forms.index(chosen)]
        return None


@dataclass(frozen=True)
class Answers:
    """What somebody answered.

    Parameters
    ----------
    told : dict of (str, str) to dict of str to float
        Setting and wording -> probability of every outcome, not renormalised; with the settings
        that only the law of iterated expectation needs.
    stated : dict of str to list of dict of str to float
        Setting -> probability of every letter, one dict for each order of the options.
    bets : dict of str to Bet
        By setting.
    """

    told: Told
    stated: dict[str, list[Masses]]
    bets: dict[str, Bet]


def battery(settings: Sequence[Setting], *, only_revealed: bool = False) -> list[Asked]:
    """Return all questions about settings.

    Parameters
    ----------
    settings : sequence of Setting
        From `elicitation.batteries.revealed.grid`.
    only_revealed : bool
        Whether to leave out stated answers, bets, and what the law of iterated expectation needs.

    Returns
    -------
    list of Asked
        Beliefs, then stated answers, then bets; the checks need beliefs and bets in more settings
        than these.
    """
    told = [
        *settings,
        *([] if only_revealed else [*in_between(settings), *inner_settings(settings)]),
    ]
    found = [
        Asked(BELIEF, setting, wording, text, setting.outcomes)
        for setting in told
        for wording, text in setting.texts.items()
    ]
    if only_revealed:
        return found

    def lettered(
        kind: str, setting: Setting, questions: Sequence[OptionQuestion]
    ) -> Iterator[Asked]:
        for place, question in enumerate(questions, start=1):
            yield Asked(
                kind, setting, f"{kind} {place}", question.text, question.letters, question.options
            )

    found += [
        asked
        for setting in settings
        for asked in lettered(STATED, setting, stated_questions(setting))
    ]
    found += [
        asked
        for setting in wagered(settings)
        for asked in lettered(BET, setting, bet_questions(setting))
    ]
    return found


def questions_table(settings: Sequence[Setting], *, only_revealed: bool = False) -> pd.DataFrame:
    """Return the questions for others to ask: `COLUMNS`, one row per outcome, with `probability`, `rep` and `answer` left to fill in.

    Parameters
    ----------
    settings, only_revealed
        See `battery`.

    Returns
    -------
    DataFrame
        Rows of a question follow each other.
    """
    rows = [
        (asked.kind, asked.name, asked.setting.name, asked.wording, asked.text, outcome, option)
        for asked in battery(settings, only_revealed=only_revealed)
        for outcome, option in zip(
            asked.outcomes, asked.options or [""] * len(asked.outcomes), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS[:7])).reindex(columns=list(COLUMNS))


def read_answers(path: str | os.PathLike[str], settings: Sequence[Setting]) -> dict[str, Answers]:
    """Read what was elicited elsewhere.

    Parameters
    ----------
    path : path-like
        .csv or .parquet file: `question` (or `setting` and, if it is not the reference one,
        `wording`), and `outcome` with `probability`, or, for stated answers and bets, `answer` with
        or without `rep`; `source` names several models. Rows with neither a probability nor an
        answer are left out.
    settings : sequence of Setting
        Settings that the file may speak of.

    Returns
    -------
    dict of str to Answers
        By source, which is the name of the file where it has no such column. Probabilities that sum
        to more than 1 from rounding, by 0.02 at most, are divided by their sum.

    Raises
    ------
    InputError
        The file cannot be read.
    SchemaError
        All faults of the file: missing columns, values that are no probabilities, unknown or
        incomplete questions, answers that contradict each other.
    """
    table = _read(path)
    faults = _column_faults(table)
    if faults:
        raise SchemaError(faults, f"answers {path}")
    filled = _filled(table, Path(path).stem)
    known = {asked.name: asked for asked in battery(settings)}
    faults = [*_value_faults(filled), *_question_faults(filled, known)] if len(filled) else [_EMPTY]
    if faults:
        raise SchemaError(faults, f"answers {path}")
    found = {}
    for source, own in filled.groupby("source", sort=False):
        reader = _Reader(own, known)
        found[str(source)] = reader.answers()
        faults += [
            f"{fault} (source {source!r})" if filled["source"].nunique() > 1 else fault
            for fault in reader.faults
        ]
    if faults:
        raise SchemaError(faults, f"answers {path}")
    return found


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
    """Return a value as a CSV file has it; a whole number stays one where missing others have made it a float."""
    if value is None or value is pd.NA or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def beliefs_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the beliefs of all sources in settings, as `elicitation.batteries.revealed.tables.tabulate_beliefs` does."""
    keys = [(setting, wording) for setting in settings for wording in setting.texts]
    pieces = []
    for source, own in answers.items():
        told = [
            (setting, wording, own.told[setting.name, wording])
            for setting, wording in keys
            if (setting.name, wording) in own.told
        ]
        pieces.append(tabulate_beliefs(told, source=source))
    return pd.concat(pieces, ignore_index=True)


def stated_of(answers: dict[str, Answers], settings: Sequence[Setting]) -> pd.DataFrame:
    """Lay out the stated answers of all sources, as `elicitation.batteries.revealed.tables.tabulate_stated` does."""
    pieces = [
        tabulate_stated(
            [
                (setting, own.stated[setting.name])
                for setting in settings
                if setting.name in own.stated
            ],
            source=source,
        )
        for source, own in answers.items()
    ]
    return pd.concat(pieces, ignore_index=True)


def _column_faults(table: pd.DataFrame) -> list[str]:
    faults = []
    names = list(table.columns)
    if "question" not in names and "setting" not in names:
        faults.append(
            f"column 'question' is missing, and 'setting' too. {closest('question', names)}"
        )
    if "probability" not in names and "answer" not in names:
        faults.append(
            f"column 'probability' is missing, and 'answer' too. {closest('probability', names)}"
        )
    if "probability" in names and "outcome" not in names:
        faults.append(
            f"column 'outcome' is missing: a probability belongs to one. {closest('outcome', names)}"
        )
    return faults if len(table) else [*faults, "it has no rows."]


def _filled(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return the rows that are filled in, with all columns that a reader looks at and the number of the row."""
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


def _rows(mask: pd.Series, filled: pd.DataFrame) -> str:
    """Name the first rows where a mask holds."""
    rows = filled.loc[mask, "row"].tolist()
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:5]))}" + (
        f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    )


def _value_faults(filled: pd.DataFrame) -> list[str]:
    given = filled["probability"].str.strip() != ""
    faults = []
    wrong = given & ~filled["number"].between(0, 1)
    if wrong.any():
        largest = filled.loc[wrong, "number"].max()
        faults.append(
            f"column 'probability' must hold numbers in [0, 1]; {int(wrong.sum())} of {int(given.sum())} values are not, the first is "
            f"{filled.loc[wrong, 'probability'].iloc[0]!r} ({_rows(wrong, filled)})."
            + (" Divide percentages by 100." if 1 < largest <= 100 else "")
        )
    both = given & (filled["answer"].str.strip() != "")
    if both.any():
        faults.append(
            f"'probability' and 'answer' are both filled in {_rows(both, filled)}. Keep one of them."
        )
    return faults


def _question_faults(filled: pd.DataFrame, known: dict[str, Asked]) -> list[str]:
    faults = []
    unknown = ~filled["question"].isin(list(known))
    if unknown.any():
        name = filled.loc[unknown, "question"].iloc[0]
        faults.append(
            f"column 'question' must name questions of this grid; {filled.loc[unknown, 'question'].nunique()} are not, the first is {name!r} "
            f"({_rows(unknown, filled)}). {closest(name, known)} Give the options that the questions were written with."
        )
    given = (filled["probability"].str.strip() != "") & ~unknown
    stray = given & pd.Series(
        [name in known and outcome not in known[name].outcomes for name, outcome in zip(filled["question"], filled["outcome"], strict=True)],
        index=filled.index, dtype=bool,
    )  # fmt: skip
    if stray.any():
        first = filled[stray].iloc[0]
        faults.append(
            f"column 'outcome' must be one that the question has; the first other value is {first['outcome']!r} for {first['question']!r} "
            f"({_rows(stray, filled)}). It has {', '.join(known[first['question']].outcomes)}."
        )
    twice = given & filled[given].duplicated(["source", "question", "outcome"], keep=False).reindex(
        filled.index, fill_value=False
    )
    if twice.any():
        faults.append(
            f"(source, question, outcome) must be unique; {int(twice.sum())} rows share theirs with another ({_rows(twice, filled)})."
        )
    drawn = (filled["answer"].str.strip() != "") & ~unknown
    belief = drawn & filled["question"].map(
        lambda name: name in known and known[name].kind == BELIEF
    )
    if belief.any():
        faults.append(
            f"beliefs need 'probability', not 'answer' ({_rows(belief, filled)}). Read it off the model, or use the share of many draws."
        )
    numbered = drawn & (filled["rep"].str.strip() != "")
    again = numbered & filled[numbered].duplicated(
        ["source", "question", "rep"], keep=False
    ).reindex(filled.index, fill_value=False)
    if again.any():
        faults.append(
            f"(source, question, rep) must be unique; {int(again.sum())} rows share theirs with another ({_rows(again, filled)})."
        )
    return faults


class _Reader:
    """Reads the answers of one source, question by question, and collects what is wrong with them."""

    def __init__(self, own: pd.DataFrame, known: dict[str, Asked]) -> None:
        self.faults: list[str] = []
        self.known = known
        self.masses: dict[str, Masses] = {}
        self.drawn: dict[str, list[str | None]] = {}
        for name, rows in own.groupby("question", sort=False):
            self._read(known[str(name)], rows)

    def _read(self, asked: Asked, rows: pd.DataFrame) -> None:
        where = _rows(pd.Series(True, index=rows.index), rows)
        drawn = rows["answer"].str.strip() != ""
        if drawn.any() and not drawn.all():
            self.faults.append(
                f"question {asked.name!r} has both probabilities and drawn answers ({where}). Keep one of them."
            )
        elif drawn.any():
            self.drawn[asked.name] = letters = [
                asked.letter_of(answer) for answer in rows["answer"]
            ]
            self.masses[asked.name] = {
                letter: letters.count(letter) / len(letters) for letter in asked.outcomes
            }
        else:
            self._read_probabilities(asked, rows, where)

    def _read_probabilities(self, asked: Asked, rows: pd.DataFrame, where: str) -> None:
        missing = [outcome for outcome in asked.outcomes if outcome not in set(rows["outcome"])]
        if missing:
            self.faults.append(
                f"question {asked.name!r} lacks the probability of {', '.join(missing)} ({where}). Fill in 0 for what never comes."
            )
            return
        total = float(rows["number"].sum())
        if total > 1 + STATE_SUM_TOLERANCE:
            self.faults.append(
                f"probabilities of question {asked.name!r} must sum to at most 1; they sum to {total:g} ({where})."
            )
            return
        scale = max(total, 1.0)
        self.masses[asked.name] = {
            outcome: float(number) / scale
            for outcome, number in zip(rows["outcome"], rows["number"], strict=True)
        }

    def answers(self) -> Answers:
        """Put together what was read."""
        told: Told = {}
        lettered: dict[tuple[str, str], list[Asked]] = {}
        for name, asked in self.known.items():
            if asked.kind != BELIEF:
                lettered.setdefault((asked.kind, asked.setting.name), []).append(asked)
            elif name in self.masses:
                told[asked.setting.name, asked.wording] = self.masses[name]
        stated: dict[str, list[Masses]] = {}
        bets: dict[str, Bet] = {}
        for (kind, setting), orders in lettered.items():
            given = [asked for asked in orders if asked.name in self.masses]
            if given and len(given) < len(orders):
                missing = next(asked.name for asked in orders if asked not in given)
                self.faults.append(
                    f"setting {setting!r} needs all {len(orders)} orders of its options, or none; {missing!r} is not filled in."
                )
            elif given and kind == STATED:
                stated[setting] = [self.masses[asked.name] for asked in orders]
            elif given:
                bets[setting] = self._bet(setting, orders)
        return Answers(told, stated, bets)

    def _bet(self, setting: str, orders: Sequence[Asked]) -> Bet:
        read = bet_of_masses(
            [
                (OptionQuestion(asked.text, asked.outcomes, asked.options), self.masses[asked.name])
                for asked in orders
            ]
        )
        drawn = [self.drawn.get(asked.name, []) for asked in orders]
        counts = " and ".join(str(len(letters)) for letters in drawn)
        if len({len(letters) for letters in drawn}) > 1:
            self.faults.append(
                f"bets on {setting!r} need as many drawn answers in each order of the options; received {counts}."
            )
        decisions = [
            None if letter is None else _DECISIONS[asked.options[asked.outcomes.index(letter)]]
            for asked, letters in zip(orders, drawn, strict=True)
            for letter in letters
        ]
        return Bet(read.share, read.answer_mass, tuple(decisions))
