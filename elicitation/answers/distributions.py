"""The distribution over all answers that a form allows: computed, summarised, and drawn from.

Where a model's probabilities of outcomes can be had, a stated belief need not be drawn and read:
its distribution given the form is known, and with it the mean, the spread and the action's shares.
What the form's answers have together is the answer mass, given how the form begins (the label of
the line). It says how far the rest is from what the model would say by itself.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coherence.decoding.decode import UNPARSED, decode_decision
from coherence.errors import CoherenceError, InputError
from elicitation.answers.beliefs import mass_status
from elicitation.models.base import Answer, FormModel, Model, OutcomeModel
from elicitation.spelling.forms import AnswerForm
from elicitation.spelling.spellings import Spelling

TOLERANCE = 1e-6
"""Token sequences are given up as long as they have no more than this together."""
RELATIVE_TOLERANCE = 1e-3
"""Of the answer mass: where the form has so little that more was given up, it is read again."""
_ROUNDS = 4
_QUANTILES = (0.05, 0.95)
ACTION_LABELS = ("no", "yes", "defer")
"""What a decision may come to."""
Masses = Mapping[str, float]


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


@dataclass(frozen=True)
class ExactReading:
    """What a distribution over answers says."""

    value: Any  # mean probability of Yes; shares of labels that sum to 1; or action -> probability
    status: str  # one of `coherence.table.schema.STATUSES`.
    answer_mass: float  # probability that an answer has the form
    # sd, q05, q95: standard deviation and quantiles of a belief; NaN of all else
    sd: float = math.nan
    q05: float = math.nan
    q95: float = math.nan
    # what the shares of labels summed to before they were made to sum to 1; NaN of all else
    raw_sum: float = math.nan


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


def exact_belief(distribution: Distribution, form: AnswerForm, min_mass: float) -> ExactReading:
    """Read the belief off a distribution over numbers."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return ExactReading(None, status, mass)
    stated, share = _numbers(distribution)
    p = 1 - stated if form.kind == "lines" else stated
    mean = float(share @ p)
    order = np.argsort(p)
    # Half of a rounding error below, so that a sum of .05 in decimals counts as .05.
    cumulative = np.cumsum(share[order]) + 1e-12
    low, high = (
        float(p[order][min(int(np.searchsorted(cumulative, q)), len(p) - 1)]) for q in _QUANTILES
    )
    # Rounding may leave [0, 1] by a digit.
    mean = min(max(mean, 0.0), 1.0)
    sd = math.sqrt(max(float(share @ (p - mean) ** 2), 0.0))
    return ExactReading(mean, status, mass, sd, low, high)


def exact_shares(distribution: Distribution, form: AnswerForm, min_mass: float) -> ExactReading:
    """Read the probabilities of labels off distributions over numbers, and make them sum to 1."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return ExactReading(None, status, mass)
    means = []
    for part in range(len(distribution.parts)):
        stated, share = _numbers(distribution, part)
        means.append(float(share @ stated))
    return _normalised(means, form, status, mass)


def _normalised(
    numbers: Sequence[float], form: AnswerForm, status: str, mass: float
) -> ExactReading:
    # Two labels are asked for with one number, the first one's.
    stated = [numbers[0], 1 - numbers[0]] if len(form.labels) == 2 else list(numbers)
    total = math.fsum(stated)
    if total <= 0:
        return ExactReading(None, UNPARSED, mass, raw_sum=total)
    return ExactReading(tuple(number / total for number in stated), status, mass, raw_sum=total)


def exact_action(distribution: Distribution, form: AnswerForm, min_mass: float) -> ExactReading:
    """Read the probabilities of actions off a distribution over decisions or options."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return ExactReading(None, status, mass)
    shares = distribution.shares()
    if form.kind == "choice":
        return ExactReading(
            {option: shares.get(option, 0.0) for option in form.labels}, status, mass
        )
    actions = dict.fromkeys(ACTION_LABELS, 0.0)
    for name, share in shares.items():
        # As a drawn answer is read: who cannot decide, defers, whatever the second line says.
        actions[str(decode_decision(name).value)] += share
    return ExactReading(actions, status, mass)


def _numbers(distribution: Distribution, part: int = 0) -> tuple[Any, Any]:
    shares = distribution.shares(part)
    return np.array(list(map(float, shares))), np.array(list(shares.values()))


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


def forced_shares(text: str, form: AnswerForm) -> ExactReading:
    r"""Read the numbers of lines that `draw_in_form` wrote, and make them sum to 1."""
    numbers = [float(line.rpartition(": ")[2]) for line in text.split("\n")]
    return _normalised(numbers, form, "ok", math.nan)
