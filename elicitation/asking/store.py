"""A store of answers that survives a crash.

It is SQLite in write-ahead mode, one transaction per batch, text and JSON only. An answer is keyed
by everything that determines it (model fingerprint, full text, settings of the generation, base
seed, number of the draw), so a second model never gets the first one's answers, and a session that
is started again asks only what is missing. Several processes may share a store.
"""

import hashlib
import json
import os
import shlex
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coherence.errors import CoherenceError, InputError, shown
from coherence.printable import counted
from elicitation.models.base import Answer
from elicitation.questions.question import Question

_LAYOUT = 4
_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    text_digest TEXT NOT NULL, settings TEXT NOT NULL, draw INTEGER NOT NULL,
    seed INTEGER NOT NULL, answer TEXT NOT NULL, extra TEXT NOT NULL, created TEXT NOT NULL,
    digest TEXT NOT NULL
) WITHOUT ROWID;
"""
CELLS = (
    *("key", "model", "fingerprint", "text_digest", "settings", "draw", "seed"),
    *("answer", "extra", "created", "digest"),
)
"""Columns of an answer, in their order; the digest is that of answer and extra."""
DETAILS = tuple(
    field.name for field in fields(Answer) if field.name not in ("text", "seed", "created")
)
_BUSY_SECONDS = 60.0
_COLUMNS = ", ".join(CELLS)
_REMEDIES = {
    sqlite3.SQLITE_FULL: "The disk is full: make room, and call again; answers before are kept.",
    sqlite3.SQLITE_ERROR: "It lacks what a store of this version has: give another path.",
    sqlite3.SQLITE_READONLY: "It is read-only: make it writable, or copy it and give the copy.",
    sqlite3.SQLITE_BUSY: "Another process holds it: wait for its end, and call again.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: move it away, save what can be read by "
    "'sqlite3 OLD .recover | sqlite3 NEW', and give the new one.",
}


@dataclass(frozen=True)
class StoredRow:
    """An answer with who gave it, for looking back at a store."""

    key: str  # from `Question.key`
    # model, fingerprint: who answered
    model: str
    fingerprint: str
    answer: Answer


def _digest(answer: str, extra: str) -> str:
    return hashlib.sha256(json.dumps([answer, extra]).encode()).hexdigest()[:16]


def _row(cells: Sequence[Any], path: object) -> StoredRow:
    row = dict(zip(CELLS, cells, strict=True))
    texts = row["answer"], row["extra"]
    if not all(isinstance(text, str) for text in texts) or _digest(*texts) != row["digest"]:
        raise CoherenceError(
            f"answer store {path}: the answer with the key {row['key']} is damaged. Remove it, and "
            f"it is asked again; all others are kept: sqlite3 {shlex.quote(str(path))} "
            f"\"DELETE FROM answers WHERE key = '{row['key']}'\""
        )
    extra = json.loads(row["extra"])
    details = {name: extra.get(name) for name in DETAILS}
    answer = Answer(row["answer"], **details, seed=row["seed"], created=row["created"])
    key, model, fingerprint = cells[:3]
    return StoredRow(key, model, fingerprint, answer)


class AnswerStore:
    """Answers in an SQLite file.

    Parameters
    ----------
    path : path-like
        The file, made if need be; ``":memory:"`` keeps the answers for the life of the object.

    Raises
    ------
    InputError
        The file cannot be opened, or is no answer store.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"path must be the name of a file; received {shown(path):.80}.")
        self.path = str(path)
        if self.path != ":memory:" and not Path(self.path).absolute().parent.is_dir():
            raise InputError(
                f"answer store {self.path} must lie in a folder that exists. "
                "Create the folder first."
            )
        try:
            # Without implicit transactions: each write begins and ends its own.
            self._database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise
        except (sqlite3.Error, ValueError) as error:  # a zero byte in the name
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"answer store {self.path} cannot be used: {error}. "
                f"{_remedy(error, 'Give another path, or move that file away.')}"
            ) from error

    def _prepare(self) -> None:
        """Make the tables; for another process that does the same SQLite does not wait."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._make_tables()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _make_tables(self) -> None:
        _layout_of(self._database, self.path)
        self._database.execute("PRAGMA journal_mode=WAL").close()
        # NORMAL outlives a killed process; FULL would also outlive a power cut in the same instant,
        # at one fsync per batch, which is cheap here.
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.executescript(_SCHEMA)
        # Always a write: a store that takes none is said before anything is asked.
        with self._transaction():
            self._database.execute(f"PRAGMA user_version = {_LAYOUT}").close()

    def get(self, keys: Iterable[str]) -> dict[str, Answer]:
        """Return the answers that the store holds to these keys, from `Question.key`."""
        wanted = "SELECT value FROM json_each(?)"
        with self._errors():
            found = self._database.execute(
                f"SELECT {_COLUMNS} FROM answers WHERE key IN ({wanted})", [json.dumps([*keys])]
            )
            rows = (_row(cells, self.path) for cells in found)
            return {row.key: row.answer for row in rows}

    def put(
        self,
        questions: Sequence[Question],
        answers: Sequence[Answer],
        *,
        model: str,
        fingerprint: str,
    ) -> None:
        """Store a batch, an answer per question, in one transaction.

        One that is there already stays.
        """
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        texts, rows = {}, []
        for question, answer in zip(questions, answers, strict=True):
            # Many questions share a text, which is kept once.
            digest = hashlib.sha256(question.text.encode()).hexdigest()
            texts[digest] = question.text
            details = {name: getattr(answer, name) for name in DETAILS}
            # What is not known takes no place; half a surrogate pair is an escape in JSON.
            details = {name: value for name, value in details.items() if value is not None}
            extra = json.dumps({**details, "about": question.spec_json})
            # Half a surrogate pair, which a server's JSON can hold, has no UTF-8 but an escape.
            text = answer.text.encode("utf-8", "backslashreplace").decode()
            asked = (question.key(fingerprint), model, fingerprint, digest)
            how = (question.settings, question.number, question.request.seed)
            rows.append((*asked, *how, text, extra, created, _digest(text, extra)))
        with self._errors(), self._transaction():
            insert = self._database.executemany
            insert("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts.items())
            # The first answer stays: tables may have been made from it.
            marks = ", ".join("?" * len(CELLS))
            insert(f"INSERT OR IGNORE INTO answers VALUES ({marks})", rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._undo()  # what Ctrl-C left open: it may come between any two statements
        try:
            # The lock is taken at once: who asks for it midway may fail without any wait.
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        # An error may have ended the transaction itself, as a full disk does.
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def __len__(self) -> int:
        """Number of answers held."""
        with self._errors():
            return int(self._database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file; the object cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            kept = "Answers stored before are kept; the same command resumes."
            raise CoherenceError(
                f"answer store {self.path} failed: {error}. {_remedy(error, kept)}"
            ) from error


def read_store(path: str | os.PathLike[str]) -> Iterator[StoredRow]:
    """Read a store from outside, also while a session writes to it; nothing is made or changed."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            f"answer store {path} does not exist. "
            "Name the file that --store or OUT.answers.sqlite stands for."
        )
    # Without a log beside it nobody has the store open, and SQLite need not make one of its own to
    # read.
    mode = "mode=ro" if Path(f"{file}-wal").exists() else "mode=ro&immutable=1"
    address = f"{file.absolute().as_uri()}?{mode}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)) as database:
            if _layout_of(database, path) == 0:
                return
            rows = database.execute(f"SELECT {_COLUMNS} FROM answers ORDER BY created")
            yield from (_row(cells, path) for cells in rows)
    except sqlite3.Error as error:
        raise InputError(
            f"answer store {path} cannot be read: {error}. "
            f"{_remedy(error, 'Check that it is one, and complete.')}"
        ) from error


