"""The store of answers.

Breaks if an answer is lost, doubled, or handed to another model, text, setting or draw.
"""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pandas as pd
import pytest

from coherence import InputError
from elicitation import Answer, AnswerStore, Design
from elicitation.asking.store import read_store
from elicitation.questions.plan import plan_own_questions


def _questions(n, text="How much?"):
    """Return `n` draws of one question."""
    table = pd.DataFrame({"context": ["a"], "belief_question": [text]})
    design = Design(reps=n, prompts=("standard",), max_new_tokens=20)
    return list(plan_own_questions(table, design).questions)


DRAWS = _questions(4)


def _put(store, draws, answer="a"):
    answers = [Answer(f"{answer}{i}") for i in range(len(draws))]
    store.put(draws, answers, model="m", fingerprint="f")


def test_answers_come_back_as_they_were_and_the_first_one_stays(tmp_path):
    texts = ["", "No: 0.5\r\nYes: 0.5\n", "\x00\u2028\U0001f642'; DROP TABLE answers; --"]
    texts.append("x" * 100_000)
    draws = DRAWS[:4]
    with AnswerStore(tmp_path / "s.sqlite") as store:
        store.put(draws, [Answer(text, -1.5, 3) for text in texts], model="m", fingerprint="f")
        before = store.get([draws[1].key("f")])
        _put(store, [draws[1]], "second")
        assert store.get([draws[1].key("f")]) == before
    with AnswerStore(tmp_path / "s.sqlite") as store:
        stored = store.get(draw.key("f") for draw in draws)
        found = [stored[draw.key("f")] for draw in draws]
        assert [each.text for each in found] == texts
        assert [each.seed for each in found] == [draw.request.seed for draw in draws]
        assert store.get([draws[0].key("another model")]) == {}
        assert len(store) == 4


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path):
    with AnswerStore(tmp_path / "s.sqlite") as store:
        # Too large for SQLite.
        broken = replace(DRAWS[1], request=replace(DRAWS[1].request, seed=2**70))
        with pytest.raises(OverflowError):
            _put(store, [DRAWS[0], broken])
        assert len(store) == 0
        _put(store, [DRAWS[0]])
        assert len(store) == 1


@pytest.mark.parametrize("layout", [1, 2, 3, 5])
def test_a_store_of_another_layout_is_refused_and_left_alone(layout, tmp_path, run):
    path, draw = tmp_path / "s.sqlite", DRAWS[0]
    with AnswerStore(path) as store:
        _put(store, [draw])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA user_version = {layout}")
    held = path.read_bytes()
    said = rf"s\.sqlite must have layout 4; received layout {layout}, .* Give another path"
    for opened in (AnswerStore, lambda path: list(read_store(path))):
        with pytest.raises(InputError, match=said):
            opened(path)
    words = f"elicit --agent rational --task asia --contexts 12 --store {path} --out {tmp_path}"
    assert len(run(f"{words}/r.csv", 2).err.splitlines()) == 1
    assert path.read_bytes() == held
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize(("column", "value"), [("answer", "{"), ("extra", b"\xff")])
def test_a_damaged_row_is_said_before_anything_is_asked(column, value, tmp_path, run):
    path, out = tmp_path / "s.sqlite", tmp_path / "r.csv"
    words = "elicit --agent rational --task asia --contexts 12 --answers exact --no-iterated"
    words += f" --store {path} --out {out}"
    run(words)
    whole = pd.read_csv(out).drop(columns="created")
    with closing(sqlite3.connect(path)) as database, database:
        (key,) = database.execute("SELECT min(key) FROM answers").fetchone()
        database.execute(f"UPDATE answers SET {column} = ? WHERE key = ?", (value, key))
        database.execute("DELETE FROM answers WHERE key = (SELECT max(key) FROM answers)")
    (said,) = run(words, 2).err.splitlines()
    assert f"the answer with the key {key} is damaged" in said
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (59,)
        database.execute(said.partition('"')[2].rstrip('"'))  # what it says to do
    assert "2 answers asked, 58 " in run(words).err
    pd.testing.assert_frame_equal(pd.read_csv(out).drop(columns="created"), whole)
