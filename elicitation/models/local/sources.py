"""What ``--model`` names: a folder, a GGUF file, or a model on the hub.

A source knows where transformers finds the model, and which text stands for its weights in the
store of answers. Weights are read from safetensors and GGUF alone, and no code that comes with a
model is ever run. Only a name on the hub is looked for outside this machine.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol

from coherence.errors import InputError, MissingExtraError

# Everything in a model folder that can change an answer; a log of the training, say, does not
# belong to the fingerprint.
_PATTERNS = (
    "*.safetensors",
    "*.safetensors.index.json",
    "config.json",
    "generation_config.json",
    "chat_template*",
    "*token*.json",
    "tokenizer.model",
    "vocab.*",
    "merges.txt",
)
GGUF_LIBRARIES = ("gguf", "accelerate")
"""What transformers reads such files with."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_WAYS = (
    "model must be a folder with config.json and safetensors weights, a .gguf file, "
    "or OWNER/NAME of a model on the hub"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class ModelSource(Protocol):
    """Where a model comes from."""

    @property
    def name(self) -> str:
        """Value of the `model` column."""

    @property
    def label(self) -> str:
        """What messages call it."""

    @property
    def location(self) -> str:
        """What ``from_pretrained`` takes."""

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``from_pretrained``, of the network and of the tokenizer."""

    @property
    def weights(self) -> dict[str, Any]:
        """Further options, of the network alone."""

    @property
    def is_quantised(self) -> bool:
        """Whether the file holds quantised weights, so that they cannot be quantised again."""

    def check(self) -> None:
        """Raise where something lacks that loading needs."""

    def config(self) -> dict[str, Any]:
        """Return what config.json says; nothing where it is missing or broken."""

    def fingerprint(self, settings: str) -> str:
        """Return a text that stands for the weights and for further settings."""


@dataclass(frozen=True)
class FolderSource:
    """A folder as written by ``save_pretrained``."""

    path: Path  # the folder; what it must hold is said by `check`

    options: ClassVar[dict[str, Any]] = {"local_files_only": True}
    weights: ClassVar[dict[str, Any]] = {"use_safetensors": True}
    is_quantised: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the folder; of a link that of its target."""
        return self.path.resolve().name

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"model folder {self.path}"

    @property
    def location(self) -> str:
        """The folder."""
        return str(self.path)

    def check(self) -> None:
        """Raise an `InputError` that names what lacks of config, weights and tokenizer."""
        wanted = ("config.json", "*.safetensors")
        missing = [name for name in wanted if not any(self.path.glob(name))]
        missing += [] if any(self.path.glob("tokenizer*")) else ["tokenizer files"]
        if missing:
            raise InputError(
                f"{self.label} lacks {', '.join(missing)}. "
                "Give a folder written by save_pretrained, tokenizer included."
            )

    def config(self) -> dict[str, Any]:
        """Return what config.json says; nothing where it is missing or broken."""
        return _read_config(self.path / "config.json")

    def fingerprint(self, settings: str) -> str:
        """Return a SHA-256 digest of the files that can change an answer, and of the settings."""
        # Contents and not dates: a copy of the model is the same model, and its answers are found.
        digest = hashlib.sha256(settings.encode())
        # A set, because one file may match two patterns.
        files = {file for name in _PATTERNS for file in self.path.glob(name) if file.is_file()}
        for file in sorted(files):
            digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
            _add_content(digest, file)
        return digest.hexdigest()


@dataclass(frozen=True)
class GgufSource:
    """A GGUF file, as llama.cpp and its kin use; transformers turns it into ordinary weights."""

    path: Path  # the file

    weights: ClassVar[dict[str, Any]] = {}
    is_quantised: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name of the file without its ending."""
        return self.path.resolve().stem

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"model file {self.path}"

    @property
    def location(self) -> str:
        """The folder of the file."""
        return str(self.path.absolute().parent)

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``from_pretrained``."""
        return {"local_files_only": True, "gguf_file": self.path.name}

    def check(self) -> None:
        """Raise where the file is no GGUF, or what reads such files is not installed."""
        with self.path.open("rb") as stream:
            if stream.read(4) != b"GGUF":
                raise InputError(f"{self.label} is no GGUF file. Fetch it again, or name another.")
        if any(find_spec(library) is None for library in GGUF_LIBRARIES):
            raise MissingExtraError("elicit", "Reading a .gguf file")

    def config(self) -> dict[str, Any]:
        """Return nothing: such files hold causal models alone."""
        return {}

    def fingerprint(self, settings: str) -> str:
        """Return a SHA-256 digest of the file's content and of the settings."""
        digest = hashlib.sha256(f"gguf;{settings}\0".encode())
        _add_content(digest, self.path)
        return digest.hexdigest()


