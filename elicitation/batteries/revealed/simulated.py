"""Simulated believers, each with one known flaw, to show what each measure sees."""

from collections.abc import Callable, Sequence

import pandas as pd

from coherence.errors import InputError
from elicitation.batteries.revealed.questions import belief_questions, tabulate_beliefs
from elicitation.batteries.revealed.scenarios.setting import REFERENCE, Setting

Belief = dict[str, float]


def exact(setting: Setting) -> Belief:
    """Believe the truth."""
    return {outcome: float(probability) for outcome, probability in setting.truth.items()}


def point_mass(setting: Setting) -> Belief:
    """Be sure of the most probable outcome; of equally probable ones, the first."""
    # max() keeps the first of equals.
    surest = max(setting.truth, key=lambda outcome: setting.truth[outcome])
    return {outcome: float(outcome == surest) for outcome in setting.truth}


def first_lover(setting: Setting, *, pull: float = 0.4) -> Belief:
    """Believe the truth, but move a share `pull` of all probability to the first outcome."""
    _check_share(pull)
    return {
        outcome: (1 - pull) * float(truth) + pull * (position == 0)
        for position, (outcome, truth) in enumerate(setting.truth.items())
    }


def gambler(setting: Setting, *, discount: float = 0.8) -> Belief:
    """Commit the gambler's fallacy: count the last outcome as less probable by a `discount`."""
    _check_share(discount)
    # Where results are added, it is the total that repeats the last one.
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


def simulate_beliefs(
    believer: Callable[[Setting], Belief], settings: Sequence[Setting], *, source: str
) -> pd.DataFrame:
    """Lay out the beliefs of a simulated believer, who minds no wording."""
    plain = [each for each in belief_questions(settings) if each.wording == REFERENCE]
    return tabulate_beliefs([(each, believer(each.setting)) for each in plain], source=source)


def _check_share(share: float) -> None:
    if not 0 <= share < 1:
        raise InputError(f"a share must be in [0, 1); received {share}.")
