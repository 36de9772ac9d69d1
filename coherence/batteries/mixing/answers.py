"""The table of answers: read, checked, counted by condition, and laid out as a runs table.

A row is one answer, or `count` equal ones; a row with a `probability` is an outcome whose rate is
known exactly. Answers that cannot be read stay in the table with their status, leave the
denominator of the rates, and come back as bounds on every score. The `p` of the runs table is
instructed, not stated: the rate that an action should have. There is no realised state, so that
only the direction of the choices can be checked: does an action become more frequent as its best
rate rises?
"""

import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.battery import (
    AnswerColumn,
    AnswerTable,
    plain_text,
    read_answer_table,
)
from coherence.batteries.mixing.design import GAMES, MIDDLE, ORDERS, PARTS, optimal_rates
from coherence.decoding.decode import PARSED, STATUSES
from coherence.inputs import Floats
from coherence.runs.formats import require_frame

COLUMNS = (
    AnswerColumn("model"),
    AnswerColumn("experiment", required=True, one_of=tuple(PARTS)),
    # Of words one half.
    AnswerColumn("p", number=True, low=0, high=1, may_lack=True, default=np.nan),
    AnswerColumn("item"),
    AnswerColumn("order"),
    AnswerColumn("answer", required=True),
    AnswerColumn("status", one_of=STATUSES),
    AnswerColumn("count", number=True, low=0, whole=True, default=1),
    AnswerColumn(
        "probability", number=True, low=0, high=1, above=1e-6, may_lack=True, default=np.nan
    ),
    AnswerColumn("draw", number=True, may_lack=True, default=np.nan),
)
MOST_DRAWS = 10_000
"""Answers to one condition that are scored as drawn ones; the exact expectations take time and
memory that grow with the square."""
RUN_PARTS = ("flip", "reads", "pennies", "positioning")
"""Parts with two actions whose best rate varies; three outcomes have no single p, and that of words
is always one half."""
_CONDITION = ["p", "item", "order"]
_KEYS = ["model", "experiment", *_CONDITION]
_TEXTS = ("model", "experiment", "item", "order", "answer", "status")


