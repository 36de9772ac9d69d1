"""Distributions of a real model over the answers in a form; ``pytest -m smollm2`` runs them."""

from collections import Counter
from functools import cache

import pytest
import torch

from elicitation import AnswerStore, Design, Task, elicit, load_causal_model
from elicitation.spelling.forms import AnswerForm

pytestmark = pytest.mark.smollm2

BELIEF = AnswerForm("lines", ("No", "Yes"))


@pytest.fixture(scope="module")
def public(smollm2_folder):
    return load_causal_model(smollm2_folder, device="cpu", dtype="float32")


def enumerated(model, start, part, floor):
    """Read every token sequence in full, without cache or tree; none below `floor` goes on."""
    begin = {}
    for token, piece in enumerate(model.vocabulary.spelling):
        if piece:
            begin.setdefault(piece, []).append(token)

    @cache
    def tokens_of(rest, forbidden):
        """Tokens that complete a spelling, and what must not follow it, if anything, as well."""
        return [
            token
            for piece, ids in begin.items()
            if piece.startswith(rest)
            and not (forbidden and piece == rest)
            and not (forbidden and piece[len(rest) :].startswith(forbidden))
            for token in ids
        ]

    @cache
    def tokens_against(forbidden):
        return [token for p, ids in begin.items() if p.startswith(forbidden) for token in ids]

    open_texts = {s.text[:end] for s in part.spellings for end in range(len(s.text))}
    open_texts |= {s.text for s in part.spellings if s.forbidden}
    masses, alive = Counter(), [((), b"", 1.0)]
    while alive:
        longer = []
        for tokens, text, mass in alive:
            with torch.inference_mode():
                logits = model.network(torch.tensor([[*start, *tokens]])).logits[0, -1]
            following = logits.double().softmax(-1)
            for spelling in part.spellings:
                if spelling.text == text:
                    against = float(following[tokens_against(spelling.forbidden)].sum())
                    masses[spelling.outcome] += mass * (1 - against)
                elif spelling.text.startswith(text):
                    for_it = tokens_of(spelling.text[len(text) :], spelling.forbidden)
                    masses[spelling.outcome] += mass * float(following[for_it].sum())
            for piece, ids in begin.items():
                if text + piece in open_texts:
                    said = text + piece
                    longer += [((*tokens, t), said, mass * float(following[t])) for t in ids]
        alive = [item for item in longer if item[2] > floor]
    return masses


@pytest.mark.slow
def test_the_distribution_is_the_sum_over_every_token_sequence(public):
    text = (
        "How probable is rain? Write 2 lines.\nFor instance:\nNo: 0.50\nYes: 0.50\n\nYour answer:"
    )
    ((_, distribution),) = public.distributions([(text, BELIEF)])
    part = BELIEF.parts[0]
    expected = enumerated(public, public.encode([text], answer=part.prefill)[0], part, 1e-8)
    read = distribution.parts[0]
    assert set(expected) <= set(read)
    for name, mass in read.items():
        assert mass == pytest.approx(expected[name], abs=1e-6)
    assert 0.05 < sum(expected.values()) < 1


def test_every_row_of_exact_and_forced_answers_has_a_value(public):
    task = Task.load("asia")
    cases = task.cases(3, seed=0)
    with AnswerStore(":memory:") as store:
        for answers in ("exact", "forced"):
            runs, tally = elicit(public, task, cases, store, design=Design(answers=answers))
            assert tally.readable == tally.total
            assert runs["p"].notna().all()
            assert runs["status"].isin(["ok", "low_mass"]).all()
