"""Distributions of a real model over the answers in a form; ``pytest -m smollm2`` runs them."""

import pytest

from elicitation import AnswerStore, Design, elicit, load_causal_model, load_task

pytestmark = pytest.mark.smollm2


@pytest.fixture(scope="module")
def public(smollm2_folder):
    return load_causal_model(smollm2_folder, device="cpu", dtype="float32")


def test_every_row_of_exact_and_forced_answers_has_a_value(public):
    task = load_task("asia")
    cases = task.cases(3, seed=0)
    with AnswerStore(":memory:") as store:
        for answers in ("exact", "forced"):
            runs, tally = elicit(public, task, cases, store, design=Design(answers=answers))
            assert tally.readable == tally.total
            assert runs["p"].notna().all()
            assert runs["status"].isin(["ok", "low_mass"]).all()
