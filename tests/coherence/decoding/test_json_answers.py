"""JSON in replies: breaks if a name counts twice, or an object answers something else."""

import pytest

from coherence.decoding.json_answers import (
    labelled,
    named_answers,
    objects_in,
    remarks_in,
    stated_number_in,
)
from coherence.decoding.numerals import UnreadableError


def one(text):
    ((value,), rest) = objects_in(text)
    return value, rest


def test_objects_are_found_within_text_and_braces_of_tex_are_none():
    value, rest = one('Here: {"No": 0.3, "Yes": .7} {"No": 0.30, "Yes": 0.7} done')
    assert labelled(value, ("no", "yes")) == {"no": "0.30", "yes": "0.7"}
    assert rest == 'Here: {"No": 0.3, "Yes": .7}  done'  # what is no JSON stays text
    assert objects_in("\\boxed{0.3}") == ([], "\\boxed{0.3}")
    with pytest.raises(UnreadableError):
        objects_in('{"a": 1}' * 7)


@pytest.mark.parametrize(
    "text",
    [
        '{"p": {"No": "0.3", "YES": 0.7}}',
        '{"out": [{"label": "No", "p": 0.3}, {"label": "Yes", "p": 0.7}]}',
    ],
)
def test_nested_objects_and_lists_name_their_labels(text):
    said = labelled(one(text)[0], ("no", "yes"))
    assert {label: float(number) for label, number in said.items()} == {"no": 0.3, "yes": 0.7}


@pytest.mark.parametrize(
    "text",
    [
        '{"No": 0.3, "Yes": 0.7, "Yes": 0.2}',
        '{"No": null, "Yes": 0.7}',
        '{"a": {"No": 0.3, "Yes": 0.7}, "b": {"No": 0.4, "Yes": 0.6}}',
    ],
)
def test_two_values_or_none_are_not_read(text):
    with pytest.raises(UnreadableError):
        labelled(one(text)[0], ("no", "yes"))


def test_other_objects_name_no_labels():
    value = one('{"answer": "B", "why": {"x": 0.2}}')[0]
    assert labelled(value, ("no", "yes")) is None
    assert named_answers(value) == ["B"]


def test_a_number_counts_under_the_name_of_a_probability_alone():
    number, remarks = stated_number_in(one('{"answer": {"probability": 0.3, "why": "a cough"}}')[0])
    assert (number[0], remarks) == ("0.3", "a cough")
    assert stated_number_in(one('{"confidence": 0.9}')[0]) == (None, "")


@pytest.mark.parametrize(
    "text",
    [
        '{"error": 0.1}',
        '{"probability": 0.3, "label": "No"}',
        '{"probability": 0.3, "unit": "percent"}',
        '{"probability_percent": 0.3}',
        '{"probability": 0.3, "answer": 0.4}',
        '{"probability_no": 0.3}',
    ],
)
def test_a_number_of_something_else_in_an_object_is_not_read(text):
    with pytest.raises(UnreadableError):
        stated_number_in(one(text)[0])


@pytest.mark.parametrize(
    "text",
    [
        '{"opponent": {"action": "A"}}',
        '{"answer": "A", "is_correct": false}',
        '{"wrong": {"option": "A"}}',
    ],
)
def test_a_name_that_is_no_answer_spoils_a_choice(text):
    with pytest.raises(UnreadableError):
        named_answers(one(text)[0])


def test_words_beside_labels_are_remarks_and_a_second_answer_is_none():
    value = one('{"No": 0.3, "Yes": 0.7, "note": "for a generic patient"}')[0]
    assert remarks_in(value, ("no", "yes")) == "for a generic patient"
    for text in ('{"No": 0.3, "unit": "%"}', '{"Decision": "No", "final": "Yes"}'):
        with pytest.raises(UnreadableError):
            remarks_in(one(text)[0], ("no", "yes", "decision"))


def test_true_false_and_null_are_words_where_words_were_asked_for():
    value = one('{"can_decide": true, "decision": null}')[0]
    assert labelled(value, ("can decide", "decision"), words=True) == {
        "can decide": "yes",
        "decision": "none",
    }
