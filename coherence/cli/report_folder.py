"""The files of a report in the folder of ``--out``, and its figures."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import in_place, new_files
from coherence.printable import counted

if TYPE_CHECKING:
    from coherence.report.report import Report

RESULTS = ("results.json", "results.parquet", "report.html")
"""What every report has in its folder."""


def certain_files(option: str) -> tuple[str, ...]:
    """Return what a call writes whatever the report holds."""
    if option == "out":
        return RESULTS
    if option == "paper":
        return "paper.md", "paper.tex", "results.parquet"
    from coherence.report.folder import FIGURES, TABLES

    return (TABLES if option == "tables" else FIGURES,)


def write_report(
    report: "Report",
    folder: Path,
    *,
    answers: int | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> str:
    """Write results and pages of a report in place of those of an earlier one."""
    from coherence.report.folder import REPORT, SUBFOLDERS
    from coherence.runs.write import write_runs

    pages = [f"{subfolder}/{names}" for subfolder, names in SUBFOLDERS.items()]
    ours = "|".join([r"results\.(json|parquet)", re.escape(REPORT), *pages])
    where = f"{folder}{in_place(folder, ours)}"
    with new_files(folder, ours, inputs) as new:
        (new / "results.json").write_text(report.to_json(), encoding="utf-8")
        write_runs(report.results, new / "results.parquet")
        for name, text in report.to_files(answers=answers):
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text, encoding="utf-8")
    return f"wrote {', '.join(RESULTS[:-1])} and {RESULTS[-1]} to {where}"


def write_tables(report: "Report", folder: Path) -> str:
    """Write every table of a report, and remove those of an earlier one that it does not have."""
    from coherence.report.folder import OURS, TABLES, table_files

    files = table_files(report.evaluations)
    where = f"{folder}{in_place(folder, OURS[TABLES])}"
    with new_files(folder, OURS[TABLES]) as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    return f"wrote {counted(sum(name.endswith('.csv') for name in files), 'table')} to {where}"


def write_figures(report: "Report", folder: Path) -> str:
    """Write every figure of a report, and remove those of an earlier one that it does not have."""
    from coherence.report import folder as files

    ours = files.OURS[files.FIGURES]
    where = f"{folder}{in_place(folder, ours)}"
    with new_files(folder, ours) as new:
        written = files.write_figures(report.evaluations, new)
    return f"wrote {counted(len(written) // len(files.ENDINGS), 'figure')} to {where}"
