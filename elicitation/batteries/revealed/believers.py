"""Simulated believers, each with one known flaw: what the measures show of them is what they are for."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from coherence.errors import InputError
from elicitation.batteries.revealed.setting import Setting

Belief = dict[str, float]


def exact(setting: Setting) -> Belief:
    """Believe the truth."""
    return _floats(setting.truth)


def point_mass(setting: Setting) -> Belief:
    """Be sure of the most probable outcome; of equally probable ones, the first."""
    surest = max(setting.truth, key=lambda outcome: setting.truth[outcome])
    return {outcome: float(outcome == surest) for outcome in setting.truth}


def first_lover(setting: Setting, *, pull: float = 0.4) -> Belief:
    """Believe the truth, but move a share `pull` of all probability to the first outcome."""
    _check_share(pull)
    return {
        outcome: (1 - pull) * float(truth) + pull * (place == 0)
        for place, (outcome, truth) in enumerate(setting.truth.items())
    }


def gambler(setting: Setting, *, discount: float = 0.8) -> Belief:
    """Commit the gambler's fallacy: after an outcome, count it as less probable than it is by a share `discount`, though nothing has changed."""
    _check_share(discount)
    last = str(int(setting.previous) + setting.shift) if setting.shift else setting.previous
    weights = {
        outcome: float(truth) * (1 - discount * (outcome == last))
        for outcome, truth in setting.truth.items()
    }
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


BELIEVERS: dict[str, Callable[[Setting], Belief]] = {
    "exact": exact,
    "point mass": point_mass,
    "first-outcome lover": first_lover,
    "gambler": gambler,
}


def _floats(truth: Mapping[str, Fraction]) -> Belief:
    return {outcome: float(probability) for outcome, probability in truth.items()}


def _check_share(share: float) -> None:
    if not 0 <= share < 1:
        raise InputError(f"a share must be in [0, 1); received {share}.")
