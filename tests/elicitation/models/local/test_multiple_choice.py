"""Multiple-choice models.

Breaks if a probability depends on the batch or the order, if a head is made up, or if text is
pretended.
"""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForMultipleChoice,
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from coherence import InputError
from elicitation import (
    AnswerForm,
    AnswerStore,
    Design,
    Request,
    elicit_questions,
    load_multiple_choice_model,
    plan_own_questions,
)

TEXTS = [
    "Does a patient who smokes cough?",
    "Is it so?",
    "A patient, seventy years old and short of breath, was in Asia. Is the chest X-ray abnormal?",
]
OPTIONS = [
    ["Yes", "No"],
    ["It is so", "No", "Perhaps, for all that is known"],
    ["abnormal", "normal"],
]


def wordpiece():
    # Made by hand: a trained one numbers its pieces differently from process to process, and with
    # them the rows of the random embeddings.
    texts = " ".join([*TEXTS, *(option for offered in OPTIONS for option in offered)])
    words = sorted({*re.findall(r"\w+|[^\w\s]", texts)} - {"abnormal"})  # of which one is cut up
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words, "ab", "##normal"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def byte_pairs():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        bos_token="<s>",
        eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )


def save(kind, folder):
    small = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "max_position_embeddings": 128,
        "initializer_range": 0.3,
    }
    tokenizer = wordpiece() if kind == "bert" else byte_pairs()
    config = (
        BertConfig(vocab_size=len(tokenizer), pad_token_id=0, **small)
        if kind == "bert"
        else RobertaConfig(
            vocab_size=len(tokenizer),
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            type_vocab_size=1,
            **small,
        )
    )
    torch.manual_seed(0)
    network = AutoModelForMultipleChoice.from_config(config)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    return save(request.param, tmp_path_factory.mktemp("choice") / request.param)


def test_probabilities_equal_those_of_the_plain_call(folder):
    model = load_multiple_choice_model(folder, device="cpu")
    for text, offered, probabilities in zip(
        TEXTS, OPTIONS, model.option_probabilities(TEXTS, OPTIONS), strict=True
    ):
        # As the documentation of transformers does it: all options of one question at once.
        encoded = model.tokenizer([text] * len(offered), offered, padding=True, return_tensors="pt")
        with torch.inference_mode():
            logits = model.network(
                **{name: values[None] for name, values in encoded.items()}
            ).logits[0]
        np.testing.assert_allclose(probabilities, logits.double().softmax(-1).numpy(), atol=1e-5)
        assert probabilities.sum() == pytest.approx(1)
        assert probabilities.max() - probabilities.min() > 1e-3


def test_batch_size_and_order_change_nothing(folder):
    texts, options = TEXTS * 3, OPTIONS * 3
    alone = load_multiple_choice_model(folder, batch_size=1).option_probabilities(texts, options)
    for batch_size in (2, 5, 64):
        model = load_multiple_choice_model(folder, batch_size=batch_size)
        order = np.random.default_rng(batch_size).permutation(len(texts))
        shuffled = model.option_probabilities(
            [texts[i] for i in order], [options[i] for i in order]
        )
        for position, i in enumerate(order):
            np.testing.assert_allclose(shuffled[position], alone[i], atol=1e-5)
        reversed_options = model.option_probabilities(texts, [offered[::-1] for offered in options])
        for turned, other in zip(reversed_options, alone, strict=True):
            np.testing.assert_allclose(turned[::-1], other, atol=1e-5)


def test_beliefs_can_be_read_from_it(folder):
    model = load_multiple_choice_model(folder)
    table = pd.DataFrame({"context": range(3), "belief_question": TEXTS, "yes_no_question": TEXTS})
    with AnswerStore(":memory:") as store:
        runs, _ = elicit_questions(model, table, store, design=Design(reps=1, belief="token"))
    asked = plan_own_questions(table, Design(reps=1, belief="token")).questions
    form = AnswerForm("labels", ("No", "Yes"))
    direct = dict(model.distributions([(question.text, form) for question in asked]))
    assert runs["p"].tolist() == pytest.approx(
        [direct[k].parts[0]["Yes"] for k in range(len(asked))]
    )
    assert runs["answer_mass"].tolist() == pytest.approx([1] * 3)
    assert set(runs["status"]) == {"ok"}
    assert list(model.distributions([])) == []
    assert model.fingerprint == load_multiple_choice_model(folder).fingerprint


def test_it_does_not_pretend_to_write(folder):
    with pytest.raises(InputError, match="weighs given options and cannot write an answer"):
        load_multiple_choice_model(folder).generate([Request("Well?", 0, 5)])


def test_texts_that_do_not_fit_are_refused_and_the_longest_is_not(folder):
    model = load_multiple_choice_model(folder)
    assert model.longest == (128 if "roberta" not in folder.name else 126)
    n = next(
        n
        for n in range(1, 160)
        if len(model.tokenizer("a " * n, "No")["input_ids"]) > model.longest
    )
    longest = max(
        n
        for n in range(1, 160)
        if len(model.tokenizer("a " * n, "No")["input_ids"]) <= model.longest
    )
    assert np.isfinite(model.option_probabilities(["a " * longest], [["No", "No"]])[0]).all()
    with pytest.raises(InputError, match=f"exceeds the {model.longest} of model"):
        model.option_probabilities(["a " * n], [["No", "Yes"]])
    for options in ([["Yes"]], [], [["Yes", "No"], ["Yes", "No"]]):
        with pytest.raises(InputError, match="two or more options for each of the 1 texts"):
            model.option_probabilities(["Well?"], options)


def test_a_head_is_not_made_up(tmp_path):
    tokenizer = wordpiece()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=16,
    )
    BertModel(config).save_pretrained(tmp_path / "encoder")
    tokenizer.save_pretrained(tmp_path / "encoder")
    with pytest.raises(InputError, match=r"lacks weights for classifier\.bias, classifier\.weight"):
        load_multiple_choice_model(tmp_path / "encoder")


def test_bad_folders_are_named_with_their_fault(folder, tmp_path):
    pickled = tmp_path / "pickled"
    shutil.copytree(folder, pickled)
    torch.save({"weights": load_file(folder / "model.safetensors")}, pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"lacks \*\.safetensors"):
        load_multiple_choice_model(pickled)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    weights = load_file(other / "model.safetensors")
    weights["classifier.bias"] += 1  # no probability changes, but the weights are others
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    assert (
        load_multiple_choice_model(other).fingerprint
        != load_multiple_choice_model(folder).fingerprint
    )


@pytest.mark.parametrize("wrong", [None, "text", [1], [["a", 1]], {1: 2}])
def test_what_are_not_texts_and_options_is_refused(folder, wrong):
    model = load_multiple_choice_model(folder, device="cpu")
    with pytest.raises(InputError, match="texts must be a list"):
        model.option_probabilities(wrong, [["No", "Yes"]])
    with pytest.raises(InputError, match="options must"):
        model.option_probabilities(["text"], wrong)
    with pytest.raises(InputError, match="pairs must"):
        model.pair_scores(wrong)
    with pytest.raises(InputError, match="requests must be a list"):
        model.generate(wrong)
