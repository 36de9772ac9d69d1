"""Influences of an earlier result and of the order of options."""

import math

import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries.revealed.scores import order_preferences, previous_influences


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


def test_a_baseline_with_other_outcomes_is_refused(beliefs):
    base = beliefs("base", "a", [0.2, 0.3, 0.5], [0.5, 0.25, 0.25])
    later = beliefs("later", "a", [0.5, 0.5], [0.5, 0.5], previous="1", baseline="base")
    with pytest.raises(InputError, match="'later' must have the outcomes of its baseline"):
        previous_influences(pd.concat([base, later]))


def test_an_earlier_result_that_is_no_outcome_pulls_nowhere(beliefs):
    table = pd.concat(
        [
            beliefs("base", "a", [0.2, 0.2], [0.5, 0.5]),
            beliefs("later", "a", [0.1, 0.3], [0.5, 0.5], previous="7", baseline="base"),
            beliefs("unread", "a", [0.0, 0.0], [0.5, 0.5], previous="1", baseline="base"),
        ]
    )
    (row,) = previous_influences(table).to_dict("records")
    assert (row["setting"], row["previous"]) == ("later", "7")
    assert row["distance"] == pytest.approx(0.25)
    assert math.isnan(row["pull"])
    # Outcomes are read in the order of the text, wherever their rows stand.
    turned = table.assign(previous=table["previous"].replace("7", "2")).iloc[::-1]
    (row,) = previous_influences(turned).to_dict("records")
    assert (row["distance"], row["pull"]) == pytest.approx((0.25, 0.25))


def test_preferences_name_the_first_option_of_the_alphabet(beliefs):
    """Settings in either order of the table, wordings apart, and one that was not read left out."""
    named = {"x": ["yes", "no"], "y": ["no", "yes"]}
    masses = {("x", "a"): [0.3, 0.1], ("y", "a"): [0.6, 0.2], ("x", "b"): [0.5, 0.5]}
    masses |= {("y", "b"): [0.0, 0.0], ("x", "c"): [0.2, 0.8], ("y", "c"): [0.8, 0.2]}
    truths = {"yes": 0.7, "no": 0.3}
    table = pd.concat(
        [
            beliefs(
                setting, wording, values, [truths[name] for name in named[setting]], pair="p"
            ).assign(outcome=named[setting])
            for (setting, wording), values in masses.items()
        ]
    )
    for rows in (table, table.iloc[::-1]):
        preferences = order_preferences(rows).set_index("wording")
        assert sorted(preferences.index) == ["a", "c"]
        assert set(preferences["option"]) == {"no"}
        row = preferences.loc["a"]
        assert (row["named_first"], row["named_second"]) == pytest.approx((0.75, 0.25))
        assert row["truth"] == 0.3
        assert (row["position"], row["label"]) == pytest.approx((0.25, 0.2))
        assert preferences.loc["c", ["position", "label"]].tolist() == pytest.approx([0, 0.5])


def test_a_single_possible_outcome_is_influenced_by_nothing(beliefs):
    table = pd.concat(
        [
            beliefs("base", "a", [0.4], [1.0]),
            beliefs("later", "a", [0.9], [1.0], previous="1", baseline="base"),
        ]
    )
    (row,) = previous_influences(table).to_dict("records")
    assert (row["previous"], row["distance"], row["pull"]) == ("1", 0, 0)
