"""A session: the whole grid of questions put to a model, resumable at any moment, ending in a runs table.

Every answer goes to the store before it counts. A session that is started again with the same
arguments finds what it has and asks the rest, so an interruption costs at most one batch, and a
finished session costs no question at all.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import pandas as pd

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Answer, Model, StreamingModel
from elicitation.reading.belief import Way, ask_labels
from elicitation.session.plan import Design, Plan, Subject, Task, plan_own_questions, plan_task
from elicitation.session.prompts import BELIEF, PromptSet
from elicitation.session.runs import decode_answer
from elicitation.store import AnswerStore, Draw, StoredAnswer

__all__ = [
    "Design",
    "Plan",
    "Progress",
    "Tally",
    "Task",
    "ask",
    "elicit",
    "elicit_questions",
    "plan_own_questions",
    "plan_task",
    "run_plan",
]

# A model that hands out answers one by one loses at most so much of its work if the process is
# killed.
_SECONDS_BETWEEN_WRITES = 1.0

Progress = Callable[[int, int], None]
"""Called with the number of answers at hand and the number needed; once at the start and after
every batch."""


@dataclass(frozen=True)
class Tally:
    """What a session did.

    Parameters
    ----------
    asked, reused : int
        Answers that the model gave now, and that the store had.
    readable : int
        Answers that have a value, of all; `repaired` are those among them that missed the form.
    """

    asked: int
    reused: int
    readable: int
    repaired: int = 0

    @property
    def total(self) -> int:
        """All answers of the session."""
        return self.asked + self.reused


def elicit(
    model: Model,
    task: Subject,
    cases: pd.DataFrame,
    store: AnswerStore,
    *,
    reps: int = 5,
    prompts: Sequence[str] = tuple(BELIEF),
    iterated: bool = True,
    belief: Way = "verbalised",
    draws: int = 20,
    temperature: float = 1.0,
    max_new_tokens: int | None = None,
    batch_size: int = 64,
    seed: int = 0,
    templates: PromptSet | None = None,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Ask a model for its beliefs and, in separate contexts, for its actions.

    Parameters
    ----------
    model : Model
        Who is asked; any object with the three members of `Model`.
    task : Task
        What about.
    cases : DataFrame
        The contexts, from `Task.cases`.
    store : AnswerStore
        Where answers are kept and found.
    reps, prompts, iterated, belief, draws, temperature, max_new_tokens, seed, templates
        See `Design`.
    batch_size : int
        Questions per call of the model and per transaction, positive.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    runs : DataFrame
        The runs table.
    tally : Tally
        How many answers were asked for now, found, and readable.

    Raises
    ------
    InputError
        An option is outside its range.
    CoherenceError
        The store failed; what it holds is kept.
    """
    design = Design(
        reps, prompts, iterated, belief, draws, temperature, max_new_tokens, seed, templates
    )
    return run_plan(
        model, plan_task(task, cases, design), store, batch_size=batch_size, progress=progress
    )


