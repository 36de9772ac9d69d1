"""Exact probabilities of outcomes, against a sum over every token sequence there is.

Breaks if a way to cut a spelling into tokens is missed or counted twice, if a token that reaches
past the end of a spelling is forgotten, if "1" takes the mass of "12", if bytes are confused with
characters, or if what was given up exceeds what was said.
"""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import decoders

from coherence import InputError
from elicitation import Request
from elicitation.spelling.forms import spellings_of

from ...outcome_masses import outcome_masses
from ...tiny_tokenizers import (
    BYTE_LEVEL,
    SENTENCE_PIECE,
    sentence_piece,
    tiny_model,
    tiny_network,
    tokenizer_of,
)

UNUSED = 2  # ids that the network has and the tokenizer has not


DEPTH = 4  # four bytes decide every event in CASES, and a token has one byte or more


@pytest.fixture(scope="module", params=["gpt2 byte-level", "llama sentence-piece"])
def tiny(request):
    kind, family = request.param.split()
    tokens = BYTE_LEVEL if family == "byte-level" else SENTENCE_PIECE
    bytes_ = family == "byte-level"
    tokenizer = tokenizer_of(tokens, decoders.ByteLevel()) if bytes_ else sentence_piece()
    network = tiny_network(kind, len(tokens) + UNUSED, 3, 6)
    return tiny_model(network, tokenizer), [*tokens.values(), *[None] * UNUSED]


TEXTS = ["a", "12.0a", "2a2"]


def every_text(model, spelling, text):
    """Return every text of at least DEPTH tokens or ended before, with its probability.

    The network reads each sequence on its own.
    """
    start = model.encode([text])[0]
    alive, probability, texts = [()], np.ones(1), Counter()
    for _ in range(DEPTH):
        with torch.inference_mode():
            logits = model.network(torch.tensor([[*start, *path] for path in alive])).logits
        following = logits[:, -1].double().softmax(-1).numpy() * probability[:, None]
        longer, reached = [], []
        for path, masses in zip(alive, following, strict=True):
            answer = b"".join(spelling[token] for token in path)
            for token, mass in enumerate(masses):
                if spelling[token] is None:
                    texts[answer] += mass
                else:
                    longer.append((*path, token))
                    reached.append(mass)
        alive, probability = longer, np.array(reached)
    for path, mass in zip(alive, probability, strict=True):
        texts[b"".join(spelling[token] for token in path)] += mass
    return texts


def summed(all_texts, patterns):
    """The mass of every text that begins as a pattern says, by text and pattern."""
    return np.array(
        [
            [sum(m for answer, m in texts.items() if re.match(p, answer)) for p in patterns]
            for texts in all_texts
        ]
    )


@pytest.fixture(scope="module")
def all_texts(tiny):
    model, spelling = tiny
    return [every_text(model, spelling, text) for text in TEXTS]


NUMBER, WORD = rb"(?![0-9]|[.,][0-9])", rb"(?![a-z0-9\xc3])"


CASES = [
    (
        {"outcomes": ["0", "1", "2"]},
        {"0": rb" ?0" + NUMBER, "1": rb" ?1" + NUMBER, "2": rb" ?2" + NUMBER},
    ),
    (
        {"outcomes": ["1", "12", "2"], "leading_space": False},
        {"1": rb"1" + NUMBER, "12": rb"12" + NUMBER, "2": rb"2" + NUMBER},
    ),
    ({"outcomes": ["12", "a"], "boundary": "none"}, {"12": rb" ?12", "a": rb" ?a"}),
    ({"outcomes": ["a", "a1"], "leading_space": False}, {"a": rb"a" + WORD, "a1": rb"a1" + NUMBER}),
    ({"outcomes": ["a", "\u00e9"]}, {"a": rb" ?a" + WORD, "\u00e9": rb" ?\xc3\xa9" + WORD}),
    ({"outcomes": ["1", "a"], "boundary": "word"}, {"1": rb" ?1" + WORD, "a": rb" ?a" + WORD}),
    (
        {"outcomes": {"one": ["1", "a0"], "rest": ["0", "2", "a"]}, "leading_space": False},
        {"one": rb"(1|a0)" + NUMBER, "rest": rb"[02]" + NUMBER + rb"|a" + WORD},
    ),
    ({"outcomes": ["1.", "."]}, {"1.": rb" ?1\.", ".": rb" ?\."}),
]


@pytest.mark.parametrize(
    ("options", "patterns"), CASES, ids=lambda case: ",".join(case.get("outcomes", ()))
)
def test_probabilities_equal_the_sum_over_all_token_sequences(tiny, all_texts, options, patterns):
    model, _ = tiny
    read = outcome_masses(model, TEXTS, **options, tolerance=0)
    expected = summed(all_texts, patterns.values())
    assert list(read.probabilities.columns) == list(patterns)
    np.testing.assert_allclose(read.probabilities.to_numpy(), expected, atol=1e-6)
    assert (read.unresolved == 0).all()
    assert expected.max() > 1e-4  # the comparison is about more than zeros


def test_what_is_given_up_is_bounded_and_stated(tiny):
    model, _ = tiny
    exact = outcome_masses(model, TEXTS, ["0", "1", "12", "a"], tolerance=0)
    gaps = []
    for tolerance in (0.3, 0.03, 1e-4):
        read = outcome_masses(model, TEXTS, ["0", "1", "12", "a"], tolerance=tolerance)
        gap = exact.probabilities - read.probabilities
        assert (gap > -1e-6).all(axis=None)
        assert (gap.sum(axis=1) <= read.unresolved + 1e-6).all()
        assert (read.unresolved <= tolerance).all()
        gaps.append(float(gap.sum(axis=1).max()))
    assert gaps[0] > gaps[2]