def _layout_of(database: sqlite3.Connection, path: object) -> int:
    """Return the layout of a store: 0 of a new file, or of one whose maker was killed making it."""
    layout = int(database.execute("PRAGMA user_version").fetchone()[0])
    named = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
    ours = _SCHEMA.replace(" IF NOT EXISTS", "")
    strange = [sql for (sql,) in named.fetchall() if sql not in ours]
    if layout == 0 and strange:
        raise InputError(f"answer store {path} is a database of another kind. Give another path.")
    if layout not in (0, _LAYOUT):
        raise InputError(
            f"answer store {path} must have layout {_LAYOUT}; received layout {layout}, of another "
            "version. Give another path (--store), and answers are asked anew."
        )
    return layout


def _remedy(error: Exception, otherwise: str) -> str:
    """Say what to do about an error of SQLite."""
    # The lower byte is the kind, what is above it the occasion.
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return _REMEDIES.get(kind, otherwise)


class Preview(NamedTuple):
    """What a session would ask."""

    n_questions: int  # answers that the runs table needs
    n_distinct: int  # answers to be had: at temperature 0 equal texts are asked once
    n_stored: int  # of these, answers that the store has of a model of this name

    @property
    def n_left(self) -> int:
        """Answers that are not in the store under any settings of the model."""
        return self.n_distinct - self.n_stored


def preview(
    questions: Sequence[Question], *, model_name: str, store: str | os.PathLike[str]
) -> Preview:
    """Count what questions would ask of a model, by its name in a store, which may not be there.

    Its answers are counted whatever its weights and settings were.
    """
    stored = read_store(store) if Path(store).exists() else ()
    mine = [(row.key, row.fingerprint) for row in stored if row.model == model_name]
    kept, fingerprints = {key for key, _ in mine}, {fingerprint for _, fingerprint in mine}
    # Under no fingerprint: only which questions are equal matters here.
    needed = {question.key(""): question for question in questions}
    held = [not kept.isdisjoint(map(each.key, fingerprints)) for each in needed.values()]
    return Preview(len(questions), len(needed), sum(held))


@contextmanager
def answer_store(path: Path) -> Iterator[AnswerStore]:
    """Open the store of a command, and say after Ctrl-C what is kept.

    A new one without an answer goes again where a model could not be loaded, say.
    """
    is_new = not path.exists()
    try:
        with AnswerStore(path) as store:
            try:
                yield store
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"interrupted; {counted(len(store), 'answer is', 'answers are')} kept in "
                    f"{store.path}. The same command resumes."
                ) from None
    except BaseException:
        if is_new and path.exists() and _is_empty(path):
            path.unlink()
        raise


def _is_empty(path: Path) -> bool:
    """Tell whether a store has no answer, and no other process will put one into it."""
    # What SQLite keeps beside a store goes with its last user.
    if any(Path(f"{path}-{end}").exists() for end in ("wal", "shm")):
        return False
    try:
        return not any(True for _ in read_store(path))
    except CoherenceError:  # whatever it is, it is none of this call's empty stores
        return False


def outlook(questions: Sequence[Question], *, model_name: str, store: str, unless: str = "") -> str:
    """Return what ``--dry-run`` prints: how much would be asked, and how much is there.

    `unless` says what leaves some of the questions out, which is not looked up here.
    """
    seen = preview(questions, model_name=model_name, store=store)
    whose = " of a model of this name, under whatever settings" if seen.n_stored else ""
    most = f" at most: {unless}" if unless and seen.n_left else ""
    return (
        f"questions  {seen.n_questions}, of which {seen.n_distinct} differ\n"
        f"in store   {seen.n_stored}{whose}\n"
        f"to ask     {seen.n_left}{most}"
    )
