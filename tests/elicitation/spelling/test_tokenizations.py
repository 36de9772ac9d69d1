"""Cuts into tokens: breaks if one is missed or counted twice."""

import itertools

from elicitation.spelling.spellings import spellings_of
from elicitation.spelling.tokenizations import count_cuts, spelling_graph
from elicitation.spelling.vocabulary import Vocabulary

from ..tiny_tokenizers import BYTE_LEVEL


def test_cuts_are_counted_against_their_enumeration():
    vocabulary = Vocabulary(list(BYTE_LEVEL.values()))
    words = [text for text in BYTE_LEVEL.values() if text]
    for text in (b"12", b"1.2", b"a10", b" 1.2", b"7"):
        listed = [
            cut
            for n in range(1, len(text) + 1)
            for cut in itertools.product(words, repeat=n)
            if b"".join(cut) == text
        ]
        assert count_cuts(text, vocabulary) == len(listed)
    graph = spelling_graph(spellings_of(["12"], leading_space=False, boundary="none"), vocabulary)
    assert graph.count_paths() == 1  # after "1" it is open; "12" decides
