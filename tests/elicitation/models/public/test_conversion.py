"""A GGUF file as a folder: breaks if a weight, the tokenizer or the template is changed."""

import pytest
import torch

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Request
from elicitation.models.local.causal import load_causal_model
from elicitation.models.public.conversion import convert_gguf

from .tiny_gguf import TEMPLATE, tiny_llama, write_gguf


@pytest.fixture(scope="module")
def network():
    return tiny_llama()


@pytest.fixture(scope="module")
def gguf_file(network, tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q8.gguf", network)


def test_the_folder_holds_the_weights_and_the_template_of_the_file(network, gguf_file, tmp_path):
    convert_gguf(gguf_file, tmp_path)
    model = load_causal_model(tmp_path, device="cpu", dtype="float32")
    ids = torch.tensor([[1, 5, 9, 30, 12, 4]])
    with torch.inference_mode():
        assert torch.allclose(model.network(ids).logits, network(ids).logits, atol=1e-5)
    assert model.tokenizer.chat_template == TEMPLATE
    assert model.render("no") == "<|user|>no<|assistant|>"
    plain = load_causal_model(tmp_path, device="cpu", dtype="float32", chat=False)
    assert plain.tokenizer.convert_ids_to_tokens(plain.encode(["ab no"])[0])[-3:] == [
        "ab",
        "Ġ",
        "no",
    ]


def test_a_file_answers_as_the_folder_made_from_it(gguf_file, tmp_path, capfd):
    convert_gguf(gguf_file, tmp_path)
    requests = [Request(text, seed, 6) for seed, text in enumerate(["ab", "no es"])]
    answers = [
        load_causal_model(model, device="cpu", dtype="float32").generate(requests)
        for model in (tmp_path, gguf_file)
    ]
    assert answers[0] == answers[1]
    assert load_causal_model(gguf_file).name == "tiny.Q8"
    assert capfd.readouterr().err == ""  # no bar of a library runs through a session's output


def test_what_is_no_gguf_is_said(gguf_file, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"broken\.gguf is no GGUF file"):
        convert_gguf(broken, tmp_path)
    broken.write_bytes(gguf_file.read_bytes()[:2000])
    with pytest.raises(CoherenceError, match=r"broken\.gguf could not be read by transformers"):
        convert_gguf(broken, tmp_path)
    with pytest.raises(InputError, match="could not be loaded as a causal language model"):
        load_causal_model(broken)
