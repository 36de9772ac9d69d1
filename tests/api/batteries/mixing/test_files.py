"""Files of answers: joined, named apart, and none counted twice."""

import pandas as pd
import pytest

from coherence import (
    InputError,
    SchemaError,
    expected_answers,
    read_mixing_answers,
    score_mixing,
    simulate_mixing,
)


@pytest.mark.lengthy
def test_several_files_are_joined(tmp_path):
    """Scores are those of each file alone; a file that names no model goes by its own name, with
    the folders that tell it from others.
    """
    first, second = (
        simulate_mixing("steep", n_draws=4, rng=0),
        simulate_mixing("first", n_draws=4, rng=0),
    )
    first.to_parquet(tmp_path / "first.parquet")
    counted = (
        second.groupby(["experiment", "p", "item", "order", "answer"], as_index=False)
        .size()
        .rename(columns={"size": "count"})
    )
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        counted.to_csv(tmp_path / folder / "run 1.csv", index=False)
    joined = read_mixing_answers(
        tmp_path / "first.parquet", tmp_path / "a" / "run 1.csv", tmp_path / "b" / "run 1.csv"
    )
    scores = score_mixing(joined, n_resamples=100, rng=0)
    assert scores.leaderboard()["model"].tolist() == ["steep", "a/run 1", "b/run 1"]
    for model, alone in (("steep", first), ("a/run 1", second)):
        golden = score_mixing(alone, n_resamples=100, rng=0).experiments
        joined = scores.experiments[scores.experiments["model"] == model]
        assert joined["published"].tolist() == pytest.approx(golden["published"].tolist())
        assert joined["answers"].tolist() == golden["answers"].tolist()
    # Counts of one model do not cost the others their test of neighbouring draws.
    assert scores.dependence.set_index("model").loc["steep", "test"].tolist() == [
        "second flip given the first",
        "flip given the draw before",
    ]
    # One model in two files: other experiments, or other draws.
    flip, early = first["experiment"] == "flip", first["draw"] < 2
    parts = [flip, ~flip & early, ~flip & ~early]
    for number, part in enumerate(parts):
        first[part].to_parquet(tmp_path / f"{number}.parquet")
    whole = score_mixing(
        read_mixing_answers(*(tmp_path / f"{number}.parquet" for number in range(3))),
        n_resamples=100,
        rng=0,
    )
    pd.testing.assert_frame_equal(
        whole.experiments, score_mixing(first, n_resamples=100, rng=0).experiments
    )


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
    ):
        with pytest.raises(InputError, match=said):
            read_mixing_answers(tmp_path / "one.parquet", tmp_path / other)
    with pytest.raises(InputError, match="one.parquet is named twice"):
        read_mixing_answers(tmp_path / "one.parquet", tmp_path / "." / "one.parquet")
    pd.DataFrame({"answer": ["1"]}).to_csv(tmp_path / "five.csv", index=False)
    with pytest.raises(SchemaError, match="column 'experiment' must be one of"):
        score_mixing(read_mixing_answers(tmp_path / "one.parquet", tmp_path / "five.csv"))


@pytest.mark.lengthy
def test_answers_survive_a_file(tmp_path, measure):
    """A CSV must not turn "0 1" into a number, nor the answer 0 into a float."""
    answers = simulate_mixing("steep", n_draws=4, rng=0)
    answers.loc[5, ["answer", "status"]] = [None, "refused"]
    answers.to_csv(tmp_path / "answers.csv", index=False)
    answers.to_parquet(tmp_path / "answers.parquet")
    scores = [
        score_mixing(read_mixing_answers(tmp_path / f"answers.{ending}"), n_resamples=100, rng=0)
        for ending in ("csv", "parquet")
    ]
    pd.testing.assert_frame_equal(scores[0].experiments, scores[1].experiments)
    assert scores[0].experiments["published"].notna().all()
    numbers = pd.DataFrame({"experiment": "flip", "p": [0.0, 1.0], "answer": [0.0, 1.0]})
    assert measure(numbers, "S") == 0


def test_statuses_of_joined_files_stay_what_they_are(tmp_path):
    """A refusal that came with words stays one, and only what has no status gets it from its
    answer.
    """
    table = pd.DataFrame({"experiment": "flip", "p": [0.2, 0.8], "answer": ["1", "1"]})
    table.assign(status=["refused", "ok"]).to_csv(tmp_path / "a.csv", index=False)
    table.assign(answer=["1", None]).to_csv(tmp_path / "b.csv", index=False)
    joined = read_mixing_answers(tmp_path / "a.csv", tmp_path / "b.csv")
    assert joined["status"].tolist() == ["refused", "ok", "ok", "unparsed"]
    assert joined["model"].tolist() == ["a", "a", "b", "b"]
    assert joined["count"].tolist() == [1, 1, 1, 1]
    assert set(joined["item"]) == set(joined["order"]) == {""}
    assert joined.index.tolist() == [0, 1, 2, 3]


def test_models_that_some_rows_name_keep_their_names(tmp_path):
    rows = {"experiment": "flip", "p": [0.2, 0.8], "answer": "1", "draw": [0, 1]}
    pd.DataFrame(rows | {"model": ["gpt", None]}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(rows | {"model": "gpt"}).assign(draw=[1, 2]).to_csv(
        tmp_path / "b.csv", index=False
    )
    joined = read_mixing_answers(tmp_path / "a.csv", tmp_path / "b.csv")
    assert joined["model"].tolist() == ["gpt", "a", "gpt", "gpt"]
