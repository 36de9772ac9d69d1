"""``coherence study``: models x tasks from one file, asked, analysed and compared.

Everything in a report follows from the tables of sessions and the study file, so that equal tables
make equal bytes.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.compare import compare
from coherence.analysis.paper.write import write_paper
from coherence.cli.compare import clear_comparison, write_comparison
from coherence.cli.folders import prepare_folder
from coherence.cli.progress import step_progress
from coherence.cli.report_folder import write_report
from coherence.cli.run_options import add_jobs, workers
from coherence.errors import InputError
from coherence.printable import counted
from coherence.report.report import Report
from coherence.report.terminal import render_report
from coherence.report.wording import clean
from coherence.runs.read import read_file, validate_runs
from coherence.runs.runs import Runs
from elicitation.asking.store import AnswerStore
from elicitation.study import RUNS, STORE, Session, Study, held_answers

if TYPE_CHECKING:
    from elicitation.study import Done


REPORT, COMPARE, PAPER = "report", "compare", "paper"


def write_study_report(
    study: Study, sessions: list[Session], folder: Path, *, n_jobs: int = 1
) -> None:
    """Analyse what is finished, compare the models, and write what follows into the folder."""
    held = held_answers(folder)
    states = [(each, each.answered(held)) for each in sessions]
    if not any(model for _, model in states):
        raise InputError(
            f"nothing of study {study.path} is finished in {folder}; "
            f"'coherence study run {study.path}' asks."
        )
    prepare_folder(folder / RUNS)
    with AnswerStore(folder / STORE) as store:
        finished = [(unit, unit.lay_out(model, store)) for unit, model in states if model]
    tables = [read_file(unit.path).table for unit, _ in finished]
    runs = validate_runs(pd.concat(tables, ignore_index=True))
    names = "; ".join(clean(unit.label) for unit, _ in finished)
    print(f"analysing {counted(len(finished), 'table')}: {names}", file=sys.stderr)
    report = _analyse(study, runs, folder, n_jobs)
    print("comparing the models", file=sys.stderr)
    compared = _compare(study, runs, folder, n_jobs)
    page = folder / REPORT / "report.html"
    print(f"{clean(study.name)}\n\n{render_report(report.evaluations, more=str(page))}")
    if compared:
        print(f"\n{compared}")
    if missing := [unit.label for unit, model in states if model is None]:
        print(f"not finished, and left out: {clean('; '.join(missing))}", file=sys.stderr)
    print(f"wrote the report, see {page}", file=sys.stderr)


def _analyse(study: Study, runs: Runs, folder: Path, n_jobs: int) -> Report:
    """Analyse all units together, which is what p-values are corrected over, and write it down."""
    said = study.analysis
    options = {name: getattr(said, name) for name in ("checks", "strict", "positive", "reference")}
    options |= {} if said.state is None else {"state": said.state}
    with step_progress(" steps", first="analysing") as progress:
        report = analyze(runs, rng=said.seed, n_jobs=n_jobs, progress=progress, **options)
    into = prepare_folder(folder / REPORT)
    write_report(report, into)
    write_paper(
        report,
        folder / PAPER,
        runs=runs,
        published=said.published,
        n_jobs=n_jobs,
        rng=said.seed,
    )
    return report


def _compare(study: Study, runs: Runs, folder: Path, n_jobs: int) -> str:
    """Compare the models in every task that several of them have finished; return what is said."""
    into = folder / COMPARE
    if (runs.table.groupby("task")["model"].nunique() < 2).all():
        clear_comparison(into)
        return ""
    said = study.analysis
    options: dict[str, Any] = {key: getattr(said, key) for key in ("positive", "reference")}
    options["state"] = said.state or "auto"
    try:
        result = compare(runs, common=True, n_jobs=n_jobs, rng=said.seed, **options)
    # Too few cases, say: the report stands, and says why nothing is compared.
    except InputError as error:
        clear_comparison(into)
        return f"Models were not compared: {clean(str(error))}"
    write_comparison(result, prepare_folder(into))
    return str(result)


_HELD = ".running"
ACTIONS = {
    "run": "ask what is missing, write a runs table for every model on every task, and report",
    "report": "analyse and compare what is finished, and write the report; asks nothing",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        sub = actions.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:], allow_abbrev=False
        )
        sub.add_argument("file", metavar="FILE", help="study file, .toml; see docs/studies.md")
        sub.add_argument(
            "--out",
            metavar="DIR",
            help="folder for answers, tables and report (default: FILE without its ending)",
        )
        if name == "run":
            sub.add_argument(
                "--dry-run",
                action="store_true",
                help="say what is finished and how much would be asked, and stop",
            )
            sub.add_argument(
                "--no-report", action="store_true", help="write the tables alone, no report"
            )
        add_jobs(sub, "processes of the analysis")


def run(args: argparse.Namespace) -> int:
    """Ask, count or report."""
    from elicitation.study import check_sessions, load_study, render_outlook, sessions_of

    study = load_study(args.file)
    folder = _folder_of(args)
    sessions = sessions_of(study, folder)
    if args.action == "report":
        with workers(args):
            write_study_report(study, sessions, folder, n_jobs=args.n_jobs)
        return 0
    check_sessions(sessions)
    if args.dry_run:
        print(render_outlook(sessions))
        return 0
    return _run(args, study, sessions, folder)


def _folder_of(args: argparse.Namespace) -> Path:
    from coherence.errors import InputError

    file = Path(args.file)
    folder = Path(args.out) if args.out is not None else file.with_suffix("")
    if folder == file:
        raise InputError(
            f"--out DIR is missing: the folder of {file} would have the name of the file. Name one."
        )
    return folder


def _run(args: argparse.Namespace, study: "Study", sessions: "list[Session]", folder: Path) -> int:
    """Ask what is missing, and report on what is finished."""
    from coherence.cli.folders import prepare_folder
    from elicitation.asking.store import answer_store
    from elicitation.study import RUNS, STORE, ask_sessions, held_answers

    prepare_folder(folder)
    prepare_folder(folder / RUNS)
    with alone_in(folder), answer_store(folder / STORE) as store:
        done = ask_sessions(sessions, store)
    _tell(done)
    held = held_answers(folder)
    there = done.finished + done.found > 0 or any(each.answered(held) for each in sessions)
    if there and not args.no_report:
        with workers(args):
            write_study_report(study, sessions, folder, n_jobs=args.n_jobs)
    return 1 if done.failures else 0


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder of a study until the block ends, also by a kill.

    Two runs at a time would ask, and pay for, the same questions.
    """
    from coherence.errors import InputError

    try:
        import fcntl
    except ImportError:  # not on Windows, where nothing is held
        yield
        return
    handle = os.open(folder / _HELD, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"another run of the study is under way in {folder}. Wait for its end, or choose "
                "another folder by --out."
            ) from error
        yield
    finally:
        # The system lets go of the lock with the handle, whatever ends the process.
        os.close(handle)


def _tell(done: "Done") -> None:
    from coherence.report.wording import clean

    print(f"{done.finished} finished now, {done.found} finished before", file=sys.stderr)
    reasons: dict[str, list[str]] = {}
    for label, why in done.failures:
        reasons.setdefault(why, []).append(label)
    for why, labels in reasons.items():
        print(clean(f"not finished: {'; '.join(labels)}: {why}"), file=sys.stderr)
