"""Distributions over the answers in a form, against a sum over every token sequence there is.

Breaks if a way to cut an answer into tokens is missed or counted twice, if 0.3 takes the mass of
0.35, if what is given up is much beside what is said, or if draws do not follow the distribution.
"""

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tokenizers import decoders

from elicitation import Answer
from elicitation.asking.ask import draw_in_form, stored
from elicitation.models.local.scoring import ReadsForms
from elicitation.spelling.forms import AnswerForm, Distribution
from elicitation.spelling.tokenizations import SpellingMasses
from elicitation.ways import QuestionSpec, Way

from ..tiny_tokenizers import tiny_model, tiny_network, tokenizer_of

BELIEF = AnswerForm("lines", ("No", "Yes"))
PLAIN = [*"0123456789", ".", "%", "N", "o", "Y", "e", "s", "C", "a", "n"]
LETTERS = [*" dci\nD"]
# Tokens that reach over the ends of numbers, and beyond them.
LONG = [": ", ":", "0.", "10", "00", "50", " 0", " 1", "No", "Yes", " Yes", "5%", ".3", "0\n", " d"]
LONG += ["\nDecision:", "s\nDecision: N", " Yes\n", "Decision: Yes.", " No\nD", "ecision:"]


def answers_in_form(model, texts, forms):
    """Return what a model knows of its answers, as a store keeps it."""
    known = dict(model.distributions(list(zip(texts, forms, strict=True))))
    return [stored(model, form, known[row]) for row, form in enumerate(forms)]


def tiny(kind):
    """A random network whose tokens write the answers of a form, in two families of tokenizers."""
    letters = {"byte-level": {" ": "Ġ", "\n": "Ċ"}, "sentence-piece": {" ": "▁"}}[kind]
    spelt = {
        "".join(letters.get(char, char) for char in text): text.encode()
        for text in (*PLAIN, *LETTERS, *LONG)
    }
    tokens = {"<pad>": None, "<end>": None, **spelt}
    pieces = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    tokenizer = tokenizer_of(tokens, decoders.ByteLevel() if kind == "byte-level" else pieces)
    return tiny_model(tiny_network("llama", len(tokens), 5, 4, 96), tokenizer), list(
        tokens.values()
    )


@pytest.fixture(scope="module", params=["byte-level", "sentence-piece"])
def model_and_bytes(request):
    return tiny(request.param)


def one_answer(part, text):
    """The outcome that a text belongs to, by the definition of a spelling."""
    found = {
        spelling.outcome
        for spelling in part.spellings
        if text.startswith(spelling.text)
        and not any(text[len(spelling.text) :].startswith(other) for other in spelling.forbidden)
    }
    assert len(found) <= 1
    return next(iter(found), None)


def enumerated(network, start, pieces, part, ends=()):
    """Sum over every token sequence, each read by the network on its own; no cache, no tree.

    A sequence goes on while what it says begins a spelling or is one, for then its next character
    decides.
    """
    open_texts = {s.text[:end] for s in part.spellings for end in range(len(s.text))}
    open_texts |= {s.text for s in part.spellings if s.forbidden}
    masses = Counter(dict.fromkeys(part.outcomes, 0.0))
    alive = [((), b"", 1.0)]
    while alive:
        longer = []
        for tokens, text, mass in alive:
            with torch.inference_mode():
                row = torch.tensor([[*start, *tokens]])
                following = network(row).logits[0, -1].double().softmax(-1).tolist()
            for token, probability in enumerate(following):
                piece = pieces[token]
                # A token without text ends the answer.
                said = text if piece is None else text + piece
                if piece is not None and said in open_texts:
                    longer.append(((*tokens, token), said, mass * probability))
                elif (name := one_answer(part, said)) is not None:
                    masses[name] += mass * probability
        alive = [item for item in longer if item[2] > 1e-11]
    return masses


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(BELIEF, marks=pytest.mark.lengthy),
        pytest.param(AnswerForm("decision"), marks=pytest.mark.lengthy),
        pytest.param(AnswerForm("number"), marks=pytest.mark.slow),
    ],
)
def test_distributions_are_sums_over_every_token_sequence(model_and_bytes, form):
    model, pieces = model_and_bytes
    texts, part = ["1", "Yes 0.50"], form.parts[0]
    for text, answer in zip(texts, answers_in_form(model, texts, [form] * 2), strict=True):
        distribution = Distribution.load(answer.text)
        start = model.encode([text], answer=part.prefill)[0]
        expected = enumerated(model.network, start, pieces, part)
        assert distribution.parts[0] == pytest.approx(dict(expected), abs=1e-6)
        # Of the answer mass what was given up is little as well.
        total = math.fsum(expected.values())
        assert distribution.answer_mass == pytest.approx(total, rel=2e-3)
        assert total > 0


