"""The table of answers: held against its rules, and counted by condition.

A row is one answer, or `count` equal ones; a row with a `probability` is an outcome whose rate is
known exactly. Answers that cannot be read stay in the table with their status, leave the
denominator of the rates, and come back as bounds on every score.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import MIDDLE, ORDERS, PARTS
from coherence.errors import SchemaError, closest
from coherence.inputs import Floats
from coherence.table.schema import READABLE, STATUSES

_SHARE_TOLERANCE = 1e-6
_MOST_ROWS = 5
_NUMBERS = ("p", "count", "probability", "draw")
MOST_DRAWS = 10_000
"""Answers to one condition that are scored as drawn ones; the exact expectations take time and
memory that grow with the square."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Answers to one part of the battery by one model.

    Parameters
    ----------
    part : str
        Name in `coherence.batteries.mixing.design.PARTS`.
    conditions : DataFrame, shape (n_conditions, 3)
        `p`, `item`, `order`; sorted.
    weights : ndarray, shape (n_conditions, n_outcomes)
        Readable answers by outcome; probabilities where `exact`.
    failures : DataFrame, shape (n_conditions, n_statuses)
        Unreadable answers by status, in the unit of `weights`.
    exact : bool
        Whether the rates are known and not drawn.
    """

    part: str
    conditions: pd.DataFrame
    weights: Floats
    failures: pd.DataFrame
    exact: bool

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
    """Check a table of answers and count it.

    Parameters
    ----------
    answers : DataFrame
        `experiment` (a name in `coherence.batteries.mixing.design.PARTS`), `p` (instructed
        probability of the first outcome, parameter of a game; words: 0.5 or absent), `answer`; for
        words `item` ("first word/second word" as in the forward order) and `order` ("forward" or
        "reverse", where the second word of the item is listed first). Optional: `model`, `draw`
        (number of the draw, unique in its condition), `status` (absent: ok where there is an
        answer, else unparsed), `count` (equal answers of a row; at most 10,000 in a condition) or
        `probability` (exact rate of the outcome, one row for each; what is missing to 1 counts as
        unparsed).

    Returns
    -------
    dict
        Model -> part -> counts.

    Raises
    ------
    SchemaError
        The table breaks a rule; every fault is listed.
    """
    table = _complete(answers)
    table["outcome"] = _outcomes(table)
    faults = _faults(table, answers.reset_index(drop=True))
    if faults:
        raise SchemaError(faults, "table of answers")
    return {
        str(model): {
            str(part): _count(str(part), own)
            for part, own in rows.groupby("experiment", sort=False)
        }
        for model, rows in table.groupby("model", sort=False)
    }


def _complete(answers: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in ("experiment", "answer") if name not in answers.columns]
    if missing:
        raise SchemaError(
            [f"column {name!r} is missing. {closest(name, answers.columns)}" for name in missing],
            "table of answers",
        )
    if len(answers) == 0:
        raise SchemaError(["it has no rows."], "table of answers")
    table = answers.reset_index(drop=True).copy()
    table["experiment"] = (
        table["experiment"].astype(object).where(table["experiment"].notna(), "").astype(str)
    )
    for name, default in (
        ("model", ""),
        ("item", ""),
        ("order", ""),
        ("draw", np.nan),
        ("p", np.nan),
        ("count", 1.0),
        ("probability", np.nan),
    ):
        if name not in table.columns:
            table[name] = default
    for name in ("model", "item", "order"):
        table[name] = table[name].astype(object).where(table[name].notna(), "").astype(str)
    for name in _NUMBERS:
        table[name] = pd.to_numeric(table[name], errors="coerce").astype(float)
    # A rounding error in p must not part one condition in two.
    table["p"] = table["p"].round(9)
    words = table["experiment"] == "words"
    table.loc[words & table["p"].isna(), "p"] = 0.5
    if "status" not in table.columns:
        table["status"] = np.where(table["answer"].notna(), "ok", "unparsed")
    return table


def _faults(table: pd.DataFrame, received: pd.DataFrame) -> list[str]:
    """Return what is wrong with a completed table; values are quoted as they were received."""
    faults = []

    def report(wrong: "pd.Series[bool]", rule: str, column: str, remedy: str = "") -> None:
        if wrong.any():
            rows = table.index[wrong]
            source = received if column in received.columns else table
            first = (
                source[column].astype(object).tolist()[rows[0]]
            )  # plain Python, whose text says no more than the value
            faults.append(
                f"{rule}; the first other value is {first!r} (row {_shown(rows)}).{remedy}"
            )

    known = table["experiment"].isin(PARTS)
    report(~known, f"column 'experiment' must be one of {', '.join(PARTS)}", "experiment")
    text = {name: _no_number(received, name) for name in _NUMBERS}
    percent = (
        " Divide percentages by 100." if table["p"].max() > 1 or _percentages(received, "p") else ""
    )
    report(
        ~table["p"].between(0, 1) | text["p"],
        "column 'p' must hold probabilities in [0, 1]",
        "p",
        percent,
    )
    games = table["experiment"].isin(["pennies", "positioning"])
    report(
        games & table["p"].isin([0.0, 1.0]),
        "the parameter of a game must lie strictly between 0 and 1",
        "p",
    )
    three = table["experiment"] == "three_outcomes"
    report(
        three & (table["p"] > 1 - MIDDLE + 1e-9),
        f"the probability of outcome 0 among three must be at most {1 - MIDDLE:g}",
        "p",
    )
    words = table["experiment"] == "words"
    paired = (
        table["item"].str.count("/").eq(1)
        & ~table["item"].str.startswith("/")
        & ~table["item"].str.endswith("/")
    )
    report(
        words & ~paired,
        "column 'item' must name the two words of 'words' as 'first/second'",
        "item",
    )
    report(
        words & ~table["order"].isin(ORDERS),
        f"column 'order' must be {' or '.join(ORDERS)} for 'words'",
        "order",
    )
    report(
        ~table["status"].isin(STATUSES),
        f"column 'status' must be ok, a repair, or one of {', '.join(STATUSES[-4:])}",
        "status",
    )
    count, probability = table["count"], table["probability"]
    report(
        ~np.isfinite(count) | (count < 0) | (count % 1 != 0),
        "column 'count' must hold whole numbers of at least 0",
        "count",
    )
    percent = " Divide percentages by 100." if _percentages(received, "probability") else ""
    out_of_range = (probability < 0) | (probability > 1 + _SHARE_TOLERANCE) | text["probability"]
    report(out_of_range, "column 'probability' must lie in [0, 1]", "probability", percent)
    report(
        text["draw"] | np.isinf(table["draw"]),
        "column 'draw' must hold numbers, or nothing",
        "draw",
    )
    if not faults:
        report(
            table["status"].isin(READABLE) & (table["outcome"] < 0),
            "a readable 'answer' must be one of the outcomes of its experiment",
            "answer",
            " Give it the status that says why it is none, or see docs/mixing.md for the outcomes.",
        )
    return faults or _condition_faults(table)


def _no_number(received: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Return where something was given that is no number: it must not count as absent."""
    if name not in received.columns:
        return pd.Series(False, index=received.index)
    unknown = pd.to_numeric(received[name], errors="coerce").isna()
    return unknown & received[name].notna() & (received[name].astype(str).str.strip() != "")


