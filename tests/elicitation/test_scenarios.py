import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence.batteries.revealed.answer_scores import score_stated
from coherence.batteries.revealed.belief_scores import score_beliefs
from coherence.batteries.revealed.influences import order_preferences, previous_influences
from coherence.errors import InputError
from elicitation.batteries.revealed import believers, choice, coins, counts, dice, preference
from elicitation.batteries.revealed.grid import (
    decompositions,
    extra_settings,
    in_between,
    select,
    standard_grid,
)
from elicitation.batteries.revealed.reading import (
    BEGINS,
    Question,
    in_chat,
    letter_spellings,
    read_masses,
)
from elicitation.batteries.revealed.setting import Setting, condition
from elicitation.batteries.revealed.stated import (
    LETTERS,
    bet_questions,
    distractors,
    stated_questions,
)
from elicitation.batteries.revealed.tables import reveal, simulate_beliefs, state, tabulate_beliefs
from elicitation.batteries.revealed.wager import ask_wagers, tabulate_wagers
from elicitation.spelling.tokenizations import SpellingMasses
from elicitation.store import AnswerStore

GRID = standard_grid()


def enumerate_dice(n, faces, keep=lambda total: True, shift=0):
    """Count every roll of distinguishable dice."""
    totals = [sum(roll) for roll in product(range(1, faces + 1), repeat=n)]
    kept = Counter(total for total in totals if keep(total))
    return {
        str(total + shift): Fraction(kept[total], kept.total()) for total in range(n, n * faces + 1)
    }


def enumerate_coins(n, bias, shift=0):
    """Count every flip, each coin as `bias` faces that count and one that does not."""
    totals = Counter(sum(flip) for flip in product([1] * bias + [0], repeat=n))
    return {str(k + shift): Fraction(totals[k], totals.total()) for k in range(n + 1)}


def says(observation, n, faces):
    middle = (n + n * faces) // 2
    return {
        "smaller": lambda total: total <= middle,
        "larger": lambda total: total > middle,
        "even": lambda total: total % 2 == 0,
        "odd": lambda total: total % 2 == 1,
        "not first": lambda total: total != n,
        "not middle": lambda total: total != middle,
    }[observation]


def brute_force(setting):
    own = setting.parameters
    shift = (
        sum(int(result) for result in own["previous"].split(", "))
        if setting.variant == "dependent"
        else 0
    )
    if setting.scenario == "dice":
        n, faces = int(own["n"]), int(own["faces"])
        observed = [says(one, n, faces) for one in own["observation"].split(", ") if one]
        return enumerate_dice(n, faces, lambda total: all(one(total) for one in observed), shift)
    if setting.scenario == "coins":
        return enumerate_coins(int(own["n"]), int(own["bias"]), shift)
    if setting.scenario == "choice":
        return {letter: Fraction(1, int(own["n"])) for letter in "ABCDEF"[: int(own["n"])]}
    if setting.scenario == "counts":
        weights = [Fraction(1)]
        for k in range(1, int(own["at_most"]) + 1):
            weights.append(weights[-1] * int(own["rate"]) / k)
        return {str(k): weight / sum(weights) for k, weight in enumerate(weights)}
    favoured, other = own["labels"].split("/")
    slips = Counter([favoured] * int(own["bias"]) + [other])
    order = (own["first"], other if own["first"] == favoured else favoured)
    return {label: Fraction(slips[label], slips.total()) for label in order}


def test_every_truth_equals_enumeration():
    many = [dice.observed(n, 6, ["larger", "odd", "not middle"]) for n in (1, 2, 3)]
    assert {setting.variant for setting in many} == {"more observations"}
    for setting in [
        *GRID,
        *extra_settings(),
        *many,
        *standard_grid(faces=[5, 7, 9, 11], n_coins=[4], n_options=[3], label_biases=[4]),
    ]:
        expected = brute_force(setting)
        assert setting.truth == expected, setting.name
        assert list(setting.truth) == list(expected), (
            setting.name
        )  # the order in which the text lists them


