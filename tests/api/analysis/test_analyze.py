"""analyze: what runs, what is left out and said, and equal bytes for equal seeds."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from coherence import SchemaError, analyze, simulate
from coherence.checks import CHECKS
from coherence.checks.check import declaration
from coherence.runs.read import validate_runs

LIGHT = ["sufficiency", "cmi", "monotone_choice", "prompt_consistency"]
LIGHT += ["iterated_expectation", "calibration"]
PAIRED = ["sufficiency", "monotone_choice", "calibration"]
OF_FAMILY = ["pvalue_holm", "pvalue_bh", "n_tests"]


@pytest.fixture(scope="module")
def runs():
    return simulate("leaky", n_contexts=40, n_reps=2, rng=1)


@pytest.fixture(scope="module")
def asked(runs):
    return runs[runs["action"].notna()]


@pytest.fixture(scope="module")
def policies():
    return simulate("leaky", n_contexts=60, n_reps=1, rng=1, policies=True)


def by_check(runs, checks, **options):
    return analyze(runs, checks=checks, **{"rng": 1} | options).results.set_index("check")


def notes_of(report):
    return [note.text for note in report.evaluations[0].notes]


@pytest.mark.lengthy
def test_every_check_runs_on_a_full_table(runs):
    report = analyze(runs, rng=1)
    found = set(report.results["check"].str.split(":").str[0])
    by_name = {name for name in CHECKS if not declaration(name).by_itself(validate_runs(runs))}
    assert found == {*CHECKS} - by_name
    assert "predictive_gain:features" in set(report.results["check"])
    (note,) = notes_of(report)
    assert "exact posterior p_true" in note
    assert "--state realised" in note
    without = report.results[report.results["estimate"].isna()]
    assert set(without["check"]) <= {"threshold:lowest", "threshold:highest"}


@pytest.mark.lengthy
def test_same_seed_same_bytes_for_any_number_of_jobs_and_same_numbers_for_fewer_checks(runs):
    one = analyze(runs, checks=LIGHT, n_jobs=1, rng=5)
    assert analyze(runs, checks=LIGHT, n_jobs=2, rng=5).to_json() == one.to_json()
    assert analyze(runs, checks=LIGHT, n_jobs=1, rng=6).to_json() != one.to_json()
    alone = by_check(runs, ["monotone_choice"], rng=5).drop(columns=OF_FAMILY)
    everything = one.results.set_index("check").drop(columns=OF_FAMILY)
    pd.testing.assert_frame_equal(everything.loc[alone.index], alone)


def test_a_reference_is_analysed_as_if_it_had_the_usual_name():
    runs = simulate("noisy", n_contexts=30, n_reps=2, prompts=["standard", "mse"], rng=1)
    turned = runs.assign(prompt=runs["prompt"].map({"standard": "mse", "mse": "standard"}))
    one = analyze(turned, checks=["calibration"], reference="mse", rng=1)
    other = analyze(runs, checks=["calibration"], rng=1)
    pd.testing.assert_frame_equal(one.results, other.results)


def in_states(asked, first, second):
    """The same beliefs, one column per state; the first column is that of the second state."""
    columns = {f"p_{second}": asked["p"], f"p_{first}": 1 - asked["p"]}
    states = asked["theta"].map({0: first, 1: second})
    return asked.assign(**columns, theta=states).drop(columns="p")


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [
        (2, 10, "p_10"),
        pytest.param("no", "yes", "", marks=pytest.mark.lengthy),
        ("2", "10", "p_10"),
        (0.0, 1.0, ""),
    ],
)
def test_beliefs_go_to_the_state_that_their_column_names(asked, first, second, column):
    """Text sorts p_10 before p_2, and theta, whole numbers also as text, sorts the other way: the
    column must follow theta. Empty cells make whole numbers of theta end in .0, not columns."""
    table = in_states(asked, first, second)
    whole = table.rename(columns={"p_0.0": "p_0", "p_1.0": "p_1"})
    one = by_check(asked, PAIRED)["estimate"].to_dict()
    for each in (table, whole[whole.columns[::-1]]):
        report = analyze(each, checks=PAIRED, rng=1)
        found = report.results.set_index("check")["estimate"].to_dict()
        assert found == pytest.approx(one, abs=1e-6)
    note = f"theta: beliefs are those of the column {column}, the second of p_{first} and p_"
    assert any(said.startswith(note) for said in notes_of(report)) == bool(column)


def test_states_that_theta_does_not_name_are_not_guessed(asked):
    table = asked.assign(p_disease=asked["p"], p_healthy=1 - asked["p"]).drop(columns="p")
    with pytest.raises(SchemaError, match=r"named after 'disease', 'healthy'.*{'0': 'STATE'"):
        analyze(table, checks=["cmi"])
    named = table.assign(theta=table["theta"].map({0: "healthy", 1: "disease"}))
    brier = by_check(named, ["calibration"])["estimate"]["calibration:brier"]
    assert brier == pytest.approx(((asked["p"] - asked["theta"]) ** 2).mean())


def test_rows_without_a_state_are_left_out_of_what_needs_it_alone(asked):
    table = asked.drop(columns=["p_true"]).reset_index(drop=True)
    table["theta"] = table["theta"].where(table["context"].isin(table["context"].unique()[:15]))
    report = analyze(table, checks=["sufficiency", "monotone_choice"], rng=1)
    counts = report.results.set_index("check")["n_rows"]
    assert counts["sufficiency"] == 30
    assert counts["monotone_choice:yes/no"] > 30
    (note,) = [said for said in notes_of(report) if "left out" in said]
    assert note.startswith("50 of 80 rows with a parsed belief and action lack the state")


def test_published_procedures(runs):
    results = by_check(runs.filter(regex="^(?!x_)"), LIGHT, published=True)  # no forests
    assert results[~results.index.str.startswith("calibration")]["pvalue"].isna().all()
    assert "not controlled" in results.loc["cmi", "verdict"]


def test_degenerate_units_are_reported_not_raised(runs):
    table = pd.DataFrame({"p": np.linspace(0, 1, 20), "action": "yes", "theta": [0, 1] * 10})
    report = analyze(table, rng=1)
    row = report.results.set_index("check").loc["cmi"]
    assert np.isnan(row["estimate"])
    assert row["verdict"] == "Undefined: only one action was seen ('yes')."
    assert report.to_json()
    # A model that never answers readably
    report = analyze(runs.assign(p=np.nan, p_z=np.nan, action=None, status="unparsed"), rng=1)
    notes = "\n".join(notes_of(report))
    assert "no row has a parsed belief, action and state" in notes
    assert "no parsed belief under 'standard'" in notes
    assert report.results["estimate"].isna().all()
    assert report.to_html()
    assert report.to_json()


@pytest.mark.lengthy
def test_pvalues_are_adjusted_over_their_families(runs):
    """Further tests within their unit; the primary one over all units, by Benjamini-Hochberg."""
    both = pd.concat([runs, simulate("rational", n_contexts=40, n_reps=2, rng=1)])
    results = analyze(both, checks=[*LIGHT, "sufficiency"], rng=1).results
    tested = results[results["pvalue"].notna()].groupby("family")
    first = tested.get_group("primary")
    assert first["pvalue_holm"].isna().all()
    corrected = multipletests(first["pvalue"], method="fdr_bh")[1]
    assert first["pvalue_bh"].tolist() == pytest.approx(corrected.tolist())
    second = tested.get_group("second").groupby("model")
    assert len(second) == 2
    for _, of_unit in second:
        for name, method in (("pvalue_holm", "holm"), ("pvalue_bh", "fdr_bh")):
            corrected = multipletests(of_unit["pvalue"], method=method)[1]
            assert of_unit[name].tolist() == pytest.approx(corrected.tolist())
        assert set(of_unit["n_tests"]) == {len(of_unit)}


@pytest.mark.lengthy
@pytest.mark.parametrize(("n_contexts", "n_reps", "policies"), [(12, 1, False), (40, 2, True)])
def test_every_estimate_has_an_interval_or_says_why_not(n_contexts, n_reps, policies):
    runs = simulate("heaping", n_contexts=n_contexts, n_reps=n_reps, policies=policies, rng=1)
    # Parts of the Brier score have no interval that covers, which the page of scores says.
    checks = [name for name in CHECKS if name not in ("predictive_gain", "scores")]
    (unit,) = analyze(runs, checks=checks, rng=1).evaluations
    assert not [each.check for each in unit.results if not (each.interval or each.reason)]
