"""Plots of revealed beliefs: what is drawn, at its number."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence import InputError
from coherence.batteries.revealed.figures import (
    plot_orders,
    plot_outcomes,
    plot_previous,
    wording_beliefs,
)


def test_beliefs_stand_in_the_order_of_the_text_and_sum_to_one(beliefs):
    rows = beliefs("s", "w", [0.1] * 11 + [0.4], [1 / 12] * 12)
    empty = beliefs("s", "empty", [0.0] * 12, [1 / 12] * 12)
    table = wording_beliefs(pd.concat([rows.iloc[::-1], empty]))
    assert list(table.columns) == [str(number) for number in range(1, 13)]
    assert table.loc["w"].tolist() == pytest.approx([0.1 / 1.5] * 11 + [0.4 / 1.5])
    assert list(table.index) == ["w"]


def test_a_pair_needs_both_orders(beliefs):
    first = beliefs("x", "w", [0.9, 0.1], [0.5, 0.5], pair="p")
    with pytest.raises(InputError, match="'p' has 1"):
        plot_orders(first, "p", Figure().add_subplot(), source="m")


def axes():
    return Figure().add_subplot()


def test_the_truth_lies_behind_bars_of_the_means_and_marks_of_the_wordings(beliefs):
    table = pd.concat(
        [
            beliefs("s", "a", [0.3, 0.1, 0.1], [0.5, 0.3, 0.2]),
            beliefs("s", "b", [0.2, 0.2, 0.0], [0.5, 0.3, 0.2]),
        ]
    )
    ax = plot_outcomes(table, "s", axes())
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([0.5, 0.3, 0.2, 0.55, 0.35, 0.1])
    assert ax.patches[0].get_zorder() < ax.patches[3].get_zorder()
    marks = [points.get_offsets().tolist() for points in ax.collections]
    expected = [[[0, 0.6], [1, 0.2], [2, 0.2]], [[0, 0.5], [1, 0.5], [2, 0.0]]]
    assert np.array(marks) == pytest.approx(np.array(expected))
    assert not ax.texts  # nothing to say of a source that was read
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["truth", "m"]
    # A single wording is its own mean, and on many bars the marks would be a blur.
    alone = plot_outcomes(beliefs("s", "a", [0.3, 0.1], [0.5, 0.5]), "s", axes())
    assert not alone.collections
    for n, n_marked in ((40, 2), (41, 0)):
        many = [beliefs("s", word, [1.0] * n, [1 / n] * n) for word in "ab"]
        assert len(plot_outcomes(pd.concat(many), "s", axes()).collections) == n_marked


def after_results(beliefs, results, **columns):
    n = len(results)
    rows = [beliefs("base", "w", [1.0] * n, [1 / n] * n)]
    for number, result in enumerate(results):
        masses = [0.1] * n
        masses[number] = 0.5
        later = beliefs(
            f"after {result}", "w", masses, [1 / n] * n, previous=result, baseline="base"
        )
        rows.append(later.assign(variant="dependent", **columns))
    return pd.concat(rows)


@pytest.mark.lengthy
def test_a_ring_marks_the_outcome_that_would_repeat_the_earlier_result(beliefs):
    table = after_results(beliefs, ["1", "2", "3"])
    ax = plot_previous(table, "base", "dependent", axes(), source="m")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([1 / 3] * 3)
    assert ax.lines[0].get_ydata() == pytest.approx([1 / 3] * 3)
    for number, line in enumerate(ax.lines[1:]):
        expected = [1 / 7] * 3
        expected[number] = 5 / 7
        assert line.get_ydata() == pytest.approx(expected)
        assert line.get_xdata().tolist() == [0, 1, 2]
    rings = [ring.get_offsets().tolist() for ring in ax.collections]
    expected = [[[number, 5 / 7]] for number in range(3)]
    assert np.array(rings) == pytest.approx(np.array(expected))
    styles = [line.get_linestyle() for line in ax.lines[1:]]
    assert len(set(styles)) == 3  # told apart without colours, too
    assert ax.get_xlabel() == "outcome less the earlier result"
    independent = table.assign(variant="independent")
    assert plot_previous(independent, "base", "independent", axes(), source="m").get_xlabel() == ""
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["no earlier result", "after 1", "after 2", "after 3", "truth"]
    outside = table.assign(previous=table["previous"].replace("2", "7"))
    assert len(plot_previous(outside, "base", "dependent", axes(), source="m").collections) == 2
    with pytest.raises(InputError, match="must hold independent settings after 'base'"):
        plot_previous(table, "base", "independent", axes(), source="m")


def test_both_orders_of_an_option_stand_on_either_side_of_it(beliefs):
    first = beliefs("x", "w", [0.9, 0.1], [0.6, 0.4], pair="p")
    second = beliefs("y", "w", [0.3, 0.7], [0.4, 0.6], pair="p").assign(outcome=["2", "1"])
    ax = plot_orders(pd.concat([first, second]), "p", axes(), source="m")
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    # Left of an option where the text names it first, right and hatched where second.
    assert [round(centre) for centre in centres] == [0, 1, 1, 0]
    assert [centre < round(centre) for centre in centres] == [True, False, True, False]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, True, False, True]
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([0.9, 0.1, 0.3, 0.7])
    marks = [points.get_offsets()[0].tolist() for points in ax.collections]
    assert np.array(marks) == pytest.approx(np.column_stack([centres, heights]))
    truths = [line.get_ydata() for line in ax.lines]
    assert np.array(truths) == pytest.approx(np.array([[0.6, 0.6], [0.4, 0.4]]))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(texts) == ["named first", "named second", "truth"]
