"""Damaged and hostile ``.eval`` files, which are zip archives from elsewhere."""

import zipfile

import inspect_ai.log  # noqa: F401 - teaches zipfile Zstandard
import pandas as pd
import pytest

from coherence import InputError
from tests.api.importing.conftest import BELIEF, imported


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
