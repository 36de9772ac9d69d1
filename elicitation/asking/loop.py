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
from elicitation.asking.store import AnswerStore
from elicitation.asking.unreadable import UnreadableLimit
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
    write_every: int = 1  # so many answers are written at once
    # Where the last digits of an answer depend on its neighbours, questions are asked in batches
    # of so many; with `recompute_batches` all of a batch of which any answer is missing.
    batch_size: int | None = None
    recompute_batches: bool = True


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
    unreadable: UnreadableLimit | None = None,
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every question answered, from the store where it can be; return how many were asked."""
    keys = [question.key(respondent.fingerprint) for question in questions]
    # Equal questions have one key: they are asked once and answered everywhere.
    needed = dict(zip(keys, questions, strict=True))
    answers = store.get(needed)
    batches = batches_left(keys, answers, strategy.batch_size, recompute=strategy.recompute_batches)
    asked = {key for batch in batches for key in batch}
    # Of a batch that is asked again, what the store had is left aside: it was computed among
    # other neighbours.
    answers = {key: stored for key, stored in answers.items() if key not in asked}
    waiting: list[tuple[Question, Answer]] = []
    last = time.monotonic()

    def note(key: str) -> None:
        if unreadable:
            unreadable.record(needed[key], answers[key])

    def keep() -> None:
        nonlocal last
        # Nothing leaves `waiting` before it is written: Ctrl-C may come at any line of this.
        asked_now, replies = [question for question, _ in waiting], [reply for _, reply in waiting]
        try:
            store.put(asked_now, replies, model=respondent.name, fingerprint=respondent.fingerprint)
        except CoherenceError:
            waiting.clear()  # a store that failed would fail again at the end
            raise
        waiting.clear()
        written = [question.key(respondent.fingerprint) for question in asked_now]
        # Read back what the store holds: another process may have been first with some of these.
        answers.update(store.get(written))
        if strategy.batch_size is not None:
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
    # A batch that was asked and kept stays kept, whatever becomes of the next.
    for batch in filter(None, batches):
        if unreadable:
            unreadable.check()
        # Closing ends what a server still has under way, instead of leaving it to the collector.
        with closing(strategy.answers([needed[key] for key in batch])) as stream:
            try:
                for pairs in stream:
                    waiting += pairs
                    due = time.monotonic() - last >= _SECONDS_BETWEEN_WRITES
                    ending = unreadable is not None and unreadable.reached(len(waiting))
                    if len(waiting) >= strategy.write_every or due or ending:
                        keep()
                    if unreadable:
                        unreadable.check()
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


def batches_left(
    keys: Sequence[str], held: Container[str], batch_size: int | None, *, recompute: bool = True
) -> list[list[str]]:
    """Return all keys without an answer, in batches, or the batches in which any has none."""
    if batch_size is None or not recompute:
        keys = [key for key in keys if key not in held]
    size = batch_size or max(len(keys), 1)
    batches = (list(dict.fromkeys(keys[at : at + size])) for at in range(0, len(keys), size))
    return [batch for batch in batches if not all(key in held for key in batch)]
