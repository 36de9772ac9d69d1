"""The battery behind a server: breaks if a draw is lost, or a bound passes for a belief."""

import pytest

from elicitation import Answer, AnswerStore, standard_grid
from elicitation.batteries.revealed.scenarios.grid import select
from elicitation.batteries.revealed.served import (
    Drawing,
    bet_in_words,
    reveal_by_tokens,
    state_in_words,
    worded,
)
from elicitation.models.labels import bound_labels


class Talker:
    name = fingerprint = "talker"

    def __init__(self, says):
        self.says, self.asked = says, []

    def generate(self, requests):
        self.asked += requests
        return [Answer(self.says(request), finish_reason="stop") for request in requests]


@pytest.fixture
def coins():
    return select(standard_grid(), {"scenario": ["coins"], "variant": ["single"], "n": ["2"]})


def yes_of(request):
    """Take every bet, whatever letter that has."""
    line = next(line for line in request.text.split("\n") if line.endswith(". Yes"))
    return f"({line[0]})"


def test_bets_are_counted_over_draws_in_both_orders(coins):
    model = Talker(yes_of)
    with AnswerStore(":memory:") as store:
        bets = bet_in_words(model, coins, store, Drawing(3, 1))
        again = bet_in_words(model, coins, store, Drawing(3, 1))
    assert again == bets
    assert {request.temperature for request in model.asked} == {1.0}
    for bet in bets.values():
        assert (bet.share, bet.answer_mass) == (1.0, 1.0)
        assert bet.drawn == ("yes",) * 6
    # Who always says A likes a letter and no bet: half of each.
    with AnswerStore(":memory:") as store:
        bets = bet_in_words(Talker(lambda _: "A"), coins, store, Drawing(3, 1))
    assert {bet.share for bet in bets.values()} == {0.5}


def test_what_is_not_read_is_missing_from_the_mass(coins):
    def mumble(request):
        return "A" if request.seed % 2 else "Who knows"

    with AnswerStore(":memory:") as store:
        model = Talker(mumble)
        stated = state_in_words(model, coins, store, Drawing(20, 1), source="m")
    mass = stated.groupby(["setting", "rotation"])["mass"].sum()
    said = sum(request.seed % 2 for request in model.asked) / len(model.asked)
    assert mass.mean() == pytest.approx(said)
    assert 0 < said < 1
    assert stated.loc[stated["letter"] != "A", "mass"].eq(0).all()


def test_a_cut_answer_is_no_choice(coins):
    class Cut(Talker):
        def generate(self, requests):
            return [Answer("A", finish_reason="length") for _ in requests]

    with AnswerStore(":memory:") as store:
        bets = bet_in_words(Cut(None), coins, store, Drawing(2, 1))
    assert {bet.share for bet in bets.values()} == {None}


class Lister(Talker):
    def __init__(self, likely):
        super().__init__(None)
        self.likely = likely

    def label_bounds(self, texts, labels):
        return [bound_labels(self.likely(text, labels), labels) for text in texts]


def test_beliefs_over_words_come_from_lists_that_leave_little_open():
    settings = select(standard_grid(), {"scenario": ["preference", "dice"], "variant": ["single"]})
    assert {setting.scenario for setting in worded(settings)} == {"preference"}

    def likely(text, labels):
        rest = 0.0 if "wide" not in text else 0.3
        return {f" {labels[0]}": 0.6, labels[0].lower(): 0.1, f" {labels[1]}": 0.295 - rest / 2}

    with AnswerStore(":memory:") as store:
        beliefs = reveal_by_tokens(Lister(likely), settings, store, source="m")
        wide = reveal_by_tokens(
            Lister(lambda text, labels: {f" {labels[0]}": 0.6, f" {labels[1]}": 0.2}),
            settings,
            AnswerStore(":memory:"),
            source="m",
        )
    assert set(beliefs["scenario"]) == {"preference"}
    first = beliefs[beliefs["position"] == 0]
    assert first["mass"].tolist() == pytest.approx([0.7] * len(first))
    # A fifth of the mass is unknown: no belief, and no number that looks like one.
    assert wide["mass"].eq(0).all()
