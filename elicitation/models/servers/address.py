"""What is said before a call: where a server listens, its key, and how long to wait for it."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from coherence.errors import InputError


@dataclass(frozen=True)
class Limits:
    """How long to wait for servers, and how often to try.

    Parameters
    ----------
    connect : float
        Seconds for a connection to stand.
    read : float
        Seconds of silence; a server that does not stream is silent while it writes the whole
        answer.
    total : float
        Seconds for one call, whatever trickles in meanwhile.
    attempts : int
        An address is set aside after so many failures in a row, and a request is given up after so
        many where others succeed.
    first_wait, longest_wait : float
        Seconds before the second attempt, doubled (and varied at random by half) for each further
        one up to the longest. A server that asks for a longer wait than the longest is set aside.
    """

    connect: float = 10.0
    read: float = 300.0
    total: float = 600.0
    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        # Written so that NaN, which compares as false, is refused too.
        for name, value in vars(self).items():
            if not 0 < value < float("inf"):
                raise InputError(f"limit {name} must be positive and finite; received {value!r}.")


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    Parameters
    ----------
    scheme, host, port, path
        Parts of the address; the path begins with a slash and does not end with one.
    """

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read an address such as ``http://localhost:8000``; one without a path gets ``/v1``.

        Parameters
        ----------
        text : str
            The address.

        Returns
        -------
        Address
            In its parts.

        Raises
        ------
        InputError
            Not http or https, no host, or more than an address; a name and password are not shown
            in the message.

        Examples
        --------
        >>> str(Address.parse("http://localhost:8000/"))
        'http://localhost:8000/v1'
        """
        rule = "server must be an address such as http://localhost:8000 or https://host/v1"
        # Addresses are shown in messages and kept in stores; a password must never reach one.
        if "@" in text:
            raise InputError(
                f"{rule}, without name or password. "
                "Put a key into an environment variable and name that variable."
            )
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise InputError(f"{rule}; received {text!r}: {error}.") from error
        # What a parser would quietly drop or repair may be an address of somebody else.
        bare = (
            text.isascii()
            and text.isprintable()
            and " " not in text
            and not parts.query
            and not parts.fragment
        )
        if parts.scheme not in ("http", "https") or not parts.hostname or not bare:
            raise InputError(f"{rule}; received {text!r}.")
        # The port is spelt out, so that two ways to write an address are equal.
        return cls(
            parts.scheme,
            parts.hostname,
            port or {"http": 80, "https": 443}[parts.scheme],
            parts.path.rstrip("/") or "/v1",
        )

    def __str__(self) -> str:
        # Colons of IPv6 would run into that of the port.
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def read_key(variable: str | None) -> str | None:
    """Return the API key in an environment variable.

    Parameters
    ----------
    variable : str or None
        Its name; None for servers that want no key.

    Returns
    -------
    str or None
        The key; keep it out of messages.

    Raises
    ------
    InputError
        The variable is empty or holds what no header can carry; its value is not shown.
    """
    if variable is None:
        return None
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
