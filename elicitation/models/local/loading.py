"""What ``--model`` names, and loading it: a folder, a GGUF file, or a model on the hub.

A source knows where transformers finds the model, and which text stands for its weights in the
store of answers. Weights are read from safetensors and GGUF alone, and no code that comes with a
model is ever run. Only a name on the hub is looked for outside this machine. A folder is written
whole or not at all. What loads a network imports torch, what looks for one does not.
"""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

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
    from huggingface_hub import hf_hub_download

    asked = f"{repository}{f' at revision {revision}' if revision else ''}"
    try:
        file = Path(hf_hub_download(repository, "config.json", revision=revision))
    # Whatever the network, the hub or the cache raise on the way.
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).partition(". ")[0][:300]
        raise InputError(
            f"{_WAYS}; {repository} is not a folder here, and {asked} is neither in the hub's "
            f"cache nor to be had from the hub ({reason}). Check the name and the network, or "
            "name a folder."
        ) from error
    # Files of a commit lie in a folder of its name.
    commit = file.parent.name
    if not _COMMIT.fullmatch(commit):
        raise InputError(
            f"model {asked}: the hub's cache names no commit for {file}. Clear that cache entry."
        )
    return ModelSource("hub", file, repository, commit)


DTYPES = ("float32", "bfloat16", "float16")
# Lists of layers as architectures name them: model.layers.3, transformer.h.3, encoder.layer.3.
_LAYER = re.compile(r"(.+\.)?(layers?|h|blocks?)\.\d+\.")


# In fingerprints that stores hold.
UNQUANTISED = ";quantization=None"


def load_network(
    source: ModelSource,
    architecture: Any,
    *,
    as_what: str,
    dtype: str = "auto",
    device: str = "auto",
    device_map: str | Mapping[str, Any] | None = None,
    remedy: str = "Use a complete copy of the model.",
    new_head: bool = False,
    **tokenizer_options: Any,
) -> tuple[Any, Any, str]:
    """Load a network and its tokenizer; with `new_head` its head may begin with random weights.

    `dtype` "auto" is bfloat16 on an accelerator that has it, else float32; `device` "auto" the
    first CUDA device, else the processor. `device_map` goes to transformers as it is, to spread a
    model over devices, and takes the place of `device`.
    """
    from transformers import AutoTokenizer

    if device_map is not None and device != "auto":
        raise InputError(
            f"device_map says where the parts of a model go; received device {device!r} beside it. "
            "Leave one of them out."
        )
    if device_map is not None and find_spec("accelerate") is None:
        raise MissingExtraError("device-map", "A device map")
    device, dtype = choose_device(device, dtype)
    # Code that comes with a model would run with the rights of the user.
    common = {**source.options, "trust_remote_code": False}
    weights: dict[str, Any] = {"dtype": dtype}
    weights |= {} if source.kind == "gguf" else {"use_safetensors": True}
    weights |= {} if device_map is None else {"device_map": device_map}
    with _reading(source):
        try:
            _require_class(source, architecture, as_what)
            tokenizer = AutoTokenizer.from_pretrained(
                source.location, **common, **tokenizer_options
            )
            network, report = architecture.from_pretrained(
                source.location, **common, **weights, output_loading_info=True
            )
        except Exception as error:  # whatever a broken config, tokenizer or file raises on its way
            reason = " ".join(str(error).split())
            if "ignore_mismatched_sizes" in reason:  # said with advice that nobody here can take
                reason = (
                    "its weights have other sizes than its config.json says, so that the two "
                    "belong to different models. Use a complete copy of one."
                )
            raise InputError(
                f"{source.label} could not be loaded as a {as_what}: {reason}"
            ) from error
    missing = sorted(report["missing_keys"])
    if new_head:
        # Anything else that is missing would be random numbers in the middle of the model.
        body = network.base_model_prefix + "."
        missing = [key for key in missing if key.startswith(body) and "pooler" not in key]
    if missing:
        # transformers would fill them with random numbers and a remark.
        raise InputError(f"{source.label} lacks weights for {', '.join(missing[:3])}. {remedy}")
    # Whole layers that were left out; single weights may be another head's.
    layers = {match[0] for name in network.state_dict() if (match := _LAYER.match(name))}
    for name in sorted(report["unexpected_keys"]):
        if (match := _LAYER.match(name)) and match[0] not in layers:
            raise InputError(
                f"{source.label} has weights of layers that its config.json does not have, such "
                f"as {name}: the two belong to different models. Use a complete copy of one."
            )
    # With a map, transformers has put it where it runs, and it must not be moved.
    network = (network if device_map is not None else network.to(device)).eval()
    return network, tokenizer, dtype


def _require_class(source: ModelSource, architecture: Any, as_what: str) -> None:
    """Refuse a type of model that has no class for a purpose."""
    if source.kind == "gguf":
        return  # read twice, the file would take twice as long
    from transformers import AutoConfig

    # transformers would import and list all types that have one.
    config = AutoConfig.from_pretrained(source.location, **source.options, trust_remote_code=False)
    if type(config) not in architecture._model_mapping:
        raise InputError(
            f"{source.label} is of type {config.model_type}, of which transformers has no "
            f"{as_what}. Use another model."
        )


def choose_device(device: str, dtype: str) -> tuple[str, str]:
    """Resolve "auto" in a device and a precision."""
    import torch

    if dtype not in ("auto", *DTYPES):
        raise InputError(f"dtype must be one of auto, {', '.join(DTYPES)}; received {dtype!r}.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        accelerator = torch.device(device).type
    except RuntimeError as error:
        raise InputError(
            f"device must be auto or a torch device such as cpu or cuda:0; received {device!r}."
        ) from error
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device {device!r} needs a CUDA device, and torch finds none. "
            "Use cpu, or install a torch with CUDA."
        )
    if dtype == "auto":
        # Never float16: what a model trained in bfloat16 computes can exceed its range.
        half = accelerator == "cuda" and torch.cuda.is_bf16_supported()
        dtype = "bfloat16" if half else "float32"
    return device, dtype


@contextmanager
def _reading(source: ModelSource) -> Iterator[None]:
    """Read a model quietly; one that lies here without a look outside this machine."""
    with ExitStack() as stack:
        # Gigabytes may be on their way from the hub, and a bar says how many are left.
        stack.enter_context(quiet_transformers(bars=source.kind == "hub"))
        if source.kind != "hub":
            stack.enter_context(without_network())
        if source.kind == "gguf":
            # The bar of this conversion has no switch of its own; failures are raised.
            stack.enter_context(redirect_stderr(io.StringIO()))
        yield


@contextmanager
def quiet_transformers(*, bars: bool = False) -> Iterator[None]:
    """Keep remarks and deprecations of transformers back, and bars unless they are wanted.

    What matters is checked here.
    """
    from transformers.utils import logging as transformers_logging

    had_bars = transformers_logging.is_progress_bar_enabled()
    verbosity = transformers_logging.get_verbosity()
    if not bars:
        transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_bars and not bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give a folder in a private one beside the target, whose place it takes if all goes well."""
    private = Path(tempfile.mkdtemp(prefix=".part-", dir=target.absolute().parent))
    try:
        made = private / target.name
        made.mkdir()
        yield made
        made.rename(target)  # in one step, since both lie on one file system
    finally:
        # Not in an except: Ctrl-C is no Exception and shall leave nothing either.
        shutil.rmtree(private, ignore_errors=True)


def save_network(network: Any, tokenizer: Any, folder: Path) -> None:
    """Write a network and its tokenizer as ``save_pretrained`` does, in safetensors."""
    with quiet_transformers():
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
