"""The table of answers, counted by condition.

A row is one answer, or `count` equal ones; a row with a `probability` is an outcome whose rate is
known exactly. Answers that cannot be read stay in the table with their status, leave the
denominator of the rates, and come back as bounds on every score.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import PARTS
from coherence.batteries.mixing.faults import NUMBERS, answer_faults
from coherence.errors import SchemaError, closest
from coherence.inputs import Floats
from coherence.table.frames import require_frame
from coherence.table.schema import READABLE, STATUSES

_CONDITION = ["p", "item", "order"]
_TEXTS = ("model", "item", "order")


@dataclass(frozen=True, eq=False)
class Counts:
    """Answers to one part of the battery by one model."""

    part: str  # name in `coherence.batteries.mixing.design.PARTS`.
    conditions: pd.DataFrame  # shape (n_conditions, 3): `p`, `item`, `order`; sorted
    # shape (n_conditions, n_outcomes): readable answers by outcome; probabilities where `exact`
    weights: Floats
    # shape (n_conditions, n_statuses): unreadable answers by status, in the unit of `weights`
    failures: pd.DataFrame
    exact: bool  # whether the rates are known and not drawn

    @property
    def p(self) -> Floats:
        """Instructed probabilities or parameters, shape (n_conditions,)."""
        return self.conditions["p"].to_numpy(dtype=np.float64)

    @property
    def readable(self) -> Floats:
        """Readable answers by condition, shape (n_conditions,)."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Rates of the outcomes among readable answers; NaN where there are none."""
        total = self.readable[:, None]
        return np.divide(
            self.weights, total, out=np.full_like(self.weights, np.nan), where=total > 0
        )

    @property
    def draws(self) -> Floats:
        """Draws behind the rates; infinite where they are exact."""
        return np.full(len(self.weights), np.inf) if self.exact else self.readable

    @property
    def unread(self) -> Floats:
        """Share of unreadable answers by condition, refused ones included."""
        lost = self.failures.to_numpy(dtype=np.float64).sum(axis=1)
        return np.asarray(lost / (lost + self.readable))

    @property
    def refused(self) -> Floats:
        """Share of refused answers by condition."""
        lost = self.failures.to_numpy(dtype=np.float64).sum(axis=1)
        return np.asarray(
            self.failures["refused"].to_numpy(dtype=np.float64) / (lost + self.readable)
        )


def count_answers(answers: pd.DataFrame) -> dict[str, dict[str, Counts]]:
    """Check a table of answers and count it."""
    table = _complete(answers)
    table["outcome"] = _outcomes(table)
    faults = answer_faults(table, answers.reset_index(drop=True))
    if faults:
        raise SchemaError(faults, "table of answers")
    return {
        str(model): {
            str(part): _count(str(part), rows)
            for part, rows in by_model.groupby("experiment", sort=False)
        }
        for model, by_model in table.groupby("model", sort=False)
    }


def _complete(answers: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all columns, in their types; what is no number is missing."""
    require_frame(answers, "answers")
    missing = [name for name in ("experiment", "answer") if name not in answers.columns]
    if missing:
        raise SchemaError(
            [f"column {name!r} is missing. {closest(name, answers.columns)}" for name in missing],
            "table of answers",
        )
    if len(answers) == 0:
        raise SchemaError(["it has no rows."], "table of answers")
    table = answers.reset_index(drop=True).copy()
    for name in ("experiment", *_TEXTS):
        table[name] = plain_text(table[name]) if name in table.columns else ""
    for name in NUMBERS:
        default = 1.0 if name == "count" else np.nan
        values = table[name] if name in table.columns else pd.Series(default, index=table.index)
        table[name] = pd.to_numeric(values, errors="coerce").astype(float)
    # A rounding error in p must not part one condition in two.
    table["p"] = table["p"].round(9)
    words = table["experiment"] == "words"
    table.loc[words & table["p"].isna(), "p"] = 0.5
    if "status" not in table.columns:
        table["status"] = np.where(table["answer"].notna(), "ok", "unparsed")
    return table


def plain_text(column: pd.Series) -> "pd.Series[str]":
    """Return a column as text, empty where it is missing."""
    return column.astype(object).where(column.notna(), "").astype(str)


def _outcomes(table: pd.DataFrame) -> "pd.Series[int]":
    """Return the number of each row's outcome in its part; -1 for none."""
    codes = pd.Series(-1, index=table.index)
    answers = plain_text(table["answer"]).str.strip().str.casefold()
    for name, part in PARTS.items():
        rows = table["experiment"] == name
        if name == "words":
            words = table.loc[rows, "item"].str.casefold().str.split("/")
            for number, word in enumerate((words.str[0], words.str[-1])):
                codes[word.index[answers[rows] == word]] = number
            continue
        # Spreadsheets turn 0 into 0.0, and two flips may be written without the blank.
        numbers = {outcome.casefold(): number for number, outcome in enumerate(part.outcomes)}
        if name in ("flip", "three_outcomes"):
            numbers |= {f"{outcome}.0": number for outcome, number in numbers.items()}
        elif name == "two_flips":
            numbers |= {outcome.replace(" ", ""): number for outcome, number in numbers.items()}
        codes[rows] = answers[rows].map(numbers).fillna(-1).astype(int)
    return codes


def _count(part: str, rows: pd.DataFrame) -> Counts:
    exact = bool(rows["probability"].notna().any())
    weight = rows["probability"] if exact else rows["count"]
    condition = rows.groupby(_CONDITION, sort=True).ngroup()
    conditions = rows[_CONDITION].drop_duplicates().sort_values(_CONDITION, ignore_index=True)
    readable = rows["status"].isin(READABLE).to_numpy()
    weights = np.zeros((len(conditions), len(PARTS[part].outcomes)))
    np.add.at(weights, (condition[readable], rows["outcome"][readable]), weight[readable])
    statuses = [status for status in STATUSES if status not in READABLE]
    failures = pd.DataFrame(0.0, index=conditions.index, columns=statuses)
    for status in statuses:
        lost = weight * (rows["status"] == status)
        failures[status] = np.bincount(condition, weights=lost, minlength=len(conditions))
    if exact:
        # What the probabilities lack to 1 went to no readable answer.
        failures["unparsed"] += np.maximum(1 - weights.sum(axis=1) - failures.sum(axis=1), 0)
    return Counts(part, conditions, weights, failures, exact)
