"""The options that say how a runs table is to be read, shared by the commands that read one."""

import argparse
from typing import Any

from coherence.cli.text_options import add_text_arguments

# Option -> column of the runs table, what it holds.
COLUMNS = {
    "belief": ("p", "stated probabilities"),
    "action": ("action", "actions"),
    "truth": ("theta", "realised states"),
    "context": ("context", "ids of the cases; rows of one case are not independent"),
    "rep": ("rep", "repetitions"),
    "prompt": ("prompt", "wordings of the belief question"),
    "task": ("task", "tasks"),
    "model-column": ("model", "models"),
}


def add_column_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare an option for every column, and ``--ignore``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of the command.
    """
    group = parser.add_argument_group(
        "columns", "names in your file, where they differ from those of the runs table"
    )
    for option, (column, holds) in COLUMNS.items():
        group.add_argument(f"--{option}", metavar="COLUMN", help=f"{holds} (default: {column})")
    group.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="column of your file to leave out; may be given several times",
    )


def add_form_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a file is written: separator, decimal mark, encoding, percentages.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of the command.
    """
    add_text_arguments(parser, percent="stated probabilities are percentages: 70 or 70%% is 0.7")


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say, as `coherence.table.storage.read_runs` takes it.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by the other functions here.

    Returns
    -------
    dict
        Keywords.
    """
    named = {column: getattr(args, _attribute(option)) for option, (column, _) in COLUMNS.items()}
    return {
        "columns": {column: name for column, name in named.items() if name is not None},
        "sep": args.sep,
        "decimal": args.decimal,
        "encoding": args.encoding,
        "percent": args.percent,
        "ignore": args.ignore,
    }


def reading_words(args: argparse.Namespace) -> list[str]:
    """Return the options that said how a file was read, as words of the command line.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by the other functions here.

    Returns
    -------
    list of str
        Those that were given.
    """
    named = [(option, getattr(args, _attribute(option))) for option in COLUMNS]
    named += [("ignore", name) for name in args.ignore]
    named += [("sep", args.sep), ("encoding", args.encoding)]
    named += [("decimal", args.decimal if args.decimal != "." else None)]
    words = [f"--{option}={value}" for option, value in named if value is not None]
    return [*words, *(["--percent"] if args.percent else [])]


def _attribute(option: str) -> str:
    return option.replace("-", "_")
