"""Multiple-choice models: breaks if a probability depends on batch or order, or a head is made up.

Nor may they pretend to write.
"""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForMultipleChoice,
    BertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from coherence import InputError
from elicitation import Design, Request, elicit
from elicitation.models.local.multiple_choice import load_multiple_choice_model

TEXTS = [
    "Does a patient who smokes cough?",
    "Is it so?",
    "A patient, seventy years old and short of breath, was in Asia. Is the chest X-ray abnormal?",
]
PERHAPS = ["It is so", "No", "Perhaps, for all that is known"]
OPTIONS = [["Yes", "No"], PERHAPS, ["abnormal", "normal"]]
SMALL = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2},
    **{"intermediate_size": 48, "max_position_embeddings": 128, "initializer_range": 0.3},
}


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
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    read = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks, model_input_names=read)


def byte_pairs():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special, alphabet = ["<s>", "<pad>", "</s>", "<unk>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    marks = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>"}
    marks |= {"bos_token": "<s>", "eos_token": "</s>"}
    read = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks, model_input_names=read)


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choice") / request.param
    if request.param == "bert":
        tokenizer = wordpiece()
        config = BertConfig(vocab_size=len(tokenizer), pad_token_id=0, **SMALL)
    else:
        tokenizer = byte_pairs()
        ends = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1}
        config = RobertaConfig(vocab_size=len(tokenizer), **ends, **SMALL)
    torch.manual_seed(0)
    AutoModelForMultipleChoice.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def shares_of(model, texts, options):
    """The probabilities of each text's options."""
    listed = zip(texts, options, strict=True)
    return [softmax(model.pair_scores([(text, each) for each in of])) for text, of in listed]


def test_probabilities_equal_those_of_the_plain_call_whatever_batch_and_order(folder):
    alone = load_multiple_choice_model(folder, device="cpu", batch_size=1)
    asked, offers = TEXTS * 3, OPTIONS * 3
    expected = shares_of(alone, asked, offers)
    for text, offered, probabilities in zip(TEXTS, OPTIONS, expected, strict=False):
        # As the documentation of transformers does it: all options of one question at once.
        encoded = alone.tokenizer([text] * len(offered), offered, padding=True, return_tensors="pt")
        once = {name: values[None] for name, values in encoded.items()}
        with torch.inference_mode():
            logits = alone.network(**once).logits[0]
        np.testing.assert_allclose(probabilities, logits.double().softmax(-1).numpy(), atol=1e-5)
        assert probabilities.sum() == pytest.approx(1)
        assert probabilities.max() - probabilities.min() > 1e-3
    for batch_size in (2, 64):
        model = load_multiple_choice_model(folder, batch_size=batch_size)
        order = np.random.default_rng(batch_size).permutation(len(asked))
        reversed_offers = [offers[i][::-1] for i in order]
        shuffled = shares_of(model, [asked[i] for i in order], reversed_offers)
        for position, i in enumerate(order):
            np.testing.assert_allclose(shuffled[position][::-1], expected[i], atol=1e-5)


def test_it_does_not_pretend_to_write(folder, store):
    model = load_multiple_choice_model(folder)
    assert len(model.pair_scores([])) == 0
    with pytest.raises(InputError, match="weighs given options and cannot write an answer"):
        model.generate([Request("Well?", 0, 5)])
    table = pd.DataFrame({"context": range(3), "yes_no_question": TEXTS})
    with pytest.raises(InputError, match="needs a model that gives the probabilities of labels"):
        elicit(model, "questions", table, store, design=Design(reps=1, belief="token"))


def test_texts_that_do_not_fit_are_refused_and_the_longest_is_not(folder):
    model = load_multiple_choice_model(folder)
    assert model.longest == (128 if "roberta" not in folder.name else 126)

    def fits(n):
        return len(model.tokenizer("a " * n, "No")["input_ids"]) <= model.longest

    longest = max(n for n in range(1, 160) if fits(n))
    assert np.isfinite(shares_of(model, ["a " * longest], [["No", "no"]])[0]).all()
    with pytest.raises(InputError, match=f"exceeds the {model.longest} of model"):
        shares_of(model, ["a " * (longest + 1)], [["No", "Yes"]])
