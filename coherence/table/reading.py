"""From somebody's file to a runs table: its columns found, its numbers read, everything checked.

What was assumed on the way is a note of the table.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.table.cells import labels
from coherence.table.exact import holds_exact, set_aside
from coherence.table.foreign_files import WORKBOOKS
from coherence.table.formats import ARRAY, TITLES, read_table
from coherence.table.missing import without_marked_cells
from coherence.table.notes import Code, Note
from coherence.table.predictions import (
    STOOD_ASIDE,
    missing_columns,
    with_right_or_wrong,
)
from coherence.table.probabilities import log_notes, read_probabilities
from coherence.table.roles import AS_IT_IS, Reading
from coherence.table.row_condition import RowCondition
from coherence.table.runs import Runs
from coherence.table.scales import Scale, with_scale
from coherence.table.schema import (
    Naming,
)
from coherence.table.states import typed_option
from coherence.table.text_files import (
    TextForm,
    read_bytes,
)
from coherence.table.validation import examined, with_columns

STANDARD_INPUT, IN_MEMORY = "standard input", "runs"
# What may stand before the first character of a text: marks of Unicode, blanks, zero bytes.
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


def read_runs(
    path: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    percent: bool = False,
    prediction: str | None = None,
    gold: str | None = None,
    missing: Collection[str] = (),
    scale: str | None = None,
    where: str | None = None,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read and validate a runs table.

    Parameters
    ----------
    path : path or DataFrame
        A .parquet, .csv, .tsv, .jsonl (an object a line) or .json file (an array of objects), one
        of Excel (.xlsx), Stata (.dta), SPSS (.sav, .por) or SAS (.sas7bdat, .xpt; these need the
        extra ``files``), each also packed by gzip, or a folder of .parquet files; or a table that
        is in memory already, for which `sep`, `encoding` and `sheet` are left out.
    columns : mapping of str to str, optional
        Column of the runs table, or option of the command line that names it -> column of the file,
        for example ``{"belief": "p_ill", "action": "treats"}``. ``{"exact": NAME}`` says that
        a column is the exact posterior, which a file that this toolkit did not write must say even
        where the name is ``p_true``.
    sep : str, optional
        Separator of a .csv or .tsv file; None: told by the header, comma or semicolon, tab or bar.
    decimal : {".", ","}
        Decimal mark of such a file.
    encoding : str, optional
        Encoding of a text file; None: told by its first bytes (UTF-16, UTF-32), else UTF-8.
    percent : bool
        Whether stated probabilities are percentages, with a percent sign or without.
    prediction, gold : str, optional
        Columns of the file with predicted and with right labels: ``theta`` is then whether they are
        the same, and ``p`` the confidence in the prediction.
    missing : collection of str
        What cells hold that are missing, such as ``["NA", "-99"]``; empty cells are so anyway, and
        ``NA`` among the numbers of a .csv file.
    scale : str, optional
        Scale of the stated beliefs, mapped by a straight line to probabilities: ``"1..7"``, or
        ``"1..4=.5..1"`` where its lowest step is a guess between two.
    where : str, optional
        Rows to keep, as comparisons of the file's columns with literals: ``'type == "binary"'``.
        Nested fields have dotted names.
    sheet : str, optional
        Sheet of a workbook; None: the only one that holds cells.

    Returns
    -------
    DataFrame
        The table under the names of `coherence.table.schema.COLUMNS`; other columns are kept as
        they are. A label is its text, in every format: whole numbers where all are written so. In
        CSV an empty text is a missing one; raw answers stay as they were written.

    Raises
    ------
    InputError
        The path does not exist, cannot be read, is empty, or a mapped column is missing;
        signs, commas or bytes need an option, which is named.
    SchemaError
        The table breaks the schema; the message lists every error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("p_ill;treats\n80%;treat\n15%;wait\n")
    ...     runs = read_runs(path, columns={"p": "p_ill", "action": "treats"}, percent=True)
    >>> runs[["p", "action"]]
          p action
    0  0.80  treat
    1  0.15   wait
    """
    reading = Reading.of(
        columns,
        decimal=decimal,
        percent=percent,
        prediction=prediction,
        gold=gold,
        where=where,
        scale=None if scale is None else Scale.parse(scale),
    )
    if isinstance(path, str | os.PathLike):
        written = {"sep": sep, "encoding": encoding, "missing": missing, "sheet": sheet}
        return read_file(path, reading, **written).frame()
    for name, value in {"sep": sep, "encoding": encoding, "sheet": sheet}.items():
        if value is not None:
            raise InputError(
                f"{name} says how a file is written; received {value!r} with a table in memory. "
                "Leave it out."
            )
    return read_frame(path, reading, missing).frame()


