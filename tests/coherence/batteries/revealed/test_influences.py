"""Influences of an earlier result and of the order of options."""

import pandas as pd
import pytest

from coherence.batteries.revealed.influences import order_preferences, previous_influences


def test_influence_is_measured_within_a_wording(beliefs):
    table = pd.concat(
        [
            beliefs("base", "a", [0.5, 0.5], [0.5, 0.5]),
            beliefs("base", "b", [0.9, 0.1], [0.5, 0.5]),
            beliefs("later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="base"),
            beliefs("later", "b", [0.9, 0.1], [0.5, 0.5], previous="1", baseline="base"),
            beliefs("alone", "a", [0.9, 0.1], [0.5, 0.5], previous="1", baseline="not there"),
        ]
    )
    influences = previous_influences(table).set_index("wording")
    assert influences.loc[["a", "b"], "pull"].tolist() == pytest.approx([-0.3, 0])
    assert len(influences) == 2


def test_orders_are_paired(beliefs):
    first = beliefs("x", "a", [0.9, 0.1], [0.5, 0.5], pair="p")
    second = beliefs("y", "a", [0.3, 0.7], [0.5, 0.5], pair="p").assign(outcome=["2", "1"])
    lonely = beliefs("z", "a", [0.9, 0.1], [0.5, 0.5], pair="q")
    (row,) = order_preferences(pd.concat([first, second, lonely])).to_dict("records")
    assert (row["named_first"], row["named_second"]) == pytest.approx((0.9, 0.7))
    assert (row["position"], row["label"]) == pytest.approx((0.1, 0.3))
