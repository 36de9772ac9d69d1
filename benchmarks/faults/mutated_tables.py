"""Files as strangers have them: small valid tables, mutated, and what became of each when read.

Run as ``python benchmarks/faults/mutated_tables.py --tables 1000 --seed 0``. A table has one of the
shapes of `docs/own-data.md` and one of the kinds of file; one to three mutations are drawn. Where
these leave the values what they were, the file must read, as pandas reads it; where they break it
must be refused in a message of this project; else it may be either, but beliefs that are read are
those that stand in the file.
"""

import argparse
import csv
import decimal
import gzip
import io
import json
import logging
import shlex
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coherence import CoherenceError, read_runs
from coherence.cli.main import main as coherence_main

EQUAL, EITHER, REFUSED = "equal", "either", "refused"
CLAIMS = (EQUAL, EITHER, REFUSED)  # the later ones win where mutations are joined
TEXTS = (".csv", ".tsv")
KINDS = (".csv", ".csv", ".csv", ".tsv", ".jsonl", ".json", ".xlsx", ".parquet")
RESERVED = ("status", "z", "tokens", "group", "level", "order", "frame", "person", "theta")
ONE_IN = 10  # tables that are analysed as well
STATES = ("p_sun", "p_rain", "p_snow")


@dataclass
class Case:
    """A table on its way to a file."""

    frame: pd.DataFrame  # the cells as they are to be written
    columns: dict[str, str]  # option -> column of the file
    expected: pd.DataFrame  # p, and labels as texts, under the names of the runs table
    kind: str
    rng: np.random.Generator
    claim: str = EQUAL
    options: dict[str, Any] = field(default_factory=dict)  # further ones of `read_runs`
    sep: str = ","
    encoding: str = "utf-8"
    end: str = "\n"
    quote_all: bool = False
    names: dict[str, str] = field(default_factory=dict)  # column -> what it is called in the file
    on_bytes: list[Callable[[bytes], bytes]] = field(default_factory=list)
    ending: str = ""  # of the file, where it is not that of its kind
    packed: bool = False
    types: bool = False  # whether Parquet has other types than the usual ones
    sheets: int = 1  # of a workbook
    sparse: bool = False  # whether records lack the fields that are empty
    done: list[str] = field(default_factory=list)

    @property
    def belief(self) -> str:
        return self.columns.get("belief", STATES[0])

    @property
    def is_text(self) -> bool:
        return self.kind in TEXTS

    def claims(self, claim: str) -> None:
        self.claim = max(self.claim, claim, key=CLAIMS.index)

    def texts(self, column: str) -> "pd.Series[Any]":
        cells = self.frame[column]
        return cells.map(str).astype(object).where(cells.notna(), None)

    def some_row(self) -> int:
        return int(self.rng.integers(len(self.frame)))


# ---- Shapes: what docs/own-data.md has a command for.


def _p(rng: np.random.Generator, n: int) -> "np.ndarray[Any, Any]":
    return np.round(rng.uniform(0.02, 0.98, n), 2)


