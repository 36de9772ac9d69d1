"""Faults of a table of answers: named with their rows, and nothing taken as absent."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, SchemaError, read_mixing_answers, score_mixing, simulate_mixing
from coherence.batteries.mixing.answers import MOST_DRAWS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiment": "flips"}, "column 'experiment' must be one of flip, two_flips"),
        ({"p": 30}, "the first other value is 30.0 (row 0). Divide percentages by 100."),
        ({"p": None}, "column 'p' must hold probabilities in [0, 1]"),
        (
            {"answer": "heads"},
            "'answer' must be one of the outcomes of its experiment; "
            "the first other value is 'heads' (row 0)",
        ),
        ({"answer": None}, "'answer' must be one of the outcomes"),
        ({"status": "fine"}, "column 'status' must be one of ok, "),
        ({"count": 1.5}, "column 'count' must hold whole numbers of at least 0"),
        ({"probability": 2.0}, "column 'probability' must hold probabilities in [0, 1]"),
        ({"probability": 0.5}, "must all have a 'probability', or none"),
        (
            {"experiment": "words", "item": "cat", "order": "forward"},
            "must name the two words of 'words' as 'first/second'",
        ),
        (
            {"experiment": "words", "item": "cat/dog", "order": "up", "answer": "cat"},
            "column 'order' must be forward or reverse",
        ),
        (
            {"experiment": "words", "item": "man/woman", "order": "forward", "answer": "woman!"},
            "must be one of the outcomes",
        ),
        (
            {"experiment": "pennies", "p": 1.0, "answer": "heads"},
            "the parameter of a game must lie strictly between 0 and 1",
        ),
        (
            {"experiment": "three_outcomes", "p": 0.7, "answer": "2"},
            "the probability of outcome 0 among three must be at most 0.6",
        ),
    ],
)
def test_faults_of_a_table_are_named(change, message):
    rows = {
        "experiment": "flip",
        "p": 0.2,
        "item": "",
        "order": "",
        "answer": "1",
        "status": "ok",
        "count": 1.0,
        "probability": None,
    }
    table = pd.DataFrame([rows | change, rows])
    with pytest.raises(SchemaError) as error:
        score_mixing(table)
    assert message in str(error.value)


def test_other_faults():
    with pytest.raises(
        SchemaError, match="column 'answer' is missing. Closest name found: 'answers'"
    ):
        score_mixing(pd.DataFrame({"experiment": ["flip"], "answers": ["1"]}))
    with pytest.raises(SchemaError, match="it has no rows"):
        score_mixing(pd.DataFrame({"experiment": [], "answer": []}))
    with pytest.raises(InputError, match="one flip need answers at two values of p"):
        score_mixing(pd.DataFrame({"experiment": ["flip"], "p": [0.5], "answer": ["1"]}))
    with pytest.raises(
        InputError,
        match="pairs of words must be asked in both orders; 1 are not, the first is 'cat/dog'",
    ):
        score_mixing(
            pd.DataFrame(
                {
                    "experiment": ["words"],
                    "item": ["cat/dog"],
                    "order": ["forward"],
                    "answer": ["dog"],
                }
            )
        )
    with pytest.raises(SchemaError, match="must sum to at most 1"):
        score_mixing(
            pd.DataFrame({"experiment": "flip", "p": 0.5, "answer": ["0", "1"], "probability": 0.7})
        )
    with pytest.raises(InputError, match="Closest name found: 'argmax'"):
        simulate_mixing("argmin")
    with pytest.raises(InputError, match="no such file"):
        read_mixing_answers("nowhere.csv")


def flips(**columns):
    return pd.DataFrame(
        {"experiment": "flip", "p": [0.2, 0.2, 0.8, 0.8], "answer": ["1", "0", "1", "0"]} | columns
    )


def faults(table):
    with pytest.raises(SchemaError) as caught:
        score_mixing(table)
    return caught.value.errors


def scored(table):
    return score_mixing(table, n_resamples=100, rng=0)


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        (
            {"p": ["20%", "20%", "80%", "80%"]},
            "'p' must hold probabilities in [0, 1]; the first other value is '20%' (row 0, 1, "
            "2, 3). Divide",
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
            "'count' must hold whole numbers of at least 0; the first other value is 'many' "
            "(row 1).",
        ),
        (
            {"count": [3, 3, np.inf, 3]},
            "'count' must hold whole numbers of at least 0; the first other value is inf (row 2).",
        ),
    ],
)
def test_what_is_no_number_is_quoted_as_it_came(columns, fault):
    (message,) = faults(flips(**columns))
    assert fault in message


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
    (message,) = faults(words)
    assert "the first other value is '50%' (row 0)" in message
    assert scored(words.assign(p=["", " "])).curves["p"].tolist() == [0.5, 0.5]


def test_a_draw_counts_once():
    table = simulate_mixing("uniform", n_draws=3, rng=0)
    (message,) = faults(pd.concat([table, table[:2]]))
    assert message.startswith(
        "(model, experiment, p, item, order, draw) must be unique; "
        "4 rows share theirs with another (row 0, 1, 294, 295)"
    )
    # The same number in another condition, order or model is another draw, and answers without a
    # number are counted as they are.
    scored(pd.concat([table, table.assign(model="other")]))
    unnumbered = scored(pd.concat([table, table]).drop(columns="draw")).curves
    assert set(unnumbered["draws"]) == {6}


def test_a_rounding_error_of_p_hides_no_second_draw():
    (message,) = faults(flips(p=[0.3, 0.1 + 0.2, 0.8, 0.8], draw=[0, 0, 0, 1]))
    assert "2 rows share theirs with another (row 0, 1)" in message


def test_an_outcome_has_one_exact_rate():
    (message,) = faults(flips(answer=["1", "1.0", "1", "0"], probability=[0.25, 0.25, 0.5, 0.5]))
    assert message.startswith(
        "(model, experiment, p, item, order, answer) must be unique; "
        "2 rows share theirs with another (row 0, 1)"
    )


def test_conditions_without_any_answer():
    (message,) = faults(flips(count=[0, 0, 3, 0]))
    assert (
        message == "every condition must have answers; the counts of 1 are all 0, "
        "the first is flip at p = 0.2. Leave their rows out."
    )


def test_more_answers_than_can_be_scored_exactly():
    (message,) = faults(flips(model="m", count=[MOST_DRAWS, 1, 3, 4]))
    assert (
        "at most 10000 answers; 1 have more, the first is flip at p = 0.2 of model 'm' with 10001."
        in message
    )
    assert "give exact rates in 'probability'" in message
    most = scored(flips(count=[MOST_DRAWS, 0, 3, 4])).experiments
    assert most["published"].notna().any()


def test_rates_may_miss_one_by_a_rounding_error():
    rates = {"answer": ["1", "0", "1", "0"]}
    for probability in ([1.0, 0.0, 0.5, 0.5], [1 + 1e-7, 0, 0.5 + 2e-7, 0.5 + 2e-7]):
        curves = scored(flips(**rates, probability=probability)).curves
        assert curves["rate"].tolist() == pytest.approx([1, probability[2]])
    (message,) = faults(flips(**rates, probability=[1.0001, 0, 0.5, 0.5]))
    assert (
        "'probability' must hold probabilities in [0, 1]; the first other value is 1.0001 (row 0)"
        in message
    )
    assert "percentages" not in message
    (message,) = faults(flips(**rates, probability=[-0.1, 0.5, 0.5, 0.5]))
    assert "the first other value is -0.1 (row 0)" in message
    (message,) = faults(flips(**rates, probability=[0.6, 0.5, 0.5, 0.5]))
    assert "those of flip at p = 0.2 sum to 1.1" in message


def test_percentages_are_told_by_a_sign_or_by_a_p_above_one():
    remedy = "Divide percentages by 100"
    assert remedy in faults(flips(p=[20, 20, 80, 80]))[0]
    assert remedy in faults(flips(p=["0.2", "0.2", "80%", "80%"]))[0]
    assert remedy not in faults(flips(p=[-0.2, -0.2, 1.0, 0.8]))[0]
    assert remedy not in faults(flips(p=["low", "low", "0.8", "0.8"]))[0]


def test_the_largest_probability_among_three_may_be_asked():
    rows = pd.DataFrame({"experiment": "three_outcomes", "p": [0.0, 1 - 0.4], "answer": "1"})
    assert set(scored(rows).curves["p"]) == {0, 0.6}


def test_many_rows_are_named_by_the_first_five():
    table = pd.DataFrame({"experiment": "flip", "p": [0.5] * 5 + [1.5] * 7, "answer": "1"})
    (message,) = faults(table)
    assert "(row 5, 6, 7, 8, 9 and 2 more)" in message
    (message,) = faults(table.head(10))
    assert "(row 5, 6, 7, 8, 9)" in message


def test_a_condition_without_answers_is_named_by_its_pair():
    words = {"experiment": "words", "item": "cat/dog", "order": ["forward", "reverse"]}
    table = pd.DataFrame(words | {"answer": "cat", "count": [2, 0]})
    (message,) = faults(table)
    assert "the first is words 'cat/dog' reverse." in message
    (message,) = faults(table.assign(model="m"))
    assert "the first is words 'cat/dog' reverse of model 'm'." in message
