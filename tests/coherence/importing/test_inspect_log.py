import json
from pathlib import Path

import pandas as pd

from coherence import validate_runs

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"
ACTION = GOLDEN / "inspect_action.eval"
LETTERS = GOLDEN / "inspect_letters.json"


HEADER = json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}})


def test_inspect_logs_hold_every_answer_of_the_study(imported, study, plain_belief, plain_action):
    study_log = imported(BELIEF, ACTION, belief=["rain_belief"], actions=("take", "leave"))
    runs = study_log.runs.set_index(["context", "rep"])
    validate_runs(study_log.runs)
    assert study_log.unpaired == []
    assert len(runs) == len(study.CASES) * study.REPS
    for case in study.CASES:
        for rep in range(study.REPS):
            row = runs.loc[(f"evening-{case.number:02d}", rep)]
            value, belief_status = plain_belief(case.belief(rep))
            action, action_status = plain_action(case.action(rep), ("take", "leave"))
            assert row["raw_belief"] == case.belief(rep)
            assert row["raw_action"] == case.action(rep)
            assert (None if pd.isna(row["p"]) else row["p"]) == value
            assert (None if pd.isna(row["action"]) else row["action"]) == action
            assert row["status"] == (
                "unparsed" if "unparsed" in (belief_status, action_status) else belief_status
            )
            assert (row["theta"], row["p_true"], row["x_humidity"]) == (
                int(case.rained),
                case.p_true,
                case.humidity,
            )
    assert set(study_log.runs["model"]) == {"mockllm/model"}
    assert set(study_log.runs["task"]) == {"rain_belief"}


def test_inspect_letters_stand_for_the_choices(imported):
    study_log = imported(BELIEF, LETTERS, action=["rain_letters"])
    actions = study_log.runs.set_index(["context", "rep"])["action"]
    assert actions.loc[("evening-00", 0)] == "take the umbrella"
    assert actions.loc[("evening-01", 0)] == "leave it"
    assert pd.isna(actions.loc[("evening-02", 0)])  # "C", which was not offered
    assert actions.loc[("evening-03", 0)] == "leave it"
    assert study_log.unpaired[0].startswith(
        "beliefs without an action (32): evening-04 repetition 0"
    )


def test_an_unfinished_run_says_so_and_counts_what_is_missing(tmp_path, imported, packed, sample):
    start = json.dumps(
        {"eval": {"task": "t", "model": "m", "dataset": {"samples": 3}, "config": {"epochs": 1}}}
    )
    failed = json.dumps(
        {
            "id": 2,
            "epoch": 1,
            "target": "No",
            "output": {"choices": [], "completion": ""},
            "error": {"message": "no network"},
        }
    )
    log = packed(
        tmp_path / "cut.eval",
        {"_journal/start.json": start, "samples/1.json": sample(1), "samples/2.json": failed},
    )
    study_log = imported(log)
    assert study_log.runs["status"].tolist() == ["ok", "unparsed"]
    assert study_log.notes == [
        "cut.eval: the run did not finish (status unknown)",
        "cut.eval: 2 of 3 samples are in the log",
        "cut.eval: samples that ended in an error: 1; an answer that is missing counts as unparsed",
    ]


def test_an_attached_answer_is_looked_up(tmp_path, imported, packed, sample):
    attached = sample(1, completion="attachment://abc", attachments={"abc": "0.25"})
    parts = json.dumps(
        {
            "id": 2,
            "target": "No",
            "output": {"choices": [{"message": {"content": [{"type": "text", "text": "0.5"}]}}]},
        }
    )
    log = packed(
        tmp_path / "a.eval",
        {"header.json": HEADER, "samples/1.json": attached, "samples/2.json": parts},
    )
    assert imported(log).runs["p"].tolist() == [0.25, 0.5]
