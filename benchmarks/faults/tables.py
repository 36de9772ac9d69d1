"""Tables of any kind, and files of any text or bytes, for what reads tables."""

import contextlib
import gzip
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from attempts import Attempt, WrongAnswerError
from drawn_columns import ARROW, BASES, NAMES, TABLES, TEXTS, WORDS
from hypothesis import strategies as st

import bayesnets as bn
import coherence as co
import elicitation as el
from coherence import Report
from coherence.cli.main import main

COLUMNS = {*NAMES[:-5], "context", "runs", "table", "records", "answers", "columns", "column"}
QUICK = ["calibration", "prompt_consistency"]
SEPARATORS = (",", ";", "\t", "|", " ", ", ", "")
ENDS = ("\n", "\r\n", "\r", "\n\n", "\u2028", "\0")
ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-32",
    "latin-1",
    "cp1252",
    "utf-16-le",
    "shift_jis",
)
MARKS = (
    b"",
    b"",
    b"",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\0",
    b"PK\x03\x04",
    b"\x1f\x8b",
)
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz", ".txt", ".json", ".eval")


def is_a(kind: type, answer: object) -> object:
    """Return the answer if it is of its kind."""
    if not isinstance(answer, kind):
        raise WrongAnswerError(f"{type(answer).__name__} in place of {kind.__name__}")
    return answer


def report_on(table: pd.DataFrame) -> None:
    report = is_a(Report, co.analyze(table, checks=QUICK, rng=1))
    json.loads(report.to_json())


def write_and_read(table: pd.DataFrame, name: str) -> None:
    """Write a table, and read as many rows and the same beliefs."""
    path = Path("written", name)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    co.write_runs(table, path)
    if [file.name for file in path.parent.iterdir()] != [name]:
        raise WrongAnswerError(f"more files than one: {list(path.parent.iterdir())}")
    try:
        again = co.read_runs(path)
    except co.CoherenceError as error:
        # Any table can be written; one that is no runs table is refused when it is read.
        path.unlink()
        co.validate_runs(table)
        raise WrongAnswerError(f"{name} was written and is refused: {error!s:.300}") from None
    if len(again) != len(table):
        raise WrongAnswerError(f"{len(again)} rows of {len(table)} are read again")
    path.unlink()


TAKERS: dict[str, Callable[[pd.DataFrame], object]] = {
    "analyze": report_on,
    "validate_runs": lambda table: co.validate_runs(table),
    "write csv": lambda table: write_and_read(table, "runs.csv"),
    "write jsonl": lambda table: write_and_read(table, "runs.jsonl"),
    "write parquet": lambda table: write_and_read(table, "runs.parquet"),
    "compare": lambda table: co.compare(table, effects=["unreadable"], rng=1),
    "prompt_consistency": lambda table: co.prompt_consistency(table, n_bootstraps=20, rng=1),
    "score_mixing": lambda table: co.score_mixing(table, n_resamples=100, rng=1),
    "score_beliefs": lambda table: co.score_beliefs(table),
    "fit": lambda table: is_a(bn.Fit, bn.fit(bn.load_network("cancer"), table)),
    "posterior": lambda table: bn.posterior(bn.load_network("cancer"), table, "Cancer"),
    "coverage": lambda table: is_a(pd.DataFrame, bn.coverage(table)),
}


class On:
    """A taker and its table or file, to be shown where it is a fault."""

    def __init__(self, name: str, what: Any, take: Callable[[Any], object]) -> None:
        self.name, self.what, self.take = name, what, take

    def __call__(self) -> object:
        return self.take(self.what)

    def __repr__(self) -> str:
        if isinstance(self.what, pd.DataFrame):
            kinds = dict(enumerate(map(str, self.what.dtypes)))
            with contextlib.suppress(Exception):
                return f"{self.name}: {kinds} {self.what.to_dict('split')!r}"
            return f"{self.name}: {kinds}"
        return f"{self.name}: {self.what!r}"


