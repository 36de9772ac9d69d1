import numpy as np
import pandas as pd
import pytest

from coherence.batteries.revealed.scores import score_wagers
from elicitation import standard_grid
from elicitation.batteries.revealed.questions import (
    Bet,
    bet_of_masses,
    even_bet_questions,
    tabulate_bets,
)
from elicitation.batteries.revealed.scenarios import dice

GRID = standard_grid()


def test_events_are_uncertain_and_bets_come_in_both_orders():
    for setting in GRID:
        event = setting.event
        if event is None:
            assert len(setting.support) == 1
            assert even_bet_questions(setting) == []
            continue
        assert 0 < setting.probability(event) < 1
        first, second = even_bet_questions(setting)
        assert first.options == ("Yes", "No") == second.options[::-1]
        assert event.claim in first.text
        assert first.text.endswith("\nA. Yes\nB. No\nAnswer with one letter.\nAnswer:")


def test_bets_are_worth_what_they_win():
    setting = dice.single(1, 4)
    share = tabulate_bets([setting], {}, source="m")
    assert share.empty
    table = pd.DataFrame({"truth": [0.75, 0.25, 0.5], "share": [1.0, 1.0, np.nan]})
    scored = score_wagers(table)
    assert scored["gain"].tolist()[:2] == [0.5, -0.5]
    assert scored["loss"].tolist()[:2] == [0, 0.5]
    assert scored["loss"].isna().tolist() == [False, False, True]


def letters(question, yes, no):
    """Probabilities of the letters, with `yes` on that of the option "Yes"."""
    return {
        letter: yes if option == "Yes" else no
        for letter, option in zip(question.outcomes, question.options, strict=True)
    }


def test_each_order_of_the_options_counts_the_same():
    first, second = even_bet_questions(dice.single(1, 6))
    bet = bet_of_masses([(first, letters(first, 0.4, 0.1)), (second, letters(second, 0.05, 0.2))])
    # Shares .8 and .2, of masses .5 and .25.
    assert (bet.share, bet.answer_mass) == pytest.approx((0.5, 0.375))


def test_a_mass_is_no_more_than_certain_and_nothing_read_is_no_share():
    first, second = even_bet_questions(dice.single(1, 6))
    rounded = bet_of_masses([(first, letters(first, 0.9, 0.3)), (second, letters(second, 0, 1))])
    assert (rounded.share, rounded.answer_mass) == pytest.approx((0.375, 1))
    unread = bet_of_masses([(first, letters(first, 0.3, 0.3)), (second, letters(second, 0, 0))])
    assert unread.share is None
    assert unread.answer_mass == pytest.approx(0.3)


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
