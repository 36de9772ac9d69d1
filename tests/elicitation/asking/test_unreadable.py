"""Answers that nobody can read: breaks if a session pays for thousands of them, or stops too soon.

Whatever stops it, what was answered stays in the store.
"""

import pandas as pd
import pytest

from coherence import CoherenceError
from elicitation import Answer, AnswerStore, Design
from elicitation.asking.session import run_plan
from elicitation.questions.plan import plan_own_questions

from ..models.hosted.fake_server import Fake, answer, serving

UNREADABLE_LIMIT = 50  # answers without sense that the page on eliciting says a session stops after


class Babbler:
    """Says what nobody can read, until it has been asked so often."""

    name = fingerprint = "babbler"

    def __init__(self, sense_after=10**9):
        self.n_asked, self.sense_after = 0, sense_after

    def generate(self, requests):
        answers = []
        for request in requests:
            self.n_asked += 1
            sense = self.n_asked > self.sense_after
            text = "No: 0.4\nYes: 0.6" if sense else f"Hm, {request.seed % 7}\x1b[31m?"
            answers.append(Answer(text, finish_reason="stop"))
        return answers


class Stream(Babbler):
    def stream_answers(self, requests):
        for position, request in enumerate(requests):
            yield position, *self.generate([request])


@pytest.fixture
def plan():
    return planned(days(40))


def days(n, **columns):
    columns.setdefault("belief_question", [f"Rain on day {day}?" for day in range(n)])
    return pd.DataFrame({"context": range(n), **columns})


def planned(table, **options):
    return plan_own_questions(table, Design(**{"reps": 5, "prompts": ("standard",), **options}))


@pytest.mark.parametrize(
    ("model", "asked"), [(Stream(), UNREADABLE_LIMIT), (Babbler(), 8 + 16 + 32)]
)
def test_a_session_without_sense_stops_and_keeps_what_came(model, asked, plan):
    with AnswerStore(":memory:") as store:
        with pytest.raises(CoherenceError, match="--answers forced.*--keep-going") as caught:
            run_plan(model, plan, store)
        assert model.n_asked == len(store) == asked
        message = str(caught.value)
        assert message.count("'Hm, ") == 3
        assert "\x1b" not in message
        assert "\n" not in message
        # The same again costs nothing and says the same; the answers of before count.
        with pytest.raises(CoherenceError, match=f"none of the first {asked} answers"):
            run_plan(model, plan, store)
        assert model.n_asked == asked
        # Other settings are asked afresh.
        longer = planned(days(40), max_new_tokens=999)
        assert run_plan(Stream(0), longer, store)[1].readable == 200
        runs, tally = run_plan(model, plan, store, keep_going=True)
        assert (tally.total, tally.reused, tally.readable) == (200, asked, 0)
        # All is asked: there is nothing to stop.
        assert run_plan(model, plan, store)[1].asked == 0
    assert set(runs["status"]) == {"unparsed"}


@pytest.mark.parametrize("model", [Stream(UNREADABLE_LIMIT - 1), Babbler(UNREADABLE_LIMIT - 1)])
def test_one_readable_answer_among_fifty_is_enough(model, plan):
    with AnswerStore(":memory:") as store:
        tally = run_plan(model, plan, store, batch_size=10)[1]
    assert tally.readable == 200 - UNREADABLE_LIMIT + 1


def test_the_command_ends_with_one_line_and_status_2(tmp_path, run):
    table, out = tmp_path / "days.csv", tmp_path / "runs.csv"
    days(40).to_csv(table, index=False)
    with serving(Fake(lambda body, n: answer("Hm?"))) as address:
        words = f"elicit --questions {table} --model m --server {address} --out {out}"
        words += " --prompts standard"
        errors = run(f"{words} --set max_connections=1", status=2).err
        assert sum("can be read" in line for line in errors.splitlines()) == 1
        assert not out.exists()
        run(f"{words} --keep-going")
    assert out.exists()
