"""``coherence analyze``: read a runs table, run the checks, print and write down what they say."""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError

if TYPE_CHECKING:
    from coherence.report.report import Report
    from coherence.runs.runs import Runs

from coherence.checks import CHECKS
from coherence.cli.folders import (
    RESULTS,
    in_place,
    prepare_folder,
    replace_text,
    write_figures,
    write_report,
    write_tables,
)
from coherence.cli.reading import (
    add_reading,
    read_table,
    reading,
    require_one_table,
)
from coherence.cli.run_options import (
    FAIL_ON,
    JOBS,
    SEED,
    comma_separated,
    declare,
    require_seed,
    workers,
)
from coherence.cli.terminal import (
    STREAM,
    Progress,
    discard_output,
    shows_ascii_only,
    shows_styles,
    step_progress,
)
from coherence.report import MOST_CONTEXTS

OPTIONS = f"""
files RUNS+  runs table: a .parquet, .csv, .tsv, .jsonl or .json file (but the first also as .gz);
    or logs of our task in Inspect (.eval), one or several
--out DIR  folder for results.json, results.parquet and report.html, with pages of answers and, of
    more than three tasks and models, of each; made if it does not exist
--paper DIR  folder for the tables and figures of the paper that these checks come from, tasks and
    models side by side, as Markdown, LaTeX, CSV, SVG and PDF; with --published the published
    numbers stand beside the repaired ones
--answers N:int={MOST_CONTEXTS}  contexts of each task and model whose answers are written beside
    the report, evenly spaced; 0 for none (default: {MOST_CONTEXTS})
--figures DIR  folder for each figure as .svg, .pdf and .png; made if it does not exist
--tables DIR  folder for the table of the screen, the results and statuses of each task and model in
    Markdown, LaTeX and CSV; made if it does not exist
--full  print every result in words, with counts and notes, and run the forests that gaps of
    iterated_expectation are read against; otherwise more than a screen is cut down to the tests,
    and of more than three tasks and models to a row each
--checks A,B  checks to run, of {", ".join(CHECKS)} (default: all that the columns allow, but for
    those that run by name alone)
--margin X:float  say whether effects are shown to lie within X, such as 0.05 (two one-sided tests)
--published  use the procedures as they were published, to compare with older numbers
--strict  leave out answers that missed the form and were repaired
{SEED}
{JOBS.strip()}
[pipelines] for programs that act on the outcome
{FAIL_ON.strip()}
--json FILE  file for the results as JSON; - is standard output, and everything else then goes to
    standard error ('coherence schema' describes it)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser, OPTIONS)
    add_reading(parser)


def _folders(args: argparse.Namespace) -> dict[str, Path]:
    """Make the folders that were given, by option, and see that all files can be written there.

    So that it is known before the analysis, and not at its end.
    """
    from coherence.report.files import FIGURES, TABLES

    paper = "paper.md", "paper.tex", "results.parquet"
    written = {"out": RESULTS, "figures": [FIGURES], "tables": [TABLES], "paper": paper}
    named = {
        option: Path(name) for option in written if (name := getattr(args, option)) is not None
    }
    runs, out = Path(args.runs).resolve(), named.get("out", Path()).resolve()
    if "out" in named and runs.parent == out and runs.name in RESULTS:
        raise InputError(
            f"--out must not hold the table that is read; {args.out} would put results in the "
            f"place of {args.runs}. Name another folder."
        )
    for option, folder in named.items():
        if option == "paper" and "out" in named and folder.resolve() == out:
            raise InputError(
                f"--paper and --out must be different folders; both are {args.paper}, and each has "
                f"a results.parquet. Try --paper {Path(args.out, 'paper')}."
            )
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--{option} must be a folder; {folder} is a file. Name a folder.")
        prepare_folder(folder, f"--{option}", written[option])
    json = Path(STREAM if args.json is None else args.json)
    if json.is_dir() or not os.access(json.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"--json must be a file in a folder that can be written to, or -; {args.json} is not. "
            "Name another."
        )
    return named


def _write_paper(
    report: "Report", folder: Path, runs: "Runs", args: argparse.Namespace, progress: Progress
) -> str:
    """Write tables and figures of the paper, and say where."""
    from coherence.analysis.paper.tables import write_paper

    progress.stage("drawing the tables and figures of the paper")
    said = f"wrote the tables and figures of the paper, see {folder}/paper.md"
    said += in_place(folder, r"paper\.md")
    options: dict[str, Any] = {"n_jobs": args.n_jobs, "progress": progress}
    write_paper(report, folder, runs=runs, published=args.published, **options)
    return said


def _analyse(args: argparse.Namespace, progress: Progress) -> tuple["Report", list[str], list[str]]:
    """Read, analyse and write; return what to say of files before the report, and behind it."""
    runs = read_table(args)
    folders = _folders(args)

    # Imported after the options are known to be right: the checks take a second to load.
    progress.stage("loading the checks")
    from coherence.analysis.analyze import analyze
    from coherence.report.json import command

    before, behind = [], []
    with workers(args):
        report = analyze(
            runs,
            checks=None if args.checks is None else comma_separated(args.checks),
            full=args.full or "paper" in folders,
            published=args.published,
            strict=args.strict,
            positive=args.positive,
            reference=args.reference,
            state=args.state,
            margin=args.margin,
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=progress,
        )
        if "paper" in folders:
            behind.append(_write_paper(report, folders["paper"], runs, args, progress))
    read = {"file": ", ".join(args.files), "reading": reading(args).words()}
    settings = {**report.settings, **read}
    source: dict[str, Any] = {
        "command": command(
            {**settings, "seed": args.seed or None, "checks": args.checks}, files=args.files
        ),
        "page": "" if args.out is None else str(Path(args.out, "report.html")),
        "file": Path(args.runs).name if len(args.files) == 1 else "",
    }
    evaluations = tuple(replace(each, **source) for each in report.evaluations)
    report = replace(report, settings=settings, evaluations=evaluations)
    progress.stage("writing the report")
    # Before anything is printed: `| head` must not cost the files.
    if "out" in folders:
        options: dict[str, Any] = {"answers": args.answers, "inputs": args.files}
        behind.append(write_report(report, folders["out"], **options))
    if args.json not in (None, STREAM):
        replace_text(Path(args.json), report.to_json())
    if "figures" in folders:
        progress.stage("drawing the figures")
        before.append(write_figures(report, folders["figures"]))
    if "tables" in folders:
        before.append(write_tables(report, folders["tables"]))
    return report, before, behind


def run(args: argparse.Namespace) -> int:
    """Read, analyse, print, write."""
    require_seed(args)
    if args.answers < 0:
        raise InputError(f"--answers must be at least 0; received {args.answers}.")
    require_one_table(args.files)
    args.runs = args.files[0]
    # First of all: what is imported for the conditions takes a second as well.
    with step_progress(" steps", first=f"reading {args.runs}") as progress:
        from coherence.analysis.conditions import judge, parse_condition

        conditions = [parse_condition(text) for text in args.fail_on]
        report, written, said = _analyse(args, progress)
    from coherence.report.screen import render_report

    for line in written:
        print(line, file=sys.stderr)
    as_json = args.json == STREAM
    try:
        stream = sys.stderr if as_json else sys.stdout
        color, plain = shows_styles(stream), shows_ascii_only(stream)
        text = render_report(report.evaluations, full=args.full, color=color, ascii_only=plain)
        print(text, file=stream)
        if as_json:
            sys.stdout.write(report.to_json())
        sys.stdout.flush()
    # The reader left, as `head` does: the status is still to be told.
    except BrokenPipeError:
        discard_output()
    for line in said:
        print(line, file=sys.stderr)
    if all(evaluation.unparsed_share == 1 for evaluation in report.evaluations):
        raise InputError(
            f"no answer of {args.runs} could be parsed, so that nothing is known of the model. "
            "See the answers in the page (--out DIR), and ask in another way."
        )
    return judge(conditions, report.evaluations)
