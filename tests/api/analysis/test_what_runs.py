"""Which checks a table gets, and what a report says of those that it lacks.

Breaks if a check is run on what it cannot use, or left out without a word.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze, simulate

EXACT = ["calibration:rmse", "calibration:calibration_error_exact", "calibration:ece_exact"]
HAPPENED = ["calibration:brier", "calibration:calibration_error", "calibration:ece"]
ITERATED = [f"iterated_expectation{name}" for name in ("", ":relative", ":noise_removed")]


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=14, n_reps=2, rng=0)


def asked(runs):
    return runs[runs["action"].notna()].reset_index(drop=True)


def chosen(label):
    """Another action wherever there was one; `label` takes the number of the answer."""

    def change(runs):
        there = runs["action"].notna()
        labels = [
            label(number) if has else None
            for number, has in zip(there.cumsum(), there, strict=True)
        ]
        return runs.assign(action=labels)

    return change


def three_states(runs):
    belief = np.random.default_rng(0).dirichlet([2, 2, 2], len(runs))
    table = asked(runs).assign(
        theta=lambda rows: rows["context"].map(lambda name: "abc"[int(name[1:]) % 3])
    )
    return table.drop(columns="p").assign(
        **{f"p_{state}": belief[: len(table), column] for column, state in enumerate("abc")}
    )


def without_answers(runs):
    lost = runs["prompt"] == "bayes"
    return runs.assign(p=runs["p"].mask(lost)).drop(columns="status")


# Checks asked for, what is changed in the table, the results, and words of the note.
TABLES = {
    "p_true in some rows": (
        "calibration",
        lambda runs: asked(runs).assign(p_true=lambda rows: rows["p_true"].where(rows.index < 10)),
        [*EXACT, *HAPPENED],
        "p_true is known in 10 of 28 rows",
    ),
    "no p_true": ("calibration", lambda runs: runs.assign(p_true=np.nan), HAPPENED, "no p_true"),
    "no theta": ("calibration", lambda runs: runs.assign(theta=None), EXACT, "no theta"),
    "no target": (
        "calibration",
        lambda runs: runs.assign(p_true=np.nan, theta=None),
        [],
        "neither theta nor p_true",
    ),
    "one prompt": (
        "prompt_consistency",
        lambda runs: runs[runs["prompt"] == "standard"],
        [],
        "only one prompt",
    ),
    "a prompt that was never parsed": (
        "prompt_consistency",
        without_answers,
        ["prompt_consistency:absolute", "prompt_consistency:mse"],
        "no parsed belief under 'bayes'",
    ),
    "no beliefs given z": (
        "iterated_expectation",
        lambda runs: runs[runs["z_state"].isna()].drop(columns=["z", "z_state", "p_z"]),
        [],
        "no z, z_state and p_z columns",
    ),
    "no exact posterior for the forests": (
        "iterated_expectation",
        lambda runs: runs.drop(columns="p_true"),
        ITERATED,
        "no p_true or no x_ columns",
    ),
    "actions without a known order": (
        "monotone_choice",
        chosen(lambda number: ("treat", "wait")[number % 2]),
        ["monotone_choice:treat/wait"],
        "tested in either direction",
    ),
    "one action": ("monotone_choice", chosen(lambda number: "no"), [], "only the action 'no'"),
    "no actions": ("monotone_choice", chosen(lambda number: None), [], "no actions"),
    "no states": ("cmi", lambda runs: runs.assign(theta=None), [], "theta is empty: cmi"),
    "states without a word": (
        "cmi",
        lambda runs: runs.assign(theta=runs["theta"].map({0: "nein", 1: "ja"})),
        ["cmi"],
        "nothing says which state p is the probability of",
    ),
    "no evidence": (
        "predictive_gain",
        lambda runs: asked(runs).filter(regex="^(?!x_)"),
        ["predictive_gain"],
        "no x_ columns",
    ),
    "three states": (
        "cmi,monotone_choice,calibration,rational_agent",
        three_states,
        ["cmi"],
        "beliefs over 3 states: monotone choice",
    ),
    "three states and a belief in one": (
        "monotone_choice,calibration",
        lambda runs: asked(runs).assign(
            theta=lambda rows: rows["context"].map(lambda name: int(name[1:]) % 3)
        ),
        EXACT,
        "theta has 3 states: monotone choice",
    ),
    "no context": (
        "cmi",
        lambda runs: asked(runs)[["p", "action", "theta"]],
        ["cmi"],
        "no context column: every row was taken as its own context",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_what_a_table_lacks_is_left_out_and_said(name, runs):
    checks, change, expected, words = TABLES[name]
    report = analyze(change(runs), checks=checks.split(","), rng=0)
    assert list(report.results["check"]) == expected
    assert [note for note in map(str, report.evaluations[0].notes) if words in note]


def test_forests_run_in_full_alone_and_move_no_other_number(runs):
    beliefs = runs.drop(columns="action")
    quick, full = (analyze(beliefs, full=full, rng=0).results for full in (False, True))
    forests = full["check"].eq("iterated_expectation:random_forest")
    assert forests.sum() == 1
    pd.testing.assert_frame_equal(full[~forests].reset_index(drop=True), quick)


def test_seven_actions_are_tested_by_pairs_only(runs):
    report = analyze(chosen(lambda number: str(number % 7))(runs), checks=["monotone_choice"])
    assert len(report.results) == 21
    assert any("7 actions are more than 6" in note.text for note in report.evaluations[0].notes)


def test_probabilities_of_actions_of_which_none_was_parsed_leave_the_beliefs():
    runs = simulate("leaky", n_contexts=40, n_reps=1, policies=True, rng=1)
    actions = [name for name in runs if name.startswith("action_")]
    unread = runs.assign(status="unparsed", **dict.fromkeys(actions, np.nan))
    checks = {result.check for result in analyze(unread, rng=1).results.itertuples()}
    assert "calibration" in {name.partition(":")[0] for name in checks}
    assert "sufficiency" not in checks


def test_prompts_alone_are_compared(runs):
    plain = runs.loc[runs["z_state"].isna(), ["context", "rep", "prompt", "p"]]
    names = set(analyze(plain, rng=1).results["check"])
    assert names == {f"prompt_consistency:{prompt}" for prompt in ("absolute", "bayes", "mse")}


def test_what_a_check_gives_besides_its_test_is_in_its_details(runs):
    results = analyze(runs, checks=["iterated_expectation"], rng=0).evaluations[0].results
    details = results[0].details.set_index("measure")
    for result in results[1:3]:
        row = details.loc[result.null]
        assert (result.statistic, result.pvalue) == (row["value"], None)
        assert (result.interval.low, result.interval.high) == (row["low"], row["high"])


def test_gaps_of_a_single_context_are_said_beside_their_size():
    runs = simulate("rational", n_contexts=20, n_reps=2, prompts=["standard"], rng=1)
    moved = runs["context"].eq("c0003") & runs["z_state"].isna()
    runs.loc[moved, "p"] = (runs.loc[moved, "p"] + 0.4) % 1
    results = analyze(runs, checks=["iterated_expectation"], rng=0).evaluations[0].results
    share = results[0].settings["share_of_largest_tenth"]
    assert share > 0.9
    assert f"{share:.0%} of squares" in results[2].assumptions[-1]


def test_one_probability_and_three_states_are_tested_once_the_state_is_named(runs):
    """At equal p, evidence for another state may move the choices of a coherent agent."""
    table = asked(runs).assign(
        theta=lambda rows: rows["context"].map(lambda name: "abc"[int(name[1:]) % 3])
    )
    with pytest.raises(InputError, match="--positive LABEL.*p_<state>"):
        analyze(table, checks=["cmi"], rng=1)
    named = analyze(table, checks=["cmi"], positive="b", rng=1).results
    binary = analyze(table.assign(theta=(table["theta"] == "b") * 1), checks=["cmi"], rng=1).results
    assert named["pvalue"].tolist() == binary["pvalue"].tolist()
