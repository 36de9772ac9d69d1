"""``coherence analyze``: read a runs table, run the checks, print and write down what they say."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import pandas as pd

    from coherence.report.report import Report

from coherence.checks import CHECKS
from coherence.cli.fail_on import judge
from coherence.cli.folders import prepare_folder, replace_text
from coherence.cli.report_folder import reading_words, write_figures, write_report
from coherence.cli.streams import STREAM, discard_output, standard_input
from coherence.cli.text_options import add_text_arguments
from coherence.report.answer_links import MOST_CONTEXTS

TWINS = 200
# Option -> column of the runs table, what it holds.
_COLUMNS = {
    "belief": ("p", "stated probabilities"),
    "action": ("action", "actions"),
    "truth": ("theta", "realised states"),
    "context": ("context", "ids of the cases; rows of one case are not independent"),
    "rep": ("rep", "repetitions"),
    "prompt": ("prompt", "wordings of the belief question"),
    "task": ("task", "tasks"),
    "model-column": ("model", "models"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    parser.add_argument(
        "runs",
        metavar="RUNS",
        help="runs table: a .parquet, .csv, .tsv or .jsonl file (the last three also as .gz), "
        "a folder of .parquet files, or - for standard input, whose content tells its kind",
    )
    _add_outputs(parser)
    _add_pipelines(parser)
    parser.add_argument(
        "--checks",
        metavar="A,B",
        help=f"checks to run, of {', '.join(CHECKS)} (default: all that the columns allow)",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="use the procedures as they were published, to compare with older numbers",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="leave out answers that missed the form and were repaired",
    )
    parser.add_argument(
        "--twin",
        type=int,
        nargs="?",
        const=TWINS,
        metavar="N",
        help="set every statistic beside those of N data sets that the nearest rational agent "
        f"would give with its noise (default with the flag: {TWINS}; each takes some tenths of a "
        "second, with wide noise about one); write it behind the table",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed; equal seeds give equal numbers (default: 0)",
    )
    parser.add_argument(
        "--n-jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes; -1 for one per processor (default: 1)",
    )
    _add_reading(parser)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    """Declare what is written and printed for readers."""
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for results.json, results.parquet and report.html, with pages of answers and, "
        "of more than three tasks and models, of each; made if it does not exist",
    )
    parser.add_argument(
        "--paper",
        metavar="DIR",
        help="folder for the tables and figures of the paper that these checks come from, tasks "
        "and models side by side, as Markdown, LaTeX, CSV, SVG and PDF; with --published the "
        "published numbers stand beside the repaired ones",
    )
    parser.add_argument(
        "--answers",
        type=int,
        default=MOST_CONTEXTS,
        metavar="N",
        help="contexts of each task and model whose answers are written beside the report, evenly "
        f"spaced; 0 for none (default: {MOST_CONTEXTS})",
    )
    parser.add_argument(
        "--figures",
        metavar="DIR",
        help="folder for each figure as .svg, .pdf and .png; made if it does not exist",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="print all results of every task and model; of more than three, a summary is printed",
    )


def _add_pipelines(parser: argparse.ArgumentParser) -> None:
    """Declare what other programs read."""
    group = parser.add_argument_group("pipelines", "for programs that act on the outcome")
    group.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit with 1 where any result meets it, such as 'holm<.05', 'unreadable>.1' or "
        "'residual_covariance.statistic>.02', and with 2 where there is nothing to compare; may be "
        "given several times",
    )
    group.add_argument(
        "--json",
        metavar="FILE",
        help="file for the results as JSON; - is standard output, and everything else then goes to "
        "standard error ('coherence schema' describes it)",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Declare how the table is to be understood."""
    columns = parser.add_argument_group(
        "columns", "names in your file, where they differ from those of the runs table"
    )
    for option, (column, holds) in _COLUMNS.items():
        columns.add_argument(f"--{option}", metavar="COLUMN", help=f"{holds} (default: {column})")
    columns.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="column of your file to leave out; may be given several times",
    )
    meaning = parser.add_argument_group("labels", "what the values of these columns mean")
    meaning.add_argument(
        "--positive",
        action="append",
        metavar="LABEL",
        help="state whose probability the belief is, as the truth names it; once for each task "
        "(not needed for 0 and 1, no and yes, false and true)",
    )
    meaning.add_argument(
        "--reference",
        metavar="PROMPT",
        help="wording whose beliefs are held against actions and states (default: standard, else "
        "the one with the most actions)",
    )
    meaning.add_argument(
        "--merge-labels",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take labels that differ only by blanks, case, Unicode form or type for one, or keep "
        "them apart (default: refuse the table and show them)",
    )
    add_text_arguments(parser, percent="stated probabilities are percentages: 70 or 70%% is 0.7")


def _prepare_folder(name: str, option: str = "--out") -> Path:
    """Make the folder and try to write there: known before the analysis, and not at its end."""
    from coherence.errors import InputError

    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{option} must be a folder; {name} is a file. Name a folder.")
    return prepare_folder(folder, option)