def test_a_form_with_little_mass_is_read_more_finely_and_stored_with_every_digit():
    for mass in (1e-5, 1 / 3):
        model = Rare(mass)
        (answer,) = answers_in_form(model, ["How much?"], [BELIEF])
        assert Distribution.load(answer.text).answer_mass == pytest.approx(mass, rel=1e-15)
        assert model.tolerances[0] == 1e-6
        assert (len(model.tolerances) > 1) == (mass < 0.1)
        assert model.tolerances[-1] <= max(mass * 1e-3, 1e-6)


def read(role, lines, spread, way=Way.EXACT):
    """Read the distribution over the answers to a question."""
    answer = Answer(json.dumps(spread)) if way is Way.EXACT else Answer(spread, answer_mass=0.1)
    return QuestionSpec(role, "", lines, way=way).read(answer)


def test_decisions_and_shares_are_made_to_sum_to_one():
    outcomes = AnswerForm("decision").parts[0].outcomes
    action = read("decision", (), [dict(zip(outcomes, (0.1, 0.2, 0.1, 0.1), strict=True))])
    assert action.value == pytest.approx({"yes": 0.2, "no": 0.4, "defer": 0.4})
    assert read("choice", ("wait", "treat"), [{"treat": 0.3}]).value == {"wait": 0.0, "treat": 1.0}
    # Shares of two labels are complements.
    stated = [{"0.00": 0.1, "0.25": 0.2, "1.00": 0.1}]
    assert read("auxiliary", ("No", "Yes"), stated).value == pytest.approx((0.375, 0.625))
    three = ("a", "b", "c")
    spread = [{"0.50": 0.6}, {"0.20": 0.3, "0.40": 0.3}, {"0.70": 0.1}]
    shares = read("auxiliary", three, spread)
    assert shares.value == pytest.approx((1 / 3, 0.2, 0.7 / 1.5))
    assert shares.answer_mass == pytest.approx(0.1)  # of several lines the least
    assert read("auxiliary", three, "a: 0.00\nb: 0.00\nc: 0.00", Way.FORCED).value is None


class Rare(ReadsForms):
    """An outcome model with little mass on the form: what it gives up grows with the tolerance."""

    name = "rare"

    def __init__(self, mass):
        self.mass, self.tolerances = mass, []

    def encode(self, texts, *, answer=""):
        return [[len(text)] for text in texts]

    def spelling_masses(self, texts, spellings, *, tolerance, tolerance_for=None, alike_share=0.0):
        self.tolerances.append(tolerance)
        masses = np.full((len(texts), len(spellings)), self.mass / len(spellings))
        return SpellingMasses(masses, np.full(len(texts), tolerance * 0.9))


@pytest.mark.parametrize("form", [BELIEF, AnswerForm("decision"), AnswerForm("number")])
def test_draws_follow_the_distribution(model_and_bytes, form):
    model, _ = model_and_bytes
    (answer,) = answers_in_form(model, ["1"], [form])
    distribution, n = Distribution.load(answer.text), 2000
    drawn = [draw_in_form(distribution, form, seed) for seed in range(n)]
    counts = Counter(reply.text for reply in drawn)
    expected = {form.write([name]): share * n for name, share in distribution.shares().items()}
    assert set(counts) <= set(expected)
    # Answers that are expected fewer than five times count as one.
    usual = [text for text, number in expected.items() if number >= 5]
    rare = n - sum(expected[text] for text in usual)
    observed = [*(counts[text] for text in usual), n - sum(counts[text] for text in usual)]
    keep = slice(None if rare > 1e-9 else -1)
    wanted = [*(expected[text] for text in usual), rare]
    assert len(wanted[keep]) > 1
    assert chisquare(observed[keep], wanted[keep]).pvalue > 1e-3
    assert {reply.answer_mass for reply in drawn} == {distribution.answer_mass}


def test_a_draw_depends_on_its_seed_alone_and_never_has_an_impossible_answer():
    spread = Distribution(({"0.00": 0.0, "0.10": 0.5, "0.20": 0.0, "0.30": 0.5, "0.40": 0.0},))
    texts = [draw_in_form(spread, BELIEF, seed).text for seed in range(200)]
    assert texts == [draw_in_form(spread, BELIEF, seed).text for seed in range(200)]
    assert set(texts) == {"No: 0.10\nYes: 0.90", "No: 0.30\nYes: 0.70"}
    assert draw_in_form(Distribution(({},)), BELIEF, 0) == Answer("", answer_mass=0)
