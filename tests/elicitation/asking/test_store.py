"""The store of answers.

Breaks if an answer is lost, doubled, or handed to another model, text, setting or draw.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from coherence import CoherenceError, InputError
from elicitation import Answer, AnswerStore
from elicitation.asking.store import read_store
from elicitation.questions.question import Question

ROOT = Path(__file__).parents[3]


def _draw(text="How much?", number=0, **options):
    settings = {"base_seed": 0, "temperature": 1.0, "max_new_tokens": 20, "max_lines": 2}
    return Question.of(text, number, **{**settings, **options})


def _put(store, draws, answer="a", fingerprint="f"):
    store.put(
        draws,
        [Answer(f"{answer}{i}") for i in range(len(draws))],
        model="m",
        fingerprint=fingerprint,
    )


def test_keys_tell_apart_all_that_shapes_an_answer():
    draws = [
        _draw(),
        _draw(text="How much? "),
        _draw(number=1),
        _draw(base_seed=1),
        _draw(temperature=0.5),
        _draw(max_new_tokens=21),
        _draw(max_lines=None),
        _draw(temperature=0),
    ]
    keys = [draw.key("f") for draw in draws] + [_draw().key("g")]
    assert len(set(keys)) == len(keys)
    assert _draw().key("f") == _draw(temperature=1).key("f")


def test_how_an_answer_is_read_is_kept_and_is_no_part_of_its_key(tmp_path):
    assert _draw(about="one").key("f") == _draw(about="another").key("f") == _draw().key("f")
    labels = Question.of_labels("How much?", ("No", "Yes"))
    assert (
        len(
            {
                labels.key("f"),
                Question.of_labels("How much?", ("Yes", "No")).key("f"),
                _draw(temperature=0).key("f"),
            }
        )
        == 3
    )
    with AnswerStore(tmp_path / "s.sqlite") as store:
        store.put([_draw(about="one")], [Answer("a", -1.5)], model="m", fingerprint="f")
        assert store.get([_draw().key("f")])[_draw().key("f")].logprob == -1.5
        assert [
            (row.key, row.about, row.answer.text) for row in read_store(tmp_path / "s.sqlite")
        ] == [(_draw().key("f"), "one", "a")]


def test_seeds_differ_by_text_number_and_base_and_fit_sqlite():
    seeds = {
        _draw(text=f"{text}", number=number, base_seed=base).request.seed
        for text in range(10)
        for number in range(10)
        for base in range(3)
    }
    assert len(seeds) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_at_temperature_zero_all_draws_are_one():
    assert _draw(temperature=0, number=3, base_seed=9) == _draw(temperature=0)


def test_answers_come_back_as_they_were(tmp_path):
    texts = [
        "",
        "No: 0.5\r\nYes: 0.5\n",
        "\x00\u2028\U0001f642'; DROP TABLE answers; --",
        "x" * 100_000,
    ]
    draws = [_draw(number=number) for number in range(4)]
    with AnswerStore(tmp_path / "s.sqlite") as store:
        store.put(draws, [Answer(text, -1.5, 3) for text in texts], model="m", fingerprint="f")
    with AnswerStore(tmp_path / "s.sqlite") as store:
        stored = store.get(draw.key("f") for draw in draws)
        assert [stored[draw.key("f")].text for draw in draws] == texts
        assert [stored[draw.key("f")].seed for draw in draws] == [
            draw.request.seed for draw in draws
        ]
        assert store.get([draws[0].key("another model")]) == {}
        assert len(store) == 4


def test_the_first_answer_stays(tmp_path):
    with AnswerStore(tmp_path / "s.sqlite") as store:
        _put(store, [_draw()], "first")
        before = store.get([_draw().key("f")])
        _put(store, [_draw()], "second")
        assert store.get([_draw().key("f")]) == before
        assert len(store) == 1


def test_many_keys_in_one_look_up(tmp_path):
    draws = [_draw(number=number) for number in range(1203)]
    with AnswerStore(tmp_path / "s.sqlite") as store:
        _put(store, draws)
        assert len(store.get(draw.key("f") for draw in draws)) == 1203


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path):
    with AnswerStore(tmp_path / "s.sqlite") as store:
        broken = replace(
            _draw(number=1), request=replace(_draw(number=1).request, seed=2**70)
        )  # too large for SQLite
        with pytest.raises(OverflowError):
            _put(store, [_draw(), broken])
        assert len(store) == 0
        _put(store, [_draw()])
        assert len(store) == 1


def test_a_full_disk_is_reported_and_what_was_stored_is_kept(tmp_path):
    with AnswerStore(tmp_path / "s.sqlite") as store:
        _put(store, [_draw(number=number) for number in range(10)])
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(CoherenceError, match=r"full.*Answers stored before are kept"):
            _put(store, [_draw(number=number) for number in range(10, 2000)])
        assert len(store) == 10


def test_other_files_are_not_taken_for_stores(tmp_path):
    text = tmp_path / "notes.sqlite"
    text.write_text("These are notes and no database at all. " * 50)
    with pytest.raises(InputError, match="cannot be used"):
        AnswerStore(text)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mail (id INTEGER)")
    database.close()
    with pytest.raises(InputError, match="another kind"):
        AnswerStore(other)
    with pytest.raises(InputError, match="folder that exists"):
        AnswerStore(tmp_path / "none" / "s.sqlite")


WRITER = """
import sys
from elicitation.models.base import Answer
from elicitation.asking.store import AnswerStore
from elicitation.questions.question import Question
with AnswerStore(sys.argv[1]) as store:
    for start in range(0, 600, 3):
        draws = [
            Question.of("t", n, base_seed=0, temperature=1.0, max_new_tokens=9, max_lines=2)
            for n in range(start, start + 3)
        ]
        store.put(draws, [Answer(sys.argv[2])] * 3, model="m", fingerprint="f")