def _paper_folder(args: argparse.Namespace) -> Path | None:
    """Make the folder of the paper, which has results of its own."""
    from coherence.errors import InputError

    if args.paper is None:
        return None
    if args.out is not None and Path(args.paper).resolve() == Path(args.out).resolve():
        raise InputError(
            f"--paper and --out must be different folders; both are {args.paper}, and each has a "
            f"results.parquet. Try --paper {Path(args.out, 'paper')}."
        )
    return _prepare_folder(args.paper, "--paper")


def _require_writable(file: str) -> None:
    """Refuse a file that cannot be written, before the analysis."""
    from coherence.errors import InputError

    path = Path(file)
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"--json must be a file in a folder that can be written to, or -; {file} is not. "
            "Name another."
        )


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """Show a bar if stderr is a terminal."""
    from tqdm import tqdm

    from coherence.report.wording import clean

    # disable=None: no bar where stderr is a file or a pipe.
    with tqdm(unit="check", file=sys.stderr, disable=None, leave=False) as bar:

        def show(done: int, total: int, label: str) -> None:
            bar.total, bar.n = total, done
            # Labels hold names of tasks and models, which come from the user's files.
            bar.set_description_str(clean(label, limit=40), refresh=False)
            bar.refresh()

        yield None if bar.disable else show


def _print_report(report: "Report", stream: TextIO, full: bool) -> None:
    """Print what a stream can show: rich knows terminals, pipes, NO_COLOR, TERM and encodings."""
    from rich.console import Console

    from coherence.report.summary import render_report

    # Python's own streams know their encoding, but not whether colours are wanted.
    shown = Console(file=stream)
    color = shown.color_system is not None and not shown.no_color
    plain = shown.options.ascii_only
    text = render_report(report.units, full=full, color=color, ascii_only=plain)
    print(text, file=stream)


def _read(args: argparse.Namespace) -> "pd.DataFrame":
    """Read the table, from a file, a folder or standard input."""
    from coherence.table.storage import read_runs
    from coherence.table.streams import read_stream

    names = {
        column: getattr(args, option.replace("-", "_")) for option, (column, _) in _COLUMNS.items()
    }
    options: dict[str, Any] = {
        "columns": {column: name for column, name in names.items() if name is not None},
        "sep": args.sep,
        "decimal": args.decimal,
        "encoding": args.encoding,
        "percent": args.percent,
        "ignore": args.ignore,
        # Merged by the analysis, whose report says so.
        "merge_labels": None if args.merge_labels is None else False,
    }
    if args.runs == STREAM:
        return read_stream(standard_input(), **options)
    return read_runs(args.runs, **options)


def _write(report: "Report", folder: Path | None, json_file: str | None, answers: int) -> None:
    """Write the files, before anything is printed: `| head` must not cost them."""
    if folder is not None:
        write_report(report, folder, answers=answers)
    if json_file not in (None, STREAM):
        replace_text(Path(str(json_file)), report.to_json())


def _write_paper(
    report: "Report",
    folder: Path,
    runs: "pd.DataFrame",
    args: argparse.Namespace,
    progress: Callable[[int, int, str], None] | None,
) -> None:
    from coherence.analysis.paper.write import write_paper

    options: dict[str, Any] = {"n_jobs": args.n_jobs, "progress": progress}
    write_paper(report, folder, runs=runs, published=args.published, **options)


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print, write.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0 whatever the verdicts; 1 where a condition of ``--fail-on`` is met.
    """
    from coherence.analysis.conditions import parse_condition
    from coherence.errors import InputError

    # numpy takes no negative seed, and says so in words about entropy.
    for option in ("seed", "answers"):
        if getattr(args, option) < 0:
            raise InputError(f"--{option} must be at least 0; received {getattr(args, option)}.")
    conditions = [parse_condition(text) for text in args.fail_on]
    checks = None
    if args.checks is not None:
        checks = [name.strip() for name in args.checks.split(",") if name.strip()]
    runs = _read(args)
    folder = None if args.out is None else _prepare_folder(args.out)
    figures = None if args.figures is None else _prepare_folder(args.figures, "--figures")
    paper = _paper_folder(args)
    if args.json not in (None, STREAM):
        _require_writable(args.json)

    # Imported after the options are known to be right: the checks take a second to load.
    from coherence.analysis.analyze import analyze

    with _progress() as progress:
        report = analyze(
            runs,
            checks=checks,
            published=args.published,
            strict=args.strict,
            positive=args.positive,
            reference=args.reference,
            merge_labels=args.merge_labels,
            twins=args.twin,
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=progress,
        )
        if paper is not None:
            _write_paper(report, paper, runs, args, progress)
    report = replace(report, settings={**report.settings, **reading_words(args, _COLUMNS)})
    _write(report, folder, args.json, args.answers)
    if figures is not None:
        print(f"wrote {write_figures(report, figures)} figures to {figures}", file=sys.stderr)
    as_json = args.json == STREAM
    try:
        _print_report(report, sys.stderr if as_json else sys.stdout, args.full)
        if as_json:
            sys.stdout.write(report.to_json())
        sys.stdout.flush()
    # The reader left, as `head` does: the status is still to be told.
    except BrokenPipeError:
        discard_output()
    if paper is not None:
        print(f"wrote the tables and figures of the paper, see {paper}/paper.md", file=sys.stderr)
    if folder is not None:
        print(f"wrote results.json, results.parquet and report.html to {folder}", file=sys.stderr)
    return judge(conditions, report)
