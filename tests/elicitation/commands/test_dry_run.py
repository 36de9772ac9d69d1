"""``--dry-run`` of all commands that ask.

Breaks if what is said before is not what is asked, of the rest of a session too, if looking asks,
writes or needs a model, or if prices are of other tokens.
"""

import re
import sqlite3
from contextlib import closing

import pytest

from elicitation import Answer, AnswerStore, Request, load_causal_model
from elicitation.commands import dry_run
from elicitation.questions.question import Question

from ..models.hosted.fake_server import Fake, answer, probing, serving
from .test_reveal import replying

COINS = "--where scenario=coins --where variant=single --where n=2,3"
WORDS = "--where scenario=preference --where variant=single --labels Heads/Tails"
SESSIONS = {
    "elicit": "elicit --task asia --contexts 4 --reps 2 --prompts standard",
    "elicit, exact": "elicit --task asia --contexts 4 --prompts standard --answers exact",
    "elicit, forced": "elicit --task asia --contexts 4 --reps 2 --no-iterated --answers forced",
    "mix": "mix --draws 2",
    "mix, exact": "mix --exact",
    "bets": "bets --items {things}",
    "reveal": f"reveal {COINS}",
    "reveal, beliefs": f"reveal {COINS} --only-revealed",
    "reveal, words": f"reveal {WORDS}",
}
HOSTED = [name for name in SESSIONS if "," not in name or "words" in name]


class Session:
    """A command line, run or looked at."""

    def __init__(self, run, words, folder):
        self.call, self.out = run, folder / "out"
        self.words = f"{words} --keep-going --out {self.out}{'/r.csv' * ('elicit' in words)}"
        self.store = self.out / ("r.csv.answers.sqlite" if "elicit" in words else "answers.sqlite")

    def look(self, more=""):
        lines = self.call(f"{self.words} --dry-run {more}").out.splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def left(self, more=""):
        return int(self.look(more)["to"].removeprefix("ask").split(",")[0])

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
def test_a_local_model_is_asked_what_was_said_before(
    name, session, blank_models, tmp_path, asked, monkeypatch
):
    monkeypatch.setattr("elicitation.batteries.bets.models.BATCH", 30)
    base, instruct = blank_models
    mine = session(name, f"--model {instruct}")
    if "elicit" in name:
        mine.out.mkdir()
    before = sorted(tmp_path.rglob("*"))
    first, tokens = mine.left(), mine.look()["tokens"]
    assert first > 0
    assert sorted(tmp_path.rglob("*")) == before
    mine.run()
    # Draws in a form follow from distributions, each of which is one text to read.
    answers = [each for each in asked if "forced" not in name or not each.exact]
    read = [each for each in asked if "forced" not in name or each.exact]
    assert len(answers) == first
    # Unfinished texts are continued, without the template of a chat.
    chat, text = load_causal_model(instruct), load_causal_model(instruct, chat=False)
    unfinished = [name.startswith("reveal") and each.form.kind == "outcomes" for each in read]
    models = [text if plain else chat for plain in unfinished]
    n_texts = sum(len(m.encode([q.text])[0]) for m, q in zip(models, read, strict=True))
    most = sum(q.request.max_new_tokens for q in read if q.form is None)
    assert tokens == f"{n_texts:,} in texts, at most {most:,} in answers"
    assert mine.left() == 0
    mine.lose_half()
    half = mine.left()
    assert 0 < half <= first
    asked.clear()
    mine.run()
    assert len([each for each in asked if "forced" not in name or not each.exact]) == half
    assert mine.left() == 0
    # Another model has answered none of it.
    assert session(name, f"--model {base}").left() == first


@pytest.mark.parametrize("name", in_short(HOSTED, "elicit"))
def test_a_hosted_model_is_asked_what_was_said_before(name, session, tmp_path):
    fake = Fake(lambda body, n: answer("(a)"))
    with serving(fake) as address:
        mine = session(name, f"--model m --server {address}")
        if name == "elicit":
            mine.out.mkdir()
        said = mine.look("--set price_in=2 --set price_out=8")
        assert fake.asked == []
        # Beliefs about words need lists of tokens, which this server does not give.
        n, *only = re.findall(r"\d+", said["to"])
        assert (only != []) == (name == "reveal, words")
        n = int(n) - sum(map(int, only))
        mine.run()
        asked = [body for _, body in fake.asked if not probing(body)]
        assert len(asked) == n
        most = sum(body["max_tokens"] for body in asked) + sum(map(int, only))
        assert f"at most {most:,} in answers" in said["tokens"]
        assert f"at most {most * 8e-6:,.2f} for answers" in said["price"]
        texts = float(said["tokens"].split()[1].replace(",", ""))
        assert f"about {texts * 2e-6:,.2f} for texts" in said["price"]
        if not only:
            n_bytes = sum(len(body["messages"][0]["content"].encode()) for body in asked)
            assert texts == pytest.approx(n_bytes / 4, abs=1)
        fake.asked.clear()
        assert mine.left() == sum(map(int, only))
        mine.lose_half()
        half = mine.left() - sum(map(int, only))
        assert fake.asked == []
        mine.run()
    assert 0 < half < n
    assert sum(not probing(body) for _, body in fake.asked) == half


