"""Models from folders: breaks if a bad folder is not named as such, or code in it is run."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from coherence.errors import InputError
from elicitation.models.local.causal import load_causal_model
from elicitation.models.local.loading import choose_device


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
