"""Questions of a user's own, from a CSV or JSONL file.

One row per context has its texts and whatever is known of the truth. The texts are put into the
templates for tables (`elicitation.TABLE_PROMPTS`, or those of a file); nothing in a row is
interpreted, so braces, quotation marks and line breaks in it are asked as they stand.
"""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.errors import InputError, closest
from coherence.runs.columns import FEATURE_PREFIX, TRUTH_KINDS
from coherence.runs.formats import read_columns
from coherence.runs.frames import require_frame

COLUMNS = (
    "context",
    "belief_question",
    "yes_no_question",
    "action_question",
    "options",
    "theta",
    "p_true",
    "truth_kind",
)
"""Columns of a file of questions; beside them any column ``x_<name>``."""

OPTION_MARK = "|"
_TEXTS = ("belief_question", "yes_no_question", "action_question")
_AS_TEXT = ("context", "id", *_TEXTS, "options")
# An option is an answer of a few words; a paragraph in its place is a column that slipped.
_LONGEST_OPTION = 200


def load_questions(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a file of questions.

    Parameters
    ----------
    path : path-like
        ``.csv`` or ``.jsonl``; columns as in `COLUMNS`, of which ``context`` (or ``id``) and
        ``belief_question`` or ``yes_no_question`` are needed. ``options`` holds the actions: a list
        in JSONL, ``a|b|c`` in CSV.

    Returns
    -------
    DataFrame
        One row per context, texts as strings, ``options`` as tuples.

    Raises
    ------
    InputError
        The file cannot be read, or with every error at once (rows counted from 0).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> lines = "id,belief_question\nmonday,How probable is rain on Monday?\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "questions.csv"
    ...     _ = path.write_text(lines, encoding="utf-8")
    ...     questions = load_questions(path)
    >>> questions["context"].tolist()
    ['monday']
    """
    source = Path(path)
    table = _read(source)
    # The name that data sets in JSONL mostly use.
    if "context" not in table.columns and "id" in table.columns:
        table = table.rename(columns={"id": "context"})
    return check_questions(table, source=f"questions {source}")


def check_questions(table: pd.DataFrame, *, source: str = "questions") -> pd.DataFrame:
    """Check a table of questions that was made in Python; as `load_questions`."""
    table = require_frame(table, "questions")
    table = table.reset_index(drop=True)
    names = [str(name) for name in table.columns]
    errors = [
        f"column {name!r} is unknown; features begin with {FEATURE_PREFIX!r}. "
        f"{closest(name, COLUMNS, near='Closest column: {near!r}.', far='Columns: {quoted}.')}"
        for name in names
        if name not in COLUMNS and not name.startswith(FEATURE_PREFIX)
    ]
    if not len(table):
        errors.append("it has no rows.")
    if "context" not in names:
        errors.append("column 'context' (or 'id') is missing.")
    if not {"belief_question", "yes_no_question"} & set(names):
        errors.append(f"column 'belief_question' is missing. {closest('belief_question', names)}")
    if ("action_question" in names) != ("options" in names):
        errors.append(
            "columns 'action_question' and 'options' belong together; one of them is missing."
        )
    if "options" in names:
        options = pd.Series(map(_options, table["options"]), dtype=object, index=table.index)
        table = table.assign(options=options)
    for name in dict.fromkeys(name for name in names if name in COLUMNS):
        for rule, broken in _rules(name, table[name]).items():
            if rows := [str(row) for row, wrong in enumerate(map(bool, broken)) if wrong]:
                more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
                errors.append(
                    f"column {name!r} {rule}; see row{'s'[: len(rows) > 1]} "
                    f"{', '.join(rows[:5])}{more}."
                )
    if errors:
        raise InputError.all_at_once(
            f"{source} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    if "p_true" in names:
        table = table.assign(p_true=pd.to_numeric(table["p_true"]))
    return table.astype({"context": str})


def _rules(name: str, column: "pd.Series[Any]") -> dict[str, Iterable[Any]]:
    """Return what a column must be, with where it is not."""
    blank = column.map(_blank).astype(bool)
    rules: dict[str, Iterable[Any]] = {}
    if name in ("context", *_TEXTS):
        rules["is empty"] = blank
    if name == "context":
        # Two rows of one name would be resampled, and set beside each other, as one context.
        rules["must be unique"] = column.duplicated() & ~blank
    if name in _TEXTS:
        # JSONL may hold a number or a list where a text belongs.
        texts = column.map(lambda text: isinstance(text, str)).astype(bool)
        rules["must hold texts"] = ~blank & ~texts
    if name == "options":
        rules[
            f"must hold two or more different options ('a{OPTION_MARK}b'), in capitals and small "
            "letters too, each on one line"
        ] = [not _usable(options) for options in column]
    if name == "p_true":
        numbers = pd.to_numeric(column, errors="coerce")
        # An empty cell is a truth that is not known; a word in its place is an error.
        wrong = (numbers.isna() & ~blank) | (numbers < 0) | (numbers > 1)
        rules["must hold probabilities in [0, 1]"] = wrong
    if name == "truth_kind":
        rules[f"must be {' or '.join(TRUTH_KINDS)}"] = ~column.isin(TRUTH_KINDS)
    if name in _AS_TEXT:
        rules["has half a surrogate pair, which is no text"] = [
            any("\ud800" <= letter <= "\udfff" for letter in text)
            for text in ("".join(cell) if isinstance(cell, tuple) else str(cell) for cell in column)
        ]
    return rules


def _read(source: Path) -> pd.DataFrame:
    if source.suffix.lower() not in (".csv", ".jsonl"):
        raise InputError(f"questions must be a .csv or .jsonl file; received {source}.")
    return read_columns(source, _AS_TEXT)


def _blank(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or value is pd.NA
        or (isinstance(value, str) and not value.strip())
    )


def _options(value: Any) -> tuple[str, ...]:
    listed = value.split(OPTION_MARK) if isinstance(value, str) else value
    if isinstance(listed, list | tuple) and all(isinstance(option, str) for option in listed):
        return tuple(option.strip() for option in listed)
    return ()


def _usable(options: tuple[str, ...]) -> bool:
    # An answer is one line, and is found among the options whatever its case: options must differ
    # in more than that.
    fair = all(
        option and "\n" not in option and "\r" not in option and len(option) <= _LONGEST_OPTION
        for option in options
    )
    return fair and 1 < len(options) == len({option.casefold() for option in options})
