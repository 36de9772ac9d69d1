import json
import sys

import pandas as pd
import pytest

from coherence import InputError
from coherence.decoding.decode import decode_belief, decode_choice
from coherence.runs.read import validate_runs
from tests.api.importing.conftest import (
    ACTION,
    BELIEF,
    GOLDEN,
    HEADER,
    RUN,
    TEXT,
    imported,
    packed,
    sample,
)

ERROR = {"message": "", "traceback": "", "traceback_ansi": ""}


def failed(number, message):
    return sample(
        number, output={"choices": [], "completion": ""}, error=ERROR | {"message": message}
    )


def cells(column):
    return [None if pd.isna(cell) else cell for cell in column]


def test_inspect_logs_hold_every_answer_of_the_study(study):
    study_log = imported(BELIEF, ACTION, belief="rain_belief", actions=("take", "leave"))
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
            assert cells(row[["p", "action"]]) == [belief.value, action.value]
            assert row["status"] in {belief.status, action.status}
            assert (row["status"] == "ok") == (belief.status == action.status == "ok")
            facts = [int(case.rained), case.p_true, case.humidity]
            assert row[["theta", "p_true", "x_humidity"]].tolist() == facts
    assert set(study_log.runs["model"]) == {"mockllm/model"}
    assert set(study_log.runs["task"]) == {"rain_belief"}


def test_inspect_letters_stand_for_the_choices():
    letters = GOLDEN / "inspect_letters.json"
    study_log = imported(BELIEF, letters, action="rain_letters")
    rows = study_log.runs[study_log.runs["rep"] == 0].set_index("context")[:4]
    # The third said "C", which was not offered; in the fourth Inspect's scorer found no letter.
    assert cells(rows["action"]) == ["take the umbrella", "leave it", None, None]
    assert rows["status"].tolist()[::3] == ["ok", "unparsed"]
    assert rows["raw_action"].tolist()[0] == "ANSWER: A"
    assert study_log.unpaired[0].startswith("beliefs without an action (32): evening-04 repetition")


def test_an_unfinished_run_says_so_and_counts_what_is_missing(tmp_path):
    run = RUN | {"dataset": {"samples": 3}, "config": {"epochs": 1}}
    start = json.dumps({"version": 2, "eval": run, "plan": {"steps": [], "config": {}}})
    log = packed(
        tmp_path / "cut.eval",
        *(sample(1), failed(2, "no network")),
        header=None,
        **{"_journal/start.json": start},
    )
    study_log = imported(log)
    assert study_log.runs["status"].tolist() == ["ok", "unparsed"]
    unfinished, missing = study_log.notes
    assert unfinished == "cut.eval: the run did not finish (status started)"
    assert missing == (
        "cut.eval: 2 of 3 samples are in the log, 1 of them ended in an error. "
        "Most frequent error (1): no network"
    )


def test_reasoning_is_left_out_and_what_was_withheld_is_refused(tmp_path):
    withheld = json.loads(sample(1, ""))
    withheld["output"]["choices"][0]["stop_reason"] = "content_filter"
    parts = [{"type": "reasoning", "reasoning": "0.9?"}]
    parts += [{"type": "text", "text": text} for text in ("No: 0.5", "Yes: 0.5")]
    runs = imported(packed(tmp_path / "a.eval", json.dumps(withheld), sample(2, parts))).runs
    assert runs["status"].tolist()[0] == "refused"
    assert runs["raw_belief"].tolist()[1] == "No: 0.5\nYes: 0.5"


def test_the_logs_own_answer_comes_before_the_words_of_the_reply(tmp_path):
    samples = []
    for number, (completion, scored, reason) in enumerate(
        [
            ("ANSWER: A", "B", "stop"),  # the choices were shuffled; the scorer knows their order
            ("Waiting may harm.\n\nANSWER: B", None, "stop"),  # not scored: read here
            ("ANSWER: A\nANSWER: B", None, "stop"),
            ("ANSWER: A, B", "A, B", "stop"),
            ("ANSWER: B", None, "max_tokens"),  # cut: it may have gone on
        ]
    ):
        asked = json.loads(sample(number, completion))
        asked["output"]["choices"][0]["stop_reason"] = reason
        scores = {} if scored is None else {"choice": {"value": "C", "answer": scored}}
        asked |= {"choices": ["wait", "treat"], "scores": scores, "metadata": {"p": 0.5}}
        samples.append(json.dumps(asked))
    columns = {"p": "metadata.p", "action": "output", "theta": "-"}
    runs = imported(packed(tmp_path / "letters.eval", *samples), mapping=columns).runs
    assert cells(runs["action"]) == ["treat", "treat", None, None, None]
    assert runs["status"].tolist() == [
        "ok",
        "repaired:passage",
        "unparsed",
        "unparsed",
        "truncated",
    ]


def test_a_run_without_one_answer_is_refused_with_its_most_frequent_error(tmp_path):
    messages = ["no network", "rate limit\ntraceback", "rate limit\nx"]
    log = packed(tmp_path / "f.eval", *(failed(*each) for each in enumerate(messages)))
    for options in ({}, {"belief": ["t"]}, {"action": ["t"]}):
        with pytest.raises(InputError, match=r"f\.eval: the log has no answer.*\(2\): rate limit "):
            imported(BELIEF, log, **options)
    error = ERROR | {"message": "AuthenticationError('401: wrong key')"}
    header = json.dumps(json.loads(HEADER) | {"status": "error", "error": error})
    with pytest.raises(
        InputError, match=r"has no answer.* The run failed: AuthenticationError\('401"
    ):
        imported(packed(tmp_path / "failed.eval", header=header))


def test_inspect_is_loaded_by_its_own_logs_alone_and_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    assert len(imported(TEXT).runs) == 36
    with pytest.raises(ImportError, match=r"pip install .*\[elicit\]"):
        imported(BELIEF)
