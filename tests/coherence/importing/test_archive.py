import copy
import json
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pyarrow
import pytest

from coherence.errors import InputError
from coherence.importing.archive import MOST_TIMES, Archive
from coherence.importing.formats import read_logs

GOLDEN = Path(__file__).parents[2] / "golden"
BELIEF = GOLDEN / "inspect_belief.eval"


HEADER = json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}})


def test_deflated_and_zstandard_entries_read_alike(tmp_path, imported, packed):
    with Archive(BELIEF) as golden:
        entries = {name: golden.read(name) for name in golden.names}
    again = packed(tmp_path / "again.eval", entries)
    pd.testing.assert_frame_equal(imported(again).runs, imported(BELIEF).runs)


@pytest.mark.parametrize("length", [10, 3000, -30])
def test_a_truncated_archive_is_named(tmp_path, length):
    path = tmp_path / "cut.eval"
    path.write_bytes(BELIEF.read_bytes()[:length])
    with pytest.raises(InputError, match="this is no complete zip file"):
        read_logs([path])


@pytest.mark.parametrize("position", range(100, 1000, 50))
def test_a_flipped_byte_never_passes_for_content(tmp_path, position):
    content = bytearray(BELIEF.read_bytes())
    content[position] ^= 0xFF
    path = tmp_path / "flipped.eval"
    path.write_bytes(content)
    with Archive(BELIEF) as whole, Archive(path) as damaged:
        for name in whole.names:
            try:
                content = damaged.read(name)
            except InputError:
                continue
            assert content == whole.read(name)


def test_a_bomb_is_refused_by_what_it_says_and_by_what_it_does(tmp_path, packed):
    bomb = packed(
        tmp_path / "bomb.eval", {"header.json": HEADER, "samples/1.json": b" " * 5_000_000}
    )
    with pytest.raises(
        InputError,
        match=r"says that it unpacks to 5,000,000 bytes; "
        r"more than 1,000,000 are refused.*--max-bytes",
    ):
        read_logs([bomb], max_bytes=1_000_000)
    lying = bytearray(bomb.read_bytes())
    for position in (
        start
        for start in range(len(lying) - 4)
        if lying[start : start + 4] == struct.pack("<I", 5_000_000)
    ):
        lying[position : position + 4] = struct.pack("<I", 10)
    (tmp_path / "lying.eval").write_bytes(lying)
    with pytest.raises(InputError, match="damaged"):
        read_logs([tmp_path / "lying.eval"], max_bytes=1_000_000)


def test_a_zstandard_bomb_stops_at_the_limit(tmp_path):
    content, small = b" " * 50_000_000, b" " * 10
    squeezed = pyarrow.Codec("zstd").compress(content, asbytes=True)
    name = b"header.json"
    sizes = (zlib.crc32(small), len(squeezed), len(small), len(name))
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 63, 0, 93, 0, 33, *sizes, 0) + name + squeezed
    entry = (
        struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 63, 63, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, 0, 0)
        + name
    )
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)
    path = tmp_path / "bomb.eval"
    path.write_bytes(local + entry + end)
    tracemalloc.start()
    with (
        Archive(path, max_bytes=100_000) as archive,
        pytest.raises(
            InputError, match="unpacks to more than it says; more than 100,000 are refused"
        ),
    ):
        archive.read("header.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_names_in_an_archive_are_never_paths(tmp_path, packed, sample):
    entries = {
        "header.json": HEADER,
        "samples/../../../outside.json": sample(1),
        "/samples/absolute.json": sample(2),
        "samples/x.json": sample(3),
    }
    inner = tmp_path / "inner"
    inner.mkdir()
    log = packed(inner / "odd.eval", entries)
    _, (read,) = read_logs([log])
    assert [record["id"] for record in read.records] == [1, 3]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "odd.eval"]


def test_a_zip_that_is_no_log_and_one_that_is_encrypted(tmp_path, packed):
    with pytest.raises(InputError, match="no entry 'header.json'"):
        read_logs([packed(tmp_path / "other.eval", {"word/document.xml": "x"})])
    locked = bytearray(packed(tmp_path / "locked.eval", {"header.json": HEADER}).read_bytes())
    locked[6] |= 1
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.eval").write_bytes(locked)
    with pytest.raises(InputError, match="encrypted"):
        read_logs([tmp_path / "locked.eval"])


def test_golden_logs_name_no_place_and_no_person():
    for path in GOLDEN.iterdir():
        if path.suffix == ".eval":
            with Archive(path) as archive:
                content = b"".join(archive.read(name) for name in archive.names)
        else:
            content = path.read_bytes() if path.is_file() else b""
        assert not any(
            word in content
            for word in (b"/tmp", b"/home", b"/root", b"/work", b"site-packages", b"Traceback")
        ), path.name


def test_entries_that_share_their_bytes_are_refused(tmp_path):
    path = tmp_path / "overlap.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", b" " * 1_000_000)
        (info,) = made.infolist()
        for number in range(50):
            another = copy.copy(info)
            another.filename = f"samples/{number}.json"
            made.filelist.append(another)
    with pytest.raises(InputError, match="packed bytes, more than the file; such a file is dama"):
        Archive(path)


def test_many_entries_have_a_limit_together(tmp_path):
    path = tmp_path / "many.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(MOST_TIMES + 1):
            made.writestr(str(number), b" " * 1000)
    with Archive(path, max_bytes=1000) as archive:
        for number in range(MOST_TIMES):
            assert len(archive.read(str(number))) == 1000
        with pytest.raises(InputError, match=r"beyond 100,000 bytes\. If you trust"):
            archive.read(str(MOST_TIMES))
