"""Models from folders: breaks if a bad folder is not named as such, or code in it is run."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from coherence import InputError
from coherence.errors import MissingExtraError
from elicitation import Request, load_causal_model
from elicitation.models.local import loading
from elicitation.models.local.loading import choose_device
from elicitation.models.local.sources import ModelSource

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

    monkeypatch.setattr(loading, "find_spec", lambda name: True)
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
    monkeypatch.setattr(loading, "find_spec", lambda name: True)
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
    monkeypatch.setattr(loading, "find_spec", lambda name: None if name == absent else True)
    with pytest.raises(MissingExtraError, match=rf"pip install 'belief-coherence\[{extra}\]'"):
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
