"""The options that say how a user's table is to be read, shared by the commands that read one."""

import argparse
import csv
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coherence.runs.columns import EXACT, OPTIONS, OPTIONS_OF_READING, Reading, declared

if TYPE_CHECKING:
    import pandas as pd

    from coherence.runs.runs import Runs

LOG = ".eval"
"""Ending of a log of Inspect."""
# Named as text, as the commands are: what makes a runs table of answers stands above this package.
_LOG_READER = "elicitation.inspect_logs"


_OF_COLUMNS: dict[str, dict[str, Any]] = {
    column.option: {
        "metavar": "COLUMN",
        # Of a table that is not ours the name does not say so much.
        "help": f"{column.meaning} (default: {column.name}"
        f"{', in tables of this toolkit' if column.name == EXACT else ''})",
    }
    for column in map(declared, OPTIONS.values())
    if column is not None
}


def _of_reading(*, of_file: bool) -> dict[str, dict[str, Any]]:
    """Return the options that are fields of a `Reading`, as argparse takes them."""
    return {
        name: {key: value for key, value in how.items() if key != "of_file"}
        for name, how in OPTIONS_OF_READING.items()
        if how.get("of_file", False) is of_file
    }


READING: dict[str, dict[str, dict[str, Any]]] = {
    "columns": {**_OF_COLUMNS, **_of_reading(of_file=False)},
    "labels": {
        "positive": {
            "action": "append",
            "metavar": "LABEL",
            "help": "state whose probability the belief is, as the truth names it; once for each "
            "task (not needed for 0 and 1, no and yes, false and true)",
        },
        "reference": {
            "metavar": "PROMPT",
            "help": "wording whose beliefs are held against actions and states (default: standard, "
            "else the one with the most actions)",
        },
        "state": {
            "choices": ("auto", "exact", "realised"),
            "default": "auto",
            "help": "what choices are compared with at equal belief: the exact posterior or the "
            "realised state (default: the posterior where every answer has it)",
        },
    },
    "files": _of_reading(of_file=True),
}
"""Every option that says how a table is read, by group: all commands that read one share them."""
_TITLES = {
    "columns": "names in your file, where they differ from those of the runs table, and its rows",
    "labels": "what the values of these columns mean",
    "files": "how your file is written, where it does not tell",
}


def add_reading(parser: argparse.ArgumentParser, only: Collection[str] | None = None) -> None:
    """Declare the options of reading, or some."""
    for title, options in READING.items():
        asked = {name: how for name, how in options.items() if only is None or name in only}
        group = parser.add_argument_group(title, _TITLES[title]) if asked else parser
        for name, how in asked.items():
            names = [f"--{name}", *["--penalty"] * (name == "loss")]
            group.add_argument(*names, **how)


def named_columns(args: argparse.Namespace) -> dict[str, str]:
    """Return what options name, by column of the runs table; a command may have some of them."""
    named = {as_: getattr(args, option.replace("-", "_"), None) for option, as_ in OPTIONS.items()}
    return {as_: name for as_, name in named.items() if name is not None}


def reading(args: argparse.Namespace) -> Reading:
    """Return what the options say."""
    said = {name: getattr(args, name) for name in OPTIONS_OF_READING}
    said["missing"] = () if args.missing is None else tuple(_quoted(args.missing))
    said["decimal"] = said["decimal"] or "."
    conditions = said["where"] or []  # one that an error proposes stands beside those before
    joined = " and ".join(f"({each})" for each in conditions)
    said["where"] = joined if len(conditions) > 1 else next(iter(conditions), None)
    return Reading(named_columns(args), **said)


def is_log(file: str) -> bool:
    """Tell whether a file is a log of Inspect, by its ending."""
    return file.lower().endswith(LOG)


def read_logs(files: Sequence[str]) -> "pd.DataFrame":
    """Read logs of our task in Inspect as one table, and say what they lack."""
    table, notes = import_module(_LOG_READER).read_inspect_runs(files)
    for note in notes:
        print(note, file=sys.stderr)
    return cast("pd.DataFrame", table)


def _quoted(text: str) -> list[str]:
    """Read values with commas between them; a value that holds commas is quoted, as in a CSV."""
    return next(csv.reader([text], skipinitialspace=True), [])


def require_one_table(files: Sequence[str]) -> None:
    """Raise `InputError` for several files that are not all logs."""
    from coherence.errors import InputError

    tables = [file for file in files if not is_log(file)]
    if tables and len(files) > 1:
        raise InputError(
            f"runs must be one table, or one or several logs of Inspect ({LOG}); received "
            f"{len(files)} files, among them {tables[0]}. coherence compare takes several tables."
        )


def read_table(args: argparse.Namespace) -> "Runs":
    """Read a table from a file, or logs of Inspect."""
    from coherence.runs.formats import FileTable
    from coherence.runs.read import as_runs, read_file

    if is_log(args.runs):
        return as_runs(FileTable(read_logs(args.files)), reading(args), Path(args.runs))
    return read_file(args.runs, reading(args))
