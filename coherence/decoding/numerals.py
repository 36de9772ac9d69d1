"""Numbers as models write them, as exact fractions, and the record of what it took to read them.

A number is kept as an exact fraction, so that "0.70 (70%)" is one number, said twice. What may be
another number is none: a bound, a range, a power, a comma that may part thousands.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from coherence.table.schema import STATUSES

# Possessive: a long row of digits is taken or left as a whole, and costs no time squared.
_DIGITS = r"[0-9]++"
_PLAIN = rf"(?:{_DIGITS}(?:\.[0-9]*+)?|\.{_DIGITS})"
# What stands right before or behind a number can make it another: "<0.7", "0.7-0.8", "1,000,000".
NUMBER = re.compile(
    rf"""(?<![\w.,/%^*~<>-])
    (?:(?P<numerator>{_DIGITS})(?:\ ?/\ ?|\ (?:out\ of|in)\ )(?P<denominator>{_DIGITS})
      |(?P<number>[+-]?(?:{_DIGITS},{_DIGITS}|{_PLAIN}(?:[eE][+-]?[0-9]{{1,3}})?))
       (?P<percent>\ ?%|\ (?:percent|per\ cent)\b)?)
    (?![\w/%^*~<>+-]|\ ?[.,/]\ ?[0-9]|\.\.
       |\ (?:in|out\ of|to|per)\ (?:[0-9]|(?:an?|every|two|three|four|five|six|seven|eight|nine|ten|
          twelve|twenty|fifty|hundred|thousand|million)\b\ *(?:$|[.,;)\n]|few|dozen|hundred|
          thousand|million)))""",
    re.VERBOSE,
)
# Longer digit strings are no probabilities and would only cost time.
_MOST_DIGITS = 40
_SIGNS = {
    "−": "-",
    "﹣": "-",
    "－": "-",
    "＋": "+",
    "：": ":",
    "％": "%",
    "٪": "%",
    "．": ".",
    "٫": ".",
    "，": ",",
    "⁄": "/",
    "＝": "=",
    "’": "'",
}


class UnreadableError(Exception):
    """No repair gives the answer a meaning."""


@dataclass
class RepairedText:
    """Text on its way to a value, and the repairs that it took.

    Parameters
    ----------
    text : str
        The answer.
    """

    text: str
    repairs: set[str] = field(default_factory=set)

    def note(self, name: str) -> None:
        """Record a repair by the name that follows ``repaired:``."""
        self.repairs.add(f"repaired:{name}")

    @property
    def status(self) -> str:
        """The repair that departs furthest from the form."""
        if not self.repairs:
            raise UnreadableError  # what misses the form must not pass as if it did not
        return max(self.repairs, key=STATUSES.index)


def plain_character(character: str) -> str:
    """Return a digit, sign or blank of another script as one of ASCII; others as they are."""
    if character.isascii():
        return character
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if unicodedata.category(character) == "Zs":
        return " "
    if unicodedata.decomposition(character).startswith("<fraction>"):
        # Set apart, so that "1½" reads as two numbers, which is to say not at all.
        return f" {unicodedata.normalize('NFKC', character).replace('⁄', '/')} "
    return _SIGNS.get(character, character)


# Models state few different numbers, and an exact fraction is slow to make.
@lru_cache(maxsize=4096)
def _exactly(number: str) -> Fraction:
    return Fraction(number)


@lru_cache(maxsize=4096)
def _of_hundred(value: Fraction) -> Fraction:
    return value / 100


def value_of(match: re.Match[str], reading: RepairedText) -> Fraction:
    """Return the exact value of a match of `NUMBER`, and note the repairs that it takes."""
    if len(match[0]) > _MOST_DIGITS:
        raise UnreadableError
    if match["numerator"]:
        reading.note("fraction")
        # Fraction would raise ZeroDivisionError, and no answer may.
        parts = int(match["numerator"]), int(match["denominator"])
        # "50/50" and "30/70" are two shares, and no fraction.
        if parts[1] == 0 or (sum(parts) == 100 and parts[0] > 0):
            raise UnreadableError
        return Fraction(*parts)
    number = match["number"]
    if number[0] == "+" or "e" in number.lower():
        reading.note("notation")
    if "," in number:
        whole, decimals = number.lstrip("+-").split(",")
        if whole != "0" and len(decimals) > 2:
            raise UnreadableError  # "1,000" may be one or a thousand
        reading.note("comma")
        number = number.replace(",", ".")
    value = _exactly(number)
    if match["percent"]:
        reading.note("percent")
        return _of_hundred(value)
    return value
