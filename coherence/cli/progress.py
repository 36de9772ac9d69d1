"""Progress on stderr: a bar on a terminal and, of sessions, now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def answer_progress(label: str = "") -> Iterator[Callable[[int, int], None]]:
    """Show how many answers are at hand."""
    from tqdm import tqdm

    from coherence.report.wording import clean

    opening = f"{clean(label)}: " if label else ""
    found: int | None = None
    began = 0.0
    # disable=None: a bar on a terminal only; in a log file it would be a line per answer.
    with tqdm(desc=opening.removesuffix(": "), unit="answer", file=sys.stderr, disable=None) as bar:
        last = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal last, found, began
            if found is None:
                # Answers that were found count as done, not as speed.
                found, began = done, last
            if not bar.disable:
                bar.total = total
                bar.initial = found
                bar.n = done
                bar.refresh()
            elif done == total or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                left = time_left(done - found, total - done, last - began)
                print(f"{opening}{done} of {total} answers{left}", file=sys.stderr)

        yield show


@contextmanager
def step_progress(unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar over steps of a computation; elsewhere than on a terminal now and then a line."""
    from tqdm import tqdm

    from coherence.report.wording import clean

    # disable=None: no bar where stderr is a file or a pipe.
    with tqdm(unit=unit, file=sys.stderr, disable=None, leave=False) as bar:
        began = last = time.monotonic()

        def show(done: int, total: int, label: str) -> None:
            nonlocal last
            if bar.disable:
                if done < total and (now := time.monotonic()) - last >= SECONDS_BETWEEN_LINES:
                    last = now
                    left = time_left(done, total - done, now - began)
                    print(f"{done} of {total}{unit}{left}", file=sys.stderr)
                return
            bar.total, bar.n = total, done
            # Labels hold names of tasks and models, which come from the user's files.
            bar.set_description_str(clean(label, limit=40), refresh=False)
            bar.refresh()

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
    return f"{seconds:.0f} seconds" if seconds >= 1 else "1 second or less"
