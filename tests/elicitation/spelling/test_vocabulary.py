"""Vocabularies as bytes: breaks if a token is misplaced, or its decoder changes texts unseen."""

import pytest
from tokenizers import decoders

from coherence import InputError
from elicitation.spelling.vocabulary import Vocabulary

from ..tiny_tokenizers import BYTE_LEVEL, tokenizer_of


def test_a_long_prefix_of_bytes_that_has_no_successor():
    vocabulary = Vocabulary([b"\xff", b"\xff\xff", b"a", None])
    assert vocabulary.order.tolist() == [2, 0, 1, 3]
    assert vocabulary.beginning(b"\xff") == (1, 3)
    assert vocabulary.beginning(b"a") == (0, 1)
    assert vocabulary.ids(b"\xff") == [0]


def test_tokenizers_that_cannot_be_read_are_refused():
    with pytest.raises(InputError, match="decoder of this one is none"):
        Vocabulary.of(tokenizer_of(BYTE_LEVEL, None), 20)
    with pytest.raises(InputError, match="decoder of this one is WordPiece"):
        Vocabulary.of(tokenizer_of(BYTE_LEVEL, decoders.WordPiece()), 20)
    changing = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.Replace("a", "b"), decoders.Fuse()]
    )
    with pytest.raises(InputError, match="Its decoder changes texts"):
        Vocabulary.of(
            tokenizer_of({"<pad>": None, "<end>": None, "1": b"1", "a": b"a"}, changing), 4
        )
    with pytest.raises(InputError, match="need a fast tokenizer"):
        Vocabulary.of(object(), 4)
