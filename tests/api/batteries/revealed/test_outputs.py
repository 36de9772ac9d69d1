"""What is made of beliefs: tables equal what pandas makes of the scores, figures show them."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence import InputError
from coherence.batteries import score_beliefs, summarise_scores
from coherence.batteries.revealed.scores import score_stated
from coherence.batteries.revealed.shown import (
    plot_orders,
    plot_outcomes,
    revealed_tables,
    wording_beliefs,
    write_figures,
)
from coherence.report.files import render_csv
from tests.api.batteries.revealed.conftest import beliefs, stated
from tests.api.tables import read_exactly


def axes():
    return Figure().add_subplot()


SOURCES = ("base", "in_struct|")


@pytest.fixture(scope="module")
def asked():
    rng = np.random.default_rng(0)
    tables = [
        beliefs(
            f"s{n}-{k}", wording, rng.random(n + 2), 1 / (n + 2), group=f"group {n}", source=source
        )
        for n in range(3)
        for k in range(2)
        for wording in ("standard", "story")
        for source in SOURCES
    ]
    table = pd.concat(tables, ignore_index=True)
    unread = (table["group"] == "group 2") & (table["source"] == "base")
    return table.assign(mass=table["mass"].mask(unread))


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(1)
    tables = [
        stated(f"s{n}-{k}", [0] * 4, group=f"group {n}", source=SOURCES[1])
        for n in range(2)
        for k in range(2)
    ]
    return pd.concat(tables, ignore_index=True).assign(mass=rng.random(64))


@pytest.fixture(scope="module")
def tables(asked, answers):
    summary = summarise_scores(score_beliefs(asked))
    return revealed_tables(summary, score_stated(answers))


def csv_of(table):
    return read_exactly(io.StringIO(render_csv(table)))


def test_distances_are_means_over_settings_then_wordings(tables, asked, answers):
    table = csv_of(tables[0]).set_index("group")
    scores = score_beliefs(asked)
    for metric in ("chebyshev", "l1", "symmetric_kl"):
        means = scores.groupby(["source", "group", "wording"])[metric].mean().dropna()
        for source in SOURCES:
            by_group = means[source].groupby("group")
            shown = table[f"{metric}.{source}"].dropna()
            pd.testing.assert_series_equal(shown, by_group.mean(), check_names=False)
            shown = table[f"{metric}.{source}.sd"].dropna()
            pd.testing.assert_series_equal(shown, by_group.std(), check_names=False)
    errors = score_stated(answers).groupby("group")["stated_error"].mean()
    shown = table[f"stated.{SOURCES[1]}"].dropna()
    pd.testing.assert_series_equal(shown, errors, check_names=False)


def test_figures_are_written(tmp_path):
    later = beliefs("later", "a", [0.2, 0.8], 0.5, previous="1", baseline="dice/single/$a$")
    single = [beliefs("dice/single/$a$", *of, 0.5) for of in (("a", [0.9, 0.1]), ("b", [0.7, 0.3]))]
    table = pd.concat([*single, later.assign(variant="independent")])
    written = write_figures(table, tmp_path)
    assert [path.name for path in written] == ["outcomes.png", "previous.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
    with pytest.raises(InputError, match="must be one of the table"):
        plot_outcomes(table, "elsewhere", axes())
    first = beliefs("x", "w", [0.9, 0.1], [0.5, 0.5], pair="p")
    with pytest.raises(InputError, match="'p' has 1"):
        plot_orders(first, "p", axes(), source="m")


def test_beliefs_stand_in_the_order_of_the_text_and_sum_to_one():
    rows = beliefs("s", "w", [0.1] * 11 + [0.4], [1 / 12] * 12)
    empty = beliefs("s", "empty", [0.0] * 12, [1 / 12] * 12)
    table = wording_beliefs(pd.concat([rows.iloc[::-1], empty]))
    assert list(table.columns) == [str(number) for number in range(1, 13)]
    assert table.loc["w"].tolist() == pytest.approx([0.1 / 1.5] * 11 + [0.4 / 1.5])
    assert list(table.index) == ["w"]


def test_the_truth_lies_behind_bars_of_the_means_and_marks_of_the_wordings():
    truth = [0.5, 0.3, 0.2]
    first = beliefs("s", "a", [0.3, 0.1, 0.1], truth)
    table = pd.concat([first, beliefs("s", "b", [0.2, 0.2, 0.0], truth)])
    ax = plot_outcomes(table, "s", axes())
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([0.5, 0.3, 0.2, 0.55, 0.35, 0.1])
    assert ax.patches[0].get_zorder() < ax.patches[3].get_zorder()
    marks = [points.get_offsets().tolist() for points in ax.collections]
    expected = [[[0, 0.6], [1, 0.2], [2, 0.2]], [[0, 0.5], [1, 0.5], [2, 0.0]]]
    assert np.array(marks) == pytest.approx(np.array(expected))


def test_both_orders_of_an_option_stand_on_either_side_of_it():
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
