"""``--dry-run`` of the commands that ask: how many questions, and how many answers are there.

No model is loaded, nothing is asked, and nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elicitation.respondents import Respondent

if TYPE_CHECKING:
    from elicitation.questions.question import Question


@dataclass(frozen=True)
class PlannedAnswers:
    """What one model would be asked."""

    names: tuple[str, ...]  # of the model in the store
    questions: "Sequence[Question]"
    # those that are put to it on a condition, which is not looked up here
    perhaps: "Sequence[Question]" = ()
    condition: str = ""


def planned_answers(
    respondent: Respondent,
    questions: "Sequence[Question]",
    *,
    perhaps: "Sequence[Question]" = (),
    condition: str = "",
    continuing: bool = False,
) -> PlannedAnswers:
    """Return what a model would be asked; `continuing` where it goes on from texts as well."""
    ways = (False, True) if continuing else (False,)
    names = dict.fromkeys(respondent.in_store(continuing=way) for way in ways)
    return PlannedAnswers(tuple(names), questions, perhaps, condition)


def print_planned(planned: PlannedAnswers, store: str) -> None:
    """Print what one model would be asked."""
    from elicitation.asking.overview import preview

    sure, every = (
        preview(questions, model_name=planned.names, store=store)
        for questions in (planned.questions, [*planned.questions, *planned.perhaps])
    )
    number = every.n_left - sure.n_left
    only = f", {number} of them only where {planned.condition}"
    print(f"questions  {every.n_questions}, of which {every.n_distinct} differ")
    whose = " of a model of this name, under whatever settings" if every.n_stored else ""
    print(f"in store   {every.n_stored}{whose}")
    print(f"to ask     {every.n_left}{only if number else ''}")
