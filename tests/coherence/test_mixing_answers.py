"""Rules of the table of answers: what is no number, counts twice, or is too much is a fault with its rows, and never taken as absent."""

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError
from coherence.batteries.mixing.answers import count_answers
from coherence.batteries.mixing.faults import MOST_DRAWS
from coherence.batteries.mixing.noise import expected_distance
from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import simulate_mixing


def flips(**columns):
    return pd.DataFrame(
        {"experiment": "flip", "p": [0.2, 0.2, 0.8, 0.8], "answer": ["1", "0", "1", "0"]} | columns
    )


def faults(table):
    with pytest.raises(SchemaError) as caught:
        count_answers(table)
    return caught.value.faults


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        (
            {"probability": ["30%", "70%", "30%", "70%"]},
            "'probability' must lie in [0, 1]; the first other value is '30%' (row 0, 1, 2, 3). Divide",
        ),
        (
            {"probability": [0.5, "abc", 0.5, "abc"]},
            "'probability' must lie in [0, 1]; the first other value is 'abc' (row 1, 3).",
        ),
        (
            {"p": ["20%", "20%", "80%", "80%"]},
            "'p' must hold probabilities in [0, 1]; the first other value is '20%' (row 0, 1, 2, 3). Divide",
        ),
        (
            {"draw": [0, "second", 0, 1]},
            "'draw' must hold numbers, or nothing; the first other value is 'second' (row 1).",
        ),
        (
            {"draw": [0, 1, 0, np.inf]},
            "'draw' must hold numbers, or nothing; the first other value is inf (row 3).",
        ),
        (
            {"count": ["3", "many", "3", "3"]},
            "'count' must hold whole numbers of at least 0; the first other value is 'many' (row 1).",
        ),
        (
            {"count": [3, 3, np.inf, 3]},
            "'count' must hold whole numbers of at least 0; the first other value is inf (row 2).",
        ),
        (
            {"count": [3, 3, 2.5, 3]},
            "'count' must hold whole numbers of at least 0; the first other value is 2.5 (row 2).",
        ),
    ],
)
def test_what_is_no_number_is_quoted_as_it_came(columns, fault):
    (found,) = faults(flips(**columns))
    assert fault in found


def test_text_for_p_of_words_is_a_fault_and_nothing_is_one_half():
    words = pd.DataFrame(
        {
            "experiment": "words",
            "item": "cat/dog",
            "order": ["forward", "reverse"],
            "answer": "cat",
            "p": ["50%", ""],
        }
    )
    (found,) = faults(words)
    assert "the first other value is '50%' (row 0)" in found
    assert count_answers(words.assign(p=["", " "]))[""]["words"].p.tolist() == [0.5, 0.5]


def test_a_draw_counts_once():
    table = simulate_mixing("uniform", n_draws=3, rng=0)
    (found,) = faults(pd.concat([table, table[:2]]))
    assert found.startswith(
        "(model, experiment, p, item, order, draw) must be unique; 4 rows share theirs with another (row 0, 1, 294, 295)"
    )
    # The same number in another condition, order or model is another draw, and answers without a
    # number are counted as they are.
    count_answers(pd.concat([table, table.assign(model="other")]))
    assert (
        count_answers(pd.concat([table, table]).drop(columns="draw"))["uniform"][
            "flip"
        ].readable.tolist()
        == [6] * 21
    )


def test_a_rounding_error_of_p_hides_no_second_draw():
    (found,) = faults(flips(p=[0.3, 0.1 + 0.2, 0.8, 0.8], draw=[0, 0, 0, 1]))
    assert "2 rows share theirs with another (row 0, 1)" in found


def test_an_outcome_has_one_exact_rate():
    (found,) = faults(flips(answer=["1", "1.0", "1", "0"], probability=[0.25, 0.25, 0.5, 0.5]))
    assert found.startswith(
        "(model, experiment, p, item, order, answer) must be unique; 2 rows share theirs with another (row 0, 1)"
    )


def test_conditions_without_any_answer():
    (found,) = faults(flips(count=[0, 0, 3, 0]))
    assert (
        found
        == "every condition must have answers; the counts of 1 are all 0, the first is flip at p = 0.2. Leave their rows out."
    )


def test_more_answers_than_can_be_scored_exactly():
    (found,) = faults(flips(model="m", count=[MOST_DRAWS, 1, 3, 4]))
    assert (
        "at most 10000 answers; 1 have more, the first is flip at p = 0.2 of model 'm' with 10001."
        in found
    )
    assert "give exact rates in 'probability'" in found
    assert (
        score_mixing(flips(count=[MOST_DRAWS, 0, 3, 4]), n_resamples=100, rng=0)
        .experiments["published"]
        .notna()
        .any()
    )


def test_the_expected_distance_of_many_draws_is_that_of_a_normal_variable():
    """Two means of 10,000 draws: sums that never come are left out, and the rest is exact; breaks if too much is."""
    half = np.array([0.5, 0.5])
    found = expected_distance([(0.5, half, 10_000), (0.5, half, 10_000)], 0.5)
    # The mean of 20,000 fair coins; the binomial mean deviation has a series in 1/n whose first
    # term is 1 - 1 / (4 n).
    assert found == pytest.approx(
        np.sqrt(2 / np.pi) * 0.5 / np.sqrt(20_000) * (1 - 1 / 80_000), rel=1e-8
    )
