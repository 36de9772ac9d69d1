"""Small multiple-choice models of BERT's kind with random weights, and a token for every word."""

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMultipleChoice, PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def make_multiple_choice(folder, texts, *, hidden=16, inner=32, heads=2, dropout=0.0, seed=0):
    """Write a model that knows the words of some texts."""
    tokenizer = _word_tokenizer(texts)
    torch.manual_seed(seed)
    shape = {"hidden_size": hidden, "intermediate_size": inner, "num_attention_heads": heads}
    config = BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=1,
        max_position_embeddings=128,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        initializer_range=0.1,
        pad_token_id=tokenizer.pad_token_id,
        **shape,
    )
    BertForMultipleChoice(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _word_tokenizer(texts):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(special_tokens=list(SPECIAL), show_progress=False)
    # Sorted: words that are equally frequent are numbered in the order of arrival.
    tokenizer.train_from_iterator(sorted(set(texts)), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=128,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
