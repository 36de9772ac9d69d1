"""Inspect and our own sessions put the same questions, and read the same answers alike."""

import pandas as pd
import pytest

import elicitation
from coherence import InputError
from elicitation import AnswerStore, Design
from elicitation.batteries.bets.words import choose_in_words
from elicitation.commands.inspect_logs import (
    read_inspect_bets,
    read_inspect_mixing,
    read_inspect_runs,
)


def runs_of(log):
    runs, _ = read_inspect_runs([log.location])
    return runs


@pytest.mark.parametrize(
    ("arguments", "design"),
    [
        pytest.param({"reps": 2}, Design(reps=2), marks=pytest.mark.lengthy),
        pytest.param(
            {"reps": 1, "belief": "sampled", "draws": 3},
            Design(reps=1, belief="sampled", draws=3),
            marks=pytest.mark.lengthy,
        ),
        (
            {"reps": 1, "iterated": False, "prompts": ["mse", "bayes"], "seed": 4},
            Design(reps=1, iterated=False, prompts=("mse", "bayes"), seed=4),
        ),
        (
            {"reps": 2, "iterated": False, "decision": "matching", "levels": 4},
            Design(reps=2, iterated=False, decision="matching", levels=4),
        ),
    ],
)
def test_equal_answers_give_equal_tables(run_task, scripted, arguments, design):
    contexts = 3
    log = run_task(
        "beliefs_and_actions", task_args={"network": "asia", "contexts": contexts, **arguments}
    )
    assert log.status == "success", log.error.message + log.error.traceback
    task = elicitation.load_task("asia")
    cases = task.cases(contexts, seed=design.seed)
    with AnswerStore(":memory:") as store:
        runs, tally = elicitation.elicit(
            scripted, task, cases, store, design=design, keep_going=True
        )
    assert len(log.samples) == tally.total
    pd.testing.assert_frame_equal(
        runs_of(log).drop(columns="created"), runs.drop(columns="created")
    )


def test_episodes_come_back_from_a_log(run_task, scripted):
    arguments = {"contexts": 2, "reps": 1, "prompts": "standard", "reveal_in_turn": True}
    log = run_task("beliefs_and_actions", task_args=arguments)
    task = elicitation.load_task("asia")
    design = Design(reps=1, prompts=("standard",))
    with AnswerStore(":memory:") as store:
        cases = task.episodes(2, seed=0)
        runs, _ = elicitation.elicit(scripted, task, cases, store, design=design, keep_going=True)
    assert list(runs["turn"]) == [1, 2, 3, 4, 5, 6] * 2
    pd.testing.assert_frame_equal(
        runs_of(log).drop(columns="created"), runs.drop(columns="created")
    )


@pytest.mark.lengthy
def test_own_tables_and_networks_are_tasks_too(run_task, scripted, tmp_path):
    table = pd.DataFrame(
        {
            "context": ["a", "b", "c"],
            "belief_question": ["Will it rain?", "Will it snow?", "Will it hail?"],
            "action_question": ["Take an umbrella?"] * 3,
            "options": ["Yes|No"] * 3,
            "theta": [1.0, None, 0.0],
            "p_true": [0.25, None, 0.5],
            "x_day": [1, 2, 3],
            "x_place": ["Oslo", None, "Rome"],
        }
    )
    table.to_csv(tmp_path / "rain.csv", index=False)
    questions = elicitation.load_questions(tmp_path / "rain.csv")
    with AnswerStore(":memory:") as store:
        runs, _ = elicitation.elicit_questions(
            scripted, questions, store, task="rain", design=Design(reps=2), keep_going=True
        )
    arguments = {"task_file": str(tmp_path / "rain.csv"), "reps": 2}
    log = run_task("beliefs_and_actions", task_args=arguments)
    # The file is not needed any more: all that is known stands in the log.
    (tmp_path / "rain.csv").unlink()
    pd.testing.assert_frame_equal(
        runs_of(log).drop(columns="created"), runs.drop(columns="created")
    )


