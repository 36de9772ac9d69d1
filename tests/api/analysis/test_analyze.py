"""analyze: what runs, what is left out and said, and equal bytes for equal seeds."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from coherence import InputError, analyze, simulate, validate_runs
from coherence.checks import CHECKS
from coherence.checks.catalogue import declaration
from coherence.checks.forest_baseline import NAME as FOREST
from coherence.table.notes import Code, Note

LIGHT = [
    "residual_covariance",
    "cmi",
    "monotone_choice",
    "prompt_consistency",
    "iterated_expectation",
    "calibration",
]


@pytest.fixture(scope="module")
def runs():
    return simulate("leaky", n_contexts=40, n_reps=2, rng=1)


@pytest.mark.lengthy
def test_every_check_runs_on_a_full_table(runs):
    report = analyze(runs, rng=1)
    found = set(report.results["check"].str.split(":").str[0])
    by_name = {name for name in CHECKS if not declaration(name).by_itself(validate_runs(runs))}
    assert found == {*CHECKS, "monotone_direction"} - by_name
    assert "predictive_gain:features" in set(report.results["check"])
    (note,) = report.evaluations[0].notes
    assert "exact posterior p_true" in note.text
    assert "--state realised" in note.text
    assert report.results["estimate"].notna().all()


@pytest.mark.lengthy
def test_same_seed_same_bytes_for_any_number_of_jobs(runs):
    one = analyze(runs, checks=LIGHT, n_jobs=1, rng=5).to_json()
    assert analyze(runs, checks=LIGHT, n_jobs=2, rng=5).to_json() == one
    assert analyze(runs, checks=LIGHT, n_jobs=1, rng=6).to_json() != one


@pytest.mark.lengthy
def test_fewer_checks_give_the_same_numbers(runs):
    everything = analyze(runs, checks=LIGHT, rng=5).results.set_index("check")
    alone = analyze(runs, checks=["monotone_choice"], rng=5).results.set_index("check")
    of_family = ["pvalue_holm", "pvalue_bh", "n_tests"]
    pd.testing.assert_frame_equal(
        everything.loc[alone.index].drop(columns=of_family), alone.drop(columns=of_family)
    )


@pytest.mark.lengthy
def test_units_are_analysed_apart():
    # As many contexts as a leak needs to be seen beside a unit without one.
    both = pd.concat(
        [simulate(name, n_contexts=80, n_reps=2, rng=1) for name in ("leaky", "rational")],
        ignore_index=True,
    )
    report = analyze(both, checks=["cmi"], rng=1)
    assert [(unit.model, unit.results[0].n_rows) for unit in report.evaluations] == [
        ("leaky", 160),
        ("rational", 160),
    ]
    assert report.evaluations[0].results[0].pvalue < 0.05


def test_unreadable_rows_are_counted_and_shown(runs):
    table = runs.assign(raw_belief="", raw_action="", status=runs["status"].astype(object))
    asked = table.index[table["action"].notna()][:3]
    table.loc[asked, ["status", "p", "raw_belief"]] = ["refused", np.nan, "I would rather not"]
    report = analyze(table, checks=["cmi", "calibration"], rng=1)
    unit = report.evaluations[0]
    assert {result.n_dropped for result in unit.results} == {3}
    assert unit.results[0].n_rows == 77
    counts = unit.statuses.set_index(["question", "status"])["rows"]
    assert counts["standard, with action", "refused"] == 3
    assert counts["standard, with action", "ok"] == 77
    assert unit.unreadable["raw_belief"].tolist() == ["I would rather not"] * 3
    assert any("3 of 80 rows lack a parsed belief" in note.text for note in unit.notes)


@pytest.mark.lengthy
def test_the_reference_does_not_depend_on_the_order_of_rows():
    """Two wordings, neither of them the usual one, with an action under both."""
    runs = simulate("leaky", n_contexts=60, n_reps=1, prompts=("standard",), iterated=False, rng=1)
    runs = runs[["context", "p", "action", "theta"]]
    other = runs.assign(prompt="b", p=(runs["p"] ** 2).round(2))
    both = pd.concat([runs.assign(prompt="a"), other], ignore_index=True)
    first, second = (
        analyze(table, checks=["residual_covariance"], rng=1)
        for table in (both, both.iloc[::-1].reset_index(drop=True))
    )
    assert first.results["pvalue"].tolist() == pytest.approx(second.results["pvalue"].tolist())
    note = (
        "the reference prompt is 'a': 60 of 120 rows are under others (b) and enter no check, "
        "60 of them with an action (--reference NAME takes another)."
    )
    assert Note(Code.REFERENCE, note) in first.evaluations[0].notes
    assert Note(Code.REFERENCE, note) in second.evaluations[0].notes
    named = analyze(both, checks=["residual_covariance"], reference="b", rng=1)
    alone = analyze(other, checks=["residual_covariance"], rng=1)
    assert named.results["estimate"].tolist() == alone.results["estimate"].tolist()
    assert named.settings["reference"] == "b"
    with pytest.raises(InputError, match="reference must be a prompt of the table; received 'c'"):
        analyze(both, reference="c")


PAIRED = ["residual_covariance", "monotone_choice", "calibration"]


def in_states(runs, first, second, **columns):
    """The same beliefs, one column per state; the first column is that of the second state."""
    asked = runs[runs["action"].notna()]
    table = asked.assign(
        **{f"p_{second}": asked["p"], f"p_{first}": 1 - asked["p"], **columns}
    ).drop(columns="p")
    return table.assign(theta=table["theta"].map({0: first, 1: second}))


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [
        (2, 10, "p_10"),
        pytest.param("no", "yes", "", marks=pytest.mark.lengthy),
        pytest.param("dry", "rain", "p_rain", marks=pytest.mark.lengthy),
        ("10", "2", "p_2"),
        (0.0, 1.0, ""),
    ],
)
def test_beliefs_go_to_the_state_that_their_column_names(runs, first, second, column):
    """Text sorts p_10 before p_2, and theta as numbers sorts the other way: the column must follow
    theta."""
    table = in_states(runs, first, second)
    whole = table.rename(
        columns={"p_0.0": "p_0", "p_1.0": "p_1"}
    )  # empty cells make whole numbers of theta end in .0, not those of the columns
    one = analyze(runs[runs["action"].notna()], checks=PAIRED, rng=1)
    for each in (table, whole, whole[whole.columns[::-1]]):
        report = analyze(each, checks=PAIRED, rng=1)
        assert report.results["check"].tolist() == one.results["check"].tolist()
        assert report.results["estimate"].tolist() == pytest.approx(
            one.results["estimate"].tolist(), abs=1e-6
        )
    second = f"the second of p_{first} and p_{second} in sorted order."
    note = f"theta: beliefs are those of the column {column}, {second}"
    assert (Note(Code.STATE, note) in report.evaluations[0].notes) == bool(column)


@pytest.mark.lengthy
def test_states_that_theta_does_not_name_are_not_guessed(runs):
    asked = runs[runs["action"].notna()]
    table = asked.assign(p_disease=asked["p"], p_healthy=1 - asked["p"]).drop(columns="p")
    report = analyze(table, checks=[*PAIRED, "cmi"], rng=1)
    assert report.results["check"].tolist() == [
        "cmi"
    ]  # equal information whichever belief is which
    assert tuple(map(str, report.evaluations[0].notes)) == (
        "theta is 0 or 1, and the columns of beliefs are p_disease and p_healthy, so that it is"
        " not known which belief is in which state: "
        "residual covariance, monotone choice and calibration were not run.",
        "To have them run, name each column of beliefs p_<state> after a value of theta, or "
        "give theta the names in the columns.",
    )
    assert report.to_html()
    named = table.assign(theta=table["theta"].map({0: "healthy", 1: "disease"}))
    brier = analyze(named, checks=PAIRED, rng=1).results.set_index("check")["estimate"][
        "calibration:brier"
    ]
    assert brier == pytest.approx(((asked["p"] - asked["theta"]) ** 2).mean())


def test_one_state_seen_is_found_among_the_columns(runs):
    table = in_states(runs, "no", "yes")
    came = table[table["theta"] == "yes"]
    brier = analyze(came, checks=["calibration"], rng=1).results.set_index("check")["estimate"][
        "calibration:brier"
    ]
    assert brier == pytest.approx(((came["p_yes"] - 1) ** 2).mean())


def test_a_report_without_a_check_has_the_usual_columns(runs):
    asked = runs[runs["action"].notna()]
    table = asked.assign(p_disease=asked["p"], p_healthy=1 - asked["p"]).drop(columns="p")
    nothing, usual = (
        analyze(table, checks=["calibration"], rng=1).results,
        analyze(asked, checks=["calibration"], rng=1).results,
    )
    assert len(nothing) == 0
    assert nothing.columns.tolist() == usual.columns.tolist()
    assert nothing.dtypes.tolist() == usual.dtypes.tolist()


def test_rows_without_a_state_are_left_out_of_what_needs_it_alone(runs):
    table = runs[runs["action"].notna()].drop(columns=["p_true"]).reset_index(drop=True)
    table["theta"] = table["theta"].where(table["context"].isin(table["context"].unique()[:15]))
    report = analyze(table, checks=["residual_covariance", "monotone_choice"], rng=1)
    counts = report.results.set_index("check")["n_rows"]
    assert counts["residual_covariance"] == 30
    assert counts["monotone_choice:yes/no"] > 30
    note = (
        "50 of 80 rows with a parsed belief and action lack the state and were left out "
        "of the checks that need it."
    )
    assert [note] == [said for said in map(str, report.evaluations[0].notes) if "left out" in said]


def test_published_procedures(runs):
    results = analyze(runs, checks=LIGHT, published=True, rng=1).results.set_index("check")
    tests = results.drop(
        index=[check for check in results.index if check.startswith("calibration")]
    )
    assert tests["pvalue"].isna().all()
    assert "not controlled" in results.loc["cmi", "verdict"]


def test_degenerate_units_are_reported_not_raised():
    table = pd.DataFrame({"p": np.linspace(0, 1, 20), "action": "yes", "theta": [0, 1] * 10})
    report = analyze(table, rng=1)
    row = report.results.set_index("check").loc["cmi"]
    assert np.isnan(row["estimate"])
    assert row["verdict"] == "Undefined: only one action was seen ('yes')."
    assert report.to_json()


@pytest.mark.lengthy
def test_pvalues_are_adjusted_over_their_families(runs):
    """Further tests within their unit; the primary one over all units, by Benjamini-Hochberg."""
    both = pd.concat(
        [runs, simulate("rational", n_contexts=40, n_reps=2, rng=1)], ignore_index=True
    )
    results = analyze(both, checks=[*LIGHT, "sufficiency"], rng=1).results
    tested = results[results["pvalue"].notna()].groupby("family")
    first = tested.get_group("primary")
    assert first["pvalue_holm"].isna().all()
    assert first["pvalue_bh"].tolist() == pytest.approx(
        multipletests(first["pvalue"], method="fdr_bh")[1].tolist()
    )
    second = tested.get_group("second").groupby("model")
    assert len(second) == 2
    for _, of_unit in second:
        for name, method in (("pvalue_holm", "holm"), ("pvalue_bh", "fdr_bh")):
            corrected = multipletests(of_unit["pvalue"], method=method)[1]
            assert of_unit[name].tolist() == pytest.approx(corrected.tolist())
        assert set(of_unit["n_tests"]) == {len(of_unit)}
    assert tested.get_group("part")["pvalue_holm"].isna().all()


def test_a_model_that_never_answers_readably_is_reported_not_raised(runs):
    silent = runs.assign(p=np.nan, p_z=np.nan, action=None, status="unparsed")
    report = analyze(silent, rng=1)
    notes = "\n".join(map(str, report.evaluations[0].notes))
    assert "no row has a parsed belief, action and state" in notes
    assert "no parsed belief under 'standard'" in notes
    assert report.results["estimate"].isna().all()
    assert report.to_html()
    assert report.to_json()


NO_ACTION = (
    "no action column (--action NAME, if it has another name): "
    "residual covariance, cmi, predictive gain, monotone choice, rational agent, evidence leak and "
    "sufficiency were not run."
)


@pytest.mark.lengthy
def test_beliefs_without_actions_get_every_other_check(runs):
    """The same numbers as beside actions, and the others are named as not run."""
    full, report = (
        analyze(table, checks=None if "action" not in table else LIGHT, rng=1)
        for table in (runs, runs.drop(columns="action"))
    )
    of_beliefs = full.results["check"].str.contains("calibration|prompt|iterated")
    of_beliefs &= full.results["check"] != FOREST  # which must be named
    adjusted = ["pvalue_holm", "pvalue_bh", "n_tests"]
    pd.testing.assert_frame_equal(
        report.results.drop(columns=adjusted),
        full.results[of_beliefs].drop(columns=adjusted).reset_index(drop=True),
    )
    assert [note.text for note in report.evaluations[0].notes] == [NO_ACTION]
    assert "standard, with action" not in set(report.evaluations[0].statuses["question"])
    assert set(report.evaluations[0].bounds["quantity"]) == {"mean belief"}


@pytest.mark.lengthy
def test_actions_without_states_are_tested_for_order_alone(runs):
    table = runs[runs["action"].notna()]
    report = analyze(table[["context", "rep", "p", "action"]], rng=1)
    same = analyze(table, checks=["monotone_choice"], rng=1)
    assert report.results["check"].tolist() == same.results["check"].tolist()
    expected = same.results["pvalue"].tolist()
    assert report.results["pvalue"].tolist() == pytest.approx(expected, nan_ok=True)
    notes = [note.text for note in report.evaluations[0].notes]
    lacking = "no theta column (--truth NAME, if it has another name): residual covariance, "
    said = next(note for note in notes if note.startswith(lacking))
    for name in ("rational agent", "sufficiency", "cmi", "predictive gain"):
        assert name in said
    assert "neither theta nor p_true: calibration was not estimated." in notes


@pytest.mark.lengthy
def test_rows_that_asked_for_no_action_are_not_unreadable(runs):
    """Ten beliefs without an action: they stay in the calibration and leave the other checks
    without being counted as dropped."""
    table = runs.reset_index(drop=True)
    spared = table.index[table["action"].notna()][:10]
    table.loc[spared, "action"] = None
    report = analyze(table, checks=["residual_covariance", "monotone_choice", "calibration"], rng=1)
    counts = report.results.set_index("check")[["n_rows", "n_dropped"]]
    assert counts.loc["residual_covariance"].tolist() == [70, 0]
    assert counts.loc["calibration:brier"].tolist() == [80, 0]
    assert (counts["n_dropped"] == 0).all()
    asked = report.evaluations[0].statuses.set_index(["question", "status"])["rows"]
    assert (asked["standard", "ok"], asked["standard, with action", "ok"]) == (10, 70)
    assert (
        report.evaluations[0].notes[0].text
        == "10 of 80 rows asked for no action: the checks of belief against action leave them out."
    )
    dropped = analyze(table.drop(index=spared), checks=["residual_covariance"], rng=1).results
    assert dropped["pvalue"].tolist() == report.results["pvalue"].head(1).tolist()


@pytest.mark.lengthy
def test_answers_that_never_differ_have_no_interval_and_say_why():
    """A model that gives one answer in every wording, and whose beliefs average out exactly, shows
    nothing of its own error."""
    runs = simulate("rational", n_contexts=30, n_reps=2, rng=3)
    same = runs.assign(p=0.5, p_z=0.5)
    results = analyze(same, checks=("prompt_consistency", "iterated_expectation"), rng=0).results
    untested = results[
        results["check"].ne("iterated_expectation:random_forest")
        & results["check"].ne("iterated_expectation:relative")
    ]
    assert len(untested) == 5
    assert untested["low"].isna().all()
    assert (
        untested["reason"]
        .str.contains("no interval, because all contexts have the same|every gap is exactly zero")
        .all()
    )


@pytest.mark.lengthy
def test_without_repetition_numbers_no_auxiliary_variable_is_lost():
    runs = simulate("rational", n_contexts=30, n_reps=1, rng=3)
    given = runs[runs["z_state"].notna()]
    two = pd.concat([runs, given.assign(z="another")], ignore_index=True)
    results = [
        analyze(table, checks=["iterated_expectation"], rng=0).results
        for table in (two, two.drop(columns="rep"))
    ]
    assert results[0]["n_rows"][0] == results[1]["n_rows"][0] == 60
    assert results[1]["n_dropped"][0] == 0


@pytest.fixture(scope="module")
def policies():
    return simulate("leaky", n_contexts=60, n_reps=1, rng=1, policies=True)


def test_every_check_runs_on_probabilities_of_actions(policies):
    report = analyze(policies, checks=LIGHT, rng=1)
    results = report.results.set_index("check")
    pairs = {f"monotone_choice:{pair}" for pair in ("yes/no", "yes/defer", "defer/no")}
    assert {"residual_covariance", "cmi", "monotone_direction", *pairs} <= set(results.index)
    assert results.loc[["residual_covariance", "cmi", *sorted(pairs)], "pvalue"].notna().all()
    assert report.evaluations[0].answering.policies
    said = "actions are probabilities that were computed"
    assert said in str(report)
    assert said.capitalize() in report.to_html()
    assert '"actions": "probabilities"' in report.to_json()


@pytest.mark.lengthy
def test_tasks_with_actions_of_their_own_are_analysed_apart(policies):
    asked = policies[policies["action_yes"].notna()]
    other = asked.rename(columns={"action_yes": "action_go", "action_no": "action_stay"})
    both = pd.concat([asked, other.assign(task="other")], ignore_index=True)
    report = analyze(both, checks=["monotone_choice"], rng=1)
    tested = report.results.groupby("task")["check"].agg(set)
    assert "monotone_choice:defer/go" in tested["other"]
    assert not any("go" in check for check in tested["simulated"])


@pytest.mark.lengthy
def test_the_way_of_answering_is_part_of_the_report(policies):
    """A median of .4 is cautioned, and the smallest mass is said."""
    told = policies.assign(belief_kind="stated:exact", answer_mass=0.4)
    told.loc[0, "answer_mass"] = 1.8e-6
    report = analyze(told, checks=["calibration"], rng=1)
    assert "warning: the form of the answers had a median probability of 0.400" in str(report)
    assert "Warning: the form of the answers" in report.to_html()
    assert '"median": 0.4' in report.to_json()
    plain = analyze(policies.drop(columns=["action_yes", "action_no", "action_defer"]), rng=1)
    assert "answering" not in plain.to_json()


@pytest.mark.lengthy
def test_computed_beliefs_have_no_noise_to_remove(policies):
    """One repetition is enough, and the distance between prompts is taken as it is."""
    drawn = analyze(policies, checks=["prompt_consistency", "iterated_expectation"], rng=1).results
    told = policies.assign(belief_kind="stated:exact")
    exact = analyze(told, checks=["prompt_consistency", "iterated_expectation"], rng=1).results
    lifted = ["prompt_consistency:mse", "iterated_expectation:noise_removed"]
    assert drawn.set_index("check").loc[lifted, "estimate"].isna().all()
    assert exact.set_index("check").loc[lifted, "estimate"].notna().all()


def test_notes_on_chosen_actions_are_no_probabilities(runs):
    noted = runs.assign(action_note="quick")
    silent = noted.assign(task="silent", action=None)
    report = analyze(pd.concat([noted, silent]), checks=["calibration"], rng=1)
    assert [unit.answering.policies for unit in report.evaluations] == [False, False]


@pytest.mark.lengthy
@pytest.mark.parametrize(("n_contexts", "n_reps", "policies"), [(12, 1, False), (40, 2, True)])
def test_every_estimate_has_an_interval_or_says_why_not(n_contexts, n_reps, policies):
    runs = simulate("heaping", n_contexts=n_contexts, n_reps=n_reps, policies=policies, rng=1)
    # Parts of the Brier score have no interval that covers, which the page of scores says.
    checks = [name for name in CHECKS if name not in ("predictive_gain", "scores")]
    report = analyze(runs, checks=checks, rng=1)
    bare = [
        result.check
        for result in report.evaluations[0].results
        if result.interval is None and not result.reason
    ]
    assert bare == []


@pytest.mark.lengthy
def test_a_unit_of_beliefs_given_z_alone_stops_no_other():
    runs = simulate("noisy", n_contexts=20, n_reps=2, rng=1)
    given = runs.drop_duplicates("context").assign(action=None, model="given")
    given = given.assign(z="test", z_state="positive", p_z=0.5)
    report = analyze(pd.concat([runs, given]), checks=["calibration"], rng=1)
    untestable, whole = sorted(report.evaluations, key=lambda unit: unit.model != "given")
    assert not untestable.results
    assert any("untestable" in note.text for note in untestable.notes)
    assert whole.results
    assert "untestable" in report.to_html()
