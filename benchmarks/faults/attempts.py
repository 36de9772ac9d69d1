"""Judge what hypothesis draws, and count the answers: what `drawn.py` and its tests call."""

import contextlib
import io
import logging
import os
import re
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from coherence import CoherenceError
from coherence.errors import shown

SECONDS = 20
PYTHON = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
PACKAGES = ("coherence", "bayesnets", "elicitation")
FEWEST = 20  # characters of a message that says something


class Slow(BaseException):
    """The call takes too long; no handler of the program may answer it."""


class WrongAnswerError(Exception):
    """An answer that is neither an error of this project nor a right result."""


class Attempt:
    """One drawn thing: what to call, what the message may name, and where no file may stay.

    Parameters
    ----------
    call : callable
        Takes nothing; a result that is wrong raises `WrongAnswerError`.
    names : iterable of str
        A message must hold one of these words.
    folder : Path or None
        Where the call writes; after an error it holds what it held before.
    of_any_kind : bool
        Whether arguments are of kinds that no table or file holds, which may end in whatever
        Python or a library says of them.
    """

    def __init__(
        self,
        call: Callable[[], object],
        names: Iterable[str],
        folder: Path | None = None,
        *,
        of_any_kind: bool = False,
    ) -> None:
        self.call, self.names, self.folder = call, tuple(names), folder
        self.raised = PYTHON if of_any_kind else ()

    def judge(self) -> tuple[str, str]:
        """Return "result", "error" or "fault", and what the fault is."""
        before = files_in(self.folder)
        try:
            with quiet() as escaped, at_most(SECONDS):
                self.call()
            kind, why = "result", ""
        except CoherenceError as error:
            kind, why = "error", self.unnamed(str(error))
            if files_in(self.folder) != before:
                why = f"files after an error: {files_in(self.folder) ^ before} {error!s:.200}"
        except self.raised:
            return "error", ""
        except Slow:
            kind, why = "fault", f"more than {SECONDS} seconds"
        except WrongAnswerError as error:
            kind, why = "fault", str(error)
        except (Exception, SystemExit) as error:
            kind, why = "fault", f"{type(error).__name__} at {where(error)}: {str(error)[:160]}"
        # read_network says that it divides; pandas cannot show half floats without a warning.
        told = ("divided by the sum", "overflow encountered in cast")
        escaped = [one for one in escaped if not any(text in str(one.message) for text in told)]
        if escaped and not why:
            why = f"warning {escaped[0].category.__name__}: {str(escaped[0].message)[:160]}"
        return ("fault", why) if why else (kind, "")

    def unnamed(self, message: str) -> str:
        """Return what is wrong with a message, "" if nothing is."""
        if len(message) < FEWEST or "\n" in message:
            return f"a message of {len(message)} characters: {message!r}"
        if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) for name in self.names):
            return f"a message that names nothing: {message[:200]!r}"
        return ""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def quiet() -> Any:
    """Keep what is printed from the screen, and yield the warnings that escape."""
    screen = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as escaped,
        contextlib.redirect_stdout(screen),
        contextlib.redirect_stderr(screen),
    ):
        warnings.simplefilter("always")
        yield escaped


def files_in(folder: Path | None) -> set[str]:
    return set() if folder is None else {str(path) for path in folder.rglob("*")}


def where(error: BaseException) -> str:
    """Return the last place within the packages."""
    frames = traceback.extract_tb(error.__traceback__)
    named = [f for f in frames if any(f"/{name}/" in f.filename for name in PACKAGES)]
    named = [f for f in named if "/tests/" not in f.filename and "site-pack" not in f.filename]
    last = (named or frames)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def draw(drawn: ModuleType, n: int, first_seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Judge so many attempts of a module, in a folder of their own, and count the answers."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()

    def take(attempt: Attempt) -> None:
        # Hypothesis may draw the same again, or a few more than it is asked for.
        if counts.total() >= n:
            return
        kind, why = attempt.judge()
        counts[kind] += 1
        if kind == "fault" and why[:60] not in seen:
            seen.add(why[:60])
            report(ascii(f"{counts.total()}: {why}  FROM {shown(attempt.call):.1500}"))

    before = Path.cwd()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            number = first_seed
            drawn.prepare()
            while counts.total() < n:
                once = given(drawn.attempts())(take)
                once = settings(
                    max_examples=n - counts.total(),
                    database=None,
                    deadline=None,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                )(once)
                seed(number)(once)()
                number += 1_000_003
        finally:
            os.chdir(before)
            logging.disable(logging.NOTSET)
    return Counter({"error": 0, "result": 0, "fault": 0}) + counts
