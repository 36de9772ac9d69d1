"""Probabilities of answers as a model has them: of labels, and of all answers that a form allows.

Where a model's probabilities of outcomes can be had, a stated belief need not be drawn and read:
its distribution given the form is known, and with it the mean, the spread and the action's shares.
What the form's answers have together is the answer mass, given how the form begins (the label of
the line). It says how far the rest is from what the model would say by itself.
"""

import json
import math
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Answer, DistributionModel, Model
from elicitation.models.labels import LabelBounds
from elicitation.spelling.forms import BY_LABEL, AnswerForm, Distribution, Masses


def gives(model: object, form: AnswerForm | None) -> bool:
    """Return whether a model knows how probable the answers in a form are."""
    known = model.answer_kinds if isinstance(model, DistributionModel) else ()
    return form is not None and form.kind in known


def require_distributions(model: Model, forms: Iterable[AnswerForm]) -> DistributionModel:
    """Return a model that knows how probable the answers in all forms are; else raise."""
    for form in forms:
        if not gives(model, form):
            _refuse(model, form)
    assert isinstance(model, DistributionModel), "looked at form by form"
    return model


def _refuse(model: Model, form: AnswerForm) -> NoReturn:
    if form.kind in BY_LABEL:
        raise InputError(
            f"belief='token' needs a model that gives the probabilities of labels; {model.name} "
            "does not. Take verbalised or sampled."
        )
    raise InputError(
        "exact answers need a model that gives the probabilities of outcomes over all "
        f"spellings, as a local causal model does; {model.name} does not. Take "
        "--answers drawn, or --answers forced if its server masks tokens."
    )


def stored(model: Model, form: AnswerForm | None, known: Distribution | LabelBounds) -> Answer:
    """Write what a model knows of the answers to a text as an answer that can be stored."""
    assert form is not None, "nothing is known of answers in no form"
    if isinstance(known, LabelBounds):
        # Lower bounds can be stored like masses; what they leave open is in the share.
        lower = dict(zip(known.labels, map(float, known.lower), strict=True))
        _require_sound(model, [lower], "labels")
        return Answer(json.dumps({**lower, "share": list(known.share(known.labels[-1]))}))
    if form.kind in BY_LABEL:
        (masses,) = known.parts
        if form.kind == "labels":
            _require_sound(model, [masses], "labels")
        return Answer(json.dumps(masses))
    _require_sound(model, known.parts, "answers")
    return Answer(json.dumps(known.parts))


def _require_sound(model: Model, parts: Iterable[Masses], of: str) -> None:
    # Rounding aside: what a model gives goes into a store, and is not looked at again.
    for masses in parts:
        within = all(0 <= mass <= 1 + 1e-6 for mass in masses.values())
        if not within or math.fsum(masses.values()) > 1 + 1e-5:
            raise CoherenceError(
                f"model {model.name} gave {masses!r} as the probabilities of {of}, which they "
                "cannot be."
            )


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
