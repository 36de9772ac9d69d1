"""Probabilities of answers as a model has them: of labels, and of all answers that a form allows.

Where a model's probabilities of outcomes can be had, a stated belief need not be drawn and read:
its distribution given the form is known, and with it the mean, the spread and the action's shares.
What the form's answers have together is the answer mass, given how the form begins (the label of
the line). It says how far the rest is from what the model would say by itself.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import CoherenceError, InputError
from elicitation.answers.outcomes import outcome_probabilities
from elicitation.models.base import (
    Answer,
    FormModel,
    LabelModel,
    Model,
    OutcomeModel,
)
from elicitation.models.labels import LabelBounds
from elicitation.spelling.forms import AnswerForm
from elicitation.spelling.spellings import Spelling

TOLERANCE = 1e-6
"""Token sequences are given up as long as they have no more than this together."""
RELATIVE_TOLERANCE = 1e-3
"""Of the answer mass: where the form has so little that more was given up, it is read again."""
_ROUNDS = 4
Masses = Mapping[str, float]


def ask_labels(
    model: Model, texts: Sequence[str], labels: Sequence[str] = BELIEF_LABELS
) -> list[Answer]:
    """Ask a model for the probabilities of labels, and write them as answers that can be stored."""
    if isinstance(model, OutcomeModel):
        # Exact, and over every way to cut a label into tokens.
        outcomes = outcome_probabilities(model, texts, labels, ignore_case=True)
        return [_label_answer(model, labels, row) for row in outcomes.probabilities.to_numpy()]
    if isinstance(model, LabelModel):
        return [
            _label_answer(model, labels, masses)
            for masses in model.label_probabilities(texts, labels)
        ]
    raise InputError(
        f"belief='token' needs a model that gives the probabilities of labels; {model.name} "
        "does not. Take verbalised or sampled."
    )


def bounds_answer(model: Model, bounds: LabelBounds) -> Answer:
    """Write bounds on the probabilities of labels as an answer that can be stored."""
    # Lower bounds can be stored like masses; what they leave open is in the share.
    return _label_answer(model, bounds.labels, bounds.lower, bounds.share(bounds.labels[-1]))


def _label_answer(
    model: Model,
    labels: Sequence[str],
    masses: Iterable[float],
    share: tuple[float, float] | None = None,
) -> Answer:
    """Write probabilities of labels, and bounds on the last one's share, as an answer."""
    stored: dict[str, Any] = dict(zip(labels, map(float, masses), strict=True))
    # Rounding aside: what a model gives goes into a store, and is not looked at again.
    if (
        not all(0 <= mass <= 1 + 1e-9 for mass in stored.values())
        or math.fsum(stored.values()) > 1 + 1e-6
    ):
        raise CoherenceError(
            f"model {model.name} gave {stored!r} as the probabilities of labels, "
            "which they cannot be."
        )
    return Answer(json.dumps(stored if share is None else {**stored, "share": list(share)}))


@dataclass(frozen=True)
class Distribution:
    """Probabilities of the answers to every part of a form."""

    parts: tuple[Masses, ...]  # for every part of the form answer -> probability, not renormalised

    @property
    def answer_mass(self) -> float:
        """Probability that an answer has the form; of several parts the least."""
        return min(min(math.fsum(part.values()), 1.0) for part in self.parts)

    def shares(self, part: int = 0) -> dict[str, float]:
        """Return the probabilities of the answers to a part, given that it is any of them."""
        total = math.fsum(self.parts[part].values())
        return {name: mass / total for name, mass in self.parts[part].items() if mass > 0}

    @classmethod
    def load(cls, text: str) -> "Distribution":
        """Read what `answers_in_form` wrote."""
        return cls(tuple(json.loads(text)))


def gives_distributions(model: object) -> bool:
    """Return whether the distribution over a form's answers can be had from a model."""
    return isinstance(model, FormModel | OutcomeModel)