@dataclass(frozen=True)
class HubSource:
    """A model on the hub, at one commit."""

    repository: str  # OWNER/NAME
    commit: str  # the commit that was found for the revision asked for
    config_file: Path  # its config.json, in the cache.

    weights: ClassVar[dict[str, Any]] = {"use_safetensors": True}
    is_quantised: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name without its owner."""
        return _hub_model(self.repository)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"model {self.repository} at {self.commit[:12]}"

    @property
    def location(self) -> str:
        """Its name on the hub."""
        return self.repository

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``from_pretrained``: the commit, so that tokenizer and weights are of one."""
        return {"revision": self.commit}

    def check(self) -> None:
        """Do nothing: what the hub lacks shows on loading."""

    def config(self) -> dict[str, Any]:
        """Return what config.json says; nothing where it is broken."""
        return _read_config(self.config_file)

    def fingerprint(self, settings: str) -> str:
        """Return repository, commit and settings, to be read in the store."""
        return f"hub {self.repository}@{self.commit};{settings}"


def find_source(model: str | os.PathLike[str], *, revision: str | None = None) -> ModelSource:
    """Tell what a model's name stands for, and check that it is there."""
    source = locate(model, revision=revision)
    source.check()
    return source


def locate(model: str | os.PathLike[str], *, revision: str | None = None) -> ModelSource:
    """Tell what a model's name stands for, as `find_source`, whether or not it is complete.

    As in Inspect, ``hf/OWNER/NAME`` is OWNER/NAME of the hub, where the owner has the name of a
    provider.
    """
    path = Path(model)
    if not path.exists():
        model = os.fspath(model).removeprefix("hf/")
        path = Path(model)
    is_file = path.is_file()
    if path.is_dir() or (is_file and path.suffix.lower() == ".gguf"):
        if revision is not None:
            raise InputError(f"revision is for models on the hub; {path} lies here. Leave it out.")
        return GgufSource(path) if is_file else FolderSource(path)
    if is_file:
        raise InputError(f"{_WAYS}; {path} is another file.")
    if not is_hub_name(os.fspath(model)):
        raise InputError(f"{_WAYS}; {path} is not a folder or file that exists.")
    return _found_on_hub(os.fspath(model), revision)


def is_hub_name(model: str) -> bool:
    """Tell whether a text that names no folder or file can be a name on the hub."""
    if not _HUB_NAME.fullmatch(model) or model.lower().endswith(".gguf"):
        return False
    return not Path(model.partition("/")[0]).is_dir()


def name_of(model: str | os.PathLike[str]) -> str:
    """Return the name that a model would have, without looking for it."""
    path = Path(model)
    if path.suffix.lower() == ".gguf" and not path.is_dir():
        return path.resolve().stem
    # The last part of a name on the hub is the name of a folder, too.
    return path.resolve().name if path.exists() else _hub_model(os.fspath(model))


def _hub_model(repository: str) -> str:
    return repository.rstrip("/").rpartition("/")[2]


@contextmanager
def without_network() -> Iterator[None]:
    """Keep libraries of models from looking outside this machine."""
    from huggingface_hub import constants

    # The variable HF_HUB_OFFLINE is read once, on import; this is what it is read into.
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _no_remarks() -> Iterator[None]:
    """Keep the hub's remarks on every further try back; the last one is an error."""
    remarks = logging.getLogger("huggingface_hub")
    before = remarks.level
    remarks.setLevel(logging.ERROR)
    try:
        yield
    finally:
        remarks.setLevel(before)


def _found_on_hub(repository: str, revision: str | None) -> HubSource:
    from huggingface_hub import constants
    from transformers.utils import cached_file

    asked = f"{repository}{f' at revision {revision}' if revision else ''}"
    try:
        with _no_remarks():
            file = cached_file(repository, "config.json", revision=revision)
    # Whatever the network, the hub or the cache raise on the way.
    except (OSError, ValueError) as error:
        reason = (
            "the environment says HF_HUB_OFFLINE"
            if constants.HF_HUB_OFFLINE
            else " ".join(str(error).split()).partition(". ")[0][:300]
        )
        raise InputError(
            f"{_WAYS}; {repository} is not a folder here, and {asked} is neither in the hub's "
            f"cache nor to be had from the hub ({reason}). Check the name and the network, or "
            "name a folder."
        ) from error
    if file is None:
        raise InputError(f"model {asked} has no config.json on the hub. Name another.")
    # Files of a commit lie in a folder of its name.
    commit = Path(file).parent.name
    if not _COMMIT.fullmatch(commit):
        raise InputError(
            f"model {asked}: the hub's cache names no commit for {file}. Clear that cache entry."
        )
    return HubSource(repository, commit, Path(file))


def _read_config(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _add_content(digest: "hashlib._Hash", file: Path) -> None:
    with file.open("rb") as stream:
        # In blocks, because files of weights may be larger than memory.
        while block := stream.read(1 << 20):
            digest.update(block)
