"""Commands read logs of our tasks as they read tables."""

import json

import pandas as pd
import pytest

from coherence.cli.main import main
from elicitation.commands.inspect_logs import read_inspect_runs

QUESTIONS = {"network": "asia", "contexts": 12, "reps": 1, "prompts": "standard", "iterated": False}


@pytest.fixture(scope="module")
def log(run_task):
    return run_task("beliefs_and_actions", task_args=QUESTIONS).location


def test_analyze_reads_a_log_as_it_reads_the_table_of_it(log, tmp_path):
    runs, _ = read_inspect_runs([log])
    runs.to_parquet(tmp_path / "runs.parquet")
    assert main(["analyze", log, "--json", str(tmp_path / "log.json")]) == 0
    assert (
        main(["analyze", str(tmp_path / "runs.parquet"), "--json", str(tmp_path / "t.json")]) == 0
    )
    of_log, of_table = (
        json.loads((tmp_path / name).read_text()) for name in ("log.json", "t.json")
    )
    assert of_log["units"] == of_table["units"]


@pytest.mark.lengthy
def test_logs_of_several_models_are_analysed_and_compared(log, run_task, tmp_path, capsys):
    other = run_task("beliefs_and_actions", name="other", task_args=QUESTIONS).location
    assert main(["analyze", log, other]) == 0
    said = capsys.readouterr().out
    assert "mockllm/model" in said
    assert "mockllm/other" in said
    assert main(["compare", log, other, "--out", str(tmp_path / "comparison")]) == 0


@pytest.mark.lengthy
def test_the_same_answers_are_not_read_twice(log, run_task, capsys):
    again = run_task("beliefs_and_actions", task_args=QUESTIONS).location
    assert main(["analyze", log, again]) == 2
    assert "together two answers would stand for one" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"seed": None}, {"p_true": 7, "rep": "x"}])
def test_damaged_metadata_are_one_line(log, tmp_path, capsys, change):
    from inspect_ai.log import read_eval_log, write_eval_log

    whole = read_eval_log(log)
    for name, value in change.items():
        if value is None:
            whole.samples[0].metadata.pop(name)
        else:
            whole.samples[0].metadata[name] = value
    write_eval_log(whole, str(tmp_path / "damaged.eval"))
    assert main(["analyze", str(tmp_path / "damaged.eval")]) == 2
    told = capsys.readouterr().err
    assert "damaged.eval: the metadata of its samples are not what the task wrote" in told
    assert len(told.splitlines()) == 1


def test_import_names_the_command_that_reads_our_logs(log, tmp_path, capsys):
    assert main(["import", log, "--out", str(tmp_path / "runs.parquet")]) == 2
    assert "Read it with coherence analyze" in capsys.readouterr().err
    assert not (tmp_path / "runs.parquet").exists()


def test_tables_and_logs_are_not_mixed(log, tmp_path, capsys):
    pd.DataFrame({"p": [0.5]}).to_csv(tmp_path / "runs.csv")
    assert main(["analyze", log, str(tmp_path / "runs.csv")]) == 2
    assert "runs.csv" in capsys.readouterr().err


@pytest.mark.lengthy
def test_a_log_of_another_task_names_the_command_that_reads_it(run_task, capsys):
    log = run_task("mixing", task_args={"draws": 1}, limit=4).location
    assert main(["analyze", log]) == 2
    assert "coherence mix --answers" in capsys.readouterr().err


@pytest.mark.lengthy
def test_batteries_score_their_logs(run_task, tmp_path):
    log = run_task("mixing", task_args={"draws": 2}).location
    assert main(["mix", "--answers", log, "--out", str(tmp_path / "mix")]) == 0
    log = run_task("bets").location
    assert main(["bets", "--answers", log, "--out", str(tmp_path / "bets")]) == 0
