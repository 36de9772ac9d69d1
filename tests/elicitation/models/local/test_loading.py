"""Models from folders and names.

Breaks if a bad one is not named, if code in it is run, or if a path goes to the hub.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from coherence import CoherenceError, InputError
from elicitation import Request, load_causal_model
from elicitation.models.local.loading import choose_device
from elicitation.models.local.multiple_choice import is_multiple_choice
from elicitation.models.local.sources import (
    ModelSource,
    find_source,
    name_of,
)

PINNED = "996dda1c0b23f92f5bb4e1c149e4718ed75dac58fd0c80838bc32ff0b0d3d622"


def test_the_fingerprint_follows_weights_and_tokenizer_but_not_the_log(model_folder, tmp_path):
    before = load_causal_model(model_folder).fingerprint
    folder = tmp_path / "copy"
    shutil.copytree(model_folder, folder)
    assert load_causal_model(folder).fingerprint == before
    (folder / "training.json").write_text("{}")
    assert load_causal_model(folder).fingerprint == before
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        last = stream.read(1)
        stream.seek(-1, 2)
        stream.write(bytes([last[0] ^ 1]))
    assert load_causal_model(folder).fingerprint != before


def rewrite(name, content):
    return lambda folder: (folder / name).write_text(content)


def change_config(**changes):
    def change(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return change


def cut(length):
    def shorten(folder):
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:length])

    return shorten


def lose_a_weight(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


NOT_LOADED = "could not be loaded as a causal language model"


FOLDERS = {
    "no JSON": (rewrite("config.json", "{not json"), NOT_LOADED),
    "no such type": (rewrite("config.json", '{"model_type": "no-such-type"}'), NOT_LOADED),
    "no weights": (rewrite("model.safetensors", "garbage"), NOT_LOADED),
    "narrower": (change_config(hidden_size=2), "weights have other sizes than its config.json"),
    "fewer words": (change_config(vocab_size=7), "weights have other sizes than its config.json"),
    "beyond memory": (change_config(hidden_size=2**40), NOT_LOADED),
    "a text as size": (change_config(hidden_size="16"), NOT_LOADED),
    "heads that do not divide": (change_config(num_attention_heads=3), NOT_LOADED),
    "more layers": (change_config(num_hidden_layers=9), r"lacks weights for model\.layers"),
    # Layers beyond those of the config must not be left out in silence.
    "fewer layers": (change_config(num_hidden_layers=0), r"layers that its config.json does not"),
    "a byte less": (cut(-1), NOT_LOADED),
    "the head alone": (cut(100), NOT_LOADED),
    "empty": (cut(0), NOT_LOADED),
    "a weight less": (lose_a_weight, r"lacks weights for model\.norm\.weight"),
    "pickled": (
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        r"lacks \*\.safetensors",
    ),
}


@pytest.mark.parametrize("damage", FOLDERS)
def test_a_folder_with_a_fault_is_named_with_it(damage, model_folder, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(model_folder, folder)
    damaged, message = FOLDERS[damage]
    damaged(folder)
    with pytest.raises(InputError, match=message):
        load_causal_model(folder)


def test_code_in_a_folder_is_not_run(model_folder, tmp_path):
    folder = tmp_path / "code"
    shutil.copytree(model_folder, folder)
    proof = tmp_path / "ran"
    (folder / "modeling_evil.py").write_text(
        f"open({str(proof)!r}, 'w').write('x')\nclass Evil: pass\nclass EvilConfig: pass\n"
    )
    auto = {"AutoConfig": "modeling_evil.EvilConfig", "AutoModelForCausalLM": "modeling_evil.Evil"}
    change_config(model_type="evil", auto_map=auto)(folder)
    with pytest.raises(InputError, match="could not be loaded"):
        load_causal_model(folder)
    assert not proof.exists()


@pytest.mark.parametrize(
    ("there", "halves", "asked", "got"),
    [
        (False, False, ("auto", "auto"), ("cpu", "float32")),
        (True, True, ("auto", "auto"), ("cuda", "bfloat16")),
        (True, True, ("cuda:1", "float32"), ("cuda:1", "float32")),
        (True, True, ("cpu", "auto"), ("cpu", "float32")),
        (True, False, ("auto", "auto"), ("cuda", "float32")),
    ],
)
def test_an_accelerator_is_used_where_there_is_one_and_in_half_precision(
    there, halves, asked, got, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: halves)
    assert choose_device(*asked) == got


class TakenError(Exception):
    """Raised in place of loading, with the options that transformers got."""


@pytest.fixture
def options_for(model_folder, monkeypatch):
    def options(**placement):
        def take(location, **received):
            raise TakenError(received)

        monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", take)
        with pytest.raises(TakenError) as caught:
            load_causal_model(model_folder, **placement)
        return caught.value.args[0]

    return options


@pytest.fixture
def all_installed(monkeypatch):
    import transformers

    monkeypatch.setattr("elicitation.models.local.loading.find_spec", lambda name: True)
    monkeypatch.setattr(transformers, "BitsAndBytesConfig", dict)


def test_options_reach_transformers_unchanged(options_for, all_installed):
    always = {
        "local_files_only": True,
        "trust_remote_code": False,
        "use_safetensors": True,
        "output_loading_info": True,
    }
    assert options_for(device="cpu", dtype="bfloat16") == {**always, "dtype": torch.bfloat16}
    exact = {"model.embed_tokens": 0, "model.layers": "cpu"}
    for device_map in ("auto", "balanced_low_0", exact):
        received = options_for(dtype="float32", device_map=device_map)
        assert received == {**always, "dtype": torch.float32, "device_map": device_map}
    received = options_for(device="cpu", dtype="float16", quantization="8bit")
    assert received["quantization_config"] == {"load_in_8bit": True}
    # Where quantised weights are made they stay.
    assert received["device_map"] == {"": "cpu"}
    received = options_for(dtype="bfloat16", quantization="4bit", device_map="auto")
    assert received["quantization_config"] == {
        "load_in_4bit": True,
        "bnb_4bit_compute_dtype": torch.bfloat16,
    }
    assert received["device_map"] == "auto"


def test_the_real_settings_of_bitsandbytes_take_what_they_get(options_for, monkeypatch):
    monkeypatch.setattr("elicitation.models.local.loading.find_spec", lambda name: True)
    for bits in ("8bit", "4bit"):
        config = options_for(device="cpu", dtype="float32", quantization=bits)[
            "quantization_config"
        ]
        assert getattr(config, f"load_in_{bits}") is True


def test_a_folder_loaded_as_ever_has_the_fingerprint_it_ever_had(tmp_path):
    """Pinned: stores that were filled before there were other sources are still found."""
    folder = tmp_path / "pinned"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "notes.txt"):
        (folder / name).write_bytes(name.encode())
    assert ModelSource("folder", folder).fingerprint("dtype=float32;chat=False") == PINNED


@pytest.mark.parametrize(
    ("absent", "placement", "extra"),
    [
        ("bitsandbytes", {"quantization": "8bit"}, "quantization"),
        ("accelerate", {"quantization": "4bit"}, "quantization"),
        ("accelerate", {"device_map": "auto"}, "device-map"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    absent, placement, extra, model_folder, monkeypatch
):
    monkeypatch.setattr(
        "elicitation.models.local.loading.find_spec", lambda name: None if name == absent else True
    )
    with pytest.raises(CoherenceError, match=rf"pip install 'belief-coherence\[{extra}\]'"):
        load_causal_model(model_folder, **placement)


def test_a_quantised_file_is_not_quantised_again(tmp_path):
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r"a\.gguf are quantised already"):
        load_causal_model(file, quantization="8bit")


def test_a_device_map_answers_as_a_device(model_folder):
    pytest.importorskip("accelerate")
    requests = [Request("Decision:", seed, 6) for seed in range(3)]
    models = [
        load_causal_model(model_folder, dtype="float32", **placement)
        for placement in ({"device": "cpu"}, {"device_map": "cpu"}, {"device_map": {"": "cpu"}})
    ]
    answers = [model.generate(requests) for model in models]
    assert answers[0] == answers[1] == answers[2]
    assert len({model.fingerprint for model in models}) == 1


COMMIT, NO_SPEC = "1" * 40, "2" * 40


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
    for commit in (COMMIT, NO_SPEC):
        shutil.copytree(model_folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "refs" / "v2").write_text(NO_SPEC)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def test_a_path_is_never_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    asked = []
    there = ModelSource("hub", tmp_path / "config.json", "someone/small", COMMIT)
    monkeypatch.setattr(
        "elicitation.models.local.sources._found_on_hub",
        lambda *words: asked.append(words) or there,
    )
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
    monkeypatch.setattr("elicitation.models.local.sources.find_spec", lambda name: None)
    with pytest.raises(CoherenceError, match=r"pip install 'belief-coherence\[elicit\]'"):
        find_source(gguf_file)


def test_a_model_of_the_hub_is_loaded_from_its_cache_at_a_commit(hub, model_folder):
    from elicitation import Request

    model = load_causal_model("someone/small", device="cpu", dtype="float32")
    assert model.name == "small"
    assert model.fingerprint == f"hub someone/small@{COMMIT};dtype=float32;chat=False"
    later = load_causal_model("someone/small", revision="v2", device="cpu", dtype="float32")
    assert later.fingerprint == f"hub someone/small@{NO_SPEC};dtype=float32;chat=False"
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
    snapshot = snapshot.with_name(NO_SPEC)
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


def test_numbers_and_gradients_are_those_of_plain_layers(model_folder):
    """Breaks where the layers that read fast differ from torch's own, or cannot be trained."""
    model = load_causal_model(model_folder, dtype="float32", device="cpu")
    ids = torch.arange(2, 20)[None]
    plain = model.network(input_ids=ids).logits
    with torch.inference_mode():
        torch.testing.assert_close(model.network(input_ids=ids).logits, plain)
    plain.sum().backward()
    assert all(weight.grad is not None for weight in model.network.parameters())
