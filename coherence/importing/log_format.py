"""What a format declares of itself; `coherence.importing.formats` lists them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coherence.importing.answer_log import AnswerLog


@dataclass(frozen=True)
class LogFormat:
    """A format that logs can have.

    Parameters
    ----------
    endings : tuple of str
        Endings of its files, in small letters, with the dot.
    recognises : callable
        Tells by the content whether a file of such an ending has this format.
    read : callable
        Turns a file into an `AnswerLog`; takes the path and, by name, `max_bytes`, the largest size
        of one unpacked entry of a packed log.
    """

    endings: tuple[str, ...]
    recognises: Callable[[Path], bool]
    read: Callable[..., AnswerLog]
