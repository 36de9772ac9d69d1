"""Causal models: breaks if an answer depends on its batch, or if padding shifts positions."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from elicitation import Request, load_causal_model

TEXTS = [
    "Does a patient cough?",
    "Consider a patient who is a smoker.",
    "12 lines",
    "Why?\nBecause of a chest X-ray, and of shortness of breath.",
    "a",
]
COUGH = Request(TEXTS[0], 3, 12, 1.0)


@pytest.fixture(scope="module")
def gpt2(model, tmp_path_factory):
    """Random weights and learnt positions: padding without explicit positions would show."""
    folder = tmp_path_factory.mktemp("models") / "gpt2"
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128}
    ends = {"bos_token_id": 1, "eos_token_id": 2}
    network = GPT2LMHeadModel(GPT2Config(vocab_size=len(model.tokenizer), **sizes, **ends))
    with torch.no_grad():
        # So that positions matter as they do in a trained model.
        network.transformer.wpe.weight.mul_(20)
        network.transformer.wte.weight.mul_(8)
    network.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_do_not_depend_on_batch_size_or_order(gpt2, temperature):
    requests = [Request(text, seed, 12, temperature) for seed, text in enumerate(TEXTS * 3)]
    alone = load_causal_model(gpt2, batch_size=1).generate(requests)
    assert len({answer.text for answer in alone}) > 3
    for batch_size in (3, 8):
        together = load_causal_model(gpt2, batch_size=batch_size)
        order = np.random.default_rng(batch_size).permutation(len(requests))
        shuffled = together.generate([requests[i] for i in order])
        shuffled = [shuffled[position] for position in np.argsort(order)]
        assert [answer.text for answer in shuffled] == [answer.text for answer in alone]
        own, others = ([each.logprob for each in answers] for answers in (alone, shuffled))
        np.testing.assert_allclose(others, own, atol=1e-3)


def test_greedy_answers_equal_those_of_transformers(gpt2):
    model = load_causal_model(gpt2, batch_size=4)
    answers = model.generate([Request(text, 0, 12, 0.0) for text in TEXTS])
    for text, answer in zip(TEXTS, answers, strict=True):
        encoded = model.tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            whole = model.network.generate(
                **encoded, max_new_tokens=12, do_sample=False, pad_token_id=0
            )
        new = whole[0, encoded["input_ids"].shape[1] :]
        assert answer.text == model.tokenizer.decode(new, skip_special_tokens=True)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_draws_follow_the_softmax_at_their_temperature(gpt2, temperature):
    model, n, text = load_causal_model(gpt2), 3000, TEXTS[0]
    answers = model.generate([Request(text, seed, 1, temperature) for seed in range(n)])
    with torch.inference_mode():
        logits = model.network(torch.tensor(model.encode([text]))).logits[0, -1].double()
    decode = model.tokenizer.decode
    spelt = [decode([token], skip_special_tokens=True) for token in range(len(logits))]
    drawn = pd.Series((logits / temperature).softmax(-1).numpy()).groupby(spelt).sum()
    share = pd.Series([answer.text for answer in answers]).value_counts(normalize=True)
    share = share.reindex(drawn.index, fill_value=0)
    np.testing.assert_allclose(share, drawn, atol=4 * np.sqrt(0.25 / n))
    # Whatever the temperature of the draw, the log-probability is the model's own.
    own = dict(zip(spelt, logits.log_softmax(-1).tolist(), strict=True))
    once = [answer for answer in answers if spelt.count(answer.text) == 1]
    assert len(once) > n / 2
    expected = [own[answer.text] for answer in once]
    assert [answer.logprob for answer in once] == pytest.approx(expected, abs=1e-3)


def test_answers_end_at_their_limits_and_nothing_after_a_line_is_kept(model):
    free = model.generate([Request(text, 3, 40) for text in TEXTS])
    cut = model.generate([Request(text, 3, 40, max_lines=1) for text in TEXTS])
    for whole, short in zip(free, cut, strict=True):
        assert whole.text.startswith(short.text)
        assert len([line for line in short.text.split("\n") if line.strip()]) <= 1
    assert [each.text for each in free] != [each.text for each in cut]
    answers = model.generate([Request(text, 0, limit) for text in TEXTS for limit in (1, 2, 5)])
    pairs = zip(answers, (1, 2, 5) * 5, strict=True)
    assert all(answer.n_tokens <= limit for answer, limit in pairs)
    assert model.generate([]) == []


CHAT = (
    "{% for m in messages %}<start>[{{ m.role }}] {{ m.content | trim }}{% endfor %}"
    "{% if add_generation_prompt %}<start>[assistant]{% endif %}"
)


@pytest.fixture
def chatting(model_folder, tmp_path):
    def with_template(template):
        folder = shutil.copytree(model_folder, tmp_path / "chat", dirs_exist_ok=True)
        (folder / "chat_template.jinja").write_text(template)
        return folder

    return with_template


def test_template_system_message_and_beginning_of_the_answer_are_read_as_such(chatting):
    folder = chatting(CHAT)
    told, fingerprints = {"system": "Be brief.", "prefill": "No: 0."}, set()
    for options, read in (
        ({}, "<start>[user] Well?<start>[assistant]"),
        ({"chat": False}, "<start>Well?"),
        (told, "<start>[system] Be brief.<start>[user] Well?<start>[assistant]No: 0."),
        ({"prefill": "Be brief."}, "<start>[user] Well?<start>[assistant]Be brief."),
        ({"system": "Be brief."}, "<start>[system] Be brief.<start>[user] Well?<start>[assistant]"),
    ):
        model = load_causal_model(folder, **options)
        (ids,) = model.encode(["Well?"])
        # The template's own marks, and no further start token.
        assert model.tokenizer.decode(ids) == read
        assert ids.count(model.tokenizer.bos_token_id) == read.count("<start>")
        # A blank at the end survives a template that trims.
        (longer,) = model.encode(["Well?"], answer="25 ")
        assert model.tokenizer.decode(longer[len(ids) :]) == "25 "
        # What shapes an answer tells stores apart.
        fingerprints.add(model.fingerprint)
    assert len(fingerprints) == 5


def test_an_answer_begins_with_its_prefill_and_its_lines_count(chatting, model_folder):
    folder, prefill = chatting(CHAT), "No: 0.50\nYes:"
    model, plain = load_causal_model(folder, prefill=prefill), load_causal_model(folder)
    (answer,) = model.generate([COUGH])
    assert answer.text.startswith(prefill)
    assert answer.n_tokens <= 12
    # The model reads its prefill like any other text.
    rendered = plain.render(COUGH.text) + prefill
    whole = plain.tokenizer(rendered, add_special_tokens=False)["input_ids"]
    assert model.encode([COUGH.text]) == [whole]
    # A chat model ends its answer itself, and what it says after the lines asked for is kept.
    assert model.generate([Request(COUGH.text, 3, 12, 1.0, max_lines=1)]) == [answer]
    # Without a template the first line is complete before the model says anything, and it would go
    # on with the text.
    lined = load_causal_model(model_folder, prefill=prefill)
    (first,) = lined.generate([Request(COUGH.text, 3, 30, 1.0, max_lines=1)])
    assert (first.text, first.finish_reason) == ("No: 0.50\n", "stop")
    model = load_causal_model(model_folder, prefill=" Answer:")
    assert model.tokenizer.decode(model.encode(["Well?"])[0]) == "<start>Well? Answer:"
    assert model.generate([Request("Well?", 0, 3)])[0].text.startswith(" Answer:")


def test_draws_of_one_text_are_read_once_and_drawn_apart(model, monkeypatch):
    rows, forward = [], model.network.forward

    def counted(*args, input_ids, **options):
        rows.append(len(input_ids))
        return forward(*args, input_ids=input_ids, **options)

    monkeypatch.setattr(model.network, "forward", counted)
    requests = [Request(TEXTS[1], seed, 8) for seed in range(6)]
    together = model.generate(requests)
    # Those that do not end at once are read on together.
    assert rows[:2] == [1, sum(answer.n_tokens > 1 for answer in together)]
    alone = [model.generate([request])[0].text for request in requests]
    assert [answer.text for answer in together] == alone