@pytest.mark.lengthy
def test_metrics_are_the_share_parsed_and_the_error_to_the_truth(run_task):
    log = run_task("beliefs_and_actions", task_args={"network": "asia", "contexts": 3, "reps": 1})
    runs = runs_of(log)
    metrics = {score.name: next(iter(score.metrics.values())).value for score in log.results.scores}
    beliefs = runs.dropna(subset="p")
    error = ((beliefs["p"] - beliefs["p_true"]) ** 2).mean() ** 0.5
    assert metrics["squared_error"] == pytest.approx(error, rel=1e-12)
    answers = [score.value["parsed"] for sample in log.samples for score in sample.scores.values()]
    assert metrics["parsed"] == pytest.approx(sum(answers) / len(answers))
    assert 0 < metrics["parsed"] < 1
    sample = next(sample for sample in log.samples if sample.metadata["kind"] == "conditional")
    row = runs[
        (runs["context"] == sample.metadata["context"])
        & (runs["z_state"] == sample.metadata["z_state"])
    ].iloc[0]
    known = {"task": "asia", "rep": 0, "prompt": "standard", "z": row["z"], "theta": row["theta"]}
    assert known.items() <= sample.metadata.items()
    assert sample.metadata["p_true"] == row["p_true"]


@pytest.mark.lengthy
def test_epochs_are_further_repetitions_with_seeds_of_their_own(run_task):
    arguments = {"network": "asia", "contexts": 2, "reps": 2, "prompts": "standard"}
    log = run_task("beliefs_and_actions", task_args=arguments | {"iterated": False}, epochs=2)
    runs = runs_of(log)
    assert sorted(runs["rep"].unique()) == [0, 1, 2, 3]
    assert runs["seed"].is_unique


@pytest.mark.lengthy
def test_what_has_not_come_is_left_out_and_said(run_task):
    arguments = {"network": "asia", "contexts": 2, "reps": 1}
    log = run_task("beliefs_and_actions", task_args=arguments, limit=7)
    whole = run_task("beliefs_and_actions", task_args=arguments)
    runs = runs_of(whole)
    part = runs_of(log)
    # Four framings and the decision of one case; z given one state, and z itself.
    assert len(part) == 5
    pd.testing.assert_frame_equal(
        part.drop(columns="created"), runs.head(5).drop(columns="created")
    )


@pytest.mark.lengthy
def test_an_answer_that_ended_in_an_error_is_unparsed(run_task):
    def fail(messages, tools, tool_choice, config):
        raise ValueError("no such deployment")

    arguments = {"network": "asia", "contexts": 2, "reps": 1, "iterated": False}
    log = run_task("beliefs_and_actions", outputs=fail, task_args=arguments, fail_on_error=False)
    with pytest.raises(InputError, match="no such deployment"):
        runs_of(log)


@pytest.mark.parametrize(
    ("task", "arguments", "named"),
    [
        ("beliefs_and_actions", {"belief": "token"}, "coherence elicit"),
        ("beliefs_and_actions", {"contexts": "many"}, "contexts"),
        ("beliefs_and_actions", {"network": "azia"}, "asia"),
        ("beliefs_and_actions", {"prompts": "kind"}, "prompts"),
        ("mixing", {"draws": 0}, "draws"),
    ],
)
def test_arguments_out_of_range_are_named(run_task, task, arguments, named):
    with pytest.raises(InputError, match=named):
        run_task(task, task_args=arguments)


@pytest.mark.lengthy
def test_mixing_gives_the_table_of_a_session(run_task, scripted):
    log = run_task("mixing", task_args={"draws": 2})
    with AnswerStore(":memory:") as store:
        answers = elicitation.elicit_mixing(scripted, store, draws=2, keep_going=True)
    pd.testing.assert_frame_equal(read_inspect_mixing([log.location]), answers)


@pytest.mark.lengthy
def test_bets_give_the_questions_and_answers_of_a_session(run_task, scripted):
    log = run_task("bets", limit=40)
    questions, answers = read_inspect_bets(log.location)
    with AnswerStore(":memory:") as store:
        asked = choose_in_words(scripted, questions, store, keep_going=True)
    assert set(questions["kind"]) == {"value"}
    assert len(answers) == 40
    pd.testing.assert_frame_equal(answers, asked, check_dtype=False)
