"""The table of answers: read, checked, counted by condition, and laid out as a runs table.

A row is one answer, or `count` equal ones; a row with a `probability` is an outcome whose rate is
known exactly. Answers that cannot be read stay in the table with their status, leave the
denominator of the rates, and come back as bounds on every score.
"""

import os
import zlib
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.mixing.design import GAMES, MIDDLE, ORDERS, PARTS, optimal_rates
from coherence.errors import InputError, SchemaError, closest
from coherence.inputs import Floats
from coherence.table.exact_csv import read_exact_csv
from coherence.table.frames import require_frame, require_path
from coherence.table.schema import READABLE, STATUSES
from coherence.table.text_files import is_gzip, refuse_bomb

_FILE_TEXTS = ("model", "experiment", "item", "order", "answer", "status")
_FILE_KEYS = ["model", "experiment", "p", "item", "order"]


def read_mixing_answers(
    path: str | os.PathLike[str], *others: str | os.PathLike[str]
) -> pd.DataFrame:
    """Read tables of answers that were elicited elsewhere or earlier.

    Parameters
    ----------
    path, *others : path-like
        .csv or .parquet files with the columns of
        `coherence.batteries.mixing.answers.count_answers`; several are joined.

    Returns
    -------
    DataFrame
        The table; answers are text, so that "0 1" and "01" stay what they are. Of several files,
        one whose answers name no model gives them its own name, with as much of its folders as
        tells it from the others.

    Raises
    ------
    InputError
        A file is missing, empty or unreadable, or two files hold the same draws of a model, or
        draws that no number tells apart.

    Examples
    --------
    >>> import tempfile
    >>> import coherence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coherence.simulate_mixing("ideal", n_draws=5, rng=1).to_csv(f"{folder}/mine.csv")
    ...     answers = read_mixing_answers(f"{folder}/mine.csv")
    >>> answers["experiment"].unique().tolist()
    ['flip', 'two_flips', 'three_outcomes', 'reads', 'pennies', 'positioning', 'words']
    """
    paths = [require_path(one) for one in (path, *others)]
    tables = [_read(path) for path in paths]
    if len(tables) == 1:
        return tables[0]
    names = distinct_names(paths)
    tables = [
        _completed(table, Path(name).with_suffix("").as_posix())
        for table, name in zip(tables, names, strict=True)
    ]
    for first, second in combinations(zip(paths, tables, strict=True), 2):
        _check_apart(*first, *second)
    return pd.concat(tables, ignore_index=True)


def distinct_names(paths: list[Path]) -> list[str]:
    """Return the last parts of paths, as many as tell all of them apart."""
    resolved = [path.resolve() for path in paths]
    for path, whole in zip(paths, resolved, strict=True):
        if resolved.count(whole) > 1:
            raise InputError(f"{path} is named twice. Leave one of them out.")
    # The root is a part too, so that the longest names always differ.
    for length in range(1, max(len(whole.parts) for whole in resolved) + 1):
        names = [Path(*whole.parts[-length:]).as_posix() for whole in resolved]
        if len(set(names)) == len(names):
            break
    return names


