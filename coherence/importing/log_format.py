"""What a format declares of itself; `coherence.importing.formats` lists them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coherence.importing.answer_log import AnswerLog

MAX_BYTES = 200_000_000
"""Bytes that one packed entry or file may unpack to unless the caller says otherwise."""


@dataclass(frozen=True)
class LogFormat:
    """A format that logs can have."""

    endings: tuple[str, ...]  # endings of its files, in small letters, with the dot
    # tells by the content whether a file of such an ending has this format
    recognises: Callable[..., bool]
    # turns a file into an `AnswerLog`; takes the path and, by name, `max_bytes`, the largest size
    # of one unpacked entry of a packed log
    read: "Callable[..., AnswerLog]"
    # Whether both callables also take, by name, `text`, what the user says about separators,
    # decimal marks and encodings. Such a format reads files packed by gzip as well.
    takes_text: bool = False
    # turns the logs of all files into those of answers, where a format has files that hold none
    join: "Callable[[Sequence[AnswerLog]], list[AnswerLog]] | None" = None
