"""Schemas of forms: breaks if one lets an answer through that cannot be read, or bars one."""

import json
import re
from itertools import product

import pytest

from coherence import decode_belief, decode_choice, decode_decision, decode_distribution
from elicitation.models.hosted.schemas import schema_of, written
from elicitation.spelling.forms import AnswerForm

BELIEF = AnswerForm("lines", ("No", "Yes"))
SPREAD = AnswerForm("lines", ("low", "so-so", "high (all)"))
NUMBER, DECISION = AnswerForm("number"), AnswerForm("decision")
CHOICE = AnswerForm("choice", ("wait. See", 'say "no"'))


def alternatives(form):
    """All answers that the schema lets through, as they are written."""
    listed = {name: may["enum"] for name, may in schema_of(form)["properties"].items()}
    said = [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
    return [written(form, json.dumps(one)) for one in said]


FORMS = (BELIEF, SPREAD, NUMBER, DECISION, CHOICE)


@pytest.mark.parametrize("form", FORMS)
def test_every_answer_that_a_mask_lets_through_has_the_form(form):
    listed = alternatives(form)
    for text in listed:
        assert re.fullmatch(form.pattern, text)


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


@pytest.mark.parametrize(
    "around",
    [
        "```json\n{}\n```",
        "```\n{}```\n",
        "~~~json\n{}\n~~~",
        " {}<|im_end|>\n",
        "{}</s>",
        "<think>{{}}</think>\n{}",
        "```json\n{}\n```<|eot_id|><|start_header_id|>user<|end_header_id|> {{}}",
    ],
)
def test_what_a_server_leaves_around_an_answer_is_taken_off(around):
    said = json.dumps({"No": "0.07"})
    text = around.replace("{{}}", "{ }").replace("{}", said)
    assert written(BELIEF, text) == "No: 0.07\nYes: 0.93"


@pytest.mark.parametrize(
    "text",
    [
        'The answer: {"No": "0.07"}',
        '{"No": "0.07"} {"No": "0.30"}',
        '```json\n{"No": "0.07"}',
        '```json\n{"No": "0.07"}\n```\nNo, rather: 0.3',
        '<think>{"No": "0.07"}',
        *("{}", "7", "No: 0.3", '{"No": "perhaps"}'),
    ],
)
def test_what_is_more_than_an_answer_is_none(text):
    assert written(BELIEF, text) is None


def test_a_label_that_looks_like_a_mark_stays():
    form = AnswerForm("choice", ("</s>", "<think>"))
    assert written(form, '{"answer": "</s>"}') == "</s>"
