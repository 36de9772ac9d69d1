"""Damaged and hostile ``.eval`` files, which are zip archives from elsewhere."""

import struct
import zipfile

import inspect_ai.log  # noqa: F401 - teaches zipfile Zstandard
import pandas as pd
import pytest

from coherence import InputError
from tests.api.importing.conftest import BELIEF, imported, packed, sample


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


def test_a_bomb_is_refused_by_what_it_says_and_by_what_it_does(tmp_path):
    bomb = packed(tmp_path / "bomb.eval", b" " * 5_000_000)
    with pytest.raises(InputError, match=r"5,000,000 bytes.*--max-bytes"):
        imported(bomb, max_bytes=1_000_000)
    lying = bomb.read_bytes().replace(struct.pack("<I", 5_000_000), struct.pack("<I", 10))
    (tmp_path / "lying.eval").write_bytes(lying)
    with pytest.raises(InputError, match="damaged"):
        imported(tmp_path / "lying.eval", max_bytes=1_000_000)
    # The bound itself is allowed, a byte less is not.
    log = packed(tmp_path / "just.eval", sample(1))
    with zipfile.ZipFile(log) as archive:
        largest = max(entry.file_size for entry in archive.infolist())
    imported(log, max_bytes=largest)
    with pytest.raises(InputError, match="--max-bytes"):
        imported(log, max_bytes=largest - 1)


def test_names_in_an_archive_are_never_paths(tmp_path):
    (tmp_path / "inner").mkdir()
    imported(packed(tmp_path / "inner" / "a.eval", **{"samples/../../../out.json": sample(1)}))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.eval", "inner"]


def test_a_zip_that_is_no_log_and_one_that_is_encrypted(tmp_path):
    with pytest.raises(InputError, match="no Inspect log"):
        imported(packed(tmp_path / "other.eval", header=None, **{"word/document.xml": "x"}))
    locked = bytearray(packed(tmp_path / "locked.eval").read_bytes())
    locked[6] |= 1
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.eval").write_bytes(locked)
    with pytest.raises(InputError, match="encrypted"):
        imported(tmp_path / "locked.eval")
