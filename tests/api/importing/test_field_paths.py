"""Breaks if a field within a list cannot be reached, or another one is taken for it."""

import json

import pytest

from coherence import InputError
from coherence.importing.log_format import AnswerLog, with_fields

REPLY = {
    "choices": json.dumps(
        [
            {"message": {"content": "0.7", "parts": [{"text": "a"}, {"text": "b"}]}},
            {"message": {"content": "0.2"}},
        ]
    ),
    "note": "[not a list",
    "deep.er": '{"x": [1, 2]}',
}


def added(name):
    (record,) = with_fields(AnswerLog("replies.jsonl", None, None, (REPLY,), {}), [name]).records
    return {key: value for key, value in record.items() if key not in REPLY}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("choices.0.message.content", "0.7"),
        ("choices.1.message.content", "0.2"),
        ("choices.0.message.parts.1.text", "b"),
        ("choices.0.message.parts", '[{"text": "a"}, {"text": "b"}]'),
        ("choices.1", '{"message": {"content": "0.2"}}'),
        ("deep.er.x.1", 2),
    ],
)
def test_numbers_are_positions_in_lists(name, value):
    assert added(name) == {name: value}


@pytest.mark.parametrize(
    "name",
    ["choices.2.message", "choices.-1.message", "choices.0.message.content.0", "note.0", "x.0"],
)
def test_a_name_that_leads_nowhere_is_no_field(name):
    assert added(name) == {}


def test_replies_of_a_server_are_mapped(tmp_path, imported, write_table):
    lines = [
        json.dumps(
            {"case": case, "choices": [{"message": {"content": text}}], "usage": {"total": 3}}
        )
        for case, text in (("a", "0.25"), ("b", "0.5"), ("c", "no idea"))
    ]
    path = write_table(tmp_path / "replies.jsonl", "\n".join(lines))
    columns = {"context": "case", "p": "choices.0.message.content"}
    runs = imported(path, mapping=columns).runs
    assert runs["p"].tolist()[:2] == [0.25, 0.5]
    assert runs["status"].tolist() == ["ok", "ok", "unparsed"]
    with pytest.raises(InputError, match="no log has the field 'choices.0.mesage"):
        imported(path, mapping=columns | {"p": "choices.0.mesage.content"})
