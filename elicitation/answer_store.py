"""The store of a command's answers, what is said of it, and ``--dry-run``.

For the latter no model is loaded, nothing is asked, and nothing is written.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.printable import clean, counted

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.questions.question import Question


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


@dataclass(frozen=True)
class PlannedAnswers:
    """What one model would be asked."""

    name: str  # of the model in the store
    questions: "Sequence[Question]"
    # those that are put to it on a condition, which is not looked up here
    perhaps: "Sequence[Question]" = ()
    condition: str = ""


def print_planned(planned: PlannedAnswers, store: str) -> None:
    """Print what one model would be asked."""
    from elicitation.asking.store import preview

    sure, every = (
        preview(questions, model_name=planned.name, store=store)
        for questions in (planned.questions, [*planned.questions, *planned.perhaps])
    )
    number = every.n_left - sure.n_left
    only = f", {number} of them only where {planned.condition}"
    print(f"questions  {every.n_questions}, of which {every.n_distinct} differ")
    whose = " of a model of this name, under whatever settings" if every.n_stored else ""
    print(f"in store   {every.n_stored}{whose}")
    print(f"to ask     {every.n_left}{only if number else ''}")
