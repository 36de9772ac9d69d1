"""Looking at a store and at a plan.

Breaks if a count is wrong, or if looking changes anything.
"""

import sqlite3
from contextlib import closing

import pandas as pd
import pytest

from elicitation import Answer, AnswerStore, Design
from elicitation.asking.session import run_plan
from elicitation.asking.store import preview, read_store
from elicitation.questions.plan import plan_own_questions


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
        return preview(plan.questions, model_name=name, store=path)

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
