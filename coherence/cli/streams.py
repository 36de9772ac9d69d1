"""The standard streams: what a terminal shows, and a reader that has left."""

import codecs
import contextlib
import io
import os
import sys
from typing import TextIO

from coherence.printable import PLAIN

STREAM = "-"
"""The name of a file that stands for standard output."""


def open_streams() -> None:
    """See to it that all three standard streams are open, and can be written any character.

    Where the caller closed one (``>&-``), a file opened later would take its number, and what a
    library prints would land in it. Where a terminal cannot show a character, it gets a plain one
    or its code instead of a crash after a long analysis.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    codecs.register_error("coherence.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a program that calls this may have replaced it
            stream.reconfigure(errors="coherence.plain")


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write what an encoding lacks in plain characters, and others as their codes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(PLAIN)
    return lacking.encode("ascii", "backslashreplace").decode(), error.end


def shows_styles(stream: TextIO) -> bool:
    """Tell whether bold and dim may be written to a stream."""
    from rich.console import Console  # which knows what environments say of colours

    console = Console(file=stream)
    return console.is_terminal and not console.no_color and not console.is_dumb_terminal


def shows_ascii_only(stream: TextIO) -> bool:
    """Tell whether rules and points are better written in ASCII: all but UTF may lack them."""
    return not (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def discard_output() -> None:
    """Send what is still buffered nowhere: a flush at exit would complain of the closed pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
