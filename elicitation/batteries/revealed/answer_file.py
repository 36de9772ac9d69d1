"""Answers from elsewhere: the table of questions, filled in, as beliefs, stated answers, bets.

What is not filled in was not asked. All errors of a file are listed at once, with their rows.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable, read_answer_table
from coherence.decoding.ranges import STATED_SUM
from coherence.errors import InputError, SchemaError, closest, listing
from elicitation.batteries.revealed.questions import (
    BELIEF,
    BET,
    BatteryQuestion,
    Masses,
    RevealedAnswers,
    battery,
    belief_questions,
)
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting

_COLUMNS = (
    *map(AnswerColumn, ("question", "setting", "outcome", "answer", "rep", "wording", "source")),
    AnswerColumn("probability", number=True, low=0, high=1, may_lack=True, default=math.nan),
)
_NEEDED = (("question", "setting"), ("probability", "answer"))
"""Of each pair a file must have one."""


def read_answer_file(
    path: str | os.PathLike[str], settings: Sequence[Setting], *, only_revealed: bool = False
) -> dict[str, RevealedAnswers]:
    """Read what was elicited elsewhere, by who answered; with `only_revealed` its beliefs alone."""
    known = {question.name: question for question in battery(settings)}
    filled = _filled(read_answer_table(path, texts=None), path, known)
    answers, errors = {}, []
    several = filled["source"].nunique() > 1
    for source, rows in filled.groupby("source", sort=False):
        answers[str(source)], wrong = _answers(rows, known)
        errors += [f"{error} (source {source!r})" if several else error for error in wrong]
    if errors:
        raise SchemaError(errors, f"table of answers {path}")
    if only_revealed:
        revealed = {each.name for each in belief_questions(settings)}
        for given in answers.values():
            given.masses = {name: it for name, it in given.masses.items() if name in revealed}
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


def _answers(
    filled: pd.DataFrame, known: Mapping[str, BatteryQuestion]
) -> tuple[RevealedAnswers, list[str]]:
    """Return the answers of one source, and their errors."""
    answers, errors = RevealedAnswers(), list[str]()
    for name, rows in filled.groupby("question", sort=False):
        try:
            answers.masses[str(name)], letters = _masses(known[str(name)], rows)
        except InputError as error:
            errors.append(str(error))
        else:
            answers.letters[str(name)] = letters
    orders: dict[tuple[str, str], list[str]] = {}
    for name, question in known.items():
        if question.kind != BELIEF:
            orders.setdefault((question.kind, question.setting.name), []).append(name)
    for (kind, setting), names in orders.items():
        missing = [name for name in names if name not in answers.masses]
        n_drawn = [len(answers.letters[name]) for name in names if name in answers.masses]
        if missing and n_drawn:
            errors.append(
                f"setting {setting!r} needs all {len(names)} orders of its options, or "
                f"none; {missing[0]!r} is not filled in."
            )
        elif kind == BET and len({*n_drawn}) > 1:
            # Else the actions would favour an order, which the share does not.
            counts = " and ".join(map(str, n_drawn))
            errors.append(
                f"bets on {setting!r} need as many drawn answers in each order of the options; "
                f"received {counts}."
            )
    return answers, errors


def _masses(question: BatteryQuestion, rows: pd.DataFrame) -> tuple[Masses, list[str | None]]:
    """Return the probabilities of a question's outcomes, and the letters that were drawn."""
    where = f"row {listing(rows.index)}"
    drawn = rows["answer"].str.strip() != ""
    if drawn.any() and not drawn.all():
        raise InputError(
            f"question {question.name!r} has both probabilities and drawn answers ({where}). "
            "Keep one of them."
        )
    if drawn.any():
        letters = [question.letter_of(answer) for answer in rows["answer"]]
        # Draws that choose nothing stay in the denominator, as mass off the options.
        shares = {letter: letters.count(letter) / len(letters) for letter in question.outcomes}
        return shares, letters
    missing = [outcome for outcome in question.outcomes if outcome not in set(rows["outcome"])]
    if missing:
        raise InputError(
            f"question {question.name!r} lacks the probability of {', '.join(missing)} "
            f"({where}). Fill in 0 for what never comes."
        )
    total = float(rows["probability"].sum())
    if total > 1 + STATED_SUM:
        raise InputError(
            f"probabilities of question {question.name!r} must sum to at most 1; they sum to "
            f"{total:g} ({where})."
        )
    # Less than 1 is left as it is: the rest went to other answers.
    numbers = rows["probability"] / max(total, 1.0)
    return dict(zip(rows["outcome"], map(float, numbers), strict=True)), []
