"""Folders for results, shared by the commands.

Made before anything is asked, and looked through for files that nobody may overwrite: hours of work
must not end with that.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.errors import InputError
from coherence.printable import counted
from coherence.runs.files import earlier_set, new_files, replace_text, require_replaceable

if TYPE_CHECKING:
    from coherence.report.report import Report

__all__ = ["in_place", "new_files", "no_empty_folders", "prepare_folder", "replace_text"]


def in_place(folder: Path, names: str) -> str:
    """Say whether a set of files takes the place of an earlier one, before it does."""
    return ", in place of those of an earlier call" if earlier_set(folder, names) else ""


@contextmanager
def no_empty_folders(*names: str | os.PathLike[str] | None) -> Iterator[None]:
    """Take away again, if the block fails, what it made of folders and left without a file."""
    given = [Path(name) for name in names if name is not None]
    new = [part for folder in given for part in (folder, *folder.parents) if not part.exists()]
    try:
        yield
    except BaseException:
        for folder in new:  # from the innermost on
            with suppress(OSError):
                folder.rmdir()
        raise


def prepare_folder(
    name: str | os.PathLike[str], option: str = "--out", writes: Iterable[str] = ()
) -> Path:
    """Make the folder of ``--out``, or of another option."""
    folder = Path(name)
    # Hours of asking must not end with a folder that takes no file; writing tells what permissions
    # do not: a full disk, a read-only mount.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(
            f"{option} must be a folder that can be written to; {name} cannot ({error.strerror}). "
            "Choose another."
        ) from error
    require_replaceable(folder, writes)
    return folder


RESULTS = ("results.json", "results.parquet", "report.html")
"""What every report has in its folder."""


def write_report(
    report: "Report",
    folder: Path,
    *,
    answers: int | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> str:
    """Write results and pages of a report in place of those of an earlier one."""
    from coherence.report.files import REPORT, SUBFOLDERS
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
    from coherence.report.files import OURS, TABLES, table_files

    files = table_files(report.evaluations)
    where = f"{folder}{in_place(folder, OURS[TABLES])}"
    with new_files(folder, OURS[TABLES]) as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8")
    return f"wrote {counted(sum(name.endswith('.csv') for name in files), 'table')} to {where}"


def write_figures(report: "Report", folder: Path) -> str:
    """Write every figure of a report, and remove those of an earlier one that it does not have."""
    from coherence.report import files

    ours = files.OURS[files.FIGURES]
    where = f"{folder}{in_place(folder, ours)}"
    with new_files(folder, ours) as new:
        written = files.write_figures(report.evaluations, new)
    return f"wrote {counted(len(written) // len(files.ENDINGS), 'figure')} to {where}"
