"""Whether choices of one context go together beyond the belief that they share.

The shocks of a random-utility maximiser may last: a context brings something up that speaks for an
action whenever it is asked about. Each choice is made with the context's lasting shock or with one
of its own; both have the same law, so that utilities and choice probabilities stay what they are,
and only pairs of choices tell how large the share of lasting shocks is.
"""

import math

import numpy as np

from coherence.inputs import Floats
from coherence.rational.choice import Choices
from coherence.rational.engine import FittedBeliefs, FittedChoices, influences
from coherence.rational.influence import METHOD, reach, standard_error
from coherence.rational.latent import Posterior, Reports
from coherence.result import Interval
from coherence.statistics.resample import Units

_LEAST_ROOM = 1e-6  # agreement, per context, that tastes could add: below it nothing is told


def lasting_share(
    beliefs: FittedBeliefs, chosen: FittedChoices, units: Units
) -> tuple[float, Interval | None]:
    """Estimate the share of choices that are made with the context's lasting shock.

    Two choices of a context agree by the squared share more often than belief makes them. The share
    is the root of the mean excess in units of what it could at most be. Every context with two
    choices counts alike: over pairs, one that is asked often would outweigh all others.
    """

    def agreement(
        posterior: Posterior, latent: Floats, utilities: Floats, reports: Reports, made: Choices
    ) -> Floats:
        # A rational agent's choices depend on the belief alone, in either state.
        chance = chosen.model.probabilities(utilities)[0]
        by_chance = np.asarray(posterior.given_truth @ (chance**2).sum(axis=1))
        sizes = made.sums.sum(axis=1)
        pairs = sizes * (sizes - 1) / 2
        several = pairs > 0.5  # sums of probabilities miss whole numbers by rounding
        agreeing = np.divide(made.agreeing, pairs, out=np.zeros_like(pairs), where=several)
        by_taste = several * (1 - by_chance)
        per_pair = np.divide(several, pairs, out=np.zeros_like(pairs), where=several)
        return np.column_stack(
            [agreeing - several * by_chance, by_taste, by_taste * by_chance * per_pair]
        )

    _, values = influences(beliefs, chosen, agreement)
    excess, room, scatter = values.mean(axis=0)
    if not room > _LEAST_ROOM:
        return math.nan, None
    squared = excess / room
    error = float(standard_error(units.values((values[:, 0] - squared * values[:, 1]) / room)))
    # Where hardly any pair disagrees the contexts are too much alike to show how sure this is: at
    # least as unsure as so many pairs of independent choices.
    least = math.sqrt(max(scatter, 0.0) / len(values)) / room
    reached = reach(units.n) * max(error, least)
    low, value, high = np.sqrt(np.clip([squared - reached, squared, squared + reached], 0.0, 1.0))
    return float(value), Interval(float(low), float(high), 0.95, units.said(METHOD))
