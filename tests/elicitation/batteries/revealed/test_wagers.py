"""Stated answers and bets: breaks if a truth is misplaced, or a draw is lost."""

from fractions import Fraction

import pytest

from coherence.batteries.revealed.scores import score_stated
from elicitation.batteries.revealed.questions import (
    COLUMNS,
    LETTERS,
    NO,
    YES,
    Bet,
    ask_battery,
    battery,
    bet_of_masses,
    distractors,
    even_bet_questions,
    inner_settings,
    name_of,
    questions_table,
    stated_questions,
    tabulate_bets,
    tabulate_stated,
    tabulate_wagers,
)
from elicitation.batteries.revealed.scenarios import choice, dice
from elicitation.batteries.revealed.scenarios.grid import standard_grid
from elicitation.batteries.revealed.scenarios.setting import REFERENCE


def test_the_table_has_every_question_once_with_all_its_options():
    settings = [dice.setting(2, 4), choice.setting(2)]
    table = questions_table(battery(settings))
    assert tuple(table.columns) == COLUMNS
    assert table[["probability", "rep", "answer"]].isna().all().all()
    counts = table.drop_duplicates("question")["kind"].value_counts()
    # Two settings and, for the iterated expectation, the first die and the sum given each of its
    # faces, in one wording.
    assert counts["belief"] == 2 * 3 + 1 + 4
    assert (counts["stated"], counts["bet"]) == (2 * 4, 2)  # nobody bets on the letters
    assert not table.duplicated(["question", "outcome"]).any()
    assert not table.duplicated(["text", "outcome"]).any()
    stated = table[table["question"] == "choice/single/2 options | stated 2"]
    assert list(stated["option"])[1] == "1/2"  # the truth stands second
    assert all(f"{row.outcome}. {row.option}\n" in row.text for row in stated.itertuples())
    assert set(questions_table(battery(settings, only_revealed=True))["kind"]) == {"belief"}
    assert {setting.name for setting in inner_settings(settings)} <= set(table["setting"])


GRID = standard_grid()


def test_stated_questions_have_the_truth_at_every_place_once():
    for setting in GRID:
        questions = stated_questions(setting)
        truth = str(setting.truth[setting.asked])
        assert [question.options.index(truth) for question in questions] == [0, 1, 2, 3]
        for question in questions:
            assert len(set(question.options)) == 4
            lines = [
                f"{k}. {option}\n" for k, option in zip(LETTERS, question.options, strict=True)
            ]
            assert all(line in question.text for line in lines)
        # Distinct as numbers, not only as written; and no distractor is right by accident.
        assert len({setting.truth[setting.asked], *distractors(setting)}) == 4
    # Of a die: the opposite, twice and half of a sixth.
    assert distractors(dice.setting(1, 6)) == (Fraction(5, 6), Fraction(1, 3), Fraction(1, 12))


def test_stated_answers_are_scored(store, teller):
    setting = dice.setting(1, 6)
    right = {
        question.text: {f" {LETTERS[place]}": 0.6, " E": 0.4}
        for place, question in enumerate(stated_questions(setting))
    }
    masses = ask_battery(teller(right), stated_questions(setting), store)
    stated = tabulate_stated([setting], masses, source="m")
    assert score_stated(stated)["stated_error"].item() == 0


@pytest.mark.parametrize(
    ("read", "share", "mass"),
    [
        # Shares .8 and .2 of masses .5 and .25: both orders count the same.
        ([{"Yes": 0.4, "No": 0.1}, {"Yes": 0.05, "No": 0.2}], 0.5, 0.375),
        # A mass that rounding took above 1 is 1, and an order of which nothing was read no share.
        ([{"Yes": 0.9, "No": 0.3}, {"Yes": 0, "No": 1}], 0.375, 1),
        ([{"Yes": 0.3, "No": 0.3}, {"Yes": 0, "No": 0}], None, 0.3),
    ],
)
def test_a_bet_has_the_mean_share_and_mass_of_both_orders(read, share, mass):
    settings = [dice.setting(1, 6), dice.setting(2, 4)]
    questions, setting = even_bet_questions(settings[1]), settings[1]
    shares = [
        dict(zip(LETTERS, map(of.get, q.options), strict=False))
        for q, of in zip(questions, read, strict=True)
    ]
    bet = bet_of_masses(list(zip(questions, shares, strict=True)))
    (row,) = tabulate_bets(settings, {setting.name: bet}, source="m").to_dict("records")
    assert (row["source"], row["setting"]) == ("m", setting.name)
    assert bet.share == (share and pytest.approx(share))
    assert row["answer_mass"] == pytest.approx(mass)
    assert row["truth"] == pytest.approx(float(setting.probability(setting.event)))


def test_actions_and_masses_of_rows_follow_the_answers():
    acted, plain = table(0.9, share=1.0)
    assert acted["action"].tolist() == [YES] * 3
    assert table(0.9, share=0.0)[0]["action"].tolist() == [NO] * 3
    drawn, _ = table(0.9, share=0.5, drawn=(NO, None, YES, YES))
    assert drawn["action"].fillna("").tolist() == [NO, "", YES, YES]
    assert drawn["status"].tolist() == ["ok", "unparsed", "ok", "ok"]
    assert set(table(0.9, share=None)[0]["status"]) == {"unparsed"}
    assert set(plain["status"]) == {"ok"}
    assert plain["action"].isna().all()
    # An action and a belief make the rows of the reference: as sure as the less sure of the two.
    for mass, expected in ((0.2, 0.2), (0.9, 0.6)):
        acted, plain = table(mass)
        assert acted["answer_mass"].tolist() == pytest.approx([expected] * 3)
        assert plain["answer_mass"].tolist() == pytest.approx([0.6] * 3)
    # Beliefs are renormalised and simulated outcomes shared.
    setting = dice.setting(1, 6)
    assert acted["p"].tolist() == pytest.approx([len(setting.event.outcomes) / 6] * 3)
    assert acted["p_true"].tolist() == pytest.approx([setting.probability(setting.event)] * 3)
    assert acted["rep"].tolist() == [0, 1, 2]
    assert set(acted["theta"]) == set(plain["theta"])
    assert table(0.9, mass=0.0)[0]["p"].isna().all()


def table(bet_mass, *, share=1.0, drawn=(), mass=0.6, reps=3):
    """Rows of one die in two wordings; the belief is uniform with `mass` on the outcomes."""
    setting = dice.setting(1, 6)
    other = next(wording for wording in setting.texts if wording != REFERENCE)
    belief = dict.fromkeys(setting.outcomes, mass / 6)
    beliefs = {name_of(setting, wording): belief for wording in (REFERENCE, other)}
    bets = {setting.name: Bet(share, bet_mass, drawn)}
    rows = tabulate_wagers([setting], beliefs, bets, model="m", reps=reps, seed=1)
    return rows[rows["prompt"] == REFERENCE], rows[rows["prompt"] == other]
