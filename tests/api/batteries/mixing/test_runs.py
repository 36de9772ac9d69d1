"""The runs table of the draws."""

import pandas as pd
import pytest

from coherence import expected_answers, monotone_choice_test, simulate_mixing, validate_runs
from coherence.batteries.mixing.answers import mixing_runs


def test_the_runs_table_carries_the_direction_and_no_empty_column():
    answers = simulate_mixing("steep", n_draws=20, rng=0)
    answers.loc[0, ["answer", "status"]] = [None, "refused"]
    runs = mixing_runs(answers)
    validate_runs(runs)
    assert list(runs.columns) == ["task", "model", "context", "rep", "p", "action", "status"]
    assert not runs.isna().all().any()
    assert len(runs) == 20 * (21 + 27)
    assert runs["action"].isna().sum() == 1
    games = runs[runs["context"] == "pennies p=0.1"]
    assert games["p"].unique().tolist() == [0.9]
    flips = runs[(runs["task"] == "mixing:flip") & runs["action"].notna()]
    assert (
        monotone_choice_test(
            flips["p"], flips["action"], pair=("1", "0"), context=flips["context"], rng=0
        ).pvalue
        > 0.2
    )
    assert len(mixing_runs(expected_answers("ideal"))) == 0
    # Without one parsed answer there would be no action in the table, and nothing to check.
    assert len(mixing_runs(answers.assign(answer=None, status="refused"))) == 0


def test_rows_of_several_answers_are_as_many_draws():
    keys = ["model", "experiment", "p", "item", "order", "answer"]
    answers = simulate_mixing("steep", n_draws=6, rng=0)
    counted = answers.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
    single, several = mixing_runs(answers), mixing_runs(counted)
    columns = ["task", "context", "action"]
    pd.testing.assert_series_equal(single.groupby(columns).size(), several.groupby(columns).size())
    for runs in (single, several):
        assert runs.index.tolist() == list(range(len(runs)))
        reps = runs.groupby("context")["rep"].apply(list)
        assert set(map(tuple, reps)) == {tuple(range(6))}
    # The labels of rows do not matter, nor whether rows of other parts stand between them.
    shuffled = mixing_runs(answers.set_index(answers.index[::-1]))
    pd.testing.assert_frame_equal(shuffled, single)


def test_actions_are_spelt_as_their_outcomes_and_p_is_the_best_rate():
    table = pd.DataFrame(
        [
            ("flip", 0.3, "1.0", "ok"),
            ("flip", 0.1 + 0.2, " 0", "ok"),
            ("pennies", 0.3, "HEADS", "ok"),
            ("positioning", 0.4, "Affordable", "ok"),
            ("reads", 0.2, "a", "ok"),
            ("reads", 0.2, "a", "refused"),
            ("two_flips", 0.2, "0 1", "ok"),
        ],
        columns=["experiment", "p", "answer", "status"],
    )
    runs = mixing_runs(table)
    assert runs["action"].tolist()[:5] == ["1", "0", "heads", "affordable", "A"]
    assert runs["action"].isna().tolist() == [False] * 5 + [True]
    assert runs["p"].tolist() == pytest.approx([0.3, 0.3, 0.7, 0.6, 0.2, 0.2])
    assert runs["context"].tolist()[:3] == ["flip p=0.3", "flip p=0.3", "pennies p=0.3"]
    assert runs["rep"].tolist() == [0, 1, 0, 0, 0, 1]
    assert set(runs["model"]) == {""}
    assert runs["status"].tolist() == ["ok"] * 5 + ["refused"]
    unsaid = mixing_runs(table.assign(answer=[None, *table["answer"][1:]]).drop(columns="status"))
    assert unsaid["status"].tolist() == ["unparsed"] + ["ok"] * 5


def test_exact_rates_are_no_draws():
    exact = expected_answers("ideal")
    drawn = simulate_mixing("ideal", n_draws=2, rng=0)
    both = pd.concat([drawn, exact.assign(model="exact")], ignore_index=True).assign(count=1)
    pd.testing.assert_frame_equal(mixing_runs(both), mixing_runs(drawn))
