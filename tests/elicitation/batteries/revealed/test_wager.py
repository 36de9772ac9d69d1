"""Bets on events: probabilities of letters, masses and rows of the runs table by hand."""

import pytest

from elicitation.batteries.revealed import dice
from elicitation.batteries.revealed.setting import REFERENCE
from elicitation.batteries.revealed.stated import NO, YES, bet_questions
from elicitation.batteries.revealed.wager import Bet, bet_of_masses, tabulate_bets, tabulate_wagers


def letters(question, yes, no):
    """Probabilities of the letters, with `yes` on that of the option "Yes"."""
    return {
        letter: yes if option == "Yes" else no
        for letter, option in zip(question.letters, question.options, strict=True)
    }


def test_each_order_of_the_options_counts_the_same():
    first, second = bet_questions(dice.single(1, 6))
    bet = bet_of_masses([(first, letters(first, 0.4, 0.1)), (second, letters(second, 0.05, 0.2))])
    # Shares .8 and .2, of masses .5 and .25.
    assert (bet.share, bet.answer_mass) == pytest.approx((0.5, 0.375))


def test_a_mass_is_no_more_than_certain_and_nothing_read_is_no_share():
    first, second = bet_questions(dice.single(1, 6))
    rounded = bet_of_masses([(first, letters(first, 0.9, 0.3)), (second, letters(second, 0, 1))])
    assert (rounded.share, rounded.answer_mass) == pytest.approx((0.375, 1))
    unread = bet_of_masses([(first, letters(first, 0.3, 0.3)), (second, letters(second, 0, 0))])
    assert unread.share is None
    assert unread.answer_mass == pytest.approx(0.3)


def table(bet_mass, *, share=1.0, drawn=(), mass=0.6, reps=3):
    """Rows of one die in two wordings; the belief is uniform with `mass` on the outcomes."""
    setting = dice.single(1, 6)
    other = next(wording for wording in setting.texts if wording != REFERENCE)
    belief = dict.fromkeys(setting.outcomes, mass / 6)
    beliefs = {(setting.name, wording): belief for wording in (REFERENCE, other)}
    bets = {setting.name: Bet(share, bet_mass, drawn)}
    rows = tabulate_wagers([setting], beliefs, bets, model="m", reps=reps, seed=1)
    return rows[rows["prompt"] == REFERENCE], rows[rows["prompt"] == other]


@pytest.mark.parametrize("bet_mass", [0.2, 0.9])
def test_a_row_is_as_sure_as_the_least_sure_of_its_answers(bet_mass):
    acted, plain = table(bet_mass)
    # An action and a belief make the rows of the reference; a belief alone those of the other.
    assert acted["answer_mass"].tolist() == pytest.approx([min(bet_mass, 0.6)] * 3)
    assert plain["answer_mass"].tolist() == pytest.approx([0.6] * 3)
    assert plain["action"].isna().all()


def test_actions_follow_the_share_and_what_was_drawn():
    assert table(0.9, share=1.0)[0]["action"].tolist() == [YES] * 3
    assert table(0.9, share=0.0)[0]["action"].tolist() == [NO] * 3
    drawn, _ = table(0.9, share=0.5, drawn=(NO, None, YES, YES))
    assert drawn["action"].fillna("").tolist() == [NO, "", YES, YES]
    assert drawn["status"].tolist() == ["ok", "unparsed", "ok", "ok"]
    unread, plain = table(0.9, share=None)
    assert set(unread["status"]) == {"unparsed"}
    assert set(plain["status"]) == {"ok"}


def test_beliefs_are_renormalised_and_simulated_outcomes_shared():
    acted, plain = table(0.9)
    setting = dice.single(1, 6)
    assert setting.event is not None
    chance = len(setting.event.outcomes) / 6
    assert acted["p"].tolist() == pytest.approx([chance] * 3)
    assert acted["p_true"].tolist() == pytest.approx(
        [float(setting.probability(setting.event))] * 3
    )
    assert acted["rep"].tolist() == [0, 1, 2]
    assert set(acted["theta"]) == set(plain["theta"])
    assert table(0.9, mass=0.0)[0]["p"].isna().all()


def test_bets_lie_beside_the_truth_of_their_event():
    settings = [dice.single(1, 6), dice.single(2, 4)]
    (row,) = tabulate_bets(settings, {settings[1].name: Bet(0.25, 0.5)}, source="m").to_dict(
        "records"
    )
    assert (row["source"], row["setting"], row["share"], row["answer_mass"]) == (
        "m",
        settings[1].name,
        0.25,
        0.5,
    )
    assert row["truth"] == pytest.approx(float(settings[1].probability(settings[1].event)))
