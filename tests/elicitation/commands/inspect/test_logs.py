"""Commands read logs of our tasks as they read tables."""

import json

import pandas as pd
import pytest

from elicitation.commands.inspect_logs import read_inspect_runs

QUESTIONS = {"network": "asia", "contexts": 12, "reps": 1, "prompts": "standard", "iterated": False}


@pytest.fixture(scope="module")
def log(run_task):
    return run_task("beliefs_and_actions", task_args=QUESTIONS).location


def test_analyze_reads_a_log_as_it_reads_the_table_of_it(log, tmp_path, run):
    runs, _ = read_inspect_runs([log])
    runs.to_parquet(tmp_path / "runs.parquet")
    run(f"analyze {log} --json {tmp_path}/log.json")
    run(f"analyze {tmp_path}/runs.parquet --json {tmp_path}/table.json")
    of_log, of_table = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("log", "table")
    )
    assert of_log["evaluations"] == of_table["evaluations"]


@pytest.mark.lengthy
def test_logs_of_several_models_are_analysed_and_compared(log, run_task, tmp_path, run):
    other = run_task("beliefs_and_actions", name="other", task_args=QUESTIONS).location
    said = run(f"analyze {log} {other}").out
    assert "mockllm/model" in said
    assert "mockllm/other" in said
    run(f"compare {log} {other} --out {tmp_path}/comparison")


@pytest.mark.lengthy
def test_the_same_answers_are_not_read_twice(log, run_task, run):
    again = run_task("beliefs_and_actions", task_args=QUESTIONS).location
    said = run(f"analyze {log} {again}", status=2).err
    assert "together two answers would stand for one" in said


@pytest.mark.parametrize("change", [{"seed": None}, {"p_true": 7, "rep": "x"}])
def test_damaged_metadata_are_one_line(log, tmp_path, run, change):
    from inspect_ai.log import read_eval_log, write_eval_log

    whole = read_eval_log(log)
    for name, value in change.items():
        if value is None:
            whole.samples[0].metadata.pop(name)
        else:
            whole.samples[0].metadata[name] = value
    write_eval_log(whole, str(tmp_path / "damaged.eval"))
    (said,) = run(f"analyze {tmp_path}/damaged.eval", status=2).err.splitlines()
    assert "damaged.eval: the metadata of its samples are not what the task wrote" in said


def test_logs_and_other_tables_are_told_apart(log, tmp_path, run):
    said = run(f"import {log} --out {tmp_path}/runs.parquet", status=2).err
    assert "Read it with coherence analyze" in said
    assert not (tmp_path / "runs.parquet").exists()
    pd.DataFrame({"p": [0.5]}).to_csv(tmp_path / "runs.csv")
    assert "runs.csv" in run(f"analyze {log} {tmp_path}/runs.csv", status=2).err


@pytest.mark.lengthy
def test_a_log_of_another_task_names_the_command_that_reads_it(run_task, run):
    log = run_task("mixing", task_args={"draws": 1}, limit=4).location
    assert "coherence mix --answers" in run(f"analyze {log}", status=2).err


@pytest.mark.lengthy
def test_batteries_score_their_logs(run_task, tmp_path, run):
    log = run_task("mixing", task_args={"draws": 2}).location
    run(f"mix --answers {log} --out {tmp_path}/mix")
    run(f"bets --answers {run_task('bets').location} --out {tmp_path}/bets")
