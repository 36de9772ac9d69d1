"""Commands read logs of our tasks as they read tables."""

import json

import pandas as pd
import pytest

import elicitation
from coherence import InputError
from elicitation import Design
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


# Inspect and our own sessions put the same questions, and read the same answers alike.


BELIEFS = "beliefs_and_actions"
ASIA = {"network": "asia", "contexts": 2}
MATCHING = {"reps": 2, "iterated": False, "decision": "matching", "levels": 4}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"reps": 2}, marks=pytest.mark.lengthy),
        pytest.param({"reps": 1, "belief": "sampled", "draws": 3}, marks=pytest.mark.lengthy),
        {"reps": 1, "iterated": False, "prompts": ("mse", "bayes"), "seed": 4},
        MATCHING,
    ],
)
def test_equal_answers_give_equal_tables(run_task, session, same, arguments):
    told = {key: list(value) if key == "prompts" else value for key, value in arguments.items()}
    log = run_task(BELIEFS, task_args=ASIA | told)
    assert log.status == "success", log.error.message + log.error.traceback
    task = elicitation.load_task("asia")
    cases = task.cases(2, seed=arguments.get("seed", 0))
    design = Design(**arguments)
    runs, tally = session(elicitation.elicit, task, cases, design=design)
    assert len(log.samples) == tally.total
    same(log, runs)


@pytest.mark.lengthy
def test_the_score_is_the_share_parsed_and_metadata_say_what_was_asked(run_task):
    log = run_task(BELIEFS, task_args=ASIA | {"reps": 1})
    runs, _ = read_inspect_runs([log.location])
    (score,) = log.results.scores
    parsed = [each.value for sample in log.samples for each in sample.scores.values()]
    assert score.metrics["mean"].value == pytest.approx(sum(parsed) / len(parsed))
    assert 0 < score.metrics["mean"].value < 1
    put = [json.loads(each.metadata["question"]) for each in log.samples]
    told = next(each for each in put if '"conditional"' in each["spec"])
    assert {"task": "asia", "rep": 0}.items() <= told.items()
    row = runs[runs["context"] == told["cells"]["context"]].iloc[0]
    assert row["p_true"] == told["cells"]["p_true"]
    z_states = runs["context"].eq(row["context"]) & runs["z"].eq(told["cells"]["z"])
    truths = runs[z_states].set_index("z_state")["p_true"].to_dict()
    assert truths == {state: of["p_true"] for state, of in told["truth"].items()}
    # What has not come is left out: of one case four prompts and the decision, z given one state.
    part = run_task(BELIEFS, task_args=ASIA | {"reps": 1}, limit=7)
    part, _ = read_inspect_runs([part.location])
    assert len(part) == 5
    tables = [each.drop(columns="created") for each in (part, runs.head(5))]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize(
    ("task", "arguments", "named"),
    [
        (BELIEFS, {"belief": "token"}, "coherence elicit"),
        (BELIEFS, {"contexts": "many"}, "contexts"),
        (BELIEFS, {"network": "azia"}, "asia"),
        (BELIEFS, {"prompts": "kind"}, "prompts"),
    ],
)
def test_arguments_out_of_range_are_named(run_task, task, arguments, named):
    with pytest.raises(InputError, match=named):
        run_task(task, task_args=arguments)
