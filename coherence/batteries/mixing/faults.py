"""What is wrong with a table of answers: rules of its rows, and of conditions as wholes.

Values are quoted as they were received, so that whoever wrote the table finds them.
"""

from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import MIDDLE, ORDERS, PARTS
from coherence.batteries.mixing.equilibrium import GAMES
from coherence.table.schema import READABLE, STATUSES

MOST_DRAWS = 10_000
"""Answers to one condition that are scored as drawn ones; the exact expectations take time and
memory that grow with the square."""
NUMBERS = ("p", "count", "probability", "draw")
_SHARE_TOLERANCE = 1e-6
_MOST_ROWS = 5
_KEYS = ["model", "experiment", "p", "item", "order"]


def answer_faults(table: pd.DataFrame, received: pd.DataFrame) -> list[str]:
    """Return what is wrong with a table of answers."""
    faults = _Faults(table, received)
    _check_texts(table, faults)
    _check_numbers(table, faults)
    if not faults.messages:
        faults.add(
            table["status"].isin(READABLE) & (table["outcome"] < 0),
            "a readable 'answer' must be one of the outcomes of its experiment",
            "answer",
            " Give it the status that says why it is none, or see docs/mixing.md for the outcomes.",
        )
    return faults.messages or _condition_faults(table)


class _Faults:
    """Faults of rows, with the first value that is at fault."""

    def __init__(self, table: pd.DataFrame, received: pd.DataFrame) -> None:
        self.table, self.received = table, received
        self.messages: list[str] = []

    def add(self, wrong: "pd.Series[bool]", rule: str, column: str, remedy: str = "") -> None:
        """Add the fault of some rows, if there are any."""
        if wrong.any():
            rows = self.table.index[wrong]
            source = self.received if column in self.received.columns else self.table
            # Plain Python, whose text says no more than the value.
            first = source[column].astype(object).tolist()[rows[0]]
            self.messages.append(
                f"{rule}; the first other value is {first!r} (row {_shown(rows)}).{remedy}"
            )

    def no_number(self, name: str) -> "pd.Series[bool]":
        """Return where something stands that is no number: it must not count as absent."""
        if name not in self.received.columns:
            return pd.Series(False, index=self.received.index)
        column = self.received[name]
        unknown = pd.to_numeric(column, errors="coerce").isna()
        return unknown & column.notna() & (column.astype(str).str.strip() != "")

    def percent(self, name: str) -> str:
        """Return a remedy if a column holds percentages."""
        signs = name in self.received.columns and bool(
            self.received[name].astype(str).str.strip().str.endswith("%").any()
        )
        # A probability above 1 may be rounding, a `p` hardly.
        above = name == "p" and self.table["p"].max() > 1
        return " Divide percentages by 100." if signs or above else ""


def _check_texts(table: pd.DataFrame, faults: _Faults) -> None:
    """Add faults of the columns that name what was asked and what came of it."""
    part, item = table["experiment"], table["item"]
    experiments = f"column 'experiment' must be one of {', '.join(PARTS)}"
    faults.add(~part.isin(PARTS), experiments, "experiment")
    out_of_range = ~table["p"].between(0, 1) | faults.no_number("p")
    rule = "column 'p' must hold probabilities in [0, 1]"
    faults.add(out_of_range, rule, "p", faults.percent("p"))
    # At the ends one action is always best, and no equilibrium mixes.
    certain = part.isin(list(GAMES)) & table["p"].isin([0.0, 1.0])
    faults.add(certain, "the parameter of a game must lie strictly between 0 and 1", "p")
    above = (part == "three_outcomes") & (table["p"] > 1 - MIDDLE + 1e-9)
    rule = f"the probability of outcome 0 among three must be at most {1 - MIDDLE:g}"
    faults.add(above, rule, "p")
    words = part == "words"
    paired = item.str.count("/").eq(1) & ~item.str.startswith("/") & ~item.str.endswith("/")
    rule = "column 'item' must name the two words of 'words' as 'first/second'"
    faults.add(words & ~paired, rule, "item")
    rule = f"column 'order' must be {' or '.join(ORDERS)} for 'words'"
    faults.add(words & ~table["order"].isin(ORDERS), rule, "order")
    rule = f"column 'status' must be ok, a repair, or one of {', '.join(STATUSES[-4:])}"
    faults.add(~table["status"].isin(STATUSES), rule, "status")


