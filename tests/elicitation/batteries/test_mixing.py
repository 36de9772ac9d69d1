"""Mixing: breaks if questions miss the scoring, answers are read loosely, or rates are wrong."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries import score_mixing
from coherence.batteries.mixing.design import GAMES, PARTS
from coherence.batteries.mixing.shown import mix_report
from elicitation import Answer, AnswerStore, Distribution
from elicitation.batteries.mixing import elicit_mixing, mixing_questions

QUESTIONS = mixing_questions()


def one(experiment, p=None, item="", order=""):
    near = [q for q in QUESTIONS if p is None or abs(q.p - p) < 1e-9]
    return next(q for q in near if (q.experiment, q.item, q.order) == (experiment, item, order))


class Saying:
    name = fingerprint = "saying"

    def __init__(self, text, finish_reason):
        self.reply = Answer(text, finish_reason=finish_reason)

    def generate(self, requests):
        return [self.reply for _ in requests]


def read(text, question, finish_reason=None):
    """Return the outcome and the status of an answer."""
    model = Saying(text, finish_reason)
    with AnswerStore(":memory:") as store:
        table = elicit_mixing(model, store, draws=1, questions=[question], keep_going=True)
    row = table.iloc[0]
    return None if pd.isna(row["answer"]) else row["answer"], row["status"].partition(":")[0]


def test_the_conditions_are_those_that_are_scored_and_asked_in_the_form_that_is_read():
    """Breaks if the scenario and the scoring drift apart: values of p, outcomes, payoffs."""
    for name, part in PARTS.items():
        own = [question for question in QUESTIONS if question.experiment == name]
        if name == "words":
            assert len(own) == 22
            assert len({question.item for question in own}) == 11
            continue
        assert sorted({question.p for question in own}) == pytest.approx(sorted(part.probabilities))
        assert all(set(question.outcomes) == set(part.outcomes) for question in own)
    for name, game in GAMES.items():
        unit = "points" if name == "pennies" else "thousand"
        for p in (0.1, 0.3, 0.9):
            payoffs = sorted(value for row in game(p) for value in row if value)
            first, second = (f"{round(100 * share)} {unit}" for share in (p, 1 - p))
            text = one(name, p).text
            assert text.index(first) < text.index(second)
            assert payoffs == pytest.approx(sorted((100 * p, 100 * (1 - p))))
    assert len({question.text for question in QUESTIONS}) == 98
    loaded = "in your mind. It shows 1 with a probability of 30% and 0 with a probability of 70%."
    assert one("flip", 0.3).text.startswith(f"Toss a loaded coin {loaded}")
    assert one("three_outcomes", 0.2).text.count("40%") == 2
    assert "man or woman" in one("words", item="man/woman", order="forward").text
    assert "woman or man" in one("words", item="man/woman", order="reverse").text
    for question in QUESTIONS:
        assert question.text.endswith("Your answer:")
        for answer, outcome in zip(question.answers, question.outcomes, strict=True):
            assert read(answer, question) == (outcome, "ok")


class Teller:
    """Answers every question with one of its answers, by the seed; refuses words."""

    name, fingerprint = "teller", "1"

    def __init__(self, fails_at=None):
        self.calls, self.fails_at = 0, fails_at
        self.known = {question.text: question for question in QUESTIONS}

    def generate(self, requests):
        self.calls += len(requests)
        if self.fails_at is not None and self.calls > self.fails_at:
            raise KeyboardInterrupt
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        question = self.known[request.text]
        if question.experiment == "words":
            return Answer("I cannot choose.")
        return Answer(question.answers[request.seed % len(question.answers)])

    answer_kinds = ("openings",)

    def distributions(self, questions):
        # Nine tenths on the answers, in the proportions 1 : 2 : ...
        for position, (_, form) in enumerate(questions):
            weights = np.arange(1, len(form.labels) + 1)
            masses = 0.9 * weights / weights.sum()
            yield position, Distribution((dict(zip(form.labels, masses, strict=True)),))


UNREAD = (None, "unparsed")
READ = {
    ("man", "ok"): ["man"],
    ("woman", "ok"): ["woman", "<think>man or woman?</think>\nwoman"],
    ("woman", "repaired"): [" Woman\n", "**woman**", "Answer: woman", "The answer is **woman**."],
    ("man", "repaired"): ['"man"', "MAN.", "man\n\nIt showed.", "man\n**Final answer:** man"],
    (None, "truncated"): ["<think>woman"],
    (None, "refused"): ["I can\u2019t choose between them.", "I will not say man"],
    UNREAD: ["", "human", "womanly", "The man", "man/woman", "man or woman", "man woman"],
}
READ[UNREAD] += ["**man** or **woman**", "man\n**Answer:** woman"]
READ[UNREAD] += ["Man (50%) or woman (50%)", "man\nwoman", "man, by a hair", "man. It showed."]


def reading(text):
    return read(text, one("words", item="man/woman", order="forward"))


@pytest.mark.parametrize("said", READ)
def test_words_are_read_strictly(said):
    assert [text for text in READ[said] if reading(text) != said] == []


def test_two_flips_need_both_lines():
    question = one("two_flips", 0.5)
    for text in ("flip 1: 1\nflip 2: 0\n", "Flip 1: 1\n\nFlip 2: 0\nThese are independent."):
        assert read(text, question)[0] == "1 0"
    assert read("Flip 1: 1 \r\nFlip 2: 0\r\n", question)[0] == "1 0"
    twice = "Flip 1: 1\nFlip 2: 0\n\nFlip 1: 0\nFlip 2: 0"
    for text in (twice, "Flip 1: 0", "Flip 2: 1\nFlip 1: 0", "0 1", "Flip 1: 0\nFlip 2: 10"):
        assert read(text, question)[0] is None


@pytest.mark.parametrize(
    ("text", "ended", "said"),
    [
        ("1", "stop", ("1", "ok")),
        ("1", "length", (None, "truncated")),
        ("1\n", "length", ("1", "ok")),
        ("Let me", "length", (None, "truncated")),
        ("1", "content_filter", (None, "refused")),
    ],
)
def test_an_answer_that_was_cut_where_it_may_go_on_is_none(text, ended, said):
    assert read(text, one("flip", 0.3), ended) == said


OTHERS = ["10", "0.3", "1 0", "-1", "one", "01", "1, 0, 0, 1", "1\n0\n0\n1", "0-1", "0%", "1 = 0.3"]
OTHERS += ["1: 30%, 0: 70%", "1st toss: 0", "1 (30%)", "1. The coin shows 0.", "(1) or (0)", "1  0"]
OTHERS += ["1! No, 0!", "1\n\nFinal answer: 0", "1\n**Final answer: 0**"]


def test_other_numbers_are_no_flip_and_a_letter_of_a_list_no_choice():
    assert [text for text in OTHERS if read(text, one("flip", 0.3)) != UNREAD] == []
    assert read("A) B", one("reads", 0.5)) == UNREAD
    assert read("A)", one("reads", 0.5))[0] == "A"


def test_draws_are_stored_and_a_stopped_session_resumes(tmp_path):
    path = tmp_path / "answers.sqlite"
    with AnswerStore(path) as store, pytest.raises(KeyboardInterrupt):
        elicit_mixing(Teller(fails_at=100), store, draws=3, batch_size=20)
    with AnswerStore(path) as store:
        assert len(store) == 8 + 16 + 3 * 20  # calls grow up to a batch
        model, seen = Teller(), []
        told = {"batch_size": 50, "progress": lambda *now: seen.append(now)}
        answers = elicit_mixing(model, store, draws=3, **told)
        assert (seen[0], seen[-1]) == ((84, 294), (294, 294))
        again = elicit_mixing(model, store, draws=3)
        assert model.calls == 3 * 98 - 84
    assert answers.equals(again)
    fresh = elicit_mixing(Teller(), AnswerStore(":memory:"), draws=3)
    assert fresh.equals(answers)
    assert fresh.groupby(["experiment", "p", "item", "order"]).size().eq(3).all()
    assert (fresh.loc[fresh["experiment"] == "words", "status"] == "refused").all()
    scores = score_mixing(fresh, n_resamples=100, rng=0).experiments.set_index("experiment")
    assert scores.loc[5, "refused"] == 1
    assert np.isnan(scores.loc[5, "published"])
    assert scores.loc[1, "answers"] == 63


def test_exact_rates_are_the_models_and_what_is_left_is_unread():
    questions = [one("flip", 0.0), one("flip", 1.0)]
    with AnswerStore(":memory:") as store:
        answers = elicit_mixing(Teller(), store, exact=True, questions=questions)
    rows = answers[answers["p"] == 1.0].set_index("answer", drop=False)
    assert rows.loc[["1", "0"], "probability"].tolist() == pytest.approx([0.6, 0.3])
    unread = answers.loc[answers["status"] == "unparsed", "probability"]
    assert unread.tolist() == pytest.approx([0.1, 0.1])
    scores = score_mixing(answers, rng=0)
    # Among the readable answers two thirds are 1.
    assert scores.curves["rate"].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert scores.experiments["unread"].iloc[0] == pytest.approx(0.1)
    # What is exact has no interval, in tables or on the terminal.
    assert scores.measures[["loss_low", "loss_high"]].isna().all(axis=None)
    assert scores.experiments[["low", "high"]].isna().all(axis=None)
    assert "[" not in mix_report(scores)


class Mute:
    name, fingerprint, generate = "mute", "1", None


class Listing(Mute):
    """A server lists likely tokens; bounds that follow must not pass for rates."""

    answer_kinds = ("labels", "outcomes")

    def distributions(self, questions):
        raise AssertionError("asked for bounds")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Mute, {"exact": True}, "gives the probabilities of whole answers; mute does not"),
        (Listing, {"exact": True}, "whole answers"),
    ],
)
def test_wrong_options(model, options, message):
    with pytest.raises(InputError, match=message):
        elicit_mixing(model(), AnswerStore(":memory:"), **options)
