"""Scores of beliefs, stated answers and bets, by hand, with their spread over wordings."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import belief_distance, score_beliefs, summarise_scores
from coherence.batteries.revealed.scores import (
    order_preferences,
    previous_influences,
    score_stated,
    score_wagers,
)
from tests.api.batteries.revealed.conftest import beliefs, stated

EVEN = [0.5, 0.5]


def test_scores_are_of_renormalised_beliefs():
    table = beliefs("s", "w", [0.3, 0.1], EVEN, beginnings=[0.7, 0.1])
    (row,) = score_beliefs(table.sample(frac=1, random_state=1)).to_dict("records")
    assert row["answer_mass"] == pytest.approx(0.4)
    assert row["chebyshev"] == pytest.approx(0.25)
    assert row["first_excess"] == pytest.approx(0.25)
    assert row["first_excess_beginning"] == pytest.approx(0.375)


def test_summary_has_the_spread_over_wordings():
    pieces = [
        beliefs(setting, wording, [0.5 + x, 0.5 - x], EVEN)
        for setting in "st"
        for wording, x in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    ]
    pieces.append(beliefs("unread", "a", [0, 0], EVEN))
    summary = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric")
    row = summary.loc["chebyshev"]
    assert (row["mean"], row["sd_wordings"]) == pytest.approx((0.2, 0.1))
    # t with two degrees of freedom, 4.3027; a distance is not below 0, an excess may be.
    reach = 4.3027 * 0.1 / math.sqrt(3)
    assert (row["low"], row["high"]) == pytest.approx((0, 0.2 + reach), abs=1e-4)
    assert summary.loc["first_excess", ["low", "high"]].tolist() == pytest.approx(
        [0.2 - reach, 0.2 + reach], abs=1e-4
    )
    assert (row["n_settings"], row["n_wordings"]) == (2, 3)
    assert summary.loc["answer_mass", "n_settings"] == 3


def test_intervals_of_a_summary_hold_nothing_impossible():
    """Two wordings that differ, for which the t interval alone is more than ten standard errors to
    either side.
    """
    pieces = [beliefs("s", "a", [0.9, 0.05], EVEN), beliefs("s", "b", [0.1, 0.1], EVEN)]
    summary = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric")
    whole = {"answer_mass": [0, 1], "chebyshev": [0, 1], "l1": [0, 2], "first_excess": [-1, 1]}
    for metric, ends in whole.items():
        assert summary.loc[metric, ["low", "high"]].tolist() == ends
    assert summary.loc["l1_relative", "low"] == 0
    assert summary.loc["l1_relative", "high"] > 1  # a belief may be further off than a point mass


def test_a_letter_without_a_probability_is_named_with_its_setting():
    rows = stated("s", [0.2] * 4)
    message = "of 'm' to 's' lack the probability of letter 'C' in rotation 1 .1 are missing"
    hole = (rows["rotation"] == 1) & (rows["letter"] == "C")
    for faulty in (rows[~hole], rows.assign(mass=rows["mass"].mask(hole))):
        with pytest.raises(InputError, match=message):
            score_stated(faulty)


def test_who_always_gives_one_letter_is_wrong_three_times_of_four():
    rows = stated("s", [0.0] * 4)
    always = score_stated(rows.assign(mass=(rows["letter"] == "A").astype(float)))
    assert always["stated_error"].tolist() == pytest.approx([0.75])
    # Without any letter nothing is known, however sure the other rotations are.
    unread = score_stated(rows.assign(mass=rows["correct"] * (rows["rotation"] > 0).astype(float)))
    assert unread["stated_error"].isna().all()


def test_who_knows_the_truth_loses_nothing_and_who_does_the_opposite_all():
    truth = np.linspace(0, 1, 11)
    knowing = pd.DataFrame({"truth": truth, "share": (truth > 0.5).astype(float), "name": "x"})
    scores = score_wagers(knowing)
    np.testing.assert_allclose(scores["loss"], 0, atol=1e-12)
    np.testing.assert_allclose(scores["gain"], np.maximum(2 * truth - 1, 0))
    assert list(scores.columns) == ["truth", "share", "name", "gain", "loss"]
    unread = score_wagers(knowing.assign(share=math.nan))
    assert unread[["gain", "loss"]].isna().all(axis=None)
    opposite = score_wagers(knowing.assign(share=1 - knowing["share"]))
    np.testing.assert_allclose(opposite["loss"], np.abs(2 * truth - 1))


def test_influence_is_measured_within_a_wording():
    table = pd.concat(
        [
            beliefs("base", "a", EVEN, EVEN),
            beliefs("base", "b", [0.9, 0.1], EVEN),
            beliefs("later", "a", [0.2, 0.8], EVEN, previous="1", baseline="base"),
            beliefs("later", "b", [0.9, 0.1], EVEN, previous="1", baseline="base"),
            beliefs("alone", "a", [0.9, 0.1], EVEN, previous="1", baseline="not there"),
        ]
    )
    influences = previous_influences(table).set_index("wording")
    assert influences.loc[["a", "b"], "pull"].tolist() == pytest.approx([-0.3, 0])
    assert len(influences) == 2


def test_preferences_name_the_first_option_of_the_alphabet():
    """Settings in either order of the table, wordings apart, and one that was not read left out."""
    named = {"x": ["yes", "no"], "y": ["no", "yes"]}
    masses = {("x", "a"): [0.3, 0.1], ("y", "a"): [0.6, 0.2], ("x", "b"): EVEN}
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


# Distances of beliefs: the published cells, by hand, and invariances.


# "Do large language models exhibit cognitive dissonance?", appendix C: choice between two options,
# single. Eleven models each, in its order.
TWO_CHOICES = {
    "base": (
        (0.42, 0.41, 0.46, 0.41, 0.42, 0.43, 0.39, 0.41, 0.32, 0.46, 0.38),
        (0.85, 0.82, 0.92, 0.83, 0.85, 0.86, 0.79, 0.83, 0.64, 0.93, 0.76),
        (1.06, 0.95, 1.43, 0.99, 1.06, 1.14, 0.84, 0.99, 0.48, 1.50, 0.76),
    ),
    "instruct": (
        (0.21, 0.41, 0.49, 0.46, 0.50, 0.47, 0.34, 0.44, 0.32, 0.49, 0.35),
        (0.41, 0.82, 0.97, 0.92, 1.00, 0.95, 0.67, 0.88, 0.64, 0.99, 0.70),
        (0.18, 0.95, 2.07, 1.43, 4.00, 1.72, 0.55, 1.21, 0.48, 2.60, 0.62),
    ),
}


HALF = 0.005 + 1e-9  # of the last digit of a published cell


@pytest.mark.parametrize("kind", TWO_CHOICES)
def test_published_cells_of_two_choices(kind):
    for chebyshev, l1, divergence in zip(*TWO_CHOICES[kind], strict=True):
        # Two options: the L1 distance, known to half a digit, fixes the belief up to the label.
        low, high = (
            belief_distance([0.5, 0.5], [0.5 + x, 0.5 - x])
            for x in ((l1 - HALF) / 2, min((l1 + HALF) / 2, 0.5))
        )
        assert low.chebyshev - HALF <= chebyshev <= high.chebyshev + HALF
        assert low.symmetric_kl - HALF <= divergence <= high.symmetric_kl + HALF
        # The half-sum, which some call by the same name, does not fit; a belief that may be a point
        # mass says nothing about it.
        assert (
            l1 == 1.00
            or not low.symmetric_kl / 2 - HALF <= divergence <= high.symmetric_kl / 2 + HALF
        )


def test_distances_by_hand():
    distance = belief_distance([0.5, 0.5, 0, 0], [0.4, 0.2, 0.3, 0.1])
    assert distance.chebyshev == pytest.approx(0.3)
    assert distance.l1 == pytest.approx(0.1 + 0.3 + 0.3 + 0.1)
    assert distance.leaked_mass == pytest.approx(0.4)
    # On the possible outcomes the belief is (2/3, 1/3).
    assert distance.symmetric_kl == pytest.approx(
        (2 / 3 - 1 / 2) * math.log(4 / 3) + (1 / 3 - 1 / 2) * math.log(2 / 3)
    )
    # A point mass on the first outcome is .5 and 1 away.
    assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((0.6, 0.8))
    assert distance.first_excess == pytest.approx(-0.1)


def test_a_point_mass_has_relative_distance_one():
    for n in (2, 12):
        distance = belief_distance(np.full(n, 1 / n), np.eye(n)[0])
        # The distance itself is not comparable between numbers of outcomes.
        assert distance.chebyshev == pytest.approx(1 - 1 / n)
        assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((1, 1))
        assert distance.symmetric_kl == math.inf


def test_what_is_undefined_is_missing():
    one_outcome = belief_distance([1, 0], [0.7, 0.3])
    assert math.isnan(one_outcome.chebyshev_relative)
    assert math.isnan(one_outcome.l1_relative)
    assert one_outcome.symmetric_kl == 0  # on the only possible outcome; the rest leaked
    assert one_outcome.leaked_mass == pytest.approx(0.3)
    assert math.isnan(belief_distance([1, 0], [0, 1]).symmetric_kl)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_a_probability_may_be_held(value):
    distance = belief_distance([value, 1 - value], [value, 1 - value])
    assert (distance.l1, distance.first_excess) == (0, 0)
    with pytest.raises(InputError, match="position 0"):
        belief_distance([0.5, 0.5], [-0.01, 1.01])