"""


def test_two_processes_on_one_store(tmp_path):
    path = tmp_path / "s.sqlite"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], cwd=ROOT, stderr=subprocess.PIPE
        )
        for name in "ab"
    ]
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert [writer.returncode for writer in writers] == [0, 0]
    with AnswerStore(path) as store:
        assert len(store) == 600
        assert store._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_that_another_process_is_just_making_is_waited_for(tmp_path, monkeypatch):
    """SQLite does not wait while two processes switch a new file to write-ahead mode.

    One of them gets 'database is locked' at once.
    """

    class Contended(sqlite3.Connection):
        refusals = 2

        def execute(self, statement, *values):
            if "journal_mode" in statement and Contended.refusals:
                Contended.refusals -= 1
                busy = sqlite3.OperationalError("database is locked")
                busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise busy
            return super().execute(statement, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *arguments, **options: connect(*arguments, factory=Contended, **options),
    )
    with AnswerStore(tmp_path / "s.sqlite") as store:
        assert len(store) == 0
    assert Contended.refusals == 0


# As stores were made before rows had digests.
def _change(path, statement, *values):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


DAMAGES = {
    "text": "UPDATE answers SET answer = 'a9' WHERE key = ?",
    "number": "UPDATE answers SET seed = seed + 1 WHERE key = ?",
    "kind": "UPDATE answers SET answer = x'ff00' WHERE key = ?",
    "encoding": "UPDATE answers SET answer = CAST(x'61ff' AS TEXT) WHERE key = ?",
    "details": 'UPDATE answers SET extra = \'{"about": "\' WHERE key = ?',
    "date": "UPDATE answers SET created = '' WHERE key = ?",
    "digest": "UPDATE answers SET digest = 'none' WHERE key = ?",
    "no digest": "UPDATE answers SET digest = NULL WHERE key = ?",
    "number, no digest": "UPDATE answers SET seed = seed + 1, digest = NULL WHERE key = ?",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_missing_and_its_place_is_taken(tmp_path, damage):
    path, draws = tmp_path / "s.sqlite", [_draw(number=number) for number in range(3)]
    keys = [draw.key("f") for draw in draws]
    with AnswerStore(path) as store:
        _put(store, draws)
    _change(path, DAMAGES[damage], keys[1])
    assert sorted(row.answer is not None for row in read_store(path)) == [False, True, True]
    with AnswerStore(path) as store:
        assert store.get(keys).keys() == {keys[0], keys[2]}
        assert store.damaged == {keys[1]}
        _put(store, draws[1:2], "again")
        assert store.get(keys)[keys[1]].text == "again0"
        _put(store, draws, "late")
        assert [store.get(keys)[key].text for key in keys] == ["a0", "again0", "a2"]
    assert all(row.answer for row in read_store(path))


def test_an_answer_that_another_process_put_in_place_of_a_damaged_one_stays(tmp_path):
    path, (draw,) = tmp_path / "s.sqlite", [_draw()]
    with AnswerStore(path) as store:
        _put(store, [draw])
    _change(path, DAMAGES["text"], draw.key("f"))
    with AnswerStore(path) as store, AnswerStore(path) as other:
        assert store.get([draw.key("f")]) == other.get([draw.key("f")]) == {}
        _put(other, [draw], "first")
        _put(store, [draw], "second")
        assert store.get([draw.key("f")])[draw.key("f")].text == "first0"


def test_a_store_of_another_version_is_refused_and_left_alone(tmp_path):
    path, draw = tmp_path / "s.sqlite", _draw()
    with AnswerStore(path) as store:
        _put(store, [draw])
    _change(path, "PRAGMA user_version = 1")
    with pytest.raises(InputError, match=r"s\.sqlite .*earlier version\. Give another path"):
        AnswerStore(path)
    with pytest.raises(InputError, match="earlier version"):
        list(read_store(path))
    _change(path, "PRAGMA user_version = 2")
    with AnswerStore(path) as store:
        assert store.get([draw.key("f")])[draw.key("f")].text == "a0"


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_store_that_vanishes_is_said_and_its_answers_are_saved(tmp_path, how):
    path = tmp_path / "s.sqlite"
    with AnswerStore(path) as store:
        _put(store, [_draw()])
        for name in tmp_path.iterdir():
            name.unlink()
        if how == "replaced":
            path.write_bytes(b"")
        said = r"s\.sqlite was removed or replaced.*saved to .*s\.sqlite\.rescued: move that to"
        with pytest.raises(CoherenceError, match=said):
            _put(store, [_draw(number=1)])
    assert len(list(read_store(f"{path}.rescued"))) == 2


def test_a_store_that_another_process_holds_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("elicitation.asking.store._BUSY_SECONDS", 0.1)
    path = tmp_path / "s.sqlite"
    with AnswerStore(path) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CoherenceError, match="locked. Another process holds it: wait"):
            _put(store, [_draw()])
        with pytest.raises(InputError, match="locked. Another process holds it: wait"):
            AnswerStore(path)
        other.rollback()
        _put(store, [_draw()])


def test_a_read_only_store_is_said(tmp_path, monkeypatch):
    path, connect = tmp_path / "s.sqlite", sqlite3.connect
    with AnswerStore(path) as store:
        _put(store, [_draw()])
    # The mode of a file does not stop a superuser.
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **options: connect(f"file:{name}?mode=ro", uri=True)
    )
    with pytest.raises(InputError, match="readonly database. It is read-only: make it writable"):
        AnswerStore(path)


def test_a_damaged_file_is_said_with_what_can_be_done(tmp_path):
    path = tmp_path / "s.sqlite"
    with AnswerStore(path) as store:
        _put(store, [_draw(number=number, text="x" * 3000) for number in range(50)])
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    said = r"malformed.*move it away.*\.recover"
    with pytest.raises(CoherenceError, match=said), AnswerStore(path) as store:
        store.get([_draw().key("f")])
    with pytest.raises(InputError, match=r"malformed.*move it away"):
        list(read_store(path))
