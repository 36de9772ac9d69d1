"""Kills and resumes of all that asks: breaks if an answer is lost or asked twice.

Nor may what is written after them differ from what would have been written without.
"""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from elicitation import AnswerStore

from ..models.hosted.fake_server import Fake, probing, raw, reply_in_form, serving

ROOT = Path(__file__).parents[3]
STUDY = """
[study]
contexts = 4
reps = 2
prompts = ["standard"]
[[models]]
model = "m"
server = "{address}"
server_name = "lab"
max_connections = 1
keep_going = true
[[tasks]]
task = "asia"
"""
# A command, where its answers are kept, and what is written of them.
ELICIT = "elicit --task asia --prompts standard --out {out}/r.parquet"
STORE, TABLE = "r.parquet.answers.sqlite", "r.parquet"
SESSIONS = {
    "elicit": (f"{ELICIT} --contexts 4 --reps 2", STORE, TABLE),
    "costs": (f"{ELICIT} --contexts 2 --reps 1 --decision costs-said", STORE, TABLE),
    "mix": ("mix --draws 1 --out {out}", "answers.sqlite", "answers.parquet"),
    "bets": ("bets --items {things} --out {out}", "answers.sqlite", "answers.csv"),
    "study": ("study run {out}.toml --no-report", "answers.sqlite", "runs/asia--m.parquet"),
}
SETTINGS = "--keep-going --set max_connections=1 --set server_name=lab --model m"


class Session:
    """A command that asks the fake, in a folder of its own; at a question the fake may stop."""

    def __init__(self, name, folder, things, reply=reply_in_form):
        self.name, self.folder = name, folder
        words, self.store, self.written = SESSIONS[name]
        self.words = words.format(out=folder, things=things)
        folder.mkdir(exist_ok=True)
        self.asked, self.stop_at, self.reply = [], None, reply
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.fake = Fake(self.answer)

    def answer(self, body, n):
        if not probing(body):
            if len(self.asked) == self.stop_at:
                self.reached.set()
                self.go_on.wait(120)
                return raw(404, b"{}")
            said = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
            self.asked.append((said, body.get("seed")))
        return self.reply(body, n)

    def line(self, address):
        if self.name != "study":
            return f"{self.words} {SETTINGS} --server {address}"
        self.folder.with_suffix(".toml").write_text(STUDY.format(address=address))
        return self.words

    def kept(self):
        with AnswerStore(self.folder / self.store) as store:
            return len(store)

    def table(self):
        path = self.folder / self.written
        table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
        return table.drop(columns="created", errors="ignore")


@pytest.fixture
def sessions(tmp_path, list_of_things):
    """Return a session that nothing disturbs, one to end, and one that goes on with the latter."""
    things = tmp_path / "things.csv"
    things.write_text(list_of_things, encoding="utf-8")
    return lambda name: [Session(name, tmp_path / each, things) for each in ("whole", "s", "s")]


def goes_on_to_what_it_would_have_been(run, whole, ended, resumed, n):
    """An ended session asks, wherever its server is now, for the rest and for that alone."""
    kept = ended.kept()
    assert n - 2 <= kept <= n
    assert not (ended.folder / ended.written).exists()
    with serving(resumed.fake) as address:
        for _ in range(2):
            run(resumed.line(address))
            assert len(resumed.asked) == len(whole.asked) - kept
    assert set(ended.asked) | set(resumed.asked) == set(whole.asked)
    pd.testing.assert_frame_equal(resumed.table(), whole.table())


def but_lengthy(*ordinary):
    lengthy = [name for name in SESSIONS if name not in ordinary]
    return [*ordinary, *(pytest.param(name, marks=pytest.mark.lengthy) for name in lengthy)]


@pytest.mark.parametrize("name", but_lengthy("elicit"))
def test_a_session_that_its_server_ended_goes_on_at_another_address(name, sessions, run):
    whole, ended, resumed = sessions(name)
    with serving(whole.fake) as address:
        run(whole.line(address))
    ended.stop_at = 15
    ended.go_on.set()
    with serving(ended.fake) as address:
        run(ended.line(address), status=1 if name == "study" else 2)
    goes_on_to_what_it_would_have_been(run, whole, ended, resumed, 15)


@pytest.mark.lengthy
@pytest.mark.parametrize("name", SESSIONS)
def test_a_killed_session_asks_only_for_the_rest(name, sessions, run):
    whole, killed, resumed = sessions(name)
    with serving(whole.fake) as address:
        run(whole.line(address))
    killed.stop_at = 15
    with serving(killed.fake) as address:
        command = [sys.executable, "-m", "coherence", *killed.line(address).split()]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            # A child of a test run in the background ignores Ctrl-C by itself.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            assert killed.reached.wait(120), process.poll()
            ctrl_c = name == "elicit"
            process.send_signal(signal.SIGINT if ctrl_c else signal.SIGKILL)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
            killed.go_on.set()
    if ctrl_c:
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert f"{killed.kept()} answers are kept in {killed.folder}/{killed.store}" in errors
    goes_on_to_what_it_would_have_been(run, whole, killed, resumed, 15)
