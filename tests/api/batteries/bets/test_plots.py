"""Figures of the bets: what is drawn where."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coherence.batteries.bets.figures import plot_accuracies, plot_ladder, plot_transfer


def accuracies(pvalues):
    n = len(pvalues)
    return pd.DataFrame(
        {"template": ["coin", "coin", "dice"][:n], "truth": "strict", "n": 10, "p_exact": pvalues}
    ).assign(accuracy=0.5, chance=0.25, low=0.2, high=0.8)


def artist(ax, gid):
    (drawn,) = [child for child in ax.get_children() if child.get_gid() == gid]
    return drawn


def test_accuracies_stand_at_their_numbers_filled_where_the_test_rejects():
    table = accuracies([0.05, 0.051, 0.001])
    ax = plot_accuracies(table, Figure().add_subplot())
    points = artist(ax, "accuracy")
    fill = [to_hex(colour).lower() for colour in points.get_facecolor()]
    assert [colour != "#ffffff" for colour in fill] == [True, False, True]
    assert points.get_offsets()[:, 0].tolist() == [0.5] * 3
    assert artist(ax, "chance").get_offsets()[:, 0].tolist() == [0.25] * 3
    (intervals,) = [child for child in ax.collections if child.get_gid() is None]
    assert [segment[:, 0].tolist() for segment in intervals.get_segments()] == [[0.2, 0.8]] * 3
    # The first on top, and a little more room between kinds than within one.
    within, between = -np.diff(points.get_offsets()[:, 1])
    assert 0 < within < between
    for n, shown in (([10, 0, 10], 2), ([0, 0, 0], 0)):
        some = plot_accuracies(table.assign(n=n), Figure().add_subplot())
        assert len(artist(some, "accuracy").get_offsets()) == shown


def test_a_transfer_is_read_from_trained_to_tested():
    table = pd.DataFrame([[0.9, 0.2, np.nan]], index=["coin"], columns=["card", "coin", "dice"])
    ax = plot_transfer(table, Figure().add_subplot())
    image = artist(ax, "transfer")
    np.testing.assert_allclose(image.get_array().filled(np.nan), table.to_numpy())
    assert image.get_clim() == (0, 1.25)  # equal shares have equal colours in all figures
    cells = [(text.get_position(), text.get_text(), text.get_color()) for text in ax.texts]
    expected = [((0, 0), "90%", "white"), ((1, 0), "20%", "#333333"), ((2, 0), "–", "#333333")]
    assert cells == expected
    (frame,) = ax.patches  # trained and tested on coins
    assert frame.get_xy() == pytest.approx((0.52, -0.48))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("tested on", "trained on")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["card", "coin", "dice"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["coin"]


def test_a_ladder_shows_points_where_choices_switch_and_bounds_elsewhere():
    table = pd.DataFrame(
        {"stated": [0.2, 0.5], "implied": [0.3, np.nan], "low": [0.1, 0.4], "high": [0.4, 1.0]}
    )
    ax = plot_ladder(table, Figure().add_subplot())
    np.testing.assert_array_equal(artist(ax, "diagonal").get_xydata(), [[0, 0], [1, 1]])
    assert artist(ax, "implied").get_offsets().tolist() == [[0.2, 0.3]]
    (interval,) = [child for child in ax.collections if child.get_gid() is None]
    assert interval.get_segments()[0].tolist() == [[0.2, 0.1], [0.2, 0.4]]
    (bound,) = artist(ax, "bounds").get_segments()
    assert bound.tolist() == [[0.5, 0.4], [0.5, 1.0]]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["no switch within the ladder"]
    whole = plot_ladder(table[:1], Figure().add_subplot())
    assert not [child for child in whole.get_children() if child.get_gid() == "bounds"]
    assert whole.get_legend() is None  # nothing but switches: nothing to explain
