"""Stated answers and bets.

Breaks if coherent ones fail a check, a draw is lost, or a bound passes for a belief.
"""

from pathlib import Path
from runpy import run_path

import pandas as pd
import pytest

import coherence
from coherence.batteries import score_beliefs
from coherence.batteries.revealed.scores import order_preferences, previous_influences, score_stated
from coherence.runs.read import validate_runs
from elicitation import Answer, AnswerStore, standard_grid
from elicitation.batteries.revealed.questions import (
    COLUMNS,
    LETTERS,
    NO,
    YES,
    Bet,
    SamplingOptions,
    ask_beliefs,
    ask_bets,
    ask_stated,
    bet_of_masses,
    distractors,
    even_bet_questions,
    inner_settings,
    questions_about,
    questions_table,
    reveal,
    stated_questions,
    tabulate_bets,
    tabulate_stated,
    worded,
)
from elicitation.batteries.revealed.runs import tabulate_wagers
from elicitation.batteries.revealed.scenarios import choice, dice
from elicitation.batteries.revealed.scenarios.grid import select
from elicitation.batteries.revealed.scenarios.setting import REFERENCE
from elicitation.models.labels import bound_labels


def test_the_table_has_every_question_once_with_all_its_options():
    settings = [dice.single(2, 4), choice.single(2)]
    table = questions_table(settings)
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
    assert set(questions_table(settings, only_revealed=True)["kind"]) == {"belief"}
    assert {setting.name for setting in inner_settings(settings)} <= set(table["setting"])


LESSON = str(Path(__file__).parents[4] / "examples" / "revealed_lesson.py")
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


def test_stated_answers_are_scored(store, teller):
    setting = dice.single(1, 6)
    right = {
        question.text: {f" {LETTERS[place]}": 0.6, " E": 0.4}
        for place, question in enumerate(stated_questions(setting))
    }
    stated = tabulate_stated([setting], ask_stated(teller(right), [setting], store), source="m")
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
    settings = [dice.single(1, 6), dice.single(2, 4)]
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


def wager_runs(model, settings, store, *, reps=5, seed=0):
    texts, _ = questions_about(settings, bets=True)
    beliefs, bets = ask_beliefs(model, texts, store), ask_bets(model, settings, store)
    return tabulate_wagers(settings, beliefs, bets, model="m", reps=reps, seed=seed)


