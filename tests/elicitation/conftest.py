import os

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # threads that spin slow a shared machine down many times over

import contextlib
import re
import shlex
import sqlite3
from types import SimpleNamespace

import pytest

from elicitation import Answer, AnswerStore

_LABELS = re.compile(r"in this order: \[(.*), (.*)\]")


class Scripted:
    """Answers by the kind of question, and keeps a record of what it was asked."""

    name, fingerprint = "scripted", "script"

    def __init__(self, answers=None, fail_after=None):
        self.answers, self.fail_after, self.asked = answers or {}, fail_after, []

    def generate(self, requests):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += requests
        return [Answer(self.answer(request)) for request in requests]

    def answer(self, request):
        if "Decision:" in request.text:
            return self.answers.get("decision", "Can decide: Yes\nDecision: Yes")
        if "spread over the categories" in request.text:
            plain = ", or both" not in request.text
            first, second = _LABELS.search(request.text).groups() if plain else ("", "")
            return self.answers.get("auxiliary", f"{first}: 0.25\n{second}: 0.75")
        if "Brier" in request.text:
            return self.answers.get("mse", "No: 0.40\nYes: 0.60")
        digit = request.seed % 10
        return self.answers.get("belief", f"No: 0.{99 - digit}\nYes: 0.{digit:02d}")


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
    from elicitation import load_task

    return load_task("asia")


@pytest.fixture(scope="session")
def cases(asia):
    return asia.cases(12, seed=0)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A very small model, taught for seconds: mostly it gets the form of answers right."""
    from elicitation.training.organisms import Recipe, train_tiny_causal

    folder = tmp_path_factory.mktemp("models") / "tiny"
    shape = {"hidden": 32, "inner": 64, "layers": 1, "heads": 2, "threads": 1}
    batch = (("belief", 8), ("conditional", 4), ("decision", 4), ("auxiliary", 4))
    recipe = Recipe(steps=250, learning_rate=1e-2, batch=batch, **shape)
    train_tiny_causal(folder, recipe=recipe)
    return folder


@pytest.fixture(scope="session")
def blank_models(tmp_path_factory):
    """Two folders of untrained models, "base" and, with a chat template, "instruct"."""
    from elicitation.training.organisms import make_untrained_model

    folder = tmp_path_factory.mktemp("blank")
    base, instruct = (
        make_untrained_model(folder / name, seed=n) for n, name in enumerate(("base", "instruct"))
    )
    template = "{% for m in messages %}{{ m['content'] }}{% endfor %} Reply:"
    (instruct / "chat_template.jinja").write_text(template, encoding="utf-8")
    return base, instruct


@pytest.fixture(scope="session")
def model(model_folder):
    from elicitation import load_causal_model

    return load_causal_model(model_folder, batch_size=8)


@pytest.fixture
def run(run):
    """Run a command line, check its exit status, and return what it printed."""

    def run_line(line, status=0):
        ended, out, err = run(*shlex.split(line))
        assert ended == status, err
        return SimpleNamespace(out=out, err=err)

    return run_line


@pytest.fixture
def scripted():
    return Scripted


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened
