"""Reading: breaks if a number is taken for a longer one, or an answer is asked for twice."""

from itertools import product

import numpy as np
import pytest

from coherence.batteries import score_beliefs
from elicitation.asking.ask import ask_masses
from elicitation.batteries.revealed.questions import (
    LETTERS,
    ask_battery,
    belief_questions,
    tabulate_beliefs,
)
from elicitation.batteries.revealed.scenarios import choice, dice, preference
from elicitation.models.local.scoring import ReadsForms
from elicitation.questions.question import Question
from elicitation.spelling.forms import (
    AnswerForm,
    Mark,
    letter_spellings,
    opened_with,
    opening_spellings,
)
from elicitation.spelling.tokenizations import Vocabulary, spelling_graph

from ...outcome_masses import outcome_masses


def reveal(model, settings, store):
    questions = belief_questions(settings)
    return tabulate_beliefs(questions, ask_battery(model, questions, store), source=model.name)


def asking(*texts, kind="outcomes", labels=("1", "2")):
    return [Question.of_form(text, AnswerForm(kind, labels)) for text in texts]


NONE = ("A fair die has six faces", "A die", "Because", "Definitely A", "A1", "a", "1/6")


def test_reading_resumes_and_asks_equal_texts_once(store, teller):
    model = teller({"a": {" 1": 0.5, " 2": 0.25}, "b": {" 1": 0.25, " 2": 0.5}})
    questions, seen = asking("a", "b", "a"), []
    masses = ask_masses(model, questions, store, progress=lambda *now: seen.append(now))
    assert (len(store), model.calls) == (2, 1)  # equal outcomes are read together
    assert [row["1"] for row in masses] == [0.5, 0.25, 0.5]
    assert masses[0][f"1{Mark.BEGINNING}"] == 0.5
    assert (seen[0], seen[-1]) == ((0, 2), (2, 2))
    assert (ask_masses(model, questions, store), model.calls) == (masses, 1)
    other = teller({"a": {" 1": 0.1}})
    other.fingerprint = "other"
    # Never the first model's answer.
    assert ask_masses(other, questions[:1], store)[0]["1"] == 0.1


def test_what_was_given_up_counts_as_unread(store, teller):
    # Where more was given up than was found, nothing can be said of this belief.
    for text, mass, read in (("a", 1e-9, 0), ("x", 1e-3, 1e-3)):
        model = teller({text: {" 1": mass}}, unresolved=1e-6)
        assert ask_masses(model, asking(text), store)[0]["1"] == read


class Pruning(ReadsForms):
    """A model of which whatever sums to the tolerance at most is given up, the least first."""

    def __init__(self, told):
        self.told, self.tolerances = told, []
        self.name, self.fingerprint, self.encode = told.name, told.fingerprint, told.encode

    def spelling_masses(self, texts, spellings, *, tolerance, tolerance_for=None, alike_share=0.0):
        self.tolerances.append(tolerance)
        read = self.told.spelling_masses(texts, spellings, tolerance=0)
        for row, masses in enumerate(read.masses):
            order = np.argsort(masses)
            given_up = order[np.cumsum(masses[order]) <= tolerance]
            read.unresolved[row] = masses[given_up].sum()
            masses[given_up] = 0
            if tolerance_for and read.unresolved[row] > (closer := tolerance_for(masses)):
                again = self.spelling_masses(texts[row : row + 1], spellings, tolerance=closer)
                masses[:], read.unresolved[row] = again.masses[0], again.unresolved[0]
        return read


def test_an_outcome_is_never_given_up_where_all_answers_are_improbable(store, teller):
    """Breaks with an absolute tolerance: "2" would be impossible, its divergence infinite."""
    numbers = ("1", "2", "3")
    expected = {"a": [1e-9, 1e-14, 1e-25], "b": [0.5, 0.25, 0.125]}
    spaced = [f" {n}" for n in numbers]
    model = Pruning(teller({k: dict(zip(spaced, v, strict=True)) for k, v in expected.items()}))
    masses = ask_masses(model, asking(*expected, labels=numbers), store)
    assert [[row[name] for name in numbers] for row in masses] == list(expected.values())
    assert model.tolerances[0] == 1e-12
    assert min(model.tolerances) > 1e-40
    # What is impossible is not looked for again.
    model = Pruning(teller({"c": {" 1": 0.5}}))
    (masses,) = ask_masses(model, asking("c"), store)
    assert (masses["1"], masses["2"]) == (0.5, 0)
    assert model.tolerances == [1e-12]


def test_openings_are_read_finer_where_they_have_little_mass_and_no_further(store, teller):
    """Breaks if the share of an outcome is off by more than .002, or forms are followed forever."""
    form = {"kind": "openings", "labels": ("0", "1")}
    beliefs = {"weak": {"1": 1e-3, "0": 5e-6}, "strong": {"1": 0.5, "0": 5e-6}}
    model = Pruning(teller(beliefs))
    weak, strong = ask_masses(model, asking(*beliefs, **form), store)
    assert (weak["0"], weak["1"]) == (5e-6, 1e-3)
    assert (strong["0"], strong["1"]) == (0, 0.5)
    assert model.tolerances == [1e-5, pytest.approx(2e-6)]
    for mass, read, tolerances in ((1e-8, 0, [1e-5]), (5e-6, 5e-6, [1e-5, 1e-6])):
        little = Pruning(teller({"little": {"1": mass}}))
        little.fingerprint = f"little {mass}"
        (masses,) = ask_masses(little, asking("little", **form), store)
        assert masses == {"0": 0, "1": read}
        assert little.tolerances == tolerances


