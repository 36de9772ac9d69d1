"""A table of questions and penalties: one row holds belief, choice, stake and truth."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence.analysis.conditions import held_against as meets
from coherence.analysis.conditions import parse_condition
from coherence.report.verdicts import VERDICTS

NAMED = {"belief": "confidence", "action": "decision", "truth": "correct", "context": "question"}
NAMED |= {"penalty": "penalty", "model": "agent"}
PENALTIES = np.array([0, 1, 3, 9, 30])
N = 60


def penalties(seed=1):
    """Return answers of an agent that answers from .5 whatever the penalty, and of one that minds.

    Confidences lie on a grid of .05 about the belief; half of the truth is in the belief.
    """
    rng, parts = np.random.default_rng(seed), []
    belief = rng.uniform(0.1, 0.95, N)
    correct = (rng.random(N) < belief).astype(int)
    for agent in ("ignores", "minds"):
        case, penalty = np.repeat(np.arange(N), len(PENALTIES)), np.tile(PENALTIES, N)
        pays = penalty / (1 + penalty) if agent == "minds" else 0.3
        answers = rng.random(len(case)) < 1 / (1 + np.exp(25 * (pays - belief[case])))
        said = np.clip(belief[case] + rng.normal(0, 0.05, len(case)), 0, 1)
        rows = pd.DataFrame({"question": case, "penalty": penalty, "confidence": said.round(2)})
        rows["decision"] = np.where(answers, "ANSWER", "ABSTAIN")
        parts.append(rows.assign(correct=correct[case], agent=agent))
    return pd.concat(parts, ignore_index=True)


def verdicts(rows, **options):
    options = {"checks": ["sufficiency", "stakes"]} | options
    report = coherence.analyze(rows, columns=NAMED, acts="ANSWER", rng=1, **options)
    return report, {each.model: each for each in report.evaluations}


EXPECTED = {"ignores": "ignores_stakes", "minds": "moves_with_stakes"}


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.assign(penalty=rows["penalty"].astype(float).replace(30, np.inf)),
        lambda rows: rows.assign(confidence=(100 * rows["confidence"]).round().map("{}%".format)),
        lambda rows: rows.assign(confidence=rows["confidence"].where(rows.index % 5 > 0)),
        lambda rows: rows.groupby(["agent", "question"]).sample(1, random_state=4),
        lambda rows: rows.assign(correct=np.nan),
        lambda rows: rows.assign(prompt="a mistake costs " + rows["penalty"].astype(str)),
    ],
)
def test_each_agent_has_its_verdict_at_the_first_try(change):
    rows = change(penalties())
    once = not rows.duplicated(["agent", "question"]).any()
    for model, evaluation in verdicts(rows)[1].items():
        assert evaluation.headline.code == EXPECTED[model]
        assert ("one stake each" in evaluation.conclusion[0]) == once
        assert "stakes:loss" in [result.check for result in evaluation.results]


@pytest.mark.lengthy
def test_the_stakes_stand_first_and_the_primary_test_below():
    report, found = verdicts(penalties(), checks=None)
    assert "threshold" not in set(report.results["check"])
    said = str(report).split("\n")
    marks = [line.strip()[:12] for line in said if line.strip()[:2] in ("✗ ", "· ")]
    assert marks[marks.index("✗ Ignores th") + 1] == "· No evidenc"
    assert found["ignores"].verdict.code == "no_evidence"
    assert "choices follow belief" not in str(report)  # it does, and ignores the stakes
    assert list(report.verdicts["verdict"]) == ["ignores_stakes", "moves_with_stakes"]
    record = json.loads(report.to_json())
    assert [each["verdict"] for each in record["evaluations"]] == [*map(str, EXPECTED.values())]
    met = meets(parse_condition("verdict=ignores_stakes"), report.evaluations).met
    assert met == ("model 'ignores': the verdict is ignores_stakes",)
    caught = replace(report.evaluations[0], verdict=VERDICTS["acts_on_more"])
    assert meets(parse_condition("verdict=acts_on_more"), [caught]).met  # beside that on stakes
    with pytest.raises(coherence.InputError, match="no verdict: 'ignores'"):
        parse_condition("verdict=ignores")
    _, found = verdicts(penalties(), margin=0.03)
    assert found["minds"].headline.code == "acts_where_it_pays"
    assert found["ignores"].headline.code == "ignores_stakes"
    rows = coherence.read_runs(penalties(), columns=NAMED, acts="ANSWER")
    compared = coherence.compare(rows, effects=["calibration:brier"], rng=1).verdicts
    assert set(compared["verdict"]) == {"ignores_stakes", "moves_with_stakes"}
    lost = coherence.compare(rows, rng=1).differences.set_index("effect").loc["stakes:loss"]
    assert lost["low"] > 0  # of who ignores them, less who minds
    assert lost["pvalue_holm"] < 0.001


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("abstained", [0, np.nan, None])
def test_truth_that_follows_from_the_choice_is_refused_and_stakes_stay(abstained, by_row):
    """Breaks if every agent is rejected because an abstention counts as wrong.

    Answers that are graded one by one enter as the share of their question.
    """
    rows, rng = penalties(), np.random.default_rng(2)
    if by_row:
        rows["correct"] = (rng.random(len(rows)) < rows["confidence"]).astype(int)
    if abstained is not None:
        rows["correct"] = rows["correct"].where(rows["decision"] == "ANSWER", abstained)
    report, found = verdicts(rows)
    assert ("Ask for an answer in every case" in str(report)) == (abstained == 0)
    for model, evaluation in found.items():
        assert evaluation.headline.code == EXPECTED[model]
        primary = [r for r in evaluation.results if r.check == "sufficiency"]
        assert bool(primary) == (abstained != 0) != evaluation.settled_by_choice
        assert all(np.isnan(r.pvalue) == (abstained is not None) for r in primary)
        graded = by_row and abstained is None
        assert not primary or (primary[0].settings["state"] == "exact") == graded


def test_choices_left_empty_where_it_passed_tell_no_loss():
    """Breaks if the loss is that of the choices that are seen, all of which act."""
    rows = penalties()
    answered = rows.assign(decision=rows["decision"].where(rows["decision"] == "ANSWER"))
    for evaluation in verdicts(answered)[1].values():
        assert evaluation.headline.code == "stakes_open"
        assert "where an empty cell means that it passed, write so" in evaluation.conclusion[0]
        assert "Of 100 at stake" not in " ".join(evaluation.conclusion)
    of_one_question = str(verdicts(rows.query("question == 7"))[0])
    assert "Ask for an answer in every case" not in of_one_question  # truth is one, anyway


@pytest.mark.parametrize(
    ("columns", "acts", "message"),
    [
        ({}, "ANSWR", "acts must be one of two actions.*ABSTAIN"),
        ({}, None, "--acts LABEL"),
        ({"penalty": None}, "ANSWER", "--penalty NAME"),
        ({"context": None}, "ANSWER", "--context NAME"),
    ],
)
def test_what_is_missing_of_a_stake_is_named_with_its_option(columns, acts, message):
    named = {key: name for key, name in (NAMED | columns).items() if name is not None}
    with pytest.raises(coherence.CoherenceError, match=message):
        coherence.analyze(penalties(), columns=named, acts=acts, rng=1)


def test_an_action_that_no_row_chooses_is_said_and_another_spelling_refused():
    always = penalties().assign(decision="ANSWER")
    with pytest.raises(coherence.CoherenceError, match="received 'answer', and actions are 'ANS"):
        coherence.analyze(always, columns=NAMED, acts="answer", rng=1)
    report = coherence.analyze(always, columns=NAMED, acts="PASS", checks=["stakes"], rng=1)
    assert "no row chooses 'PASS', so it is taken never to act" in " ".join(str(report).split())


def test_stakes_that_are_slightly_higher_where_it_is_wrong_accuse_nobody():
    rows = penalties()
    harder = rows["question"].map(rows.groupby("question")["correct"].first()) == 0
    rows["penalty"] *= np.where(harder, 1.3, 1.0)
    assert all(each.primary is None for each in verdicts(rows)[1].values())
    kept = penalties().sample(frac=0.97, random_state=1)
    assert all(each.primary is not None for each in verdicts(kept)[1].values())


def test_odds_that_know_the_truth_accuse_nobody():
    """Breaks if choices that follow odds beyond the belief pass for what the agent did not say."""
    rng = np.random.default_rng(3)
    belief = rng.uniform(0.1, 0.9, 300).round(2)
    came = (rng.random(300) < belief).astype(int)
    odds = np.clip(0.5 * belief + 0.5 * came + rng.normal(0, 0.1, 300), 0.02, 0.98).round(2)
    table = pd.DataFrame({"confidence": belief, "correct": came, "question": range(300)})
    table["decision"] = np.where(belief > odds, "ANSWER", "ABSTAIN")
    table["penalty"], table["agent"] = odds / (1 - odds), "m"
    report = coherence.analyze(table, columns=NAMED, acts="ANSWER", rng=1)
    (evaluation,) = report.evaluations
    assert evaluation.primary is None
    assert "stakes differ between cases" in evaluation.absent("sufficiency")


def test_stakes_come_back_from_a_file_and_foreign_columns_are_left_alone(tmp_path):
    runs = coherence.read_runs(penalties(), columns=NAMED, acts="ANSWER")
    coherence.write_runs(runs, tmp_path / "runs.csv")
    again = coherence.read_runs(tmp_path / "runs.csv")
    assert again[["gain", "loss", "acts"]].equals(runs[["gain", "loss", "acts"]])
    foreign = penalties().rename(columns={"penalty": "loss"}).assign(gain="x")
    kept = {key: name for key, name in NAMED.items() if key != "penalty"}
    read = coherence.read_runs(foreign, columns=kept)
    assert {"unmapped_loss", "unmapped_gain"} <= set(read)


def test_confidences_that_only_answers_have_give_no_verdict_across_questions(run, tmp_path):
    """Breaks if an analysis leaves the choices of cases without a belief out before the check."""
    rng, n = np.random.default_rng(1), 240
    belief, penalty = rng.uniform(0.05, 0.95, n).round(2), rng.choice([1, 3, 9], n)
    answers = rng.random(n) < 1 / (1 + np.exp(8 * (penalty / (1 + penalty) - belief)))
    table = pd.DataFrame(
        {
            "question": np.arange(n),
            "penalty": penalty,
            "p": np.where(answers, belief, np.nan),
            "choice": np.where(answers, "answer", "abstain"),
            "right": (rng.random(n) < belief).astype(int),
        }
    )
    table.to_csv(tmp_path / "answered.csv", index=False)
    words = "--belief p --action choice --truth right --context question --penalty penalty"
    command = ["analyze", tmp_path / "answered.csv", *words.split(), "--acts", "answer"]
    status, out, _ = run(*command, "--fail-on", "verdict=ignores_stakes")
    said = " ".join(out.split())
    assert status == 0
    assert "Cannot tell whether it moves with the stakes: confidences are missing by what" in said
    assert "What it loses is not known: confidences are missing" in said
    assert "Next: Ask for the belief of the others too." in said
    persons = table.assign(question=np.arange(n) // 2, who=np.arange(n) % 2).drop(columns="right")
    persons.assign(p=belief).to_csv(tmp_path / "persons.csv", index=False)
    words = "--belief p --action choice --context question --penalty penalty --person who"
    command = ["analyze", tmp_path / "persons.csv", *words.split(), "--acts", "answer"]
    status, out, err = run(*command, "--fail-on", "verdict=ignores_stakes")
    assert (status, "had nothing to compare" in err) == (2, True)
    assert "--model-column in place of --person" in " ".join(out.split())


def test_choices_under_other_prompts_are_no_shares_of_actions():
    """Breaks if the shares beside a verdict are of rows that enter no check."""
    rows = penalties().query("agent == agent.iloc[0]").assign(prompt="standard")
    both = pd.concat([rows, rows.assign(prompt="risk", decision="ABSTAIN")], ignore_index=True)
    shares = [
        coherence.analyze(each, columns=NAMED, acts="ANSWER", checks=["stakes"], rng=1)
        .evaluations[0]
        .variation.actions
        for each in (rows, both)
    ]
    assert shares[0] == shares[1]
