"""Facts of a model folder: breaks if a size is miscounted or a broken file is not named."""

import json

import pytest
import torch
from safetensors.torch import save_file

from coherence.errors import InputError
from elicitation.models.public.folders import describe_folder


@pytest.fixture
def folder(tmp_path):
    config = {"architectures": ["XForCausalLM"], "max_position_embeddings": 64, "vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file({"a": torch.zeros(3, 5), "b": torch.zeros(7)}, tmp_path / "model-1.safetensors")
    save_file({"c": torch.zeros(40, dtype=torch.bfloat16)}, tmp_path / "model-2.safetensors")
    return tmp_path


def test_numbers_are_counted_over_all_files(folder):
    facts = describe_folder(folder)
    assert (facts.architecture, facts.n_parameters) == ("XForCausalLM", 15 + 7 + 40)
    assert facts.precisions == ("BF16", "F32")
    assert (facts.context, facts.vocabulary, facts.has_chat_template) == (64, 9, False)
    (folder / "tokenizer_config.json").write_text('{"chat_template": "x"}')
    assert describe_folder(folder).has_chat_template


def test_the_count_is_that_of_the_network(model_folder, model):
    facts = describe_folder(model_folder)
    assert facts.n_parameters == sum(weight.numel() for weight in model.network.parameters())


def test_what_is_broken_is_named(folder):
    (folder / "model-1.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(InputError, match=r"model-1\.safetensors is no safetensors file"):
        describe_folder(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(InputError, match=r"config\.json must hold a JSON object"):
        describe_folder(folder)
    with pytest.raises(InputError, match=r"must hold a readable config\.json"):
        describe_folder(folder / "absent")


def test_a_file_of_another_length_than_its_head_says_is_refused(folder):
    file = folder / "model-1.safetensors"
    whole = file.read_bytes()
    for data in (whole[:-1], whole + b"0"):
        file.write_bytes(data)
        said = rf"must have {len(whole)} bytes by its head, and has {len(data)}: it was cut"
        with pytest.raises(InputError, match=said):
            describe_folder(folder)


@pytest.mark.parametrize("head", ["[]", '{"a": {}}', '{"a": 1}', '{"a": {"data_offsets": ["x"]}}'])
def test_a_head_of_another_kind_is_refused(folder, head):
    data = len(head).to_bytes(8, "little") + head.encode()
    (folder / "model-1.safetensors").write_bytes(data)
    with pytest.raises(InputError, match=r"model-1\.safetensors is no safetensors file"):
        describe_folder(folder)
