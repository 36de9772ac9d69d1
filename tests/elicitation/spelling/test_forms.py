"""Forms and spellings: breaks if a number, word or cut into tokens is missed or counted twice."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.decoding.decode import decode_belief, decode_decision, decode_distribution
from elicitation.spelling.forms import AnswerForm, spellings_of
from elicitation.spelling.tokenizations import Vocabulary, spelling_graph

from ..form_pattern import pattern_of
from ..tiny_tokenizers import BYTE_LEVEL

BELIEF = AnswerForm("lines", ("No", "Yes"))


def happened(form, text):
    """The outcomes whose event an answer belongs to, by the definition of a spelling."""
    data = text.encode()
    return {
        spelling.outcome
        for spelling in form.parts[0].spellings
        if data.startswith(spelling.text)
        and not any(data[len(spelling.text) :].startswith(other) for other in spelling.forbidden)
    }


NUMBERS = [
    " 0.30\nYes: 0.70",
    " 0.3.",
    " 0.30,",
    " 0",
    " 1\n",
    " 1.0",
    " 30%",
    " 5%.",
    " 100% sure",
]
OTHERS = [" 0.355", " 0.5%", " 0.5 percent", " 1/2", " 1 in 10", " 1,5", " 1. The", " 1e-3", " 1.5"]
OTHERS += [" 30", " 101%", " -0.3", " .3", "0.3", "  0.3"]


def test_a_number_is_the_longest_that_the_answer_begins_with():
    found = [happened(BELIEF, f":{text}") for text in NUMBERS]
    expected = ["0.30", "0.30", "0.30", "0.00", "1.00", "1.00", "0.30", "0.05", "1.00"]
    assert found == [{name} for name in expected]
    assert [text for text in OTHERS if happened(BELIEF, f":{text}")] == []


@given(st.text(alphabet="0123456789.,% /e-\n", max_size=9))
def test_a_number_is_the_one_that_an_independent_reader_finds(text):
    # At most two decimals or a whole percentage, and nothing that would make it another number.
    match = re.match(
        r" ((?:0\.[0-9]{1,2}|1\.0{1,2}|[01](?![.,]))(?![0-9% e/-])|(?:[1-9]?[0-9]|100)%)", text
    )
    expected = set()
    if match:
        value = float(match[1].rstrip("%")) / (100 if "%" in match[1] else 1)
        expected = {f"{value:.2f}"}
    assert happened(BELIEF, f":{text}") == expected
    alone = happened(AnswerForm("number"), text)
    assert alone == expected if text.startswith(" ") else alone == happened(BELIEF, f": {text}")


def test_the_first_of_two_lines_says_what_the_second_must_be():
    for name in BELIEF.parts[0].outcomes:
        text = BELIEF.write([name])
        assert re.fullmatch(pattern_of(BELIEF), text)
        assert decode_belief(text).value == pytest.approx(1 - float(name), abs=1e-12)
    assert len(BELIEF.parts) == 1
    assert BELIEF.parts[0].prefill == "No"


def test_more_lines_are_asked_for_one_by_one():
    form = AnswerForm("lines", ("low", "normal", "high"))
    assert [part.prefill for part in form.parts] == ["low", "normal", "high"]
    text = form.write(["0.20", "0.30", "0.50"])
    assert re.fullmatch(pattern_of(form), text)
    assert decode_distribution(text, form.labels).value == (0.2, 0.3, 0.5)


def test_a_decision_has_four_answers_and_they_are_read_as_drawn_ones_are():
    form = AnswerForm("decision")
    names = form.parts[0].outcomes
    assert [decode_decision(name).value for name in names] == ["yes", "no", "defer", "defer"]
    assert all(re.fullmatch(pattern_of(form), form.write([name])) for name in names)
    # Prefill and spelling make the answer, whatever the blank, the case or the empty line.
    assert happened(form, ": yes\n\nDecision: no") == {names[1]}
    assert happened(form, ": Yes\nDecision: Not sure") == set()
    assert happened(form, ": No") == set()


def test_of_options_that_begin_alike_the_longer_is_meant():
    form = AnswerForm("choice", ("wait", "wait and see", "Treat now"))
    assert happened(form, "wait.") == {"wait"}
    assert happened(form, "wait and see") == {"wait and see"}
    assert happened(form, "wait and seek") == set()
    assert happened(form, " TREAT NOW") == {"Treat now"}
    assert happened(form, "waiting") == set()


def test_a_spelling_is_decided_by_its_last_token():
    vocabulary = Vocabulary(list(BYTE_LEVEL.values()))
    graph = spelling_graph(spellings_of(["12"], leading_space=False, boundary="none"), vocabulary)
    assert sum(map(len, graph.steps)) == 1  # after "1" it is open; "12" decides
