"""Progress of a session on stderr: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def answer_progress(label: str = "") -> Iterator[Callable[[int, int], None]]:
    """Show how many answers are at hand.

    Parameters
    ----------
    label : str
        Whose answers they are.

    Yields
    ------
    callable
        Takes the number of answers at hand and the number needed.
    """
    from tqdm import tqdm

    from coherence.report.wording import clean

    opening = f"{clean(label)}: " if label else ""
    # disable=None: a bar on a terminal only; in a log file it would be a line per answer.
    with tqdm(desc=opening.removesuffix(": "), unit="answer", file=sys.stderr, disable=None) as bar:
        last = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal last
            if not bar.disable:
                bar.total = total
                # Answers that were found count as done, not as speed.
                bar.initial = done if bar.n == 0 and not bar.initial else bar.initial
                bar.n = done
                bar.refresh()
            elif done == total or time.monotonic() - last >= SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                print(f"{opening}{done} of {total} answers", file=sys.stderr)

        yield show
