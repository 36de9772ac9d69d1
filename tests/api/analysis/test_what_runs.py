"""Which checks a table gets, and what a report says of those that it lacks.

Breaks if a check is run on what it cannot use, or left out without a word.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze, simulate

EXACT, HAPPENED = ["calibration:rmse"], ["calibration:brier"]
ITERATED = [f"iterated_expectation{name}" for name in ("", ":relative", ":noise_removed")]
PROMPTS = [f"prompt_consistency:{prompt}" for prompt in ("absolute", "bayes", "mse")]


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=14, n_reps=2, rng=0)


def asked(runs):
    return runs[runs["action"].notna()].reset_index(drop=True)


def chosen(label):
    """Another action wherever there was one; `label` takes the number of the answer."""

    def change(runs):
        there = runs["action"].notna()
        numbers = zip(there.cumsum(), there, strict=True)
        return runs.assign(action=[label(number) if has else None for number, has in numbers])

    return change


def in_three(runs):
    rows = asked(runs)
    return rows.assign(theta=rows["context"].map(lambda name: "abc"[int(name[1:]) % 3]))


def three_states(runs):
    table = in_three(runs)
    belief = np.random.default_rng(0).dirichlet([2, 2, 2], len(table))
    return table.drop(columns="p").assign(p_a=belief[:, 0], p_b=belief[:, 1], p_c=belief[:, 2])


def partly_exact(runs):
    rows = asked(runs)
    return rows.assign(p_true=rows["p_true"].where(rows.index < 10))


def without_answers(runs):
    return runs.assign(p=runs["p"].mask(runs["prompt"] == "bayes")).drop(columns="status")


CALIBRATION, CMI, ORDER = ["calibration"], ["cmi"], ["monotone_choice"]
# Checks asked for, what is changed in the table, the results, and words of the note.
TABLES = [
    (CALIBRATION, partly_exact, [*EXACT, *HAPPENED], "p_true is known in 10 of 28 rows"),
    (CALIBRATION, lambda runs: runs.assign(p_true=np.nan), HAPPENED, "no p_true"),
    (CALIBRATION, lambda runs: runs.assign(theta=None), EXACT, "no theta"),
    (CALIBRATION, lambda runs: runs.assign(p_true=np.nan, theta=None), [], "neither theta nor p_"),
    (PROMPTS, lambda runs: runs[runs["prompt"] == "standard"], [], "only one prompt"),
    (PROMPTS, without_answers, [PROMPTS[0], PROMPTS[2]], "no parsed belief under 'bayes'"),
    (
        ITERATED,
        lambda runs: runs.drop(columns=["z", "z_state", "p_z"]),
        [],
        "no z, z_state and p_z",
    ),
    (ITERATED, lambda runs: runs.drop(columns="p_true"), ITERATED, "no p_true or no x_ columns"),
    (ORDER, chosen(lambda n: ("a", "b")[n % 2]), ["monotone_choice:a/b"], "in either direction"),
    (ORDER, chosen(lambda number: "no"), [], "only the action 'no'"),
    (ORDER, chosen(lambda number: None), [], "no actions"),
    (CMI, lambda runs: runs.assign(theta=None), [], "theta is empty: cmi"),
    (
        CMI,
        lambda runs: runs.assign(theta=runs["theta"].map({0: "j", 1: "n"})),
        CMI,
        "which state p",
    ),
    (
        CMI,
        lambda runs: asked(runs)[["p", "action", "theta"]],
        CMI,
        "every row was taken as its own",
    ),
    (CMI + ORDER + CALIBRATION, three_states, CMI, "3 states: monotone choice"),
    (
        ORDER + CALIBRATION,
        lambda runs: in_three(runs).assign(theta=lambda rows: rows["theta"].map("abc".index)),
        *(EXACT, "theta has 3 states: monotone choice"),
    ),
    pytest.param(
        ["predictive_gain"],
        lambda runs: asked(runs).filter(regex="^(?!x_)"),
        *(["predictive_gain"], "no x_ columns"),
        marks=pytest.mark.lengthy,
    ),
]


@pytest.mark.parametrize(("checks", "change", "expected", "words"), TABLES)
def test_what_a_table_lacks_is_left_out_and_said(checks, change, expected, words, runs):
    names = list(dict.fromkeys(name.partition(":")[0] for name in checks))
    table = change(runs)
    if checks is ITERATED and "z" not in table:
        table = table[runs["z_state"].isna()]
    report = analyze(table, checks=names, rng=0)
    assert list(report.results["check"]) == expected
    assert [note for note in map(str, report.evaluations[0].notes) if words in note]


@pytest.mark.lengthy
def test_forests_run_in_full_alone_and_move_no_other_number(runs):
    beliefs = runs.drop(columns="action")
    quick, full = (analyze(beliefs, full=full, rng=0).results for full in (False, True))
    forests = full["check"].eq("iterated_expectation:random_forest")
    assert forests.sum() == 1
    pd.testing.assert_frame_equal(full[~forests].reset_index(drop=True), quick)


def test_one_probability_and_three_states_are_tested_once_the_state_is_named(runs):
    """At equal p, evidence for another state may move the choices of a coherent agent."""
    table = in_three(runs)
    with pytest.raises(InputError, match="p_<state>.*--positive LABEL"):
        analyze(table, checks=CMI, rng=1)
    named = analyze(table, checks=CMI, positive="b", rng=1).results
    binary = analyze(table.assign(theta=(table["theta"] == "b") * 1), checks=CMI, rng=1).results
    assert named["pvalue"].tolist() == binary["pvalue"].tolist()
