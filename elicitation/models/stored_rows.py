"""Rows of the answer store, and how a damaged one is known.

Every row carries a digest of all its other cells. Stores of the first layout have none; what is
known of their rows is that they can be read: texts are text, and computed answers are JSON.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from elicitation.models.base import Answer

CELLS = (
    "key",
    "model",
    "fingerprint",
    "text_digest",
    "settings",
    "draw",
    "seed",
    "answer",
    "extra",
    "created",
)
"""Columns of an answer, in their order; ``digest`` follows."""
DETAILS = tuple(field.name for field in fields(Answer) if field.name != "text")
_WHOLE_NUMBERS = ("draw", "seed")
# How `Draw.settings` begins where nothing is drawn and the answer is a list or object of numbers.
_COMPUTED = ('{"labels":', '{"answers": "exact"')


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it lies in the store.

    Parameters
    ----------
    text : str
        What the model said.
    seed : int
        The seed it was drawn with.
    created : str
        When it was stored, in UTC.
    logprob, n_tokens, finish_reason, thinking, n_prompt_tokens, served_by, unset, answer_mass
        See `Answer`; None where the model did not give it, or an older store does not have it.
    """

    text: str
    seed: int
    created: str
    logprob: float | None = None
    n_tokens: int | None = None
    finish_reason: str | None = None
    thinking: str | None = None
    n_prompt_tokens: int | None = None
    served_by: str | None = None
    unset: str | None = None
    answer_mass: float | None = None


def as_text(data: bytes) -> str:
    """Read a text of the database; bytes that are no UTF-8 become half surrogate pairs.

    Parameters
    ----------
    data : bytes
        Of a cell, damaged or not.

    Returns
    -------
    str
        The text.
    """
    return data.decode("utf-8", "surrogateescape")


def digest_of_row(cells: Sequence[Any]) -> str:
    """Return the digest that is stored with a row.

    Parameters
    ----------
    cells : sequence
        In the order of `CELLS`.

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.sha256(json.dumps(list(cells)).encode()).hexdigest()


def is_sound(cells: Sequence[Any], digest: Any) -> bool:
    """Tell whether a row is as it was written.

    Parameters
    ----------
    cells : sequence
        In the order of `CELLS`.
    digest : str or None
        Stored with the row; a row that has lost it is damaged, as every row was written with one.

    Returns
    -------
    bool
        False where the digest is another or none, or a cell is of another kind.
    """
    return _right_kinds(cells) and bool(digest == digest_of_row(cells))


def is_readable(cells: Sequence[Any]) -> bool:
    """Tell whether a row of the first layout can be read, which is all that is known of it.

    Parameters
    ----------
    cells : sequence
        In the order of `CELLS`.

    Returns
    -------
    bool
        False where a cell is of another kind, or is no text or JSON where it must be.
    """
    if not _right_kinds(cells):
        return False
    row = dict(zip(CELLS, cells, strict=True))
    try:
        "".join(row[name] for name in CELLS if name not in _WHOLE_NUMBERS).encode()
        if row["settings"].startswith(_COMPUTED):
            json.loads(row["answer"])
        return isinstance(json.loads(row["extra"]), dict)
    except ValueError:  # no UTF-8, no JSON
        return False


def _right_kinds(cells: Sequence[Any]) -> bool:
    return all(
        type(value) is (int if name in _WHOLE_NUMBERS else str)
        for name, value in zip(CELLS, cells, strict=True)
    )


def details_of(extra: str) -> dict[str, Any]:
    """Return what is stored beside the text of an answer.

    Parameters
    ----------
    extra : str
        Of a sound row.

    Returns
    -------
    dict
        One entry for each of `DETAILS`, None where it is not known, and ``about``.
    """
    known = json.loads(extra)  # older stores say less
    return {name: known.get(name) for name in DETAILS} | {"about": known.get("about", "")}