def test_beliefs_that_are_asked_where_a_server_lists_tokens(session):
    """And none are of a service that answers in chats alone."""
    with serving(fake := replying(completes=True)) as address:
        mine = session("reveal, words", f"--model m --server {address}")
        n = mine.left()
        mine.run()
    assert sum(not probing(body) for _, body in fake.asked) == n
    assert mine.look()["to"] == "ask     0"
    other = session("reveal, words", "--model anthropic/m")
    assert 0 < other.left() < n
    assert "nothing to ask" in other.call(f"{other.words} --dry-run --only-revealed", 2).err


@pytest.mark.lengthy
def test_answers_of_a_hosted_model_under_other_settings_are_not_counted(session):
    others = ["--reasoning-effort low", "--set system=Brief.", "--set server_name=elsewhere"]
    others += ["--set extra_body='{\"top_k\":20}'", "--no-chat"]
    with serving(fake := Fake(lambda body, n: answer("(a)"))) as address:
        mine = session("mix", f"--model m --server {address}")
        n = mine.left()
        mine.run()
        fake.asked.clear()
        assert mine.left() == 0
        assert [mine.left(other) for other in others] == [n] * 5
        assert fake.asked == []
        mine.run(others[0])
        assert sum(not probing(body) for _, body in fake.asked) == n
        assert mine.left(others[0]) == mine.left() == 0
        assert "note" not in mine.look()


@pytest.mark.lengthy
def test_answers_of_a_local_model_under_other_settings_are_not_counted(
    session, blank_models, monkeypatch
):
    others = ["--set dtype=bfloat16", "--no-chat", "--set system=Brief.", "--set prefill=A"]
    mine = session("mix, exact", f"--model {blank_models[1]}")
    n = mine.left()
    mine.run()
    assert [mine.left(other) for other in ("", *others)] == [0, n, n, n, n]
    # Too many weights to read for it: counted by name, and said.
    monkeypatch.setattr("elicitation.commands.dry_run._QUICKLY_READ", 1)
    dry_run._fingerprint.cache_clear()
    assert mine.left(others[0]) == 0
    assert "by the model's name" in mine.look(others[0])["note"]
    dry_run._fingerprint.cache_clear()
    for more in ("--dry-run --no-resume", "--no-resume"):
        said = mine.call(f"{mine.words} {more}", 2).err
        assert f"--no-resume needs a new store; {mine.store} has {n} answers" in said


def test_other_contexts_make_another_agent_and_without_a_key_names_are_counted(
    run, session, tmp_path, monkeypatch
):
    words = f"elicit --agent leaky --task asia --reps 1 --no-iterated --out {tmp_path}/r.csv"
    run(f"{words} --contexts 12")
    assert "to ask     0\n" in run(f"{words} --contexts 12 --dry-run").out
    more = run(f"{words} --contexts 14 --dry-run").out
    assert "in store   0\n" in more
    assert "note" not in more
    mine = session("mix", "--model openai/gpt-4o")
    mine.out.mkdir()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert "note" not in mine.look()
    question = Question(Request("What?", 0, 4))
    with AnswerStore(mine.store) as store:
        store.put([question], [Answer("a")], model="openai/gpt-4o", fingerprint="f")
    assert "note" not in mine.look()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "by the model's name" in mine.look()["note"]


def test_several_models_and_wrong_words(blank_models, tmp_path, run, answers):
    base, instruct = blank_models
    out = f"--out {tmp_path}/o"
    said = run(f"reveal --base {base} --instruct {instruct} {COINS} {out} --dry-run").out
    first, second = said.split("\n\n")
    assert first.startswith("model      base\n")
    assert second.startswith("model      instruct\n")
    # Of a base model no answers are stated.
    n_first, n_second = (int(re.search(r"to ask +(\d+)", part)[1]) for part in (first, second))
    assert n_first < n_second
    prices = ("1e300", "-1", "inf", "nan")
    between = "price_out must be at least 0 and at most 1,000,000,000"
    training = f"train --from-scratch --modality coin --out {tmp_path}/t"
    for words, remedy in (
        (f"mix --answers {answers} {out} --dry-run", "--dry-run is for --model"),
        (f"mix --model {base} {out} --set price_in=1", "price_in belongs to --dry-run"),
        *((f"mix --model {base} {out} --dry-run --set price_out={p}", between) for p in prices),
        (f"reveal --questions {tmp_path}/q.csv --dry-run", "--dry-run has no meaning"),
        (f"bets --dry-run {training}", "--dry-run does not belong"),
    ):
        assert remedy in run(words, 2).err
    assert not {"o", "q.csv", "t"} & {path.name for path in tmp_path.iterdir()}
