"""``coherence study``: models x tasks from one file, asked, analysed and compared."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.run_options import JOBS, declare, workers

if TYPE_CHECKING:
    from elicitation.study import Done, Study

ACTIONS = {
    "run": "ask what is missing, write a runs table for every model on every task, and report",
    "report": "analyse and compare what is finished, and write the report; asks nothing",
}


FILES = """
file FILE  study file, .toml; see docs/studies.md
--out DIR  folder for answers, tables and report (default: FILE without its ending)
"""
RUN = """
--dry-run  say what is finished and how much would be asked, and stop
--no-report  write the tables alone, no report
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        sub = actions.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:], allow_abbrev=False
        )
        jobs = JOBS.replace("processes;", "processes of the analysis;").strip()
        declare(sub, "\n".join([FILES.strip(), *[RUN.strip()] * (name == "run"), jobs]))


def run(args: argparse.Namespace) -> int:
    """Ask, count or report."""
    from coherence.errors import InputError
    from elicitation.study import check_sessions, load_study, render_outlook, write_study_report

    folder = Path(args.file).with_suffix("") if args.out is None else Path(args.out)
    study = load_study(args.file, folder)
    if folder == Path(args.file):
        raise InputError(
            f"--out DIR is missing: the folder would have the name of the file {folder}. Name one."
        )
    there, done = True, None
    if args.action == "run":
        check_sessions(study.sessions)
        if args.dry_run:
            print(render_outlook(study.sessions))
            return 0
        done, there = _ask(study, folder)
    if args.action == "report" or (there and not args.no_report):
        with workers(args):
            write_study_report(study, folder, n_jobs=args.n_jobs)
    return 1 if done and done.failures else 0


def _ask(study: "Study", folder: Path) -> "tuple[Done, bool]":
    """Ask what is missing; return what was done, and whether any session is finished."""
    from coherence.cli.folders import prepare_folder
    from elicitation.asking.store import answer_store
    from elicitation.study import RUNS, STORE, ask_sessions

    prepare_folder(folder)
    prepare_folder(folder / RUNS)
    with answer_store(folder / STORE) as store:
        done = ask_sessions(study.sessions, store)
    _tell(done)
    return done, any(each.is_finished for each in study.sessions)


def _tell(done: "Done") -> None:
    from coherence.report.wording import clean

    print(f"{done.finished} finished now, {done.found} finished before", file=sys.stderr)
    reasons: dict[str, list[str]] = {}
    for label, why in done.failures:
        reasons.setdefault(why, []).append(label)
    for why, labels in reasons.items():
        print(clean(f"not finished: {'; '.join(labels)}: {why}"), file=sys.stderr)
