"""From somebody's file to a runs table: its columns found, its numbers read, everything checked.

A file is read as what its ending says: parquet, CSV, JSON lines, or a folder of parquet files. What
was assumed on the way is a note of the table.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa

from coherence.errors import InputError, SchemaError, closest, listing
from coherence.table.csv_files import as_column, read_cells
from coherence.table.exact import EXACT, KIND, holds_exact, set_aside
from coherence.table.foreign_files import FOREIGN, WORKBOOKS, read_foreign
from coherence.table.frames import require_path, with_index_columns
from coherence.table.missing import without_marked_cells
from coherence.table.notes import Code, Note
from coherence.table.predictions import (
    STOOD_ASIDE,
    missing_columns,
    require_both,
    with_right_or_wrong,
)
from coherence.table.probabilities import log_notes, read_probabilities
from coherence.table.row_condition import RowCondition
from coherence.table.runs import NOTES, Runs
from coherence.table.scales import Scale, with_scale
from coherence.table.schema import (
    COLUMN_NAMES,
    COLUMNS,
    OPTIONS,
    PROBABILITIES,
    RECORDED,
    Naming,
)
from coherence.table.states import typed_option
from coherence.table.text_files import (
    SEPARATORS,
    TextForm,
    inner_suffix,
    read_array,
    read_bytes,
    read_objects,
    with_dotted_names,
)
from coherence.table.validation import examined, with_columns

logger = logging.getLogger(__name__)
TITLES = "titles_of_columns"  # attribute of a table as read: column -> its heading at length
PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
ARRAY = ".json"
STANDARD_INPUT, IN_MEMORY = "standard input", "runs"
Table: TypeAlias = "str | os.PathLike[str] | pd.DataFrame"
"""A file, or a table in memory."""
DAMAGED = (OSError, ValueError, TypeError, LookupError, NotImplementedError)
"""What pyarrow raises of a file that is damaged, or has a type that pandas does not know."""
_COMPARED = ("prediction", "gold")
_OPTIONS = {option.replace("-", "_"): name for option, name in OPTIONS.items()} | OPTIONS
_TEXTS = tuple(column.name for column in COLUMNS if column.kind == "text")
_LABELS = tuple(column.name for column in COLUMNS if column.kind == "label")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a value
# What may stand before the first character of a text: marks of Unicode, blanks, zero bytes.
_BEFORE_TEXT = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


@dataclass(frozen=True)
class Reading:
    """How a file's columns are to be understood."""

    # column of the runs table -> column of the file
    columns: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."  # decimal mark of numbers that are text
    percent: bool = False  # whether stated probabilities are percentages
    # columns of the file that hold predicted and right labels, of which theta is made; or neither
    prediction: str | None = None
    gold: str | None = None
    where: str | None = None  # the rows to keep; see `row_condition`
    scale: Scale | None = None  # of stated beliefs that are no probabilities

    def __post_init__(self) -> None:
        """Refuse a mapping of something else than columns of the runs table, or not one to one."""
        require_both(self.prediction, self.gold)
        if self.where is not None:
            RowCondition.parse(self.where)
        if self.scale is not None and self.percent:
            raise InputError(
                f"percent is the scale 0..100; received the scale {self.scale} as well. Leave "
                "percent (--percent) out."
            )
        if not isinstance(self.columns, Mapping):
            raise InputError(
                "columns must map columns of the runs table to columns of the file, such as "
                f"{{'p': 'confidence'}}; received {self.columns!r}."
            )
        for name in self.columns:
            if name not in COLUMN_NAMES:
                raise InputError(
                    f"columns maps to {name!r}, which is not a column of the runs table. "
                    f"{closest(name, (*COLUMN_NAMES, *_OPTIONS, *_COMPARED))}"
                )
        if len(set(self.columns.values())) < len(self.columns):
            raise InputError(
                f"columns uses one column of the file twice: {dict(self.columns)}. Map every "
                "column once."
            )
        if self.prediction is None:
            return
        if "theta" in self.columns:
            raise InputError(
                "prediction and gold say what theta is, whether the prediction is right; received "
                f"the truth {self.columns['theta']!r} as well. Leave --truth out (columns)."
            )
        if self.columns.get("action") in (self.prediction, self.gold):
            raise InputError(
                f"action must be another choice than the prediction, such as whether to abstain; "
                f"received {self.columns['action']!r} for both. Leave --action out (columns)."
            )

    @classmethod
    def of(cls, columns: Mapping[str, str] | None, **fields: Any) -> Reading:
        """Take a mapping as users write it: its keys may be options of the command line.

        Both ``p`` and ``belief`` name the belief; ``prediction`` and ``gold`` may stand there too.
        """
        if not isinstance(columns, Mapping):
            return cls({} if columns is None else columns, **fields)
        mapped: dict[str, str] = {}
        for key, column in columns.items():
            if key in _COMPARED:
                if fields.get(key) is not None:
                    raise InputError(
                        f"{key} is named twice: {fields[key]!r} and {column!r} in columns. Leave "
                        "one out."
                    )
                fields[key] = column
                continue
            name = _OPTIONS.get(key, key)
            if name in mapped:
                raise InputError(
                    f"columns names {name!r} twice: {mapped[name]!r} and {column!r} as {key!r}. "
                    "Leave one out."
                )
            if not isinstance(column, str):
                raise InputError(
                    f"columns maps {key!r} to the name of a column; received {column!r}. Write "
                    "names as text; a DataFrame's become so by runs.columns.map(str)."
                )
            mapped[name] = column
        return cls(mapped, **fields)

    def name_in_file(self, name: str) -> str:
        """Return what a column of the runs table is called in the file."""
        return self.columns.get(name, name)

    @property
    def parts_of_context(self) -> list[str]:
        """Names of the columns that together are the id of a context; none where one is."""
        named = self.columns.get("context", "")
        return [part.strip() for part in named.split(",")] if "," in named else []

    def renamed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Give columns of a file their names in the runs table."""
        renamed = {original: name for name, original in self.columns.items() if original != name}
        # A column of the file that already bears the name steps aside: it is not what was asked
        # for.
        aside = {
            name: f"unmapped_{name}"
            for name in renamed.values()
            if name in table.columns and name not in renamed
        }
        mine = table.rename(columns={**aside, **renamed})
        named = self.columns.get(EXACT)
        # Said to be the exact posterior by the user, of states that are the user's as well.
        if named in table.columns and (named != EXACT or KIND not in table.columns):
            mine = mine.assign(**{KIND: RECORDED})
        return mine


AS_IT_IS = Reading()


def option_words(reading: Reading) -> list[str]:
    """Return the options that name the same columns on the command line."""
    named = {option: reading.columns.get(name) for option, name in OPTIONS.items()}
    named |= {name: getattr(reading, name) for name in _COMPARED}
    return [f"--{option}={name}" for option, name in named.items() if name is not None]


def read_runs(
    path: Table,
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
        they are. In CSV an empty text is a missing one, and labels that all look like numbers are
        numbers; raw answers stay as they were written.

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


def read_table(
    path: str | os.PathLike[str],
    reading: Reading = AS_IT_IS,
    **form: Any,
) -> pd.DataFrame:
    """Read a table with the columns of its file."""
    source, written = require_path(path), TextForm(decimal=reading.decimal, **form)
    require_there(source)
    tables = [
        _read(file, reading, written).assign(**dict[str, Any](keys))
        for file, keys in parquet_files(source)
    ]
    table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    if len(table) == 0:
        raise InputError(f"{source}: the table has no rows. Check the export that wrote it.")
    return table


def require_there(path: Path) -> None:
    """Refuse a path where nothing is, and name what lies next to it."""
    if not path.exists():
        if path.is_symlink():
            raise InputError(
                f"{path}: a link to {path.readlink()}, where nothing is. Make the link anew, or "
                "name the file itself."
            )
        store = path.with_name(f"{path.name}.answers.sqlite")
        if store.exists():
            raise InputError(
                f"{path}: no such file, but {store.name} holds answers of an interrupted "
                "'coherence elicit'. Run that command again: it asks what is left, and writes the "
                "table."
            )
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        tables = (*PARQUET, *SEPARATORS, *LINES, ARRAY, *FOREIGN, ".gz")
        names = sorted(
            entry.name for entry in beside if entry.suffix.lower() in tables and entry.exists()
        )
        raise InputError(f"{path}: no such file or folder. {closest(path.name, names)}")


def parquet_files(path: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """List the parquet files of a folder, sorted, with what the names of their folders say.

    Folders may be partitions (``task=asia/model=m``); other folders in the table's are left out,
    and files whose names begin with ``.`` or ``_``. A path that is no folder is its own file.
    """
    if not path.is_dir():
        return [(path, {})]
    files = []
    for file in sorted(path.rglob("*")):
        *folders, name = file.relative_to(path).parts
        if not all("=" in folder for folder in folders) or name[0] in "._" or not file.is_file():
            continue
        if file.suffix.lower() in PARQUET:
            pairs = [tuple(map(unquote, folder.split("=", 1))) for folder in folders]
            named = {key: None if text == _NO_VALUE else text for key, text in pairs}
            files.append((file, named))
    if not files:
        raise InputError(
            f"{path}: the folder holds no .parquet file. Name a file, or a folder of parquet files."
        )
    return files


def _read(path: Path, reading: Reading, form: TextForm) -> pd.DataFrame:
    suffix = inner_suffix(path)
    if suffix not in (*PARQUET, *SEPARATORS, *LINES, ARRAY, *FOREIGN):
        remedy = "Save it as .xlsx." if suffix == ".xls" else "Convert the file."
        raise InputError(
            f"{path}: the file's ending must be .parquet, .csv, .tsv, .jsonl, .json, .xlsx, .dta, "
            f".sav or .sas7bdat, not {suffix or 'missing'!r}. {remedy}"
        )
    if form.sheet is not None and suffix not in WORKBOOKS:
        raise InputError(
            f"sheet is one of a workbook ({', '.join(WORKBOOKS)}); received {form.sheet!r} for "
            f"{path}. Leave --sheet (sheet=) out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty (0 bytes). Check the export that wrote it.")
    try:
        if suffix in SEPARATORS:
            return _read_csv(path, reading, form)
        if suffix in (ARRAY, *LINES):
            objects = (
                read_array(path, text=form)
                if suffix == ARRAY
                else [record for _, record in read_objects(path, text=form)]
            )
            table = pd.DataFrame.from_records(list(map(with_dotted_names, objects)))
        elif suffix in FOREIGN:
            numbers = {reading.name_in_file(name) for name in PROBABILITIES}
            table = read_foreign(path, sheet=form.sheet, numbers=numbers)
        else:
            table = _read_parquet(path)
        return _without_marks(path, table, form.missing)
    except InputError:
        raise
    except DAMAGED as error:  # only the first line of such messages helps a user
        raise InputError(
            f"{path}: the file cannot be read as {suffix[1:]} ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def _without_marks(path: Path, table: pd.DataFrame, missing: Sequence[str]) -> pd.DataFrame:
    left = list(table.attrs.get(NOTES, ()))
    table, notes = without_marked_cells(table, missing)
    for note in notes:
        logger.warning("%s: %s", path, note)
    if notes:
        table.attrs[NOTES] = [*left, *(note.record() for note in notes)]
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    packed = path.suffix.lower() == ".gz"
    table = pd.read_parquet(io.BytesIO(read_bytes(path)) if packed else path, engine="pyarrow")
    for at in range(table.shape[1]):
        column = table.iloc[:, at].array
        if isinstance(column.dtype, pd.StringDtype | pd.ArrowDtype):
            # A damaged page may hold bytes that are no text, which shows wherever they are used.
            pa.array(column).validate(full=True)
    return with_index_columns(_with_nested_fields(table))


def _with_nested_fields(table: pd.DataFrame) -> pd.DataFrame:
    """Make columns of structs columns of their fields, under dotted names."""
    if table.columns.has_duplicates:
        return table
    objects = [name for name in table.columns if table[name].dtype == object]
    nested = [name for name in objects if isinstance(_first_cell(table[name]), dict)]
    if not nested:
        return table
    records = [
        with_dotted_names(dict(zip(nested, cells, strict=True)))
        for cells in table[nested].itertuples(index=False, name=None)
    ]
    fields = pd.DataFrame.from_records(records, index=table.index)
    made = fields.columns.difference(table.columns, sort=False)  # a struct that is null has none
    return pd.concat([table.drop(columns=nested), fields[made]], axis="columns")


def _first_cell(cells: pd.Series[Any]) -> object:
    there = np.flatnonzero(cells.notna())
    return cells.iloc[there[0]] if there.size else None


def _read_csv(path: Path, reading: Reading, form: TextForm) -> pd.DataFrame:
    compared = {name for name in (reading.prediction, reading.gold) if name is not None}
    read = {reading.name_in_file(name) for name in COLUMN_NAMES}
    read |= {*compared, *reading.parts_of_context}
    cells = read_cells(path, form, once=read)
    texts = {reading.name_in_file(name).strip() for name in _TEXTS}
    of_labels = (*map(reading.name_in_file, _LABELS), *compared, *reading.parts_of_context)
    labels = {name.strip() for name in of_labels}
    columns = {
        # The raw answer 0.70 is no number yet.
        name: column.to_pandas()
        if name.strip() in texts
        else as_column(column, decimal=form.decimal, label=name.strip() in labels)
        for name, column in zip(cells.names, cells.columns, strict=True)
    }
    table = pd.DataFrame(columns)
    table.attrs[NOTES] = [note.record() for note in cells.notes]
    table.attrs[TITLES] = dict(cells.questions)
    # Blanks around a name belong to it only where the user says so, or another has it without.
    asked = {name.strip(): name for name in (*reading.columns.values(), *compared)}
    plain = [asked.get(name.strip(), name.strip()) for name in cells.names]
    return table if len({*plain}) < len(plain) else table.set_axis(plain, axis="columns")


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
        restore_whole_labels(numbers),
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
    told = (
        *notes,
        *shaped,
        *joined,
        *judged_notes,
        *unnamed,
        *assumed,
        *runs.notes,
    )
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
    ids = restore_whole_labels(table[parts], parts).astype(str).agg(" / ".join, axis=1)
    together = table.assign(**{name: ids.where(known, None)})
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


def restore_whole_labels(runs: pd.DataFrame, names: Sequence[str] = _LABELS) -> pd.DataFrame:
    """Undo what a missing value does to whole numbers: the label 1 must not come back as 1.0."""
    whole = {}
    for name in names:
        if name not in runs or not pd.api.types.is_float_dtype(runs[name]):
            continue
        labels = runs[name].dropna()
        # Beyond 2**53 a float is no label that anybody wrote.
        if len(labels) and (labels % 1 == 0).all() and labels.abs().max() < 2**53:
            whole[name] = runs[name].astype("Int64")
    return runs.assign(**whole)
