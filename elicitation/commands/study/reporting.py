"""The report of a study: every finished session analysed, and the models compared.

Nothing is asked here. Everything follows from the tables of sessions and the study file, so that
equal tables make equal bytes.
"""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.analysis.compare import compare
from coherence.analysis.paper.write import write_paper
from coherence.cli.compare import clear_comparison, write_comparison
from coherence.cli.folders import prepare_folder
from coherence.cli.progress import step_progress
from coherence.cli.report_folder import write_report
from coherence.errors import InputError
from coherence.printable import counted
from coherence.report.report import Report
from coherence.report.terminal import render_report
from coherence.report.wording import clean
from coherence.runs.read import read_file, validate_runs
from coherence.runs.runs import Runs
from elicitation.asking.store import AnswerStore
from elicitation.commands.study.study_file import Study
from elicitation.commands.study.units import RUNS, STORE, Session, held_answers

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
