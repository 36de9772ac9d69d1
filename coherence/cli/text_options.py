"""The options that say how a user's file is written, shared by the commands that read one."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coherence.table.text_files import TextForm


def add_text_arguments(parser: argparse.ArgumentParser, *, percent: str) -> None:
    """Declare ``--sep``, ``--decimal``, ``--encoding`` and ``--percent``."""
    group = parser.add_argument_group("files", "how your file is written, where it does not tell")
    group.add_argument(
        "--sep",
        metavar="CHARACTER",
        help="separator of a .csv or .tsv file; ';', tab and '|' are recognised",
    )
    group.add_argument(
        "--decimal", metavar="MARK", default=".", help="its decimal mark: . or , (default: .)"
    )
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of a text file, such as latin-1 or cp1252 "
        "(default: UTF-8; UTF-16 with its mark is recognised)",
    )
    group.add_argument("--percent", action="store_true", help=percent)


def text_form(args: argparse.Namespace) -> "TextForm":
    """Return what the options say."""
    from coherence.table.text_files import TextForm

    return TextForm(args.sep, args.decimal, args.encoding)
