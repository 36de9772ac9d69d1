"""Reading the answers of a session: breaks if one is read twice, or how it ended is not told."""

import pandas as pd
import pytest

from coherence import CoherenceError
from elicitation import Answer, AnswerStore, Design, elicit, plan_task
from elicitation.asking.session import run_plan
from elicitation.questions.plan import plan_own_questions

from ..models.hosted.fake_server import Fake, answer, serving


class Thinker:
    """Thinks aloud, explains itself, and is cut where it has too much to say."""

    name, fingerprint = "thinker", "1"

    def generate(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if "Decision:" in request.text:
            text = "<think>Yes?</think>\n**Can decide:** Yes\n**Decision:** No\n\nAs it seems."
            return Answer(text, finish_reason="stop")
        if "Brier" in request.text:
            return Answer("<think>\nNo: 0.10\nYes: 0.90\nBut", finish_reason="length")
        if "absolute" in request.text:
            return Answer("No: 0.30\nYes: 0.7", finish_reason="length")
        if "Bayesian" in request.text:
            return Answer("", finish_reason="content_filter")
        said = "No: 0.30\nYes: 0.70\n\nCorrected:\nNo: 0.40\nYes: 0.60"
        return Answer(said[:18] if request.seed % 2 else said, thinking="Well.")


def test_whole_replies_are_read_and_how_they_ended_is_told(asia, cases, store):
    design = Design(reps=4, iterated=False)
    # The longest texts come first, and none of those is answered well.
    runs, tally = elicit(Thinker(), asia, cases, store, design=design, keep_going=True)
    by_prompt = dict(list(runs.groupby("prompt")))
    assert set(by_prompt["mse"]["status"]) == set(by_prompt["absolute"]["status"]) == {"truncated"}
    assert set(by_prompt["bayes"]["status"]) == {"refused"}
    assert set(by_prompt["mse"]["finish_reason"]) == {"length"}
    assert set(by_prompt["bayes"]["finish_reason"]) == {"content_filter"}
    standard = by_prompt["standard"]
    assert set(standard["action"]) == {"no"}
    assert set(standard["finish_reason"]) == {"stop"}  # of the action; the belief's is not known
    # A reply that corrects itself has no value; its first lines alone would have.
    assert set(zip(standard["p"].fillna(-1), standard["status"], strict=True)) == {
        (0.7, "repaired:passage"),
        (-1.0, "unparsed"),
    }
    n = len(cases) * 4
    assert (tally.total, tally.truncated, tally.thought) == (5 * n, 2 * n, 3 * n)


# Answers that nobody can read: breaks if a session pays for thousands of them, or stops too soon.
# Whatever stops it, what was answered stays in the store.


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


# A whole session with a scripted model.
# Breaks if an answer lands on the wrong row, is asked twice, or is given a value that was not
# stated.


def test_an_interrupted_session_asks_only_the_rest_and_a_second_one_nothing(
    asia, cases, store, scripted
):
    stopped, resumed, design = scripted(fail_after=50), scripted(), Design(reps=2)
    with pytest.raises(KeyboardInterrupt):
        elicit(stopped, asia, cases, store, design=design, batch_size=10)
    assert len(store) == 58  # calls of 8, 10, 10, ...
    runs, tally = elicit(resumed, asia, cases, store, design=design, batch_size=10)
    assert tally.reused == 58
    before, after = ({(of.text, of.seed) for of in each.asked} for each in (stopped, resumed))
    assert not before & after
    with AnswerStore(":memory:") as other:
        whole, _ = elicit(scripted(), asia, cases, other, design=design, batch_size=64)
    pd.testing.assert_frame_equal(runs.drop(columns="created"), whole.drop(columns="created"))
    model = scripted()
    again, tally = elicit(model, asia, cases, store, design=design)
    assert model.asked == []
    assert (tally.asked, tally.reused) == (0, tally.total)
    pd.testing.assert_frame_equal(again, runs)
    # More repetitions keep the answers that are there.
    more, tally = elicit(scripted(), asia, cases, store, design=Design(reps=3))
    assert tally.reused == 12 * 2 * 8
    pd.testing.assert_frame_equal(more[more["rep"] < 2].reset_index(drop=True), runs)


def test_draws_have_seeds_of_their_own_and_none_without_a_temperature(asia, cases):
    questions = plan_task(asia, cases, Design(reps=3, seed=1)).questions
    seeds = {question.request.seed for question in questions}
    assert len(seeds) == len(questions) > 200
    assert all(0 <= seed < 2**63 for seed in seeds)
    other = plan_task(asia, cases, Design(reps=3)).questions
    assert not seeds & {question.request.seed for question in other}
    cold = plan_task(asia, cases, Design(reps=3, temperature=0)).questions
    assert len({question.key("f") for question in cold}) == len({each.text for each in cold})
    # Contexts with the same words get draws of their own; at temperature 0 they are one question.
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    questions = plan_task(asia, twins, Design(reps=2)).questions
    assert len({question.key("f") for question in questions}) == len(questions)
