"""Distributions of a real model over the answers in a form; ``pytest -m smollm2`` runs them."""

from collections import Counter

import pytest
import torch

from elicitation.models.local.causal import load_causal_model
from elicitation.reading.exact import Distribution, answers_in_form
from elicitation.session.plan import Design, Task, plan_task
from elicitation.session.session import elicit
from elicitation.spelling.forms import AnswerForm
from elicitation.store import AnswerStore

pytestmark = pytest.mark.smollm2

BELIEF = AnswerForm("lines", ("No", "Yes"))


@pytest.fixture(scope="module")
def public(smollm2_folder):
    return load_causal_model(smollm2_folder, device="cpu", dtype="float32", threads=1)


def enumerated(model, start, part, floor):
    """Read every token sequence in full, without cache or tree; none below `floor` goes on."""
    pieces = model.vocabulary.spelling
    heads = {s.text[:end] for s in part.spellings for end in range(len(s.text))}
    open_texts = heads | {s.text for s in part.spellings if s.forbidden}
    begin = {}
    for token, piece in enumerate(pieces):
        if piece:
            begin.setdefault(piece, []).append(token)
    masses, alive = Counter(), [((), b"", 1.0)]
    while alive:
        longer = []
        for tokens, text, mass in alive:
            with torch.inference_mode():
                logits = model.network(torch.tensor([[*start, *tokens]])).logits[0, -1]
            following = logits.double().softmax(-1)
            for spelling in part.spellings:
                if spelling.text == text and spelling.forbidden:
                    # What may follow: all tokens but those that begin in a forbidden way.
                    against = [
                        token
                        for piece, ids in begin.items()
                        if piece.startswith(spelling.forbidden)
                        for token in ids
                    ]
                    allowed = 1 - float(following[against].sum())
                    masses[spelling.outcome] += mass * allowed
                elif spelling.text.startswith(text) and spelling.text != text:
                    rest = spelling.text[len(text) :]
                    for piece, ids in begin.items():
                        after = piece[len(rest) :]
                        if not piece.startswith(rest) or (spelling.forbidden and not after):
                            continue
                        if not (spelling.forbidden and after.startswith(spelling.forbidden)):
                            masses[spelling.outcome] += mass * float(following[ids].sum())
            for piece, ids in begin.items():
                if text + piece in open_texts:
                    longer += [
                        ((*tokens, token), text + piece, mass * float(following[token]))
                        for token in ids
                    ]
        alive = [item for item in longer if item[2] > floor]
    return masses


def test_the_distribution_is_the_sum_over_every_token_sequence(public):
    task = Task.load("asia")
    question = plan_task(task, task.cases(1, seed=0), Design(answers="exact")).questions[0]
    (answer,) = answers_in_form(public, [question.text], [BELIEF])
    start = public.encode([question.text], answer=BELIEF.parts[0].prefill)[0]
    expected = enumerated(public, start, BELIEF.parts[0], 1e-8)
    read = Distribution.load(answer.text).parts[0]
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
