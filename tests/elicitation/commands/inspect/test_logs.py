"""Commands read logs of our tasks as they read tables."""

import json

import pandas as pd
import pytest

from elicitation.inspect_logs import read_inspect_runs

QUESTIONS = {"network": "asia", "contexts": 12, "reps": 1, "prompts": "standard", "iterated": False}


@pytest.fixture(scope="module")
def log(run_task):
    return run_task("beliefs_and_actions", task_args=QUESTIONS).location


def test_analyze_reads_a_log_as_it_reads_the_table_of_it(log, tmp_path, run):
    runs, _ = read_inspect_runs([log])
    runs.to_parquet(tmp_path / "runs.parquet")
    results = []
    for source in (log, tmp_path / "runs.parquet"):
        run(f"analyze {source} --checks sufficiency --json {tmp_path}/results.json")
        results.append(json.loads((tmp_path / "results.json").read_text())["evaluations"])
    assert results[0] == results[1]
    said = run(f"import {log} --out {tmp_path}/other.parquet", status=2).err
    assert "Read it with coherence analyze" in said
    assert not (tmp_path / "other.parquet").exists()
    pd.DataFrame({"p": [0.5]}).to_csv(tmp_path / "runs.csv")
    assert "runs.csv" in run(f"analyze {log} {tmp_path}/runs.csv", status=2).err


@pytest.mark.parametrize("change", [None, {"rep": "x"}, {"spec": "{}"}])
def test_damaged_metadata_are_one_line(log, tmp_path, run, change):
    from inspect_ai.log import read_eval_log, write_eval_log

    whole = read_eval_log(log)
    told = whole.samples[0].metadata.pop("question")
    if change:
        whole.samples[0].metadata["question"] = json.dumps(json.loads(told) | change)
    write_eval_log(whole, str(tmp_path / "damaged.eval"))
    (said,) = run(f"analyze {tmp_path}/damaged.eval", status=2).err.splitlines()
    assert "damaged.eval: the metadata of its samples are not what the task wrote" in said
