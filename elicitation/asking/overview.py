"""A session seen from outside: what a store holds, and what a plan would ask.

No model is loaded and nothing is asked.
"""

import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd

from elicitation.answers.reading import decode_answer
from elicitation.asking.store import read_store
from elicitation.questions.grid import Question, question_about
from elicitation.questions.plan import Plan
from elicitation.questions.question import Draw

CHARACTERS_PER_TOKEN = 4.0
"""A rule of thumb for texts in English; the count of a dry run is as rough as this."""

UNKNOWN, DAMAGED = "unknown", "damaged"
DRAWN, READ = "drawn", "read"
# Answers of one batch are stored in one instant; a pause longer than this lies between sessions,
# not between batches.
_LONGEST_BATCH = 3600.0


def summarise_store(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Count the answers of a store.

    Parameters
    ----------
    path : path-like
        The file of an `AnswerStore`; it may be in use.

    Returns
    -------
    DataFrame
        Columns ``model``, ``question`` (role, and for beliefs the prompt), ``status`` (of the
        single answer; ``unknown`` where an older store does not say how to read it, ``damaged``
        where it is not as it was written and will be asked again) and
        ``answers``. Models of one name with several fingerprints are told apart by the beginnings
        of those.

    Raises
    ------
    InputError
        There is no such store.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import elicitation
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = elicitation.AnswerStore(Path(folder.name) / "answers.sqlite")
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> agent = elicitation.agent_for_task("leaky", task, cases)
    >>> _ = elicitation.elicit(agent, task, cases, store, design=elicitation.Design(reps=1))
    >>> store.close()
    >>> summarise_store(Path(folder.name) / "answers.sqlite")[["question", "status", "answers"]]
               question status  answers
    0         auxiliary     ok       20
    1  belief: absolute     ok       20
    2     belief: bayes     ok       20
    3       belief: mse     ok       20
    4  belief: standard     ok       20
    5       conditional     ok       40
    6          decision     ok       20
    >>> folder.cleanup()
    """
    counts: Counter[tuple[str, str, str, str]] = Counter()
    asked: dict[str, Question | None] = {}
    for row in read_store(path):
        if not row.sound:
            counts[row.model, row.fingerprint, UNKNOWN, DAMAGED] += 1
            continue
        # A store may have millions of answers, and has few kinds of questions.
        if row.about not in asked:
            asked[row.about] = question_about(row.about)
        question = asked[row.about]
        status = (
            UNKNOWN
            if question is None
            else decode_answer(question, row.text, row.finish_reason).status
        )
        counts[row.model, row.fingerprint, _name(question), status] += 1
    # A name in two versions, by weights or precision, is two models.
    names = Counter(
        model for model, _ in {(model, fingerprint) for model, fingerprint, _, _ in counts}
    )
    rows = [
        (f"{model} ({fingerprint[:8]})" if names[model] > 1 else model, question, status, number)
        for (model, fingerprint, question, status), number in counts.items()
    ]
    table = pd.DataFrame(rows, columns=["model", "question", "status", "answers"])
    return table.sort_values(["model", "question", "status"], ignore_index=True)


def _name(question: Question | None) -> str:
    if question is None:
        return UNKNOWN
    return f"belief: {question.key}" if question.role == "belief" else question.role


@dataclass(frozen=True)
class Preview:
    """What a session would ask."""

    n_questions: int  # answers that the runs table needs
    n_distinct: int  # answers to be had: at temperature 0 equal texts are asked once
    # answers that the store has of a model of this name and that would be found again
    n_stored: int
    n_text_tokens: float  # tokens of the texts still to be asked, estimated from their characters
    n_answer_tokens: int  # tokens of their answers at most
    # tokens of their answers if they are as long as those that the store has of this model; None
    # where it has none with a count
    n_expected_tokens: float | None
    # time for the rest at the speed of the answers in the store; None where it has too few
    seconds: float | None

    @property
    def n_left(self) -> int:
        """Answers still to be asked for."""
        return self.n_distinct - self.n_stored


def preview(
    plan: Plan,
    *,
    model_name: str,
    store: str | os.PathLike[str] | None = None,
) -> Preview:
    """Count what a plan would ask; a time is told from answers already given.

    Parameters
    ----------
    plan : Plan
        From `plan_task` or `plan_own_questions`.
    model_name : str
        Name of the model in the store.
    store : path-like or None
        The store, if there is one yet.

    Returns
    -------
    Preview
        Counts; answers of a model with this name count as stored whatever its weights, because no
        model is loaded.

    Examples
    --------
    >>> import elicitation
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> agent = elicitation.agent_for_task("leaky", task, cases)
    >>> plan = elicitation.plan_task(task, cases, elicitation.Design(reps=2))
    >>> preview(plan, model_name="mine").n_left
    320
    """
    # Only what is needed: the texts of a large store would fill the memory.
    stored = read_store(store) if store is not None and Path(store).exists() else ()
    way_of = cache(_way_of)
    rows = [
        (row.key, row.fingerprint, row.created, row.n_tokens, way_of(row.about))
        for row in stored
        if row.model == model_name and row.sound
    ]
    kept, fingerprints = {key for key, *_ in rows}, {fingerprint for _, fingerprint, *_ in rows}

    def is_kept(draw: Draw) -> bool:
        return any(draw.key(fingerprint) in kept for fingerprint in fingerprints)

    # Under no fingerprint: only which draws are equal matters here.
    needed = {draw.key(""): draw for draw in plan.draws}
    missing = [draw for draw in needed.values() if not is_kept(draw)]
    lengths = [n_tokens for _, _, _, n_tokens, _ in rows if n_tokens is not None]
    n_text_tokens = sum(len(draw.request.text) for draw in missing) / CHARACTERS_PER_TOKEN
    most = sum(0 if draw.exact else draw.request.max_new_tokens for draw in missing)
    expected = statistics.fmean(lengths) * len(missing) if lengths else None
    return Preview(
        n_questions=len(plan.draws),
        n_distinct=len(needed),
        n_stored=len(needed) - len(missing),
        n_text_tokens=n_text_tokens,
        n_answer_tokens=most,
        n_expected_tokens=expected,
        seconds=_seconds(_work_of(missing, is_kept), [(row[2], row[4]) for row in rows]),
    )


def _way_of(about: str) -> str:
    """Return in which way a stored answer was had; empty where an older store does not say."""
    question = question_about(about)
    return "" if question is None else question.way


def _work_of(missing: Iterable[Draw], is_kept: Callable[[Draw], bool]) -> Counter[str]:
    """Count what a model on this machine has to do for answers, by the kind of work.

    All answers to a question that are drawn in a form follow from one reading of the question, and
    cost nothing beside it.
    """
    work = {}
    for draw in missing:
        if draw.form is not None:
            draw = Draw.of_form(draw.request.text, draw.form, about=draw.about)
            if is_kept(draw):
                continue
        work[draw.key("")] = READ if draw.exact else DRAWN
    return Counter(work.values())


def _seconds(work: Mapping[str, int], rows: Iterable[tuple[str, str]]) -> float | None:
    """Return the seconds that work takes at the pace of answers of its kind; None without."""
    of_kind: dict[str, list[str]] = {DRAWN: [], READ: []}
    for created, way in rows:
        if way != "forced":  # these came in an instant, after a reading
            of_kind[READ if way == "exact" else DRAWN].append(created)
    seconds = 0.0
    for kind, number in work.items():
        pace = _seconds_per_answer(of_kind[kind])
        if pace is None:
            return None
        seconds += number * pace
    return seconds


def _seconds_per_answer(created: Iterable[str]) -> float | None:
    """Median over batches of the time since the one before, per answer; None of a single batch."""
    # The answers of a batch have one time, that of their transaction.
    batches = Counter(map(datetime.fromisoformat, created))
    times = sorted(batches)
    paces = [
        (later - earlier).total_seconds() / batches[later]
        for earlier, later in pairwise(times)
        if (later - earlier).total_seconds() < _LONGEST_BATCH
    ]
    return statistics.median(paces) if paces else None