def _read(source: Path) -> pd.DataFrame:
    if not source.is_file():
        raise InputError(f"{source}: no such file. Name a .csv or .parquet table of answers.")
    refuse_bomb(source)
    try:
        if source.suffix.lower() == ".parquet":
            return pd.read_parquet(source)
        return read_exact_csv(
            source,
            compression="gzip" if is_gzip(source) else None,
            dtype=dict.fromkeys(_FILE_TEXTS, str),
            keep_default_na=False,
            na_values=[""],
        )
    except (OSError, EOFError, ValueError, TypeError, NotImplementedError, zlib.error) as error:
        raise InputError(
            f"{source}: the file cannot be read ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def _completed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Fill in what this table leaves to its default, which would be lost in the joined table."""
    table = table.copy()
    for column, default in (("model", name), ("item", ""), ("order", "")):
        texts = pd.Series(None, index=table.index, dtype=object)
        if column in table.columns:
            texts = table[column].astype(object)
        table[column] = texts.where(texts.notna() & (texts != ""), default)
    if "count" not in table.columns:
        table["count"] = 1
    if "status" not in table.columns and "answer" in table.columns:
        table["status"] = np.where(table["answer"].notna(), "ok", "unparsed")
    return table


def _check_apart(path: Path, table: pd.DataFrame, other: Path, theirs: pd.DataFrame) -> None:
    """Raise where two files may hold the same answers."""
    keys = [name for name in _FILE_KEYS if name in table.columns and name in theirs.columns]
    if "experiment" not in keys:
        return  # a fault of the table, which is named where it is counted
    first, second = _numbered_draws(table, keys), _numbered_draws(theirs, keys)
    equal = first.dropna(subset="draw").merge(second.dropna(subset="draw"), on=[*keys, "draw"])
    # Exact rates, and draws without a number, may be those of any row of their condition.
    loose = [
        draws.loc[draws["draw"].isna(), keys].merge(rest[keys].drop_duplicates(), on=keys)
        for draws, rest in ((first, second), (second, first))
    ]
    if len(equal):
        what = f"the same {len(equal)} draws of model {_first(equal, 'model')}"
        remedy = (
            "Leave one file out; or rename the model in one of them; "
            "or, if all were drawn for themselves, number the draws of one file anew"
        )
    elif len(equal := pd.concat(loose)):
        what = (
            f"answers of model {_first(equal, 'model')} to the same conditions, "
            "and no draw numbers tell all of them apart"
        )
        remedy = "Leave one file out, or rename the model in one of them, or add a column draw"
    else:
        return
    condition = ", ".join(
        f"{name} {_first(equal, name)}"
        for name in equal.columns
        if name != "model" and equal[name].iloc[0] != ""
    )
    raise InputError(
        f"{path} and {other} hold {what}; the first: {condition}. They would count twice. {remedy}."
    )


def _numbered_draws(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the conditions of a table with the numbers of their draws, each once."""
    draws = table[keys].astype({"model": str})
    if "p" in keys:
        # Of words p may be absent, and a rounding error must not part one condition in two.
        draws["p"] = pd.to_numeric(draws["p"], errors="coerce").fillna(0.5).round(9)
    numbers = table["draw"] if "draw" in table.columns else pd.Series(np.nan, index=table.index)
    draws["draw"] = pd.to_numeric(numbers, errors="coerce")
    return draws.drop_duplicates()


def _first(table: pd.DataFrame, column: str) -> str:
    value = table[column].iloc[0]
    if column in ("model", "item"):
        return repr(value)
    return f"{value:g}" if column in ("p", "draw") else str(value)


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


RUN_PARTS = ("flip", "reads", "pennies", "positioning")
"""Parts with two actions whose best rate varies; three outcomes have no single p, and that of words
is always one half."""


def mixing_runs(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the drawn answers as a runs table."""
    count_answers(answers)  # every fault at once, before anything is laid out
    drawn = answers[answers["experiment"].isin(RUN_PARTS)]
    if "probability" in drawn.columns:
        drawn = drawn[drawn["probability"].isna()]
    if "count" in drawn.columns:
        drawn = drawn.loc[drawn.index.repeat(pd.to_numeric(drawn["count"]).fillna(0).astype(int))]
    drawn = drawn.reset_index(drop=True)
    answer = drawn["answer"].astype(object)
    status = (
        drawn["status"]
        if "status" in drawn.columns
        else pd.Series(np.where(answer.notna(), "ok", "unparsed"), index=drawn.index)
    )
    p = pd.to_numeric(drawn["p"]).astype(float).round(9)
    best = p.copy()
    for name in RUN_PARTS:
        rows = (drawn["experiment"] == name).to_numpy()
        best[rows] = optimal_rates(name, np.asarray(p[rows], dtype=np.float64))
    # What cannot be read must not become an action of its own.
    action = answer.map(_action, na_action="ignore").where(status.isin(READABLE), None)
    runs = pd.DataFrame(
        {
            "task": [f"mixing:{name}" for name in drawn["experiment"]],
            "model": plain_text(drawn["model"]) if "model" in drawn.columns else "",
            "context": [
                f"{name} p={value:g}" for name, value in zip(drawn["experiment"], p, strict=True)
            ],
            "p": best,
            "action": action,
            "status": status,
        }
    )
    if runs["action"].isna().all():
        runs = runs.iloc[:0]
    runs.insert(3, "rep", runs.groupby(["task", "model", "context"]).cumcount())
    return runs


def _action(answer: object) -> str:
    """Return an answer in the spelling of its outcome."""
    # Spreadsheets turn 0 into 0.0.
    text = str(answer).strip().casefold().removesuffix(".0")
    names = {outcome.casefold(): outcome for name in RUN_PARTS for outcome in PARTS[name].outcomes}
    return names.get(text, text)
