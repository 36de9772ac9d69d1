"""What all pages share: templates that escape, one style for light and dark, and visible text."""

import base64
import hashlib
import unicodedata
from dataclasses import dataclass
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coherence.printable import UNPRINTABLE, capitalised
from coherence.report.document import Table
from coherence.report.wording import ALERT, clean


@cache
def environment(package: str = "coherence", folder: str = "report") -> Environment:
    """Return the templates of a folder and those here, which escape what is no markup already."""
    loader = ChoiceLoader([PackageLoader(package, folder), PackageLoader("coherence", "report")])
    # Undefined names raise: a misspelt one would print nothing, and nobody would notice.
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["ALERT"] = ALERT
    made.filters["clean"] = clean
    made.filters["capital"] = lambda text: capitalised(str(text))
    return made


@dataclass(frozen=True)
class Script:
    """A script that stands in a page, and the digest by which the page allows it and no other."""

    text: Markup
    digest: str


@cache
def script(name: str) -> Script:
    """Return a script that lies with the templates."""
    loader = environment().loader
    assert loader is not None
    text = loader.get_source(environment(), name)[0]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")


def render_table(table: Table) -> str:
    """Return a table as HTML."""
    return str(vars(environment().get_template("table.html.j2").module)["show_table"](table))


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