def choices(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    p = _p(rng, 24)
    frame = pd.DataFrame(
        {
            "case_id": np.repeat([f"case {at}" for at in range(12)], 2),
            "confidence": p,
            "choice": np.where(rng.random(24) < p, "treat", "wait"),
            "outcome": np.repeat((rng.random(12) < 0.5).astype(int), 2),
        }
    )
    named = {"belief": "confidence", "action": "choice", "truth": "outcome", "context": "case_id"}
    return frame, named, {}


def forecasts(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    frame = pd.DataFrame(
        {
            "question": np.tile(np.arange(100, 112), 2),
            "forecaster": np.repeat(["Ann", "Böb"], 12),
            "probability": _p(rng, 24),
            "resolution": np.tile(np.where(rng.random(12) < 0.5, "yes", "no"), 2),
        }
    )
    named = {"belief": "probability", "truth": "resolution", "context": "question"}
    return frame, named | {"model-column": "forecaster"}, {}


def predictions(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    gold = rng.choice([*"ABCD"], 24)
    frame = pd.DataFrame(
        {
            "id": [f"q-{at:03}" for at in range(24)],
            "confidence": _p(rng, 24),
            "predicted_answer": np.where(rng.random(24) < 0.6, gold, rng.choice([*"ABCD"], 24)),
            "answer": gold,
        }
    )
    named = {"belief": "confidence", "prediction": "predicted_answer", "gold": "answer"}
    return frame, named | {"context": "id"}, {}


def ratings(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    frame, named, _ = choices(rng)
    frame["confidence"] = rng.integers(1, 8, len(frame))
    return frame, named, {"scale": "1..7"}


def posteriors(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    frame, named, _ = choices(rng)
    frame["outcome"] = np.repeat(_p(rng, 12), 2)
    del named["truth"]
    return frame, named | {"exact": "outcome"}, {}


def runs_table(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    frame, named, _ = choices(rng)
    own = {"confidence": "p", "choice": "action", "outcome": "theta", "case_id": "context"}
    frame = frame.rename(columns=own).assign(rep=[0, 1] * 12, model="m")
    return frame, {option: own[column] for option, column in named.items()}, {}


def states(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    frame, named, _ = choices(rng)
    frame = frame.drop(columns=[named.pop("belief"), named["truth"]])
    beliefs = np.round(rng.dirichlet(np.ones(3), len(frame)), 3)
    beliefs[:, 2] = np.round(1 - beliefs[:, 0] - beliefs[:, 1], 3)
    frame[list(STATES)] = beliefs
    frame["weather"] = np.repeat(rng.choice(["sun", "rain", "snow"], 12), 2)
    return frame, named | {"truth": "weather"}, {}


SHAPES = (choices, forecasts, predictions, ratings, posteriors, runs_table, states)


def case_of(rng: np.random.Generator) -> Case:
    """Draw a shape and a kind of file."""
    frame, columns, options = SHAPES[rng.integers(len(SHAPES))](rng)
    kind = KINDS[rng.integers(len(KINDS))]
    expected = pd.DataFrame(index=frame.index)
    if "belief" not in columns:
        expected[list(STATES)] = frame[list(STATES)]
    else:
        expected["p"] = frame[columns["belief"]].astype(float)
    if "scale" in options:
        expected["p"] = (expected["p"] - 1) / 6
    for option, name in (("action", "action"), ("truth", "theta"), ("context", "context")):
        if option in columns:
            expected[name] = frame[columns[option]].astype(str)
    if "prediction" in columns:
        right = frame[columns["prediction"]] == frame[columns["gold"]]
        expected["theta"] = right.astype(int).astype(str)
    sep = "\t" if kind == ".tsv" else ","
    return Case(frame.astype(object), columns, expected, kind, rng, options=options, sep=sep)


# ---- Mutations of cells and columns.


def drops_a_column(case: Case) -> None:
    case.frame = case.frame.drop(columns=[case.belief, "again"], errors="ignore")
    case.claims(REFUSED)


def misspells_a_column(case: Case) -> None:
    case.frame = case.frame.drop(columns="again", errors="ignore")
    case.frame = case.frame.rename(columns={case.belief: case.belief + "_"})
    case.claims(REFUSED)


def renames_to_a_reserved_name(case: Case) -> None:
    """Another column than the belief gets a name of the runs table, and is mapped."""
    option = "truth" if "truth" in case.columns else "context"
    name = str(case.rng.choice([name for name in RESERVED if name not in case.frame]))
    case.frame = case.frame.rename(columns={case.columns[option]: name})
    case.columns[option] = name


def adds_a_reserved_column(case: Case) -> None:
    values = {
        "status": ["complete", "partial"],
        "theta": list(np.round(case.rng.normal(size=60), 4)),
        "prompt": [f"What is {at}?" for at in range(len(case.frame))],
        "group": ["control", "treatment"],
        "z": [0.5, -1.25],
        "tokens": ["12 of 40", "9 of 40"],
        "level": ["low", "high"],
        "p_true": [True, False],
    }
    name = str(case.rng.choice([name for name in values if name not in case.frame]))
    if name == "theta" and {"truth", "prediction", "exact"}.isdisjoint(case.columns):
        return
    case.frame[name] = pd.Series(case.rng.choice(np.array(values[name], object), len(case.frame)))


def adds_columns(case: Case) -> None:
    case.frame['größe, in "cm"'] = "Ärger;\t|, \"so\" 'ja'"
    case.frame["notes"] = ["=1+1", "x" * 100_000, *["☃"] * (len(case.frame) - 2)]
    case.frame["empty"] = None
    if case.kind == ".xlsx":  # where it is a formula that no program has computed
        case.claims(REFUSED)


def adds_an_index(case: Case) -> None:
    case.frame.insert(0, "" if case.is_text else "index", range(len(case.frame)))


def doubles_a_used_name(case: Case) -> None:
    if case.is_text:
        case.frame["again"] = case.frame[case.belief]
        case.names["again"] = case.belief
        case.claims(REFUSED)


def shuffles_columns(case: Case) -> None:
    case.frame = case.frame[list(case.rng.permutation(case.frame.columns))]


def shuffles_rows(case: Case) -> None:
    order = case.rng.permutation(len(case.frame))
    case.frame = case.frame.iloc[order].reset_index(drop=True)
    case.expected = case.expected.iloc[order].reset_index(drop=True)


def doubles_rows(case: Case) -> None:
    case.frame = pd.concat([case.frame] * 2, ignore_index=True)
    case.expected = pd.concat([case.expected] * 2, ignore_index=True)
    if "rep" in case.frame.columns or "prediction" in case.columns:
        case.claims(EITHER)


def empties_beliefs(case: Case) -> None:
    _put(case, None)


def writes_na(case: Case) -> None:
    """R's mark, which is missing among numbers in text files, and elsewhere if it is named."""
    if not case.is_text:
        case.options.setdefault("missing", []).append("NA")
    _put(case, "NA")


def writes_a_mark_that_is_named(case: Case) -> None:
    mark = str(case.rng.choice(["N/A", "-99", "missing", "#NULL!", "."]))
    case.options.setdefault("missing", []).append(mark)
    _put(case, -99 if mark == "-99" else mark)


def writes_a_mark_that_is_not_named(case: Case) -> None:
    # In a workbook #NULL! is an error of a formula, and such cells are missing.
    marks = {"N/A", "-99", "missing", "-", "?"} | ({"#NULL!"} if case.kind != ".xlsx" else set())
    marks -= {*case.options.get("missing", ())}
    _put(case, str(case.rng.choice(sorted(marks))))
    case.claims(REFUSED)


def _put(case: Case, mark: object) -> None:
    at = sorted(case.rng.choice(len(case.frame), 3, replace=False))
    case.frame.loc[at, case.belief] = mark
    case.expected.loc[at, "p"] = np.nan


def breaks_a_belief(case: Case) -> None:
    """A belief that is none, on any scale."""
    odd = [1.5e9, -3.0, float("inf"), "-inf", "1e400", "very likely", "0.5.5", "60 or 70", "½"]
    case.frame.loc[case.some_row(), case.belief] = odd[case.rng.integers(len(odd))]
    case.claims(REFUSED)


def writes_percent_signs(case: Case) -> None:
    if "scale" in case.options:
        return
    cells = case.frame[case.belief]
    if not all(isinstance(cell, float) for cell in cells):
        return
    case.frame[case.belief] = [
        None if cell != cell else f"{100 * cell:.10g}{' ' * int(case.rng.integers(2))}%"
        for cell in cells
    ]


def writes_percentages(case: Case) -> None:
    if "scale" in case.options or not all(isinstance(c, float) for c in case.frame[case.belief]):
        return
    case.frame[case.belief] = [round(100 * cell, 8) for cell in case.frame[case.belief]]
    if case.rng.random() < 0.5:
        case.options["percent"] = True
    else:
        case.claims(REFUSED)


def writes_numbers_as_texts(case: Case) -> None:
    form = str(case.rng.choice(["{:.4f}", "{:e}", "+{}", " {} ", "{}"]))
    case.frame[case.belief] = [
        form.format(float(cell)) if isinstance(cell, int | float) else cell
        for cell in case.frame[case.belief]
    ]


def writes_decimal_commas(case: Case) -> None:
    if not case.is_text or "exact" in case.columns:
        return
    texts = case.texts(case.belief)
    case.frame[case.belief] = [None if text is None else text.replace(".", ",") for text in texts]
    if case.rng.random() < 0.7:
        case.options["decimal"] = ","
        case.sep = ";"
    elif "scale" in case.options:
        return
    else:
        case.claims(REFUSED)


def writes_labels_in_other_ways(case: Case) -> None:
    option = next(name for name in ("action", "truth", "gold") if name in case.columns)
    column = case.columns[option]
    at = case.some_row()
    case.frame.loc[at, column] = f" {str(case.frame.loc[at, column]).upper()} "
    case.claims(EITHER)


def writes_true_and_false(case: Case) -> None:
    if set(case.expected.get("theta", ())) != {"0", "1"} or "truth" not in case.columns:
        return
    column = case.columns["truth"]
    case.frame[column] = [bool(cell) for cell in case.frame[column]]
    case.expected["theta"] = case.expected["theta"].map({"0": "False", "1": "True"})


def mixes_types(case: Case) -> None:
    column = str(case.rng.choice(list(case.columns.values())))
    odd = [True, 3, 2.5, "x", None, {"a": 1}, [1, 2], "2020-01-01"]
    case.frame.at[case.some_row(), column] = odd[case.rng.integers(len(odd))]
    case.claims(EITHER)


def repeats_the_header(case: Case) -> None:
    at = case.some_row()
    header = pd.DataFrame([list(case.frame.columns)], columns=case.frame.columns)
    case.frame = pd.concat([case.frame[:at], header, case.frame[at:]], ignore_index=True)
    case.claims(REFUSED)


def keeps_no_row(case: Case) -> None:
    case.frame = case.frame[:0]
    case.claims(REFUSED)


def keeps_one_row(case: Case) -> None:
    case.frame, case.expected = case.frame[:1], case.expected[:1]
    case.claim = EITHER  # what was broken may be gone


def has_ids_of_many_digits(case: Case) -> None:
    column = case.columns["context"]
    numbers = {label: str(2**60 + at) for at, label in enumerate(case.frame[column].unique())}
    if case.is_text:
        _name_cases(case, numbers)


def has_ids_with_zeros(case: Case) -> None:
    column = case.columns["context"]
    labels = {label: f"{at:03}" for at, label in enumerate(case.frame[column].unique())}
    _name_cases(case, labels)


def _name_cases(case: Case, labels: dict[Any, str]) -> None:
    column = case.columns["context"]
    case.frame[column] = case.frame[column].map(labels)
    if "context" in case.expected:
        case.expected["context"] = case.frame[column].astype(str)


def leaves_out_empty_fields(case: Case) -> None:
    """Records that lack a field, as where it was not answered."""
    if case.kind in (".json", ".jsonl") and "belief" in case.columns:
        _put(case, None)
        case.sparse = True


def has_a_date(case: Case) -> None:
    case.frame["when"] = "2025-01-31"
    if case.kind in (".xlsx", ".parquet"):
        case.frame["when"] = pd.Timestamp("2025-01-31")


def has_other_types(case: Case) -> None:
    """Types of pandas that Parquet keeps: categories, whole numbers with gaps, decimals."""
    if case.kind == ".parquet":
        case.types = True


def nests_fields(case: Case) -> None:
    if case.kind not in (".json", ".jsonl") or case.belief not in case.frame:
        return
    name = f"line.{case.belief}"
    nested = [{case.belief: cell, "more": {"deep": [1]}} for cell in case.frame[case.belief]]
    case.frame["line"] = pd.Series(nested, dtype=object)
    case.frame = case.frame.drop(columns=case.belief)
    case.columns["belief"] = name


# ---- Mutations of how the file is written.


def changes_the_separator(case: Case) -> None:
    if case.is_text:
        case.sep = str(case.rng.choice([";", "\t", "|"]))


def has_a_strange_separator(case: Case) -> None:
    if case.is_text:
        case.sep = str(case.rng.choice(["^", "~", "#"]))
        case.options["sep"] = case.sep


def has_further_sheets(case: Case) -> None:
    if case.kind != ".xlsx":
        return
    case.sheets = 3
    if case.rng.random() < 0.6:
        case.options["sheet"] = "The data"
    else:
        case.claims(REFUSED)


def ends_lines_otherwise(case: Case) -> None:
    case.end = str(case.rng.choice(["\r\n", "\r"]))
    if case.kind == ".jsonl" and case.end == "\r":
        case.claims(EITHER)


def has_a_mark(case: Case) -> None:
    if case.is_text or case.kind in (".jsonl", ".json"):
        case.encoding = str(case.rng.choice(["utf-8-sig", "utf-16", "utf-32"]))


def has_another_encoding(case: Case) -> None:
    if not case.is_text and case.kind not in (".jsonl", ".json"):
        return
    case.frame["größe"] = "groß"
    case.encoding = str(case.rng.choice(["cp1252", "latin-1"]))
    if "☃" in set(case.frame.get("notes", ())):
        case.frame["notes"] = "n"
    if case.rng.random() < 0.5:
        case.options["encoding"] = case.encoding
    else:
        case.claims(REFUSED if case.is_text else EITHER)


def _in_the_middle(case: Case, text: str, change: Callable[[str], str]) -> str:
    lines = text.split(case.end)
    lines[len(lines) // 2] = change(lines[len(lines) // 2])
    return case.end.join(lines)


def _with(text: str, at: int, more: str) -> str:
    return text[:at] + more + text[at:]


# Of the text of a CSV file or of JSON lines: name -> what is claimed, and what becomes of the text.
OF_TEXTS: dict[str, tuple[str, Callable[[Case, str], str]]] = {
    "ends in blank lines": (EQUAL, lambda case, text: text + case.end * 3),
    "has blank lines": (EQUAL, lambda case, text: text.replace(case.end, case.end * 2, 1)),
    "begins with a blank line": (EITHER, lambda case, text: case.end + text),
    "has no last end": (EQUAL, lambda case, text: text.rstrip("\r\n")),
    "has a line above": (REFUSED, lambda case, text: f"# exported 2025-01-01{case.end}{text}"),
    "names the separator to Excel": (REFUSED, lambda case, text: f"sep={case.sep}{case.end}{text}"),
    "has a zero byte": (
        EITHER,
        lambda case, text: _with(text, int(case.rng.integers(len(text))), "\0"),
    ),
    "opens a quote": (EITHER, lambda case, text: _with(text, text.rfind(case.sep) + 1, '"')),
    "has a short row": (
        EITHER,
        lambda case, text: _in_the_middle(case, text, lambda row: row.rpartition(case.sep)[0]),
    ),
    "has a long row": (
        EITHER,
        lambda case, text: _in_the_middle(case, text, lambda row: f"{row}{case.sep}more"),
    ),
}


def changes_the_text(case: Case) -> None:
    claim, change = OF_TEXTS[str(case.rng.choice(list(OF_TEXTS)))]
    if case.is_text or case.kind == ".jsonl":
        as_bytes = lambda whole: change(case, whole.decode(case.encoding)).encode(case.encoding)  # noqa: E731
        case.on_bytes.insert(0, as_bytes)
        case.claims(claim)


def is_written_otherwise(case: Case) -> None:
    """Packed, or every cell in quotes."""
    case.packed = bool(case.rng.random() < 0.5)
    case.quote_all = not case.packed


def has_objects_in_an_object(case: Case) -> None:
    if case.kind == ".json":
        case.on_bytes.insert(0, lambda whole: b'{"data": ' + whole + b"}")
        case.claims(REFUSED)


def is_cut(case: Case) -> None:
    share = float(case.rng.uniform(0.02, 0.98))
    case.on_bytes.append(lambda whole: whole[: int(share * len(whole))])
    case.claim = EITHER  # what was broken may be cut off


def has_a_wrong_byte(case: Case) -> None:
    def change(whole: bytes) -> bytes:
        at = int(case.rng.integers(len(whole)))
        return whole[:at] + bytes([int(case.rng.integers(256))]) + whole[at + 1 :]

    case.on_bytes.append(change)
    case.claim = EITHER


def is_empty(case: Case) -> None:
    case.on_bytes.append(lambda whole: b"")
    case.claim = REFUSED


def has_a_wrong_ending(case: Case) -> None:
    others = (".csv", ".json", ".jsonl", ".xlsx", ".parquet", ".dta", ".txt")
    case.ending = str(case.rng.choice([ending for ending in others if ending != case.kind]))
    case.claims(EITHER if case.is_text and case.ending in TEXTS else REFUSED)


OF_BELIEFS = (
    *(empties_beliefs, writes_na, writes_a_mark_that_is_named, writes_a_mark_that_is_not_named),
    *(breaks_a_belief, writes_percent_signs, writes_percentages, writes_numbers_as_texts),
    *(writes_decimal_commas, doubles_a_used_name, repeats_the_header, drops_a_column),
    *(misspells_a_column, nests_fields, shuffles_rows, keeps_one_row),
)
"""Mutations of tables with one column of beliefs, which is what they change."""
CELLS = (
    *(renames_to_a_reserved_name, adds_a_reserved_column, adds_columns, adds_an_index),
    *(doubles_a_used_name, shuffles_columns, shuffles_rows, doubles_rows),
    *(empties_beliefs, writes_na, writes_a_mark_that_is_named, writes_a_mark_that_is_not_named),
    *(leaves_out_empty_fields, breaks_a_belief, writes_percent_signs, writes_percentages),
    *(writes_numbers_as_texts, writes_decimal_commas, writes_labels_in_other_ways),
    *(writes_true_and_false, repeats_the_header, has_ids_of_many_digits, has_ids_with_zeros),
    *(has_a_date, has_other_types, mixes_types, drops_a_column, misspells_a_column, nests_fields),
    *(keeps_one_row, keeps_no_row),
)
FILES = (
    *(changes_the_separator, has_a_strange_separator, has_further_sheets, ends_lines_otherwise),
    *(has_a_mark, has_another_encoding, *[is_written_otherwise] * 2, *[changes_the_text] * 10),
    *(has_objects_in_an_object, is_cut, has_a_wrong_byte, is_empty, has_a_wrong_ending),
)


def mutated(rng: np.random.Generator) -> Case:
    """Draw a table, and one to three mutations: of cells first, of the file last."""
    case = case_of(rng)
    n = int(rng.integers(1, 4))
    drawn = set(rng.choice(len(CELLS) + len(FILES), n, replace=False).tolist())
    for at, mutation in enumerate([*CELLS, *FILES]):
        if at in drawn and ("belief" in case.columns or mutation not in OF_BELIEFS):
            mutation(case)
            cells = case.frame.astype(object)
            case.frame = cells.where(cells.notna(), None)
            case.done.append(mutation.__name__)
    return case


# ---- Files and what is read in them.


def written(case: Case, folder: Path) -> Path:
    """Write the file of a case."""
    path = folder / f"table{case.ending or case.kind}{'.gz' if case.packed else ''}"
    whole = _bytes(case)
    for change in case.on_bytes:
        whole = change(whole) if whole else whole
    path.write_bytes(gzip.compress(whole) if case.packed else whole)
    return path


def _bytes(case: Case) -> bytes:
    names = [case.names.get(name, name) for name in case.frame.columns]
    if case.is_text:
        out = io.StringIO(newline="")
        quoting = csv.QUOTE_ALL if case.quote_all else csv.QUOTE_MINIMAL
        writer = csv.writer(out, delimiter=case.sep, quoting=quoting, lineterminator=case.end)
        writer.writerow(names)
        writer.writerows(case.frame.itertuples(index=False, name=None))
        return out.getvalue().encode(case.encoding)
    if case.kind in (".json", ".jsonl"):
        records = case.frame.to_dict("records")
        if case.sparse:
            records = [{k: v for k, v in row.items() if v is not None} for row in records]
        as_text = {"ensure_ascii": False, "default": lambda cell: cell.item()}
        if case.kind == ".json":
            return json.dumps(records, **as_text).encode(case.encoding)
        lines = [json.dumps(record, **as_text) + case.end for record in records]
        return "".join(lines).encode(case.encoding)
    frame = case.frame.map(lambda cell: str(cell) if isinstance(cell, dict | list) else cell)
    out_bytes = io.BytesIO()
    if case.kind == ".xlsx":
        short = frame.map(lambda cell: cell[:30_000] if isinstance(cell, str) else cell)
        with pd.ExcelWriter(out_bytes) as book:
            for at in range(case.sheets - 1):
                pd.DataFrame({"about": ["x"]}).to_excel(book, sheet_name=f"About {at}")
            short.to_excel(book, sheet_name="The data", index=False)
        return out_bytes.getvalue()
    frame = frame.infer_objects()
    mixed = [name for name in frame if pd.api.types.infer_dtype(frame[name]).startswith("mixed")]
    for name in mixed:  # Parquet has one type a column
        frame[name] = [None if cell is None else str(cell) for cell in frame[name]]
    if case.types:
        for name in frame:
            kind = pd.api.types.infer_dtype(frame[name])
            if kind == "string":
                frame[name] = frame[name].astype("category")
            elif kind == "floating" and frame[name].abs().max() < 10:
                frame[name] = [
                    None if cell != cell else decimal.Decimal(f"{cell:.6f}") for cell in frame[name]
                ]
            elif kind == "integer":
                frame[name] = frame[name].astype("Int64")
    frame.to_parquet(out_bytes)
    return out_bytes.getvalue()


def with_pandas(case: Case, path: Path) -> "np.ndarray[Any, Any] | None":
    """Return the beliefs that pandas reads in the file; None where it cannot."""
    form = {"encoding": case.options.get("encoding", case.encoding), "compression": "infer"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case.is_text:
                as_texts = {"dtype": str, "keep_default_na": False}
                table = pd.read_csv(path, sep=case.sep, **as_texts, **form)
            elif case.kind in (".json", ".jsonl"):
                packed = path.read_bytes()
                text = (gzip.decompress(packed) if case.packed else packed).decode(form["encoding"])
                lines = [text] if case.kind == ".json" else text.splitlines()
                records = [json.loads(line) for line in lines if line.strip()]
                table = pd.json_normalize(records[0] if case.kind == ".json" else records)
            else:
                packed_bytes = path.read_bytes()
                if case.packed:
                    packed_bytes = gzip.decompress(packed_bytes)
                if case.kind == ".xlsx":
                    table = pd.read_excel(io.BytesIO(packed_bytes), sheet_name="The data")
                else:
                    table = pd.read_parquet(io.BytesIO(packed_bytes))
        if "belief" not in case.columns:
            return table[STATES[0]].astype(float).to_numpy()
        return np.array([_number(case, cell) for cell in table[case.belief]])
    except Exception:  # whatever pandas and Python say of a file that was broken on purpose
        return None


def _number(case: Case, cell: object) -> float:
    text = "" if cell is None else str(cell).strip()
    marks = ("", "NA", "nan", *case.options.get("missing", ()))
    if {text, text.removesuffix(".0")} & set(marks):
        return float("nan")
    text = text.replace(",", ".") if case.options.get("decimal") == "," else text
    number = float(text.removesuffix("%"))
    if text.endswith("%") or case.options.get("percent"):
        number /= 100
    return (number - 1) / 6 if "scale" in case.options else number


# ---- Judging.


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    case: Case
    answer: str  # read or refused
    fault: str  # empty: none
    by_pandas: bool = False  # whether pandas read the same file


def judged(case: Case, path: Path) -> Verdict:
    """Read a file, and hold what came against what the mutations claim and against pandas."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runs = read_runs(path, columns=case.columns, **case.options)
    except CoherenceError as error:
        wrong = "refused although its values are what they were" if case.claim == EQUAL else ""
        return Verdict(case, "refused", wrong and f"{wrong}: {error}")
    except Exception:
        return Verdict(case, "refused", traceback.format_exc())
    if case.claim == REFUSED:
        return Verdict(case, "read", "read although it is broken")
    theirs = with_pandas(case, path)
    ours = runs["p" if "p" in runs else STATES[0]].to_numpy(dtype=float)
    checked = theirs is not None and len(theirs) == len(ours)
    if checked and not np.allclose(ours, theirs, rtol=0, atol=1e-9, equal_nan=True):
        return Verdict(case, "read", f"pandas has other beliefs: {ours} {theirs}")
    fault = _unlike(runs, case.expected) if case.claim == EQUAL else ""
    if case.claim == EQUAL and not checked:
        fault = fault or f"pandas does not read it, or other rows: {theirs}"
    return Verdict(case, "read", fault, checked)


def _unlike(runs: pd.DataFrame, expected: pd.DataFrame) -> str:
    if len(runs) != len(expected):
        return f"{len(runs)} rows in place of {len(expected)}"
    for name in expected.columns:
        if name == "p" or name in STATES:
            ours, theirs = (table[name].to_numpy(dtype=float) for table in (runs, expected))
            if not np.allclose(ours, theirs, rtol=0, atol=1e-9, equal_nan=True):
                return f"other beliefs: {ours} in place of {theirs}"
            continue
        labels, right = runs[name].astype(object).map(str), expected[name]
        if labels.tolist() != right.tolist():
            return f"other labels of {name}: {labels.tolist()} in place of {right.tolist()}"
    return ""


def analysed(case: Case, path: Path) -> str:
    """Run the command on a file, and return what is wrong with how it ends."""
    words = [f"--{option}={column}" for option, column in case.columns.items()]
    for option, value in case.options.items():
        if value is not False:
            text = ",".join(value) if isinstance(value, list) else str(value)
            words.append(f"--{option}" if value is True else f"--{option}={text}")
    out, err = io.StringIO(), io.StringIO()
    command = ["analyze", str(path), *words, "--checks", "calibration,scores", "--seed", "1"]
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            status = coherence_main(command)
    except BaseException:
        return f"{shlex.join(command)}\n{traceback.format_exc()}"
    if status not in (0, 2) or "Traceback" in err.getvalue() + out.getvalue():
        return f"{shlex.join(command)}: status {status}\n{err.getvalue()}"
    return "" if status == 0 or err.getvalue().strip() else "status 2 without a word"


def run(n: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Read `n` mutated tables; report each fault, and count the answers."""
    logging.getLogger("coherence").setLevel(logging.ERROR)
    counts: Counter[str] = Counter()
    for at in range(n):
        case = mutated(np.random.default_rng((seed, at)))
        with tempfile.TemporaryDirectory() as folder:
            path = written(case, Path(folder))
            verdict = judged(case, path)
            faults = [verdict.fault] if verdict.fault else []
            if at % ONE_IN == 0:
                counts["analysed"] += 1
                faults += filter(None, [analysed(case, path)])
        counts[f"{case.claim}: {verdict.answer}"] += 1
        counts["beliefs compared with those of pandas"] += verdict.by_pandas
        counts["faults"] += len(faults)
        for fault in faults:
            report(f"table {at} ({case.kind}, {', '.join(case.done)}): {fault}")
    return counts


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts = run(args.tables, args.seed, print)
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
