"""Reading beliefs off a model: the probability of every outcome after an unfinished text, kept in an answer store so that a session resumes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elicitation.models.base import Answer, ScoringModel
from elicitation.outcomes import outcome_probabilities
from elicitation.store import AnswerStore, Draw
from elicitation.tokenizations import Spelling, spellings_of

if TYPE_CHECKING:
    from elicitation.models.causal import CausalModel

BEGINS = "…"
"""Ends the name of a reading that counts every answer that begins with an outcome: "1…" is also 10 and 12."""
_TOLERANCE = 1e-12
"""Of token sequences that are given up: far below the usual one, since a divergence looks at the logarithm of improbable outcomes."""
_LARGEST_GAP = 0.01
"""Of the probability on the outcomes: a belief that may lack more than this is not read."""

Masses = dict[str, float]
Progress = Callable[[int, int], None]
"""Called with the number of questions answered and their number; once at the start and after every portion."""


@dataclass(frozen=True)
class Question:
    """A text and the outcomes whose probabilities are read after it.

    Parameters
    ----------
    text : str
        The text.
    outcomes : tuple of str
        What may come next. Numbers are read twice: as they are, and, with `BEGINS` in their name, as beginnings of longer numbers.
    ignore_case : bool
        Whether outcomes count in any case.
    about : str
        What the question is, for those who look into the store.
    """

    text: str
    outcomes: tuple[str, ...]
    ignore_case: bool = False
    about: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all that is read."""
        beginnings = tuple(f"{outcome}{BEGINS}" for outcome in self.outcomes) if self.numeric else ()
        return self.outcomes + beginnings

    @property
    def numeric(self) -> bool:
        """Whether the outcomes are numbers."""
        return all(outcome.isdigit() for outcome in self.outcomes)


def read_masses(
    model: ScoringModel, questions: Sequence[Question], store: AnswerStore, *, portion: int = 256, progress: Progress | None = None
) -> tuple[list[Masses], int]:
    """Read the probabilities of outcomes after texts, from the store where they are there.

    Parameters
    ----------
    model : ScoringModel
        Who is asked.
    questions : sequence of Question
        In any order; equal ones are asked once.
    store : AnswerStore
        Where answers are kept and found.
    portion : int
        Questions between two writes to the store, positive.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    masses : list of dict of str to float
        One per question: label -> probability, not renormalised.
    asked : int
        How many the model answered now.

    Raises
    ------
    InputError
        A text does not fit into the model's context, or outcomes overlap.
    """
    draws = [Draw.of_labels(question.text, question.labels, about=question.about) for question in questions]
    keys = [draw.key(model.fingerprint) for draw in draws]
    needed = dict(zip(keys, zip(questions, draws, strict=True), strict=True))
    found = store.get(needed)
    missing = [key for key in needed if key not in found]
    if progress:
        progress(len(found), len(needed))
    pending: list[tuple[Draw, Answer]] = []
    # Questions with equal outcomes are read together.
    groups: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for key in missing:
        question = needed[key][0]
        groups.setdefault((question.outcomes, question.ignore_case), []).append(key)
    read = 0

    def keep() -> None:
        if pending:
            given, answers = zip(*pending, strict=True)
            store.put(given, answers, model=model.name, fingerprint=model.fingerprint)
            pending.clear()
        if progress:
            progress(len(needed) - len(missing) + read, len(needed))

    for group in groups.values():
        for start in range(0, len(group), portion):
            some = group[start : start + portion]
            masses = _read(model, [needed[key][0] for key in some])
            pending += [(needed[key][1], Answer(json.dumps(one))) for key, one in zip(some, masses, strict=True)]
            read += len(some)
            if len(pending) >= portion:
                keep()
    keep()
    found |= store.get(missing)
    return [json.loads(found[key].text) for key in keys], len(missing)


def in_chat(model: "CausalModel") -> "CausalModel":
    """Return the same model with its chat template, for questions; the model itself if it has none, or uses it already.

    Parameters
    ----------
    model : CausalModel
        As it continues texts.

    Returns
    -------
    CausalModel
        With the same weights in memory, and a fingerprint of its own.
    """
    from elicitation.models.causal import CausalModel

    if model.chat or model.tokenizer.chat_template is None:
        return model
    return CausalModel(model.network, model.tokenizer, name=model.name, fingerprint=f"{model.fingerprint} in its chat template", chat=True)


def _read(model: ScoringModel, questions: Sequence[Question]) -> list[Masses]:
    """Read questions that have the same outcomes; where too little can be said of them, all have probability 0."""
    texts, first = [question.text for question in questions], questions[0]
    if not first.numeric:
        found = outcome_probabilities(model, texts, first.outcomes, ignore_case=first.ignore_case, tolerance=_TOLERANCE)
        read = [dict(zip(first.outcomes, map(float, row), strict=True)) for row in found.probabilities.to_numpy()]
        return [_or_unread(masses, lost, first) for masses, lost in zip(read, found.unresolved, strict=True)]
    # Both readings of a number in one pass; they overlap by intention, which outcome_probabilities would refuse.
    spellings = spellings_of(first.outcomes, boundary="number")
    spellings += [Spelling(f"{spelling.outcome}{BEGINS}", spelling.text) for spelling in spellings]
    both = model.spelling_masses(model.encode(texts), spellings, tolerance=_TOLERANCE)
    read = [dict.fromkeys(first.labels, 0.0) for _ in questions]
    for masses, row in zip(read, both.masses, strict=True):
        for spelling, mass in zip(spellings, row, strict=True):
            masses[spelling.outcome] += float(mass)
    return [_or_unread(masses, lost, first) for masses, lost in zip(read, both.unresolved, strict=True)]


def _or_unread(masses: Masses, lost: float, question: Question) -> Masses:
    enough = lost <= _LARGEST_GAP * sum(masses[outcome] for outcome in question.outcomes)
    return masses if enough else dict.fromkeys(question.labels, 0.0)
