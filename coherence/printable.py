"""Names and numbers as pages, terminals and figures print them.

Names of tasks, models and actions come from files and model output, and are printed nowhere as they
stand.
"""

import math
import re
import unicodedata
from collections.abc import Sequence

# Terminal commands first (CSI and OSC with their arguments): dropping the escape character alone
# would leave "[31m" behind.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
# Format characters (Cf) are the bidi overrides and zero-width marks that reorder or hide text.
UNPRINTABLE = ("Cc", "Cf", "Cs", "Co", "Cn")
ROUNDING = 1e-12
"""What sums of probabilities, which are computed, are off by at most: as good as zero."""


def significant(value: float, digits: int, *, sign: bool = False) -> str:
    """Return a number with so many digits; 0 where it is zero but for rounding."""
    kept = 0.0 if abs(value) <= ROUNDING else value
    return f"{kept:{'+' if sign and kept else ''}.{digits}g}"


def clean(text: object, *, limit: int | None = None) -> str:
    r"""Return untrusted text on one line, without terminal commands and direction overrides."""
    plain = str(text)
    if not plain.isprintable() or "  " in plain:  # nearly all texts are, and pages clean thousands
        plain = re.sub(r"\s+", " ", _ESCAPES.sub("", plain))
        # Line breaks and tabs went above: they part words, and must leave a blank behind.
        plain = "".join(m for m in plain if unicodedata.category(m) not in UNPRINTABLE)
    plain = plain.strip()
    return plain if limit is None or len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


def spreadsheet_safe(value: object) -> object:
    """Return a value for a CSV cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    plain = "".join(mark for mark in value if mark in "\n\t" or unicodedata.category(mark) != "Cc")
    runs = plain.lstrip().startswith(("=", "+", "-", "@")) and not _NUMBER.fullmatch(plain)
    return f"'{plain}" if runs else plain


def table_entries(table: str) -> list[str]:
    """Return the entries of a table that is written as text; a line that begins blank goes on."""
    return [re.sub(r"\s*\n\s*", " ", entry) for entry in re.split(r"\n(?! )", table.strip())]


def decimals_of(values: Sequence[float]) -> int:
    """Return the decimals with which the largest of some numbers has three digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > ROUNDING else 2


def format_numbers(values: Sequence[float], decimals: int | None = None) -> list[str]:
    """Format numbers that belong together with equal decimals: three digits of the largest."""
    decimals = decimals_of(values) if decimals is None else decimals
    # "z" takes the sign off a number that rounds to zero: "-0.00" would read as below it.
    return ["undefined" if math.isnan(value) else f"{value:z.{decimals}f}" for value in values]


def format_interval(values: Sequence[float], decimals: int | None = None) -> list[str]:
    """Format an interval, behind its estimate if there is one: no end but 0 is shown as 0."""
    decimals = decimals_of(values) if decimals is None else decimals
    ends = values if len(values) == 2 else values[1:]
    small = min((abs(end) for end in ends if ROUNDING < abs(end) < 1), default=1.0)
    needed = math.ceil(-math.log10(2 * small))
    # What is as good as 0 beside the estimate takes no more than three decimals; where it takes
    # more than one, the others do not need them.
    if needed <= decimals + 1 or needed > decimals + 3:
        return format_numbers(values, needed if needed == decimals + 1 else decimals)
    plain, fine = format_numbers(values, decimals), format_numbers(values, needed)
    return [
        each if abs(value) > ROUNDING and not float(text) else text
        for value, text, each in zip(values, plain, fine, strict=True)
    ]


def evaluation_name(task: object, model: object) -> str:
    """Return "task · model", with whatever of the two is named."""
    names = (clean(name, limit=80) for name in (task, model))
    return " · ".join(filter(None, names)) or "all rows"


def span(low: object, high: object) -> str:
    """Return "1–3", or one of the two where they are equal."""
    return str(low) if low == high else f"{low}–{high}"


def capitalised(text: str) -> str:
    """Return a sentence with a capital; its first word is never a label of a file."""
    return f"{text[:1].upper()}{text[1:]}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, which one thing has in the singular."""
    return f"{n} {numbered(n, noun, plural)}"


def numbered(n: int, noun: str, plural: str = "") -> str:
    """Return the noun alone, in the number that `counted` gives it."""
    return noun if n == 1 else plural or f"{noun}s"


PLAIN = str.maketrans(
    {
        **dict.fromkeys("─–—−·", "-"),
        **dict.fromkeys("│┃", "|"),
        **dict.fromkeys("●○•", "*"),
        **{"✗": "x", "✓": "v"},
        **dict.fromkeys("“”", '"'),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("\u00a0\u202f", " "),
        **{"…": "~", "×": "x", "→": ">", "≤": "<=", "≥": ">=", "±": "+-"},
    }
)
"""Signs of reports in ASCII, nearly all of the same width, so that columns stay aligned."""


def odds(stake: float) -> str:
    """Return the belief from which acting pays as loss : gain."""
    if stake >= 1:
        return "a loss alone"
    if stake <= 0:
        return "0:1"
    ratio = max(stake / (1 - stake), (1 - stake) / stake)
    many = f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"
    return f"{many}:1" if stake >= 0.5 else f"1:{many}"
