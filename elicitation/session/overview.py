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

from elicitation.session.plan import Plan
from elicitation.session.questions import Question, question_about
from elicitation.session.read_answers import decode_answer
from elicitation.store import Draw, read_store

CHARACTERS_PER_TOKEN = 4.0
"""A rule of thumb for texts in English; the count of a dry run is as rough as this."""

ASSUMED_SECONDS_PER_ANSWER = 0.1
"""Where the store has no answers of the model to tell its speed from."""

ASSUMED_SECONDS_PER_READING = 1.0
"""Likewise, for the distribution over all answers in a form, of a model on this machine."""

SECONDS_PER_TOKEN, SECONDS_PER_READING = 2e-10, 1.2e-8
"""Likewise, by parameter of a model of known size on one processor core: for a token of an answer,
and for such a reading. Measured with a model of 135 million parameters."""
SHARE_OF_LIMIT = 1 / 3
"""How long a drawn answer is taken to be, as a share of the most tokens that it may have."""

ASSUMED_SECONDS_TO_BEGIN, ASSUMED_TOKENS_PER_SECOND = 0.5, 50.0
"""Likewise, for one answer of a server among several under way."""

UNKNOWN, DAMAGED = "unknown", "damaged"
DRAWN, READ = "drawn", "read"
_ASSUMED = {
    DRAWN: ("an answer", ASSUMED_SECONDS_PER_ANSWER),
    READ: ("reading the answers to a question", ASSUMED_SECONDS_PER_READING),
}
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
    seconds: float  # time for the rest
    basis: str  # what the time follows from, in words
    speed_known: bool  # whether that is answers in the store, and no assumption

    @property
    def n_left(self) -> int:
        """Answers still to be asked for."""
        return self.n_distinct - self.n_stored


@dataclass(frozen=True)
class Pacing:
    """What the speed of answers depends on: limits of servers, the size of a local model."""

    # answers under way at all servers together; None for a model on this machine
    n_at_once: int | None = None
    # requests_per_minute, tokens_per_minute: limits of all servers together; None where there is
    # none
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    n_parameters: int | None = None  # of a model on this machine; None where that is not known

    def least_seconds(self, n_requests: int, n_tokens: float) -> float:
        """Return how long the limits make so many requests and tokens last."""
        minutes = (
            n_requests / self.requests_per_minute if self.requests_per_minute else 0.0,
            n_tokens / self.tokens_per_minute if self.tokens_per_minute else 0.0,
        )
        return max(minutes) * 60


_LOCAL = Pacing()


def preview(
    plan: Plan,
    *,
    model_name: str,
    store: str | os.PathLike[str] | None = None,
    pacing: Pacing = _LOCAL,
) -> Preview:
    """Count what a plan would ask, and estimate the time.

    Parameters
    ----------
    plan : Plan
        From `plan_task` or `plan_own_questions`.
    model_name : str
        Name of the model in the store.
    store : path-like or None
        The store, if there is one yet.
    pacing : Pacing
        What bounds the speed.

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
    n_answer_tokens = most if expected is None else min(expected, most)
    if pacing.n_at_once is None:
        seconds, basis, known = _local_time(
            _work_of(missing, is_kept),
            [(created, way) for _, _, created, _, way in rows],
            pacing.n_parameters,
            most * SHARE_OF_LIMIT if expected is None else expected,
        )
    else:
        pace = _seconds_per_answer(created for _, _, created, _, _ in rows)
        seconds, basis = _expected_time(pace, len(missing), n_answer_tokens, pacing.n_at_once)
        known = pace is not None
    least = pacing.least_seconds(len(missing), n_text_tokens + n_answer_tokens)
    return Preview(
        n_questions=len(plan.draws),
        n_distinct=len(needed),
        n_stored=len(needed) - len(missing),
        n_text_tokens=n_text_tokens,
        n_answer_tokens=most,
        n_expected_tokens=expected,
        seconds=max(seconds, least),
        basis="at the limits per minute" if least > seconds else basis,
        speed_known=known,
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


def _local_time(
    work: Mapping[str, int],
    rows: Iterable[tuple[str, str]],
    n_parameters: int | None,
    n_tokens: float,
) -> tuple[float, str, bool]:
    """Return the seconds that work takes, why so many, and whether that is known."""
    of_kind: dict[str, list[str]] = {DRAWN: [], READ: []}
    for created, way in rows:
        if way != "forced":  # these came in an instant, after a reading
            of_kind[READ if way == "exact" else DRAWN].append(created)
    seconds, assumed = 0.0, []
    for kind, number in work.items():
        pace = _seconds_per_answer(of_kind[kind])
        if pace is None:
            what, pace = _ASSUMED[kind]
            if n_parameters is not None and kind == READ:
                pace = n_parameters * SECONDS_PER_READING
            elif n_parameters is not None:
                pace = n_parameters * SECONDS_PER_TOKEN * n_tokens / number
            assumed.append(f"{what} takes {pace:.2g} s")
        seconds += number * pace
    if not assumed:
        return seconds, "at the speed of the answers in the store", True
    size = ""
    if n_parameters is not None:
        size = f", as {n_parameters / 1e6:,.3g} million parameters take on one processor core"
    return seconds, f"if {' and '.join(assumed)}{size}; no speed is known yet", False


def _expected_time(
    pace: float | None, n_answers: int, n_tokens: float, n_at_once: int
) -> tuple[float, str]:
    """Return the seconds that a server takes without a limit per minute, and why so many."""
    # Answers in the store came as many at once as were asked then: their pace has that in it.
    if pace is not None:
        return n_answers * pace, "at the speed of the answers in the store"
    total = n_answers * ASSUMED_SECONDS_TO_BEGIN + n_tokens / ASSUMED_TOKENS_PER_SECOND
    # The last answers have no others beside them, and fewer than all never take less than one.
    at_once = max(min(n_at_once, n_answers), 1)
    return total / at_once, (
        f"if each of {n_at_once} answers at once takes {ASSUMED_SECONDS_TO_BEGIN:g} s and "
        f"{ASSUMED_TOKENS_PER_SECOND:g} tokens come a second; no speed is known yet"
    )


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
