"""Questions with options, answered with the letter of one."""

from collections.abc import Sequence
from dataclasses import dataclass

LETTERS = ("A", "B", "C", "D")
_ANSWER = "Answer with one letter.\nAnswer:"


@dataclass(frozen=True)
class OptionQuestion:
    """A question that is answered with a letter."""

    text: str  # ends where the letter comes
    letters: tuple[str, ...]  # letters of the options
    options: tuple[str, ...]  # options, in the order of the letters


def option_question(question: str, options: Sequence[str]) -> OptionQuestion:
    """Return a question with its options, which get letters in their order."""
    letters = LETTERS[: len(options)]
    lines = [
        question,
        *(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)),
        _ANSWER,
    ]
    return OptionQuestion("\n".join(lines), letters, tuple(options))
