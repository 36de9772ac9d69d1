"""The real public model, loaded and asked: breaks if what it says is not what its weights say.

Left out of the ordinary run; ``pytest -m smollm2`` runs them. The references are transformers' own
forward passes, and what this model is known to say.
"""

import json

import pytest

from elicitation import AnswerStore, Request, load_causal_model, reveal
from elicitation.batteries.revealed.scenarios import dice

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


def test_one_die_is_read_as_transformers_reads_it_and_has_its_known_bias(plain):
    import torch

    setting = dice.single(1, 6)
    with AnswerStore(":memory:") as store:
        table = reveal(plain, [setting], store)
    text = setting.texts["standard"]
    rows = table[table["wording"] == "standard"].set_index("outcome")["mass"]
    # By hand: "1" and " 1" are the ways to say it; what follows must not be a digit.
    for outcome in setting.outcomes:
        total = 0.0
        for spelling in (outcome, f" {outcome}"):
            ids = plain.tokenizer(text)["input_ids"]
            spelt = plain.tokenizer(spelling, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logits = plain.network(torch.tensor([[*ids, *spelt]])).logits[0].double()
            chances = logits.log_softmax(-1)
            said = sum(
                chances[len(ids) - 1 + place, token].item() for place, token in enumerate(spelt)
            )
            digits = [plain.tokenizer.convert_tokens_to_ids(digit) for digit in "0123456789"]
            goes_on = chances[-1, digits].exp().sum().item()
            total += torch.tensor(said).exp().item() * (1 - goes_on)
        # Some ways to say it, such as a line break before it, are left out by hand.
        assert rows[outcome] == pytest.approx(total, rel=0.05)
    assert rows.sum() == pytest.approx(0.0361, rel=0.05)
    # The bias towards first and last is known.
    shares = table.pivot(index="wording", columns="outcome", values="mass")
    means = shares.div(shares.sum(axis=1), axis=0).mean()
    assert (means[["1", "6"]] > 0.25).all()
    assert (means[["2", "3", "4", "5"]] < 0.15).all()
