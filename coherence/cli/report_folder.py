"""The files of a report in the folder of ``--out``, and its figures."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import remove_earlier, replace_text

if TYPE_CHECKING:
    from coherence.report.report import Report


def write_pages(files: Iterable[tuple[str, str]], folder: Path) -> None:
    """Write the pages of a report, and remove those of an earlier one that it does not have.

    Parameters
    ----------
    files : iterable of (str, str)
        Path inside the folder and text; the page that links to the others comes last.
    folder : Path
        An existing folder.
    """
    from coherence.report.folder import SUBFOLDERS

    written: set[str] = set()
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        replace_text(path, text)
        written.add(name)
    for subfolder, names in SUBFOLDERS.items():
        inside = folder / subfolder
        kept = {name.partition("/")[2] for name in written if name.startswith(f"{subfolder}/")}
        if inside.is_dir():
            remove_earlier(inside, names, kept)
            if not any(inside.iterdir()):
                inside.rmdir()


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
    for name, text in files.items():
        replace_text(folder / name, text)
    remove_earlier(folder, result_tables.NAMES, set(files))
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

    written = figure_files.write_figures(report.units, folder)
    remove_earlier(folder, figure_files.NAMES, written)
    return len(written) // len(figure_files.ENDINGS)
