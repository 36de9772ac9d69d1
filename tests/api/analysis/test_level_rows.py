"""Rows of questions with a level in an analysis: their check sees them, and no other does."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.plots import plot_offers
from coherence.report.figures import evaluation_figures

N, LEVELS = 40, (np.arange(10) + 0.5) / 10
OTHERS = ["sufficiency", "calibration"]


def table(*, first=0.0, actions=True, n_reps=3, model="planted", seed=1):
    """Answers of an agent that acts half on what it says and half on what it knows.

    Where `first` is 1, it takes the option that is named first and nothing else counts.
    """
    rng, case = np.random.default_rng(seed), np.arange(N)
    exact = rng.uniform(0.05, 0.95, N)
    stated = np.clip(exact + rng.normal(0, 0.15, N), 0.02, 0.98)
    acted_on = (stated + exact) / 2
    told = pd.DataFrame({"context": case.repeat(n_reps), "rep": np.tile(range(n_reps), N)})
    told["p"] = np.clip(stated[told["context"]] + rng.normal(0, 0.03, len(told)), 0, 1)
    if actions:
        treats = rng.random(len(told)) < acted_on[told["context"]]
        told["action"] = np.where(treats, "treat", "wait")
    asked = pd.DataFrame({"context": case.repeat(10), "level": np.tile(LEVELS, N), "rep": 0})
    cell = (np.tile(np.arange(10), N) + rng.integers(4, size=N).repeat(10)) % 4
    asked["frame"] = np.where(cell // 2, "complement", "event")
    asked["order"] = np.where(cell % 2, "lottery", "event")
    worth = acted_on[asked["context"]]
    worth = np.where(asked["frame"] == "event", worth, 1 - worth)
    event = 1 / (1 + np.exp(20 * (asked["level"] - worth)))
    event = first * (asked["order"] == "event") + (1 - first) * event
    asked["action"] = np.where(rng.random(len(asked)) < event, "event", "lottery")
    both = pd.concat([told, asked], ignore_index=True)
    truths = {"p_true": exact, "theta": (rng.random(N) < exact).astype(int)}
    both = both.assign(**{name: values[both["context"]] for name, values in truths.items()})
    return both.assign(truth_kind="drawn", status="ok", task="asia", model=model)


def matching(rows, **options):
    """Return the results of the check by name, and the evaluation."""
    report = coherence.analyze(rows, checks=["matching"], rng=1, **options)
    (evaluation,) = report.evaluations
    return {result.check.partition(":")[2]: result for result in evaluation.results}, evaluation


def test_no_other_check_sees_these_rows():
    rows = table()
    plain = rows[rows["level"].isna()].drop(columns=["level", "frame", "order"])
    both = coherence.analyze(rows, checks=[*OTHERS, "matching"], rng=1)
    alone = coherence.analyze(plain, checks=OTHERS, rng=1)
    others = both.results[~both.results["check"].str.startswith("matching")]
    pd.testing.assert_frame_equal(others.reset_index(drop=True), alone.results)
    (with_rows,), (without,) = both.evaluations, alone.evaluations
    assert with_rows.variation == without.variation
    assert len(with_rows.rows) == len(plain)
    counts = with_rows.statuses.set_index("question")["rows"]
    assert counts["matching questions"] == 10 * N
    assert counts.drop("matching questions").sum() == len(plain)


def test_the_planted_weight_is_found_and_said():
    found, evaluation = matching(table())
    assert found["share"].interval.low < 0.5 < found["share"].interval.high
    assert all(result.family == "estimate" for result in found.values())
    assert "of the weight in it" in evaluation.conclusion[-1]


def test_of_who_does_not_answer_the_chance_nothing_is_ranked_or_drawn():
    """Breaks if a position bias gets a belief, a weight, or a place among others."""
    found, evaluation = matching(table(first=1.0))
    assert found.keys() == {"swing", "order"}
    assert found["swing"].settings["answered"] is False
    assert "not answer the stated chance" in evaluation.conclusion[0]
    assert "e-swing" in [figure.key for figure in evaluation_figures(evaluation, "e")]
    lanes = [label.get_text() for label in plot_offers(found["swing"]).get_yticklabels()]
    assert lanes == ["event first", "lottery first"]


def test_where_nothing_was_asked_or_three_states_are_believed_in_it_is_said():
    rows = table(actions=False)
    leveled = rows["level"].notna()
    unasked, evaluation = matching(rows[~leveled].assign(action="treat"))
    assert unasked == {}
    assert "matching question" in evaluation.absent("matching")
    bare = rows.drop(columns=["p_true", "truth_kind", "p"])
    two = bare.assign(p_0=1 - rows["p"], p_1=rows["p"])
    assert matching(two)[0]["difference"].interval is not None
    three = bare.assign(p_0=(1 - rows["p"]) / 2, p_1=rows["p"], p_2=(1 - rows["p"]) / 2)
    found, evaluation = matching(three)
    assert found == {}
    assert "one of two" in evaluation.absent("matching")


@pytest.mark.parametrize("offered", [0.0, np.nan])
def test_computed_policies_of_two_questions_stay_apart(offered):
    """Breaks if an option that an ordinary row was not offered counts as one of its actions."""
    rows = table()
    leveled = rows["level"].notna()
    chosen = pd.get_dummies(rows["action"], prefix="action", dtype=float)
    for options, foreign in (
        (["action_event", "action_lottery"], ~leveled),
        (["action_treat", "action_wait"], leveled),
    ):
        chosen.loc[foreign, options] = offered
    policies = pd.concat([rows.drop(columns="action"), chosen], axis="columns")
    found, evaluation = matching(policies)
    expected, _ = matching(rows)
    assert found["share"].statistic == pytest.approx(expected["share"].statistic)
    assert evaluation.rows.policies == ["action_treat", "action_wait"]


def test_a_model_without_beliefs_is_left_out_by_name():
    silent = table(model="silent", seed=2)
    lone = pd.concat([table(), silent[silent["level"].notna()]], ignore_index=True)
    notes = coherence.analyze(lone, checks=["matching"], rng=1).evaluations[0].notes
    assert any("asia · silent" in note.text for note in notes)