@pytest.mark.lengthy
def test_wagers_of_a_coherent_believer_pass_the_checks(store, coherent):
    parts = {"scenario": ["dice", "coins"], "n": ["2", "3"], "variant": ["single", "observation"]}
    settings = select(GRID, parts)
    model = coherent(settings, act=lambda p: 0.1 + 0.8 * p)
    runs = wager_runs(model, settings, store, reps=4, seed=3)
    validate_runs(runs)
    plain = runs[runs["z"].isna()]
    assert (plain["p"] - plain["p_true"]).abs().max() < 1e-12
    assert plain.loc[plain["prompt"] == "standard", "action"].isin(["yes", "no"]).all()
    assert plain.loc[plain["prompt"] != "standard", "action"].isna().all()
    assert plain.groupby("context")["theta"].nunique().eq(1).all()
    checks = ["sufficiency", "prompt_consistency", "iterated_expectation"]
    results = coherence.analyze(runs, checks=checks, rng=1).results
    results = results[results["task"] == "dice"].set_index("check")
    assert results.loc["iterated_expectation", "estimate"] == pytest.approx(0, abs=1e-9)
    assert results.loc["prompt_consistency:story", "estimate"] == 0
    assert not results.loc["sufficiency", "pvalue"] <= 0.01  # the belief settles the state
    pd.testing.assert_frame_equal(wager_runs(model, settings, store, reps=4, seed=3), runs)
    # Sure of the smallest sum where nothing is said about the first die, exact where something is.
    settings = select(GRID, {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single"]})
    lover = run_path(LESSON)["first_lover"]
    model = coherent(settings, believe=lambda setting: lover(setting, pull=0.6))
    model.fingerprint = "lover"
    runs = wager_runs(model, settings, store)
    results = coherence.analyze(runs, checks=["iterated_expectation"], rng=1).results
    result = results.set_index("check").loc["iterated_expectation"]
    assert result["pvalue"] < 0.01
    assert result["estimate"] < -0.1


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
    setting = dice.single(1, 6)
    assert acted["p"].tolist() == pytest.approx([len(setting.event.outcomes) / 6] * 3)
    assert acted["p_true"].tolist() == pytest.approx([setting.probability(setting.event)] * 3)
    assert acted["rep"].tolist() == [0, 1, 2]
    assert set(acted["theta"]) == set(plain["theta"])
    assert table(0.9, mass=0.0)[0]["p"].isna().all()


def table(bet_mass, *, share=1.0, drawn=(), mass=0.6, reps=3):
    """Rows of one die in two wordings; the belief is uniform with `mass` on the outcomes."""
    setting = dice.single(1, 6)
    other = next(wording for wording in setting.texts if wording != REFERENCE)
    belief = dict.fromkeys(setting.outcomes, mass / 6)
    beliefs = {(setting.name, wording): belief for wording in (REFERENCE, other)}
    bets = {setting.name: Bet(share, bet_mass, drawn)}
    rows = tabulate_wagers([setting], beliefs, bets, model="m", reps=reps, seed=1)
    return rows[rows["prompt"] == REFERENCE], rows[rows["prompt"] == other]


class Talker:
    name = fingerprint = "talker"

    def __init__(self, says, finish="stop"):
        self.says, self.finish, self.asked = says, finish, []

    def generate(self, requests):
        self.asked += requests
        return [Answer(self.says(request), finish_reason=self.finish) for request in requests]


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
        bets = ask_bets(model, coins, store, sampling=SamplingOptions(3, 1))
        again = ask_bets(model, coins, store, sampling=SamplingOptions(3, 1))
    assert again == bets
    assert {request.temperature for request in model.asked} == {1.0}
    for bet in bets.values():
        assert (bet.share, bet.answer_mass) == (1.0, 1.0)
        assert bet.drawn == ("yes",) * 6
    # Who always says A likes a letter and no bet: half of each. A cut answer is no choice.
    for finish, share in (("stop", 0.5), ("length", None)):
        with AnswerStore(":memory:") as store:
            model = Talker(lambda _: "A", finish)
            bets = ask_bets(model, coins, store, sampling=SamplingOptions(3, 1))
        assert {bet.share for bet in bets.values()} == {share}


def test_what_is_not_read_is_missing_from_the_mass(coins):
    def mumble(request):
        return "A" if request.seed % 2 else "Who knows"

    with AnswerStore(":memory:") as store:
        model = Talker(mumble)
        masses = ask_stated(model, coins, store, sampling=SamplingOptions(20, 1))
        stated = tabulate_stated(coins, masses, source="m")
    mass = stated.groupby(["setting", "rotation"])["mass"].sum()
    said = sum(request.seed % 2 for request in model.asked) / len(model.asked)
    assert mass.mean() == pytest.approx(said)
    assert 0 < said < 1
    assert stated.loc[stated["letter"] != "A", "mass"].eq(0).all()


class Lister(Talker):
    """Lists likely tokens as a server does, one text after the other."""

    def __init__(self, likely):
        super().__init__(None)
        self.likely = likely

    answer_kinds = ("outcomes",)

    def stream_answers(self, requests):
        raise AssertionError("nothing is drawn")

    def distributions(self, questions):
        for position, (text, form) in enumerate(questions):
            yield position, bound_labels(self.likely(text, form.labels), form.labels)


def test_beliefs_over_words_come_from_lists_that_leave_little_open(store):
    settings = select(standard_grid(), {"scenario": ["preference", "dice"], "variant": ["single"]})
    settings = worded(settings)
    assert {setting.scenario for setting in settings} == {"preference"}

    def likely(text, labels):
        return {f" {labels[0]}": 0.6, labels[0].lower(): 0.1, f" {labels[1]}": 0.295}

    first = reveal(Lister(likely), settings, store, source="m").query("position == 0")
    assert first["mass"].tolist() == pytest.approx([0.7] * len(first))
    # A fifth of the mass is unknown: no belief, and no number that looks like one.
    lister = Lister(lambda text, labels: {f" {labels[0]}": 0.6, f" {labels[1]}": 0.2})
    lister.fingerprint = "wide"
    assert reveal(lister, settings, store, source="m")["mass"].eq(0).all()
    # Lists that wait for others would be lost at Ctrl-C, and they were paid for.
    n_read, n_before = iter(range(100)), len(store)

    def stopped(text, labels):
        if next(n_read) == 3:
            raise KeyboardInterrupt
        return {labels[0]: 0.5}

    lister = Lister(stopped)
    lister.fingerprint = "stopped"
    with pytest.raises(KeyboardInterrupt):
        reveal(lister, settings, store, source="m")
    assert len(store) == n_before + 3


@pytest.mark.lengthy
def test_believers_of_the_lesson_show_their_flaw_and_no_other():
    lesson = run_path(LESSON)
    settings = select(GRID, {"variant": ["single", "independent", "dependent"]})
    believe = lesson["simulate_beliefs"]
    tables = {name: believe(of, settings, source=name) for name, of in lesson["BELIEVERS"].items()}
    scores = {name: score_beliefs(table) for name, table in tables.items()}
    assert scores["exact"]["l1"].max() < 1e-12
    assert scores["point mass"]["l1_relative"].to_numpy() == pytest.approx(1)
    assert (scores["first-outcome lover"]["first_excess"] > 0).all()
    order = order_preferences(tables["first-outcome lover"])["position"]
    assert order.to_numpy() == pytest.approx(0.2)
    assert previous_influences(tables["first-outcome lover"])["distance"].max() < 1e-12
    gambler = previous_influences(tables["gambler"])
    assert (gambler["pull"] < 0).all()  # independent, and dependent with the shift taken back
    assert len(gambler) == sum(bool(setting.baseline) for setting in settings)
    singles = {setting.name for setting in settings if setting.variant == "single"}
    gambler = scores["gambler"]
    assert gambler.loc[gambler["setting"].isin(singles), "l1"].max() < 1e-12
