"""One verdict for each model on a task: every one is reached, and says what its report shows."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.agents import named_agent
from coherence.analysis.decision import TABLE
from coherence.report.verdicts import Verdict

CHECKS = ["sufficiency", "evidence_leak"]


def simulated(agent, n=100, reps=5, seed=1, **changes):
    changed = dataclasses.replace(named_agent(agent), **changes)
    options = {"n_contexts": n, "n_reps": reps, "prompts": ["standard"], "iterated": False}
    return coherence.simulate(changed, **options, rng=seed)


def turning():
    rng = np.random.default_rng(3)
    said = rng.integers(1, 20, 200) / 20
    exact = np.clip(said + 0.15 * rng.normal(size=200), 0.01, 0.99)
    utility = 4 * (said - 0.5) + 6 * (exact - said) * np.sign(said - 0.5)
    share = 1 / (1 + np.exp(-utility))
    theta = (rng.random(200) < exact).astype(int)
    table = {"p": said, "action_yes": share, "action_no": 1 - share, "theta": theta}
    runs = pd.DataFrame(table | {"p_true": exact, "truth_kind": "drawn"})
    runs["context"] = [f"c{at}" for at in range(200)]
    runs["belief_kind"] = "stated:exact"
    return runs


def forecasts():
    rows = simulated("rational")
    return rows[["context", "p", "theta"]].drop_duplicates("context")


REACHED = {
    Verdict.KNOWS_TRUTH: lambda: simulated("clairvoyant", n=200),
    Verdict.TOO_FEW_CASES: lambda: simulated("leaky", n=15),
    Verdict.TOO_FEW_REPORTS: lambda: simulated("miscalibrated", n=200, reps=2, report_noise=0.1),
    Verdict.HARDLY_MOVES: lambda: simulated("rational", defer=20.0),
    Verdict.NOTHING_OPEN: lambda: simulated("rational", grid=0.0),
    Verdict.ACTS_ON_MORE: lambda: simulated("leaky"),
    Verdict.ACTS_ON_MORE_TURNING: turning,
    Verdict.ACTS_OR_NOISY: lambda: simulated("leaky", reps=1),
    Verdict.NOISE_EXPLAINS: lambda: simulated("noisy"),
    Verdict.DOES_NOT_FOLLOW: lambda: simulated("nonmonotone"),
    Verdict.NO_EVIDENCE: lambda: simulated("rational"),
    Verdict.FORECASTS: forecasts,
}


def of(runs, **options):
    checks = None if "action" not in runs and "action_yes" not in runs else CHECKS
    return coherence.analyze(runs, **{"checks": checks, "rng": 1, **options}).evaluations[0]


@pytest.mark.parametrize("verdict", REACHED, ids=str)
def test_every_verdict_is_reached(verdict):
    unit = of(REACHED[verdict]())
    assert unit.verdict is verdict, unit.conclusion
    assert unit.conclusion


def test_a_margin_is_a_verdict_where_nothing_else_is_seen():
    runs = simulated("rational", n=200)
    assert of(runs, margin=0.1).verdict is Verdict.WITHIN_MARGIN
    narrow = of(runs, margin=0.0001)
    assert narrow.verdict is Verdict.NO_EVIDENCE
    assert "Not shown to be within 0.01 points" in narrow.conclusion[0]


def test_a_margin_that_nothing_can_be_held_against_says_why():
    said = of(simulated("noisy"), margin=0.1).conclusion[0]
    assert "Nothing can be held against a margin of 10 points: reports of a case differ" in said


def test_a_margin_bounds_nothing_of_what_knows_the_truth_itself():
    """Its choices differ between the realised states, of which the exact posterior sees nothing."""
    unit = of(REACHED[Verdict.KNOWS_TRUTH](), margin=0.2)
    assert unit.verdict is Verdict.KNOWS_TRUTH
    assert "ithin 0.2" not in unit.conclusion[0]


def test_without_the_primary_test_there_is_no_verdict():
    unit = of(simulated("leaky"), checks=["monotone_choice"])
    assert unit.verdict is Verdict.NOT_TESTED


def test_the_table_has_every_verdict_once():
    assert sorted(verdict for verdict, _ in TABLE) == sorted(Verdict)


def test_an_agent_that_says_one_half_throughout_and_acts_on_the_truth_is_accused():
    runs = simulated("leaky").assign(p=0.5)
    assert of(runs).verdict is Verdict.ACTS_ON_MORE


def test_a_rejection_is_told_however_rare_an_action():
    runs = simulated("clairvoyant", n=300, reps=1)
    treated = runs["theta"].eq(1) & (runs["p_true"] < 0.2)
    runs = runs.assign(action=np.where(treated, "treat", "wait"), p=0.5).drop(columns="p_true")
    assert treated.mean() < 0.05
    assert of(runs).verdict is Verdict.ACTS_OR_NOISY


def test_choices_that_the_belief_settles_hide_no_effect():
    runs = simulated("rational", n=60)
    said = of(runs.assign(action=np.where(runs["p"] > 0.5, "yes", "no"))).conclusion[0]
    assert "The stated belief settles the action" in said
    assert "not known" not in said


def test_reports_that_no_number_of_them_would_help_are_not_asked_for():
    runs = simulated("noisy", n=60, reps=10)
    unit = of(runs.assign(p=np.where(runs["p"] > 0.5, 0.9, 0.1)))
    assert unit.verdict is Verdict.TOO_FEW_REPORTS
    assert "more of them would not help" in unit.conclusion[0]
    assert "Ask each case" not in unit.conclusion[0]


def test_other_models_and_tasks_change_no_verdict_and_no_pvalue():
    one, other = simulated("shaded", seed=4), simulated("noisy", seed=5)
    options = {"checks": [*CHECKS, "monotone_choice"], "rng": 1}
    alone = coherence.analyze(one, **options)
    beside = coherence.analyze(pd.concat([other, one]), **options)
    unit = next(unit for unit in beside.evaluations if unit.model == "shaded")
    # Streams are those of places, so the test's own draws differ; its family does not.
    assert unit.verdict is alone.evaluations[0].verdict
    families = [(result.check, result.n_tests) for result in unit.results[1:]]
    assert families == [
        (result.check, result.n_tests) for result in alone.evaluations[0].results[1:]
    ]


def test_primary_and_further_tests_are_corrected_apart():
    report = coherence.analyze(
        simulated("leaky", n=60),
        checks=["sufficiency", "residual_covariance", "monotone_choice"],
        rng=1,
    )
    by_family = report.results.set_index("check")[["family", "pvalue", "pvalue_holm", "n_tests"]]
    assert by_family.loc["sufficiency", "family"] == "primary"
    assert math.isnan(by_family.loc["sufficiency", "pvalue_holm"])
    assert by_family.loc["residual_covariance", "family"] == "part"
    pairs = by_family[by_family.index.str.startswith("monotone_choice")]
    assert set(pairs["family"]) == {"second"}
    assert set(pairs["n_tests"]) == {3.0}
    assert by_family.loc["monotone_direction", "family"] == "estimate"
    assert math.isnan(by_family.loc["monotone_direction", "pvalue"])


def test_direction_and_primary_test_share_their_arrangements():
    report = coherence.analyze(
        simulated("shaded", seed=4), checks=["sufficiency", "residual_covariance"], rng=1
    )
    primary, part = report.evaluations[0].results
    assert primary.settings["p_direction"] == part.pvalue


def test_the_verdicts_of_a_report_are_a_table():
    runs = pd.concat([simulated("leaky"), simulated("noisy")])
    table = coherence.analyze(runs, checks=CHECKS, rng=1).verdicts.set_index("model")
    assert list(table["verdict"]) == ["acts_on_more", table.loc["noisy", "verdict"]]
    leaky = table.loc["leaky"]
    assert leaky["low"] < leaky["estimate"] < leaky["high"]
    assert 0 < leaky["hidden_share"] < 1
    assert leaky["pvalue"] <= leaky["pvalue_bh"]


def test_a_test_and_an_interval_at_odds_are_explained():
    unit = of(simulated("shaded", n=100, seed=1))
    primary = unit.results[0]
    holds = primary.interval.low <= 0 <= primary.interval.high
    at_odds = holds == (primary.pvalue <= 0.05)
    assert ("(The interval" in unit.conclusion[0]) == at_odds


def test_a_sentence_names_the_action_and_the_state_in_which_it_is_chosen_more_often():
    """Breaks if a name of theta = 1 is put to beliefs in theta = 0, or a sign is lost."""
    runs = coherence.simulate(
        "leaky", n_contexts=80, n_reps=3, iterated=False, prompts=["standard"], rng=1
    )
    runs = runs.drop(columns=["p_true", "truth_kind"])
    named = runs.assign(theta_name="lung = yes")

    def said(table, **options):
        return coherence.analyze(table, checks=["sufficiency"], rng=1, **options).evaluations[0]

    assert 'chooses "yes"' in (first := said(named).conclusion[0])
    assert "more often when lung = yes (" in first
    # The belief is in theta = 0, in which "no" is chosen more often.
    other = said(named.assign(p=1 - named["p"]), positive=0)
    assert 'chooses "no"' in other.conclusion[0]
    assert "more often when the truth is 0 than when it is 1 (" in other.conclusion[0]
    assert other.state_names == ("state 1", "state 0")
    reversed_ = said(named.assign(theta=1 - named["theta"]))
    assert "less often when lung = yes (" in reversed_.conclusion[0]
    effect = reversed_.results[0]
    low, high = (f"{-100 * end:.0f}" for end in (effect.interval.high, effect.interval.low))
    assert f"{-100 * effect.statistic:.0f} points [{low}, {high}]" in reversed_.conclusion[0]
    words = runs["theta"].map({1: "right", 0: "wrong"})
    assert (
        'when the truth is "right" than when it is "wrong" ('
        in (said(runs.assign(theta=words), positive="right").conclusion[0])
    )