@st.composite
def of_tables(draw: st.DrawFn) -> Attempt:
    name = draw(st.sampled_from([*TAKERS, "analyze", "analyze", "write csv", "write parquet"]))
    table = draw(TABLES)
    names = {*COLUMNS, *map(str, table.columns), *bn.load_network("cancer").names}
    written = Path("written")
    shutil.rmtree(written, ignore_errors=True)
    return Attempt(On(name, table, TAKERS[name]), names, written)


# Files


@st.composite
def separated(draw: st.DrawFn) -> bytes:
    """Draw a text of cells, more or less a table."""
    base = draw(st.sampled_from(BASES)).astype(object)
    names = [str(name) for name in base.columns]
    rows = [list(map(str, row)) for row in base.head(draw(st.integers(0, 20))).to_numpy()]
    separator = draw(st.sampled_from([",", *SEPARATORS]))
    end = draw(st.sampled_from(["\n", *ENDS]))
    for _ in range(draw(st.integers(0, 3))):
        cell = draw(st.one_of(TEXTS, st.sampled_from(['"', "'", '"a', 'a"', '""', "\r", *WORDS])))
        line = draw(st.sampled_from([names, *rows]))
        place = draw(st.integers(0, max(len(line) - 1, 0)))
        line[place : place + draw(st.integers(0, 2))] = [cell] * draw(st.integers(0, 2))
    wide = draw(st.sampled_from([0] * 30 + [20_000]))
    names += [f"x_{number}" for number in range(wide)]
    if draw(st.booleans()) and separator != ",":
        rows = [[cell.replace(".", ",") for cell in row] for row in rows]
    ends = [draw(st.sampled_from(ENDS)) if draw(st.integers(0, 40)) == 0 else end for _ in rows]
    text = separator.join(names) + end
    text += "".join(separator.join(row) + e for row, e in zip(rows, ends, strict=True))
    encoding = draw(st.sampled_from([*["utf-8"] * 6, *ENCODINGS]))
    return draw(st.sampled_from(MARKS)) + text.encode(encoding, errors="replace")


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(),
        TEXTS,
        st.just(10**400),
        st.sampled_from([0.5, 0.7, 70, "0.7", *WORDS]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def lines_of_json(draw: st.DrawFn) -> bytes:
    base = draw(st.sampled_from(BASES)).head(draw(st.integers(0, 20)))
    records = json.loads(base.to_json(orient="records"))
    for _ in range(draw(st.integers(0, 3))):
        if records and draw(st.booleans()):
            place = draw(st.integers(0, len(records) - 1))
            if isinstance(records[place], dict):
                records[place][draw(st.sampled_from(NAMES))] = draw(JSON)
        else:
            records.insert(draw(st.integers(0, len(records))), draw(JSON))
    lines = [json.dumps(record, ensure_ascii=draw(st.booleans())) for record in records]
    if lines and draw(st.booleans()):
        odd = ["{", "[" * 5000, '{"p": 1, "p": 2}', "NaN", "", "{} {}", "// a", "{'p': 1}"]
        lines[draw(st.integers(0, len(lines) - 1))] = draw(st.sampled_from(odd))
    text = draw(st.sampled_from(["\n", "\r\n", ",\n", ""])).join(lines)
    return draw(st.sampled_from(MARKS)) + text.encode("utf-8", errors="replace")


@st.composite
def packed(draw: st.DrawFn) -> bytes:
    """Draw a parquet file with a column of any type."""
    table = pa.Table.from_pandas(draw(st.sampled_from(BASES)), preserve_index=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(ARROW))
        values = [None] * table.num_rows
        for simple in (draw(st.sampled_from([0, 1, "yes", b"a", 0.5, [], {"a": 1}])),):
            with contextlib.suppress(
                pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError
            ):
                pa.array([simple], kind)
                values = [simple] * table.num_rows
        column = pa.array(values, kind)
        name = draw(st.sampled_from(NAMES))
        with contextlib.suppress(KeyError):
            place = table.schema.names.index(name) if name in table.schema.names else None
            table = (
                table.append_column(name, column)
                if place is None or draw(st.integers(0, 4)) == 0
                else table.set_column(place, name, column)
            )
    buffer = io.BytesIO()
    with contextlib.suppress(pa.ArrowNotImplementedError):
        pq.write_table(table, buffer, compression=draw(st.sampled_from(["snappy", "none", "zstd"])))
    return buffer.getvalue()


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Draw a file of which bytes are missing, changed or added."""
    data = draw(whole)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        start = draw(st.integers(0, len(data)))
        cut = draw(st.sampled_from([0, 1, 3, 50, 10**9]))
        data = data[:start] + draw(st.binary(max_size=4)) + data[start + cut :]
    return data


READERS: dict[str, Callable[[Path], object]] = {
    "read_runs": lambda path: report_on(is_a(pd.DataFrame, co.read_runs(path))),
    "read_runs of a form": lambda path: co.read_runs(path, sep=";", decimal=","),
    "read_runs of latin-1": lambda path: co.read_runs(path, encoding="latin-1"),
    "read_runs of percent": lambda path: co.read_runs(path, percent=True),
    "scan_runs": lambda path: is_a(co.RunsScan, co.scan_runs(path)),
    "read_mixing_answers": lambda path: is_a(pd.DataFrame, co.read_mixing_answers(path)),
    "load_questions": lambda path: el.load_questions(path),
    "coherence analyze": lambda path: command(["analyze", str(path), "--checks", "calibration"]),
    "coherence import": lambda path: command(["import", str(path)], "runs.csv"),
    "coherence mix": lambda path: command(["mix", "--answers", str(path)]),
}


def command(words: list[str], file: str | None = None) -> None:
    """Run a command: a set of files, or a message that says what is wrong and no file."""
    out = Path("out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    screen, shown = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(screen), contextlib.redirect_stdout(shown):
        status = main([*words, "--out", str(out / (file or "set"))])
    made, said = sorted(os.listdir(out)), screen.getvalue()
    # Its help says so: the table is written, and is hardly what was meant.
    unread = words[0] == "import" and made and "could not be read" in shown.getvalue()
    if status not in (0, 2) and not (status == 1 and unread):
        raise WrongAnswerError(f"exit status {status}: {said[-300:]}")
    if "Traceback" in said or "Error:" in said or (status == 2 and len(said) < 20):
        raise WrongAnswerError(f"exit status {status} and {said[-300:]!r}")
    if (status == 2) != (not made):
        raise WrongAnswerError(f"exit status {status} with {made}: {said[-200:]}")
    if status == 2:
        raise co.InputError(said)


@st.composite
def of_files(draw: st.DrawFn) -> Attempt:
    kinds = {".csv": separated(), ".jsonl": lines_of_json(), ".parquet": packed()}
    kind = draw(st.sampled_from([".csv", ".csv", ".jsonl", ".parquet", "noise"]))
    data = draw(damaged(kinds[kind]) if kind in kinds else st.binary(max_size=200))
    suffix = kind if kind in kinds and draw(st.integers(0, 4)) else draw(st.sampled_from(SUFFIXES))
    if suffix.endswith(".gz") and draw(st.booleans()):
        data = gzip.compress(data)[: draw(st.sampled_from([None, None, -1, 10]))]
    path = Path(f"drawn{suffix}")
    name = draw(st.sampled_from([*READERS, "read_runs", "read_runs", "coherence analyze"]))

    def take(data: bytes) -> object:
        path.write_bytes(data)
        return READERS[name](path)

    return Attempt(On(f"{name} {path}", data, take), {path.name, "drawn", *COLUMNS})


def prepare() -> None:
    """Load what the first call would load."""
    bn.load_network("cancer")


def attempts() -> st.SearchStrategy[Attempt]:
    return st.one_of(of_tables(), of_files())
