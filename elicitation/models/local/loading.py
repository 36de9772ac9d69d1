"""Models from folders: what a folder must hold, where its model runs and in what precision.

Only local safetensors weights are read and no code from the folder is run.
"""

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from coherence.errors import InputError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
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


def load_folder(
    path: Path,
    architecture: Any,
    *,
    as_what: str,
    remedy: str,
    dtype: str,
    device: str,
    threads: int | None,
    **tokenizer_options: Any,
) -> tuple[Any, Any, str]:
    """Load the network and the tokenizer in a folder.

    Parameters
    ----------
    path : Path
        The folder.
    architecture : type
        A transformers class with ``from_pretrained``.
    as_what : str
        What the network is loaded as, for messages.
    remedy : str
        What to do where weights are missing, for messages.
    dtype, device, threads
        As of `load_causal_model`.
    **tokenizer_options
        Further options of the tokenizer.

    Returns
    -------
    network : transformers.PreTrainedModel
        In evaluation mode, on its device.
    tokenizer : transformers.PreTrainedTokenizerBase
        Its tokenizer.
    dtype : str
        Precision of the weights, not "auto".

    Raises
    ------
    InputError
        The folder is missing or incomplete, or an option is outside its range.
    """
    check_folder(path)
    device, dtype = choose_device(device, dtype)
    if threads is not None:
        if threads < 1:
            raise InputError(f"threads must be positive; received {threads}.")
        torch.set_num_threads(threads)
    # Code from a folder would run with the rights of the user.
    local = {"local_files_only": True, "trust_remote_code": False}
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(path, **local, **tokenizer_options)
            network, report = architecture.from_pretrained(
                path, **local, use_safetensors=True, dtype=DTYPES[dtype], output_loading_info=True
            )
        # Whatever a broken config, tokenizer or file of weights raises on its way.
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"model folder {path} could not be loaded as a {as_what}: {reason}"
            ) from error
    if report["missing_keys"]:
        # transformers would fill them with random numbers and a remark.
        missing = ", ".join(sorted(report["missing_keys"])[:3])
        raise InputError(f"model folder {path} lacks weights for {missing}. {remedy}")
    return network.to(device).eval(), tokenizer, dtype


def check_folder(path: Path) -> None:
    """Raise an `InputError` that names what a folder lacks of config, weights and tokenizer."""
    # transformers takes a missing folder for the name of a repository on a hub, and its error
    # speaks of that.
    if not path.is_dir():
        raise InputError(
            "model must be a folder with config.json and safetensors weights; "
            f"{path} is not a folder."
        )
    missing = [name for name in ("config.json", "*.safetensors") if not any(path.glob(name))]
    missing += [] if any(path.glob("tokenizer*")) else ["tokenizer files"]
    if missing:
        raise InputError(
            f"model folder {path} lacks {', '.join(missing)}. "
            "Give a folder written by save_pretrained, tokenizer included."
        )


def choose_device(device: str, dtype: str) -> tuple[str, str]:
    """Resolve "auto" in a device and a precision.

    Parameters
    ----------
    device, dtype : str
        As of `load_causal_model`.

    Returns
    -------
    tuple of str
        Device and precision, neither of them "auto".

    Raises
    ------
    InputError
        An unknown precision or device, or a CUDA device where there is none.
    """
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


def fingerprint_of(path: Path, settings: str) -> str:
    """Return a SHA-256 digest of the files that can change an answer, and of further settings."""
    # Contents and not dates: a copy of the model is the same model, and its answers are found.
    digest = hashlib.sha256(settings.encode())
    # A set, because one file may match two patterns.
    files = {file for pattern in _PATTERNS for file in path.glob(pattern) if file.is_file()}
    for file in sorted(files):
        digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            # In blocks, because files of weights may be larger than memory.
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep bars, remarks and deprecations of transformers back; what matters is checked here."""
    bars = transformers_logging.is_progress_bar_enabled()
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
