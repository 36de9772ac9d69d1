"""``coherence elicit``: breaks if a session costs more than was said, or a table is overwritten.

Tables of each way of asking are in `test_golden.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coherence
from bayesnets import load_network, write_network
from coherence import read_runs

from ..models.hosted.fake_server import Fake, after_opening, answer, probing, raw, serving
from .conftest import written


def test_exact_answers_and_what_is_said_of_them(model_folder, tmp_path, run):
    out = tmp_path / "runs.csv"
    words = f"elicit --model {model_folder} --task asia --contexts 2 --answers exact --no-iterated"
    words += f" --prompts standard --out {out}"
    assert "to ask     4\n" in run(f"{words} --dry-run").out
    said = run(words).err
    assert "2 rows, 4 answers asked, 0 reused, 100.0% of answers parsed; 0.0% of rows unp" in said
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
    said = run(f"{words} --set min_mass=0.9").err
    assert "0 answers asked, 4 reused, 0.0% of answers parsed; 100.0% of rows unparsed" in said


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


# ``coherence reveal``.
# Breaks if a kind of answer is not scored, if a model is asked what it cannot answer, or if a file
# of
# an earlier call stays or another is lost.


ROOT = Path(__file__).parents[3]
COINS = "--where scenario=coins --where variant=single"


@pytest.fixture
def fill_in(run, tmp_path):
    """Write the questions of a part of the battery, and what a function makes of them."""

    def write(where, answers, path=tmp_path / "answers.csv"):
        run(f"reveal --write-questions {path} {where}")
        table = pd.read_csv(path, dtype={"outcome": str, "option": str})
        answers(table).to_csv(path, index=False)
        return path

    return write


@pytest.mark.lengthy
def test_from_a_model_folder_to_the_verdict(blank_models, tmp_path, run):
    instruct, out = blank_models[1], tmp_path / "out"
    words = f"reveal --model {instruct} --out {out} {COINS} --where n=2,3"
    said = run(words)
    # Random weights hardly ever say a letter: the answer mass is in the table, and is warned of.
    assert pd.read_csv(out / "stated_errors.csv")["answer_mass"].between(0, 0.5).all()
    assert "no belief" in said.out
    runs = coherence.read_runs(out / "runs.parquet")
    assert set(runs["task"]) == {"coins"}
    assert (runs["status"] == "ok").all()
    tables = ("beliefs", "scores", "summary", "stated", "stated_errors", "bets")
    assert {f"{name}.csv" for name in tables} | {"outcomes.png", "report.html"} <= written(out)
    (unit,) = json.loads((out / "results.json").read_text())["evaluations"]
    checks = {result["check"] for result in unit["results"]}
    assert {"iterated_expectation", "sufficiency", "prompt_consistency:story"} <= checks
    # Every text is in the store: the same command asks nothing and finds the same.
    first = pd.read_csv(out / "scores.csv")
    assert "instruct, beliefs: 36 of 36 answers" in run(f"{words} --only-revealed").err
    pd.testing.assert_frame_equal(pd.read_csv(out / "scores.csv"), first)


@pytest.mark.lengthy
def test_answers_from_elsewhere_need_no_model(fill_in, tmp_path):
    """Breaks if torch is loaded on the way: scoring a table must work without the extra."""
    where = "--where faces=6 --where scenario=dice --where variant=single"

    def uniform(table):
        table = table[table.kind == "belief"]
        groups = table.groupby(["setting", "wording"])["outcome"]
        return table.assign(probability=1 / groups.transform("size"))

    words = ["reveal", "--answers", str(fill_in(where, uniform)), "--out", str(tmp_path)]
    code = (
        f"import sys; from coherence.cli.main import main; status = main({words + where.split()!r})"
        "; sys.exit(status or 10 * ('torch' in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    scores = pd.read_csv(tmp_path / "scores.csv").groupby("group")["chebyshev"].mean()
    assert scores["1 die, single"] == pytest.approx(0)
    assert scores["2 dice, single"] == pytest.approx(1 / 6 - 1 / 11)
    assert not (tmp_path / "runs.parquet").exists()


# Options that elicit, reveal, bets and mix share: breaks if one of them drops or misreads one.


SESSIONS = {
    "elicit": "--task asia --contexts 2 --reps 1 --no-iterated --prompts mse --out {out}/r.csv",
    "reveal": "--where scenario=choice --where variant=single --where n=2 --out {out}",
    "bets": "--items {things} --out {out}",
    "mix": "--draws 1 --out {out}",
}


@pytest.fixture
def session(tmp_path, list_of_things):
    """Return the words of a small session of a command."""
    things = tmp_path / "things.csv"
    things.write_text(list_of_things, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    return lambda command: f"{command} {SESSIONS[command].format(out=out, things=things)}"


@pytest.mark.parametrize(
    "command", ["elicit", *(pytest.param(c, marks=pytest.mark.lengthy) for c in ("mix", "bets"))]
)
def test_hosted_models_get_all_options(command, session, run, monkeypatch):
    monkeypatch.setenv("KEY", "sk-very-secret")
    fields = {"extra_body": {"top_k": 5}, "chat_template_kwargs": {"enable_thinking": False}}
    words = " ".join(f"--set '{key}={json.dumps(value)}'" for key, value in fields.items())
    words += " --set max_connections=1 --api-key-env KEY --reasoning-effort low --keep-going"
    words += " --set 'system=Be brief.'"
    with serving(fake := Fake(lambda body, n: answer("(a)"))) as address:
        said = run(f"{session(command)} --model m --server {address} {words}")
    asked = [body for _, body in fake.asked if not probing(body)]
    assert len(asked) > 3
    assert {(body["top_k"], body["reasoning_effort"]) for body in asked} == {(5, "low")}
    assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in asked)
    brief = {"role": "system", "content": "Be brief."}
    assert all(body["messages"][0] == brief for body in asked)
    assert {headers["authorization"] for headers in fake.headers} == {"Bearer sk-very-secret"}
    assert fake.most_under_way == 1
    assert "very-secret" not in said.out + said.err


def test_a_server_that_fails_at_once_leaves_no_store(session, tmp_path, run):
    reply = after_opening(lambda body, n: raw(400, b"{}"))
    with serving(Fake(reply)) as address:
        run(f"{session('elicit')} --model m --server {address}", status=2)
    assert list((tmp_path / "out").iterdir()) == []
