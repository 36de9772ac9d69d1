"""Turns of agents, from the log of benchmarks/logs/make_inspect_agent.py and from small ones."""

import json
from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError, validate_runs
from coherence.importing.scan import scan
from tests.api.importing.conftest import HEADER

AGENT = Path(__file__).parents[2] / "golden" / "inspect_agent.eval"
TOOLS = {"test": "test", "treat": "treat"}


def cells(runs, column):
    return [None if pd.isna(cell) else cell for cell in runs[column]]


def test_a_turn_is_a_row_with_what_was_asked_aside_before_its_calls(imported):
    log = imported(AGENT, calls={"tools": TOOLS, "arguments": [("treat", "dose")]})
    runs = log.runs.set_index(["group", "turn"])
    validate_runs(log.runs)
    assert runs.index.tolist()[:6] == [(f"patient-{e}", t) for e in (0, 1) for t in range(3)]
    assert log.runs["context"].nunique() == len(runs) == 17
    assert cells(runs, "p")[:6] == [0.6, 0.8, 0.9, 0.4, 0.3, 0.1]
    assert cells(runs, "p_true")[:3] == [0.59, 0.77, 0.86]
    assert cells(runs.loc["patient-0"], "action") == ["test", "test", "treat dose=10"]
    assert runs.loc[("patient-1", 1), "action"] == "test + treat dose=5"  # called at once
    # A percentage and a refusal that the solver left to the reader, and a dose that is missing.
    assert cells(runs.loc["patient-2"], "status") == ["ok", "repaired:percent", "refused"]
    assert runs.loc[("patient-2", 2), "raw_belief"] == "I cannot say."
    nameless = runs.loc[("patient-3", 1)]
    assert (nameless["status"], nameless["p"], nameless["raw_action"]) == (
        "unparsed",
        0.2,
        "treat()",
    )
    assert pd.isna(nameless["action"])
    assert set(log.runs["theta"]) == {0, 1}
    notes = "\n".join(log.notes)
    for said in (
        "samples that ended in an error: 1",
        "several tools at once: 1",
        "lacks an argument that tells actions apart, or cannot be read: 1",
        "no action (--tool-action): report_confidence 17",
        "episodes without a call, which have no action: 1: patient-7",
    ):
        assert said in notes


def test_a_report_alone_is_the_belief_of_the_turn_after_it(imported):
    log = imported(AGENT, calls={"belief_from": "tool:report_confidence.probability"}, percent=True)
    aside = imported(AGENT, calls={"tools": TOOLS})
    assert cells(log.runs, "action") == cells(aside.runs, "action")
    stated = aside.runs["p"].to_numpy()
    assert (abs(log.runs["p"].to_numpy() - stated) < 0.011)[~pd.isna(stated)].all()
    raw = imported(AGENT, calls={"belief_from": "tool:report_confidence.probability"}).runs
    assert set(raw["status"]) == {"out_of_range"}  # 60 is no probability unless the user says so


def test_words_before_the_call_are_read(imported):
    runs = imported(AGENT, calls={"tools": TOOLS, "belief_from": "text"}).runs
    assert cells(runs[runs["group"] == "patient-1"], "p") == [None, 0.3, 0.1]


def agent_sample(packed, path, asked, calls=(("go", {}),)):
    """Write a log of one episode: data of side questions, then a message that calls tools."""
    made = [
        {"id": str(n), "function": name, "arguments": arguments}
        for n, (name, arguments) in enumerate(calls)
    ]
    when = {"timestamp": "2026-01-05T12:00:00+00:00", "working_start": 0}
    events = [
        {"event": "info", "source": "coherence.side_question", "data": data, **when}
        for data in asked
    ]
    events += [{"event": "tool", **call, **when} for call in (*made, {**made[0], "id": "other"})]
    sample = {
        "id": 1,
        "epoch": 2,
        "input": "Go?",
        "target": "Yes",
        "messages": [{"role": "assistant", "content": "", "tool_calls": made}],
        "events": events,
        "metadata": {"theta": 0, "p_true": []},
    }
    return packed(path, {"header.json": HEADER, "samples/1_epoch_2.json": json.dumps(sample)})


def test_several_answers_to_one_question_are_repetitions_of_a_turn_that_acted_once(
    tmp_path, imported, packed
):
    asked = [{"question": "P?", "reply": str(p), "p": p} for p in (0.4, 0.5)]
    log = imported(agent_sample(packed, tmp_path / "a.eval", asked), calls={})
    assert log.runs[["context", "rep", "p"]].to_numpy().tolist() == [
        ["1 (epoch 2):0", 0, 0.4],
        ["1 (epoch 2):0", 1, 0.5],
    ]
    assert cells(log.runs, "action") == ["go", None]
    assert cells(log.runs, "status") == ["ok", "ok"]
    assert cells(log.runs, "theta") == [0, 0]  # of the metadata, before the target
    notes = "\n".join(log.notes)
    for said in ("metadata.p_true: 1", "events alone", "every epoch", "--context group"):
        assert said in notes


def test_of_one_tool_that_acts_the_argument_that_tells_calls_apart_is_proposed(tmp_path, packed):
    calls = [("act", {"kind": kind, "note": f"n{kind}", "why": "x"}) for kind in ("a", "b")]
    asked = [{"question": "P?", "reply": "0.4", "p": 0.4}]
    path = agent_sample(packed, tmp_path / "a.eval", asked, calls)
    _, lines = scan(path, max_bytes=10**6)
    assert "--action-argument act:kind" in lines[-1]


def test_what_was_asked_at_a_turn_without_a_call_is_a_turn_of_its_own(tmp_path, imported, packed):
    asked = [{"turn": n, "question": "P?", "reply": f"0.{n}", "p": n / 10} for n in (4, 5)]
    runs = imported(agent_sample(packed, tmp_path / "a.eval", asked), calls={}).runs
    assert runs[["turn", "rep", "p"]].to_numpy().tolist() == [[0, 0, 0.4], [1, 0, 0.5]]
    assert cells(runs, "action") == [None, "go"]


def test_two_questions_at_a_turn_are_refused(tmp_path, imported, packed):
    asked = [{"question": q, "reply": "0.5", "p": 0.5} for q in ("P(a)?", "P(b)?")]
    log = agent_sample(packed, tmp_path / "a.eval", asked)
    with pytest.raises(InputError, match=r"2 different questions .* turn 0 .* --belief-from"):
        imported(log, calls={})


def test_nothing_that_says_where_beliefs_stand_is_refused(tmp_path, imported, packed):
    log = agent_sample(packed, tmp_path / "a.eval", [])
    with pytest.raises(InputError, match=r"no belief was asked aside.*--belief-from.*--list"):
        imported(log, calls={})
