"""API keys: where they are read, and how they are kept out of all that is shown or stored.

A key comes from an environment variable and goes into one header. Servers have been seen to quote
it in errors; people type it where its variable's name belongs.
"""

import json
import os
import re
from urllib.parse import quote

from coherence.errors import InputError

HIDDEN = "***"
# Names that people give such variables. A key has digits and letters in both cases, or hyphens.
_USUAL_NAME = re.compile(r"(?=[A-Z0-9_]*(?:KEY|TOKEN|API|SECRET|AUTH))[A-Z][A-Z_]*[0-9]{0,3}")
# Fewer characters are a placeholder, as is a word without a digit, and perhaps part of an answer.
_SHORTEST_SECRET = 8
NO_KEY = "none"
"""Goes where Inspect wants a key and a server of one's own has none."""


def read_key(variable: str | None) -> str | None:
    """Return the API key in an environment variable."""
    if variable is None:
        return None
    if variable not in os.environ and not _USUAL_NAME.fullmatch(variable):
        raise InputError(
            "key_variable (--api-key-env) must be the name of an environment variable that holds "
            "the API key; there is none of the name that was given, which is not shown here, since "
            "it may be the key itself. Put the key into a variable, and give the variable's name."
        )
    key = os.environ.get(variable, "").strip()
    # A line break in a header would begin another header.
    if not key or not (key.isascii() and key.isprintable()):
        raise InputError(
            f"environment variable {variable} must hold an API key of printable ASCII characters; "
            f"{'it holds others' if key else 'it is empty or not set'}. Set it, or leave the "
            "variable's name out."
        )
    return key


def without_key(text: str, key: str | None) -> str:
    """Return a text with the key struck out, as it is or escaped for JSON or an address."""
    if key is None or len(key) < _SHORTEST_SECRET or key.isalpha():
        return text
    in_json = json.dumps(key)[1:-1].replace("/", "\\/")
    for spelling in (key, in_json, quote(key, safe="")):
        text = text.replace(spelling, HIDDEN)
    return text
