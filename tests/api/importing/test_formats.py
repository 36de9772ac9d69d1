"""Files that are no log, and logs of another shape: breaks if one crashes or passes for one."""

import pytest

from coherence import InputError
from coherence.runs.logs.assemble import FORMATS
from tests.api.importing.conftest import BELIEF, GOLDEN, HEADER, TEXT, imported, write_text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.eval", "no zip at all", "no Inspect log.*zip"),
        ("a.json", "{", "is not JSON"),
        ("a.json", "[{}]", "not a log of inspect or lm-eval.*: coherence analyze .*a.json"),
        (
            "a.json",
            '{"eval": "x", "rows": [1, 2]}',
            "object, whose key 'rows' holds a list of 2.*open",
        ),
        ("a.json", '{"eval": {}}', "no Inspect log"),
        ("a.json", HEADER, "the log has no samples"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", '{"p": 0.5}\n', "not a log of inspect or lm-eval"),
        ("a.jsonl", '{"p": \n', "line 1 is not JSON"),
        ("a.jsonl", '{"doc_id": 0, "resps": [["a"]]}\n', "line 1 lacks 'doc', 'target'"),
        ("a.eval", "", "empty"),
        ("my a.csv", "p,theta\n1,1\n", "A table needs no import: coherence analyze '.*/my a.csv'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = write_text(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        imported(path)


def test_formats_are_told_by_content_and_not_mixed(tmp_path):
    with pytest.raises(InputError, match="is of the format lm-eval, .* of the format inspect"):
        imported(BELIEF, TEXT)
    with pytest.raises(InputError, match="no such file"):
        imported(GOLDEN)
    for form in FORMATS:
        broken = tmp_path / f"log{form.endings[0]}"
        broken.write_bytes(b"\xff\xfe\xff")
        with pytest.raises(InputError, match="^(?!.*--encoding)"):  # which import does not have
            form.read(broken)
