"""Files that are no log, or damaged: breaks if one crashes or passes for one."""

import zipfile

import inspect_ai.log  # noqa: F401 - teaches zipfile Zstandard
import pandas as pd
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


@pytest.mark.parametrize("length", [10, 3000, -30])
def test_a_truncated_archive_is_named(tmp_path, length):
    path = tmp_path / "cut.eval"
    path.write_bytes(BELIEF.read_bytes()[:length])
    with pytest.raises(InputError, match=r"cut\.eval.*damaged.*whole file"):
        imported(path)


def test_a_flipped_byte_never_passes_for_content(tmp_path):
    content, path = BELIEF.read_bytes(), tmp_path / "flipped.eval"
    whole = imported(BELIEF).runs
    with zipfile.ZipFile(BELIEF) as archive:
        samples = [entry for entry in archive.infolist() if entry.filename.startswith("samples/")]
    refused = 0
    for number, entry in enumerate(samples):
        damaged = bytearray(content)
        inside = entry.compress_size * (1 + number % 9) // 10
        damaged[entry.header_offset + 30 + len(entry.filename) + inside] ^= 0xFF
        path.write_bytes(damaged)
        try:
            read = imported(path).runs
        except InputError:
            refused += 1
        else:
            pd.testing.assert_frame_equal(read, whole)
    assert refused > len(samples) // 2
