"""Schemas of forms: breaks if one lets an answer through that cannot be read, or bars one."""

import json
import re
from itertools import product

import pytest

from coherence.decoding.decode import (
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
)
from elicitation.models.hosted.protocol import schema_of, written
from elicitation.spelling.forms import AnswerForm
from tests.elicitation.form_pattern import pattern_of

BELIEF, NUMBER = AnswerForm("lines", ("No", "Yes")), AnswerForm("number")
SPREAD, DECISION = AnswerForm("lines", ("low", "so-so", "high (all)")), AnswerForm("decision")
CHOICE = AnswerForm("choice", ("wait. See", 'say "no"'))


def alternatives(form):
    """All answers that the schema lets through, as they are written."""
    listed = {name: may["enum"] for name, may in schema_of(form)["properties"].items()}
    said = [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
    return [written(form, json.dumps(one)) for one in said]


@pytest.mark.parametrize("form", [BELIEF, SPREAD, NUMBER, DECISION, CHOICE])
def test_every_answer_that_a_mask_lets_through_has_the_form(form):
    listed = alternatives(form)
    assert listed
    for text in listed:
        assert re.fullmatch(pattern_of(form), text)


def test_every_answer_is_read_as_it_stands():
    assert {decode_belief(text).status for text in alternatives(BELIEF)} == {"ok"}
    assert len({decode_belief(text).value for text in alternatives(BELIEF)}) == 101
    assert {decode_decision(text).status for text in alternatives(DECISION)} == {"ok"}
    assert [decode_choice(text, CHOICE.labels).value for text in CHOICE.labels] == [*CHOICE.labels]


@pytest.mark.parametrize(
    ("n_lines", "n_answers"), [(3, 231), (4, 286), (5, 126), (7, 210), (12, 78)]
)
def test_several_lines_always_sum_to_1(n_lines, n_answers):
    labels = tuple("abcdefghijkl"[:n_lines])
    listed = alternatives(AnswerForm("lines", labels))
    assert len(set(listed)) == len(listed) == n_answers
    decoded = [decode_distribution(text, labels) for text in listed]
    assert {one.status for one in decoded} == {"ok"}
    # No line is preferred: each has the same numbers.
    assert len({tuple(sorted(one.value[i] for one in decoded)) for i in range(n_lines)}) == 1


@pytest.mark.parametrize("text", ["{}", "7", "No: 0.3", '{"No": "perhaps"}', 'It: {"No": "0.07"}'])
def test_what_is_not_an_answer_in_the_schema_is_none(text):
    assert written(BELIEF, text) is None
    assert written(BELIEF, '{"No": "0.07"}') == "No: 0.07\nYes: 0.93"
