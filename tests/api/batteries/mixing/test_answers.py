"""Counting answers: one by one, by count, and in any order."""

import pandas as pd
import pytest

from coherence import score_mixing, simulate_mixing


def curves_of(table):
    return score_mixing(table, n_resamples=100, rng=0).curves


def test_counts_single_answers_and_orders_of_rows_agree():
    answers = simulate_mixing("steep", n_draws=10, rng=0)
    keys = ["model", "experiment", "p", "item", "order", "answer"]
    counted = answers.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
    single, by_count, mixed = (
        score_mixing(table, n_resamples=100, rng=0).experiments
        for table in (answers, counted, answers.sample(frac=1, random_state=0))
    )
    pd.testing.assert_frame_equal(single, by_count)
    pd.testing.assert_frame_equal(single, mixed)


def test_words_are_counted_by_their_place_in_the_pair():
    table = pd.DataFrame(
        {"experiment": "words", "item": "cat/Dog"}
        | {"order": ["forward"] * 3 + ["reverse"] * 2}
        | {"answer": ["cat", "DOG", " dog ", "cat", "Cat"]}
    )
    curves = curves_of(table).set_index("order")
    assert curves["rate"].to_dict() == {"forward": pytest.approx(1 / 3), "reverse": 1}
    assert curves["draws"].to_dict() == {"forward": 3, "reverse": 2}
    assert curves["p"].tolist() == [0.5, 0.5]


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
    curves = curves_of(pd.concat(asked))
    assert curves.loc[curves["p"] == 0.2, "rate"].tolist() == pytest.approx(expected)


def test_numbers_may_come_as_text_and_p_with_a_rounding_error():
    rows = [("0.3", "1", "2"), (0.1 + 0.2, "0", "1"), ("0.5", "1", "1")]
    table = pd.DataFrame(rows, columns=["p", "answer", "count"]).assign(experiment="flip")
    curves = curves_of(table)
    assert curves["p"].tolist() == [0.3, 0.5]
    assert curves["rate"].tolist() == pytest.approx([2 / 3, 1])
