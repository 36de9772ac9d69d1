"""What a report advises next follows from what it found."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from coherence import AGENTS, analyze, power, simulate


@pytest.mark.lengthy
def test_a_pass_that_means_something_leads_to_a_plan_that_runs():
    shaded = replace(AGENTS["rational"], unstated=1.0)
    runs = simulate(shaded, n_contexts=60, n_reps=3, iterated=False, rng=5)
    said = " ".join(str(analyze(runs, checks=["sufficiency"], rng=1)).split())
    (call,) = re.findall(r"coherence\.(power\(.*?)\)", said.replace(" \\ ", " "))
    assert call == 'power("rational", [60, 120, 240], 3, 0.2'
    planned = eval(f"{call}, rng=1, n_simulations=10)", {"power": power})  # noqa: S307
    assert set(planned["agent"]) == {"agent rational"}
    # Without choices there is nothing to plan for.
    beliefs = simulate("wordbound", n_contexts=40, n_reps=2, rng=1).drop(columns="action")
    assert "coherence.power" not in str(analyze(beliefs, rng=1))


def test_an_action_after_which_no_truth_is_known_is_named():
    """Breaks if whoever abstains, right or wrong nobody knows, is said not to move."""
    runs = simulate("rational", n_contexts=60, n_reps=1, rng=1).drop(columns="p_true")
    runs["theta"] = runs["theta"].where(runs["action"] != "defer")
    runs = runs[runs["action"].isin(["yes", "defer"])]
    said = " ".join(str(analyze(runs, checks=["sufficiency"], rng=1)).split())
    assert "only one action was seen ('yes'); only rows that were left out have 'defer'" in said
    assert "Next: Add the truth of the others" in said


def test_reports_that_hide_an_effect_are_asked_for_again_and_not_more_cases():
    """Breaks if a plan of more cases is proposed where noise or rounding would hide as much."""
    rng = np.random.default_rng(1)
    odds, case = 1.5 * rng.normal(size=120), np.repeat(np.arange(120), 5)
    belief, exact = expit(odds), expit(odds + 0.7 * rng.normal(size=120))
    acts = rng.random(600) < expit(12 * (belief - 0.5) + 6 * (exact - belief))[case]
    said = (belief[case] + 1.2 * rng.normal(size=600)).clip(0, 1).round(2)
    runs = pd.DataFrame({"context": case, "p": said, "action": np.where(acts, "yes", "no")})
    runs = runs.assign(p_true=exact[case], theta=(rng.random(120) < exact)[case].astype(int))
    runs["truth_kind"] = "drawn"
    said = " ".join(str(analyze(runs, checks=["sufficiency"], rng=1)).split())
    assert "may hide any difference" in said
    assert "Next: Ask each case more often, or let answers be computed; more cases alone" in said
    runs = runs.assign(p=(runs["p_true"] > 0.5) * 0.8 + 0.1, belief_kind="stated:fixed")
    said = " ".join(str(analyze(runs, checks=["sufficiency"], rng=1)).split())
    assert "the rounding of its reports can explain it" in said
    assert "Next: Ask for beliefs in finer steps" in said


def judged(column, n_judges=3):
    """Cases that several persons judged, whose column no option names."""
    runs = simulate("noisy", n_contexts=40, n_reps=n_judges, rng=1).drop(columns="p_true")
    runs = runs[runs["action"].notna()]
    return runs.rename(columns={"rep": column})[["context", column, "p", "action", "theta"]]


@pytest.mark.parametrize("column", ["judge", "participant_id", "Rater", "annotators"])
def test_persons_under_another_name_are_said_and_their_name_is_what_compares_them(column):
    table = judged(column)
    report = analyze(table, checks=["sufficiency", "cmi"], rng=1)
    assert report.evaluations[0].scatter.across == "persons"
    text = " ".join(str(report).split())
    (typed,) = re.findall(r"in Python columns=(\{'person': '\w+'\})", text)
    assert "between repetitions" not in text
    named = analyze(table, columns=eval(typed), checks=["sufficiency"], rng=1)  # noqa: S307
    assert "40 cases, 3 persons, " in str(named)
    assert "nothing reads it" not in str(named)


def offered(paid=False, n=200, **columns):
    """Answers at a penalty for wrong ones, or with what was paid."""
    rng = np.random.default_rng(3)
    p, penalty = rng.uniform(0.2, 0.95, n).round(2), rng.choice([0.0, 1.0, 3.0, 10.0], n)
    truth = (rng.random(n) < p).astype(int)
    action = np.where(p > penalty / (1 + penalty), "ANSWER", "ABSTAIN")
    lost = np.where((action == "ANSWER") & (truth == 0), penalty, 0.0)
    table = {"context": range(n), "p": p, "action": action, "theta": truth}
    table["penalty"] = lost if paid else penalty
    return pd.DataFrame(table | columns)


@pytest.mark.parametrize("called", [{"penalty": "penalty"}, {"penalty": "stake", "one": "reward"}])
def test_stakes_under_another_name_are_said_and_naming_them_tests_them(called):
    table = offered(one=1.0).rename(columns=called)
    text = " ".join(str(analyze(table, checks=["sufficiency"], rng=1)).split())
    ((columns, acts),) = re.findall(r"in Python columns=(\{.*?\}), acts=(LABEL)\)", text)
    assert acts == "LABEL"
    assert "--acts LABEL, ABSTAIN or ANSWER" in text
    named = analyze(table, columns=eval(columns), acts="ANSWER", rng=1)  # noqa: S307
    assert "Moves with the stakes" in " ".join(str(named).split())
    assert "nothing reads it" not in str(named)
