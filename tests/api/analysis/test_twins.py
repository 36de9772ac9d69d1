"""Rational twins, from the plan to the report. Breaks if a twin's table, the side that is extreme,
or a number beside which twins stand is another."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coherence import (
    AGENTS,
    CheckResult,
    analyze,
    fit_rational_agent,
    iterated_expectation_test,
    simulate,
)
from coherence.analysis.evaluation import EvaluationRows
from coherence.analysis.planning import plan_evaluation
from coherence.analysis.twin_table import TwinTable
from coherence.analysis.twins import agent_of, plan_twins, with_twins
from coherence.checks import CHECKS
from coherence.checks.check import ReferenceData

LIGHT = tuple(name for name in CHECKS if name != "predictive_gain")
ONE = {"prompts": ["standard"]}
FEATURES = [f"x_{number}" for number in range(1, 7)]

# Tables of twins: the rows of the evaluation, one belief behind all of a context's answers


def table_of(runs, **options):
    unit = EvaluationRows(runs, **options)
    rows = unit.complete_cases
    arrays = unit.belief(rows), unit.action(rows), rows["theta"]
    agent = fit_rational_agent(*arrays, context=rows["context"], positive=unit.positive)
    return TwinTable(unit, agent)


def twin_of(runs, **options):
    return table_of(runs, **options).draw(np.random.default_rng(2))


@pytest.fixture(scope="module")
def answers():
    return simulate("noisy", n_contexts=120, n_reps=5, prompts=["standard", "mse"], rng=1)


@pytest.fixture(scope="module")
def twin(answers):
    return twin_of(answers)


def scatter(rows, by=("context",)):
    return float(np.sqrt(rows.groupby(list(by))["p"].var().mean()))


def test_every_row_is_answered_and_what_was_empty_stays_so(answers, twin):
    assert len(twin) == len(answers)
    for name in ("rep", "prompt", "z", "z_state"):
        pd.testing.assert_series_equal(twin[name], answers[name])
    for name in ("p", "action", "theta", "p_z"):
        assert (twin[name].isna() == answers[name].isna()).all()
    assert twin["theta"].dtype == answers["theta"].dtype
    names = answers.groupby("context", sort=True).ngroup()  # contexts are numbered in their order
    assert (twin["context"] == names).all()
    assert not twin["p"].equals(answers["p"])
    assert twin.groupby("context")["theta"].nunique().eq(1).all()
    high = twin[twin["action"].notna()].groupby("action")["p"].mean()
    assert high["yes"] > high["defer"] > high["no"]


def test_another_wording_has_the_same_beliefs_and_its_own_noise(answers, twin):
    plain, drawn = (rows[rows["z_state"].isna()] for rows in (answers, twin))
    for prompt in ("standard", "mse"):
        wanted = scatter(plain[plain["prompt"] == prompt])
        assert scatter(drawn[drawn["prompt"] == prompt]) == pytest.approx(wanted, rel=0.12)
    means = drawn.groupby(["context", "prompt"])["p"].mean().unstack()
    # Means of five reports with noise .13 differ by .13 * sqrt(2 / 5), and by nothing else.
    assert (means["mse"] - means["standard"]).std() == pytest.approx(0.082, rel=0.25)


def test_a_wording_that_shifts_reports_does_not_shift_those_of_twins():
    agent = AGENTS["wordbound"].with_parameters(report_noise=0.1)
    runs = simulate(agent, n_contexts=120, n_reps=3, prompts=["standard", "bayes"], rng=1)
    twin = twin_of(runs)
    seen, drawn = (
        rows[rows["z_state"].isna()].groupby("prompt")["p"].mean() for rows in (runs, twin)
    )
    assert seen["bayes"] - seen["standard"] > 0.1
    assert drawn["bayes"] - drawn["standard"] == pytest.approx(0, abs=0.02)
    plain = twin[twin["z_state"].isna() & (twin["prompt"] == "bayes")]
    # The shift is not mistaken for noise.
    assert scatter(plain) == pytest.approx(0.095, rel=0.15)


def test_states_keep_their_names_and_two_columns_complement_each_other():
    runs = simulate("noisy", n_contexts=60, n_reps=3, iterated=False, rng=1, **ONE)
    named = runs.assign(theta=runs["theta"].map({0: "dry", 1: "rain"}))
    means = twin_of(named, positive="rain").groupby("theta")["p"].mean()
    assert set(means.index) == {"dry", "rain"}
    assert means["rain"] > 0.5
    twin = twin_of(runs.assign(p_0=1 - runs["p"], p_1=runs["p"]).drop(columns="p"))
    assert (twin["p_0"] + twin["p_1"]).to_numpy() == pytest.approx(np.ones(len(runs)))
    true = twin.groupby("theta")["p_1"].mean()
    assert true[1] > true[0] + 0.1


@pytest.mark.lengthy
@pytest.mark.parametrize("agent", ["noisy", "wordbound"])
def test_twins_average_out_whatever_the_agent_does(agent):
    def measure(result, name):
        return float(result.details.set_index("measure")["value"][name])

    runs = simulate(agent, n_contexts=100, n_reps=4, rng=1, **ONE)
    table, rng = table_of(runs), np.random.default_rng(2)
    seen, *gaps = (
        iterated_expectation_test(each, reference="standard", rng=1)
        for each in (runs, *(table.draw(rng) for _ in range(12)))
    )
    # The mean gap of twins is nothing, up to its error over contexts.
    error = (seen.interval.high - seen.interval.low) / 4
    assert abs(np.mean([gap.statistic for gap in gaps])) < 2.5 * error / np.sqrt(12) + 0.002
    if agent == "noisy":
        # They scatter over twins as the interval of the check says that they do.
        assert np.std([gap.statistic for gap in gaps]) == pytest.approx(error, rel=0.7)
        name = "noise floor (root-mean-square gap from repetitions alone)"
        floor = np.mean([measure(gap, name) for gap in gaps])
        assert floor == pytest.approx(measure(seen, name), rel=0.1)
    else:
        name = "root-mean-square gap, noise and rounding removed"
        assert max(measure(gap, name) for gap in gaps) < measure(seen, name) / 3


# Plans of twins: who has them, what is left out and why, and which side is extreme


def results_of(unit, names=LIGHT):
    jobs, _ = plan_evaluation(unit, names, published=False, seed=1)
    return [result for job in jobs for result in job.run()]


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=50, n_reps=3, prompts=["standard", "mse"], rng=1)


def test_every_check_but_those_that_say_why_not_runs_on_a_twin(runs):
    unit = EvaluationRows(runs)
    results = results_of(unit)
    plan, notes = plan_twins(unit, results, LIGHT)
    (drawn,) = plan.statistics([np.random.default_rng(1)])
    without = {"calibration:rmse", "calibration:calibration_error_exact", "calibration:ece_exact"}
    without |= {"iterated_expectation:random_forest", "evidence_leak", "action_information"}
    without |= {"scores", "scores:mse", "sufficiency"}
    shown = {each.check for each in with_twins(results, [drawn]) if each.twins is not None}
    assert shown == {result.check for result in results} - without
    assert np.isfinite([drawn[name] for name in shown]).all()
    assert {name for note in notes for name in note.checks} == without


def test_probabilities_of_actions_leave_beliefs_alone_to_twins():
    runs = simulate("noisy", n_contexts=50, n_reps=3, policies=True, rng=1, **ONE)
    plan, notes = plan_twins(EvaluationRows(runs), [], LIGHT)
    beliefs = {"prompt_consistency", "iterated_expectation", "calibration", "scores"}
    assert set(plan.checks) == beliefs | {"matching", "stakes"}
    assert notes[0].text.startswith("actions are probabilities")
    assert "cmi" in notes[0].checks
    (drawn,) = plan.statistics([np.random.default_rng(1)])
    assert "iterated_expectation" in drawn


def test_each_statistic_is_extreme_where_its_check_says():
    def result(check, statistic, *, pvalue=None, **settings):
        return CheckResult(check, "", statistic, "belief", None, pvalue, 9, 9, settings=settings)

    results = [
        result("residual_covariance", -2.0, pvalue=0.01),
        result("cmi", -2.0, pvalue=0.9),
        result("iterated_expectation", -2.0, pvalue=0.01),
        result("iterated_expectation:relative", 2.0),
        result("rational_agent", -0.5, pvalue=0.2, component="P(a | 1)"),
    ]
    names = [each.check for each in results]
    drawn = [dict.fromkeys(names, value) for value in np.linspace(-1, 1, 39)]
    *found, none = with_twins([*results, result("calibration:rmse", 0.1)], drawn)
    pvalues = [each.twins.pvalue for each in found]
    # Either side; above alone; either side; above alone; either side.
    assert pvalues == pytest.approx([2 / 40, 1, 2 / 40, 1 / 40, 2 * 11 / 40])
    assert none.twins is None
    assert np.isnan(found[-1].twins.noise_share)


def test_cmi_of_a_twin_is_what_it_tests_on_the_scale_of_what_the_original_shows():
    """Breaks if the twin has not the choice of windows that the original had, or another unit."""
    unit = EvaluationRows(simulate("leaky", n_contexts=50, n_reps=3, iterated=False, rng=3, **ONE))
    (result,) = results_of(unit, ("cmi",))
    windows = result.details.dropna(subset="contexts").set_index("contexts")
    largest = (windows["excess"] / windows["sd"]).max()
    (job,), _ = plan_evaluation(unit, ("cmi",), published=False, seed=1)
    agent = agent_of(unit)[0]

    def drawn(original, seed):
        data = ReferenceData({"cmi": original}, agent)
        return job.call.statistics(data, np.random.default_rng(seed))

    for window, shown in windows.iterrows():
        original = replace(result, settings={**result.settings, "window": window})
        mean = np.mean([drawn(original, seed)["cmi"] for seed in range(9)])
        # Standard deviations over 299 permutations vary by some percent.
        assert mean == pytest.approx(largest * shown["sd"], rel=0.1)
    assert result.statistic == pytest.approx(largest * windows["sd"][result.settings["window"]])
    assert set(drawn(replace(result, statistic=np.nan, settings={}), 0)) == {"cmi"}


# Through analyze

TESTS = ["residual_covariance", "iterated_expectation", "rational_agent"]
COLUMNS = ["twin_observed", "twin_median", "twin_low", "twin_high", "twin_pvalue", "noise_share"]


@pytest.fixture(scope="module")
def leaky():
    agent = AGENTS["leaky"].with_parameters(report_noise=0.1)
    runs = simulate(agent, n_contexts=120, n_reps=3, rng=1, **ONE)
    return runs.drop(columns=FEATURES)  # no forests


@pytest.fixture(scope="module")
def report(leaky):
    return analyze(leaky, checks=TESTS, twins=40, rng=5)


@pytest.mark.lengthy
def test_twins_stand_beside_results_that_are_as_they_were(leaky, report):
    without, changed = analyze(leaky, checks=TESTS, rng=5).results, ["n_twins", *COLUMNS]
    pd.testing.assert_frame_equal(
        report.results.drop(columns=changed), without.drop(columns=changed)
    )
    assert without[COLUMNS].isna().all(axis=None)
    assert (without["n_twins"] == 0).all()
    table = report.results.set_index("check")
    assert (table["n_twins"] == 40).all()
    assert table.loc["residual_covariance", "twin_pvalue"] < 0.05
    assert table.loc["iterated_expectation", "twin_pvalue"] > 0.05
    assert 0 < table.loc["residual_covariance", "noise_share"] < 0.8
    # A rejection comes with its sensitivity.
    (unit,) = report.evaluations
    assert unit.sensitivity.explains_interval > 0
    record = json.loads(report.to_json())["evaluations"][0]
    assert record["sensitivity"]["sentence"] == str(unit.sensitivity)
    assert record["sensitivity"]["curve"][0]["shared_noise"] == 0
    assert record["results"][0]["twin_median"] == report.results["twin_median"][0]


@pytest.mark.lengthy
def test_any_number_of_processes_gives_the_same_bytes(leaky, report):
    assert analyze(leaky, checks=TESTS, twins=40, n_jobs=2, rng=5).to_json() == report.to_json()


@pytest.mark.lengthy
def test_units_have_twins_of_their_own_and_progress_counts_them(leaky):
    other = simulate("noisy", n_contexts=15, n_reps=2, rng=2, **ONE)
    both, seen = pd.concat([leaky, other], ignore_index=True), []
    options = {"twins": 40, "rng": 5, "progress": lambda *said: seen.append(said)}
    report = analyze(both, checks=["residual_covariance"], **options)
    many, few = report.evaluations
    assert not any(result.twins for result in few.results)
    assert any(n.text.startswith("no rational twins were drawn: 15 contexts") for n in few.notes)
    assert many.results[0].twins.n_twins == 40
    twins = [done for done, _, label in seen if label == "twins"]
    assert twins == list(range(9))  # five to a task, and before the first


@pytest.mark.slow
def test_an_interrupt_leaves_no_files(leaky, tmp_path):
    runs, out = tmp_path / "runs.csv", tmp_path / "out"
    leaky.to_csv(runs, index=False)
    # A shell starts what runs in its background with the signal ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from coherence.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["analyze", str(runs), "--checks", ",".join(TESTS), "--twin", "2000"]
    command = [sys.executable, "-c", code, *words, "--n-jobs", "2", "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(out.iterdir()) == []


@pytest.mark.lengthy
def test_scatter_of_twins_alone_asks_for_no_result_that_the_data_lack():
    """Reports scatter just less than the test on context means asks for, those of twins more."""
    agent = AGENTS["noisy"].with_parameters(report_noise=0.03, grid=0.01)
    runs = simulate(agent, n_contexts=40, n_reps=2, rng=0, **ONE)
    report = analyze(runs[runs["action"].notna()], checks=["residual_covariance"], twins=40, rng=1)
    assert report.results["n_twins"].tolist() == [40]
