import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError, decode_belief, decode_choice, validate_runs
from tests.api.importing.conftest import HEADER, RUN

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"
ACTION = GOLDEN / "inspect_action.eval"
LETTERS = GOLDEN / "inspect_letters.json"


ERROR = {"message": "", "traceback": "", "traceback_ansi": ""}


def test_inspect_logs_hold_every_answer_of_the_study(imported, study):
    study_log = imported(BELIEF, ACTION, belief=["rain_belief"], actions=("take", "leave"))
    runs = study_log.runs.set_index(["context", "rep"])
    validate_runs(study_log.runs)
    assert study_log.unpaired == []
    assert len(runs) == len(study.CASES) * study.REPS
    for case in study.CASES:
        for rep in range(study.REPS):
            row = runs.loc[(f"evening-{case.number:02d}", rep)]
            belief = decode_belief(case.belief(rep), form="number")
            action = decode_choice(case.action(rep), ("take", "leave"))
            assert row["raw_belief"] == case.belief(rep)
            assert row["raw_action"] == case.action(rep)
            assert (None if pd.isna(row["p"]) else row["p"]) == belief.value
            assert (None if pd.isna(row["action"]) else row["action"]) == action.value
            assert row["status"] in {belief.status, action.status}
            assert (row["status"] == "ok") == (belief.status == action.status == "ok")
            assert (row["theta"], row["p_true"], row["x_humidity"]) == (
                int(case.rained),
                case.p_true,
                case.humidity,
            )
    assert set(study_log.runs["model"]) == {"mockllm/model"}
    assert set(study_log.runs["task"]) == {"rain_belief"}


def test_inspect_letters_stand_for_the_choices(imported):
    study_log = imported(BELIEF, LETTERS, action=["rain_letters"])
    rows = study_log.runs.set_index(["context", "rep"])
    actions = rows["action"]
    assert actions.loc[("evening-00", 0)] == "take the umbrella"
    assert actions.loc[("evening-01", 0)] == "leave it"
    assert pd.isna(actions.loc[("evening-02", 0)])  # "C", which was not offered
    assert actions.loc[("evening-03", 0)] == "leave it"
    # The third and fourth missed Inspect's form, as its own scorer says; the fourth can be read.
    # (The belief of the third is refused in the study.)
    assert [rows.loc[(f"evening-0{case}", 0), "status"] for case in (0, 1, 3)] == [
        "ok",
        "ok",
        "repaired:layout",
    ]
    assert rows.loc[("evening-00", 0), "raw_action"] == "ANSWER: A"
    assert study_log.unpaired[0].startswith(
        "beliefs without an action (32): evening-04 repetition 0"
    )


def test_an_unfinished_run_says_so_and_counts_what_is_missing(tmp_path, imported, packed, sample):
    start = json.dumps(
        {
            "version": 2,
            "eval": RUN | {"dataset": {"samples": 3}, "config": {"epochs": 1}},
            "plan": {"steps": [], "config": {}},
        }
    )
    failed = json.dumps(
        {
            "id": 2,
            "epoch": 1,
            "input": "Rain?",
            "target": "No",
            "output": {"choices": [], "completion": ""},
            "error": ERROR | {"message": "no network"},
        }
    )
    log = packed(
        tmp_path / "cut.eval",
        {"_journal/start.json": start, "samples/1.json": sample(1), "samples/2.json": failed},
    )
    study_log = imported(log)
    assert study_log.runs["status"].tolist() == ["ok", "unparsed"]
    assert study_log.notes == [
        "cut.eval: the run did not finish (status started)",
        "cut.eval: 2 of 3 samples are in the log",
        "cut.eval: samples that ended in an error: 1; an answer that is missing counts as "
        "unparsed. The most frequent error (1): no network",
    ]


def test_attached_answers_are_looked_up_and_reasoning_is_left_out(
    tmp_path, imported, packed, sample
):
    key = "0" * 32
    attached = sample(1, completion="attachment://" + key, attachments={key: "0.25"})
    parts = [
        {"type": "reasoning", "reasoning": "0.9?"},
        {"type": "text", "text": "No: 0.5"},
        {"type": "text", "text": "Yes: 0.5"},
    ]
    in_parts = json.dumps(
        {
            "id": 2,
            "epoch": 1,
            "input": "Rain?",
            "target": "No",
            "output": {"choices": [{"message": {"role": "assistant", "content": parts}}]},
        }
    )
    log = packed(
        tmp_path / "a.eval",
        {"header.json": HEADER, "samples/1.json": attached, "samples/2.json": in_parts},
    )
    runs = imported(log).runs
    assert runs["p"].tolist()[0] == 0.25
    assert runs["raw_belief"].tolist()[1] == "No: 0.5\nYes: 0.5"


