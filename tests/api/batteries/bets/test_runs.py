"""Runs tables of bets: valid, and each column what it says."""

import numpy as np
import pandas as pd

from coherence.batteries.bets.answers import join_answers
from coherence.batteries.bets.scores import belief_runs, ladder_runs
from coherence.runs.read import validate_runs
from tests.api.batteries.bets.conftest import simulate_answers


def test_runs_of_value_beliefs_are_valid_and_mean_what_they_say(questions):
    answers = simulate_answers("maximiser", questions, sharpness=1e4, rng=0)
    runs = belief_runs(join_answers(questions, answers))
    validate_runs(runs)
    assert len(runs) == 20
    # It knows the values, so its belief that the thing to be won is worth more is the truth, and it
    # bets on that.
    assert (runs["p"].round(6) == runs["theta"]).all()
    assert (runs["action"] == np.where(runs["theta"] == 1, "win", "none")).all()
    assert runs.groupby("context")["rep"].apply(sorted).map(tuple).unique().tolist() == [(0, 1)]


def test_half_of_the_same_counts_as_belief(questions):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]

    def stated(rows, *chances):
        columns = {
            f"{kind}_{a}": p
            for kind in ("prob", "score")
            for a, p in zip("abc", chances, strict=True)
        }
        return pd.DataFrame({"question": rows["question"]} | columns)

    same, chosen = stated(values, 0.5, 0.1, 0.4), stated(bets, 0.2, 0.2, 0.6)
    runs = belief_runs(join_answers(questions, pd.concat([same, chosen])))
    assert sorted(runs["p"].round(9).unique()) == [0.3, 0.7]
    assert set(runs["action"]) == {"none"}


def test_a_ladder_tells_the_odds_of_its_contexts(questions):
    steps = questions[questions["kind"] == "ladder"]
    groups = join_answers(steps, simulate_answers("maximiser", steps, sharpness=1e6, rng=0))
    runs = ladder_runs(groups, rng=0)
    assert set(runs["task"]) == {"ladder:coin"}
    assert runs["p"].tolist() == steps["chance"].tolist()
    np.testing.assert_allclose(runs["break_even"], steps["break_even"])
    taken = np.where(steps["chance"] > steps["break_even"], "win", "pass")
    assert runs["action"].tolist() == taken.tolist()
    row = steps.iloc[0]
    assert runs["context"].iloc[0] == f"{row['high']} | {row['low']} | p {row['chance']:g}"
    np.testing.assert_allclose(runs["loss"] / (runs["gain"] + runs["loss"]), steps["break_even"])
    assert runs.groupby("context")["theta"].nunique().eq(1).all()
    # Equal seeds toss equal coins.
    pd.testing.assert_frame_equal(runs, ladder_runs(groups, rng=0))
    lost = simulate_answers("maximiser", steps, rng=0).head(1)
    letters = pd.DataFrame({"question": lost["question"], "answer": "hm"})
    (unread,) = ladder_runs(join_answers(steps, letters), rng=0).to_dict("records")
    assert unread["status"] == "unparsed"
    assert pd.isna(unread["action"])
