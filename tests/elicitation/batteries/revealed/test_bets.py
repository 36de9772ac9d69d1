import numpy as np
import pandas as pd

from coherence.batteries.revealed.answer_scores import score_wagers
from elicitation.batteries.revealed.bets import even_bet_questions, tabulate_bets
from elicitation.batteries.revealed.scenarios import dice
from elicitation.batteries.revealed.scenarios.grid import standard_grid

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


def test_bets_are_worth_what_they_win():
    setting = dice.single(1, 4)
    share = tabulate_bets([setting], {}, source="m")
    assert share.empty
    table = pd.DataFrame({"truth": [0.75, 0.25, 0.5], "share": [1.0, 1.0, np.nan]})
    scored = score_wagers(table)
    assert scored["gain"].tolist()[:2] == [0.5, -0.5]
    assert scored["loss"].tolist()[:2] == [0, 0.5]
    assert scored["loss"].isna().tolist() == [False, False, True]
