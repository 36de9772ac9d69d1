"""Models from folders and names.

Breaks if a bad one is not named, if code in it is run, or if a path goes to the hub.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from safetensors.torch import load_file, save_file

from coherence import InputError
from elicitation import Request, load_causal_model
from elicitation.models.local.loading import ModelSource, find_source, is_multiple_choice, name_of

PINNED = "996dda1c0b23f92f5bb4e1c149e4718ed75dac58fd0c80838bc32ff0b0d3d622"
COMMIT, NO_SPEC = "1" * 40, "2" * 40


@pytest.fixture
def copied(model_folder, tmp_path):
    return shutil.copytree(model_folder, tmp_path / "copy")


def rewrite(name, content):
    return lambda folder: (folder / name).write_text(content)


def change_config(**changes):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return change


def lose_a_weight(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def pickle(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def add_code(folder):
    """Code that would leave a file where it is run."""
    proof = folder / "ran"
    (folder / "evil.py").write_text(
        f"open({str(proof)!r}, 'w').write('x')\nclass Evil: pass\nclass EvilConfig: pass\n"
    )
    auto = {"AutoConfig": "evil.EvilConfig", "AutoModelForCausalLM": "evil.Evil"}
    change_config(model_type="evil", auto_map=auto)(folder)
    return proof


NOT_LOADED = "could not be loaded as a causal language model"
SIZES = "weights have other sizes than its config.json"
FOLDERS = {
    "no JSON": (rewrite("config.json", "{not json"), NOT_LOADED),
    "no weights": (rewrite("model.safetensors", "garbage"), NOT_LOADED),
    "narrower": (change_config(hidden_size=2), SIZES),
    "fewer words": (change_config(vocab_size=7), SIZES),
    "beyond memory": (change_config(hidden_size=2**40), NOT_LOADED),
    "more layers": (change_config(num_hidden_layers=9), r"lacks weights for model\.layers"),
    # Layers beyond those of the config must not be left out in silence.
    "fewer layers": (change_config(num_hidden_layers=0), r"layers that its config.json does not"),
    "a weight less": (lose_a_weight, r"lacks weights for model\.norm\.weight"),
    "pickled": (pickle, r"lacks \*\.safetensors"),
    "code": (add_code, "could not be loaded"),
}


@pytest.mark.parametrize("damage", FOLDERS)
def test_a_folder_with_a_fault_is_named_with_it_and_its_code_is_not_run(damage, copied):
    damaged, message = FOLDERS[damage]
    damaged(copied)
    with pytest.raises(InputError, match=message):
        load_causal_model(copied)
    assert not (copied / "ran").exists()


def test_the_fingerprint_follows_weights_and_tokenizer_but_not_the_log(
    copied, model_folder, tmp_path
):
    before = load_causal_model(model_folder).fingerprint
    (copied / "training.json").write_text("{}")
    assert load_causal_model(copied).fingerprint == before
    weights = bytearray((copied / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copied / "model.safetensors").write_bytes(weights)
    assert load_causal_model(copied).fingerprint != before
    # Pinned: a store that was filled by the same files is found.
    folder = tmp_path / "pinned"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "notes.txt"):
        (folder / name).write_bytes(name.encode())
    assert ModelSource("folder", folder).fingerprint("dtype=float32;chat=False") == PINNED


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
    (repository / "refs").mkdir(parents=True)
    for commit, name in ((COMMIT, "main"), (NO_SPEC, "v2")):
        shutil.copytree(model_folder, repository / "snapshots" / commit)
        (repository / "refs" / name).write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return repository / "snapshots"


def test_a_path_is_never_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    asked = []
    there = ModelSource("hub", tmp_path / "config.json", "someone/small", COMMIT)
    look = "elicitation.models.local.loading._found_on_hub"
    monkeypatch.setattr(look, lambda *words: asked.append(words) or there)
    paths = ("models/smollm2", "./someone/small", "/a/b", "a/b/c", "small", "a/", "a/b.gguf")
    for name in paths:
        with pytest.raises(InputError, match=r"must be a folder .*, a \.gguf file, or OWNER/NAME"):
            find_source(name)
    assert asked == []
    find_source("someone/small", revision="v2")
    assert asked == [("someone/small", "v2")]
    # What lies here goes before the hub.
    (tmp_path / "someone" / "small").mkdir(parents=True)
    with pytest.raises(InputError, match=r"model folder someone/small lacks config\.json"):
        find_source("someone/small")


def test_a_model_of_the_hub_is_loaded_from_its_cache_at_a_commit(
    hub, model_folder, gguf_file, tmp_path
):
    here = load_causal_model(model_folder, device="cpu", dtype="float32")
    requests = [Request("Decision:", 3, 8)]
    for revision, commit in ((None, COMMIT), ("v2", NO_SPEC)):
        told = {} if revision is None else {"revision": revision}
        model = load_causal_model("someone/small", device="cpu", dtype="float32", **told)
        assert model.fingerprint.startswith(f"hub someone/small@{commit};dtype=float32;chat=False;")
        assert model.generate(requests) == here.generate(requests)
    assert not is_multiple_choice("someone/small")
    change_config(architectures=["BertForMultipleChoice"])(hub / COMMIT)
    assert is_multiple_choice("someone/small")
    assert not is_multiple_choice("someone/small", revision="v2")
    (tmp_path / "link").symlink_to(model_folder)
    for source, name in (
        *((model_folder, "tiny"), (tmp_path / "link", "tiny")),
        *((gguf_file, "Small.Q4_1"), ("someone/small", "small")),
    ):
        assert find_source(source).name == name_of(source) == name


def test_pickles_and_code_of_the_hub_are_not_used_and_what_is_not_cached_is_one_line(hub):
    pickle(hub / COMMIT)
    with pytest.raises(InputError, match="someone/small at 111111111111 could not be loaded"):
        load_causal_model("someone/small")
    proof = add_code(hub / NO_SPEC)
    with pytest.raises(InputError, match=NOT_LOADED):
        load_causal_model("someone/small", revision="v2")
    assert not proof.exists()
    with pytest.raises(InputError) as caught:
        find_source("someone/other", revision="v1")
    message = str(caught.value)
    assert "someone/other is not a folder here, and someone/other at revision v1 is" in message
    assert "nor to be had from the hub (" in message
    assert "\n" not in message


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
    online = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=online)
    assert done.stdout.strip() == "tiny", done.stderr
