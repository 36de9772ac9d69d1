"""A store of answers that survives a crash.

It is SQLite in write-ahead mode, one transaction per batch, text and JSON only. An answer is keyed
by everything that determines it (model fingerprint, full text, settings of the generation, base
seed, number of the draw), so a second model never gets the first one's answers, and a session that
is started again asks only what is missing. Several processes may share a store.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Answer
from elicitation.models.draws import Draw as Draw

_LAYOUT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    text_digest TEXT NOT NULL, settings TEXT NOT NULL, draw INTEGER NOT NULL,
    seed INTEGER NOT NULL, answer TEXT NOT NULL, extra TEXT NOT NULL, created TEXT NOT NULL
) WITHOUT ROWID;
"""
_BUSY_SECONDS = 60.0
_DETAILS = tuple(field.name for field in fields(Answer) if field.name != "text")
# SQLite allows 32,766 variables in one statement; smaller portions keep a look-up short for other
# writers.
_PORTION = 500


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it lies in the store.

    Parameters
    ----------
    text : str
        What the model said.
    seed : int
        The seed it was drawn with.
    created : str
        When it was stored, in UTC.
    logprob, n_tokens, finish_reason, thinking, n_prompt_tokens, served_by, answer_mass
        See `Answer`; None where the model did not give it, or an older store does not have it.
    """

    text: str
    seed: int
    created: str
    logprob: float | None = None
    n_tokens: int | None = None
    finish_reason: str | None = None
    thinking: str | None = None
    n_prompt_tokens: int | None = None
    served_by: str | None = None
    answer_mass: float | None = None


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
        except sqlite3.Error as error:
            raise InputError(
                f"answer store {self.path} cannot be used: {error}. "
                "Give another path, or move that file away."
            ) from error

    def _use_write_ahead_log(self) -> None:
        """Switch the journal; for another process that does the same SQLite does not wait."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL").close()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _prepare(self) -> None:
        self._use_write_ahead_log()
        # NORMAL outlives a killed process; FULL would also outlive a power cut in the same instant,
        # at one fsync per batch, which is cheap here.
        self._database.execute("PRAGMA synchronous=FULL")
        layout = self._database.execute("PRAGMA user_version").fetchone()[0]
        names = self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in names}
        # Layout 0 is a new file, or one whose maker was killed between the two statements below.
        if layout not in (0, _LAYOUT) or (layout == 0 and tables - {"answers", "texts"}):
            raise InputError(
                f"answer store {self.path} is a database of another kind. Give another path."
            )
        self._database.executescript(_SCHEMA)
        self._database.execute(f"PRAGMA user_version = {_LAYOUT}")

    def get(self, keys: Iterable[str]) -> dict[str, StoredAnswer]:
        """Look answers up.

        Parameters
        ----------
        keys : iterable of str
            From `Draw.key`.

        Returns
        -------
        dict of str to StoredAnswer
            Those that the store holds.
        """
        wanted, answers = list(dict.fromkeys(keys)), {}
        with self._errors():
            for start in range(0, len(wanted), _PORTION):
                portion = wanted[start : start + _PORTION]
                marks = ",".join("?" * len(portion))
                for key, text, seed, created, extra in self._database.execute(
                    f"SELECT key, answer, seed, created, extra FROM answers WHERE key IN ({marks})",
                    portion,
                ):
                    known = json.loads(extra)
                    details = {name: known.get(name) for name in _DETAILS}
                    answers[key] = StoredAnswer(text, seed, created, **details)
        return answers

    def put(
        self, draws: Sequence[Draw], answers: Sequence[Answer], *, model: str, fingerprint: str
    ) -> None:
        """Store a batch in one transaction; an answer that is there already stays.

        Parameters
        ----------
        draws : sequence of Draw
            What was asked.
        answers : sequence of Answer
            What came back, one per draw.
        model, fingerprint : str
            Who answered.
        """
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        texts, rows = {}, []
        for draw, answer in zip(draws, answers, strict=True):
            # Many draws share a text, which is kept once.
            digest = hashlib.sha256(draw.request.text.encode()).hexdigest()
            texts[digest] = draw.request.text
            details = {name: getattr(answer, name) for name in _DETAILS}
            # What is not known takes no place; half a surrogate pair is an escape in JSON.
            details = {name: value for name, value in details.items() if value is not None}
            extra = json.dumps({**details, "about": draw.about})
            # Half a surrogate pair, which a server's JSON can hold, has no UTF-8 but an escape.
            text = answer.text.encode("utf-8", "backslashreplace").decode()
            asked = (draw.key(fingerprint), model, fingerprint, digest, draw.settings, draw.number)
            rows.append((*asked, draw.request.seed, text, extra, created))
        with self._errors():
            # The lock is taken at once: who asks for it midway may fail without any wait.
            self._database.execute("BEGIN IMMEDIATE")
            insert = self._database.executemany
            try:
                insert("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts.items())
                # The first answer stays: tables may have been made from it.
                marks = ", ".join("?" * 10)
                insert(f"INSERT OR IGNORE INTO answers VALUES ({marks})", rows)
                self._database.execute("COMMIT")
            except BaseException:
                # The error may have ended the transaction itself, as a full disk does.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

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
            raise CoherenceError(
                f"answer store {self.path} failed: {error}. "
                "Answers stored before are kept; the same command resumes."
            ) from error


@dataclass(frozen=True)
class StoredRow:
    """An answer with all that is known of how it came about, for looking back at a store.

    Parameters
    ----------
    key : str
        From `Draw.key`.
    model, fingerprint : str
        Who answered.
    about : str
        See `Draw`; empty where a store does not have it.
    text, created : str
        See `StoredAnswer`.
    """

    key: str
    model: str
    fingerprint: str
    about: str
    text: str
    created: str


def read_store(path: str | os.PathLike[str]) -> Iterator[StoredRow]:
    """Read a store from outside, also while a session writes to it; nothing is made or changed.

    Parameters
    ----------
    path : path-like
        The file.

    Yields
    ------
    StoredRow
        One per answer, by time.

    Raises
    ------
    InputError
        There is no such file, or it is no answer store.
    """
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
            if database.execute("PRAGMA user_version").fetchone()[0] != _LAYOUT:
                raise InputError(
                    f"answer store {path} is a database of another kind. Give another path."
                )
            for key, model, fingerprint, extra, text, created in database.execute(
                "SELECT key, model, fingerprint, extra, answer, created FROM answers "
                "ORDER BY created"
            ):
                about = json.loads(extra).get("about", "")  # older stores have none
                yield StoredRow(key, model, fingerprint, about, text, created)
    except sqlite3.Error as error:
        raise InputError(
            f"answer store {path} cannot be read: {error}. Check that it is one, and complete."
        ) from error
