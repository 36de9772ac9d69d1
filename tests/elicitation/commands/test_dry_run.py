"""``--dry-run`` of all commands that ask.

Breaks if what is counted is not what is asked, of the rest of a session too, or if looking asks,
writes or needs a model.
"""

import re
import sqlite3
from contextlib import closing

import pytest

from elicitation import AnswerStore

COINS = "--where scenario=coins --where variant=single --where n=2,3"
SESSIONS = {
    "elicit": "elicit --task asia --contexts 2 --reps 2 --prompts standard",
    "elicit, exact": "elicit --task asia --contexts 4 --prompts standard --answers exact",
    "elicit, forced": "elicit --task asia --contexts 4 --reps 2 --no-iterated --answers forced",
    "mix": "mix --draws 2",
    "mix, exact": "mix --exact",
    "bets": "bets --items {things}",
    "reveal": f"reveal {COINS}",
    "reveal, beliefs": f"reveal {COINS} --only-revealed",
}


class Session:
    """A command line, run or looked at."""

    def __init__(self, run, words, folder):
        self.call, self.out = run, folder / "out"
        going = "" if "reveal" in words else " --keep-going"
        self.words = f"{words}{going} --out {self.out}{'/r.csv' * ('elicit' in words)}"
        self.store = self.out / ("r.csv.answers.sqlite" if "elicit" in words else "answers.sqlite")

    def look(self, more=""):
        """Return the numbers of questions, in the store, and to ask."""
        numbers = re.findall(r"\d+", self.call(f"{self.words} --dry-run {more}").out)
        n, n_distinct, n_stored, n_left = map(int, numbers)
        assert n >= n_distinct == n_stored + n_left
        return n_stored, n_left

    def left(self, more=""):
        return self.look(more)[1]

    def run(self, more=""):
        self.out.mkdir(exist_ok=True)
        self.call(f"{self.words} {more}")

    def lose_half(self):
        """Take about half of the answers away, of no session in particular."""
        with closing(sqlite3.connect(self.store)) as database:
            database.execute("DELETE FROM answers WHERE key < '8'")
            database.commit()


@pytest.fixture
def session(run, tmp_path, list_of_things):
    things = tmp_path / "things.csv"
    things.write_text(list_of_things, encoding="utf-8")
    return lambda name, who: Session(run, f"{SESSIONS[name].format(things=things)} {who}", tmp_path)


@pytest.fixture
def asked(monkeypatch):
    """All questions whose answers were written, those asked again included."""
    questions, put = [], AnswerStore.put

    def recorded(store, batch, answers, **who):
        questions.extend(batch)
        put(store, batch, answers, **who)

    monkeypatch.setattr(AnswerStore, "put", recorded)
    return questions


def in_short(cases, *ordinary):
    """Return cases, of which the ordinary run takes some."""
    lengthy = pytest.mark.lengthy
    return [case if case in ordinary else pytest.param(case, marks=lengthy) for case in cases]


@pytest.mark.parametrize("name", in_short(SESSIONS, "elicit"))
def test_a_local_model_is_asked_what_was_counted(name, session, blank_models, tmp_path, asked):
    base, instruct = blank_models
    mine = session(name, f"--model {instruct}")
    if "elicit" in name:
        mine.out.mkdir()
    before = sorted(tmp_path.rglob("*"))
    n_stored, first = mine.look()
    assert first > n_stored == 0
    assert sorted(tmp_path.rglob("*")) == before
    mine.run()
    # Draws in a form follow from distributions, which are kept as well.
    assert len([each for each in asked if "forced" not in name or not each.exact]) == first
    assert mine.look() == (first, 0)
    mine.lose_half()
    half = mine.left()
    assert 0 < half <= first
    asked.clear()
    mine.run()
    assert len([each for each in asked if "forced" not in name or not each.exact]) == half
    assert mine.left() == 0
    # Another model has answered none of it.
    assert session(name, f"--model {base}").left() == first
