"""What all pages of a report share: the templates, and untrusted text made safe to show."""

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coherence.report import wording
from coherence.report.json import to_plain
from coherence.table.printable import UNPRINTABLE


@cache
def environment() -> Environment:
    """Return the templates, which escape every value that is not markup already."""
    # Undefined names raise: a misspelt one would print nothing, and nobody would notice.
    made = Environment(
        loader=PackageLoader("coherence", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["ALERT"] = wording.ALERT
    return made


def visible(text: str) -> str:
    """Write control characters and direction overrides of a raw answer as escapes, to be seen."""
    # Nearly all answers are plain, and are looked at once.
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(character)[1:-1]
        if character not in "\n\t" and unicodedata.category(character) in UNPRINTABLE
        else character
        for character in text
    )


def breakable(check: str) -> Markup:
    """Let a narrow column break a check's name after its underscores and colon only."""
    # Markup.join escapes the parts.
    return Markup("<wbr>").join(re.split(r"(?<=[_:/])", wording.clean(check)))


def setting_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of settings as clean text, by name."""
    return [(wording.clean(name), _value(settings[name])) for name in sorted(settings)]


def _value(value: Any) -> str:
    if value is None:
        return wording.NOT_GIVEN
    if isinstance(value, str):
        return wording.clean(value)
    return wording.clean(json.dumps(to_plain(value), sort_keys=True, ensure_ascii=False))