def test_events_have_the_probability_of_what_their_claim_says():
    for setting in [*GRID, *extra_settings()]:
        event = setting.event
        if event is None:
            continue
        expected = brute_force(setting)
        if setting.numeric:
            bound = int(re.fullmatch(r".* is more than (\d+)", event.claim)[1])
            assert setting.probability(event) == sum(
                share for total, share in expected.items() if int(total) > bound
            )
        else:
            assert setting.probability(event) == expected[event.claim.rpartition(" is ")[2]]


def test_truths_given_the_first_die_or_coin_equal_enumeration():
    parts = decompositions([*GRID, *in_between(GRID), coins.single(3, "tails", 7)])
    for part in parts:
        own = part.whole.parameters
        n = int(own["n"])
        side, bias = own.get("side", ""), int(own.get("bias", "1"))
        faces = (
            [str(face) for face in range(1, int(own["faces"]) + 1)]
            if not side
            else ["heads", "tails"]
        )
        joint = Counter()
        for roll in product(faces, repeat=n):
            total = roll.count(side) if side else sum(map(int, roll))
            joint[roll[0], str(total)] += prod(bias if face == side else 1 for face in roll)
        for state_, given in part.given.items():
            alone = sum(count for (face, _), count in joint.items() if face == state_)
            assert part.part.truth[state_] == Fraction(alone, joint.total())
            assert given.truth == {
                outcome: Fraction(joint[state_, outcome], alone) for outcome in part.whole.outcomes
            }
    assert len(parts) == 2 * 9 + 2 * 5 + 1


def test_the_iterated_expectation_has_contexts_enough_and_counts_none_twice():
    # Heads and tails of the same coins are one experiment: with both, the test would reject true
    # nulls three times as often as it says.
    own = [
        part.whole.parameters
        for part in decompositions([*GRID, *in_between(GRID)])
        if part.whole.scenario == "coins"
    ]
    assert {one["side"] for one in own} == {"heads"}
    assert len({(one["n"], one["bias"]) for one in own}) == len(own) == 10
    assert [
        part.whole.parameters["side"] for part in decompositions([coins.single(2, "tails", 1)])
    ] == ["tails"]
    assert (
        in_between([dice.single(2, 6), dice.single(1, 4), dice.single(1, 6), choice.single(2)])
        == []
    )
    wide = in_between([dice.single(2, 4), dice.single(2, 84)])
    assert [setting.parameters["faces"] for setting in wide] == [
        "14",
        "24",
        "34",
        "44",
        "54",
        "64",
        "74",
    ]
    assert in_between([*GRID, *in_between(GRID)]) == []


def test_poisson_counts_are_those_of_scipy_below_the_bound():
    for rate, at_most in ((1, 9), (6, 20)):
        exact = np.array(
            [float(probability) for probability in counts.poisson_counts(rate, at_most).values()]
        )
        assert exact == pytest.approx(
            stats.poisson.pmf(np.arange(at_most + 1), rate) / stats.poisson.cdf(at_most, rate),
            rel=1e-12,
        )
    assert (
        stats.poisson.sf(int(counts.single(6).parameters["at_most"]), 6) < 1e-4
    )  # the default bound hardly matters


def test_the_grid_is_that_of_the_paper():
    # The paper speaks of more than 500 settings; all parameters of its tables with every earlier
    # result make 852.
    assert Counter(setting.scenario for setting in GRID) == {
        "dice": 705,
        "coins": 96,
        "choice": 15,
        "preference": 36,
    }
    assert len({setting.name for setting in GRID + extra_settings()}) == 852 + len(extra_settings())
    assert len(dice.PAIRS) == 10
    assert all(
        len(setting.texts) == 3 and len(set(setting.texts.values())) == 3 for setting in GRID
    )
    # No two settings share a text.
    assert len(
        {text for setting in GRID + extra_settings() for text in setting.texts.values()}
    ) == 3 * len(GRID + extra_settings())


def test_texts_are_unfinished_and_complete():
    for setting in [*GRID, *extra_settings()]:
        for text in setting.texts.values():
            assert text[-1].isalpha() or text[-1] == ":"
            assert "{" not in text
            assert text == text.strip()


