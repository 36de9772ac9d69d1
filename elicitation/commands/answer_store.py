"""The store of a command's answers, and what is said of it."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.printable import clean, counted

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore


def warn_of_versions(served_by: Mapping[str, int]) -> None:
    """Say where a server named several versions of the model that answered."""
    if len(served_by) > 1:
        names = ", ".join(f"{clean(name)} ({n})" for name, n in served_by.items())
        print(f"warning: answers came from several versions of the model: {names}", file=sys.stderr)


@contextmanager
def answer_store(path: Path) -> "Iterator[AnswerStore]":
    """Open the store of a command, and say after Ctrl-C what is kept.

    A new one without an answer goes again where a model could not be loaded, say.
    """
    is_new = not path.exists()
    try:
        with _opened(path) as store:
            yield store
    except BaseException:
        if is_new and path.exists() and _is_empty(path):
            path.unlink()
        raise


def _is_empty(path: Path) -> bool:
    """Tell whether a store has no answer, and no other process will put one into it."""
    from coherence.errors import CoherenceError
    from elicitation.asking.store import read_store

    # What SQLite keeps beside a store goes with its last user.
    if any(Path(f"{path}-{end}").exists() for end in ("wal", "shm")):
        return False
    try:
        return not any(True for _ in read_store(path))
    except CoherenceError:  # whatever it is, it is none of this call's empty stores
        return False


@contextmanager
def _opened(path: Path) -> "Iterator[AnswerStore]":
    from elicitation.asking.store import AnswerStore

    with AnswerStore(path) as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {counted(len(store), 'answer is', 'answers are')} kept in "
                f"{store.path}. The same command resumes."
            ) from None
