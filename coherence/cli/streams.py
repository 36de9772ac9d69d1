"""The standard streams: what a command reads from a pipe, and a reader that has left."""

import contextlib
import os
import sys
from typing import IO

STREAM = "-"
"""The name of a file that stands for standard input or output."""


def standard_input() -> IO[bytes]:
    """Return standard input as bytes.

    Returns
    -------
    binary stream
        Open, and at its beginning.

    Raises
    ------
    InputError
        The process has none.
    """
    from coherence.errors import InputError

    if sys.stdin is None:
        raise InputError("the process has no standard input to read from. Name a file.")
    return sys.stdin.buffer


def discard_output() -> None:
    """Send what is still buffered nowhere: a flush at exit would complain of the closed pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
