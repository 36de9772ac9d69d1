"""Faults of a table of answers: named with their rows, and nothing taken as absent."""

import pandas as pd
import pytest

from coherence import SchemaError, score_mixing, simulate_mixing


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
    (message,) = faults(flips(model="m", count=[10_000, 1, 3, 4]))
    assert (
        "at most 10000 answers; 1 have more, the first is flip at p = 0.2 of model 'm' with 10001."
        in message
    )
    assert "give exact rates in 'probability'" in message
    most = scored(flips(count=[10_000, 0, 3, 4])).experiments
    assert most["published"].notna().any()


def test_the_largest_probability_among_three_may_be_asked():
    rows = pd.DataFrame({"experiment": "three_outcomes", "p": [0.0, 1 - 0.4], "answer": "1"})
    assert set(scored(rows).curves["p"]) == {0, 0.6}
