"""From answers to rows: breaks if an answer lands on the wrong row or gets a value not stated."""

import pandas as pd
import pytest

from bayesnets import posterior
from coherence.table.faults import find_faults
from elicitation.models.base import Answer
from elicitation.session import runs as runs_module
from elicitation.session.plan import Design
from elicitation.session.questions import evidence_of
from elicitation.session.session import elicit


def test_the_table_is_valid_complete_and_true(asia, cases, store, scripted):
    runs, tally = elicit(scripted(), asia, cases, store, design=Design(reps=3))
    assert find_faults(runs) == []
    assert len(runs) == 12 * 3 * (4 + 2)
    assert (tally.asked, tally.reused, tally.total) == (12 * 3 * 8, 0, 12 * 3 * 8)
    ordinary, conditional = runs[runs["z"].isna()], runs[runs["z"].notna()]
    # The action stands on the standard rows and nowhere else.
    for column in ("action", "raw_action"):
        assert (ordinary[column].notna() == (ordinary["prompt"] == "standard")).all()
    assert conditional["action"].isna().all()
    assert (conditional["prompt"] == "standard").all()
    assert (ordinary.loc[ordinary["prompt"] == "mse", "p"] == 0.6).all()
    by_context = cases.set_index("context")
    for row in runs.itertuples():
        case = by_context.loc[row.context]
        evidence = evidence_of(case)
        assert row.theta == case["theta"]
        assert {name: getattr(row, f"x_{name}") for name in evidence} == evidence
        if pd.notna(row.z):
            assert row.z == case["z"]
            truth = posterior(
                asia.network, pd.DataFrame([{**evidence, row.z: row.z_state}]), "lung"
            )["yes"].item()
            share = posterior(asia.network, pd.DataFrame([evidence]), row.z)[row.z_state].item()
            assert (row.p_true, row.p_z_true) == (pytest.approx(truth), pytest.approx(share))
            if row.z != "either":  # its labels hold commas, which the script does not read
                assert row.p_z == {"yes": 0.25, "no": 0.75}[row.z_state]
        else:
            assert row.p_true == pytest.approx(case["p_true"])
            assert pd.isna(row.p_z)


def test_every_value_is_the_one_that_its_raw_answer_states(asia, cases, store, scripted):
    runs, _ = elicit(scripted(), asia, cases, store, design=Design(reps=2))
    stated = runs["raw_belief"].str.extract(r"Yes: ([0-9.]+)")[0].astype(float)
    pd.testing.assert_series_equal(
        runs["p"], stated.astype("float64"), check_names=False, check_dtype=False
    )


@pytest.mark.parametrize(
    ("answers", "status", "kept"),
    [
        ({"decision": "I cannot decide."}, "refused", "p"),
        ({"belief": "Perhaps."}, "unparsed", "action"),
        ({"belief": "No: 40\nYes: 60"}, "out_of_range", "action"),
        ({"belief": "Perhaps.", "decision": "I cannot decide."}, "refused", None),
    ],
)
def test_a_row_has_its_gravest_status_and_keeps_what_could_be_read(
    asia, cases, store, answers, status, kept, scripted
):
    runs, tally = elicit(scripted(answers), asia, cases, store, design=Design(reps=1))
    rows = runs[(runs["prompt"] == "standard") & runs["z"].isna()]
    assert (rows["status"] == status).all()
    for column in ("p", "action"):
        assert rows[column].notna().all() == (column == kept)
        assert rows[column].isna().all() == (column != kept)
    assert rows["raw_belief"].notna().all()
    assert find_faults(runs) == []
    assert tally.readable < tally.total


def test_an_unreadable_distribution_of_z_leaves_the_belief(asia, cases, store, scripted):
    runs, _ = elicit(
        scripted({"auxiliary": "high: 0.2\nlow: 0.8"}), asia, cases, store, design=Design(reps=1)
    )
    conditional = runs[runs["z"].notna()]
    assert (conditional["status"] == "unparsed").all()
    assert conditional["p"].notna().all()
    assert conditional["p_z"].isna().all()
    assert (runs.loc[runs["z"].isna(), "status"] == "ok").all()


@pytest.mark.parametrize("belief", ["verbalised", "token", "sampled"])
def test_an_answer_is_read_once(asia, cases, store, scripted, monkeypatch, belief):
    """Breaks if the count of readable answers and the table each read all answers again."""

    class Labelled(scripted):
        def label_probabilities(self, texts, labels):
            return [(0.2, 0.6)] * len(texts)

    read = []
    decode, share = runs_module.decode_answer, runs_module.token_belief
    monkeypatch.setattr(
        runs_module,
        "decode_answer",
        lambda *given, **options: read.append("answer") or decode(*given, **options),
    )
    monkeypatch.setattr(
        runs_module, "token_belief", lambda *given: read.append("token") or share(*given)
    )
    design = Design(reps=1, belief=belief, draws=3)
    runs, tally = elicit(Labelled(), asia, cases, store, design=design)
    assert read.count("answer") == tally.total
    assert read.count("token") == (len(cases) if belief == "token" else 0)
    if belief == "token":
        assert (runs["p"] == 0.6 / (0.2 + 0.6)).all()
        assert runs["answer_mass"].tolist() == [0.2 + 0.6] * len(cases)


class Thinker:
    """Thinks aloud, explains itself, and is cut where it has too much to say."""

    name, fingerprint = "thinker", "1"

    def generate(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if "Decision:" in request.text:
            text = "<think>Yes?</think>\n**Can decide:** Yes\n**Decision:** No\n\nAs it seems."
            return Answer(text, finish_reason="stop")
        if "Brier" in request.text:
            return Answer("<think>\nNo: 0.10\nYes: 0.90\nBut", finish_reason="length")
        if "absolute" in request.text:
            return Answer("No: 0.30\nYes: 0.7", finish_reason="length")
        if "Bayesian" in request.text:
            return Answer("", finish_reason="content_filter")
        said = "No: 0.30\nYes: 0.70\n\nCorrected:\nNo: 0.40\nYes: 0.60"
        return Answer(said[:18] if request.seed % 2 else said, thinking="Well.")


def test_whole_replies_are_read_and_how_they_ended_is_told(asia, cases, store):
    runs, tally = elicit(Thinker(), asia, cases, store, design=Design(reps=4, iterated=False))
    by_prompt = dict(list(runs.groupby("prompt")))
    assert set(by_prompt["mse"]["status"]) == set(by_prompt["absolute"]["status"]) == {"truncated"}
    assert set(by_prompt["bayes"]["status"]) == {"refused"}
    assert set(by_prompt["mse"]["finish_reason"]) == {"length"}
    assert set(by_prompt["bayes"]["finish_reason"]) == {"content_filter"}
    standard = by_prompt["standard"]
    assert set(standard["action"]) == {"no"}
    assert set(standard["finish_reason"]) == {"stop"}  # of the action; the belief's is not known
    # A reply that corrects itself has no value; its first lines alone would have.
    assert set(zip(standard["p"].fillna(-1), standard["status"], strict=True)) == {
        (0.7, "repaired:passage"),
        (-1.0, "unparsed"),
    }
    n = len(cases) * 4
    assert (tally.total, tally.truncated, tally.thought) == (5 * n, 2 * n, 3 * n)
