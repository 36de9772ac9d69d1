"""Questions as samples of Inspect: a text, and metadata that say what it asks and how to read it.

The metadata are all that a log needs to become a table again: neither the task's arguments nor the
files that they name are read a second time. Questions, seeds and readers are those of ``coherence
elicit``, ``bets`` and ``mix``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from coherence.batteries.bets.answers import read_letters
from coherence.decoding.decode import OK, UNPARSED
from coherence.table.schema import LEVEL_COLUMNS
from elicitation.batteries.bets.questions import OPTIONS
from elicitation.batteries.bets.words import bet_draws, stated_choice
from elicitation.batteries.mixing import (
    MixingQuestion,
    mixing_draw,
    mixing_questions,
    read_mixing_answer,
)
from elicitation.models.base import Answer, Request
from elicitation.questions.plan import Plan, reference_of
from elicitation.questions.question import Question, ReadAnswer
from elicitation.questions.tasks import features_of
from elicitation.questions.ways import QuestionSpec, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = "belief_coherence"
BELIEFS, BETS, MIXING = (f"{PACKAGE}/{name}" for name in ("beliefs_and_actions", "bets", "mixing"))
"""Names of the tasks."""
LISTS = ("lines", "z_states", "answers", "outcomes")
"""Metadata that are lists, which a log's reader gives back as JSON."""
_OF_Z = ("p_true", "p_z_true")


@dataclass(frozen=True)
class Asked:
    """A question as it is put, what is known about it, and the tokens that an answer may take."""

    text: str
    metadata: dict[str, Any]
    max_new_tokens: int


def belief_samples(plan: Plan) -> "Sequence[Asked]":
    """Return the questions of a plan, in its order."""
    specs = [question.spec for question in plan.questions]
    variants = [spec.key for spec in specs if spec.role == "belief"]
    reference = reference_of(list(dict.fromkeys(variants)))
    of_case = ("context", "theta", "theta_name", "p_true", "truth_kind", "z")
    names = [*of_case, *features_of(plan.cases)]
    known = plan.cases[[name for name in names if name in plan.cases.columns]]
    cases = [{name: _plain(value) for name, value in row.items()} for row in _records(known)]
    samples = []
    for question, spec in zip(plan.questions, specs, strict=True):
        metadata = {
            "task": plan.task,
            "case": question.case,
            "rep": question.rep,
            "kind": spec.role,
            "prompt": spec.key if spec.role == "belief" else None,
            **cases[question.case],
            "lines": list(spec.lines),
            "form": spec.form,
            "way": spec.way.how.belief,
        }
        if spec.is_offer:
            metadata |= {name: getattr(spec, name) for name in LEVEL_COLUMNS}
        if spec.role == "conditional":
            given = plan.truth[question.case]
            metadata |= {"prompt": reference, "z_state": spec.key, "z_states": list(given)}
            metadata |= {name: _plain(given[spec.key][name]) for name in _OF_Z}
        samples.append(_asked(question, metadata))
    return samples


def question_of(metadata: Mapping[str, Any], text: str) -> Question:
    """Return the question that `belief_samples` put."""
    role = metadata["kind"]
    key = {"belief": metadata["prompt"], "conditional": metadata.get("z_state")}.get(role, "")
    spec = QuestionSpec(role, key, tuple(metadata["lines"]), metadata["form"])
    spec = replace(spec, way=Way.of(metadata["way"], "drawn"))
    if spec.is_offer:
        spec = replace(spec, **{name: metadata[name] for name in LEVEL_COLUMNS})
    request = Request(text, metadata["seed"], spec.max_new_tokens)
    return Question(request, spec=spec, case=metadata["case"], rep=metadata["rep"])


def bet_samples(questions: pd.DataFrame, *, seed: int, max_new_tokens: int) -> "Sequence[Asked]":
    """Return questions on values and bets, as of ``coherence bets questions``."""
    draws = bet_draws(questions, temperature=0.0, seed=seed, max_new_tokens=max_new_tokens)
    return [
        _asked(draw, {name: _plain(value) for name, value in row.items()})
        for draw, row in zip(draws, _records(questions), strict=True)
    ]


def mixing_samples(*, draws: int, seed: int) -> "Sequence[Asked]":
    """Return the mixing battery, by draws first."""
    return [
        _asked(
            mixing_draw(question, number, seed),
            {
                "experiment": question.experiment,
                "p": question.p,
                "item": question.item,
                "order": question.order,
                "draw": number,
                "answers": list(question.answers),
                "outcomes": list(question.outcomes),
            },
        )
        for number in range(draws)
        for question in mixing_questions()
    ]


def mixing_question_of(metadata: Mapping[str, Any], text: str) -> MixingQuestion:
    """Return the question that `mixing_samples` put."""
    return MixingQuestion(
        metadata["experiment"],
        metadata["p"],
        text,
        tuple(metadata["answers"]),
        tuple(metadata["outcomes"]),
        metadata["item"],
        metadata["order"],
    )


def read_sample(
    task: str, metadata: Mapping[str, Any], text: str, answer: str, finish_reason: str | None
) -> tuple[object, str]:
    """Return the value of an answer, None where it has none, and its status."""
    if task == MIXING:
        question = mixing_question_of(metadata, text)
        return read_mixing_answer(answer, question, finish_reason=finish_reason)
    if task == BETS:
        options = [str(metadata[f"option_{letter}"]) for letter in OPTIONS]
        letters = read_letters(stated_choice(answer, finish_reason, options), options)
        return letters or None, OK if letters else UNPARSED
    said = Answer(answer, finish_reason=finish_reason)
    read = ReadAnswer.of(question_of(metadata, text), said).reading
    return read.value, read.status


def _asked(question: Question, metadata: dict[str, Any]) -> Asked:
    request = question.request
    return Asked(request.text, metadata | {"seed": request.seed}, request.max_new_tokens)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: an empty one is null."""
    return None if pd.isna(value) else json.loads(json.dumps(value, default=lambda it: it.item()))
