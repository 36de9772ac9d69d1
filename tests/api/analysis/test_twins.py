"""Plans of twins: who has them, what is left out and why, and which side is extreme."""

from dataclasses import replace

import numpy as np
import pytest

from coherence import CheckResult, simulate
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.planning import plan_evaluation
from coherence.analysis.twins import agent_of, plan_twins, with_twins
from coherence.checks import CHECKS
from coherence.checks.check import ReferenceData
from coherence.rational.fit import ONE_REPORT

LIGHT = tuple(name for name in CHECKS if name != "predictive_gain")


def results_of(unit, names=LIGHT):
    streams = {name: np.random.default_rng(1) for name in CHECKS}
    jobs, _ = plan_evaluation(unit, names, published=False, streams=streams)
    return [result for job in jobs for result in job.run()]


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=50, n_reps=3, prompts=["standard", "mse"], rng=1)


@pytest.fixture(scope="module")
def planned(runs):
    unit = EvaluationRows(runs)
    results = results_of(unit)
    return results, *plan_twins(unit, results, LIGHT)


def test_every_check_but_those_that_say_why_not_runs_on_a_twin(planned):
    results, plan, notes = planned
    (drawn,) = plan.statistics([np.random.default_rng(1)])
    without = {
        "calibration:rmse",
        "calibration:calibration_error_exact",
        "calibration:ece_exact",
        "iterated_expectation:random_forest",
        "evidence_leak",
        "action_information",
        "scores",
        "scores:mse",
        "sufficiency",
    }
    shown = {each.check for each in with_twins(results, [drawn]) if each.twins is not None}
    assert shown == {result.check for result in results} - without
    assert np.isfinite([drawn[name] for name in shown]).all()
    assert len(notes) == 4
    assert {name for note in notes for name in note.checks} == without


@pytest.mark.lengthy
def test_learners_run_on_demand_alone(runs):
    unit = EvaluationRows(runs.drop(columns=[f"x_{n}" for n in range(1, 7)]))
    names = ("predictive_gain",)
    result = CheckResult("predictive_gain", "", 1.0, "% of log-loss", None, 0.2, 150, 50)
    plan, notes = plan_twins(unit, [result], names)
    assert plan.statistics([np.random.default_rng(1)]) == [{}]
    assert any("predictive_gain takes long" in note.text for note in notes)
    plan, notes = plan_twins(unit, [result], names, on_demand=names)
    (drawn,) = plan.statistics([np.random.default_rng(1)])
    assert set(drawn) == {"predictive_gain"}
    assert notes == []


def test_probabilities_of_actions_leave_beliefs_alone_to_twins():
    runs = simulate("noisy", n_contexts=50, n_reps=3, prompts=["standard"], policies=True, rng=1)
    unit = EvaluationRows(runs)
    plan, notes = plan_twins(unit, [], LIGHT)
    assert set(plan.checks) == {
        *("prompt_consistency", "iterated_expectation", "calibration", "scores"),
        *("matching", "stakes", "belief_movement"),
    }
    assert notes[0].text.startswith("actions are probabilities")
    assert "cmi" in notes[0].checks
    (drawn,) = plan.statistics([np.random.default_rng(1)])
    assert "iterated_expectation" in drawn


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda runs: runs.assign(action=None), "no row has a parsed belief"),
        (lambda runs: runs[runs["context"] < "c0015"], "15 contexts are fewer"),
        (lambda runs: runs[runs["rep"] == 0], ONE_REPORT),
        (
            lambda runs: runs.assign(action=runs["action"].where(runs["action"].isna(), "yes")),
            "only one action",
        ),
    ],
)
def test_where_no_agent_can_be_fitted_it_is_said(runs, change, why):
    unit = EvaluationRows(change(runs))
    agent, said = agent_of(unit)
    assert agent is None
    assert why in said
    plan, notes = plan_twins(unit, [], LIGHT)
    assert plan is None
    assert [note.text for note in notes] == [f"no rational twins were drawn: {said}."]


def result(check, statistic, *, pvalue=None, component=None):
    settings = {} if component is None else {"component": component}
    return CheckResult(check, "", statistic, "belief", None, pvalue, 9, 9, settings=settings)


def test_each_statistic_is_extreme_where_its_check_says(planned):
    drawn = [
        {
            "residual_covariance": value,
            "cmi": value,
            "iterated_expectation": value,
            "iterated_expectation:relative": value,
            "rational_agent": value,
        }
        for value in np.linspace(-1, 1, 39)
    ]
    found = {
        one.check: one.twins
        for one in with_twins(
            [
                result("residual_covariance", -2.0, pvalue=0.01),
                result("cmi", -2.0, pvalue=0.9),
                result("iterated_expectation", -2.0, pvalue=0.01),
                result("iterated_expectation:relative", 2.0),
                result("calibration:rmse", 0.1),
                result("rational_agent", -0.5, pvalue=0.2, component="P(a | 1)"),
            ],
            drawn,
        )
    }
    assert found["residual_covariance"].pvalue == 2 / 40  # either side
    assert found["cmi"].pvalue == 1  # above alone
    assert found["iterated_expectation"].pvalue == 2 / 40
    assert found["iterated_expectation:relative"].pvalue == 1 / 40
    assert found["calibration:rmse"] is None
    assert found["rational_agent"].pvalue == pytest.approx(2 * 11 / 40)  # either side
    assert np.isnan(found["rational_agent"].noise_share)


def test_cmi_of_a_twin_is_what_it_tests_on_the_scale_of_what_the_original_shows():
    """Breaks if the twin has not the choice of windows that the original had, or another unit."""
    options = {"prompts": ["standard"], "iterated": False, "rng": 3}
    unit = EvaluationRows(simulate("leaky", n_contexts=50, n_reps=3, **options))
    (result,) = results_of(unit, ("cmi",))
    windows = result.details.dropna(subset="contexts").set_index("contexts")
    largest = (windows["excess"] / windows["sd"]).max()
    streams = {name: np.random.default_rng(2) for name in CHECKS}
    (job,), _ = plan_evaluation(unit, ("cmi",), published=False, streams=streams)
    agent = agent_of(unit)[0]
    for window, shown in windows.iterrows():
        original = replace(result, settings={**result.settings, "window": window})
        drawn = [
            job.call.statistics(
                ReferenceData({"cmi": original}, agent), np.random.default_rng(seed)
            )
            for seed in range(9)
        ]
        # Standard deviations over 299 permutations vary by some percent.
        assert np.mean([each["cmi"] for each in drawn]) == pytest.approx(
            largest * shown["sd"], rel=0.1
        )
    assert result.statistic == pytest.approx(largest * windows["sd"][result.settings["window"]])
    undefined = replace(result, statistic=np.nan, settings={})
    alone = job.call.statistics(ReferenceData({"cmi": undefined}, agent), np.random.default_rng(0))
    assert set(alone) == {"cmi"}
