"""JSON in replies: breaks if a name counts twice, or an object answers something else."""

import pytest

from coherence.decoding.json_answers import labelled, leaves, named_answers, objects_in
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
    assert leaves(value) == ["B", "0.2"]
    assert named_answers(value) == ["B"]
