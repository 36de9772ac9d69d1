import os

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # threads that spin slow a shared machine down many times over

import contextlib
import sqlite3

import pytest


@pytest.fixture(autouse=True)
def no_database_left_open(monkeypatch):
    """Close what a test has opened: from Python 3.13 on a database left open is a warning."""
    opened, connect = [], sqlite3.connect

    def connected(*values, **options):
        opened.append(connect(*values, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connected)
    yield
    for database in opened:
        with contextlib.suppress(sqlite3.Error):  # another thread's
            database.close()


@pytest.fixture(scope="session")
def asia():
    from elicitation.session.plan import Task

    return Task.load("asia")


@pytest.fixture(scope="session")
def cases(asia):
    return asia.cases(12, seed=0)


@pytest.fixture(scope="session")
def model_folder(asia, tmp_path_factory):
    """A very small model, taught for seconds: mostly it gets the form of answers right."""
    from elicitation.training.organisms.reader import Recipe, train_reader

    folder = tmp_path_factory.mktemp("models") / "tiny"
    batch = (("belief", 8), ("conditional", 4), ("decision", 4), ("auxiliary", 4))
    train_reader(
        folder,
        asia,
        recipe=Recipe(
            steps=250,
            hidden=32,
            inner=64,
            layers=1,
            heads=2,
            learning_rate=1e-2,
            batch=batch,
            threads=1,
        ),
    )
    return folder


@pytest.fixture(scope="session")
def model(model_folder):
    from elicitation.models.local.causal import load_causal_model

    return load_causal_model(model_folder, batch_size=8)
