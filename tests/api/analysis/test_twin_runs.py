"""Twins through analyze: the same for any number of processes, and nothing else changes."""

import json
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from coherence import AGENTS, analyze, simulate

CHECKS = ["residual_covariance", "iterated_expectation", "rational_agent"]
COLUMNS = ["twin_observed", "twin_median", "twin_low", "twin_high", "twin_pvalue", "noise_share"]


@pytest.fixture(scope="module")
def leaky():
    from coherence import AGENTS

    agent = AGENTS["leaky"].with_parameters(report_noise=0.1)
    runs = simulate(agent, n_contexts=120, n_reps=3, prompts=["standard"], rng=1)
    return runs.drop(columns=[f"x_{number}" for number in range(1, 7)])  # no forests


@pytest.fixture(scope="module")
def report(leaky):
    return analyze(leaky, checks=CHECKS, twins=40, rng=5)


@pytest.mark.lengthy
def test_twins_stand_beside_results_that_are_as_they_were(leaky, report):
    without = analyze(leaky, checks=CHECKS, rng=5).results
    changed = ["n_twins", *COLUMNS]
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


@pytest.mark.lengthy
def test_a_rejection_comes_with_its_sensitivity(report):
    (unit,) = report.evaluations
    assert unit.sensitivity.explains_interval > 0
    record = json.loads(report.to_json())["evaluations"][0]
    assert record["sensitivity"]["sentence"] == str(unit.sensitivity)
    assert record["sensitivity"]["curve"][0]["shared_noise"] == 0
    assert record["results"][0]["twin_median"] == report.results["twin_median"][0]
    assert str(unit.sensitivity) in report.to_html()


@pytest.mark.lengthy
def test_any_number_of_processes_gives_the_same_bytes(leaky, report):
    assert analyze(leaky, checks=CHECKS, twins=40, n_jobs=2, rng=5).to_json() == report.to_json()


@pytest.mark.lengthy
def test_units_have_twins_of_their_own(leaky):
    other = simulate("noisy", n_contexts=15, n_reps=2, prompts=["standard"], rng=2)
    report = analyze(
        pd.concat([leaky, other], ignore_index=True),
        checks=["residual_covariance"],
        twins=40,
        rng=5,
    )
    few, many = report.evaluations[1], report.evaluations[0]
    assert [result.twins is None for result in few.results] == [True] * len(few.results)
    assert any(
        note.text.startswith("no rational twins were drawn: 15 contexts") for note in few.notes
    )
    assert many.results[0].twins.n_twins == 40


@pytest.mark.lengthy
def test_progress_counts_twins(leaky):
    seen = []
    analyze(
        leaky,
        checks=["residual_covariance"],
        twins=40,
        rng=1,
        progress=lambda *said: seen.append(said),
    )
    twins = [done for done, total, label in seen if label == "twins"]
    assert twins == sorted(twins)
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
    words = ["analyze", str(runs), "--checks", ",".join(CHECKS), "--twin", "2000"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--n-jobs", "2", "--out", str(out)],
        stderr=subprocess.PIPE,
        text=True,
    )
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
    runs = simulate(agent, n_contexts=40, n_reps=2, prompts=["standard"], rng=0)
    report = analyze(runs[runs["action"].notna()], checks=["residual_covariance"], twins=40, rng=1)
    assert report.results["n_twins"].tolist() == [40]
