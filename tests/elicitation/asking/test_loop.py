"""Asking what the store lacks: breaks if an answer that a model gave is lost or asked twice."""

import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

from coherence import CoherenceError
from elicitation import Answer, AnswerStore, MultipleChoiceModel
from elicitation.asking import loop
from elicitation.asking.loop import Strategy, ask_missing
from elicitation.asking.strategies import ask
from elicitation.batteries.bets import models as bet_models
from elicitation.batteries.revealed.reading import OutcomeQuestion, read_masses
from elicitation.questions.question import Question
from elicitation.spelling.tokenizations import SpellingMasses

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the lives of a reading are forks")
BATCH = 4


class Measured:
    """Notes in a file what it is asked.

    A number follows from a text, and its last digit from the neighbours.
    """

    name = fingerprint = "measured"

    def __init__(self, log=None, seconds=0.0, fail_after=None):
        self.log, self.seconds, self.fail_after, self.asked = log, seconds, fail_after, []

    def numbers(self, texts, width):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        time.sleep(self.seconds)
        self.asked += texts
        if self.log is not None:
            with open(self.log, "a") as log:
                log.write("".join(f"{text}\n" for text in texts))
        seeds = [sum(map(ord, text)) for text in texts]
        return np.array(
            [[0.3 * ((seed + k) % 7) / 7 for k in range(width)] for seed in seeds]
        ) + 1e-9 * len(texts)


class Reader(Measured):
    """Gives the probabilities of spellings, as a causal model does."""

    def encode(self, texts, *, answer=""):
        return list(texts)

    def spelling_masses(self, texts, spellings, *, tolerance, itemised=False):
        masses = self.numbers(list(texts), len(spellings)) / len(spellings)
        return SpellingMasses(masses, np.zeros(len(texts)), [])


class Chooser(Measured, MultipleChoiceModel):
    """Scores pairs of question and option, as a multiple-choice model does."""

    def pair_scores(self, pairs):
        texts = [text for text, _ in pairs[::3]]
        return self.numbers(texts, 3).ravel()


def read(model, store, n=22):
    """Read the masses of letters and of numbers after `n` texts, in batches of four."""
    questions = [
        OutcomeQuestion(f"text {i}", ("A", "B"), lettered=True)
        if i < 13
        else OutcomeQuestion(f"text {i}", ("1", "2"))
        for i in range(n)
    ]
    return read_masses(model, questions, store, portion=BATCH)[0]


def score(model, store, n=22):
    """Score the options of `n` questions, in portions of four."""
    table = pd.DataFrame({"question": range(n), "text": [f"text {i}" for i in range(n)]})
    table[["option_a", "option_b", "option_c"]] = ["a car", "a pen", "neither"]
    usual, bet_models._PORTION = bet_models._PORTION, BATCH
    try:
        return bet_models.score_choices(model, table, store=store).to_dict("records")
    finally:
        bet_models._PORTION = usual


WAYS = pytest.mark.parametrize(("kind", "asked_of"), [(Reader, read), (Chooser, score)])


@WAYS
def test_ctrl_c_loses_nothing_that_was_read(kind, asked_of):
    stopped, resumed = kind(fail_after=9), kind()
    with AnswerStore(":memory:") as store:
        with pytest.raises(KeyboardInterrupt):
            asked_of(stopped, store)
        assert len(store) == len(stopped.asked) == 12
        whole = asked_of(resumed, store)
        assert sorted(stopped.asked + resumed.asked) == sorted(f"text {i}" for i in range(22))
        again = kind()
        assert asked_of(again, store) == whole
        assert again.asked == []
    # Batches of the rest are those of an undisturbed reading, and so are all digits.
    with AnswerStore(":memory:") as other:
        assert asked_of(kind(), other) == whole


def _live(kind, asked_of, folder, seconds):
    """Run a reading to its end in a process of its own; return its id."""
    child = os.fork()
    if child == 0:
        try:
            with AnswerStore(folder / "answers.sqlite") as store:
                results = asked_of(kind(folder / f"{os.getpid()}.log", seconds), store)
            (folder / f"{os.getpid()}.json").write_text(json.dumps(results))
            os._exit(0)
        except BaseException as error:
            (folder / "error.txt").write_text(repr(error))
            os._exit(1)
    return child


def _logged(folder, child):
    log = folder / f"{child}.log"
    return log.read_text().splitlines() if log.exists() else []


@needs_fork
@WAYS
def test_a_kill_loses_at_most_one_batch(kind, asked_of, tmp_path):
    child = _live(kind, asked_of, tmp_path, 0.05)
    deadline = time.monotonic() + 60
    while len(_logged(tmp_path, child)) < 2 * BATCH:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    before = _logged(tmp_path, child)
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        kept = len(store)
        assert 22 > kept >= len(before) - BATCH > 0
        model = kind()
        asked_of(model, store)
        assert len(model.asked) == 22 - kept
        assert store._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@needs_fork
@WAYS
def test_two_processes_on_one_store(kind, asked_of, tmp_path):
    children = [_live(kind, asked_of, tmp_path, 0.01) for _ in range(2)]
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, (tmp_path / "error.txt").read_text()
    first, second = (json.loads((tmp_path / f"{child}.json").read_text()) for child in children)
    assert first == second
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        assert len(store) == 22
        with AnswerStore(":memory:") as other:
            assert first == asked_of(kind(), other)


def draws(n):
    return [
        Question.of(f"text {i}", 0, base_seed=0, temperature=1.0, max_new_tokens=9, max_lines=1)
        for i in range(n)
    ]


def echo(batch):
    """Answer every draw with its text, all in one call."""
    yield [(draw, Answer(draw.request.text)) for draw in batch]