def test_texts_say_what_the_truth_supposes():
    text = dice.observed(2, 6, ["larger", "not middle"]).texts
    assert all("more than 7 and not 7" in one for one in text.values())
    assert all("not 1" in one for one in dice.observed(1, 4, ["not first"]).texts.values())
    assert "heads as on tails" in coins.single(2, "heads", 3).texts["standard"]
    assert "tails as on heads" in coins.single(2, "tails", 3).texts["story"]
    swapped = preference.single("Left", "Right", bias=2, favoured_first=False)
    assert all(
        one.index("Right") < one.index("Left") and "Left is 2 times as likely" in one
        for one in swapped.texts.values()
    )
    assert "2 and 6" in dice.repeated(1, 6, [2, 6], dependent=False).texts["record"]
    assert dice.repeated(1, 6, [2, 6], dependent=True).outcomes == (
        "9",
        "10",
        "11",
        "12",
        "13",
        "14",
    )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: dice.single(0, 6), "dice must be at least 1"),
        (lambda: dice.observed(1, 6, ["prime"]), "observation must be one of"),
        (lambda: dice.observed(1, 6, []), "at least one"),
        (lambda: dice.observed(1, 6, ["even", "odd"]), "rules out all"),
        (lambda: dice.repeated(1, 6, [7], dependent=False), "sums from 1 to 6"),
        (lambda: dice.decompose(1, 6), "at least 2"),
        (lambda: coins.single(1, "heads", 1), "coins must be at least 2"),
        (lambda: coins.single(2, "edge", 1), "heads or tails"),
        (lambda: coins.repeated(2, "heads", 1, [3], dependent=True), "counts from 0 to 2"),
        (lambda: choice.single(1), "from 2 to 26"),
        (lambda: choice.repeated(2, "C"), "one of A, B"),
        (lambda: preference.single("Left", "left side"), "none begins with the other"),
        (lambda: preference.single("Left", "Right", bias=0), "bias must be at least 1"),
        (lambda: preference.repeated("Left", "Right", "Up"), "must be 'Left' or 'Right'"),
        (lambda: counts.poisson_counts(0, 3), "at least 1"),
        (lambda: condition({1: Fraction(1)}, {1: False}), "rules out all"),
        (lambda: select(GRID, {"face": ["6"]}), "Closest name found: 'faces'"),
        (lambda: select(GRID, {"faces": ["7"]}), "no setting has faces '7'"),
        (lambda: select(GRID, {"faces": ["6"], "scenario": ["coins"]}), "at once"),
        (
            lambda: Setting("dice", "single", "g", "n", {}, {"1": Fraction(1, 2)}, {}, "", "{}"),
            "must sum to 1",
        ),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_any_part_of_the_grid_can_be_had():
    assert (
        len(
            standard_grid(
                n_dice=[1], faces=[5, 7], n_coins=[], n_options=[], labels=[("Yes", "No")]
            )
        )
        == 2 * 17 + 2 * (5 + 7) + 18
    )
    assert {setting.scenario for setting in select(GRID, {"n": ["3"]})} == {"dice", "coins"}
    assert len(select(GRID, {"variant": ["single"], "scenario": ["dice", "choice"]})) == 18


def test_stated_questions_have_the_truth_at_every_place_once():
    for setting in GRID:
        questions = stated_questions(setting)
        truth = str(setting.truth[setting.asked])
        assert [question.options.index(truth) for question in questions] == [0, 1, 2, 3]
        for question in questions:
            assert len(set(question.options)) == 4
            assert all(
                f"{letter}. {option}\n" in question.text
                for letter, option in zip(LETTERS, question.options, strict=True)
            )
        # Distinct as numbers, not only as written; and no distractor is right by accident.
        assert len({setting.truth[setting.asked], *distractors(setting)}) == 4


def test_events_are_uncertain_and_bets_come_in_both_orders():
    for setting in GRID:
        event = setting.event
        if event is None:
            assert len(setting.support) == 1
            assert bet_questions(setting) == []
            continue
        assert 0 < setting.probability(event) < 1
        first, second = bet_questions(setting)
        assert first.options == ("Yes", "No") == second.options[::-1]
        assert event.claim in first.text


