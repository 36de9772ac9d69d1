"""Simulated agents: their scores are known in advance."""

import pandas as pd
import pytest

import coherence
from coherence.batteries import score_bets
from coherence.batteries.bets.answers import simulate_answers
from coherence.batteries.bets.scores import ladder_runs
from elicitation.batteries.bets.questions import (
    bet_questions,
    default_items,
    ladder_questions,
    value_questions,
)

ITEMS = default_items()


def test_a_maximiser_is_right_at_other_odds_and_its_ladder_moves_with_the_stakes():
    bets = bet_questions(ITEMS, splits=["dev", "test"], modalities=["card"])
    bets = bets.assign(chance=0.3, stake=50.0, payout=1.5)
    values = value_questions(ITEMS, splits=["dev", "test"], templates=["choice-valuable"])
    questions = pd.concat([values, bets, ladder_questions(ITEMS)], ignore_index=True)
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    accuracy = scores.accuracy.set_index(["template", "truth"])["accuracy"]
    assert accuracy["card", "correct"] == accuracy["card", "belief-conditioned"] == 1
    runs = ladder_runs(scores.answers, rng=0)
    report = coherence.analyze(runs, checks=["stakes"], rng=1)
    assert report.verdicts["verdict"].tolist() == ["moves_with_stakes"]
    slope = report.results.set_index("check").loc["stakes:slope"]
    assert slope["estimate"] == pytest.approx(1, abs=0.005)  # stakes are rounded to cents