def read_mixing_answers(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table of answers that were elicited elsewhere or earlier.

    `path` is a .csv or .parquet file with the columns of `COLUMNS`; answers are text, so that "0 1"
    and "01" stay what they are. Raises `InputError` for a file that is missing, empty or
    unreadable.

    Examples
    --------
    >>> import tempfile
    >>> from coherence.batteries import simulate_mixing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     simulate_mixing("ideal", n_draws=5, rng=1).to_csv(f"{folder}/mine.csv")
    ...     answers = read_mixing_answers(f"{folder}/mine.csv")
    >>> answers["answer"].unique().tolist()[:4]
    ['0', '1', '0 0', '0 1']
    """
    return read_answer_table(path, texts=_TEXTS)


def _with_status(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which answers without a status have one: parsed, where there are words."""
    if "status" in table.columns or "answer" not in table.columns:
        return table
    return table.assign(status=np.where(table["answer"].notna(), "ok", "unparsed"))


@dataclass(frozen=True, eq=False)
class Counts:
    """Answers to one part of the battery by one model."""

    part: str  # name in `coherence.batteries.mixing.design.PARTS`.
    conditions: pd.DataFrame  # shape (n_conditions, 3): `p`, `item`, `order`; sorted
    # shape (n_conditions, n_outcomes): parsed answers by outcome; probabilities where `exact`
    weights: Floats
    # shape (n_conditions, n_statuses): unparsed answers by status, in the unit of `weights`
    failures: pd.DataFrame
    exact: bool  # whether the rates are known and not drawn

    @property
    def p(self) -> Floats:
        """Instructed probabilities or parameters, shape (n_conditions,)."""
        return self.conditions["p"].to_numpy(dtype=np.float64)

    @property
    def parsed(self) -> Floats:
        """Readable answers by condition, shape (n_conditions,)."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Rates of the outcomes among parsed answers; NaN where there are none."""
        total = self.parsed[:, None]
        return np.divide(
            self.weights, total, out=np.full_like(self.weights, np.nan), where=total > 0
        )

    @property
    def draws(self) -> Floats:
        """Draws behind the rates; infinite where they are exact."""
        return np.full(len(self.weights), np.inf) if self.exact else self.parsed

    @property
    def unparsed(self) -> Floats:
        """Share of unparsed answers by condition, refused ones included."""
        lost = self.failures.to_numpy(dtype=np.float64).sum(axis=1)
        return np.asarray(lost / (lost + self.parsed))

    @property
    def refused(self) -> Floats:
        """Share of refused answers by condition."""
        lost = self.failures.to_numpy(dtype=np.float64)
        refused = self.failures["refused"].to_numpy(dtype=np.float64)
        return np.asarray(refused / (lost.sum(axis=1) + self.parsed))


def check_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all `COLUMNS` in their types, and the number of each row's `outcome`."""
    answers = require_frame(answers, "answers")
    checked = AnswerTable(_with_status(answers), COLUMNS)
    table = checked.table
    # A rounding error in p must not part one condition in two.
    table["p"] = table["p"].round(9)
    part, words = table["experiment"], table["experiment"] == "words"
    lacks = table["p"].isna() & ~checked.not_numbers("p")
    checked.refuse(lacks & ~words, "column 'p' must hold probabilities in [0, 1]", "p")
    table.loc[words & lacks, "p"] = 0.5
    # At the ends one action is always best, and no equilibrium mixes.
    certain = part.isin(list(GAMES)) & table["p"].isin([0.0, 1.0])
    checked.refuse(certain, "the parameter of a game must lie strictly between 0 and 1", "p")
    above = (part == "three_outcomes") & (table["p"] > 1 - MIDDLE + 1e-9) & (table["p"] <= 1)
    rule = f"the probability of outcome 0 among three must be at most {1 - MIDDLE:g}"
    checked.refuse(above, rule, "p")
    item = table["item"]
    paired = item.str.count("/").eq(1) & ~item.str.startswith("/") & ~item.str.endswith("/")
    rule = "column 'item' must name the two words of 'words' as 'first/second'"
    checked.refuse(words & ~paired, rule, "item")
    rule = f"column 'order' must be {' or '.join(ORDERS)} for 'words'"
    checked.refuse(words & ~table["order"].isin(ORDERS), rule, "order")
    table["outcome"] = _outcomes(table)
    if not checked.errors:
        checked.refuse(
            table["status"].isin(PARSED) & (table["outcome"] < 0),
            "a parsed 'answer' must be one of the outcomes of its experiment",
            "answer",
            "Give it the status that says why it is none; outcomes: docs/batteries.md#mixing.",
        )
    if not checked.errors:
        _check_conditions(checked)
    checked.raise_errors()
    return table


def _check_conditions(checked: AnswerTable) -> None:
    """Add what is wrong with conditions as wholes, where every row for itself is right."""
    table, errors = checked.table, checked.errors
    exact = table["probability"].notna()
    share_exact = exact.groupby([table["model"], table["experiment"]]).mean()
    for (_, part), share in zip(share_exact.index.to_list(), share_exact, strict=True):
        if 0 < share < 1:
            errors.append(
                f"the rows of {part!r} must all have a 'probability', or none; "
                f"{share:.0%} have one."
            )
    totals = table.groupby(_KEYS, sort=False)["probability"].sum()
    if len(over := totals[totals > 1 + 1e-6]):
        errors.append(
            "the probabilities of a condition must sum to at most 1; "
            f"those of {_condition(over.index[0])} sum to {over.iloc[0]:g}."
        )
    remedy = "Leave rows out, or number the draws anew."
    checked.unique([*_KEYS, "draw"], ~exact & table["draw"].notna(), remedy=remedy)
    # Of exact rates an outcome has one row; of drawn answers it may have any number.
    parsed = exact & table["status"].isin(PARSED)
    remedy = "Leave rows out, or add their probabilities up."
    checked.unique([*_KEYS, "outcome"], parsed, named="answer", remedy=remedy)
    answers = table[~exact].groupby(_KEYS, sort=False)["count"].sum()
    if len(none := answers[answers == 0]):
        errors.append(
            f"every condition must have answers; the counts of {len(none)} are all 0, "
            f"the first is {_condition(none.index[0])}. Leave their rows out."
        )
    if len(many := answers[answers > MOST_DRAWS]):
        errors.append(
            f"a condition must have at most {MOST_DRAWS} answers; {len(many)} have more, "
            f"the first is {_condition(many.index[0])} with {many.iloc[0]:g}. Rates of so many "
            "are hardly noisy: give exact rates in 'probability' instead of 'count'."
        )


def _condition(key: Any) -> str:
    """Name a condition by what it has: the experiment, p or a pair of words, perhaps a model."""
    model, part, p, item, order = key
    condition = f"{part} {item!r} {order}" if item else f"{part} at p = {p:g}"
    return f"{condition} of model {model!r}" if model else condition


def _outcomes(table: pd.DataFrame) -> "pd.Series[int]":
    """Return the number of each row's outcome in its part; -1 for none."""
    codes = pd.Series(-1, index=table.index)
    answers = plain_text(table["answer"]).map(_plain)
    pairs = table["item"].where(table["experiment"] == "words", "")
    for (name, pair), rows in answers.groupby([table["experiment"], pairs], sort=False):
        if name in PARTS:
            outcomes = str(pair).split("/") if pair else PARTS[str(name)].outcomes
            numbers = {_plain(outcome): number for number, outcome in enumerate(outcomes)}
            codes[rows.index] = rows.map(numbers).fillna(-1).astype(int)
    return codes


def _plain(answer: str) -> str:
    """Return an answer as it is compared: spreadsheets turn 0 into 0.0, and 0 1 may be 01."""
    return re.sub(r"(?<=^\d)(\.0$| (?=\d$))", "", answer.strip().casefold())


def count_checked(table: pd.DataFrame) -> dict[str, dict[str, Counts]]:
    """Count a table from `check_answers`, by model and part."""
    return {
        str(model): {
            str(part): _count(str(part), rows)
            for part, rows in by_model.groupby("experiment", sort=False)
        }
        for model, by_model in table.groupby("model", sort=False)
    }


def _count(part: str, rows: pd.DataFrame) -> Counts:
    exact = bool(rows["probability"].notna().any())
    weight = rows["probability"] if exact else rows["count"]
    condition = rows.groupby(_CONDITION, sort=True).ngroup()
    conditions = rows[_CONDITION].drop_duplicates().sort_values(_CONDITION, ignore_index=True)
    parsed = rows["status"].isin(PARSED).to_numpy()
    weights = np.zeros((len(conditions), len(PARTS[part].outcomes)))
    np.add.at(weights, (condition[parsed], rows["outcome"][parsed]), weight[parsed])
    failures = pd.DataFrame(
        {
            status: np.bincount(condition, weight * (rows["status"] == status), len(conditions))
            for status in STATUSES
            if status not in PARSED
        }
    )
    if exact:
        # What the probabilities lack to 1 went to no parsed answer.
        failures["unparsed"] += np.maximum(1 - weights.sum(axis=1) - failures.sum(axis=1), 0)
    return Counts(part, conditions, weights, failures, exact)


def mixing_runs(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the drawn answers as a runs table."""
    table = check_answers(answers)
    drawn = table[table["experiment"].isin(RUN_PARTS) & table["probability"].isna()]
    drawn = drawn.loc[drawn.index.repeat(drawn["count"].astype(int))].reset_index(drop=True)
    part, best = drawn["experiment"], drawn["p"].copy()
    action = pd.Series(None, index=drawn.index, dtype=object)
    for name in RUN_PARTS:
        best[part == name] = optimal_rates(name, drawn.loc[part == name, "p"].to_numpy())
        # What cannot be read must not become an action of its own.
        parsed = (part == name) & drawn["status"].isin(PARSED)
        action[parsed] = np.array(PARTS[name].outcomes)[drawn.loc[parsed, "outcome"]]
    context = [f"{name} p={value:g}" for name, value in zip(part, drawn["p"], strict=True)]
    named = {"task": "mixing:" + part, "model": drawn["model"], "context": context}
    runs = pd.DataFrame(named | {"p": best, "action": action, "status": drawn["status"]})
    if runs["action"].isna().all():
        runs = runs.iloc[:0]
    runs.insert(3, "rep", runs.groupby(["task", "model", "context"]).cumcount())
    return runs
