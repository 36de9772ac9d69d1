"""random_forest_baseline: forests that can average out do, and what decides it."""

import math

import numpy as np
import pytest

from coherence import random_forest_baseline, simulate


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=60, n_reps=2, prompts=["standard"], rng=1)


def quick(table, **options):
    return random_forest_baseline(table, **{"n_trees": 4} | options)


def test_constant_posteriors_leave_no_gap_and_equal_gaps_no_interval(runs):
    """Forests predict a constant exactly; weights that are not normalised would leave a gap."""
    plain = runs["z_state"].isna()
    result = quick(runs.assign(p_true=0.4, p_z=np.where(plain, np.nan, 0.6)))
    assert result.statistic == pytest.approx(0, abs=1e-12)
    # A half before z and a quarter after it, in every context: each gap is half of the belief.
    result = quick(runs.assign(p_true=np.where(plain, 0.5, 0.25)))
    assert (result.statistic, result.interval) == (0.5, None)
    assert result.reason == "no interval, because all contexts have the same gap"
    # A prediction of 0 has no relative gap: divided by, the median would be infinite.
    result = quick(runs.assign(p_true=np.where(plain, 0.0, 0.25)))
    assert math.isnan(result.statistic)
    assert result.reason == "fewer than 10 contexts have a prediction above 0"


def test_cases_alone_decide(runs):
    """Two models that were asked the same have the same baseline, whatever they said, in which
    order the answers came, and what contexts and rows were called."""
    exact = runs.assign(p_z_true=runs["p_z"], x_7=np.where(runs["x_1"] > 0, "high", "low"))
    first = quick(exact)
    rng = np.random.default_rng(0)
    assert quick(exact.assign(p=0.5, p_z=rng.random(len(runs)))) == first
    contexts = runs["context"].unique()
    names = dict(zip(contexts, rng.permutation(len(contexts)).astype(str), strict=True))
    other = exact.assign(context=exact["context"].map(names)).sample(frac=1, random_state=1)
    again = quick(other)
    assert (again.statistic, again.interval) == (first.statistic, first.interval)
    wanted = first.details.assign(context=first.details["context"].map(names))
    gaps = (each.set_index("context")["gap"].sort_index() for each in (again.details, wanted))
    assert next(gaps).equals(next(gaps))
    kinds = dict.fromkeys(("context", "z", "z_state", "x_7"), "category")
    for same in (exact.astype(kinds), exact[exact.columns[::-1]]):
        assert quick(same).details["gap"].tolist() == first.details["gap"].tolist()


def test_large_tables_are_cut_to_the_same_contexts_and_say_so(runs, monkeypatch):
    monkeypatch.setattr("coherence.checks.forest_baseline.MAX_CONTEXTS", 40)
    result = quick(runs)
    assert (result.n_contexts, len(result.details)) == (40, 40)
    assert result.settings["max_contexts"] == 40
    assert result.assumptions[1:] == (
        "40 of 60 contexts stand for all, the same ones for every model",
    )
    assert quick(runs.sample(frac=1, random_state=1)).statistic == result.statistic
    beliefs = result.details["p_true"]
    assert 0 < (beliefs < runs["p_true"].median()).sum() < 40  # not one end of the evidence
    monkeypatch.setattr("coherence.checks.forest_baseline.MAX_CONTEXTS", 60)
    assert quick(runs).assumptions == ("contexts are independent",)


def test_predictions_are_out_of_sample_and_words_are_evidence(runs):
    """A feature that identifies the context would let a forest that has seen it repeat its
    posterior."""
    plain = runs.filter(regex="^(?!x_)")
    numbers = np.random.default_rng(0).permutation(60)
    noise = plain.assign(x_1=numbers[runs["context"].factorize()[0]])
    word = plain.assign(x_word=np.where(runs["p_true"] > 0.5, "high", "low"))
    tables = (quick(table).details for table in (noise, word))
    of_noise, of_word = (np.corrcoef(each["belief"], each["p_true"])[0, 1] for each in tables)
    assert abs(of_noise) < 0.4
    assert of_word > 0.7


def test_exact_distribution_of_z_is_preferred_and_incomplete_contexts_are_left_out(runs):
    assert quick(runs).settings["weights_from"] == "p_z"
    exact = runs.assign(p_z_true=runs["p_z"], p_z=np.where(runs["p_z"].notna(), 0.5, np.nan))
    result = quick(exact)
    assert result.settings["weights_from"] == "p_z_true"
    assert result.statistic == quick(runs).statistic
    result = quick(runs[~((runs["context"] == "c0003") & (runs["z_state"] == "1"))])
    assert result.n_contexts == 59
    assert "c0003" not in set(result.details["context"])
    missing = quick(runs.drop(columns="p_true"))
    assert math.isnan(missing.statistic)
    assert "column p_true is missing" in missing.reason
    assert "no column starts with x_" in quick(runs.filter(regex="^(?!x_)")).reason
    assert "0 contexts" in quick(runs[runs["z_state"].isna()]).reason


def test_gap_is_that_of_the_predictions(runs):
    result = quick(runs)
    table = result.details
    assert result.statistic == pytest.approx(
        np.median((table["belief"] - table["reconstructed"]).abs() / table["belief"])
    )
    assert result.interval.low < result.statistic < result.interval.high
    assert result.statistic > 0.02  # well fitted, but nothing makes the predictions average out
    assert np.corrcoef(table["belief"], table["p_true"])[0, 1] > 0.3
    assert (result.n_contexts, result.n_rows, result.pvalue) == (60, 60, None)