def read_frame(table: Any, reading: Reading, missing: Any = ()) -> Runs:
    """Read a table in memory under names of its own as a validated runs table."""
    marks = TextForm(decimal=reading.decimal, missing=missing).missing
    table, notes = without_marked_cells(with_columns(table), marks)
    return as_runs(table, reading, IN_MEMORY, notes=notes)


def read_file(
    path: str | os.PathLike[str],
    reading: Reading = AS_IT_IS,
    **form: Any,
) -> Runs:
    """Read a file as a validated runs table; `form` is that of a `TextForm`, see `read_runs`."""
    return as_runs(read_table(path, reading, **form), reading, Path(path))


def read_stream(
    stream: IO[bytes], reading: Reading = AS_IT_IS, *, source: str = STANDARD_INPUT, **form: Any
) -> Runs:
    """Read a runs table to the end of a stream, whose first bytes tell what kind of table it is."""
    with tempfile.TemporaryDirectory(prefix="coherence-") as folder:
        path = Path(folder) / "runs"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        try:
            if path.stat().st_size == 0:
                raise InputError(
                    f"{source}: nothing came (0 bytes). Pipe a table into the command, or name a "
                    "file."
                )
            path = path.rename(path.with_suffix(_kind_of(path)))
            return read_file(path, reading, **form)
        # The file is gone when the message is read.
        except SchemaError as error:
            raise SchemaError(error.errors, source) from None
        except InputError as error:
            raise error.renamed({str(path): source, str(path.with_suffix("")): source}) from None


def _kind_of(path: Path) -> str:
    """Tell by its first bytes what kind of table a file is."""
    with path.open("rb") as file:
        marked = {b"PAR1": ".parquet", b"PK\x03\x04": WORKBOOKS[0]}.get(file.read(4))
    if marked is not None:
        return marked
    first = read_bytes(path)[:256].lstrip(_BEFORE_TEXT)[:1]
    return {b"{": ".jsonl", b"[": ARRAY}.get(first, ".csv")


def _header_beneath(table: pd.DataFrame, wanted: Collection[str]) -> list[str]:
    """Say which of the first rows holds all names that the header lacks, as below a title."""
    rows = enumerate(table.head(5).itertuples(index=False, name=None))
    at = next((at for at, row in rows if len(wanted) > 1 and {*wanted} <= {*map(str, row)}), None)
    if at is None:
        return []
    return [
        f"the columns {listing(map(repr, sorted(wanted)))} are named in row {at}, below the line "
        "that was read as the header. Delete the lines above it; in Python read_runs("
        f"pd.read_excel(FILE, header={at + 1}), ...), or pd.read_csv."
    ]


def _inside(table: pd.DataFrame, name: str, as_: str) -> str:
    """Say what a column holds whose values or parts may have been named in place of it."""
    whole = as_.partition(".")[0]
    cells = table[whole].to_numpy().ravel() if whole in table.columns else ()
    if any(isinstance(cell, list) for cell in cells):
        return f"{whole!r} holds lists: make a row of each entry first (pandas.json_normalize). "
    if name not in ("task", "model", "prompt") or name not in table.columns:
        return ""
    held = listing(map(repr, dict.fromkeys(table[name].dropna().astype(str))))
    return f"A column is to be named, not a value; column {name!r} holds {held}. "


