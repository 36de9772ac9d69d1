"""Asking what a store lacks: the one place that puts questions to a model, for every battery.

The store says what has been answered; the rest is asked, and every answer goes to the store before
it counts. An interruption, by Ctrl-C too, costs no answer that a model has given: what is not yet
written when it comes is written then. A killed process loses the calls of the model under way;
answers that come one by one are written one by one.
"""

import time
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from coherence.errors import CoherenceError
from elicitation.asking.patience import Patience
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer
from elicitation.questions.question import Question

# A write to the store waits for the disk, a few milliseconds; once a second that is nothing.
_SECONDS_BETWEEN_WRITES = 1.0

Progress = Callable[[int, int], None]
"""Called with the number of answers at hand and the number needed; once at the start and after
every batch."""

AnswerStream = Generator[Sequence[tuple[Question, Answer]], None, None]
"""Answers as they come, each with its question: those of one call of a model together."""


@dataclass(frozen=True)
class Strategy:
    """How answers are had: in words, drawn from a form, as a distribution, ..."""

    answers: Callable[[Sequence[Question]], AnswerStream]
    worth_a_write: int = 1  # so many answers are written at once
    # Where the last digits of an answer depend on its neighbours, questions are asked in portions
    # of so many; with `whole` all of a portion of which any answer is missing.
    portion: int | None = None
    whole: bool = True


class Respondent(Protocol):
    """Whoever answers, as the store knows it; see `Model`."""

    @property
    def name(self) -> str:
        """Name for the `model` column."""

    @property
    def fingerprint(self) -> str:
        """Digest of all that shapes an answer besides the question."""


def ask_missing(
    respondent: Respondent,
    questions: Sequence[Question],
    store: AnswerStore,
    strategy: Strategy,
    *,
    patience: Patience | None = None,
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every question answered, from the store where it can be; return how many were asked."""
    keys = [question.key(respondent.fingerprint) for question in questions]
    # Equal questions have one key: they are asked once and answered everywhere.
    needed = dict(zip(keys, questions, strict=True))
    answers = store.get(needed)
    portions = portions_left(keys, answers, strategy.portion, whole=strategy.whole)
    asked = {key for portion in portions for key in portion}
    # Of a portion that is asked again, what the store had is left aside: it was computed among
    # other neighbours.
    answers = {key: stored for key, stored in answers.items() if key not in asked}
    waiting: list[tuple[Question, Answer]] = []
    last = time.monotonic()

    def note(key: str) -> None:
        if patience:
            patience.saw(needed[key], answers[key])

    def keep() -> None:
        nonlocal last
        # Nothing leaves `waiting` before it is written: Ctrl-C may come at any line of this.
        batch, replies = [question for question, _ in waiting], [reply for _, reply in waiting]
        try:
            store.put(batch, replies, model=respondent.name, fingerprint=respondent.fingerprint)
        except CoherenceError:
            waiting.clear()  # a store that failed would fail again at the end
            raise
        waiting.clear()
        written = [question.key(respondent.fingerprint) for question in batch]
        # Read back what the store holds: another process may have been first with some of these.
        answers.update(store.get(written))
        if strategy.portion is not None:
            for key, reply in zip(written, replies, strict=True):
                answers[key] = replace(answers[key], text=reply.text)
        for key in written:
            note(key)
        last = time.monotonic()
        if progress:
            progress(len(answers), len(needed))

    for key in answers:
        note(key)
    if progress:
        progress(len(answers), len(needed))
    # A portion that was asked and kept stays kept, whatever becomes of the next.
    for portion in filter(None, portions):
        if patience:
            patience.check()
        # Closing ends what a server still has under way, instead of leaving it to the collector.
        with closing(strategy.answers([needed[key] for key in portion])) as stream:
            try:
                for pairs in stream:
                    waiting += pairs
                    due = time.monotonic() - last >= _SECONDS_BETWEEN_WRITES
                    ending = patience is not None and patience.may_end(len(waiting))
                    if len(waiting) >= strategy.worth_a_write or due or ending:
                        keep()
                    if patience:
                        patience.check()
            finally:
                # Also after Ctrl-C and after an error of the model: what it said is paid for.
                if waiting:
                    try:
                        keep()
                    except KeyboardInterrupt:  # during this very write, which then left nothing
                        if waiting:
                            keep()
                        raise
    return [answers[key] for key in keys], len(asked)


def portions_left(
    keys: Sequence[str], held: Container[str], portion: int | None, *, whole: bool = True
) -> list[list[str]]:
    """Return all keys without an answer, in portions, or the portions in which any has none."""
    if portion is None or not whole:
        keys = [key for key in keys if key not in held]
    size = portion or max(len(keys), 1)
    portions = (list(dict.fromkeys(keys[at : at + size])) for at in range(0, len(keys), size))
    return [batch for batch in portions if not all(key in held for key in batch)]
