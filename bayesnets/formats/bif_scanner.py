"""The tokens of a BIF file, with their lines.

Names may be quoted and then hold anything; inside quotes a backslash stands before a quote or a
backslash. Comments are those of C++, and count as white space.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from coherence.errors import InputError

QUOTED = r'"(?:\\[^\n]|[^"\\\n])*"'
"""A quoted name. It ends on its line, so that a forgotten quote does not swallow the file."""

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    rf'(?P<mark>[{{}}()\[\],;|])|(?P<quoted>{QUOTED})|(?P<word>(?:(?!//|/\*)[^\s{{}}()\[\],;|"])+)'
)
_PROPERTY = re.compile(rf'(?:{QUOTED}|[^";])*;')


@dataclass(frozen=True)
class Token:
    """A mark, a quoted name, a word or the end of the file.

    Parameters
    ----------
    kind : {"mark", "quoted", "word", "end"}
        What it is.
    text : str
        Its text, without quotes.
    line : int
        Where it stands.
    """

    kind: str
    text: str
    line: int


class Scanner:
    """The tokens of a file, one ahead of the parser.

    Parameters
    ----------
    text : str
        The file.
    at : callable
        Names the file and a line of it.

    Attributes
    ----------
    token : Token
        What comes next.
    inside : str
        What is being read, for messages; set by the parser.
    """

    def __init__(self, text: str, at: Callable[[int], str]) -> None:
        self.text, self.located = text, at
        self.position, self.counted, self.line = 0, 0, 1
        self.inside = "the file"
        self.advance()

    @property
    def here(self) -> str:
        """The file and the line of the present token."""
        return self.located(self.token.line)

    def fail(self, expected: str, remedy: str) -> NoReturn:
        """Raise the error that something else was expected."""
        if self.token.kind == "end":
            raise InputError(
                f"{self.here}: the file ends inside {self.inside}, where {expected} must "
                "follow. Is it truncated? Get the whole file."
            )
        raise InputError(
            f"{self.here}: expected {expected} in {self.inside}, found "
            f"{self.token.text[:40]!r}. {remedy}"
        )

    def advance(self) -> None:
        """Go on to the next token, past space and comments."""
        space = _SPACE.match(self.text, self.position)
        start = space.end() if space else self.position
        # Only what was not counted before, so that a file is counted once, not once per token.
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        match = _TOKEN.match(self.text, start)
        if match:
            kind, text, self.position = str(match.lastgroup), match.group(), match.end()
            self.token = Token(kind, unquoted(text) if kind == "quoted" else text, self.line)
        elif start == len(self.text):
            self.token = Token("end", "", self.line)
            self.position = start
        else:
            what = "quote" if self.text[start] == '"' else "comment"
            closing = '"' if what == "quote" else "*/"
            raise InputError(
                f"{self.located(self.line)}: this {what} is never closed. "
                f"Close it with {closing} (a name must stay on its line)."
            )

    def at(self, *texts: str) -> bool:
        """Return whether one of these marks or bare words comes next; a quoted one is a name."""
        return self.token.kind in ("mark", "word") and self.token.text in texts

    def mark(self, text: str) -> None:
        """Read past a mark, or fail."""
        if not self.at(text):
            self.fail(
                repr(text),
                "Put names with spaces or punctuation in double quotes, and end every entry with "
                "';'.",
            )
        self.advance()

    def name(self, what: str) -> str:
        """Read a name, or fail because `what` was expected."""
        if self.token.kind not in ("word", "quoted"):
            self.fail(what, "Names with spaces or punctuation must be in double quotes.")
        text = self.token.text
        self.advance()
        return text

    def names(self, what: str, closing: str) -> Iterator[str]:
        """Yield names up to a closing mark; commas between them may be missing."""
        while not self.at(closing):
            if self.at(","):
                self.advance()
            else:
                yield self.name(what)
        self.advance()

    def property(self) -> str:
        """Skip a property, which is free text up to a semicolon, and return it."""
        match = _PROPERTY.match(self.text, self.position)
        if not match:
            raise InputError(
                f"{self.here}: this property is never closed. "
                "End it with ';', and close its quotes."
            )
        self.position = match.end()
        self.advance()
        return match.group()


def unquoted(text: str) -> str:
    """Return what stands inside quotes, without the backslashes that protect it."""
    return re.sub(r'\\(["\\])', r"\1", text[1:-1])


def quoted(text: str) -> str:
    """Return text in quotes, such that `unquoted` gives it back."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
