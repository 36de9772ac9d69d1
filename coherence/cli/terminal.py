"""The standard streams: what a terminal shows, progress, and a reader that has left.

Progress is a bar on a terminal and, of sessions, now and then a line elsewhere.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING, Any, TextIO, cast

from coherence.printable import clean

if TYPE_CHECKING:
    from tqdm import tqdm
import codecs
import contextlib
import io
import os

from coherence.printable import PLAIN

SECONDS_BETWEEN_LINES = 15.0
_STAGE = "{desc}{elapsed}"


class Progress:
    """A bar over steps or answers, which shows the step that runs and for how long.

    Elsewhere than on a terminal it is a line now and then; with an `opening`, which says what is
    counted, a line at once and at the end too.
    """

    def __init__(self, bar: "tqdm[Any]", unit: str, opening: str | None = None) -> None:
        self._bar, self._unit, self._opening = bar, unit, opening
        self._began = self._last = time.monotonic()
        self._found: int | None = None

    def __call__(self, done: int, total: int, label: str = "") -> None:
        """Show how many are done, and which one runs."""
        bar, opens = self._bar, self._found is None
        if self._found is None:  # answers that were found count as done, not as speed
            self._found = 0 if self._opening is None else done
        if not bar.disable:
            bar.bar_format, bar.total, bar.initial, bar.n = None, total, self._found, done
            self._describe(label)
            return
        told = self._opening is not None and (opens or done == total)
        ended = self._opening is None and done >= total
        if told or (not ended and time.monotonic() - self._last >= SECONDS_BETWEEN_LINES):
            self._last = time.monotonic()
            left = time_left(done - self._found, total - done, self._last - self._began)
            print(f"{self._opening or ''}{done} of {total}{self._unit}{left}", file=sys.stderr)

    def stage(self, label: str) -> None:
        """Show what is done where no steps can be counted."""
        if not self._bar.disable:
            self._bar.bar_format = _STAGE
            self._describe(label)

    def _describe(self, label: str) -> None:
        if label:  # labels hold names of files, tasks and models
            self._bar.set_description(clean(label, limit=40), refresh=False)
        self._bar.refresh()


@contextmanager
def answer_progress(label: str = "") -> Iterator[Progress]:
    """Show how many answers are at hand."""
    from tqdm import tqdm

    name = clean(label)
    # disable=None: a bar on a terminal only; in a log file it would be a line per answer.
    with tqdm(desc=name, unit="answer", file=sys.stderr, disable=None) as bar:
        yield Progress(bar, " answers", f"{name}: " if name else "")


@contextmanager
def step_progress(unit: str, first: str = "") -> Iterator[Progress]:
    """Show a bar over steps of a computation; elsewhere than on a terminal now and then a line.

    `first` is what is done before steps are counted. What is printed to stderr meanwhile stands
    above the bar.
    """
    from tqdm import tqdm
    from tqdm.contrib import DummyTqdmFile

    # disable=None: no bar where stderr is a file or a pipe.
    options: dict[str, Any] = {"desc": f"{clean(first, limit=40)}: ", "bar_format": _STAGE}
    with tqdm(unit=unit, file=sys.stderr, disable=None, leave=False, **options) as bar:
        show = Progress(bar, unit)
        if bar.disable:
            yield show
            return
        with redirect_stderr(cast("TextIO", DummyTqdmFile(sys.stderr))):
            yield show


def time_left(n_done: int, n_left: int, seconds: float) -> str:
    """Return how long the rest may take, to be put behind a count."""
    if n_done <= 0 or n_left <= 0 or seconds <= 0:
        return ""
    return f", about {duration(n_left * seconds / n_done)} left"


def duration(seconds: float) -> str:
    """Return a length of time in words, in the largest unit of which there are two."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        # From two of a unit on: "90 minutes" says more than "2 hours".
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 1.5 else "1 second or less"


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
