"""A session seen from outside: what a plan would ask, and what a store has of it.

No model is loaded and nothing is asked.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elicitation.asking.store import read_store
from elicitation.questions.plan import Plan
from elicitation.questions.question import Question


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
    model_name: str,
    store: str | os.PathLike[str] | None = None,
) -> Preview:
    """Count what a plan would ask of a model, by its name in the store.

    Its answers are counted whatever its weights and settings were; `store` is None where there is
    none yet.
    """
    questions = plan.questions if isinstance(plan, Plan) else plan
    stored = read_store(store) if store is not None and Path(store).exists() else ()
    mine = [(row.key, row.fingerprint) for row in stored if row.model == model_name]
    kept, fingerprints = {key for key, _ in mine}, {fingerprint for _, fingerprint in mine}
    # Under no fingerprint: only which questions are equal matters here.
    needed = {question.key(""): question for question in questions}
    held = [not kept.isdisjoint(map(each.key, fingerprints)) for each in needed.values()]
    return Preview(len(questions), len(needed), sum(held))