def answers_in_form(
    model: Model, texts: Sequence[str], forms: Sequence[AnswerForm]
) -> list[Answer]:
    """Return the distributions over the answers in forms, as answers that can be stored."""
    if isinstance(model, FormModel):
        parts = _known(model, texts, forms)
    elif isinstance(model, OutcomeModel):
        parts = _measured(model, texts, forms)
    else:
        raise InputError(
            "exact answers need a model that gives the probabilities of outcomes over all "
            f"spellings, as a local causal model does; {model.name} does not. Take "
            "--answers drawn, or --answers forced if its server masks tokens."
        )
    for row in parts:
        for masses in row:
            # Rounding aside: what a model gives goes into a store, and is not looked at again.
            sound = all(0 <= mass <= 1 + 1e-6 for mass in masses.values())
            if not sound or math.fsum(masses.values()) > 1 + 1e-5:
                raise CoherenceError(
                    f"model {model.name} gave {masses!r} as the probabilities of answers, "
                    "which they cannot be."
                )
    return [Answer(json.dumps(row)) for row in parts]


def _known(
    model: FormModel, texts: Sequence[str], forms: Sequence[AnswerForm]
) -> list[tuple[dict[str, float], ...]]:
    read: dict[int, tuple[dict[str, float], ...]] = {}
    for form in dict.fromkeys(forms):
        rows = [row for row, other in enumerate(forms) if other == form]
        answers = model.form_probabilities([texts[row] for row in rows], form)
        read |= dict(zip(rows, answers, strict=True))
    return [read[row] for row in range(len(forms))]


def _measured(
    model: OutcomeModel, texts: Sequence[str], forms: Sequence[AnswerForm]
) -> list[tuple[dict[str, float], ...]]:
    """Read the parts of all forms, those with the same spellings in one call of the model."""
    wanted = [(row, k, part) for row, form in enumerate(forms) for k, part in enumerate(form.parts)]
    read: dict[tuple[int, int], dict[str, float]] = {}
    for spellings in dict.fromkeys(part.spellings for *_, part in wanted):
        alike = [(row, k, part) for row, k, part in wanted if part.spellings == spellings]
        # The beginning of the answer is read with the text: a tokenizer may merge both.
        ids = [model.encode([texts[row]], answer=part.prefill)[0] for row, _, part in alike]
        for (row, k, _), masses in zip(alike, _by_name(model, ids, spellings), strict=True):
            read[row, k] = masses
    return [tuple(read[row, k] for k in range(len(form.parts))) for row, form in enumerate(forms)]


def _by_name(
    model: OutcomeModel, ids: Sequence[Sequence[int]], spellings: Sequence[Spelling]
) -> Iterator[dict[str, float]]:
    names = list(dict.fromkeys(spelling.outcome for spelling in spellings))
    column = np.array([names.index(spelling.outcome) for spelling in spellings])
    masses = np.empty((len(ids), len(spellings)))
    left, tolerance = list(range(len(ids))), TOLERANCE
    for _ in range(_ROUNDS):
        read = model.spelling_masses([ids[i] for i in left], spellings, tolerance=tolerance)
        masses[left] = read.masses
        bound = RELATIVE_TOLERANCE * read.masses.sum(axis=1)
        again = read.unresolved > bound
        if not again.any():
            break
        # What was given up is little, but of an answer mass that is as little: once more, finer.
        # Where nothing at all was read, there may be something below the tolerance.
        finest = float(bound[again].min()) / 2
        tolerance = min(finest if finest > 0 else tolerance, tolerance / 100)
        left = [i for i, weak in zip(left, again, strict=True) if weak]
    for row in masses:
        summed = np.bincount(column, weights=row, minlength=len(names)).tolist()
        yield dict(zip(names, summed, strict=True))


def draw_in_form(distribution: Distribution, form: AnswerForm, seed: int) -> Answer:
    """Draw an answer from those in a form, by the probabilities that the model gives them."""
    mass = distribution.answer_mass
    if mass <= 0:
        return Answer("", answer_mass=mass)
    # Philox keyed by the seed, as where tokens are drawn: the same on every machine.
    uniforms = np.random.Generator(np.random.Philox(key=seed)).random(len(distribution.parts))
    names = []
    for part, uniform in enumerate(uniforms):
        shares = distribution.shares(part)
        cumulative = np.cumsum(list(shares.values()))
        # A uniform number on a step belongs to the answer after it, which has mass.
        position = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        names.append(list(shares)[min(position, len(shares) - 1)])
    return Answer(form.write(names), answer_mass=mass)
