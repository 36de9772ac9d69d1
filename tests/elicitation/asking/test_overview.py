"""Looking at a store and at a plan.

Breaks if a count is wrong, if looking changes anything, or if torch is loaded for it.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError
from elicitation import Answer, AnswerStore, Design, plan_own_questions, preview, run_plan
from elicitation.asking.store import read_store

ROOT = Path(__file__).parents[3]


class Mixed:
    name = "mixed\x1b[31m"

    def __init__(self, fingerprint="f1"):
        self.fingerprint = fingerprint

    def generate(self, requests):
        texts = ["No: 0.5\nYes: 0.5", "50%", "I can't say.", "70"]
        choices = ("options" in request.text for request in requests)
        drawn = [texts[request.seed % 4] for request in requests]
        return [Answer("wait" if c else text) for c, text in zip(choices, drawn, strict=True)]


BOTH = ("standard", "bayes")


@pytest.fixture
def table():
    names = pd.Series(list("abcdef"))
    table = pd.DataFrame({"context": names, "belief_question": "How probable is " + names + "?"})
    return table.assign(action_question=names + ": what now?", options=[("wait", "treat")] * 6)


@pytest.fixture
def plan(table):
    return plan_own_questions(table, Design(reps=4, prompts=BOTH))


def test_a_preview_counts_what_is_left(tmp_path, plan, table):
    path = tmp_path / "s.sqlite"

    def left(plan=plan, name=Mixed.name):
        return preview(plan, model_name=name, store=path)

    assert left().n_left == 72
    assert not path.exists()
    with AnswerStore(path) as store:
        run_plan(Mixed(), plan, store, batch_size=10)
        assert left().n_left == 0  # while the store is in use
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert (left().n_left, left().n_stored) == (0, 72)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    more = left(plan_own_questions(table, Design(reps=5, prompts=BOTH)))
    assert (more.n_questions, more.n_stored, more.n_left) == (90, 72, 18)
    assert left(name="another").n_stored == 0
    greedy = left(plan_own_questions(table, Design(reps=4, temperature=0, prompts=BOTH[:1])), "x")
    assert (greedy.n_questions, greedy.n_distinct) == (48, 12)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        list(read_store(tmp_path / "none.sqlite"))
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(InputError, match="cannot be read"):
        list(read_store(tmp_path / "text"))
    with closing(sqlite3.connect(tmp_path / "other")) as database:
        database.execute("CREATE TABLE mail (id INTEGER)")
    with pytest.raises(InputError, match="another kind"):
        list(read_store(tmp_path / "other"))


def test_a_store_whose_maker_was_killed_has_no_answers_yet(tmp_path):
    """Breaks if a look refuses what the run itself takes for a new store."""
    path = tmp_path / "s.sqlite"
    AnswerStore(path).close()
    for left in ("PRAGMA user_version = 0", "DROP TABLE answers", "DROP TABLE texts"):
        with closing(sqlite3.connect(path)) as database:
            database.execute(left)
        assert list(read_store(path)) == []
    path.write_bytes(b"")
    assert list(read_store(path)) == []
    AnswerStore(path).close()


@pytest.mark.lengthy
def test_looking_loads_no_torch(tmp_path, table):
    questions, out = tmp_path / "q.jsonl", tmp_path / "o.csv"
    table.to_json(questions, orient="records", lines=True)
    code = (
        "import sys; from coherence.cli.main import main\n"
        f"options = ['--questions', {str(questions)!r}, '--out', {str(out)!r}]\n"
        "assert main(['elicit', '--model', 'no/model', *options, '--dry-run']) == 0\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), 'torch was loaded'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "to ask     150" in done.stdout
    assert not (tmp_path / "o.csv.answers.sqlite").exists()
