"""random_forest_baseline: forests that can average out do, the denominators, labels, and what is
refused."""

import math
import subprocess
import sys

import numpy as np
import pytest

from coherence import random_forest_baseline, simulate


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=60, n_reps=2, prompts=["standard"], rng=1)


def quick(table, **options):
    return random_forest_baseline(table, **{"n_trees": 4} | options)


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


def test_constant_posteriors_leave_no_gap(runs):
    """Forests predict a constant exactly; weights that are not normalised would leave a gap."""
    result = quick(runs.assign(p_true=0.4, p_z=np.where(runs["z_state"].notna(), 0.6, np.nan)))
    assert result.statistic == pytest.approx(0, abs=1e-12)


def test_cases_alone_decide(runs):
    """Two models that were asked the same have the same baseline, whatever they said, in which
    order the answers came, and what the contexts were called."""
    exact = runs.assign(p_z_true=runs["p_z"])
    first = quick(exact)
    rng = np.random.default_rng(0)
    assert quick(exact.assign(p=0.5, p_z=rng.random(len(runs)))) == first
    names = {name: f"{k}" for k, name in enumerate(rng.permutation(runs["context"].unique()))}
    other = exact.sample(frac=1, random_state=1)
    other = other.assign(context=other["context"].map(names))
    again = quick(other)
    assert (again.statistic, again.interval) == (first.statistic, first.interval)
    table = again.details.assign(
        context=again.details["context"].map({v: k for k, v in names.items()})
    )
    wanted = first.details.set_index("context")["gap"]
    assert (table.set_index("context")["gap"].reindex(wanted.index) == wanted).all()


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


def test_predictions_are_out_of_sample(runs):
    """A feature that identifies the context would let a forest that has seen it repeat its
    posterior."""
    noise = runs.drop(columns=[f"x_{i}" for i in range(2, 7)]).assign(
        x_1=runs["context"].str[1:].astype(int) * 7919 % 60
    )
    shuffled = np.random.default_rng(0).permutation(noise["context"].unique())
    noise["x_1"] = noise["context"].map({context: float(i) for i, context in enumerate(shuffled)})
    table = quick(noise).details
    assert abs(np.corrcoef(table["belief"], table["p_true"])[0, 1]) < 0.4


def test_exact_distribution_of_z_is_preferred_where_present(runs):
    assert quick(runs).settings["weights_from"] == "p_z"
    exact = runs.assign(p_z_true=runs["p_z"], p_z=np.where(runs["p_z"].notna(), 0.5, np.nan))
    result = quick(exact)
    assert result.settings["weights_from"] == "p_z_true"
    assert result.statistic == quick(runs).statistic


def test_incomplete_contexts_are_left_out(runs):
    table = runs[~((runs["context"] == "c0003") & (runs["z_state"] == "1"))]
    result = quick(table)
    assert result.n_contexts == 59
    assert "c0003" not in set(result.details["context"])


def test_what_is_missing_is_said(runs):
    assert "column p_true is missing" in quick(runs.drop(columns="p_true")).reason
    assert math.isnan(quick(runs.drop(columns="p_true")).statistic)
    assert "no column starts with x_" in quick(runs.filter(regex="^(?!x_)")).reason
    assert "0 contexts" in quick(runs[runs["z_state"].isna()]).reason


def test_equal_gaps_have_no_interval_and_say_so(runs):
    """A half before z and a quarter after it, in every context: each gap is half of the belief."""
    result = quick(runs.assign(p_true=np.where(runs["z_state"].isna(), 0.5, 0.25)))
    assert (result.statistic, result.interval) == (0.5, None)
    assert result.reason == "no interval, because all contexts have the same gap"
    assert quick(runs).reason == ""


def test_names_of_rows_order_of_columns_and_kinds_of_labels_do_not_matter(runs):
    """Breaks if columns are joined by row labels that are not those of the table."""
    labels = runs.assign(x_7=np.where(runs["x_1"] > 0, "high", "low"))
    first = quick(labels)
    again = labels.set_axis(labels.index[::-1] + 1000)
    kinds = dict.fromkeys(("context", "z", "z_state", "x_7"), "category")
    for other in (again, labels.astype(kinds), labels[labels.columns[::-1]]):
        assert quick(other).statistic == first.statistic
        assert quick(other).details["gap"].tolist() == first.details["gap"].tolist()
    assert (first.check, first.unit) == ("iterated_expectation:random_forest", "of belief")


def test_a_prediction_of_zero_has_no_relative_gap(runs):
    """Breaks if it is divided by: the median would be infinite."""
    result = quick(runs.assign(p_true=np.where(runs["z_state"].isna(), 0.0, 0.25)))
    assert math.isnan(result.statistic)
    assert result.reason == "fewer than 10 contexts have a prediction above 0"


@pytest.mark.lengthy
def test_an_analysis_of_beliefs_given_z_loads_no_extra():
    """Breaks if what local models need is loaded by an analysis."""
    code = (
        "import sys, coherence; "
        "runs = coherence.simulate('rational', n_contexts=12, n_reps=1, rng=1); "
        "report = coherence.analyze(runs, full=True, rng=1); "
        "print('iterated_expectation:random_forest' in set(report.results['check'])); "
        "print({'torch', 'transformers', 'inspect_ai'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]


def test_labels_are_evidence_too(runs):
    label = np.where(runs["p_true"] > 0.5, "high", "low")
    table = quick(runs.filter(regex="^(?!x_)").assign(x_word=label)).details
    assert np.corrcoef(table["belief"], table["p_true"])[0, 1] > 0.7