class Told:
    """A scoring model that continues texts as it was told, by text; anything else has no probability."""

    name, fingerprint = "told", "told"

    def __init__(self, beliefs, *, unresolved=0.0):
        self.texts, self.beliefs, self.unresolved, self.calls = (
            list(beliefs),
            beliefs,
            unresolved,
            0,
        )

    def encode(self, texts, *, answer=""):
        return [[self.texts.index(text)] for text in texts]

    def spelling_masses(self, texts, spellings, *, tolerance, itemised=False):
        self.calls += 1
        found = np.zeros((len(texts), len(spellings)))
        for row, (number,) in enumerate(texts):
            for said, mass in self.beliefs[self.texts[number]].items():
                for column, spelling in enumerate(spellings):
                    text = spelling.text.decode()
                    bounded = said == text if spelling.forbidden else said.startswith(text)
                    found[row, column] += mass * bounded
        return SpellingMasses(found, np.full(len(texts), self.unresolved), [])


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened


def test_a_number_is_not_the_beginning_of_a_longer_one(store):
    setting = dice.single(1, 12)
    said = {f" {k}": 1 / 24 for k in range(1, 13)}
    model = Told(dict.fromkeys(setting.texts.values(), said))
    table = reveal(model, [setting], store)
    scores = score_beliefs(table)
    assert scores["chebyshev"].to_numpy() == pytest.approx(0)
    assert scores["answer_mass"].to_numpy() == pytest.approx(0.5)
    # Counted as beginnings, 1 takes what belongs to 10, 11 and 12: four shares out of fifteen, the
    # famous bias towards face 1.
    assert scores["first_excess_beginning"].to_numpy() == pytest.approx(4 / 15 - 1 / 12)
    assert list(table["wording"].unique()) == ["standard", "story", "record"]


def test_reading_resumes_and_asks_equal_texts_once(store):
    model = Told({"a": {" 1": 0.5, " 2": 0.25}, "b": {" 1": 0.25, " 2": 0.5}})
    questions = [Question("a", ("1", "2")), Question("b", ("1", "2")), Question("a", ("1", "2"))]
    seen = []
    masses, asked = read_masses(
        model, questions, store, progress=lambda done, total: seen.append((done, total))
    )
    assert asked == 2
    assert model.calls == 1  # equal outcomes are read together
    assert [one["1"] for one in masses] == [0.5, 0.25, 0.5]
    assert masses[0][f"1{BEGINS}"] == 0.5
    assert seen[0] == (0, 2)
    assert seen[-1] == (2, 2)
    again, asked = read_masses(model, questions, store)
    assert (again, asked, model.calls) == (masses, 0, 1)
    other = Told({"a": {" 1": 0.1}})
    other.fingerprint = "other"
    assert (
        read_masses(other, questions[:1], store)[0][0]["1"] == 0.1
    )  # never the first model's answer


def test_what_was_given_up_counts_as_unread(store):
    # More was given up than was found: nothing can be said of this belief.
    model = Told({"a": {" 1": 1e-9}}, unresolved=1e-6)
    masses, _ = read_masses(model, [Question("a", ("1", "2"))], store)
    assert masses[0]["1"] == 0
    masses, _ = read_masses(
        Told({"x": {" 1": 1e-3}}, unresolved=1e-6), [Question("x", ("1", "2"))], store
    )
    assert masses[0]["1"] == 1e-3


def test_a_real_model_is_read_as_by_outcome_probabilities(model, store):
    from elicitation.reading.outcomes import outcome_probabilities

    settings = [dice.single(1, 12), choice.single(4), preference.single("Yes", "No")]
    table = reveal(model, settings, store)
    for setting in settings:
        for wording, text in setting.texts.items():
            rows = table[(table["setting"] == setting.name) & (table["wording"] == wording)]
            options = {"ignore_case": True} if setting.scenario == "preference" else {}
            exact = outcome_probabilities(
                model, [text], setting.outcomes, tolerance=1e-15, **options
            ).probabilities.iloc[0]
            assert rows["mass"].to_numpy() == pytest.approx(exact.to_numpy(), rel=1e-3, abs=1e-12)
            if setting.numeric:
                assert (rows["mass_beginning"] >= rows["mass"] * 0.98).all()


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("A", "A"),
        (" B", "B"),
        ("C) 1/6", "C"),
        ("(D)", "D"),
        ("**A**", "A"),
        ("\n\nB.", "B"),
        ("B. 1/6", "B"),
        ("Answer: C", "C"),
        ("**Answer:** (C)", "C"),
        ("The answer is **D**.", "D"),
        ("The correct answer is A", "A"),
        ("Option B", "B"),
        ("A fair die has six faces", None),  # the article chooses nothing
        ("A die", None),
        ("Because", None),
        ("Definitely A", None),
        ("A1", None),
        ("a", None),
        ("1/6", None),
    ],
)
def test_the_ways_in_which_a_chat_model_names_a_letter(answer, chosen):
    """By the definition of a spelling: the answer begins with it, and nothing forbidden follows."""
    text = answer.encode()
    found = [
        spelling.outcome
        for spelling in letter_spellings(LETTERS)
        if text.startswith(spelling.text)
        and not any(text[len(spelling.text) :].startswith(tail) for tail in spelling.forbidden)
    ]
    assert found == ([] if chosen is None else [chosen])  # never counted twice


