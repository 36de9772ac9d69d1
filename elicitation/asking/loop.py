"""Asking what a store lacks: the one place that puts questions to a model, for every battery.

The store says what has been answered; the rest is asked, and every answer goes to the store before
it counts. An interruption, by Ctrl-C too, costs no answer that a model has given: what is not yet
written when it comes is written then. A killed process loses the call of the model under way and,
where answers come one by one, those of the last second.
"""

import time
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Protocol

from coherence.errors import CoherenceError
from elicitation.answers.beliefs import ask_labels
from elicitation.asking.patience import PATIENCE, Patience, Readable, Watch
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model, StreamingModel
from elicitation.questions.question import Draw

# A write to the store waits for the disk, a few milliseconds; once a second that is nothing.
_SECONDS_BETWEEN_WRITES = 1.0
# A model answers a few at first and twice as many in every further call, up to a batch: a slow one
# then loses little of its work at an early end, and the time left is known soon.
_FIRST_CALL = 8
EXACT_AT_ONCE = 8
"""Exact readings are kept in portions of so many at most: larger ones were no faster."""

Progress = Callable[[int, int], None]
"""Called with the number of answers at hand and the number needed; once at the start and after
every batch."""

AnswerStream = Generator[Sequence[tuple[Draw, Answer]], None, None]
"""Answers as they come, each with its draw: those of one call of a model together."""


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
    draws: Sequence[Draw],
    store: AnswerStore,
    answer: Callable[[Sequence[Draw]], AnswerStream],
    *,
    worth_a_write: int = 1,
    portion: int | None = None,
    whole: bool = True,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every draw answered, from the store where it can be."""
    keys = [draw.key(respondent.fingerprint) for draw in draws]
    # Equal draws have one key: they are asked once and answered everywhere.
    needed = dict(zip(keys, draws, strict=True))
    answers = store.get(needed)
    batches = _batches(keys, answers, portion, whole)
    asked = {key for batch in batches for key in batch}
    # Of a portion that is asked again, what the store had is left aside: it was computed among
    # other neighbours.
    answers = {key: stored for key, stored in answers.items() if key not in asked}
    waiting: list[tuple[Draw, Answer]] = []
    last = time.monotonic()

    def keep() -> None:
        nonlocal last
        # Nothing leaves `waiting` before it is written: Ctrl-C may come at any line of this.
        batch, replies = [draw for draw, _ in waiting], [reply for _, reply in waiting]
        try:
            store.put(batch, replies, model=respondent.name, fingerprint=respondent.fingerprint)
        except CoherenceError:
            waiting.clear()  # a store that failed would fail again at the end
            raise
        waiting.clear()
        written = [draw.key(respondent.fingerprint) for draw in batch]
        # Read back what the store holds: another process may have been first with some of these.
        answers.update(store.get(written))
        if portion is not None:
            for key, reply in zip(written, replies, strict=True):
                answers[key] = replace(answers[key], text=reply.text)
        for key in written:
            if watch:
                watch.saw(needed[key], answers[key])
        last = time.monotonic()
        if progress:
            progress(len(answers), len(needed))

    for key, stored in answers.items():
        if watch:
            watch.saw(needed[key], stored)
    if progress:
        progress(len(answers), len(needed))
    # A portion that was asked and kept stays kept, whatever becomes of the next.
    for batch in filter(None, batches):
        if watch:
            watch.check()
        # Closing ends what a server still has under way, instead of leaving it to the collector.
        with closing(answer([needed[key] for key in batch])) as stream:
            try:
                for pairs in stream:
                    waiting += pairs
                    due = time.monotonic() - last >= _SECONDS_BETWEEN_WRITES
                    ending = watch is not None and watch.may_end(len(waiting))
                    if len(waiting) >= worth_a_write or due or ending:
                        keep()
                    if watch:
                        watch.check()
            finally:
                # Also after Ctrl-C and after an error of the model: what it said is paid for.
                if waiting:
                    keep()
    return [answers[key] for key in keys], len(asked)


def _batches(
    keys: Sequence[str], held: Container[str], portion: int | None, whole: bool
) -> list[list[str]]:
    """Return all keys without an answer, in portions, or the portions in which any has none."""
    if not whole:
        keys = [key for key in keys if key not in held]
    if portion is None:
        return [[key for key in dict.fromkeys(keys) if key not in held]]
    portions = (
        list(dict.fromkeys(keys[start : start + portion])) for start in range(0, len(keys), portion)
    )
    return [batch for batch in portions if not all(key in held for key in batch)]


def ask(
    model: Model,
    draws: Sequence[Draw],
    store: AnswerStore,
    *,
    batch_size: int = 64,
    readable: Readable | None = None,
    hint: str = "",
    progress: Progress | None = None,
) -> tuple[list[Answer], int]:
    """Have every draw answered in words or, where it names labels, by their probabilities."""

    def answer(missing: Sequence[Draw]) -> AnswerStream:
        # Long texts first: if memory does not suffice, that shows at once; and texts of similar
        # length pad each other least.
        rest = sorted(
            missing, key=lambda draw: (-len(draw.request.text), draw.key(model.fingerprint))
        )
        words = _mixed([draw for draw in rest if not draw.labels], model.fingerprint)
        if isinstance(model, StreamingModel) and words:
            # Words stream in one by one; the probabilities of labels come with the answer of one
            # call.
            rest = [draw for draw in rest if draw.labels]
            yield from _streamed(model, words)
        elif words:
            # As many as may end a session stand for all others.
            first = words[: -(-PATIENCE // batch_size) * batch_size]
            begun = set(first)
            rest = [*first, *(draw for draw in rest if draw not in begun)]
        size, start = min(_FIRST_CALL, batch_size), 0
        while start < len(rest):
            yield _answer_batch(model, rest[start : start + size])
            start, size = start + size, min(2 * size, batch_size)

    # Probabilities of labels are always read.
    in_words = not all(draw.labels for draw in draws)
    watch = Patience(readable, hint=hint) if readable and in_words else None
    return ask_missing(
        model,
        draws,
        store,
        answer,
        worth_a_write=batch_size,
        watch=watch,
        progress=progress,
    )


def _mixed(words: Sequence[Draw], fingerprint: str) -> list[Draw]:
    """Return draws by their keys, which mixes all kinds of questions, the longest text first."""
    # The first answers then stand for all, so that one framing of which none can be read
    # ends no session; a text that is too long still shows at once.
    return [*words[:1], *sorted(words[1:], key=lambda draw: draw.key(fingerprint))]


def _streamed(model: StreamingModel, words: Sequence[Draw]) -> AnswerStream:
    """Yield answers as they come; each request must have come once when the model is done."""
    stream = model.stream_answers([draw.request for draw in words])
    missing = set(range(len(words)))
    try:
        for position, reply in stream:
            if position not in missing:
                raise CoherenceError(
                    f"model {model.name} must answer each of {len(words)} requests once; it gave "
                    f"an answer at position {position!r} too many. What came before is kept."
                )
            missing.remove(position)
            yield [(words[position], reply)]
    finally:
        # A plain iterator has nothing to close; a generator may have servers at work.
        close = getattr(stream, "close", None)
        if close is not None:
            close()
    if missing:
        raise CoherenceError(
            f"model {model.name} gave {len(words) - len(missing)} answers to {len(words)} "
            "requests. What came is kept."
        )


def _answer_batch(model: Model, batch: Sequence[Draw]) -> list[tuple[Draw, Answer]]:
    pairs: list[tuple[Draw, Answer]] = []
    # A model reads the same labels after many texts in one call.
    for labels in dict.fromkeys(draw.labels for draw in batch):
        alike = [draw for draw in batch if draw.labels == labels]
        requests = [draw.request for draw in alike]
        answers = (
            ask_labels(model, [request.text for request in requests], labels)
            if labels
            else list(model.generate(requests))
        )
        # Answers that cannot be told apart any more must not be stored under the wrong keys.
        if len(answers) != len(alike):
            raise CoherenceError(
                f"model {model.name} gave {len(answers)} answers to {len(alike)} requests. "
                "Nothing of this batch was stored."
            )
        pairs += zip(alike, answers, strict=True)
    return pairs
