"""A session seen from outside: what a store holds, and what a plan would ask.

No model is loaded and nothing is asked.
"""

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from elicitation.answers.reading import decode_answer
from elicitation.asking.store import read_store
from elicitation.questions.plan import Plan
from elicitation.questions.question import Question, QuestionSpec

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
    n_stored: int  # of these, answers that the store has of a model of this name

    @property
    def n_left(self) -> int:
        """Answers that are not in the store under any settings of the model."""
        return self.n_distinct - self.n_stored


def preview(
    plan: Plan | Sequence[Question],
    *,
    model_name: str | Collection[str],
    store: str | os.PathLike[str] | None = None,
) -> Preview:
    """Count what a plan would ask.

    Parameters
    ----------
    plan : Plan or sequence of Question
        From `plan_task` or `plan_own_questions`; or the questions of a battery.
    model_name : str or collection of str
        Name of the model in the store; several where it answers in two ways. Its answers are
        counted whatever its weights and settings were.
    store : path-like or None
        The store, if there is one yet.

    Returns
    -------
    Preview
        Counts.

    Examples
    --------
    >>> import elicitation
    >>> task = elicitation.load_task("asia")
    >>> cases = task.cases(20, seed=0)
    >>> plan = elicitation.plan_task(task, cases, elicitation.Design(reps=2))
    >>> preview(plan, model_name="mine").n_left
    320
    """
    questions = plan.questions if isinstance(plan, Plan) else plan
    names = {model_name} if isinstance(model_name, str) else set(model_name)
    stored = read_store(store) if store is not None and Path(store).exists() else ()
    mine = [(row.key, row.fingerprint) for row in stored if row.model in names]
    kept, fingerprints = {key for key, _ in mine}, {fingerprint for _, fingerprint in mine}
    # Under no fingerprint: only which questions are equal matters here.
    needed = {question.key(""): question for question in questions}
    held = [not kept.isdisjoint(map(each.key, fingerprints)) for each in needed.values()]
    return Preview(len(questions), len(needed), sum(held))
