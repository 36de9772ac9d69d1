"""``coherence elicit --stop-when``: what was asked, what is kept, and what a plan refuses."""

import os
import subprocess
import sys
import time

import pandas as pd
import pytest

import coherence
from elicitation.asking.overview import read_store

AGENT = "elicit --agent leaky --task asia --no-iterated --prompts standard --answers exact"
PLAN = "--stop-when sufficiency --looks 4 --most 120"


def words(plan, out, agent=AGENT):
    return f"{agent} {plan} --out {out}"


def primary(path):
    (evaluation,) = coherence.analyze(path, checks=["sufficiency"], rng=9).evaluations
    return evaluation.results[0]


def test_it_asks_up_to_the_look_that_stops_and_analyze_prints_that_pvalue(tmp_path, run):
    out = tmp_path / "runs.csv"
    told = run(words(PLAN, out)).err
    found, table = primary(out), coherence.read_runs(out)
    assert found.settings["stopped"] == table["context"].nunique() == table["arrival"].max() < 120
    looks = [line for line in told.splitlines() if ": look " in line]
    assert [f"{30 * (at + 1)} cases" in line for at, line in enumerate(looks)] == [True] * len(
        looks
    )
    assert f"stopped after {found.settings['stopped']} of at most 120" in told
    assert f"p = {found.pvalue:.2g} with" in told


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (f"{PLAN} --contexts 50", "Leave it out"),
        (f"{PLAN} --evidence 20", "in place of --looks"),
        ("--looks 4", "--stop-when sufficiency"),
        ("--stop-when sufficiency", "--most 200"),
        (f"{PLAN} --decision matching", "lack actions"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, remedy, tmp_path, run):
    assert remedy in run(words(options, tmp_path / "runs.csv"), 2).err


@pytest.mark.lengthy
def test_a_changed_plan_is_refused_and_the_remedy_works_as_typed(tmp_path, run):
    out = tmp_path / "runs.csv"
    run(words(PLAN, out))
    for changed in (PLAN.replace("120", "150"), f"{PLAN} --seed 3"):
        told = run(words(changed, out), 2).err
        flags = told.split("Type what it was (")[1].split(")")[0]
        assert flags == "--looks 4 --most 120 --seed 0"
    assert ", 0 answers asked" in run(words(f"--stop-when sufficiency {flags}", out)).err


@pytest.mark.lengthy
def test_evidence_stops_and_where_reports_differ_looks_take_its_place(tmp_path, run):
    out, noisy = (
        tmp_path / "runs.csv",
        AGENT.replace("leaky", "noisy").replace("--answers exact", ""),
    )
    run(words("--stop-when sufficiency --evidence 20", out))
    found = primary(out)
    assert found.pvalue <= 0.05
    assert found.settings["stopped"] <= coherence.read_runs(out)["arrival"].max()
    out = tmp_path / "noisy.csv"
    told = run(words("--stop-when sufficiency --evidence 20 --most 60", out, noisy), 2).err
    flags = told.split("Looks do: ")[1].split(" in place")[0]
    told = run(words(f"--stop-when sufficiency {flags}", out, noisy)).err
    assert ", 0 reused" not in told
    assert primary(out).settings["plan"].startswith("looks=5 most=60")


def test_questions_of_ones_own_are_asked_in_random_order(tmp_path, run, model_folder):
    rows = [f"c{at:02},Is it {at}?,What now?,stay|go,{int(at > 9)}" for at in range(20)]
    source, out = tmp_path / "mine.csv", tmp_path / "runs.csv"
    head = "context,belief_question,action_question,options,theta"
    source.write_text("\n".join([head, *rows]) + "\n")
    asked = f"elicit --model {model_folder} --questions {source} --answers forced --reps 1"
    plan = "--prompts standard --stop-when sufficiency --looks 2 --most 20"
    run(words(plan, out, asked))
    table = coherence.read_runs(out)
    assert sorted(table["context"]) == [f"c{at:02}" for at in range(20)]
    assert table["context"].tolist() != sorted(table["context"])
    assert table["arrival"].tolist() == list(range(1, 21))
    assert "--most 20" in run(words(plan.replace("20", "21"), out, asked), 2).err


@pytest.mark.lengthy
def test_killed_at_any_moment_it_goes_on_to_what_it_would_have_been(tmp_path):
    def start(out):
        arguments = words(f"{PLAN} --batch-size 4", out)
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "coherence", *arguments.split()]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=paths)

    undisturbed, killed = tmp_path / "undisturbed.csv", tmp_path / "killed.csv"
    looks = [line for line in start(undisturbed).communicate()[1].splitlines() if ": look" in line]
    store = tmp_path / "killed.csv.answers.sqlite"
    kept = 0
    for answers in (1, 30, 61, 100):
        process, deadline = start(killed), time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if store.exists() and sum(1 for _ in read_store(store)) >= answers:
                break
            time.sleep(0.005)
        process.kill()
        process.communicate()
        now = sum(1 for _ in read_store(store))
        assert now >= kept
        kept = now
    told = start(killed).communicate()[1]
    assert [line for line in told.splitlines() if ": look" in line] == looks
    tables = [pd.read_csv(path).drop(columns="created") for path in (undisturbed, killed)]
    pd.testing.assert_frame_equal(*tables)
