"""The report of a study: every finished unit analysed, models compared, and one page."""

import sys
from pathlib import Path

import pandas as pd

from coherence.analysis.analyze import analyze
from coherence.cli.folders import replace_text
from coherence.errors import InputError
from coherence.table.storage import read_runs, write_runs
from elicitation.commands.study.study_file import Study
from elicitation.commands.study.units import Unit

REPORT = "report"


def write_study_report(study: Study, units: list[Unit], folder: Path, *, n_jobs: int = 1) -> None:
    """Analyse what is finished, and write what follows into the study's folder.

    Parameters
    ----------
    study : Study
        From a file.
    units : list of Unit
        Of the study; those that are not finished are left out, and named.
    folder : Path
        Folder of its results.
    n_jobs : int
        Processes of the analysis.

    Raises
    ------
    InputError
        No unit is finished.
    """
    finished = [unit for unit in units if unit.finished() is not None]
    if not finished:
        raise InputError(
            f"nothing of study {study.path} is finished in {folder}; "
            f"'coherence study run {study.path}' asks."
        )
    runs = pd.concat([read_runs(unit.path) for unit in finished], ignore_index=True)
    options = dict(study.analysis)
    seed = options.pop("seed", 0)
    report = analyze(runs, rng=seed, n_jobs=n_jobs, **options)
    into = folder / REPORT
    into.mkdir(exist_ok=True)
    replace_text(into / "results.json", report.to_json())
    write_runs(report.results, into / "results.parquet")
    replace_text(into / "report.html", report.to_html())
    print(f"wrote the report to {into}", file=sys.stderr)
