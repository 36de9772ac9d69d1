"""Beliefs that are read off: from the probability of labels, or from the rate over many draws.

Both come from one question whose answer is Yes or No, and both are renormalised over the readable
answers; `answer_mass` says how much that was. Where the labels have less than half of the mass, the
model would rather say something else: what is read off has the status `low_mass`. Where less than
half of the draws can be read, there is no belief.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from coherence.decoding.decode import BELIEF_LABELS, OK, UNPARSED, Decoded, worst
from coherence.errors import CoherenceError, InputError
from coherence.table.schema import LOW_MASS
from elicitation.answers.outcomes import outcome_probabilities
from elicitation.models.base import Answer, BoundingModel, LabelModel, Model, OutcomeModel

LEAST_MASS = 0.5
"""Share of the draws that must be on Yes and No for a belief to be read; where less of the mass is
on the answers that are read, the status says so."""
WIDEST_SHARE = 0.02
"""Where a server lists only the likeliest tokens, the share of Yes has bounds; wider than this, it
counts as unread."""


@dataclass(frozen=True)
class ReadBelief:
    """A belief that was read off."""

    # probability of Yes among the labels; None unless the status is `ok` or a repair
    value: float | None
    status: str  # one of `coherence.table.schema.STATUSES`.
    answer_mass: float  # share of the mass, or of the draws, on readable answers


def ask_labels(
    model: Model, texts: Sequence[str], labels: Sequence[str] = BELIEF_LABELS
) -> list[Answer]:
    """Ask a model for the probabilities of labels, and write them as answers that can be stored."""
    if isinstance(model, OutcomeModel):
        # Exact, and over every way to cut a label into tokens.
        outcomes = outcome_probabilities(model, texts, labels, ignore_case=True)
        return [_label_answer(model, labels, row) for row in outcomes.probabilities.to_numpy()]
    if isinstance(model, BoundingModel):
        # Lower bounds can be stored like masses; what they leave open is in the share.
        return [
            _label_answer(model, labels, bounds.lower, bounds.share(labels[-1]))
            for bounds in model.label_bounds(texts, labels)
        ]
    if isinstance(model, LabelModel):
        return [
            _label_answer(model, labels, masses)
            for masses in model.label_probabilities(texts, labels)
        ]
    raise InputError(
        f"belief='token' needs a model that gives the probabilities of labels; {model.name} "
        "does not. Take verbalised or sampled."
    )


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


def mass_status(mass: float, min_mass: float = 0.0) -> str:
    """Return the status of what is read off the answers that have a mass."""
    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def token_belief(text: str, min_mass: float = 0.0) -> ReadBelief:
    """Read the belief off the probabilities of No and Yes."""
    masses = json.loads(text)
    no, yes = (masses[label] for label in BELIEF_LABELS)
    low, high = masses.get("share", (0.0, 0.0))
    # Rounding may lift the sum above 1 by a digit.
    mass = min(no + yes, 1.0)
    status = mass_status(mass, min_mass)
    if status == UNPARSED or high - low > WIDEST_SHARE:
        return ReadBelief(None, UNPARSED, mass)
    # A label outside the list of likely tokens has no probability of its own, but bounds; the
    # belief is their middle.
    return ReadBelief((low + high) / 2 if "share" in masses else yes / (no + yes), status, mass)


def sampled_belief(draws: Sequence[Decoded[str]]) -> ReadBelief:
    """Read the belief off the rate of Yes over draws."""
    # Unreadable draws are left out of the rate, and counted in the answer mass.
    readable = [draw for draw in draws if draw.readable]
    mass = len(readable) / len(draws)
    if mass < LEAST_MASS:
        failures = Counter(draw.status for draw in draws if not draw.readable)
        return ReadBelief(None, failures.most_common(1)[0][0], mass)
    return ReadBelief(
        sum(draw.value == "Yes" for draw in readable) / len(readable),
        worst([draw.status for draw in readable]),
        mass,
    )
