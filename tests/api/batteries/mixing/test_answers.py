"""Counting answers: one by one, by count, and in any order."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, score_mixing, simulate_mixing
from coherence.batteries.mixing.answers import check_answers, count_checked


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


def counts_of(rows, **columns):
    names = ["experiment", "p", "answer", "status", "count"]
    (parts,) = count_checked(
        check_answers(pd.DataFrame(rows, columns=names).assign(**columns))
    ).values()
    (counts,) = parts.values()
    return counts


def test_rates_are_shares_of_what_could_be_read():
    counts = counts_of(
        [
            ("flip", 0.75, None, "unparsed", 5),
            ("flip", 0.25, "1", "ok", 1),
            ("flip", 0.25, "0", "ok", 3),
            ("flip", 0.25, None, "refused", 4),
            ("flip", 0.25, None, "sum_not_one", 2),
        ]
    )
    assert counts.p.tolist() == [0.25, 0.75]
    assert counts.weights.tolist() == [[1, 3], [0, 0]]
    assert counts.parsed.tolist() == counts.draws.tolist() == [4, 0]
    np.testing.assert_array_equal(counts.shares, [[0.25, 0.75], [math.nan, math.nan]])
    assert counts.unparsed.tolist() == [0.6, 1]
    assert counts.refused.tolist() == [0.4, 0]
    assert not counts.exact


def test_what_exact_rates_lack_to_one_could_not_be_read():
    table = pd.DataFrame(
        {"experiment": "flip", "p": [0.5, 0.5, 0.75], "answer": ["1", "0", "1"]}
        | {"probability": [0.5, 0.25, 1.0]}
    )
    counts = count_checked(check_answers(table))[""]["flip"]
    assert counts.exact
    assert counts.draws.tolist() == [math.inf, math.inf]
    assert counts.parsed.tolist() == [0.75, 1]
    np.testing.assert_allclose(counts.shares, [[2 / 3, 1 / 3], [1, 0]])
    assert counts.unparsed.tolist() == [0.25, 0]
    assert counts.failures["unparsed"].tolist() == [0.25, 0]
    assert not counts.refused.any()


def test_words_are_counted_by_their_place_in_the_pair():
    table = pd.DataFrame(
        {"experiment": "words", "item": "cat/Dog"}
        | {"order": ["forward"] * 3 + ["reverse"] * 2}
        | {"answer": ["cat", "DOG", " dog ", "cat", "Cat"]}
    )
    counts = count_checked(check_answers(table))[""]["words"]
    assert counts.conditions["order"].tolist() == ["forward", "reverse"]
    assert counts.weights.tolist() == [[1, 2], [2, 0]]
    assert counts.p.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("experiment", "answers", "expected"),
    [
        ("flip", ["1", "1.0", "0", "0.0"], [2, 2]),
        ("three_outcomes", ["2", "2.0", "0"], [1, 0, 2]),
        ("two_flips", ["0 1", "01", "11", "1 0"], [0, 2, 1, 1]),
        ("reads", ["A", "b", "a"], [2, 1]),
        ("positioning", ["Luxury", "affordable", "luxury"], [2, 1]),
    ],
)
def test_answers_are_read_in_every_spelling_of_a_spreadsheet(experiment, answers, expected):
    table = pd.DataFrame({"experiment": experiment, "p": 0.5, "answer": answers})
    assert count_checked(check_answers(table))[""][experiment].weights.tolist() == [expected]


def test_what_is_no_number_is_a_fault_and_not_an_error_of_another_library():
    rows = [("flip", "a half", "1", "ok", "1")]
    with pytest.raises(SchemaError, match="'p' must hold probabilities.*'a half'"):
        counts_of(rows)
    # Numbers may come as text, and p with a rounding error.
    counts = counts_of([("flip", "0.3", "1", "ok", "2"), ("flip", 0.1 + 0.2, "0", "ok", "1")])
    assert counts.weights.tolist() == [[2, 1]]


def test_an_answer_without_a_status_is_ok_and_none_is_unparsed():
    table = pd.DataFrame({"experiment": "flip", "p": 0.5, "answer": ["1", None, "0"]})
    counts = count_checked(check_answers(table))[""]["flip"]
    assert counts.weights.tolist() == [[1, 1]]
    assert counts.failures["unparsed"].tolist() == [1]
