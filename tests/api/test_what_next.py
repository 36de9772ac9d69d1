"""What a report advises next follows from what it found."""

import pytest

from coherence import analyze, read_runs, simulate


@pytest.fixture(scope="module")
def example():
    return analyze(read_runs("examples/runs.parquet"), checks=["residual_covariance"], rng=0)


def test_the_example_names_one_agent_as_caught_and_one_of_which_tests_say_little(example):
    caught, passed = example.units
    assert (caught.model, passed.model) == ("planted-leaky", "smollm2")
    text = " ".join(str(example).split())
    first, second = text.split("asia · smollm2")
    assert "means of 80 contexts" in first
    assert "rejects" in first
    assert "Look at the figure and at what was said." in first
    assert "tests of belief against choice can see little here" in second
    assert "more contexts would show no more" in second
    page = example.to_html()
    assert page.count("<dt>What next</dt>") == 2


def test_a_pass_that_means_something_leads_to_power_and_margins():
    runs = simulate("rational", n_contexts=60, n_reps=3, rng=1)
    assert "coherence power --like" in str(analyze(runs, checks=["residual_covariance"], rng=1))
    estimates = analyze(runs, checks=["calibration"], rng=1)
    assert "What next" not in str(estimates)