def _check_numbers(table: pd.DataFrame, faults: _Faults) -> None:
    """Add faults of counts, exact rates and numbers of draws."""
    count, probability = table["count"], table["probability"]
    uncountable = ~np.isfinite(count) | (count < 0) | (count % 1 != 0)
    faults.add(uncountable, "column 'count' must hold whole numbers of at least 0", "count")
    out_of_range = (probability < 0) | (probability > 1 + _SHARE_TOLERANCE)
    out_of_range |= faults.no_number("probability")
    rule = "column 'probability' must lie in [0, 1]"
    faults.add(out_of_range, rule, "probability", faults.percent("probability"))
    unknown = faults.no_number("draw") | np.isinf(table["draw"])
    faults.add(unknown, "column 'draw' must hold numbers, or nothing", "draw")


def _condition_faults(table: pd.DataFrame) -> list[str]:
    """Return what is wrong with conditions as wholes, where every row for itself is right."""
    faults = []
    exact = table["probability"].notna()
    share_exact = exact.groupby([table["model"], table["experiment"]]).mean()
    for (_, part), share in zip(share_exact.index.to_list(), share_exact, strict=True):
        if 0 < share < 1:
            faults.append(
                f"the rows of {part!r} must all have a 'probability', or none; "
                f"{share:.0%} have one."
            )
    totals = table.groupby(_KEYS, sort=False)["probability"].sum()
    over = totals[totals > 1 + _SHARE_TOLERANCE]
    if len(over):
        faults.append(
            "the probabilities of a condition must sum to at most 1; "
            f"those of {_condition(over.index[0])} sum to {over.iloc[0]:g}."
        )
    for rows, name, what, remedy in (
        (~exact & table["draw"].notna(), "draw", "draw", "number the draws anew"),
        # Of exact rates an outcome has one row; of drawn answers it may have any number.
        (
            exact & table["status"].isin(READABLE),
            "outcome",
            "answer",
            "add their probabilities up",
        ),
    ):
        twice = table[rows][table[rows].duplicated([*_KEYS, name], keep=False)]
        if len(twice):
            faults.append(
                f"({', '.join([*_KEYS, what])}) must be unique; {len(twice)} rows share theirs "
                f"with another (row {_shown(twice.index)}), "
                f"and would count twice. Leave rows out, or {remedy}."
            )
    return faults + _count_faults(table[~exact].groupby(_KEYS, sort=False)["count"].sum())


def _count_faults(answers: "pd.Series[float]") -> list[str]:
    """Return what is wrong with the numbers of answers of conditions."""
    faults = []
    if len(none := answers[answers == 0]):
        faults.append(
            f"every condition must have answers; the counts of {len(none)} are all 0, "
            f"the first is {_condition(none.index[0])}. Leave their rows out."
        )
    if len(many := answers[answers > MOST_DRAWS]):
        faults.append(
            f"a condition must have at most {MOST_DRAWS} answers; {len(many)} have more, "
            f"the first is {_condition(many.index[0])} with {many.iloc[0]:g}. Rates of so many "
            "are hardly noisy: give exact rates in 'probability' instead of 'count'."
        )
    return faults


def _condition(key: Any) -> str:
    """Name a condition by what it has: the experiment, p or a pair of words, perhaps a model."""
    model, part, p, item, order = key
    condition = f"{part} {item!r} {order}" if item else f"{part} at p = {p:g}"
    return f"{condition} of model {model!r}" if model else condition


def _shown(rows: Any) -> str:
    """Name the first rows."""
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return ", ".join(map(str, rows[:_MOST_ROWS])) + more