def _percentages(received: pd.DataFrame, name: str) -> bool:
    return name in received.columns and bool(
        received[name].astype(str).str.strip().str.endswith("%").any()
    )


def _condition_faults(table: pd.DataFrame) -> list[str]:
    """Return what is wrong with conditions as wholes, where every row for itself is right."""
    faults = []
    keys = ["model", "experiment", "p", "item", "order"]
    exact = table["probability"].notna()
    known_share = exact.groupby([table["model"], table["experiment"]]).mean()
    for (_, part), share in zip(known_share.index.to_list(), known_share, strict=True):
        if 0 < share < 1:
            faults.append(
                f"the rows of {part!r} must all have a 'probability', or none; "
                f"{share:.0%} have one."
            )
    totals = table.groupby(keys, sort=False)["probability"].sum()
    over = totals[totals > 1 + _SHARE_TOLERANCE]
    if len(over):
        faults.append(
            "the probabilities of a condition must sum to at most 1; "
            f"those of {_condition(over.index[0])} sum to {over.iloc[0]:g}."
        )
    for own, name in (
        (table[~exact & table["draw"].notna()], "draw"),
        (table[exact & table["status"].isin(READABLE)], "outcome"),
    ):
        twice = own[own.duplicated([*keys, name], keep=False)]
        if len(twice):
            what, remedy = (
                ("answer", "add their probabilities up")
                if name == "outcome"
                else (name, "number the draws anew")
            )
            faults.append(
                f"({', '.join([*keys, what])}) must be unique; {len(twice)} rows share theirs "
                f"with another (row {_shown(twice.index)}), "
                f"and would count twice. Leave rows out, or {remedy}."
            )
    answers = table[~exact].groupby(keys, sort=False)["count"].sum()
    if len(none := answers[answers == 0]):
        first = _condition(none.index[0])
        faults.append(
            f"every condition must have answers; the counts of {len(none)} are all 0, "
            f"the first is {first}. Leave their rows out."
        )
    if len(many := answers[answers > MOST_DRAWS]):
        first = _condition(many.index[0])
        faults.append(
            f"a condition must have at most {MOST_DRAWS} answers; {len(many)} have more, "
            f"the first is {first} with {many.iloc[0]:g}. "
            "Rates of so many are hardly noisy: give exact rates in 'probability' instead of "
            "'count'."
        )
    return faults


