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
from elicitation.models.local.loading import Placement, choose_device
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


def test_a_bad_folder_is_named_with_its_fault(model_folder, tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        load_causal_model("someone/some-model")
    with pytest.raises(InputError, match=r"lacks config\.json, \*\.safetensors, tokenizer files"):
        load_causal_model(tmp_path)
    for name, content in (
        ("config.json", "{not json"),
        ("config.json", '{"model_type": "no-such-type"}'),
        ("model.safetensors", "garbage"),
    ):
        folder = tmp_path / f"{name}-{len(content)}"
        shutil.copytree(model_folder, folder)
        (folder / name).write_text(content)
        with pytest.raises(InputError, match="could not be loaded as a causal language model"):
            load_causal_model(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_size": 2}, "weights have other sizes than its config.json says"),
        ({"vocab_size": 7}, "weights have other sizes than its config.json says"),
        ({"hidden_size": 2**40}, "could not be loaded as a causal language model"),
        ({"hidden_size": "16"}, "could not be loaded as a causal language model"),
        ({"num_attention_heads": 3}, "could not be loaded as a causal language model"),
        ({"num_attention_heads": 0}, "could not be loaded as a causal language model"),
        ({"num_hidden_layers": 9}, r"lacks weights for model\.layers"),
        ({"num_hidden_layers": 0}, r"layers that its config.json does not have, .* model\.layers"),
    ],
)
def test_a_config_of_another_size_is_refused(model_folder, tmp_path, changes, said):
    """Breaks above all if layers beyond those of the config are left out in silence."""
    folder = tmp_path / "other"
    shutil.copytree(model_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(InputError, match=said):
        load_causal_model(folder)


@pytest.mark.parametrize("length", [-1, -1000, 100, 4, 0])
def test_weights_that_were_cut_are_refused(model_folder, tmp_path, length):
    folder = tmp_path / "cut"
    shutil.copytree(model_folder, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:length])
    with pytest.raises(InputError, match="could not be loaded as a causal language model"):
        load_causal_model(folder)


def test_missing_weights_are_not_made_up(model_folder, tmp_path):
    folder = tmp_path / "incomplete"
    shutil.copytree(model_folder, folder)
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks weights for model\.norm\.weight"):
        load_causal_model(folder)


def test_pickled_weights_are_not_read(model_folder, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(model_folder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"lacks \*\.safetensors"):
        load_causal_model(folder)


def test_code_in_a_folder_is_not_run(model_folder, tmp_path):
    folder = tmp_path / "code"
    shutil.copytree(model_folder, folder)
    proof = tmp_path / "ran"
    (folder / "modeling_evil.py").write_text(
        f"open({str(proof)!r}, 'w').write('x')\nclass Evil: pass\nclass EvilConfig: pass\n"
    )
    config = (
        (folder / "config.json")
        .read_text()
        .replace('"model_type": "llama"', '"model_type": "evil"')
    )
    auto = (
        '{"auto_map": {"AutoConfig": "modeling_evil.EvilConfig", '
        '"AutoModelForCausalLM": "modeling_evil.Evil"},'
    )
    (folder / "config.json").write_text(auto + config.lstrip()[1:])
    with pytest.raises(InputError, match="could not be loaded"):
        load_causal_model(folder)
    assert not proof.exists()


def test_an_accelerator_is_used_where_there_is_one_and_in_half_precision(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto", "auto") == ("cpu", "float32")
    assert choose_device("cpu", "bfloat16") == ("cpu", "bfloat16")
    with pytest.raises(InputError, match="device 'cuda:1' needs a CUDA device"):
        choose_device("cuda:1", "auto")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert choose_device("auto", "auto") == ("cuda", "bfloat16")
    assert choose_device("cuda:1", "float32") == ("cuda:1", "float32")
    assert choose_device("cpu", "auto") == ("cpu", "float32")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert choose_device("auto", "auto") == ("cuda", "float32")
    with pytest.raises(InputError, match="dtype must be one of"):
        choose_device("cpu", "int8")
    with pytest.raises(InputError, match="device must be auto or a torch device"):
        choose_device("somewhere", "auto")


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


def test_quantised_answers_are_kept_apart_and_others_are_found_as_before():
    assert Placement().settings == Placement("float32", device_map="auto").settings == ""
    kinds = {Placement(quantization=bits).settings for bits in ("8bit", "4bit")}
    assert kinds == {";quantization=8bit", ";quantization=4bit"}


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


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ({"quantization": "2bit"}, "quantization must be one of 8bit, 4bit; received '2bit'"),
        ({"device_map": "auto", "device": "cpu"}, "received device 'cpu' beside it"),
        ({"threads": 0}, "threads must be positive; received 0"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(placement, message, model_folder):
    with pytest.raises(InputError, match=message):
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
