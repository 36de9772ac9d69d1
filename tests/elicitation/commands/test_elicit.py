"""``coherence elicit``.

Breaks if an option does not reach the questions, if a session costs more than was said before it,
or if Ctrl-C loses answers.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from bayesnets import load_network, write_network
from coherence import read_runs
from elicitation import (
    AgentModel,
    Answer,
    AnswerStore,
    Design,
    load_questions,
    plan_own_questions,
    run_plan,
)

QUESTIONS = """\
id,belief_question,action_question,options,theta
a,How probable is rain?,What now?,stay|go,1
b,How probable is snow?,What now?,stay|go,0
"""
PROMPTS = '[belief.number]\nform = "number"\ntext = "{question} A number from 0 to 1:"\n'


def stored(path):
    if not path.exists():
        return 0
    with AnswerStore(path) as store:
        return len(store)


@pytest.mark.lengthy
def test_ctrl_c_ends_quietly_and_the_same_command_goes_on(model_folder, tmp_path, run):
    out, store = tmp_path / "runs.csv", tmp_path / "answers.sqlite"
    words = f"elicit --model {model_folder} --task asia --contexts 15 --reps 4 --batch-size 4"
    words += f" --threads 1 --out {out} --store {store}"
    process = subprocess.Popen(
        [sys.executable, "-m", "coherence", *words.split()],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        # A child of a test run in the background ignores Ctrl-C by itself.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while stored(store) < 8:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    kept = stored(store)
    assert f"{kept} answers are kept in {store}" in errors
    assert not out.exists()
    assert f"{15 * 4 * 8 - kept} answers asked, {kept} reused" in run(words).err


def test_what_was_answered_before_an_interruption_is_kept(tmp_path, run, monkeypatch):
    generate, calls = AgentModel.generate, []

    def interrupted(model, requests):
        calls.append(len(requests))
        if len(calls) > 2:
            raise KeyboardInterrupt
        return generate(model, requests)

    words = f"elicit --agent leaky --task asia --contexts 20 --reps 3 --out {tmp_path}/r.csv"
    with monkeypatch.context() as patched:
        patched.setattr(AgentModel, "generate", interrupted)
        said = run(words, status=130).err
    kept = sum(calls[:2])
    assert f"{kept} answers are kept in {tmp_path}/r.csv.answers.sqlite" in said
    assert f"{20 * 3 * 8 - kept} answers asked, {kept} reused" in run(words).err


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_options_reach_the_session(tmp_path, run, suffix):
    out = tmp_path / f"runs.{suffix}"
    words = f"elicit --agent leaky --task asia --target bronc --contexts 3 --reps 2 --out {out}"
    # Without a temperature the two repetitions are one question.
    said = run(f"{words} --prompts 'standard, bayes' --no-iterated --temperature 0 --seed 4").err
    assert "12 rows, 9 answers asked, 0 reused" in said
    runs = read_runs(out)
    assert set(runs["task"]) == {"asia:bronc"}
    assert list(runs["prompt"].unique()) == ["standard", "bayes"]
    assert runs["raw_action"].notna().tolist() == (runs["prompt"] == "standard").tolist()


def test_prompts_are_shown_without_a_model_and_nothing_is_asked(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    shown = run("elicit --task asia --contexts 12 --show-prompts 2").out
    assert shown.count("\n--- ") + shown.startswith("--- ") == 2
    assert "Consider a patient who" in shown
    assert list(tmp_path.iterdir()) == []


def test_exact_answers(model_folder, tmp_path, run):
    out = tmp_path / "runs.csv"
    words = f"elicit --model {model_folder} --task asia --contexts 2 --answers exact --no-iterated"
    words += f" --prompts standard --out {out}"
    assert "at most 0 in answers" in run(f"{words} --dry-run").out
    assert (
        "2 rows, 4 answers asked, 0 reused, 100.0% of answers parsed; 0.0% of rows unparsed"
        in run(words).err
    )
    runs = read_runs(out)
    assert runs["p"].notna().all()
    actions = runs[["action_no", "action_yes", "action_defer"]]
    assert actions.sum(axis=1).tolist() == pytest.approx([1, 1])
    # After a whole answer the form of one has next to nothing: no belief, and a warning.
    words += f" --store {tmp_path}/other --set 'prefill=No: 0.50\nYes: 0.50\nDecision: No\n'"
    said = run(words).err
    assert "4 answers asked" in said
    assert "warning: that is less than one half" in said
    assert set(read_runs(out)["status"]) == {"low_mass"}
    assert (
        "0 answers asked, 4 reused, 0.0% of answers parsed; 100.0% of rows unparsed"
        in run(f"{words} --set min_mass=0.9").err
    )


def test_where_few_answers_are_parsed_other_ways_of_answering_are_named(
    model_folder, tmp_path, run
):
    words = f"elicit --model {model_folder} --task asia --contexts 2 --reps 1 --no-iterated"
    words += f" --max-new-tokens 2 --out {tmp_path}/runs.csv"
    said = run(words).err
    assert "warning: 100.0% of answers are unparsed. --answers exact" in said


def test_where_a_model_thinks_first_the_way_named_works_when_it_is_typed(
    model_folder, tmp_path, run
):
    """Breaks if probabilities are advised that are refused inside of a thinking."""
    folder = shutil.copytree(model_folder, tmp_path / "thinks")
    template = "{% for m in messages %}{{ m.content }}{% endfor %}<think>"
    (folder / "chat_template.jinja").write_text(template)
    words = f"elicit --model {folder} --task asia --contexts 2 --no-iterated --prompts standard"
    said = run(f"{words} --reps 1 --max-new-tokens 2 --out {tmp_path}/drawn.csv").err
    advised = '--set "prefill=</think>"'
    assert f"{advised} ends the thinking; then --answers exact" in said
    run(f"{words} --answers exact {advised} --out {tmp_path}/exact.csv")
    assert read_runs(tmp_path / "exact.csv")["p"].notna().all()


def test_own_prompts_and_questions(model_folder, tmp_path, run):
    questions, lab, out = tmp_path / "weather.csv", tmp_path / "lab.toml", tmp_path / "runs.parquet"
    questions.write_text(QUESTIONS)
    lab.write_text(PROMPTS)
    words = f"elicit --model {model_folder} --questions {questions} --reps 1 --out {out}"
    run(f"{words} --prompts {lab},standard")
    runs = read_runs(out)
    assert set(runs["task"]) == {"weather"}
    assert list(runs["prompt"]) == ["number", "standard"] * 2
    # Actions stand beside "standard" where it is among the prompts, else beside the first.
    assert runs["raw_action"].notna().tolist() == [False, True] * 2
    said = run(f"{words} --prompts {lab},standard --set resume=false", status=2).err
    assert "--no-resume needs a new store" in said
    assert "to ask     0\n" in run(f"{words} --prompts {lab},standard --dry-run").out
    run(f"{words} --prompts {lab}")
    assert read_runs(out)["raw_action"].notna().all()


def test_offers_of_an_own_table_are_counted_asked_and_found_again(model_folder, tmp_path, run):
    questions, out = tmp_path / "weather.csv", tmp_path / "runs.parquet"
    questions.write_text(
        "id,belief_question,yes_no_question\na,How probable is rain?,Rain today?\n"
    )
    words = f"elicit --model {model_folder} --questions {questions} --answers exact --out {out}"
    words += " --prompts standard --decision"
    assert "questions  17, of which 17 differ" in run(f"{words} matching --levels 4 --dry-run").out
    assert "17 answers asked" in run(f"{words} matching --levels 4").err
    runs = read_runs(out)
    assert runs["level"].notna().sum() == 16
    assert runs.loc[runs["level"].notna(), "answer_mass"].notna().all()
    # The belief is there already, and chances of 12% and the like are none of a grid of two.
    assert "8 answers asked, 1 reused" in run(f"{words} matching --levels 2").err
    assert "10 answers asked, 1 reused" in run(f"{words} stakes").err
    assert "0 answers asked, 17 reused" in run(f"{words} matching --levels 4").err
    assert "--levels must be at least 2" in run(f"{words} matching --levels 1", status=2).err
    assert "one of usual, matching, stakes" in run(f"{words} betting", status=2).err


def test_an_own_network_and_its_words_become_a_runs_table(tmp_path, run):
    network, words, out = tmp_path / "clinic.bif", tmp_path / "clinic.toml", tmp_path / "runs.csv"
    write_network(load_network("asia"), network)
    begin = f"networks phrases {network} --target lung --out {words}"
    run(begin)
    text = words.read_text(encoding="utf-8").replace('"a person"', '"a visitor"')
    words.write_text(text, encoding="utf-8")
    assert "must be a new file" in run(begin, status=2).err  # words written by hand are not lost
    assert words.read_text(encoding="utf-8") == text
    ask = f"elicit --agent rational --task {network} --contexts 6 --reps 1 --out {out}"
    assert "plain words" not in run(f"{ask} --phrases {words}").err
    runs = pd.read_csv(out)
    assert set(runs["task"]) == {"asia"}
    assert runs["p_true"].notna().all()
    assert "plain words" in run(f"{ask} --target smoke").err
    assert set(pd.read_csv(out)["task"]) == {"asia:smoke"}


def test_a_data_set_takes_fewer_records(tmp_path, run):
    words = f"elicit --agent rational --task breast_cancer --contexts 6 --reps 1 --out {tmp_path}"
    for least in (100, 30):
        run(f"{words}/{least}.csv --set min_records={least} --no-iterated")
    many, few = (set(pd.read_csv(tmp_path / f"{n}.csv")["context"]) for n in (100, 30))
    assert many != few


class Talker:
    name = fingerprint = "m"

    def generate(self, requests):
        return [Answer("No: 0.4\nYes: 0.6", n_tokens=10) for _ in requests]


@pytest.fixture
def look_ahead(tmp_path, run):
    """Look ahead at 100 questions in 10 repetitions, and return what is said by its heading."""
    table = tmp_path / "days.csv"
    rows = "".join(f"{n},Will it rain on day {n:03}?\n" for n in range(100))
    table.write_text(f"context,belief_question\n{rows}", encoding="utf-8")
    words = f"elicit --questions {table} --out {tmp_path}/runs.csv --max-new-tokens 100 --dry-run"
    words += " --prompts standard --reps 10 --model m"
    return lambda more="": dict(
        line.split(maxsplit=1) for line in run(f"{words} {more}").out.splitlines()
    )


def texts(said):
    return float(said["tokens"].split()[1].replace(",", ""))


def test_prices_make_money_of_tokens_and_the_system_message_is_paid_for(look_ahead):
    """Breaks also if a word of three bytes counts as one letter."""
    said = look_ahead("--set price_in=2 --set price_out=8")
    assert said["price"] == f"about {texts(said) * 2e-6:.2f} for texts, at most 0.80 for answers"
    assert "price" not in look_ahead()
    spoken = look_ahead(f"--set 'system={'請回答' * 100}'")
    assert texts(spoken) - texts(said) == pytest.approx(1000 * 900 / 4, abs=1)


def test_answers_in_the_store_say_how_many_tokens_others_will_have(look_ahead, tmp_path):
    plan = plan_own_questions(
        load_questions(tmp_path / "days.csv"),
        Design(reps=5, prompts=("standard",), max_new_tokens=100),
        task="days",
    )
    with AnswerStore(tmp_path / "runs.csv.answers.sqlite") as store:
        run_plan(Talker(), plan, store)
    said = look_ahead("--set price_out=10")
    assert said["in"] == "store   500"
    assert "50,000 in answers, 5,000 if they are as long as" in said["tokens"]
    assert "0.05 if answers are as long as" in said["price"]


def test_few_contexts_are_warned_of_before_anything_is_asked(tmp_path, run):
    words = f"elicit --task asia --agent leaky --out {tmp_path}/r.csv --dry-run --contexts"
    assert "9 contexts are fewer than 10" in run(f"{words} 9").err
    assert "fewer than 10" not in run(f"{words} 10").err


def test_an_agent_refuses_a_file_of_prompts(tmp_path, run):
    words = f"elicit --agent leaky --task asia --prompts mine.toml --out {tmp_path}/r.csv"
    error = run(words, 2).err
    assert "--prompts mine.toml" in error
    assert "name a --model" in error


def test_a_table_of_others_is_kept_and_a_shorter_one_is_said(tmp_path, run):
    path = tmp_path / "runs.csv"
    words = f"elicit --agent rational --task asia --out {path} --contexts"
    path.write_text("context,p\na,0.5\n")
    assert "no table of elicit" in run(f"{words} 12", status=2).err
    assert path.read_text() == "context,p\na,0.5\n"
    path.unlink()
    n_rows = {}
    for n_contexts in (12, 10):
        run(f"{words} {n_contexts}")
        n_rows[n_contexts] = len(read_runs(path))
    said = run(f"{words} 12").err
    assert "was replaced" not in said
    assert f"of {n_rows[12]} rows was replaced by one of {n_rows[10]}" in run(f"{words} 10").err


def test_findings_revealed_in_turn_become_episodes(tmp_path, run):
    out = tmp_path / "runs.parquet"
    asked = f"elicit --task asia --reveal-in-turn --out {out} --agent"
    run(f"{asked} rational --contexts 15 --reps 1 --prompts standard")
    runs = read_runs(out)
    turns = runs.groupby("group")["turn"].apply(tuple)
    assert set(turns) == {(1, 2, 3, 4, 5, 6)}
    assert abs(runs["p"] - runs["p_true"]).max() <= 0.025 + 1e-9
    shown = run(f"analyze {out} --checks belief_movement").out
    assert "(belief_movement:single_reports)" in "".join(shown.split())  # lines may break within
    for wrong, remedy in (
        ("--task randhie --agent rational", "needs a network"),
        ("--task asia --agent rational --set min_records=5", "Leave it out"),
        ("--questions q.csv --model m", "Leave it out"),
        ("--task asia --agent clairvoyant", "without --reveal-in-turn"),
    ):
        error = run(f"elicit {wrong} --reveal-in-turn --out {tmp_path}/x.csv", 2).err
        assert remedy in error, wrong
