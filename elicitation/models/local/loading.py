"""Where a model runs and in what precision."""

import hashlib
from pathlib import Path

import torch

from coherence.errors import InputError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
        kind = torch.device(device).type
    except RuntimeError as error:
        raise InputError(
            f"device must be auto or a torch device such as cpu or cuda:0; received {device!r}."
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device {device!r} needs a CUDA device, and torch finds none. Use cpu, or install a torch with CUDA."
        )
    if dtype == "auto":
        dtype = "bfloat16" if kind == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return device, dtype


# Everything in a model folder that can change an answer; a log of the training, say, does not
# belong to the fingerprint.
_PATTERNS = ("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json", "chat_template*", "*token*.json",
             "tokenizer.model", "vocab.*", "merges.txt")  # fmt: skip


def check_folder(path: Path) -> None:
    """Raise an `InputError` that names what is missing, unless a folder has config, safetensors weights and tokenizer files."""
    # transformers takes a missing folder for the name of a repository on a hub, and its error
    # speaks of that.
    if not path.is_dir():
        raise InputError(
            f"model must be a folder with config.json and safetensors weights; {path} is not a folder."
        )
    missing = [name for name in ("config.json", "*.safetensors") if not any(path.glob(name))]
    missing += [] if any(path.glob("tokenizer*")) else ["tokenizer files"]
    if missing:
        raise InputError(
            f"model folder {path} lacks {', '.join(missing)}. Give a folder written by save_pretrained, tokenizer included."
        )


def fingerprint_of(path: Path, settings: str) -> str:
    """Return a SHA-256 digest of the files that can change an answer, and of the settings that the model is loaded with."""
    digest = hashlib.sha256(settings.encode())
    for file in sorted(
        {file for pattern in _PATTERNS for file in path.glob(pattern) if file.is_file()}
    ):
        digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
