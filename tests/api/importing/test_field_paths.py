"""Breaks if a field within a list cannot be reached, or another one is taken for it."""

import json

import pytest

from coherence import InputError


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
