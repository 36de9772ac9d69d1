import pytest
from safetensors.torch import load_file
from transformers import AutoTokenizer

from coherence import InputError
from elicitation.training.organisms.chooser import Shape, make_chooser

SHAPE = Shape(hidden=16, inner=16, layers=1, heads=1)


def test_it_knows_the_words_of_its_texts_and_no_others(tmp_path):
    make_chooser(tmp_path / "a", ["Which is red?", "the car"], shape=SHAPE, longest=16)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "a", local_files_only=True)
    encoded = tokenizer("Which car?", "The bicycle")
    words = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    assert words == ["[CLS]", "which", "car", "?", "[SEP]", "the", "[UNK]", "[SEP]"]
    assert encoded["token_type_ids"] == [0] * 5 + [1] * 3


def test_equal_seeds_give_equal_weights(tmp_path):
    weights = {}
    for name, texts, seed in (
        ("a", ["x y", "z"], 1),
        ("b", ["z", "x y"], 1),
        ("c", ["x y", "z"], 2),
    ):
        make_chooser(tmp_path / name, texts, shape=SHAPE, seed=seed)
        weights[name] = (tmp_path / name / "model.safetensors").read_bytes()
    assert weights["a"] == weights["b"] != weights["c"]
    assert load_file(tmp_path / "a" / "model.safetensors")


@pytest.mark.parametrize(
    ("texts", "seed", "message"), [([], 0, "one or more"), ("text", 0, "list"), (["a"], -1, "seed")]
)
def test_what_makes_no_sense_is_refused(texts, seed, message, tmp_path):
    with pytest.raises(InputError, match=message):
        make_chooser(tmp_path / "a", texts, seed=seed)
