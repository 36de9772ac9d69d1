"""Answers: read in every spelling, counted once, joined from files, and refused with their rows."""

import pandas as pd
import pytest

from coherence import InputError, SchemaError
from coherence.batteries import expected_answers, read_mixing_answers, score_mixing, simulate_mixing
from tests.api.batteries.mixing.conftest import scored

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


def test_words_are_counted_by_their_place_in_the_pair():
    table = pd.DataFrame(
        {"experiment": "words", "item": "cat/Dog"}
        | {"order": ["forward"] * 3 + ["reverse"] * 2}
        | {"answer": ["cat", "DOG", " dog ", "cat", "Cat"]}
    )
    curves = scored(table).curves.set_index("order")
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
    curves = scored(pd.concat(asked)).curves
    assert curves.loc[curves["p"] == 0.2, "rate"].tolist() == pytest.approx(expected)


def test_numbers_may_come_as_text_and_p_with_a_rounding_error():
    rows = [("0.3", "1", "2"), (0.1 + 0.2, "0", "1"), ("0.5", "1", "1")]
    table = pd.DataFrame(rows, columns=["p", "answer", "count"]).assign(experiment="flip")
    curves = scored(table).curves
    assert curves["p"].tolist() == [0.3, 0.5]
    assert curves["rate"].tolist() == pytest.approx([2 / 3, 1])
    rows = pd.DataFrame({"experiment": "three_outcomes", "p": [0.0, 1 - 0.4], "answer": "1"})
    assert set(scored(rows).curves["p"]) == {0, 0.6}
    words = pd.DataFrame({"experiment": "words", "item": "cat/dog", "answer": "cat"}, index=[0, 1])
    words = words.assign(order=["forward", "reverse"], p=["", " "])
    assert scored(words).curves["p"].tolist() == [0.5, 0.5]


@pytest.mark.lengthy
def test_several_files_are_joined(tmp_path):
    """Scores are those of each file alone; a file that names no model goes by its own name, with
    the folders that tell it from others.
    """
    first, second = (simulate_mixing(name, n_draws=4, rng=0) for name in ("steep", "first"))
    first.to_parquet(tmp_path / "first.parquet")
    paths = [tmp_path / "first.parquet"]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "run 1.csv")
        counted(second).drop(columns="model").to_csv(paths[-1], index=False)
    scores = scored(read_mixing_answers(*paths))
    assert scores.experiments["model"].unique().tolist() == ["steep", "a/run 1", "b/run 1"]
    for model, alone in (("steep", first), ("a/run 1", second)):
        golden = scored(alone).experiments
        joined = scores.experiments[scores.experiments["model"] == model]
        assert joined["published"].tolist() == pytest.approx(golden["published"].tolist())
        assert joined["answers"].tolist() == golden["answers"].tolist()
    # Counts of one model do not cost the others their test of neighbouring draws.
    assert len(scores.dependence.set_index("model").loc["steep", "test"]) == 2
    # One model in two files: other experiments, or other draws.
    flip, early = first["experiment"] == "flip", first["draw"] < 2
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for path, part in zip(paths, [flip, ~flip & early, ~flip & ~early], strict=True):
        first[part].to_parquet(path)
    whole = scored(read_mixing_answers(*paths)).experiments
    pd.testing.assert_frame_equal(whole, scored(first).experiments)


def test_answers_that_would_count_twice_are_refused(tmp_path):
    answers = simulate_mixing("steep", n_draws=3, rng=0)
    answers.to_parquet(tmp_path / "one.parquet")
    answers[answers["draw"] > 1].to_csv(tmp_path / "two.csv", index=False)
    answers.drop(columns="draw").to_csv(tmp_path / "three.csv", index=False)
    expected_answers("steep").to_parquet(tmp_path / "four.parquet")
    for other, said in (
        ("two.csv", r"two\.csv hold answers .*, 196 of them .* first: flip at p = 0 of .*'steep'"),
        ("three.csv", "number the draws anew"),
        ("four.parquet", "rename the model"),
        ("./one.parquet", "one.parquet is named twice"),
    ):
        with pytest.raises(InputError, match=said):
            read_mixing_answers(tmp_path / "one.parquet", f"{tmp_path}/{other}")


def test_statuses_and_models_of_joined_files_stay_what_they_are(tmp_path):
    """A refusal that came with words stays one, and only what has no status gets it from its
    answer.
    """
    table = pd.DataFrame({"experiment": "flip", "p": [0.2, 0.8], "answer": ["1", "1"]})
    table.assign(status=["refused", "ok"]).to_csv(tmp_path / "a.csv", index=False)
    table.assign(answer=["1", None], model=["gpt", None]).to_csv(tmp_path / "b.csv", index=False)
    joined = read_mixing_answers(tmp_path / "a.csv", tmp_path / "b.csv")
    assert joined["status"].tolist() == ["refused", "ok", "ok", "unparsed"]
    assert joined["model"].tolist() == ["a", "a", "gpt", "b"]
    assert joined["count"].tolist() == [1, 1, 1, 1]
    assert joined.index.tolist() == [0, 1, 2, 3]


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
