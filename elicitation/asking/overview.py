"""A session seen from outside: what a store holds, and what a plan would ask.

No model is loaded and nothing is asked.
"""

import os
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from elicitation.answers.reading import decode_answer
from elicitation.asking.store import read_store
from elicitation.questions.plan import Plan
from elicitation.questions.question import Question, QuestionSpec
from elicitation.spelling.forms import BY_LABEL

BYTES_PER_TOKEN = 4.0  # of texts in UTF-8: a letter of English has one, a Chinese word some three
"""A rule of thumb for texts in English; a dry run without a tokenizer is as rough as this."""

BATTERY, UNKNOWN = "battery", "unknown"


def summarise_store(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Count the answers of a store.

    Parameters
    ----------
    path : path-like
        The file of an `AnswerStore`; it may be in use.

    Returns
    -------
    DataFrame
        Columns ``model``, ``question`` (role, for beliefs the prompt, and ``distribution`` where
        the probabilities of all answers were read; ``battery`` for the questions of one),
        ``status`` (of the single answer; ``unknown`` where the store does not say how to read it)
        and ``answers``.
        Models of one name with several fingerprints are told apart by the beginnings of those.

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
    spec_of = cache(QuestionSpec.load)  # a store may have millions of answers, of few kinds
    for row in read_store(path):
        spec = spec_of(row.spec_json)
        name, status = BATTERY if row.spec_json else UNKNOWN, UNKNOWN
        if spec is not None:
            name = f"belief: {spec.key}" if spec.role == "belief" else spec.role
            name += ", distribution" if spec.answer_mode == "exact" else ""
            status = decode_answer(spec, row.answer).status
        counts[row.model, row.fingerprint, name, status] += 1
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


@dataclass(frozen=True)
class Preview:
    """What a session would ask."""

    n_questions: int  # answers that the runs table needs
    n_distinct: int  # answers to be had: at temperature 0 equal texts are asked once
    # answers that the store has and that would be found again, of this model or of its name
    n_stored: int
    # tokens of the texts still to be asked, and of the system message of each, estimated from their
    # length in UTF-8 unless they are `counted`
    n_text_tokens: float
    n_answer_tokens: int  # tokens of their answers at most
    # tokens of their answers if they are as long as those that the store has of this model; None
    # where it has none with a count
    n_expected_tokens: float | None
    # tokens of the questions and answers that are stored; None where the model did not count them
    n_text_tokens_stored: int | None = None
    n_answer_tokens_stored: int | None = None
    counted: bool = False  # whether a tokenizer counted the tokens of the texts
    # whether the store has answers of a model of this name, and they were told by the name alone
    by_name: bool = False

    @property
    def n_left(self) -> int:
        """Answers still to be asked for."""
        return self.n_distinct - self.n_stored


def preview(
    plan: Plan | Sequence[Question],
    *,
    model_name: str | Collection[str],
    fingerprints: Collection[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    system: str | None = None,
    count: Callable[[Question], int] | None = None,
) -> Preview:
    """Count what a plan would ask.

    Parameters
    ----------
    plan : Plan or sequence of Question
        From `plan_task` or `plan_own_questions`; or the questions of a battery.
    model_name : str or collection of str
        Name of the model in the store; several where it answers in two ways.
    fingerprints : collection of str, optional
        What its answers are kept under, where that is known: answers under anything else, of
        another reasoning effort or precision, say, would not be found again. None counts answers
        of a model with this name whatever its weights and settings.
    store : path-like or None
        The store, if there is one yet.
    system : str, optional
        System message that goes with every question.
    count : callable, optional
        Returns the tokens of a question as a local model reads it. Answers whose probabilities are
        computed then take none. None estimates the tokens, of a hosted model.

    Returns
    -------
    Preview
        Counts.

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
    questions = plan.questions if isinstance(plan, Plan) else plan
    names = {model_name} if isinstance(model_name, str) else set(model_name)
    stored = read_store(store) if store is not None and Path(store).exists() else ()
    kept: dict[str, tuple[int | None, int | None]] = {}  # tokens of question and answer, by key
    found: set[str] = set()
    lengths: list[int] = []
    for row in stored:
        mine = row.model in names if fingerprints is None else row.fingerprint in fingerprints
        if not mine:
            continue
        kept[row.key] = row.answer.n_prompt_tokens, row.answer.n_tokens
        found.add(row.fingerprint)
        lengths += [] if row.answer.n_tokens is None else [row.answer.n_tokens]

    def stored_key(question: Question) -> str | None:
        keys = map(question.key, found)
        return next((key for key in keys if key in kept), None)

    # Under no fingerprint: only which questions are equal matters here.
    needed = {question.key(""): question for question in questions}
    held = {key: at for key, question in needed.items() if (at := stored_key(question))}
    missing = [question for key, question in needed.items() if key not in held]
    taken = [kept[at] for at in held.values()]
    # All answers to a question that are drawn in a form follow from one reading of the question,
    # and cost nothing beside it.
    readings = {
        reading.key(""): reading
        for question in missing
        if question.form is not None
        and not stored_key(reading := Question.of_form(question.text, question.form))
    }
    if count is None:
        n_bytes = sum(len(f"{system or ''}{each.text}".encode()) for each in missing)
        n_text_tokens = n_bytes / BYTES_PER_TOKEN
        # A list of likely tokens comes with a token of answer.
        written_out = [
            each for each in missing if not each.exact or (each.form and each.form.kind in BY_LABEL)
        ]
    else:
        written_out = [each for each in missing if each.form is None]
        read = [*(each for each in missing if each.form is None), *readings.values()]
        n_text_tokens = sum(map(count, read))
    rooms = Counter(each.request.max_new_tokens for each in written_out)
    return Preview(
        n_questions=len(questions),
        n_distinct=len(needed),
        n_stored=len(needed) - len(missing),
        n_text_tokens=n_text_tokens,
        n_answer_tokens=sum(room * number for room, number in rooms.items()),
        n_expected_tokens=(
            # Where there is less room than there was, answers are cut.
            sum(
                statistics.fmean(min(length, room) for length in lengths) * number
                for room, number in rooms.items()
            )
            if lengths and rooms
            else None
        ),
        n_text_tokens_stored=sum_of_tokens(text for text, _ in taken),
        n_answer_tokens_stored=sum_of_tokens(answer for _, answer in taken),
        counted=count is not None,
        by_name=fingerprints is None and bool(found),
    )


def sum_of_tokens(counts: Iterable[int | None]) -> int | None:
    """Return the sum; None where the model did not count all of them."""
    known = list(counts)
    return None if None in known else sum(each for each in known if each is not None)