def _condition(key: Any) -> str:
    """Name a condition by what it has: the experiment, and p or the pair of words; several models need theirs."""
    model, part, p, item, order = key
    place = f"{part} {item!r} {order}" if item else f"{part} at p = {p:g}"
    return f"{place} of model {model!r}" if model else place


def _shown(rows: Any) -> str:
    """Name the first rows."""
    return ", ".join(map(str, rows[:_MOST_ROWS])) + (
        f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    )


def _outcomes(table: pd.DataFrame) -> Any:
    """Return the number of each row's outcome in its part; -1 for none."""
    codes = pd.Series(-1, index=table.index)
    said = (
        table["answer"]
        .astype(object)
        .where(table["answer"].notna(), "")
        .astype(str)
        .str.strip()
        .str.casefold()
    )
    for name, part in PARTS.items():
        own = table["experiment"] == name
        if name == "words":
            words = table.loc[own, "item"].str.casefold()
            for position, word in enumerate(
                (words.str.split("/").str[0], words.str.split("/").str[-1])
            ):
                codes[word.index[said[own] == word]] = position
            continue
        # Spreadsheets turn 0 into 0.0, and two flips may be written without the blank.
        names = {outcome.casefold(): position for position, outcome in enumerate(part.outcomes)}
        if name in ("flip", "three_outcomes"):
            names |= {f"{outcome}.0": position for outcome, position in names.items()}
        elif name == "two_flips":
            names |= {outcome.replace(" ", ""): position for outcome, position in names.items()}
        codes[own] = said[own].map(names).fillna(-1).astype(int)
    return codes


def _count(part: str, rows: pd.DataFrame) -> Counts:
    exact = bool(rows["probability"].notna().any())
    rows = rows.assign(weight=rows["probability"] if exact else rows["count"])
    keys = ["p", "item", "order"]
    place = rows.groupby(keys, sort=True).ngroup()
    conditions = rows[keys].drop_duplicates().sort_values(keys, ignore_index=True)
    readable = rows["status"].isin(READABLE).to_numpy()
    weights = np.zeros((len(conditions), len(PARTS[part].outcomes)))
    np.add.at(weights, (place[readable], rows["outcome"][readable]), rows["weight"][readable])
    statuses = [status for status in STATUSES if status not in READABLE]
    failures = pd.DataFrame(0.0, index=conditions.index, columns=statuses)
    for status in statuses:
        failures[status] = np.bincount(
            place, weights=rows["weight"] * (rows["status"] == status), minlength=len(conditions)
        )
    if exact:
        failures["unparsed"] += np.maximum(1 - weights.sum(axis=1) - failures.sum(axis=1), 0)
    return Counts(part, conditions, weights, failures, exact)
