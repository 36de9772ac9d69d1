"""Scores of beliefs: by hand, with their spread over wordings."""

import math

import pandas as pd
import pytest

from coherence import score_beliefs, summarise_scores
from coherence.batteries.revealed.scores import comparison_table, score_stated


def test_scores_are_of_renormalised_beliefs(beliefs):
    table = beliefs("s", "w", [0.3, 0.1], [0.5, 0.5], beginnings=[0.7, 0.1])
    (row,) = score_beliefs(table.sample(frac=1, random_state=1)).to_dict("records")
    assert row["answer_mass"] == pytest.approx(0.4)
    assert row["chebyshev"] == pytest.approx(0.25)
    assert row["first_excess"] == pytest.approx(0.25)
    assert row["first_excess_beginning"] == pytest.approx(0.375)


def test_summary_has_the_spread_over_wordings(beliefs):
    pieces = [
        beliefs(setting, wording, [0.5 + x, 0.5 - x], [0.5, 0.5])
        for setting in "st"
        for wording, x in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    ]
    pieces.append(beliefs("unread", "a", [0, 0], [0.5, 0.5]))
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


def test_intervals_of_a_summary_hold_nothing_impossible(beliefs):
    """Two wordings that differ, for which the t interval alone is more than ten standard errors to
    either side.
    """
    pieces = [
        beliefs("s", wording, masses, [0.5, 0.5])
        for wording, masses in (("a", [0.9, 0.05]), ("b", [0.1, 0.1]))
    ]
    summary = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric")
    assert summary.loc["answer_mass", ["low", "high"]].tolist() == [0, 1]
    assert summary.loc["chebyshev", ["low", "high"]].tolist() == [0, 1]
    assert summary.loc["l1", ["low", "high"]].tolist() == [0, 2]
    assert summary.loc["first_excess", ["low", "high"]].tolist() == [-1, 1]
    assert summary.loc["l1_relative", "low"] == 0
    assert summary.loc["l1_relative", "high"] > 1  # a belief may be further off than a point mass
    known = summary.dropna(subset="low")
    assert (known["low"] <= known["mean"]).all()
    assert (known["mean"] <= known["high"]).all()


def test_a_belief_that_was_not_read_is_no_answer_mass_of_zero(beliefs):
    read = beliefs("s", "a", [0.6, 0.2], [0.5, 0.5])
    for masses in ([math.nan, math.nan], [0.4, math.nan]):
        both = score_beliefs(pd.concat([read, beliefs("t", "a", masses, [0.5, 0.5])])).set_index(
            "setting"
        )
        assert math.isnan(both.loc["t", "answer_mass"])
        row = summarise_scores(both.reset_index()).set_index("metric").loc["answer_mass"]
        assert (row["mean"], row["n_settings"]) == (pytest.approx(0.8), 1)
    # Read, and nothing found, is 0.
    assert score_beliefs(beliefs("s", "a", [0.0, 0.0], [0.5, 0.5]))["answer_mass"].item() == 0


def test_sources_stand_side_by_side_with_the_stated_error(beliefs, stated_rows):
    both = pd.concat(
        [
            beliefs("s", "w", [0.6, 0.4], [0.5, 0.5], source="base"),
            beliefs("s", "w", [0.9, 0.1], [0.5, 0.5], source="instruct"),
        ]
    )
    rows = stated_rows(0.1, source="instruct")
    errors = score_stated(rows.assign(mass=rows["mass"] + 0.3 * rows["correct"]))
    table = comparison_table(summarise_scores(score_beliefs(both)), errors).set_index("metric")
    assert table.loc[
        "chebyshev", ["base", "instruct", "instruct stated"]
    ].tolist() == pytest.approx([0.1, 0.4, 3 / 7])
    assert errors["answer_mass"].item() == pytest.approx(0.7)


def test_one_wording_has_no_spread_and_an_infinite_distance_none_either(beliefs):
    alone = summarise_scores(score_beliefs(beliefs("s", "w", [0.6, 0.4], [0.5, 0.5])))
    row = alone.set_index("metric").loc["chebyshev"]
    assert row["mean"] == pytest.approx(0.1)
    assert row[["sd_wordings", "low", "high"]].isna().all()
    assert (row["n_settings"], row["n_wordings"]) == (1, 1)
    sure = beliefs("s", "v", [1.0, 0.0], [0.5, 0.5])
    both = pd.concat([beliefs("s", "w", [0.6, 0.4], [0.5, 0.5]), sure])
    divergence = summarise_scores(score_beliefs(both)).set_index("metric").loc["symmetric_kl"]
    assert divergence["mean"] == math.inf
    assert math.isnan(divergence["sd_wordings"])


def test_means_are_over_settings_first_and_then_over_wordings(beliefs):
    """One wording was asked in three settings and the other in one: they weigh the same."""
    pieces = [beliefs(setting, "a", [0.6, 0.4], [0.5, 0.5]) for setting in "stu"]
    pieces.append(beliefs("s", "b", [0.9, 0.1], [0.5, 0.5]))
    row = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric").loc["l1"]
    assert row["mean"] == pytest.approx((0.2 + 0.8) / 2)
    assert row["sd_wordings"] == pytest.approx(0.6 / math.sqrt(2))
    assert (row["n_settings"], row["n_wordings"]) == (3, 2)
