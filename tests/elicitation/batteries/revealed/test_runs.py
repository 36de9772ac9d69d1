"""Runs of bets: breaks if coherent answers fail a check, or incoherent ones pass."""

import pandas as pd
import pytest

import coherence
from elicitation import standard_grid
from elicitation.batteries.revealed import simulated
from elicitation.batteries.revealed.questions import (
    NO,
    YES,
    Bet,
    ask_wagers,
    even_bet_questions,
)
from elicitation.batteries.revealed.runs import tabulate_wagers
from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.grid import select
from elicitation.batteries.revealed.scenarios.setting import REFERENCE

GRID = standard_grid()


def wager_runs(model, settings, store, *, reps=5, seed=0):
    beliefs, bets = ask_wagers(model, model, settings, store)
    return tabulate_wagers(settings, beliefs, bets, model="m", reps=reps, seed=seed)


@pytest.mark.lengthy
def test_wagers_of_a_coherent_believer_pass_the_checks(store, coherent):
    settings = select(
        GRID, {"scenario": ["dice", "coins"], "n": ["2", "3"], "variant": ["single", "observation"]}
    )
    model = coherent(settings, act=lambda p: 0.1 + 0.8 * p)
    runs = wager_runs(model, settings, store, reps=4, seed=3)
    coherence.validate_runs(runs)
    plain = runs[runs["z"].isna()]
    assert (plain["p"] - plain["p_true"]).abs().max() < 1e-12
    assert plain.loc[plain["prompt"] == "standard", "action"].isin(["yes", "no"]).all()
    assert plain.loc[plain["prompt"] != "standard", "action"].isna().all()
    assert plain.groupby("context")["theta"].nunique().eq(1).all()
    report = coherence.analyze(
        runs,
        checks=[
            "residual_covariance",
            "monotone_choice",
            "prompt_consistency",
            "iterated_expectation",
        ],
        rng=1,
    )
    results = report.results[report.results["task"] == "dice"].set_index("check")
    assert results.loc["iterated_expectation", "statistic"] == pytest.approx(0, abs=1e-9)
    assert results.loc["prompt_consistency:story", "statistic"] == 0
    assert results.loc["residual_covariance", "pvalue"] > 0.01
    again = wager_runs(model, settings, store, reps=4, seed=3)
    pd.testing.assert_frame_equal(again, runs)


@pytest.mark.lengthy
def test_a_belief_that_does_not_average_out_is_found(store, coherent):
    settings = select(GRID, {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single"]})
    # Sure of the smallest sum where nothing is said about the first die, exact where something is.
    model = coherent(settings, believe=lambda setting: simulated.first_lover(setting, pull=0.6))
    runs = wager_runs(model, settings, store)
    report = coherence.analyze(runs, checks=["iterated_expectation"], rng=1)
    result = report.results.set_index("check").loc["iterated_expectation"]
    assert result["pvalue"] < 0.01
    assert result["statistic"] < -0.1


def test_a_bet_that_cannot_be_read_is_no_action(store, coherent):
    settings = [dice.single(2, 6)]
    model = coherent(settings)
    for question in even_bet_questions(settings[0]):
        model.beliefs[question.text] = {}
    runs = wager_runs(model, settings, store)
    coherence.validate_runs(runs)
    standard = runs[(runs["prompt"] == "standard") & runs["z"].isna()]
    assert standard["action"].isna().all()
    assert (standard["status"] == "unparsed").all()


def table(bet_mass, *, share=1.0, drawn=(), mass=0.6, reps=3):
    """Rows of one die in two wordings; the belief is uniform with `mass` on the outcomes."""
    setting = dice.single(1, 6)
    other = next(wording for wording in setting.texts if wording != REFERENCE)
    belief = dict.fromkeys(setting.outcomes, mass / 6)
    beliefs = {(setting.name, wording): belief for wording in (REFERENCE, other)}
    bets = {setting.name: Bet(share, bet_mass, drawn)}
    rows = tabulate_wagers([setting], beliefs, bets, model="m", reps=reps, seed=1)
    return rows[rows["prompt"] == REFERENCE], rows[rows["prompt"] == other]


@pytest.mark.parametrize("bet_mass", [0.2, 0.9])
def test_a_row_is_as_sure_as_the_least_sure_of_its_answers(bet_mass):
    acted, plain = table(bet_mass)
    # An action and a belief make the rows of the reference; a belief alone those of the other.
    assert acted["answer_mass"].tolist() == pytest.approx([min(bet_mass, 0.6)] * 3)
    assert plain["answer_mass"].tolist() == pytest.approx([0.6] * 3)
    assert plain["action"].isna().all()


def test_actions_follow_the_share_and_what_was_drawn():
    assert table(0.9, share=1.0)[0]["action"].tolist() == [YES] * 3
    assert table(0.9, share=0.0)[0]["action"].tolist() == [NO] * 3
    drawn, _ = table(0.9, share=0.5, drawn=(NO, None, YES, YES))
    assert drawn["action"].fillna("").tolist() == [NO, "", YES, YES]
    assert drawn["status"].tolist() == ["ok", "unparsed", "ok", "ok"]
    unread, plain = table(0.9, share=None)
    assert set(unread["status"]) == {"unparsed"}
    assert set(plain["status"]) == {"ok"}


def test_beliefs_are_renormalised_and_simulated_outcomes_shared():
    acted, plain = table(0.9)
    setting = dice.single(1, 6)
    assert setting.event is not None
    chance = len(setting.event.outcomes) / 6
    assert acted["p"].tolist() == pytest.approx([chance] * 3)
    assert acted["p_true"].tolist() == pytest.approx(
        [float(setting.probability(setting.event))] * 3
    )
    assert acted["rep"].tolist() == [0, 1, 2]
    assert set(acted["theta"]) == set(plain["theta"])
    assert table(0.9, mass=0.0)[0]["p"].isna().all()