def test_equal_draws_are_asked_once_and_answers_come_in_order():
    calls = []

    def answer(batch):
        calls.append(len(batch))
        yield [(draw, Answer(draw.request.text)) for draw in reversed(batch)]

    with AnswerStore(":memory:") as store:
        answers, asked = ask_missing(Measured(), [*draws(3), *draws(5)], store, Strategy(answer))
        assert ([stored.text for stored in answers], asked) == (
            [f"text {i}" for i in [0, 1, 2, 0, 1, 2, 3, 4]],
            5,
        )
        answers, asked = ask_missing(Measured(), draws(6), store, Strategy(answer))
        assert (answers[5].text, asked, calls) == ("text 5", 1, [5, 1])


def test_a_portion_is_asked_as_a_whole_or_not_at_all():
    calls = []

    def answer(batch):
        calls.append([draw.request.text for draw in batch])
        yield [(draw, Answer(f"call {len(calls)}")) for draw in batch]

    with AnswerStore(":memory:") as store:
        ask_missing(Measured(), draws(2), store, Strategy(echo))
        seen = []
        answers, asked = ask_missing(
            Measured(),
            draws(8),
            store,
            Strategy(answer, portion=3),
            progress=lambda done, total: seen.append((done, total)),
        )
        # What came together is returned together, and the store keeps what it had.
        assert [answer.text for answer in answers] == ["call 1"] * 3 + ["call 2"] * 3 + [
            "call 3"
        ] * 2
        assert (asked, seen) == (8, [(0, 8), (3, 8), (6, 8), (8, 8)])
        kept = store.get(draw.key("measured") for draw in draws(8))
        assert kept[draws(1)[0].key("measured")].text == "text 0"
        store_had_all, asked = ask_missing(
            Measured(), draws(8)[3:], store, Strategy(answer, portion=3)
        )
        assert (asked, len(calls)) == (0, 3)
        assert [answer.text for answer in store_had_all] == ["call 2"] * 3 + ["call 3"] * 2


def test_what_the_store_has_of_a_portion_is_used_where_digits_may_differ():
    calls = []

    def answer(batch):
        calls.append([draw.request.text for draw in batch])
        yield [(draw, Answer("new")) for draw in batch]

    with AnswerStore(":memory:") as store:
        ask_missing(Measured(), draws(2), store, Strategy(echo))
        answers, asked = ask_missing(
            Measured(), draws(8), store, Strategy(answer, portion=4, whole=False)
        )
    assert [answer.text for answer in answers] == ["text 0", "text 1", *["new"] * 6]
    assert (asked, [len(call) for call in calls]) == (6, [4, 2])


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
                yield position, Answer(requests[position].text)
        finally:
            self.closed = True


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), CoherenceError("the server is gone")])
def test_what_streamed_in_before_a_fault_is_kept(fault):
    model = Streaming(fault, after=7)
    with AnswerStore(":memory:") as store:
        with pytest.raises(type(fault)):
            ask(model, draws(20), store, batch_size=64)
        assert len(store) == 7
        assert model.closed
        answers, asked = ask(Streaming(), draws(20), store, batch_size=64)
        assert asked == 13
        assert [stored.text for stored in answers] == [f"text {i}" for i in range(20)]


def test_what_streams_in_is_written_every_second(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            Clock.now += 0.3
            return Clock.now

    monkeypatch.setattr(loop, "time", Clock())
    seen = []
    with AnswerStore(":memory:") as store:
        ask(Streaming(), draws(20), store, progress=lambda done, _: seen.append(done))
    assert seen[0] == 0
    assert seen[-1] == 20
    assert max(np.diff(seen)) <= 4  # answers of 0.3 s each, and no batch of 64


def test_ctrl_c_while_answers_are_written_writes_them_all_the_same(monkeypatch):
    with AnswerStore(":memory:") as store:
        put = store.put

        def interrupted(*arguments, **options):
            monkeypatch.setattr(store, "put", put)
            raise KeyboardInterrupt

        monkeypatch.setattr(store, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask_missing(Measured(), draws(5), store, Strategy(echo))
        assert len(store) == 5


def test_a_store_that_fails_is_not_tried_again(monkeypatch):
    tries = []

    def failing(*arguments, **options):
        tries.append(1)
        raise CoherenceError("answer store failed: disk full")

    with AnswerStore(":memory:") as store:
        monkeypatch.setattr(store, "put", failing)
        with pytest.raises(CoherenceError, match="disk full"):
            ask_missing(Measured(), draws(5), store, Strategy(echo))
    assert tries == [1]


class Carried:
    """Streams what it was given, as a plain iterator without a close of its own."""

    name = fingerprint = "carried"

    def __init__(self, positions):
        self.positions = positions

    def generate(self, requests):
        return (Answer(request.text) for request in requests)

    def stream_answers(self, requests):
        return iter([(position, Answer(str(position))) for position in self.positions])


@pytest.mark.parametrize(
    ("positions", "message"),
    [([0], "gave 1 answers to 3 requests"), ([0, 1, 0], "0 too many"), ([0, 7], "7 too many")],
)
def test_a_stream_that_gives_too_few_or_too_many_is_named_and_keeps_the_rest(positions, message):
    with AnswerStore(":memory:") as store:
        with pytest.raises(CoherenceError, match=message):
            ask(Carried(positions), draws(3), store)
        assert len(store) == len({0, 1} & set(positions))
        answers, asked = ask(Carried([0, 1, 2][: 3 - len(store)]), draws(3), store)
    assert (len(answers), asked) == (3, 3 - len({0, 1} & set(positions)))
