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
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from coherence.errors import InputError, MissingExtraError

# Everything in a model folder that can change an answer; a log of the training, say, does not
# belong to the fingerprint.
_PATTERNS = (
    *("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"),
    *("chat_template*", "additional_chat_templates/*"),
    *("*token*.json", "tokenizer.model", "vocab.*", "merges.txt"),
)
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_WAYS = (
    "model must be a folder with config.json and safetensors weights, a .gguf file, "
    "or OWNER/NAME of a model on the hub"
)
_LOOK = 2.0  # seconds within which the hub must take a connection
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from: a folder, a GGUF file, or the hub at one commit."""

    kind: Literal["folder", "gguf", "hub"]
    path: Path  # the folder or the file; of the hub the config.json in its cache
    repository: str = ""  # OWNER/NAME on the hub
    commit: str = ""  # what was found on the hub for the revision asked for

    @property
    def name(self) -> str:
        """Value of the `model` column; a link has the name of its target."""
        return self.repository.rpartition("/")[2] or name_of(self.path)

    @property
    def label(self) -> str:
        """What messages call it."""
        if self.kind == "hub":
            return f"model {self.repository} at {self.commit[:12]}"
        return f"model {'folder' if self.kind == 'folder' else 'file'} {self.path}"

    @property
    def location(self) -> str:
        """What ``from_pretrained`` takes: of a GGUF file its folder."""
        if self.kind == "gguf":
            return str(self.path.absolute().parent)
        return self.repository or str(self.path)

    @property
    def options(self) -> dict[str, Any]:
        """Options of ``from_pretrained``, of the network and of the tokenizer."""
        if self.kind == "hub":  # the commit, so that tokenizer and weights are of one
            return {"revision": self.commit}
        file = {"gguf_file": self.path.name} if self.kind == "gguf" else {}
        return {"local_files_only": True, **file}

    def check(self) -> None:
        """Raise where something lacks that loading needs; what the hub lacks shows on loading."""
        if self.kind == "folder":
            wanted = ("config.json", "*.safetensors")
            missing = [name for name in wanted if not any(self.path.glob(name))]
            missing += [] if any(self.path.glob("tokenizer*")) else ["tokenizer files"]
            if missing:
                raise InputError(
                    f"{self.label} lacks {', '.join(missing)}. "
                    "Give a folder written by save_pretrained, tokenizer included."
                )
        elif self.kind == "gguf":
            with self.path.open("rb") as stream:
                if stream.read(4) != b"GGUF":
                    raise InputError(
                        f"{self.label} is no GGUF file. Fetch it again, or name another."
                    )
            # What transformers reads such files with.
            if any(find_spec(library) is None for library in ("gguf", "accelerate")):
                raise MissingExtraError("elicit", "Reading a .gguf file")

    def config(self) -> dict[str, Any]:
        """Return what config.json says; nothing where there is none, or a broken one."""
        file = self.path / "config.json" if self.kind == "folder" else self.path
        try:
            config = {} if self.kind == "gguf" else json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return config if isinstance(config, dict) else {}

    @property
    def files(self) -> list[Path]:
        """What lies here and can change an answer; nothing of the hub, where a commit says it."""
        if self.kind == "hub":
            return []
        if self.kind == "gguf":
            return [self.path]
        # A set, because one file may match two patterns.
        return sorted(
            {file for name in _PATTERNS for file in self.path.glob(name) if file.is_file()}
        )

    def fingerprint(self, settings: str) -> str:
        """Return a text that stands for the weights and for further settings.

        Of what lies here a SHA-256 digest of the files that can change an answer: contents and not
        dates, so that a copy of the model is the same model, and its answers are found.
        """
        if self.kind == "hub":
            return f"hub {self.repository}@{self.commit};{settings}"
        if self.kind == "gguf":
            digest = hashlib.sha256(f"gguf;{settings}\0".encode())
            _add_content(digest, self.path)
            return digest.hexdigest()
        digest = hashlib.sha256(settings.encode())
        for file in self.files:
            digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
            _add_content(digest, file)
        return digest.hexdigest()


def _add_content(digest: "hashlib._Hash", file: Path) -> None:
    with file.open("rb") as stream:
        # In blocks, because files of weights may be larger than memory.
        while block := stream.read(1 << 20):
            digest.update(block)


def find_source(model: str | os.PathLike[str], *, revision: str | None = None) -> ModelSource:
    """Tell what a model's name stands for, and check that it is there.

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
        source = ModelSource("gguf" if is_file else "folder", path)
        source.check()
        return source
    if is_file:
        raise InputError(f"{_WAYS}; {path} is another file.")
    name = os.fspath(model)
    is_name = _HUB_NAME.fullmatch(name) and not name.lower().endswith(".gguf")
    if not is_name or Path(name.partition("/")[0]).is_dir():
        raise InputError(f"{_WAYS}; {path} is not a folder or file that exists.")
    return _found_on_hub(name, revision)


