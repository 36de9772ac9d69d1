"""Expected gains: those of the paper, means over the outcomes, and amounts as they are stated."""

import numpy as np
import pandas as pd

from coherence import expected_gains
from coherence.batteries.bets.truths import bet_gains, break_evens


def bets_on_both_things(**columns):
    table = {"wins": ["high", "low"], "high_value": 100, "low_value": 1, "stake": 20, "chance": 0.5}
    return pd.DataFrame(table | columns)


def test_gains_of_a_table_are_those_of_the_amounts_in_its_rows():
    bets = bets_on_both_things()
    paper = [[40, -10.5, 14.75, 0], [-9.5, -60, -34.75, 0]]
    assert bet_gains(bets).tolist() == paper
    # Who takes the pen for worth the car's price sees each bet as the other one.
    assert bet_gains(bets, swapped=True).tolist() == paper[::-1]
    outcome = expected_gains([100, 1], [1, 100], 20, rule="outcome")
    assert bet_gains(bets, rule="outcome").tolist() == outcome.tolist()
    odds = bets_on_both_things(stake=[10, 30], chance=[0.2, 0.9], payout=[np.nan, 2.0])
    rows = [
        expected_gains(100, 1, 10, chance=0.2)[0],
        expected_gains(1, 100, 30, chance=0.9, payout=2.0)[0],
    ]
    np.testing.assert_allclose(bet_gains(odds), rows)


def test_chances_at_which_the_bets_of_a_table_switch():
    # Without a payout X / (H + X); with one of 4 on 20 the sides are equal at 99 / 299.
    np.testing.assert_allclose(break_evens(bets_on_both_things()), [20 / 120, 20 / 21])
    switches = break_evens(bets_on_both_things(payout=[4.0, np.nan]))
    np.testing.assert_allclose(switches, [99 / 299, 20 / 21])
