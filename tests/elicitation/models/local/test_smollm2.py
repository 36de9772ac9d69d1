"""The real public model, loaded and asked: breaks if what it says is not what its weights say.

Left out of the ordinary run; ``pytest -m smollm2`` runs them. The references are transformers' own
forward passes, and what this model is known to say.
"""

import json

import pytest

from elicitation import Request, load_causal_model

pytestmark = pytest.mark.smollm2


@pytest.fixture(scope="module")
def plain(smollm2_folder):
    return load_causal_model(smollm2_folder, chat=False, device="cpu", dtype="float32")


def test_the_folder_is_the_model_that_is_known(smollm2_folder, plain):
    config = json.loads((smollm2_folder / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert (config["max_position_embeddings"], config["vocab_size"]) == (8192, 49_152)
    # Digits are tokens of their own, as the reading of numbers takes them to be.
    ids = plain.encode(["0.25"])[0]
    assert plain.tokenizer.convert_ids_to_tokens(ids) == ["0", ".", "2", "5"]


def test_it_knows_what_a_coin_does_and_is_asked_in_its_chat_template(smollm2_folder, plain):
    text = "The probability of getting heads when flipping a fair coin is"
    (answer,) = plain.generate([Request(text, 0, 4, temperature=0)])
    assert answer.text.strip().startswith("1/2")
    model = load_causal_model(smollm2_folder, device="cpu", dtype="float32")
    rendered = model.render("What is 2 + 2?")
    assert rendered.endswith("<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n")
    (answer,) = model.generate([Request("What is 2 + 2?", 0, 12, temperature=0)])
    assert "4" in answer.text
