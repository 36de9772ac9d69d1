"""A tokenizer for small models: bytes and merges, and whole blocks of templates as one token.

Digits never merge, so that a number is spelt digit by digit. The fixed blocks of the templates are
single tokens because a model of a million parameters should spend its time on the case and not on
boilerplate; the case itself is read word by word. Every text survives a round trip.
"""

from collections.abc import Iterable, Sequence
from string import Formatter

from coherence.errors import MissingExtraError
from elicitation.questions.prompts import Template

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Training a small model") from error

START, END, PADDING = "<start>", "<end>", "<pad>"
# A word with the blank before it, a digit, a run of signs (with the blank before a number), or
# whatever is left.
_PIECES = r" ?[^\W\d_]+|[0-9]|[^\w\s]+(?: (?=[0-9]))?|\s|."
_SHORTEST_BLOCK = 6


def template_blocks(templates: Iterable[Template], **words: str) -> list[str]:
    """Return the fixed parts of templates."""
    blocks = set()
    for template in templates:
        block = ""
        for literal, field, _, _ in Formatter().parse(template.text):
            block += literal
            if field in words:
                block += words[field]
                continue
            blocks.add(block)  # a placeholder whose value changes ends a block
            block = ""
    # A block ends before a blank: the word after it then reads the same as anywhere else.
    blocks = {block.rstrip(" ") for block in blocks}
    return sorted(
        (block for block in blocks if len(block) >= _SHORTEST_BLOCK),
        key=lambda block: (-len(block), block),
    )


def train_tokenizer(
    texts: Sequence[str], blocks: Sequence[str], *, vocabulary_size: int = 640
) -> PreTrainedTokenizerFast:
    """Train a byte-pair tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[PADDING, START, END],
        # All 256 bytes, so that no text is unknown.
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # Not special: blocks are text like any other, and come back when an answer is decoded.
    tokenizer.add_tokens([AddedToken(block, normalized=False, special=False) for block in blocks])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=START,
        eos_token=END,
        pad_token=PADDING,
        # An answer is generated from the last position, which must be a token of the question.
        padding_side="left",
        clean_up_tokenization_spaces=False,
        add_bos_token=True,
    )