def name_of(model: str | os.PathLike[str]) -> str:
    """Return the name that a model would have, without looking for it."""
    path = Path(model)
    if path.suffix.lower() == ".gguf" and not path.is_dir():
        return path.resolve().stem
    # The last part of a name on the hub is the name of a folder, too.
    return path.resolve().name if path.exists() else os.fspath(model).rstrip("/").rpartition("/")[2]


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


def is_multiple_choice(model: str | os.PathLike[str], *, revision: str | None = None) -> bool:
    """Tell whether a model chooses among options, by what its config.json says."""
    architectures = find_source(model, revision=revision).config().get("architectures")
    # transformers names the class that saved the model first.
    named = architectures[:1] if isinstance(architectures, list) else []
    return any(str(name).endswith("ForMultipleChoice") for name in named)


def _found_on_hub(repository: str, revision: str | None) -> ModelSource:
    from huggingface_hub import constants, hf_hub_download

    asked = f"{repository}{f' at revision {revision}' if revision else ''}"
    # Its remarks on every further try; the last one is an error.
    remarks = logging.getLogger("huggingface_hub")
    before = remarks.level
    remarks.setLevel(logging.ERROR)
    unreachable = (
        "the environment says HF_HUB_OFFLINE"
        if constants.HF_HUB_OFFLINE
        else _unreachable(constants.ENDPOINT)
    )
    file: str | None
    try:
        if unreachable:  # the libraries would try for half a minute, and load torch before
            file = hf_hub_download(
                repository, "config.json", revision=revision, local_files_only=True
            )
        else:
            from transformers.utils import cached_file

            file = cached_file(repository, "config.json", revision=revision)
    # Whatever the network, the hub or the cache raise on the way.
    except (OSError, ValueError) as error:
        reason = unreachable or " ".join(str(error).split()).partition(". ")[0][:300]
        raise InputError(
            f"{_WAYS}; {repository} is not a folder here, and {asked} is neither in the hub's "
            f"cache nor to be had from the hub ({reason}). Check the name and the network, or "
            "name a folder."
        ) from error
    finally:
        remarks.setLevel(before)
    if file is None:
        raise InputError(f"model {asked} has no config.json on the hub. Name another.")
    # Files of a commit lie in a folder of its name.
    commit = Path(file).parent.name
    if not _COMMIT.fullmatch(commit):
        raise InputError(
            f"model {asked}: the hub's cache names no commit for {file}. Clear that cache entry."
        )
    return ModelSource("hub", Path(file), repository, commit)


def _unreachable(endpoint: str) -> str:
    """Return why no connection to the hub can be opened, or ""; one try of at most two seconds."""
    address = urlsplit(endpoint)
    # Where a proxy stands between, it is what must answer.
    if not proxy_bypass(address.hostname or ""):
        proxies = getproxies()
        address = urlsplit(proxies.get(address.scheme) or proxies.get("all") or endpoint)
    reasons: list[str] = []

    def connect() -> None:
        try:
            port = address.port or {"http": 80, "https": 443}.get(address.scheme, 1080)
            socket.create_connection((address.hostname, port), timeout=_LOOK).close()
            reasons.append("")
        except (OSError, ValueError) as error:
            reasons.append(f"{address.netloc} cannot be reached: {error}")

    if not address.hostname:
        return ""  # whatever it is, the libraries say what is wrong with it
    # The look-up of a name knows no time limit, so that it cannot be waited for here.
    look = threading.Thread(target=connect, daemon=True)
    look.start()
    look.join(_LOOK)
    return reasons[0] if reasons else f"{address.netloc} does not answer within {_LOOK:g} s"