def by_outcome(spellings, masses):
    """Sums of the masses of an outcome's spellings, in the order of the outcomes."""
    names = [spelling.outcome for spelling in spellings]
    return pd.DataFrame(masses).T.groupby(names, sort=False).sum().T.to_numpy()


def test_sequences_of_a_kind_that_are_not_read_are_bounded_and_taken_alike(tiny, all_texts):
    """Breaks if " 1" is not taken to go on as "1" does, or if more is taken so than is stated."""
    model, _ = tiny
    spellings, starts = spellings_of(["0", "1", "12", "a"]), model.encode(TEXTS)
    patterns = rb" ?0" + NUMBER, rb" ?1" + NUMBER, rb" ?12" + NUMBER, rb" ?a" + WORD
    exact = summed(all_texts, patterns)
    for share in (0.02, 0.5, 1e3):
        read = model.spelling_masses(starts, spellings, tolerance=1e-9, alike_share=share)
        masses = by_outcome(spellings, read.masses)
        gap = np.abs(masses - exact).max(axis=1)
        assert (gap <= read.unresolved + 1e-6).all()
        assert (read.unresolved <= 1e-9 + share * masses.sum(axis=1)).all()


def test_what_goes_on_alike_is_estimated_without_error():
    """A network that heeds no text: " 1" goes on as "1" does, so that what is not read is known."""
    network = tiny_network("gpt2", len(BYTE_LEVEL) + UNUSED, 3, 6)
    with torch.no_grad():
        network.transformer.ln_f.weight.zero_()
        network.transformer.ln_f.bias.normal_()
    model = tiny_model(network, tokenizer_of(BYTE_LEVEL, decoders.ByteLevel()))
    spellings, texts = spellings_of(["0", "1", "12", "a"]), model.encode(TEXTS)
    exact = model.spelling_masses(texts, spellings, tolerance=0)
    read = model.spelling_masses(texts, spellings, tolerance=1e-12, alike_share=1e3)
    assert (read.unresolved > 1e-3).all()
    masses, expected = (by_outcome(spellings, each.masses) for each in (read, exact))
    np.testing.assert_allclose(masses, expected, rtol=1e-5)


def test_drawn_answers_have_the_stated_frequencies():
    network = tiny_network("gpt2", len(BYTE_LEVEL), 3, 6)
    model = tiny_model(network, tokenizer_of(BYTE_LEVEL, decoders.ByteLevel()))
    stated = outcome_masses(model, ["a"], ["0", "1", "2", "a"]).probabilities.iloc[0]
    answers = model.generate([Request("a", seed, 5) for seed in range(3000)])
    patterns = {digit: rf" ?{digit}(?![0-9]|[.,][0-9])" for digit in "012"}
    patterns["a"] = " ?a(?![a-z0-9\u00e9\ufffd])"
    for outcome, pattern in patterns.items():
        share = np.mean([re.match(pattern, answer.text) is not None for answer in answers])
        assert abs(share - stated[outcome]) < 4 * np.sqrt(0.25 / len(answers))


def test_a_spelling_within_another_of_its_outcome_is_counted_once(tiny):
    model, _ = tiny
    read = {
        tuple(ways): outcome_masses(model, TEXTS, {"way": ways}, boundary="none")
        for ways in (["1"], ["1", "12"], ["12"])
    }
    both = read["1", "12"].probabilities["way"]
    assert both.tolist() == pytest.approx(read["1",].probabilities["way"].tolist(), abs=1e-9)
    assert (both > read["12",].probabilities["way"]).any()


OVERLAPS = "must exclude each other; '{}' written '{}' overlaps with '{}' written '{}'"


@pytest.mark.parametrize(
    ("outcomes", "options", "message"),
    [
        (["1", "12"], {"boundary": "none"}, OVERLAPS.format("1", "1", "12", "12")),
        ({"a": ["a"], "other": ["0", "a"]}, {}, OVERLAPS.format("a", "a", "other", "a")),
        ({"1": ["1"], "end": ["1."]}, {}, "'1' written '1' overlaps with 'end' written '1.'"),
        ({"one": ["1", "1."]}, {}, "'1' and '1.' of outcome 'one' overlap in part"),
        (["1"], {"texts": ["a" * 63]}, "exceeds the model's context of 64 tokens"),
        (["1"], {"texts": ["a", ""]}, "text 1 is '' and has none"),
    ],
)
def test_outcomes_that_make_no_sense(tiny, outcomes, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        outcome_masses(tiny[0], **{"texts": TEXTS, "outcomes": outcomes, **options})


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (None, "decoder of this one is none"),
        (
            decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Replace("a", "b")]),
            "Its decoder changes texts",
        ),
    ],
)
def test_tokenizers_whose_texts_cannot_be_known_are_refused(decoder, message):
    tokenizer = tokenizer_of({"<pad>": None, "<end>": None, "1": b"1", "a": b"a"}, decoder)
    with pytest.raises(InputError, match=message):
        outcome_masses(tiny_model(tiny_network("gpt2", 4, 3, 6), tokenizer), ["1"], ["1"])