def test_letters_are_read_in_all_their_forms(model, model_folder, store):
    """A model is asked for the same letter with and without the forms: those that begin otherwise add their mass, and sentences lose theirs."""
    from elicitation.reading.outcomes import outcome_probabilities

    question = stated_questions(dice.single(1, 6))[0]
    (masses,), _ = read_masses(model, [Question(question.text, LETTERS, lettered=True)], store)
    forms = {
        letter: sorted(
            {
                spelling.text.decode()
                for spelling in letter_spellings(LETTERS)
                if spelling.outcome == letter
            }
        )
        for letter in LETTERS
    }
    # The mass of each form apart, without the rule on sentences, bounds what was read from above.
    apart = outcome_probabilities(
        model, [question.text], forms, boundary="word", leading_space=False, tolerance=1e-9
    ).probabilities.iloc[0]
    for letter in LETTERS:
        assert 0 <= masses[letter] <= apart[letter] + 1e-7
    # The same text read without forms is another answer in the store.
    (bare,), asked = read_masses(model, [Question(question.text, LETTERS)], store)
    assert asked == 1
    assert set(bare) == set(masses) == set(LETTERS)


def test_questions_go_through_the_chat_template_with_the_same_weights(model_folder):
    from elicitation.models.local.causal import load_causal_model

    plain = load_causal_model(model_folder, chat=False)
    assert in_chat(plain) is plain  # it has no template
    plain.tokenizer.chat_template = "{% for m in messages %}<{{ m['content'] }}>{% endfor %}"
    asked = in_chat(plain)
    assert asked.render("Which?") == "<Which?>"
    assert plain.render("Which?") == "Which?"
    assert asked.network is plain.network
    assert asked.fingerprint != plain.fingerprint


def test_stated_answers_are_scored(store):
    setting = dice.single(1, 6)
    right = {
        question.text: {f" {LETTERS[place]}": 0.6, " E": 0.4}
        for place, question in enumerate(stated_questions(setting))
    }
    assert score_stated(state(Told(right), [setting], store))["stated_error"].item() == 0
    place_lover = {text: {" A": 0.9} for text in right}
    other = Told(place_lover)
    other.fingerprint = "lover"
    assert score_stated(state(other, [setting], store))["stated_error"].item() == pytest.approx(
        0.75
    )


def coherent(settings, *, act=lambda p: float(p > 0.5), believe=believers.exact):
    """Tell a model every text about settings: beliefs of a believer, and bets that follow from its own belief."""
    told = {}
    for setting in [*settings, *in_between(settings)]:
        belief = believe(setting)
        told |= {
            text: {f" {outcome}": mass for outcome, mass in belief.items()}
            for text in setting.texts.values()
        }
        if setting.event:
            share = act(sum(belief[outcome] for outcome in setting.event.outcomes))
            for question in bet_questions(setting):
                yes = question.options.index("Yes")
                told[question.text] = {f" {LETTERS[yes]}": share, f" {LETTERS[1 - yes]}": 1 - share}
    for part in decompositions([*settings, *in_between(settings)]):
        for inner in (part.part, *part.given.values()):
            told[inner.texts["standard"]] = {
                f" {outcome}": float(mass) for outcome, mass in inner.truth.items()
            }
    return Told(told)


