"""Hidden states at the end of belief questions, in one safetensors file beside a runs table.

A row of the file is a text, and its metadata say which contexts it is of. A digest of each text
ties the file to its table: ids of contexts are alike in many. What a file says of itself is checked
before it is used, since it may be from anywhere.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from coherence.table.files import replacing
from elicitation.models.base import HiddenModel
from elicitation.questions.plan import Plan, reference_of

ENDING = ".hidden.safetensors"
FORMAT = "coherence hidden states 1"
AGAIN = (
    "Give the same command of 'coherence elicit' with --keep-hidden: stored answers are not asked "
    "again, and each text is read once."
)
_TENSOR = "hidden"


@dataclass(frozen=True)
class HiddenStates:
    """Hidden states at the last token of texts."""

    values: NDArray[Any]  # shape (n_texts, n_layers, width), float16; float32 if they exceed it
    layers: tuple[int, ...]  # 0 is what goes into the first layer
    model: str
    prompt: str  # variant of the belief question
    digests: tuple[str, ...]  # of each text
    rows: dict[str, int]  # context, as text -> row

    def of(self, contexts: Sequence[Any], texts: Sequence[Any], path: Path) -> NDArray[Any]:
        """Return the states of contexts whose questions have these texts, one each."""
        rows = [self.rows.get(str(context), -1) for context in contexts]
        others = [
            context
            for context, text, row in zip(contexts, texts, rows, strict=True)
            if row < 0 or self.digests[row] != digest(str(text))
        ]
        if others:
            raise InputError(
                f"{path} holds hidden states of another table: {len(others)} of {len(rows)} cases "
                f"are not in it or were asked another question, the first is {others[0]!r}. {AGAIN}"
            )
        return self.values[rows]


def digest(text: str) -> str:
    """Return what a text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_states(
    model: HiddenModel, plan: Plan, layers: Sequence[int] | None = None
) -> HiddenStates:
    """Have a model read the belief questions of the reference prompt, each text once."""
    asked = [each for each in plan.questions if each.spec.role == "belief"]
    reference = reference_of(list(dict.fromkeys(each.spec.key for each in asked)))
    texts = {each.case: each.text for each in asked if each.spec.key == reference}
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts.values()))}
    kept, values = model.hidden_states(list(row_of), layers)
    if np.abs(values).max() <= np.finfo(np.float16).max:
        values = values.astype(np.float16)
    contexts = plan.cases["context"].tolist()
    rows = {str(contexts[case]): row_of[text] for case, text in texts.items()}
    return HiddenStates(values, kept, model.name, reference, tuple(map(digest, row_of)), rows)


def write_states(states: HiddenStates, path: Path) -> None:
    """Write a file, whole or not at all."""
    from safetensors.numpy import save

    about = {"layers": states.layers, "digests": states.digests, "rows": states.rows}
    metadata = {name: json.dumps(value) for name, value in about.items()}
    metadata |= {"format": FORMAT, "model": states.model, "prompt": states.prompt}
    with replacing(path) as temporary:
        temporary.write_bytes(save({_TENSOR: np.ascontiguousarray(states.values)}, metadata))


def load_states(path: Path) -> HiddenStates:
    """Read a file and check what it says of itself."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"{path} does not exist: there are no hidden states. {AGAIN}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            values = file.get_tensor(_TENSOR) if _TENSOR in file.keys() else None  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{path} is cut or no safetensors file ({' '.join(str(error).split())[:80]}). {AGAIN}"
        ) from error
    if values is None or metadata.get("format") != FORMAT:
        raise InputError(f"{path} was not written by 'coherence elicit --keep-hidden'. {AGAIN}")
    layers = _said(metadata, "layers", list, lambda each: type(each) is int and each >= 0, path)
    digests = _said(metadata, "digests", list, lambda each: isinstance(each, str), path)
    rows = _said(metadata, "rows", dict, lambda row: row in range(len(digests)), path)
    if values.shape[:2] != (len(digests), len(layers)) or values.ndim != 3 or not values.size:
        raise _contradiction(path, f"states of shape {values.shape}")
    if values.dtype not in (np.float16, np.float32) or not np.isfinite(values).all():
        raise _contradiction(path, "states that are no finite float16 or float32 numbers")
    model, prompt = metadata.get("model", ""), metadata.get("prompt", "")
    return HiddenStates(values, tuple(layers), model, prompt, tuple(digests), rows)


def _said(
    metadata: dict[str, str], name: str, kind: type[Any], holds: Callable[[Any], bool], path: Path
) -> Any:
    """Return an entry of the metadata, a list or an object whose values keep to a rule."""
    try:
        value = json.loads(metadata.get(name, ""))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind) or not value:
        raise _contradiction(path, f"no {name} in its metadata")
    values = value.values() if isinstance(value, dict) else value
    if not all(holds(each) for each in values):
        raise _contradiction(path, f"{name} in its metadata that do not fit")
    return value


def _contradiction(path: Path, what: str) -> InputError:
    return InputError(f"{path} has {what}, and cannot be used. {AGAIN}")