def as_runs(
    table: pd.DataFrame,
    reading: Reading,
    source: Path | str,
    *,
    notes: Sequence[Note] = (),
) -> Runs:
    """Turn a table as a file has it into a runs table, or raise with all that is wrong with it."""
    shaped = list[Note]()
    if reading.where is not None:
        table, note = RowCondition.parse(reading.where).kept_rows(table)
        shaped.append(note)
    table, joined = joined_context(table, reading)
    kept = [str(name) for name in table.columns]
    missing = {name: as_ for name, as_ in reading.columns.items() if as_ not in kept}
    errors = [
        f"there is no column {as_!r} to use as {name!r}. "
        f"{_inside(table, name, as_)}{closest(as_, kept)}"
        for name, as_ in missing.items()
    ]
    errors = _header_beneath(table, set(missing.values())) or errors
    named = Naming({name: as_ for name, as_ in reading.columns.items() if as_ in kept})
    titles = table.attrs.get(TITLES, {})
    judged_notes, n_labels = list[Note](), None
    if reading.prediction is not None and reading.gold is not None:
        lacking = missing_columns(table[kept], reading.prediction, reading.gold)
        errors += lacking
        missing |= {"theta": reading.gold} if lacking else {}
        if not lacking:
            n_labels = table[reading.gold].nunique()
            used = frozenset(reading.columns.values())
            table, judged_notes = with_right_or_wrong(
                table,
                reading.prediction,
                reading.gold,
                used=used,
                action=reading.columns.get("action", "action"),
            )
            # The file's own theta stepped aside, and may be meant as something else.
            aside = {name: STOOD_ASIDE.get(as_, as_) for name, as_ in reading.columns.items()}
            reading = replace(reading, columns=aside)
    mine, unnamed = set_aside(reading.renamed(table))  # its cells may be written in any way
    errors += shared_parts(table, mine, reading) if joined else []
    of_scale, mapped = list[str](), list[Note]()
    if reading.scale is not None and "p" not in missing:
        mine, of_scale, mapped = with_scale(mine, reading.scale, named, n_labels=n_labels)
    numbers, of_numbers, assumed = read_probabilities(
        mine,
        percent=reading.percent,
        decimal=reading.decimal,
        named=named,
        titles={
            name: titles.get(as_, as_)
            for name in map(str, mine.columns)
            if (as_ := named.columns.get(name, name))
        },
    )
    assumed = [*mapped, *assumed]
    runs, of_table = examined(
        numbers,
        named=named,
        missing=list(missing),
        ours=holds_exact(table.columns),  # the file's own, before --exact
    )
    title = f"{source}{'' if reading.where is None else ', rows that where keeps'}"
    # All at once: each round of corrections takes a user as long as the first.
    if errors or of_scale or of_numbers:
        everything = [*errors, *of_scale, *of_numbers, *of_table]
        count = f" has {len(everything)} errors" if len(everything) > 1 else ""
        raise InputError.all_at_once(f"{title}{count}", everything)
    if of_table:
        raise SchemaError(of_table, title)
    log_notes([*shaped, *assumed], str(source))
    told = [*notes, *shaped, *joined, *judged_notes, *unnamed, *assumed, *runs.notes]
    return Runs(runs.table, tuple(dict.fromkeys(told)), named)


SAME_BY_CHANCE = 1e-3
"""Chance, were rows of a column unrelated, of states that are as one: below it they are its own."""


def joined_context(table: pd.DataFrame, reading: Reading) -> tuple[pd.DataFrame, list[Note]]:
    """Join the columns that together are the id of a context; return a note on it.

    A column whose own name has a comma is itself.
    """
    name, parts = reading.columns.get("context", ""), reading.parts_of_context
    if name in table.columns or not parts or not set(parts) <= set(map(str, table.columns)):
        return table, []
    if len(set(parts)) < len(parts):
        return table, []  # a column twice is no column of the file, which is said
    known = table[parts].notna().all(axis=1)
    ids = pd.DataFrame({part: labels(table[part]).astype(str) for part in parts})
    together = table.assign(**{name: ids.agg(" / ".join, axis=1).where(known, None)})
    return together, [Note(Code.SHAPE, f"{listing(parts)} together are the id of a context.")]


def shared_parts(table: pd.DataFrame, mine: pd.DataFrame, reading: Reading) -> list[str]:
    """Refuse ids of contexts a part of which alone has the state, so that contexts share it."""
    there = [name for name in ("theta", "p_true") if name in mine.columns]
    for name in there[-1:]:
        rows = table[reading.parts_of_context].assign(state=mine[name], id=mine["context"]).dropna()
        rows = rows.drop_duplicates("id")
        shares = rows["state"].value_counts(normalize=True)
        for part in reading.parts_of_context:
            by = rows.groupby(part, observed=True)["state"]
            sizes = by.size()[by.size() > 1]
            if sizes.empty or by.nunique().max() > 1 or len(shares) < 2:
                continue
            chance = np.array([(shares**size).sum() for size in sizes])
            if chance.prod() < SAME_BY_CHANCE:
                others = [other for other in reading.parts_of_context if other != part]
                typed = [typed_option("--context", part), typed_option("--person", others[0])]
                return [
                    f"context takes {listing(reading.parts_of_context)} together where contexts "
                    f"share nothing; {part!r} alone has the state: each of {len(sizes)} values "
                    f"that {sizes.sum()} contexts share has one {reading.name_in_file(name)}. "
                    f"Name that as context and who judged it as person: {' '.join(typed)}; in "
                    f"Python columns={{'context': {part!r}, 'person': {others[0]!r}}}."
                ]
    return []
