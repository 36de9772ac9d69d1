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
from typing import Any, Literal

from coherence.decoding.decode import BELIEF_LABELS, OK, UNPARSED, Decoded, worst
from coherence.errors import CoherenceError, InputError
from coherence.table.schema import LOW_MASS
from elicitation.models.base import Answer, BoundingModel, LabelModel, Model, OutcomeModel
from elicitation.reading.outcomes import outcome_probabilities

Way = Literal["verbalised", "token", "sampled"]
WAYS: tuple[Way, ...] = ("verbalised", "token", "sampled")
READ_OFF = ("token", "sampled")
"""Ways to a belief that ask for Yes or No."""
Answers = Literal["drawn", "forced", "exact"]
ANSWERS: tuple[Answers, ...] = ("drawn", "forced", "exact")
"""Ways to an answer: in free text; drawn from those in the form asked for; their distribution."""
LEAST_MASS = 0.5
"""Share of the draws that must be on Yes and No for a belief to be read; where less of the mass is
on the answers that are read, the status says so."""
WIDEST_SHARE = 0.02
"""Where a server lists only the likeliest tokens, the share of Yes has bounds; wider than this, it
counts as unread."""


@dataclass(frozen=True)
class ReadBelief:
    """A belief that was read off.

    Parameters
    ----------
    value : float or None
        Probability of Yes among the labels; None unless the status is `ok` or a repair.
    status : str
        One of `coherence.table.schema.STATUSES`.
    answer_mass : float
        Share of the mass, or of the draws, on readable answers.
    """

    value: float | None
    status: str
    answer_mass: float


def ask_labels(
    model: Model, texts: Sequence[str], labels: Sequence[str] = BELIEF_LABELS
) -> list[Answer]:
    """Ask a model for the probabilities of labels, and write them as answers that can be stored.

    Parameters
    ----------
    model : Model
        One that is also an `OutcomeModel`, a `BoundingModel` or a `LabelModel`.
    texts, labels : sequence of str
        See `LabelModel`.

    Returns
    -------
    list of Answer
        Texts that are JSON objects, label -> probability, with every digit; with ``share``, bounds
        on the last label's, where a list had an end.

    Raises
    ------
    InputError
        The model does not give probabilities of labels.
    CoherenceError
        It gave something that is none.
    """
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
    """Return the status of what is read off the answers that have a mass.

    Parameters
    ----------
    mass : float
        Probability of the readable answers.
    min_mass : float
        What is less is unread.

    Returns
    -------
    str
        `ok`, `low_mass` below one half, or `unparsed`.
    """
    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def token_belief(text: str, min_mass: float = 0.0) -> ReadBelief:
    """Read the belief off the probabilities of No and Yes.

    Parameters
    ----------
    text : str
        As from `ask_labels`.
    min_mass : float
        Least mass on No and Yes of a belief.

    Returns
    -------
    ReadBelief
        The share of Yes.

    Examples
    --------
    >>> token_belief('{"No": 0.5, "Yes": 0.25}')
    ReadBelief(value=0.3333333333333333, status='ok', answer_mass=0.75)
    >>> token_belief('{"No": 0.02, "Yes": 0.06}')
    ReadBelief(value=0.75, status='low_mass', answer_mass=0.08)
    >>> token_belief('{"No": 0.02, "Yes": 0.06}', min_mass=0.1)
    ReadBelief(value=None, status='unparsed', answer_mass=0.08)
    """
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
    """Read the belief off the rate of Yes over draws.

    Parameters
    ----------
    draws : sequence of Decoded
        One or more answers Yes or No.

    Returns
    -------
    ReadBelief
        The share of Yes among the readable draws. Its status is the gravest repair among them, or
        the commonest failure if too few can be read.

    Examples
    --------
    >>> draws = [Decoded("Yes", "ok"), Decoded("No", "ok"), Decoded(None, "refused")]
    >>> sampled_belief([*draws, Decoded("Yes", "ok")]).value
    0.6666666666666666
    """
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
