"""The files of a report in the folder of ``--out``, and its figures."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import new_files

if TYPE_CHECKING:
    from coherence.report.report import Report


def write_report(
    report: "Report",
    folder: Path,
    *,
    answers: int | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Write results and pages of a report in place of those of an earlier one.

    Parameters
    ----------
    report : Report
        Finished.
    folder : Path
        An existing folder.
    answers : int, optional
        Contexts of each unit whose answers are written; see `Report.to_files`.
    inputs : iterable of path-like
        Files that were read, which must not be overwritten.

    Raises
    ------
    InputError
        A file that was read has the name of one of these.
    """
    from coherence.report.folder import REPORT, SUBFOLDERS
    from coherence.table.storage import write_runs

    pages = [f"{subfolder}/{names}" for subfolder, names in SUBFOLDERS.items()]
    ours = "|".join([r"results\.(json|parquet)", re.escape(REPORT), *pages])
    with new_files(folder, ours, inputs) as new:
        (new / "results.json").write_text(report.to_json(), encoding="utf-8")
        write_runs(report.results, new / "results.parquet")
        for name, text in report.to_files(answers=answers):
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_text(text, encoding="utf-8")


def write_tables(report: "Report", folder: Path) -> int:
    """Write every table of a report, and remove those of an earlier one that it does not have.

    Parameters
    ----------
    report : Report
        Finished.
    folder : Path
        An existing folder.

    Returns
    -------
    int
        How many tables there are.
    """
    from coherence.report import result_tables

    files = result_tables.table_files(report.units)
    with new_files(folder, result_tables.NAMES) as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    return sum(name.endswith(".csv") for name in files)


def write_figures(report: "Report", folder: Path) -> int:
    """Write every figure of a report, and remove those of an earlier one that it does not have.

    Parameters
    ----------
    report : Report
        Finished.
    folder : Path
        An existing folder.

    Returns
    -------
    int
        How many figures there are.
    """
    from coherence.report import figure_files

    with new_files(folder, figure_files.NAMES) as new:
        written = figure_files.write_figures(report.units, new)
    return len(written) // len(figure_files.ENDINGS)