def elicit_questions(
    model: Model,
    questions: pd.DataFrame,
    store: AnswerStore,
    *,
    task: str = "questions",
    design: Design | None = None,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Ask a model questions of one's own; as `elicit`.

    Parameters
    ----------
    model : Model
        Who is asked.
    questions : DataFrame
        From ``elicitation.load_questions``, or made in Python with the same columns.
    store : AnswerStore
        Where answers are kept and found.
    task : str
        Value of the `task` column.
    design : Design or None
        How often and in which ways; None takes the defaults.
    batch_size : int
        Questions per call of the model and per transaction, positive.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    runs, tally
        As from `elicit`.

    Raises
    ------
    InputError
        An option is outside its range, or the table breaks a rule.
    CoherenceError
        The store failed; what it holds is kept.
    """
    plan = plan_own_questions(questions, design or Design(), task=task)
    return run_plan(model, plan, store, batch_size=batch_size, progress=progress)


def run_plan(
    model: Model,
    plan: Plan,
    store: AnswerStore,
    *,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Tally]:
    """Have a plan's questions answered and lay the answers out; parameters and results as in `elicit`."""
    if batch_size < 1:
        raise InputError(f"batch_size must be positive; received {batch_size}.")
    answers, asked = ask(model, plan.draws, store, batch_size=batch_size, progress=progress)
    runs = plan.assemble(answers, model.name)
    read = [
        decode_answer(question, answer.text)
        for question, answer in zip(plan.questions, answers, strict=True)
    ]
    readable, repaired = (
        sum(one.readable for one in read),
        sum(one.status.startswith("repaired:") for one in read),
    )
    return runs, Tally(asked, len(plan.questions) - asked, readable, repaired)


def ask(
    model: Model,
    draws: Sequence[Draw],
    store: AnswerStore,
    *,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> tuple[list[StoredAnswer], int]:
    """Have every draw answered, from the store where it can be.

    Parameters
    ----------
    model : Model
        Who is asked.
    draws : sequence of Draw
        In any order; equal draws are asked once.
    store : AnswerStore
        Where answers are kept and found.
    batch_size : int
        Draws per call of the model and per transaction.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    answers : list of StoredAnswer
        One per draw, in order.
    asked : int
        How many the model gave now.
    """
    keys = [draw.key(model.fingerprint) for draw in draws]
    needed = dict(zip(keys, draws, strict=True))
    found = store.get(needed)
    # Long texts first: if memory does not suffice, that shows at once; and texts of similar length
    # pad each other least.
    missing = sorted(
        (key for key in needed if key not in found),
        key=lambda key: (-len(needed[key].request.text), key),
    )
    if progress:
        progress(len(found), len(needed))

    def keep(batch: Sequence[Draw], answers: Sequence[Answer]) -> None:
        store.put(batch, answers, model=model.name, fingerprint=model.fingerprint)
        # Read back what the store holds: another process may have been first with some of these.
        found.update(store.get(draw.key(model.fingerprint) for draw in batch))
        if progress:
            progress(len(found), len(needed))

    rest = [needed[key] for key in missing]
    if isinstance(model, StreamingModel):
        _keep_as_they_come(model, [draw for draw in rest if not draw.labels], keep, batch_size)
        rest = [draw for draw in rest if draw.labels]
    for start in range(0, len(rest), batch_size):
        batch = rest[start : start + batch_size]
        keep(batch, _answers(model, batch))
    return [found[key] for key in keys], len(missing)


def _keep_as_they_come(
    model: StreamingModel,
    draws: Sequence[Draw],
    keep: Callable[[Sequence[Draw], Sequence[Answer]], None],
    batch_size: int,
) -> None:
    """Have draws answered by a model that hands its answers out one by one, and keep them a portion or a second at a time, also when it fails."""
    waiting: dict[int, Answer] = {}
    last = time.monotonic()

    def keep_waiting() -> None:
        keep([draws[place] for place in waiting], list(waiting.values()))
        waiting.clear()

    with closing(model.stream_answers([draw.request for draw in draws])) as answers:
        try:
            for place, answer in answers:
                waiting[place] = answer
                if len(waiting) >= batch_size or time.monotonic() - last >= _SECONDS_BETWEEN_WRITES:
                    keep_waiting()
                    last = time.monotonic()
        finally:
            if waiting:
                keep_waiting()


def _answers(model: Model, batch: Sequence[Draw]) -> list[Answer]:
    """Have a batch answered: in words, or by the probabilities of labels."""
    answers: dict[int, Answer] = {}
    for labels in dict.fromkeys(draw.labels for draw in batch):
        rows = [row for row, draw in enumerate(batch) if draw.labels == labels]
        requests = [batch[row].request for row in rows]
        given = (
            ask_labels(model, [request.text for request in requests], labels)
            if labels
            else model.generate(requests)
        )
        if len(given) != len(rows):
            raise CoherenceError(
                f"model {model.name} gave {len(given)} answers to {len(rows)} requests. Nothing of this batch was stored."
            )
        answers.update(zip(rows, given, strict=True))
    return [answers[row] for row in range(len(batch))]
