"""Chances at which choices switch: where gains are equal, by brute force too."""

import numpy as np
import pytest

from coherence import expected_gains
from coherence.batteries.bets.scores import right_roles
from coherence.batteries.bets.truths import break_evens, switching_chance
from elicitation import ladder_questions
from elicitation.batteries.bets.items import default_items
from elicitation.batteries.bets.questions import BREAK_EVENS, highest_break_even

ITEMS = default_items()


def test_switching_chances_of_any_bets_are_those_of_brute_force():
    """Prizes, losses, stakes and payouts at random, those where the thing that may be lost is worth
    more than all that comes back among them.
    """
    rng, chances, ahead = np.random.default_rng(0), np.linspace(0, 1, 4001), 0
    for _ in range(300):
        prize, loss, stake = rng.uniform(1, 100), rng.uniform(0, 100), rng.uniform(0.1, 100)
        payout = rng.choice([0.0, rng.uniform(0, 5)])
        gains = expected_gains(
            np.full(chances.size, prize), loss, stake, chance=chances, payout=payout
        )
        best = (gains[:, 0] > gains[:, 1]) & (gains[:, 0] > 0)
        first = chances[best.argmax()] if best.any() else 1.0
        assert float(switching_chance(prize, loss, stake, payout=payout)) == pytest.approx(
            first, abs=3e-4
        )
        ahead += loss > (1 + payout) * stake
    assert ahead > 30
    assert float(switching_chance(1, 100, 20)) == pytest.approx(20 / 21)
    assert float(switching_chance(0, 40, 20)) == 1.0  # nothing to be won


@pytest.mark.parametrize("payout", [0.0, 0.25, 1.0, 4.0])
def test_ladders_with_a_payout_switch_where_they_say(payout):
    rungs = [even for even in BREAK_EVENS if even < highest_break_even(payout)]
    steps = ladder_questions(ITEMS, payout=payout, break_evens=rungs)
    np.testing.assert_allclose(steps["break_even"], break_evens(steps), rtol=1e-12)
    np.testing.assert_allclose(sorted(steps["break_even"].round(3).unique()), rungs, atol=1e-3)
    assert (np.array(right_roles(steps)) == "win").tolist() == (
        steps["chance"] > steps["break_even"]
    ).tolist()


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_switching_chances_do_not_depend_on_the_unit_of_money(unit):
    amounts = np.array([[1, 100, 20], [100, 1, 20], [5, 5, 5]]).T
    for payout in (0.0, 0.5, 4.0):
        np.testing.assert_allclose(
            switching_chance(*(unit * amounts), payout=payout),
            switching_chance(*amounts, payout=payout),
        )
