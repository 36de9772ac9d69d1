"""What is made of scores and answers: the table, the figures and the runs table."""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from coherence import SchemaError
from coherence.batteries import expected_answers, score_mixing, simulate_mixing
from coherence.batteries.mixing.shown import mixing_table, plot_rates
from coherence.report.files import render_csv
from tests.api.batteries.mixing.conftest import scored
from tests.api.tables import read_exactly


def test_every_number_of_the_table_is_that_of_the_scores():
    experiments = scored(simulate_mixing("literal", n_draws=8, rng=0)).experiments
    table = read_exactly(io.StringIO(render_csv(mixing_table(experiments))))
    for name in ("points", "published", "ceiling", "equilibrium", "corrected", "unread", "refused"):
        np.testing.assert_array_equal(table[name], experiments[name])
    np.testing.assert_array_equal(table["corrected.low"], experiments["low"])
    np.testing.assert_array_equal(table["bounds.worst"], experiments["worst"])
    assert table["experiment"].tolist() == experiments["experiment"].tolist()


def drawn(plot, table):
    ax = plot(table, Figure().add_subplot())
    return ax, {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}


def curves_of(agent, part):
    curves = scored(expected_answers(agent)).curves
    return curves[curves["part"] == part]


def test_rates_are_drawn_beside_the_diagonal_a_step_and_the_equilibrium():
    ax, artists = drawn(plot_rates, curves_of("steep", "flip").sample(frac=1, random_state=0))
    np.testing.assert_array_equal(artists["target"].get_xydata(), [[0, 0], [1, 1]])
    step = [[0, 0], [0.5, 0], [0.5, 1], [1, 1]]
    np.testing.assert_array_equal(artists["step"].get_xydata(), step)
    p = np.arange(21) / 20
    expected = p**3 / (p**3 + (1 - p) ** 3)
    np.testing.assert_allclose(artists["rate-1"].get_xydata(), np.stack([p, expected], axis=1))
    # Rates that are exact have no intervals.
    assert not [lines for lines in ax.collections if lines.get_gid() is None]
    _, artists = drawn(plot_rates, curves_of("ideal", "pennies"))
    np.testing.assert_array_equal(artists["target"].get_xydata(), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(artists["published"].get_xydata(), [[0, 0], [1, 1]])
    p = np.arange(1, 10) / 10
    np.testing.assert_allclose(artists["rate-heads"].get_xydata(), np.stack([p, 1 - p], axis=1))
    assert "step" not in artists
    ax, artists = drawn(plot_rates, curves_of("argmax", "three_outcomes"))
    p = np.arange(7) / 10
    targets = [line.get_ydata() for line in ax.lines if line.get_gid() == "target"]
    np.testing.assert_allclose(targets, [p, np.full(7, 0.4), 0.6 - p], atol=1e-12)
    # Outcome 1 is likeliest while the others are below .4, and tied where one of them has .4.
    np.testing.assert_allclose(artists["rate-1"].get_ydata(), [0, 0, 0.5, 1, 0.5, 0, 0])


# Answers: read in every spelling, counted once, and refused with their rows.


KEYS = ["model", "experiment", "p", "item", "order", "answer"]


def counted(answers):
    return answers.groupby(KEYS, as_index=False).size().rename(columns={"size": "count"})


def test_counts_single_answers_and_orders_of_rows_agree():
    answers = simulate_mixing("steep", n_draws=10, rng=0)
    single, by_count, mixed = (
        scored(table).experiments
        for table in (answers, counted(answers), answers.sample(frac=1, random_state=0))
    )
    pd.testing.assert_frame_equal(single, by_count)
    pd.testing.assert_frame_equal(single, mixed)


@pytest.mark.parametrize(
    ("experiment", "answers", "expected"),
    [
        ("flip", ["1", "1.0", "0", "0.0"], [2 / 4]),
        ("three_outcomes", ["2", "2.0", "0"], [1 / 3, 0, 2 / 3]),
        ("two_flips", ["0 1", "01", "11", "1 0"], [2 / 4, 3 / 4, 5 / 8]),
        ("reads", ["A", "b", "a"], [2 / 3]),
        ("positioning", ["Luxury", "affordable", "luxury"], [2 / 3]),
    ],
)
def test_answers_are_read_in_every_spelling_of_a_spreadsheet(experiment, answers, expected):
    asked = [
        pd.DataFrame({"experiment": experiment, "p": p, "answer": answers}) for p in (0.2, 0.4)
    ]
    curves = scored(pd.concat(asked)).curves
    assert curves.loc[curves["p"] == 0.2, "rate"].tolist() == pytest.approx(expected)


ROW = {"experiment": "flip", "p": 0.2, "item": "", "order": "", "answer": "1", "status": "ok"}
ROW |= {"count": 1.0, "probability": None}
PAIR = {"experiment": "words", "item": "man/woman", "order": "forward"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiment": "flips"}, "column 'experiment' must be one of flip, two_flips"),
        ({"p": 30}, "the first other value is 30.0 (row 0). Divide percentages by 100."),
        ({"p": None}, "column 'p' must hold probabilities in [0, 1]"),
        ({"answer": "heads"}, "'answer' must be one of the outcomes of its experiment; the first"),
        ({"answer": None}, "'answer' must be one of the outcomes"),
        ({"status": "fine"}, "column 'status' must be one of ok, "),
        ({"count": 1.5}, "column 'count' must hold whole numbers of at least 0"),
        ({"probability": 2.0}, "column 'probability' must hold probabilities in [0, 1]"),
        ({"probability": 0.5}, "must all have a 'probability', or none"),
        (PAIR | {"item": "cat"}, "must name the two words of 'words' as 'first/second'"),
        (PAIR | {"order": "up", "answer": "man"}, "column 'order' must be forward or reverse"),
        (PAIR | {"answer": "woman!"}, "must be one of the outcomes"),
        (PAIR | {"answer": "man", "p": "50%"}, "the first other value is '50%' (row 0)"),
        ({"experiment": "pennies", "p": 1.0, "answer": "heads"}, "strictly between 0 and 1"),
        ({"experiment": "three_outcomes", "p": 0.7, "answer": "2"}, "must be at most 0.6"),
        ({"count": 0, "p": 0.4}, "the counts of 1 are all 0, the first is flip at p = 0.4. Leave"),
        ({"count": 10_001, "p": 0.4}, "at most 10000 answers; 1 have more, the first is flip at p"),
    ],
)
def test_faults_of_a_table_are_named(change, message):
    with pytest.raises(SchemaError) as error:
        score_mixing(pd.DataFrame([ROW | change, ROW]))
    assert message in str(error.value)


def test_a_draw_counts_once_and_an_outcome_has_one_exact_rate():
    table = simulate_mixing("uniform", n_draws=3, rng=0)
    with pytest.raises(SchemaError, match=r"order, draw\) must be unique; 4 rows .*0, 1, 294, 295"):
        score_mixing(pd.concat([table, table[:2]]))
    # The same number in another condition, order or model is another draw, and answers without a
    # number are counted as they are.
    scored(pd.concat([table, table.assign(model="other")]))
    unnumbered = scored(pd.concat([table, table]).drop(columns="draw")).curves
    assert set(unnumbered["draws"]) == {6}
    rates = pd.DataFrame({"experiment": "flip", "p": [0.2, 0.2, 0.8], "answer": ["1", "1.0", "1"]})
    with pytest.raises(SchemaError, match=r"order, answer\) must be unique; 2 rows .*0, 1"):
        score_mixing(rates.assign(probability=[0.25, 0.25, 0.5]))
