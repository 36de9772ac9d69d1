"""Figures of the bets: what is drawn where."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coherence.batteries.bets.figures import (
    accuracy_size,
    models_size,
    plot_accuracies,
    plot_ladder,
    plot_models,
    plot_transfer,
)
from coherence.plots.style import BLUE


def accuracies(pvalues):
    n = len(pvalues)
    return pd.DataFrame(
        {"template": ["coin", "coin", "dice"][:n], "truth": "strict", "n": 10, "p_exact": pvalues}
    ).assign(accuracy=0.5, chance=0.25, low=0.2, high=0.8)


def artist(ax, gid):
    (drawn,) = [child for child in ax.get_children() if child.get_gid() == gid]
    return drawn


def test_points_are_filled_where_the_test_rejects_and_kinds_stand_apart():
    table = accuracies([0.05, 0.051, 0.001])
    ax = plot_accuracies(table, Figure().add_subplot())
    points = artist(ax, "accuracy")
    fill = [to_hex(colour).lower() for colour in points.get_facecolor()]
    assert fill == [BLUE.lower(), "#ffffff", BLUE.lower()]
    heights = points.get_offsets()[:, 1]
    # One row apart within a kind, a little more between kinds; the first on top.
    assert (-np.diff(heights)).tolist() == pytest.approx([1.0, 1.6])
    assert artist(ax, "chance").get_offsets()[:, 0].tolist() == [0.25] * 3
    # Half a row and a little is free above the first and below the last one.
    assert ax.get_ylim() == pytest.approx((-0.7, 2.6 + 0.7))
    assert heights[-1] == 0
    empty = table.assign(n=[10, 0, 10])
    left = plot_accuracies(empty, Figure().add_subplot())
    assert len(artist(left, "accuracy").get_offsets()) == 2


def test_sizes_grow_with_rows_and_kinds():
    assert accuracy_size(accuracies([0.1] * 3)) == pytest.approx((7.0, 1.4 + 0.72 + 0.28))
    models = accuracies([0.1] * 2).rename(columns={"template": "measure", "truth": "model"})
    assert models_size(models) == pytest.approx((7.0, 1.4 + 0.48 + 0.14))
    labels = plot_models(models, Figure().add_subplot()).get_yticklabels()
    assert [label.get_text() for label in labels] == ["coin: strict"] * 2


def test_cells_of_a_transfer_are_white_on_dark_and_framed_on_the_diagonal():
    table = pd.DataFrame(
        [[0.9, 0.75], [np.nan, 0.1]], index=["coin", "dice"], columns=["coin", "dice"]
    )
    ax = plot_transfer(table, Figure().add_subplot())
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [
        ("90%", "white"),
        ("75%", "#333333"),
        ("–", "#333333"),
        ("10%", "#333333"),
    ]
    centres = [(frame.get_x() + 0.48, frame.get_y() + 0.48) for frame in ax.patches]
    np.testing.assert_allclose(centres, [(0, 0), (1, 1)], atol=1e-12)


def test_a_ladder_shows_points_where_choices_switch_and_bounds_elsewhere():
    table = pd.DataFrame(
        {"stated": [0.2, 0.5], "implied": [0.3, np.nan], "low": [0.1, 0.4], "high": [0.4, 1.0]}
    )
    ax = plot_ladder(table, Figure().add_subplot())
    assert artist(ax, "implied").get_offsets().tolist() == [[0.2, 0.3]]
    (bound,) = artist(ax, "bounds").get_segments()
    assert bound.tolist() == [[0.5, 0.4], [0.5, 1.0]]
    whole = plot_ladder(table[:1], Figure().add_subplot())
    assert not [child for child in whole.get_children() if child.get_gid() == "bounds"]


def test_no_part_of_a_row_hides_a_more_important_one():
    ax = plot_accuracies(accuracies([0.01, 0.2]), Figure().add_subplot())
    (intervals,) = [child for child in ax.collections if child.get_gid() is None]
    order = [part.get_zorder() for part in (intervals, artist(ax, "chance"))]
    assert order[0] < order[1] < artist(ax, "accuracy").get_zorder()
    ends = [segment[:, 0].tolist() for segment in intervals.get_segments()]
    assert ends == [[0.2, 0.8]] * 2
    assert artist(ax, "accuracy").get_offsets()[:, 0].tolist() == [0.5] * 2
    assert ax.get_xlim() == pytest.approx((0, 1), abs=0.05)
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "0",
        "25%",
        "50%",
        "75%",
        "100%",
    ]


def test_a_table_without_questions_is_an_empty_plot():
    ax = plot_accuracies(accuracies([0.01]).assign(n=0), Figure().add_subplot())
    assert len(artist(ax, "accuracy").get_offsets()) == 0
    assert ax.get_ylim() == pytest.approx((-0.7, 0.7))


def test_a_transfer_is_read_from_trained_to_tested():
    table = pd.DataFrame([[0.9, 0.2, 0.3]], index=["coin"], columns=["card", "coin", "dice"])
    ax = plot_transfer(table, Figure().add_subplot())
    image = artist(ax, "transfer")
    np.testing.assert_allclose(image.get_array(), table.to_numpy())
    assert image.get_clim() == (0, 1.25)  # equal shares have equal colours in all figures
    assert [text.get_position() for text in ax.texts] == [(0, 0), (1, 0), (2, 0)]
    (frame,) = ax.patches  # trained and tested on coins
    assert frame.get_xy() == pytest.approx((0.52, -0.48))
    assert (frame.get_width(), frame.get_height()) == pytest.approx((0.96, 0.96))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("tested on", "trained on")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["card", "coin", "dice"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["coin"]


def test_a_ladder_is_held_against_the_diagonal():
    table = pd.DataFrame({"stated": [0.2], "implied": [0.3], "low": [0.1], "high": [0.4]})
    ax = plot_ladder(table, Figure().add_subplot())
    diagonal = artist(ax, "diagonal")
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    (interval,) = [child for child in ax.collections if child.get_gid() is None]
    assert interval.get_segments()[0].tolist() == [[0.2, 0.1], [0.2, 0.4]]
    points = artist(ax, "implied")
    assert diagonal.get_zorder() < interval.get_zorder() < points.get_zorder()
    assert ax.get_aspect() == 1
    assert ax.get_legend() is None  # nothing but switches: nothing to explain
    unbounded = plot_ladder(table.assign(implied=np.nan), Figure().add_subplot())
    texts = [text.get_text() for text in unbounded.get_legend().get_texts()]
    assert texts == ["no switch within the ladder"]
    assert len(artist(unbounded, "implied").get_offsets()) == 0
