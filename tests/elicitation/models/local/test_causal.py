"""Causal models: breaks if an answer depends on its batch, or if padding shifts positions."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from coherence import InputError
from elicitation import Design, Request, load_causal_model, plan_task

TEXTS = [
    "Does a patient cough?",
    "Consider a patient who is a smoker.",
    "12 lines",
    "Why?\nBecause of a chest X-ray, and of shortness of breath.",
    "a",
]


@pytest.fixture(scope="module")
def gpt2(model, tmp_path_factory):
    """Random weights and learnt positions: padding without explicit positions would show."""
    folder = tmp_path_factory.mktemp("models") / "gpt2"
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(model.tokenizer),
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=128,
        bos_token_id=1,
        eos_token_id=2,
    )
    network = GPT2LMHeadModel(config)
    with torch.no_grad():
        network.transformer.wpe.weight.mul_(
            20
        )  # so that positions matter as they do in a trained model
        network.transformer.wte.weight.mul_(8)
    network.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


def _requests(texts, temperature, max_lines=None):
    return [Request(text, seed, 12, temperature, max_lines) for seed, text in enumerate(texts)]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_do_not_depend_on_batch_size_or_order(gpt2, temperature):
    requests = _requests(TEXTS * 3, temperature)
    alone = load_causal_model(gpt2, batch_size=1).generate(requests)
    assert len({answer.text for answer in alone}) > 3
    for batch_size in (3, 8):
        together = load_causal_model(gpt2, batch_size=batch_size)
        assert [answer.text for answer in together.generate(requests)] == [
            answer.text for answer in alone
        ]
        order = np.random.default_rng(batch_size).permutation(len(requests))
        shuffled = together.generate([requests[i] for i in order])
        assert [shuffled[position].text for position in np.argsort(order)] == [
            answer.text for answer in alone
        ]
        np.testing.assert_allclose(
            [shuffled[position].logprob for position in np.argsort(order)],
            [answer.logprob for answer in alone],
            atol=1e-3,
        )


def test_greedy_answers_equal_those_of_transformers(gpt2):
    model = load_causal_model(gpt2, batch_size=4)
    for request, answer in zip(
        _requests(TEXTS, 0.0), model.generate(_requests(TEXTS, 0.0)), strict=True
    ):
        encoded = model.tokenizer(request.text, return_tensors="pt")
        with torch.inference_mode():
            whole = model.network.generate(
                **encoded, max_new_tokens=12, do_sample=False, pad_token_id=0
            )
        assert answer.text == model.tokenizer.decode(
            whole[0, encoded["input_ids"].shape[1] :], skip_special_tokens=True
        )


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_draws_follow_the_softmax_at_their_temperature(gpt2, temperature):
    model, n, text = load_causal_model(gpt2), 3000, TEXTS[0]
    answers = model.generate([Request(text, seed, 1, temperature) for seed in range(n)])
    with torch.inference_mode():
        logits = model.network(torch.tensor(model.encode([text]))).logits[0, -1].double()
    spelt = [
        model.tokenizer.decode([token], skip_special_tokens=True) for token in range(len(logits))
    ]
    drawn = pd.Series((logits / temperature).softmax(-1).numpy()).groupby(spelt).sum()
    share = pd.Series([answer.text for answer in answers]).value_counts(normalize=True)
    np.testing.assert_allclose(
        share.reindex(drawn.index, fill_value=0), drawn, atol=4 * np.sqrt(0.25 / n)
    )
    # Whatever the temperature of the draw, the log-probability is the model's own.
    own = dict(zip(spelt, logits.log_softmax(-1).tolist(), strict=True))
    once = [answer for answer in answers if spelt.count(answer.text) == 1]
    assert len(once) > n / 2
    assert [answer.logprob for answer in once] == pytest.approx(
        [own[a.text] for a in once], abs=1e-3
    )


def test_lines_end_an_answer_and_nothing_after_them_is_kept(model, asia, cases):
    questions = [
        question
        for question in plan_task(asia, cases, Design(reps=1)).questions
        if question.spec.role == "belief"
    ][:8]
    free = model.generate([Request(question.text, 3, 40) for question in questions])
    cut = model.generate([Request(question.text, 3, 40, max_lines=1) for question in questions])
    for whole, short in zip(free, cut, strict=True):
        assert whole.text.startswith(short.text)
        assert len([line for line in short.text.split("\n") if line.strip()]) <= 1


def test_answers_are_cut_at_their_limit(model):
    answers = model.generate([Request(text, 0, limit) for text in TEXTS for limit in (1, 2, 5)])
    assert all(
        answer.n_tokens <= limit for answer, limit in zip(answers, (1, 2, 5) * 5, strict=True)
    )
    assert model.generate([]) == []


def test_the_chat_template_is_used_where_there_is_one(model_folder, tmp_path):
    folder = _chat_folder(model_folder, tmp_path / "chat", CHAT)
    chat, plain = load_causal_model(folder), load_causal_model(folder, chat=False)
    assert chat.chat
    read = chat.tokenizer.decode(chat.encode(["Well?"])[0])
    assert read == "<start>[user] Well?<start>[assistant]"
    assert plain.tokenizer.decode(plain.encode(["Well?"])[0]) == "<start>Well?"
    # Answers to other texts must not be taken for each other by a store.
    assert chat.fingerprint != plain.fingerprint


CHAT = (
    "{% for m in messages %}<start>[{{ m.role }}] {{ m.content | trim }}{% endfor %}"
    "{% if add_generation_prompt %}<start>[assistant]{% endif %}"
)


NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
)


DROPS_SYSTEM = CHAT.replace(
    "{% for m in messages %}", "{% for m in messages if m.role == 'user' %}"
)


def _chat_folder(model_folder, folder, template):
    shutil.copytree(model_folder, folder)
    (folder / "chat_template.jinja").write_text(template)
    return folder


def test_a_system_message_and_the_beginning_of_the_answer_are_read_as_such(model_folder, tmp_path):
    folder = _chat_folder(model_folder, tmp_path / "chat", CHAT)
    model = load_causal_model(folder, system="Be brief.", prefill="No: 0.")
    (ids,) = model.encode(["Well?"])
    assert (
        model.tokenizer.decode(ids)
        == "<start>[system] Be brief.<start>[user] Well?<start>[assistant]No: 0."
    )
    assert (
        ids.count(model.tokenizer.bos_token_id) == 3
    )  # the template's own marks, and no further start token
    (longer,) = model.encode(["Well?"], answer="25 ")
    assert (
        model.tokenizer.decode(longer[len(ids) :]) == "25 "
    )  # a blank at the end survives a template that trims
    # What shapes an answer tells stores apart.
    fingerprints = [
        load_causal_model(folder, **options).fingerprint
        for options in ({}, {"system": "Be brief."}, {"prefill": "Be brief."})
    ]
    assert len({*fingerprints, model.fingerprint}) == 4


def test_an_answer_begins_with_its_prefill_and_its_lines_count(model_folder, tmp_path):
    model = load_causal_model(
        _chat_folder(model_folder, tmp_path / "chat", CHAT), prefill="No: 0.50\nYes:"
    )
    plain = load_causal_model(tmp_path / "chat")
    request = Request("Does a patient cough?", 3, 12, 1.0)
    (answer,) = model.generate([request])
    assert answer.text.startswith("No: 0.50\nYes:")
    assert answer.n_tokens <= 12
    # The model reads its prefill like any other text.
    whole = plain.tokenizer(
        plain.render(request.text) + "No: 0.50\nYes:", add_special_tokens=False
    )["input_ids"]
    assert model.encode([request.text]) == [whole]
    # A chat model ends its answer itself, and what it says after the lines asked for is kept.
    (whole,) = model.generate([Request("Does a patient cough?", 3, 12, 1.0, max_lines=1)])
    assert whole == answer


def test_a_prefill_needs_no_chat_template(model_folder):
    lined = load_causal_model(model_folder, prefill="No: 0.50\nYes:")
    (first_line,) = lined.generate([Request("Does a patient cough?", 3, 30, 1.0, max_lines=1)])
    # Its first line is complete before the model says anything, and without a template it would go
    # on with the text.
    assert (first_line.text, first_line.finish_reason) == ("No: 0.50\n", "stop")
    model = load_causal_model(model_folder, prefill=" Answer:")
    assert model.tokenizer.decode(model.encode(["Well?"])[0]) == "<start>Well? Answer:"
    assert model.generate([Request("Well?", 0, 3)])[0].text.startswith(" Answer:")


def test_a_system_message_that_would_be_lost_is_refused(model_folder, tmp_path):
    with pytest.raises(InputError, match="refuses a system message: no system role"):
        load_causal_model(
            _chat_folder(model_folder, tmp_path / "refuses", NO_SYSTEM), system="Be brief."
        )
    assert load_causal_model(tmp_path / "refuses").chat
    with pytest.raises(InputError, match="leaves out the system message"):
        load_causal_model(
            _chat_folder(model_folder, tmp_path / "drops", DROPS_SYSTEM), system="Be brief."
        )


def test_draws_of_one_text_are_read_once_and_drawn_apart(model, monkeypatch):
    rows = []
    forward = model.network.forward

    def counted(*args, input_ids, **options):
        rows.append(input_ids.shape)
        return forward(*args, input_ids=input_ids, **options)

    monkeypatch.setattr(model.network, "forward", counted)
    requests = [Request(TEXTS[1], seed, 8) for seed in range(6)]
    together = model.generate(requests)
    # Those that do not end at once are read on together.
    assert [shape[0] for shape in rows[:2]] == [1, sum(answer.n_tokens > 1 for answer in together)]
    assert [answer.text for answer in together] == [
        model.generate([request])[0].text for request in requests
    ]


def test_a_chat_template_that_never_ends_is_stopped(model_folder, tmp_path, monkeypatch):
    endless = (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
        "{% endfor %}{% endfor %}{% endfor %}"
    )
    folder = _chat_folder(model_folder, tmp_path / "chat", endless)
    monkeypatch.setattr("elicitation.models.local.causal.TEMPLATE_SECONDS", 0.2)
    with pytest.raises(
        InputError, match=r"the chat template of .* did not end within 0\.2 seconds"
    ):
        load_causal_model(folder)
