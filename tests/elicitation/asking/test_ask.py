"""Asking what the store lacks: breaks if an answer that a model gave is lost or asked twice."""

import numpy as np
import pandas as pd
import pytest

from coherence import CoherenceError
from elicitation import Answer, AnswerStore, Design
from elicitation.asking.ask import ask_masses
from elicitation.asking.session import run_plan
from elicitation.batteries.bets import option_scores
from elicitation.models.local.multiple_choice import MultipleChoiceModel
from elicitation.models.local.scoring import ReadsForms
from elicitation.questions.plan import plan_own_questions
from elicitation.questions.question import Question
from elicitation.spelling.forms import AnswerForm
from elicitation.spelling.tokenizations import SpellingMasses

BATCH = 4


class Measured:
    """Gives numbers that follow from a text, and whose last digit follows from its neighbours."""

    name = fingerprint = "measured"

    def __init__(self, fail_after=None):
        self.fail_after, self.asked = fail_after, []

    def numbers(self, texts, width):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += texts
        seeds = [sum(map(ord, text)) for text in texts]
        return np.array(
            [[0.3 * ((seed + k) % 7) / 7 for k in range(width)] for seed in seeds]
        ) + 1e-9 * len(texts)


class Reader(Measured, ReadsForms):
    """Gives the probabilities of spellings, as a causal model does."""

    def encode(self, texts, *, answer=""):
        return list(texts)

    def spelling_masses(self, texts, spellings, *, tolerance, tolerance_for=None, alike_share=0.0):
        masses = self.numbers(list(texts), len(spellings)) / len(spellings)
        return SpellingMasses(masses, np.zeros(len(texts)))


class Chooser(Measured, MultipleChoiceModel):
    """Scores pairs of question and option, as a multiple-choice model does."""

    def pair_scores(self, pairs):
        texts = [text for text, _ in pairs[::3]]
        return self.numbers(texts, 3).ravel()


def read(model, store, n=22):
    """Read the masses of letters and of numbers after `n` texts, in batches of four."""
    letters, numbers = AnswerForm("letters", ("A", "B")), AnswerForm("outcomes", ("1", "2"))
    forms = [letters if i < 13 else numbers for i in range(n)]
    questions = [Question.of_form(f"text {i}", form) for i, form in enumerate(forms)]
    return ask_masses(model, questions, store, batch_size=BATCH)


def score(model, store, n=22):
    """Score the options of `n` questions, in portions of four."""
    table = pd.DataFrame({"question": range(n), "text": [f"text {i}" for i in range(n)]})
    table[["option_a", "option_b", "option_c"]] = ["a car", "a pen", "neither"]
    usual, option_scores.BATCH = option_scores.BATCH, BATCH
    try:
        return option_scores.score_choices(model, table, store=store).to_dict("records")
    finally:
        option_scores.BATCH = usual


WAYS = pytest.mark.parametrize(("kind", "asked_of"), [(Reader, read), (Chooser, score)])


@WAYS
def test_ctrl_c_loses_nothing_that_was_read(kind, asked_of):
    stopped, resumed = kind(fail_after=9), kind()
    with AnswerStore(":memory:") as store:
        with pytest.raises(KeyboardInterrupt):
            asked_of(stopped, store)
        assert len(store) == len(stopped.asked) >= 9
        whole = asked_of(resumed, store)
        assert sorted(stopped.asked + resumed.asked) == sorted(f"text {i}" for i in range(22))
        again = kind()
        assert asked_of(again, store) == whole
        assert again.asked == []
    # Batches of the rest are those of an undisturbed reading, and so are all digits.
    with AnswerStore(":memory:") as other:
        assert asked_of(kind(), other) == whole


def plan_of(n):
    table = pd.DataFrame({"context": range(n), "belief_question": [f"Day {i}?" for i in range(n)]})
    return plan_own_questions(table, Design(reps=1, prompts=("standard",)))


class Streaming:
    """Hands its answers out one by one, and fails or is stopped on the way."""

    name = fingerprint = "streaming"

    def __init__(self, fault=None, after=0):
        self.fault, self.after, self.closed = fault, after, False

    def generate(self, requests):
        raise AssertionError("a streaming model is asked for its stream")

    def stream_answers(self, requests):
        try:
            for position in range(len(requests)):
                if self.fault is not None and position == self.after:
                    raise self.fault
                yield position, Answer(f"No: 0.{len(requests[position].text):03}\nYes: 0.5")
        finally:
            self.closed = True


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), CoherenceError("the server is gone")])
def test_what_streamed_in_before_a_fault_is_kept(fault):
    model, plan = Streaming(fault, after=7), plan_of(20)
    with AnswerStore(":memory:") as store:
        with pytest.raises(type(fault)):
            run_plan(model, plan, store, keep_going=True)
        assert len(store) == 7
        assert model.closed
        _, tally = run_plan(Streaming(), plan, store, keep_going=True)
        assert (tally.asked, tally.reused) == (13, 7)


def test_what_streams_in_is_written_and_counted_at_once():
    """Breaks if a process that is killed while a stream runs loses what came before."""
    seen = []
    with AnswerStore(":memory:") as store:
        told = {"progress": lambda done, _: seen.append((done, len(store))), "keep_going": True}
        run_plan(Streaming(), plan_of(20), store, **told)
    assert seen == [(n, n) for n in range(21)]


def test_ctrl_c_while_answers_are_written_writes_them_all_the_same(monkeypatch, scripted):
    with AnswerStore(":memory:") as store:
        put = store.put

        def interrupted(*arguments, **options):
            monkeypatch.setattr(store, "put", put)
            raise KeyboardInterrupt

        monkeypatch.setattr(store, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_plan(scripted(), plan_of(5), store, batch_size=5)
        assert len(store) == 5
