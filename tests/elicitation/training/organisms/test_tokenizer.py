from elicitation.questions.prompts import BELIEF
from elicitation.training.organisms.tokenizer import template_blocks, train_tokenizer


def test_the_tokenizer_gives_back_any_text():
    blocks = template_blocks(
        BELIEF.values(), question="cough", labels="No, Yes", example="No: 0.50", n_lines="2"
    )
    tokenizer = train_tokenizer(
        ["has an abnormal X-ray, is a smoker.", "\nNo: 0.12\nYes: 0.88"] * 3,
        blocks,
        vocabulary_size=300,
    )
    for text in (
        "\nNo: 0.12\nYes: 0.88",
        "H\u00e9, 12,3\r\n\t \u4f60 \U0001f642  x",
        BELIEF["mse"].text,
        "",
        " leading and trailing ",
    ):
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == tokenizer.bos_token_id
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
    digits = [
        tokenizer.decode([token])
        for token in tokenizer("0.12345 and 678", add_special_tokens=False)["input_ids"]
    ]
    assert [piece for piece in digits if any(c.isdigit() for c in piece)] == list("012345678")
