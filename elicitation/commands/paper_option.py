"""The option ``--paper`` of the batteries: their tables as the papers have them, to be set."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.cli.folders import in_place, new_files, prepare_folder

if TYPE_CHECKING:
    from coherence.report.tables.cells import PaperTable
    from coherence.report.tables.document import PaperFigure

INDEXES = r"paper\.(md|tex)"
_ALWAYS = ("paper.md", "paper.tex")


def add_paper_option(parser: argparse.ArgumentParser, **default: Any) -> None:
    """Declare the option."""
    parser.add_argument(
        "--paper",
        metavar="DIR",
        help="folder for the tables as the paper lays them out, as Markdown, LaTeX and CSV",
        **default,
    )


def paper_folder(args: argparse.Namespace) -> Path | None:
    """Make the folder before anything is asked; None where the option was not given."""
    return None if args.paper is None else prepare_folder(args.paper, "--paper", _ALWAYS)


def write_paper_tables(
    folder: Path | None,
    title: str,
    tables: "Sequence[PaperTable]",
    draw: "Callable[[Path], Sequence[PaperFigure]]" = lambda folder: (),
    *,
    earlier: str,
) -> None:
    """Write tables and indexes where a folder was named, and say so."""
    if folder is None:
        return
    from coherence.report.tables.document import write_document

    where = f"{folder}/paper.md{in_place(folder, INDEXES)}"
    with new_files(folder, f"{earlier}|{INDEXES}") as new:
        write_document(new, title, tables, draw(new))
    print(f"wrote the tables of the paper, see {where}", file=sys.stderr)
