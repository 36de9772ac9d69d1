"""Plots of revealed beliefs: order of outcomes, bars side by side, and texts as they are."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence.batteries.revealed.plots import plot_orders, plot_outcomes, wording_beliefs
from coherence.errors import InputError


def test_beliefs_stand_in_the_order_of_the_text_and_sum_to_one(beliefs):
    rows = beliefs("s", "w", [0.1] * 11 + [0.4], [1 / 12] * 12)
    empty = beliefs("s", "empty", [0.0] * 12, [1 / 12] * 12)
    table = wording_beliefs(pd.concat([rows.iloc[::-1], empty]))
    assert list(table.columns) == [str(number) for number in range(1, 13)]
    assert table.loc["w"].tolist() == pytest.approx([0.1 / 1.5] * 11 + [0.4 / 1.5])
    assert list(table.index) == ["w"]


def test_bars_of_two_sources_lie_left_and_right_of_their_outcome(beliefs):
    both = [beliefs("s", "w", [0.5, 0.5], [0.5, 0.5], source=name) for name in "ab"]
    ax = plot_outcomes(pd.concat(both), "s", Figure().add_subplot())
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches[2:]]
    assert centres == pytest.approx([-0.205, 0.795, 0.205, 1.205])


def test_a_pair_needs_both_orders(beliefs):
    first = beliefs("x", "w", [0.9, 0.1], [0.5, 0.5], pair="p")
    with pytest.raises(InputError, match="'p' has 1"):
        plot_orders(first, "p", Figure().add_subplot(), source="m")
