"""What a model's name stands for: breaks if a path goes to the hub, or two models share answers."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from coherence import InputError
from coherence.errors import MissingExtraError
from elicitation import load_causal_model
from elicitation.models.local import sources
from elicitation.models.local.multiple_choice import is_multiple_choice
from elicitation.models.local.sources import (
    ModelSource,
    find_source,
    name_of,
)

COMMIT, OTHER = "1" * 40, "2" * 40


@pytest.fixture
def gguf_file(tmp_path):
    file = tmp_path / "Small.Q4_1.gguf"
    file.write_bytes(b"GGUF and the rest")
    return file


@pytest.fixture
def hub(model_folder, tmp_path, monkeypatch):
    """A cache as the hub's library keeps it: a repository at two commits, the first is main."""
    from huggingface_hub import constants

    cache = tmp_path / "home" / "hub"
    repository = cache / "models--someone--small"
    for commit in (COMMIT, OTHER):
        shutil.copytree(model_folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "refs" / "v2").write_text(OTHER)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def test_a_path_is_never_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    asked = []
    there = ModelSource("hub", tmp_path / "config.json", "someone/small", COMMIT)
    monkeypatch.setattr(sources, "_found_on_hub", lambda *words: asked.append(words) or there)
    for name in (
        "models/smollm2",
        "./someone/small",
        "/a/b",
        "a/b/c",
        "small",
        "a/",
        "a/b.gguf",
    ):
        with pytest.raises(InputError, match=r"must be a folder .*, a \.gguf file, or OWNER/NAME"):
            find_source(name)
    assert asked == []
    find_source("someone/small", revision="v2")
    assert asked == [("someone/small", "v2")]
    # What lies here goes before the hub.
    (tmp_path / "someone" / "small").mkdir(parents=True)
    with pytest.raises(InputError, match=r"model folder someone/small lacks config\.json"):
        find_source("someone/small")


def test_the_name_is_that_of_the_model(model_folder, gguf_file, hub, tmp_path):
    (tmp_path / "link").symlink_to(model_folder)
    for model, name in (
        (model_folder, "tiny"),
        (tmp_path / "link", "tiny"),
        (gguf_file, "Small.Q4_1"),
        ("someone/small", "small"),
    ):
        assert find_source(model).name == name_of(model) == name


def test_a_file_is_told_by_its_content(gguf_file, tmp_path, monkeypatch):
    settings = "dtype=float32;chat=True"
    first = find_source(gguf_file).fingerprint(settings)
    copy = tmp_path / "copy.GGUF"
    shutil.copy(gguf_file, copy)
    assert find_source(copy).fingerprint(settings) == first
    assert find_source(copy).fingerprint("dtype=float32;chat=False") != first
    copy.write_bytes(b"GGUF and the rest, changed")
    assert find_source(copy).fingerprint(settings) != first
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"notes\.txt is another file"):
        find_source(tmp_path / "notes.txt")
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'belief-coherence\[elicit\]'"):
        find_source(gguf_file)


def test_a_model_of_the_hub_is_loaded_from_its_cache_at_a_commit(hub, model_folder):
    from elicitation import Request

    model = load_causal_model("someone/small", device="cpu", dtype="float32")
    assert model.name == "small"
    assert model.fingerprint == f"hub someone/small@{COMMIT};dtype=float32;chat=False"
    later = load_causal_model("someone/small", revision="v2", device="cpu", dtype="float32")
    assert later.fingerprint == f"hub someone/small@{OTHER};dtype=float32;chat=False"
    requests = [Request("Decision:", 3, 8)]
    here = load_causal_model(model_folder, device="cpu", dtype="float32")
    assert model.generate(requests) == here.generate(requests)
    assert not is_multiple_choice("someone/small")
    config = hub / "models--someone--small" / "snapshots" / COMMIT / "config.json"
    config.write_text(json.dumps({"architectures": ["BertForMultipleChoice"]}))
    assert is_multiple_choice("someone/small")
    assert not is_multiple_choice("someone/small", revision="v2")


def test_pickled_weights_and_code_of_the_hub_are_not_used(hub, tmp_path):
    snapshot = hub / "models--someone--small" / "snapshots" / COMMIT
    (snapshot / "model.safetensors").rename(snapshot / "pytorch_model.bin")
    with pytest.raises(InputError, match="someone/small at 111111111111 could not be loaded"):
        load_causal_model("someone/small")
    snapshot = snapshot.with_name(OTHER)
    proof = tmp_path / "ran"
    (snapshot / "evil.py").write_text(
        f"open({str(proof)!r}, 'w').write('x')\nclass Evil: pass\nclass EvilConfig: pass\n"
    )
    config = json.loads((snapshot / "config.json").read_text()) | {
        "model_type": "evil",
        "auto_map": {"AutoConfig": "evil.EvilConfig", "AutoModelForCausalLM": "evil.Evil"},
    }
    (snapshot / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="could not be loaded as a causal language model"):
        load_causal_model("someone/small", revision="v2")
    assert not proof.exists()


def test_what_is_not_cached_is_one_clear_line(hub):
    with pytest.raises(InputError) as caught:
        find_source("someone/other", revision="v1")
    message = str(caught.value)
    assert (
        "someone/other is not a folder here, and someone/other at revision v1 is neither" in message
    )
    assert "(the environment says HF_HUB_OFFLINE)" in message
    assert "\n" not in message


@pytest.mark.slow
def test_an_unreachable_hub_is_one_clear_line(hub, monkeypatch, caplog):
    from huggingface_hub import constants

    # Nothing listens there; the discard port of this machine.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{filename}"
    )
    with pytest.raises(InputError, match="neither in the hub's cache nor to be had from the hub"):
        find_source("someone/other")
    assert caplog.records == []  # nothing of the tries before


@pytest.mark.lengthy
def test_loading_a_folder_opens_no_connection(model_folder):
    # In a process whose environment does not say offline, with every connection an error.
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from elicitation import load_causal_model\n"
        f"print(load_causal_model({str(model_folder)!r}, device='cpu').name)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "tiny", done.stderr
