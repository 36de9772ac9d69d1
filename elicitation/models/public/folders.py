"""What a model folder holds, read from its files without loading a network."""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coherence.errors import InputError

_MOST_HEADER = 100_000_000  # bytes; the format itself sets this limit


@dataclass(frozen=True)
class FolderFacts:
    """What there is to know about a model folder before it is loaded.

    Parameters
    ----------
    architecture : str
        The class that saved the model.
    n_parameters : int
        Numbers in its weights.
    precisions : tuple of str
        In which precisions they are stored, the most frequent first.
    context : int or None
        Tokens that a text and its answer may have together; None where the config does not say.
    vocabulary : int or None
        Tokens that there are.
    has_chat_template : bool
        Whether questions can be put as a user's turn.
    provenance : dict
        What `fetch` recorded; empty for a folder from elsewhere.
    """

    architecture: str
    n_parameters: int
    precisions: tuple[str, ...]
    context: int | None
    vocabulary: int | None
    has_chat_template: bool
    provenance: dict[str, Any]


def describe_folder(folder: Path) -> FolderFacts:
    """Read what a model folder holds.

    Parameters
    ----------
    folder : Path
        As written by ``save_pretrained``.

    Returns
    -------
    FolderFacts
        Counted from the heads of its files of weights.

    Raises
    ------
    InputError
        It is no folder, has no config.json or no safetensors, or these are broken.
    """
    config = _object(folder / "config.json")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise InputError(f"{folder} holds no safetensors weights. Name a folder of a model.")
    stored: Counter[str] = Counter()
    for file in weights:
        for precision, count in _header(file).values():
            stored[precision] += count
    architectures = config.get("architectures") or ["unknown"]
    tokenizer = folder / "tokenizer_config.json"
    template = "chat_template" in (_object(tokenizer) if tokenizer.is_file() else {})
    provenance = folder / "provenance.json"
    context = config.get("max_position_embeddings", config.get("n_positions"))
    return FolderFacts(
        str(architectures[0]),
        stored.total(),
        tuple(name for name, _ in stored.most_common()),
        context,
        config.get("vocab_size"),
        template or any(folder.glob("chat_template*")),
        _object(provenance) if provenance.is_file() else {},
    )


def _object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"model folder must hold a readable {file.name}; {file} is none. "
            "Name a folder as written by save_pretrained."
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"{file} must hold a JSON object. Fetch the model again.")
    return content


def _header(file: Path) -> dict[str, tuple[str, int]]:
    # Eight bytes that say how long it is, then JSON: names, shapes and precisions.
    try:
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            if size > _MOST_HEADER:
                raise ValueError("its head is too long")
            header = json.loads(stream.read(size))
            end = stream.tell()
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        longest = max((entry["data_offsets"][1] for entry in tensors.values()), default=0)
        known = {name: (str(at["dtype"]), math.prod(at["shape"])) for name, at in tensors.items()}
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{file} is no safetensors file ({error}). Fetch it again.") from error
    if end + longest != file.stat().st_size:
        raise InputError(
            f"{file} must have {end + longest} bytes by its head, and has {file.stat().st_size}: "
            "it was cut, or is another file. Fetch it again."
        )
    return known