CHOSEN = ("A", " B", "C) 1/6", "(D)", "**A**", "\n\nB.", "B. 1/6", "Answer: C", "**Answer:** (C)")


CHOSEN += ("The answer is **D**.", "The correct answer is A", "Option B")


def test_the_ways_in_which_a_chat_model_names_a_letter():
    """By the definition of a spelling: the answer begins with it, and nothing forbidden follows."""
    named = ["".join(letters_of(answer)) for answer in (*CHOSEN, *NONE)]
    assert named == [*"ABCDABBCCDAB", *[""] * len(NONE)]  # never counted twice


def letters_of(answer):
    text = answer.encode()
    return [
        spelling.outcome
        for spelling in letter_spellings(LETTERS)
        if text.startswith(spelling.text)
        and not any(text[len(spelling.text) :].startswith(tail) for tail in spelling.forbidden)
    ]


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "outcomes", [("0", "1"), ("Heads", "Tails"), ("a b", "a c"), ("1\n0", "1\n1")]
)
def test_a_drawn_answer_is_read_as_its_probability_counts_it(outcomes):
    """Breaks if a draw counts where the exact event does not, or the other way round."""
    n_open = 0
    for spelling in opening_spellings(outcomes):
        text = spelling.text.decode()
        for tail in ("", ".", "\n", "!", "**", ").", ".** \nIt came."):
            assert opened_with(text + tail, outcomes)[0] == spelling.outcome
        for tail in (":", " It", ". It", ".  0", ") 1", "** or", "   \n"):
            assert opened_with(text + tail, outcomes)[0] is None
        n_open += opened_with(text, outcomes, cut=True)[2]
    assert n_open == len(opening_spellings(outcomes))  # what may go on is not known where it is cut
    assert opened_with("neither", outcomes) == (None, "neither", False)


def test_the_tokens_that_decide_are_those_of_the_text_that_they_spell():
    """All answers of up to four tokens: breaks if one counts exactly and not where it is drawn."""
    tokens = [b"0", b"1", b".", b".\n", b"\n0", b" ", b"  \n", b"**", b"*", b'"', b") It", b"1)\n"]
    vocabulary = Vocabulary([*tokens, None])
    outcomes, end = ("0", "1"), len(tokens)
    spellings = opening_spellings(outcomes)
    graph = spelling_graph(spellings, vocabulary)
    place = {int(token): at for at, token in enumerate(vocabulary.order)}
    n_counted = 0
    for tokens in product(range(end), repeat=4):
        state, counted = 0, []
        for token in (*tokens, end):
            deciding = graph.deciding[state]
            decided = [k for k, start, stop in deciding if start <= place[token] < stop]
            counted += [spellings[k].outcome for k in decided]
            onward = dict(graph.steps[state])
            if token not in onward:
                break
            state = onward[token]
        text = b"".join(vocabulary.spelling[token] for token in tokens).decode()
        drawn = opened_with(text, outcomes)[0]
        assert counted == ([] if drawn is None else [drawn]), text
        n_counted += len(counted)
    assert n_counted > 1000


def test_a_number_is_not_the_beginning_of_a_longer_one(store, teller):
    setting = dice.setting(1, 12)
    continuations = {f" {k}": 1 / 24 for k in range(1, 13)}
    model = teller(dict.fromkeys(setting.texts.values(), continuations))
    table = reveal(model, [setting], store)
    scores = score_beliefs(table)
    assert scores["chebyshev"].to_numpy() == pytest.approx(0)
    assert scores["answer_mass"].to_numpy() == pytest.approx(0.5)
    # Counted as beginnings, 1 takes what belongs to 10, 11 and 12: four shares out of fifteen, the
    # famous bias towards face 1.
    assert scores["first_excess_beginning"].to_numpy() == pytest.approx(4 / 15 - 1 / 12)
    assert list(table["wording"].unique()) == ["standard", "story", "record"]


def test_a_real_model_is_read_as_by_masses_of_spellings(model, store):
    settings = [dice.setting(1, 12), choice.setting(4), preference.setting("Yes", "No")]
    table = reveal(model, settings, store)
    for setting in settings:
        for wording, text in setting.texts.items():
            rows = table[(table["setting"] == setting.name) & (table["wording"] == wording)]
            options = {"ignore_case": True} if setting.scenario == "preference" else {}
            exact = outcome_masses(
                model, [text], setting.outcomes, tolerance=1e-15, **options
            ).probabilities.iloc[0]
            assert rows["mass"].to_numpy() == pytest.approx(exact.to_numpy(), rel=1e-3, abs=1e-12)
            if setting.numeric:
                assert (rows["mass_beginning"] >= rows["mass"] * 0.98).all()
