"""API keys: where they are read, and how they are kept out of all that is shown or stored.

A key comes from an environment variable and goes into one header. Servers have been seen to quote
it in errors, and a proxy may put it anywhere; people type it where its variable's name belongs.
"""

import json
import os
import re
from urllib.parse import quote

from coherence.errors import InputError

HIDDEN = "***"
# Names that people give such variables. A key has digits and letters in both cases, or hyphens.
_USUAL_NAME = re.compile(r"(?=[A-Z0-9_]*(?:KEY|TOKEN|API|SECRET|AUTH))[A-Z][A-Z_]*[0-9]{0,3}")
_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|key|AIza)[-_]?[A-Za-z0-9_-]{8,}"
    r"|\b(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}"
)
# Too short for a secret, and perhaps a word of an answer.
_SHORTEST_SECRET = 8
NO_KEY = "none"
"""Goes where Inspect wants a key and a server of one's own has none."""
# Also those that Inspect and servers of one's own fill in: words, and no secrets.
_PLACEHOLDERS = frozenset((NO_KEY, "EMPTY", "inspectai", "llama-cpp-python", "ollama"))


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
    if not key:
        raise InputError(
            f"environment variable {variable} must hold the API key; it is empty or not set. "
            "Set it, or leave the variable's name out."
        )
    # A line break in a header would begin another header.
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"environment variable {variable} must hold an API key of printable ASCII characters; "
            "it holds others."
        )
    return key


def without_keys(text: str) -> str:
    """Return a text that a user typed, with everything that looks like a key struck out."""
    return _LIKE_A_KEY.sub(HIDDEN, text)


class KeyMask:
    """Strikes one key out of what a server sent, as it is or escaped for JSON or an address.

    Parameters
    ----------
    key : str or None
        The key; None strikes nothing out, nor does a placeholder.
    """

    def __init__(self, key: str | None) -> None:
        key = "" if key is None or key in _PLACEHOLDERS else key
        in_json = json.dumps(key)[1:-1].replace("/", "\\/")
        self._spellings = {key, in_json, quote(key, safe="")} - {""}
        self._secret = len(key) >= _SHORTEST_SECRET

    def words(self, sent: str) -> str:
        """Strike the key out of a text that is to be shown."""
        for spelling in self._spellings:
            sent = sent.replace(spelling, HIDDEN)
        return sent

    def answer(self, text: str) -> str:
        """Strike the key out of an answer that is to be kept.

        A key of fewer than eight characters stays: it is a placeholder, and may be a word or a
        digit of an answer.
        """
        return self.words(text) if self._secret else text
