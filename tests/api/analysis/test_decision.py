"""One verdict for each model on a task: every one is reached, and says what its report shows."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import coherence
from coherence.agents import named_agent

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
    "knows_truth": lambda: simulated("clairvoyant", n=200),
    "too_few_cases": lambda: simulated("leaky", n=15),
    "hardly_moves": lambda: simulated("rational", defer=20.0),
    "nothing_open": lambda: simulated("rational", grid=0.0),
    "acts_on_more": lambda: simulated("leaky"),
    "acts_on_more_turning": turning,
    "acts_on_more_or_noisy": lambda: simulated("leaky").drop(columns="belief_kind"),
    "noise_explains": lambda: simulated("noisy"),
    "does_not_follow": lambda: simulated("nonmonotone"),
    "no_evidence": lambda: simulated("rational"),
    "forecasts": forecasts,
}


def of(runs, **options):
    checks = None if "action" not in runs and "action_yes" not in runs else CHECKS
    return coherence.analyze(runs, **{"checks": checks, "rng": 1, **options}).evaluations[0]


@pytest.mark.parametrize("verdict", REACHED, ids=str)
def test_every_verdict_is_reached(verdict):
    unit = of(REACHED[verdict]())
    assert unit.verdict.code == verdict, unit.conclusion
    assert unit.conclusion


def test_a_margin_is_a_verdict_where_nothing_else_is_seen():
    runs = simulated("rational", n=200)
    assert of(runs, margin=0.1).verdict.code == "within_margin"
    narrow = of(runs, margin=0.0001)
    assert narrow.verdict.code == "no_evidence"
    assert "Not shown to be within 0.01 points" in narrow.conclusion[0]

    # Choices differ between the realised states, of which the exact posterior sees nothing.
    unit = of(REACHED["knows_truth"](), margin=0.2)
    assert unit.verdict.code == "knows_truth"
    assert "ithin 0.2" not in unit.conclusion[0]


def test_what_acts_on_the_truth_is_accused_whatever_it_says_and_however_rare_an_action():
    assert (
        of(simulated("leaky").assign(p=0.5)).verdict.code == "acts_on_more_or_noisy"
    )  # one word for all
    runs = simulated("clairvoyant", n=300, reps=1)
    treated = runs["theta"].eq(1) & (runs["p_true"] < 0.2)
    runs = runs.assign(action=np.where(treated, "treat", "wait"), p=0.5)
    runs = runs.drop(columns=["p_true", "belief_kind"])
    assert treated.mean() < 0.05
    assert of(runs).verdict.code == "acts_on_more_or_noisy"


def test_the_verdicts_of_a_report_are_a_table():
    runs = pd.concat([simulated("leaky"), simulated("noisy")])
    report = coherence.analyze(runs, checks=CHECKS, rng=1)
    table = report.verdicts.set_index("model")
    assert "The primary test rejects in 1 of 2 evaluations at 0.05." in report.to_html()
    assert list(table["verdict"]) == ["acts_on_more", table.loc["noisy", "verdict"]]
    leaky = table.loc["leaky"]
    assert leaky["low"] < leaky["estimate"] < leaky["high"]
    assert 0 < leaky["hidden_share"] < 1
    assert leaky["pvalue"] <= leaky["pvalue_bh"]


def test_a_sentence_names_the_action_and_the_state_in_which_it_is_chosen_more_often():
    """Breaks if a name of theta = 1 is put to beliefs in theta = 0, or a sign is lost."""
    runs = simulated("leaky", n=80, reps=3).drop(columns=["p_true", "truth_kind"])
    named = runs.assign(theta_name="lung = yes")

    def said(table, **options):
        return of(table, checks=["sufficiency"], **options)

    assert 'chooses "yes"' in (first := said(named).conclusion[0])
    assert "more often when lung = yes (" in first
    # The belief is in theta = 0, in which "no" is chosen more often.
    other = said(named.assign(p=1 - named["p"]), positive=0)
    assert 'chooses "no"' in other.conclusion[0]
    assert "more often when the truth is 0 than when it is 1 (" in other.conclusion[0]
    assert other.state_names == ("truth = 1", "truth = 0")
    reversed_ = said(named.assign(theta=1 - named["theta"]))
    assert "less often when lung = yes (" in reversed_.conclusion[0]
    effect = reversed_.results[0]
    low, high = (f"{-100 * end:.0f}" for end in (effect.interval.high, effect.interval.low))
    assert f"{-100 * effect.statistic:.0f} points [{low}, {high}]" in reversed_.conclusion[0]
    words = runs["theta"].map({1: "right", 0: "wrong"})
    text = said(runs.assign(theta=words), positive="right").conclusion[0]
    assert 'when the truth is "right" than when it is "wrong" (' in text


def groups_of_five(rng):
    """Forty people who report in ways of their own, five cases each, and act on the belief."""
    odds, who = 1.5 * rng.normal(size=200), np.repeat(np.arange(40), 5)
    scale, bias = np.exp(0.4 * rng.normal(size=40)), 0.8 * rng.normal(size=40)
    said = expit(scale[who] * odds + bias[who]).round(2)
    exact = expit(odds + 0.7 * rng.normal(size=200))
    return {"group": who, "p": said, "p_true": exact, "truth_kind": "drawn"}, expit(odds)


def persons_in_quarters(rng):
    """Thirty persons who judge 25 cases each, and report in quarters."""
    odds, case = 1.4 * rng.normal(size=25), np.tile(np.arange(25), 30)
    belief = expit(odds[case] + 0.6 * rng.normal(size=750))
    exact = expit(odds + 0.5 * rng.normal(size=25))[case]
    cells = {"person": np.repeat(np.arange(30), 25), "context": case, "p_true": exact}
    return cells | {"p": np.round(4 * belief) / 4, "truth_kind": "drawn"}, belief


@pytest.mark.parametrize(
    ("design", "why"),
    [(groups_of_five, "groups differ in how they report"), (persons_in_quarters, "too coarse")],
)
def test_what_reports_may_hide_and_no_test_allows_for_accuses_nobody(design, why):
    """Breaks if small groups that report in their own ways, or coarse persons, are accused."""
    codes = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cells, belief = design(rng)
        rows = pd.DataFrame({"context": np.arange(len(belief)), **cells})
        acts = rng.random(len(belief)) < expit(20 * (belief - 0.5))
        rows = rows.assign(action=np.where(acts, "yes", "no"), belief_kind="stated:fixed")
        rows["theta"] = (rows["context"].map(hash) % 7 < 3).astype(int)
        found = of(rows, checks=["sufficiency"])
        codes.add(found.verdict.code)
        if found.verdict.code == "acts_on_more_or_noisy":
            assert why in found.conclusion[0]
    assert "acts_on_more" not in codes
    assert "acts_on_more_or_noisy" in codes