def multiple_choice(packed, path, *answers):
    """Write a log of Inspect's multiple_choice: (completion, the scorer's answer or None)."""
    samples = {
        f"samples/{number}.json": json.dumps(
            {
                "id": number,
                "epoch": 1,
                "input": "What now?",
                "target": "A",
                "choices": ["wait", "treat"],
                "output": {
                    "choices": [
                        {
                            "message": {"role": "assistant", "content": completion},
                            "stop_reason": reason,
                        }
                    ]
                },
                "scores": {} if scored is None else {"choice": {"value": "C", "answer": scored}},
                "metadata": {"p": 0.5},
            }
        )
        for number, (completion, scored, reason) in enumerate(answers)
    }
    return packed(path, {"header.json": HEADER, **samples})


def test_the_logs_own_answer_comes_before_the_words_of_the_reply(tmp_path, imported, packed):
    log = multiple_choice(
        packed,
        tmp_path / "letters.eval",
        ("ANSWER: A", "B", "stop"),  # the choices were shuffled; the scorer knows their order
        ("Waiting may harm.\n\nANSWER: B", None, "stop"),  # not scored: Inspect's form
        ("ANSWER: A\nANSWER: B", None, "stop"),
        ("ANSWER: A, B", "A, B", "stop"),
        ("ANSWER: B", None, "max_tokens"),  # cut: it may have gone on
    )
    runs = imported(log, mapping={"p": "metadata.p", "action": "output", "theta": "-"}).runs
    actions = [None if pd.isna(action) else action for action in runs["action"]]
    assert actions == ["treat", "treat", None, None, None]
    assert runs["status"].tolist() == ["ok", "ok", "unparsed", "unparsed", "truncated"]


def test_a_confidence_in_the_metadata_of_a_score_is_a_field(tmp_path, imported, packed, sample):
    scores = {"s": {"value": "C", "metadata": {"confidence": 0.8, "why": "long " * 100}}}
    text = json.dumps(json.loads(sample(1)) | {"scores": scores})
    log = packed(tmp_path / "a.eval", {"header.json": HEADER, "samples/1.json": text})
    assert imported(log, mapping={"p": "scores.s.metadata.confidence"}).runs["p"].tolist() == [0.8]
    with pytest.raises(InputError, match="no log has the field"):
        imported(log, mapping={"p": "scores.s.metadata.why"})


def test_a_number_in_inspects_form_is_no_repair(tmp_path, imported, packed, sample):
    log = packed(
        tmp_path / "a.eval",
        {
            "header.json": HEADER,
            "samples/1.json": sample(1, completion="It rained yesterday: 0.9.\nANSWER: 0.25"),
            "samples/2.json": sample(2, completion="ANSWER: maybe 0.5"),
        },
    )
    runs = imported(log).runs
    assert runs["p"].tolist()[0] == 0.25
    assert runs["status"].tolist() == ["ok", "unparsed"]
    assert runs["raw_belief"].tolist()[0].startswith("It rained")


def test_a_run_that_failed_wholly_shows_its_error(tmp_path, imported, packed):
    header = json.loads(HEADER) | {
        "status": "error",
        "error": ERROR | {"message": "AuthenticationError('401: wrong key')"},
    }
    log = packed(tmp_path / "failed.eval", {"header.json": json.dumps(header)})
    with pytest.raises(InputError, match=r"no samples. The run failed: AuthenticationError\('401"):
        imported(log)
    whole = tmp_path / "failed.json"
    whole.write_text(json.dumps(header | {"samples": None}))
    with pytest.raises(InputError, match="The run failed: Auth"):
        imported(whole)


def test_a_run_without_one_answer_is_refused_with_its_most_frequent_error(
    tmp_path, imported, packed
):
    samples = {
        f"samples/{number}.json": json.dumps(
            {
                "id": number,
                "epoch": 1,
                "input": "Rain?",
                "target": "No",
                "output": {"choices": [], "completion": ""},
                "error": ERROR | {"message": message},
            }
        )
        for number, message in enumerate(["no network", "rate limit\ntraceback", "rate limit\nx"])
    }
    log = packed(tmp_path / "f.eval", {"header.json": HEADER, **samples})
    for options in ({}, {"belief": ["t"]}, {"action": ["t"]}):
        with pytest.raises(InputError, match=r"f\.eval: the run failed.*\(2\): rate limit\."):
            imported(BELIEF, log, **options)


def test_inspect_is_loaded_by_its_own_logs_alone_and_named_where_it_is_missing(
    imported, monkeypatch
):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    assert len(imported(next(GOLDEN.glob("samples_rain_text_*.jsonl"))).runs) == 36
    with pytest.raises(ImportError, match=r"pip install .*\[servers\]"):
        imported(BELIEF)