def wager_runs(model, settings, store, *, reps=5, seed=0):
    told, bets = ask_wagers(model, model, settings, store)
    return tabulate_wagers(settings, told, bets, model="m", reps=reps, seed=seed)


def test_wagers_of_a_coherent_believer_pass_the_checks(store):
    settings = select(
        GRID, {"scenario": ["dice", "coins"], "n": ["2", "3"], "variant": ["single", "observation"]}
    )
    model = coherent(settings, act=lambda p: 0.1 + 0.8 * p)
    runs = wager_runs(model, settings, store, reps=4, seed=3)
    coherence.validate_runs(runs)
    plain = runs[runs["z"].isna()]
    assert (plain["p"] - plain["p_true"]).abs().max() < 1e-12
    assert plain.loc[plain["prompt"] == "standard", "action"].isin(["yes", "no"]).all()
    assert plain.loc[plain["prompt"] != "standard", "action"].isna().all()
    assert plain.groupby("context")["theta"].nunique().eq(1).all()
    report = coherence.analyze(
        runs,
        checks=[
            "residual_covariance",
            "monotone_choice",
            "prompt_consistency",
            "iterated_expectation",
        ],
        rng=1,
    )
    results = report.results[report.results["task"] == "dice"].set_index("check")
    assert results.loc["iterated_expectation", "statistic"] == pytest.approx(0, abs=1e-9)
    assert results.loc["prompt_consistency:story", "statistic"] == 0
    assert results.loc["residual_covariance", "pvalue"] > 0.01
    again = wager_runs(model, settings, store, reps=4, seed=3)
    pd.testing.assert_frame_equal(again, runs)


def test_a_belief_that_does_not_average_out_is_found(store):
    settings = select(GRID, {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single"]})
    # Sure of the smallest sum where nothing is said about the first die, exact where something is.
    model = coherent(settings, believe=lambda setting: believers.first_lover(setting, pull=0.6))
    runs = wager_runs(model, settings, store)
    report = coherence.analyze(runs, checks=["iterated_expectation"], rng=1)
    result = report.results.set_index("check").loc["iterated_expectation"]
    assert result["pvalue"] < 0.01
    assert result["statistic"] < -0.1


def test_a_bet_that_cannot_be_read_is_no_action(store):
    settings = [dice.single(2, 6)]
    model = coherent(settings)
    for question in bet_questions(settings[0]):
        model.beliefs[question.text] = {}
    runs = wager_runs(model, settings, store)
    coherence.validate_runs(runs)
    standard = runs[(runs["prompt"] == "standard") & runs["z"].isna()]
    assert standard["action"].isna().all()
    assert (standard["status"] == "unparsed").all()


def test_believers_show_their_flaw_and_no_other():
    settings = select(GRID, {"variant": ["single", "independent", "dependent"]})
    tables = {
        name: simulate_beliefs(believer, settings, source=name)
        for name, believer in believers.BELIEVERS.items()
    }
    scores = {name: score_beliefs(table) for name, table in tables.items()}
    assert scores["exact"]["l1"].max() < 1e-12
    assert scores["point mass"]["l1_relative"].to_numpy() == pytest.approx(1)
    assert (scores["first-outcome lover"]["first_excess"] > 0).all()
    assert order_preferences(tables["first-outcome lover"])["position"].to_numpy() == pytest.approx(
        0.2
    )
    assert previous_influences(tables["first-outcome lover"])["distance"].max() < 1e-12
    gambler = previous_influences(tables["gambler"])
    assert (gambler["pull"] < 0).all()  # independent, and dependent with the shift taken back
    assert len(gambler) == sum(bool(setting.baseline) for setting in settings)
    assert (
        scores["gambler"]
        .merge(pd.DataFrame({"setting": [s.name for s in settings if s.variant == "single"]}))["l1"]
        .max()
        < 1e-12
    )


def test_tabulated_beliefs_hold_the_exact_truth():
    setting = dice.single(2, 6)
    table = tabulate_beliefs(
        [(setting, "standard", dict.fromkeys(setting.outcomes, 0.0))], source="m"
    )
    assert table.loc[table["outcome"] == "7", "exact"].item() == "1/6"
    assert table["mass_beginning"].isna().all()
