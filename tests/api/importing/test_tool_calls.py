"""Turns of agents, from the log of benchmarks/logs/make_inspect_agent.py and from small ones."""

import pandas as pd
import pytest

from coherence import InputError
from coherence.importing.scan import scan
from coherence.table.validation import validate_runs
from tests.api.importing.conftest import GOLDEN, imported, packed, sample

AGENT = GOLDEN / "inspect_agent.eval"
TOOLS = {"test": "test", "treat": "treat"}


def cells(runs, column):
    return [None if pd.isna(cell) else cell for cell in runs[column]]


def test_a_turn_is_a_row_with_what_was_asked_aside_before_its_calls():
    log = imported(AGENT, calls={"tools": TOOLS, "arguments": [("treat", "dose")]})
    turn = log.runs["context"].str.rpartition(":")[2].astype(int)
    runs = log.runs.assign(turn=turn).set_index(["group", "turn"])
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
    shown = nameless[["status", "p", "raw_action"]].tolist()
    assert shown == ["unparsed", 0.2, "treat()"]
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


def test_a_report_alone_is_the_belief_of_the_turn_after_it():
    log = imported(AGENT, calls={"belief_from": "tool:report_confidence.probability"}, percent=True)
    aside = imported(AGENT, calls={"tools": TOOLS})
    assert cells(log.runs, "action") == cells(aside.runs, "action")
    stated = aside.runs["p"].to_numpy()
    assert (abs(log.runs["p"].to_numpy() - stated) < 0.011)[~pd.isna(stated)].all()
    raw = imported(AGENT, calls={"belief_from": "tool:report_confidence.probability"}).runs
    assert set(raw["status"]) == {"out_of_range"}  # 60 is no probability unless the user says so


def test_words_before_the_call_are_read():
    runs = imported(AGENT, calls={"tools": TOOLS, "belief_from": "text"}).runs
    assert cells(runs[runs["group"] == "patient-1"], "p") == [None, 0.3, 0.1]


def agent_log(path, asked, calls=(("go", {}),)):
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
    messages = [{"role": "assistant", "content": "", "tool_calls": made}]
    facts = {"messages": messages, "events": events, "metadata": {"theta": 0, "p_true": []}}
    return packed(path, **{"samples/1_epoch_2.json": sample(1, epoch=2, **facts)})


def test_several_answers_to_one_question_are_repetitions_of_a_turn_that_acted_once(tmp_path):
    asked = [{"question": "P?", "reply": str(p), "p": p} for p in (0.4, 0.5)]
    log = imported(agent_log(tmp_path / "a.eval", asked), calls={})
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


def test_what_was_asked_at_a_turn_without_a_call_is_a_turn_of_its_own(tmp_path):
    asked = [{"turn": n, "question": "P?", "reply": f"0.{n}", "p": n / 10} for n in (4, 5)]
    runs = imported(agent_log(tmp_path / "a.eval", asked), calls={}).runs
    assert runs[["rep", "p"]].to_numpy().tolist() == [[0, 0.4], [0, 0.5]]
    assert cells(runs, "action") == [None, "go"]


def test_what_is_not_clear_of_calls_is_asked_for(tmp_path):
    path, two = tmp_path / "a.eval", ("P(a)?", "P(b)?")
    asked = [{"question": question, "reply": "0.5", "p": 0.5} for question in two]
    for data, said in (
        (asked, r"2 different questions .* turn 0 .* --belief-from"),
        ([], r"no belief was asked aside.*--belief-from.*--list"),
    ):
        with pytest.raises(InputError, match=said):
            imported(agent_log(path, data), calls={})
    # Of one tool that acts the argument that tells calls apart is proposed.
    calls = [("act", {"kind": kind, "note": f"n{kind}", "why": "x"}) for kind in ("a", "b")]
    _, lines = scan(agent_log(path, asked[:1], calls), max_bytes=10**6)
    assert "--action-argument act:kind" in lines[-1]
