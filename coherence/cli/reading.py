"""The options that say how a user's table is to be read, shared by the commands that read one."""

import argparse
import re
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coherence.cli.streams import STREAM, standard_input
from coherence.table.schema import OPTIONS

if TYPE_CHECKING:
    import pandas as pd

    from coherence.table.runs import Runs

LOG = ".eval"
"""Ending of a log of Inspect."""
# Named as text, as the commands are: what makes a runs table of answers stands above this package.
_LOG_READER = "elicitation.commands.inspect_logs"

FORM = ("sep", "encoding", "missing", "sheet")
"""What `reading` returns of how a file is written; the rest is how its columns are understood."""
# Option of `OPTIONS` -> what its column holds.
HOLDS = {
    "belief": "stated probabilities",
    "action": "actions",
    "truth": "realised states",
    "exact": "exact posteriors of the state, given the evidence",
    "context": "ids of the cases; rows of one case are not independent. Two columns, A,B, are one "
    "id where cases share nothing",
    "group": "what cases share beyond their belief, such as a template",
    "person": "who judged, where several persons judged the same cases",
    "rep": "repetitions",
    "prompt": "wordings of the belief question",
    "task": "tasks",
    "model-column": "models",
    "level": "stated chances, in rows of matching and stakes questions",
    "frame": "what the prize of these is on: event or complement; or stakes",
    "order": "the option that these name first",
}


class _Conditions(argparse.Action):
    """Join conditions on rows: one that an error proposes stands beside those that were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: "str | Sequence[Any] | None",
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        joined = values if before is None else f"({before}) and ({values})"
        setattr(namespace, self.dest, joined)


_OF_COLUMNS: dict[str, dict[str, Any]] = {
    option: {
        "metavar": "COLUMN",
        # Of a table that is not ours the name does not say so much.
        "help": f"{HOLDS[option]} (default: {column}"
        f"{', in tables of this toolkit' if option == 'exact' else ''})",
    }
    for option, column in OPTIONS.items()
}
READING: dict[str, dict[str, dict[str, Any]]] = {
    "columns": {
        **_OF_COLUMNS,
        "prediction": {
            "metavar": "COLUMN",
            "help": "predicted labels, where the belief is the confidence in them: with --gold the "
            "truth is whether they are right",
        },
        "gold": {"metavar": "COLUMN", "help": "right labels, for --prediction"},
        "scale": {
            "metavar": "LOW..HIGH",
            "help": "scale of the beliefs, such as 1..7 or -1..1, mapped to probabilities from 0 "
            "to 1; 1..4=.5..1 maps it to others, as where the lowest step is a guess between two",
        },
        "percent": {
            "action": "store_true",
            "help": "stated probabilities are percentages: 70 or 70%% is 0.7",
        },
        "where": {
            "action": _Conditions,
            "metavar": "CONDITION",
            "help": "rows to keep: columns compared with literals, joined by and, or, not, such as "
            "'type == \"binary\" and score >= 0.5'; of several all must hold",
        },
    },
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
    "files": {
        "sep": {
            "metavar": "CHARACTER",
            "help": "separator of a .csv or .tsv file; ';', tab and '|' are recognised",
        },
        "decimal": {
            "metavar": "MARK",
            "default": ".",
            "help": "its decimal mark: . or , (default: .)",
        },
        "encoding": {
            "metavar": "NAME",
            "help": "encoding of a text file, such as latin-1 or cp1252 "
            "(default: UTF-8; UTF-16 with its mark is recognised)",
        },
        "missing": {
            "metavar": "A,B",
            "help": "what cells hold that are missing, such as NA,-99; empty ones are so anyway",
        },
        "sheet": {
            "metavar": "NAME",
            "help": "sheet of a workbook (default: the one with cells)",
        },
    },
}
"""Every option that says how a table is read, by group: all commands that read one share them."""
_TITLES = {
    "columns": "names in your file, where they differ from those of the runs table, and its rows",
    "labels": "what the values of these columns mean",
    "files": "how your file is written, where it does not tell",
}


def add_reading(
    parser: argparse.ArgumentParser,
    only: Collection[str] | None = None,
    *,
    of_pilot: bool = False,
) -> None:
    """Declare the options of reading, or some; of a pilot ``--task`` names a task of the table."""
    for title, options in READING.items():
        asked = {name: how for name, how in options.items() if only is None or name in only}
        group = parser.add_argument_group(title, _TITLES[title]) if asked else parser
        for name, how in asked.items():
            names = [f"--{name}"]
            if name == "task":
                names = ["--task-column"] if of_pilot else [*names, "--task-column"]
            group.add_argument(*names, **how)


def missing_marks(args: argparse.Namespace) -> tuple[str, ...]:
    """Return what ``--missing`` lists."""
    return () if args.missing is None else tuple(args.missing.split(","))


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say: the fields of a `Reading`, and those in `FORM`."""
    from coherence.table.scales import Scale

    named = {column: getattr(args, _attribute(option)) for option, column in OPTIONS.items()}
    return {
        "columns": {column: name for column, name in named.items() if name is not None},
        "sep": args.sep,
        "decimal": args.decimal,
        "encoding": args.encoding,
        "percent": args.percent,
        "prediction": args.prediction,
        "gold": args.gold,
        "missing": missing_marks(args),
        "sheet": args.sheet,
        "where": args.where,
        "scale": None if args.scale is None else Scale.parse(args.scale),
    }


def reading_words(
    args: argparse.Namespace, groups: Sequence[str] = ("columns", "files")
) -> list[str]:
    """Return the options that said how a file was read, as words of the command line."""
    words = []
    for name, how in (option for group in groups for option in READING[group].items()):
        value = getattr(args, _attribute(name))
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False, how.get("default")):
            words += [f"--{name}={each}" for each in ([value] if isinstance(value, str) else value)]
    return words


def power_words(args: argparse.Namespace) -> list[str]:
    """Return these, and the options of labels, as ``coherence power --like`` takes them."""
    words = reading_words(args, list(READING))
    return [re.sub("^--task=", "--task-column=", word) for word in words]


def pilot_options(args: argparse.Namespace) -> argparse.Namespace:
    """Return the options of ``coherence power`` as those of a command that reads one table."""
    as_read = {"runs": args.like, "files": [args.like], "task": args.task_column}
    return argparse.Namespace(**{**vars(args), **as_read})


def is_log(file: str) -> bool:
    """Tell whether a file is a log of Inspect, by its ending."""
    return file.lower().endswith(LOG)


def read_logs(files: Sequence[str]) -> "pd.DataFrame":
    """Read logs of our task in Inspect as one table, and say what they lack."""
    table, notes = import_module(_LOG_READER).read_inspect_runs(files)
    for note in notes:
        print(note, file=sys.stderr)
    return cast("pd.DataFrame", table)


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
    """Read a table from a file, a folder or standard input, or logs of Inspect."""
    from coherence.table.reading import as_runs, read_file, read_stream
    from coherence.table.roles import Reading

    said = reading(args)
    written = {name: said.pop(name) for name in FORM}
    how = Reading(**said)
    if is_log(args.runs):
        return as_runs(read_logs(args.files), how, Path(args.runs))
    if args.runs == STREAM:
        return read_stream(standard_input(), how, **written)
    return read_file(args.runs, how, **written)


def _attribute(option: str) -> str:
    return option.replace("-", "_")
