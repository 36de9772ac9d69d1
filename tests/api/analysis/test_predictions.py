"""Confidences in a prediction: what the state is then, and that no test takes them for another."""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, analyze, read_runs, simulate
from coherence.runs.notes import Code, Level

CHECKS = ["sufficiency", "calibration"]


def answers(labels="ABCD", n=200):
    """Predictions right with probability .7, whose confidence is higher where they are right."""
    rng = np.random.default_rng(0)
    gold = rng.choice([*labels], n)
    right = rng.random(n) < 0.7
    predicted = np.where(right, gold, rng.choice([*labels], n))
    confidence = np.clip(0.7 + 0.2 * right + rng.normal(0, 0.1, n), 0.5, 1)
    return pd.DataFrame({"p": confidence, "action": predicted, "theta": gold})


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ("ABCD", "--positive A (positive='A')"),
        ([0, 1], "--positive 1 (positive=1)"),
        (["no", "yes"], "--positive yes (positive='yes')"),
    ],
)
def test_labels_shared_by_actions_and_states_need_a_word(labels, named):
    """Breaks if a confidence in the prediction is tested as the probability of a state."""
    table = answers(labels)
    with pytest.raises(InputError, match="what p is|in the own answer") as error:
        analyze(table, checks=CHECKS)
    for remedy in (named, "--prediction action --gold theta (prediction='action', gold='theta')"):
        assert remedy in str(error.value)
    # Both remedies work.
    positive = labels[0] if named.startswith("--positive A") else labels[1]
    assert len(analyze(table, checks=CHECKS, positive=positive, rng=1).evaluations[0].results) > 1
    judged = analyze(table, checks=CHECKS, prediction="action", gold="theta", rng=1)
    assert not judged.results["check"].str.startswith("residual").any()


def test_what_says_that_p_is_about_a_state_is_enough():
    """Breaks if a table is refused in which it is known what p is about."""
    table = answers([0, 1])
    of_state = table.assign(p=table["p"].where(table["action"] == 1, 1 - table["p"]))
    other = table.assign(action=table["action"].map({0: "wait", 1: "treat"}))
    ours = simulate("rational", n_contexts=30, n_reps=1, rng=1)
    states = ours["theta"].map({0: "no", 1: "yes"}).astype(object)
    ours = ours.assign(p=ours["p"].clip(lower=0.5), theta=states)
    named = table.assign(truth_kind="drawn"), table.assign(theta_name="x")
    for sound in (of_state, other, ours, *named):
        assert len(analyze(sound, checks=["sufficiency"], rng=1).results) == 1


@pytest.mark.parametrize("labels", [["no", "yes"], "ABC"])
def test_a_confidence_named_as_a_belief_in_a_state_is_held_back(labels):
    """Breaks if one confidence below one half, or a name, makes knowledge of it."""
    table = answers(labels, n=300)
    table.loc[0, "p"] = 0.45
    names = {"belief": "p", "action": "action", "truth": "theta", "data": table}
    for test in (coherence.sufficiency_test, coherence.cmi_test, coherence.predictive_gain_test):
        result = test(**names, positive=labels[-1], rng=1)
        assert result.pvalue is None or np.isnan(result.pvalue)
        assert "looks like the confidence in the own answer" in result.reason
        if len(labels) == 2:
            with pytest.raises(InputError, match=r"calibration_test\(belief, action == truth\)"):
                test(**names, rng=1)
    report = analyze(table, positive=labels[-1], rng=1)
    (evaluation,) = report.evaluations
    assert evaluation.verdict.code == "other_belief"
    assert (
        report.results[["estimate", "low", "high", "pvalue", "pvalue_holm"]].isna().all(axis=None)
    )
    (alert,) = [note for note in evaluation.notes if note.code is Code.OWN_ANSWER]
    assert alert.level is Level.ALERT
    assert "--prediction action --gold theta" in alert.text
    assert "not calibrated" not in str(report)
    # The probability of that state is a belief, and the agent is coherent.
    yes, other = labels[-1], (1 - table["p"]) / (len(labels) - 1)
    in_state = table.assign(p=table["p"].where(table["action"] == yes, other))
    told = analyze(in_state, checks=["sufficiency"], positive=yes, rng=1).evaluations[0]
    assert told.verdict.code != "other_belief"


def test_a_prediction_is_right_as_its_label_says(tmp_path):
    """Breaks if labels are compared as they are written, or what is missing counts as wrong."""
    said, answer = ["Yes", " yes", "1", None, "b"], ["yes", "YES ", "1.0", "c", "c"]
    table = pd.DataFrame({"confidence": [0.9, 0.8, 0.7, 0.6, 0.5], "said": said, "answer": answer})
    table["theta"] = range(5)
    table.to_csv(tmp_path / "runs.csv", index=False)
    options = {"prediction": "said", "gold": "answer"}
    runs = read_runs(tmp_path / "runs.csv", columns={"p": "confidence"}, **options)
    assert runs["theta"].tolist() == [1, 1, 1, pd.NA, 0]
    report = analyze(table.rename(columns={"confidence": "p"}), **options, checks=["calibration"])
    assert any("3 of 4 predictions right" in note.text for note in report.evaluations[0].notes)
    assert report.settings["reading"] == ["--prediction=said", "--gold=answer"]
    # Scores of confidence are those of being right.
    many = answers()
    report = analyze(many, prediction="action", gold="theta", checks=["calibration"], rng=1)
    brier = report.results.set_index("check")["estimate"]["calibration:brier"]
    assert brier == pytest.approx(((many["p"] - (many["action"] == many["theta"])) ** 2).mean())


def test_abstentions_that_count_as_wrong_are_an_alert():
    """Breaks if who says IDK when it abstains passes for one that knows when it is wrong."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 150)
    table = pd.DataFrame({"p": p, "context": range(150), "theta": rng.choice([*"ABCD"], 150)})
    table["said"] = table["theta"].where(rng.random(150) < p, "A")
    table["action"] = np.where(rng.random(150) < p, "answer", "abstain")
    table.loc[table["action"] == "abstain", "said"] = "IDK"
    options = {"prediction": "said", "gold": "theta"}
    report = analyze(table, **options, checks=["calibration"], rng=1)
    assert any("'IDK'" in str(note) for note in report.evaluations[0].notes)
    # Choices of who abstains stay, as those at stakes, where the mark is no answer.
    read = read_runs(table, missing=["IDK"], **options)
    assert read["theta"].notna().sum() == (table["said"] != "IDK").sum() < len(read)
    # Where the file says by itself who was right, the choice shows it.
    graded = table.assign(theta=(table["said"] == table["theta"]).astype(int)).drop(columns="said")
    for alerts in (report.evaluations[0].alerts, analyze(graded, rng=1).evaluations[0].alerts):
        (alert,) = alerts
        assert "'abstain'" in str(alert)
        assert "ask for an answer in every case" in str(alert)


def test_wrong_free_answers_are_no_abstentions():
    """Breaks if a wrong town among right towns is taken for a refusal to answer."""
    names = [f"town {number}" for number in range(200)]
    table = pd.DataFrame({"p": np.linspace(0.5, 1, 200), "action": names, "theta": names})
    table.loc[table.index < 60, "action"] = "Paris"
    options = {"prediction": "action", "gold": "theta", "checks": ["calibration"], "rng": 1}
    notes = analyze(table, **options).evaluations[0].notes
    assert not [note for note in notes if note.level is Level.WARNING]
