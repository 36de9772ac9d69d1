"""The folder of a model: what it must hold, and the digest of all that can change an answer."""

import hashlib
from pathlib import Path

from coherence.errors import InputError

# Everything in a model folder that can change an answer; a log of the training, say, does not belong to the fingerprint.
_PATTERNS = ("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json", "chat_template*", "*token*.json",
             "tokenizer.model", "vocab.*", "merges.txt")  # fmt: skip


def check_folder(path: Path) -> None:
    """Raise an `InputError` that names what is missing, unless a folder has config, safetensors weights and tokenizer files."""
    # transformers takes a missing folder for the name of a repository on a hub, and its error speaks of that.
    if not path.is_dir():
        raise InputError(f"model must be a folder with config.json and safetensors weights; {path} is not a folder.")
    missing = [name for name in ("config.json", "*.safetensors") if not any(path.glob(name))]
    missing += [] if any(path.glob("tokenizer*")) else ["tokenizer files"]
    if missing:
        raise InputError(f"model folder {path} lacks {', '.join(missing)}. Give a folder written by save_pretrained, tokenizer included.")


def fingerprint_of(path: Path, settings: str) -> str:
    """Return a SHA-256 digest of the files that can change an answer, and of the settings that the model is loaded with."""
    digest = hashlib.sha256(settings.encode())
    for file in sorted({file for pattern in _PATTERNS for file in path.glob(pattern) if file.is_file()}):
        digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
