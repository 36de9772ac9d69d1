"""What is said before a call: where a server listens, and how long to wait for it."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from coherence.errors import InputError
from elicitation.models.servers.keys import without_keys

_VERSION = "api-version"
_AZURE = (".azure.com", ".azure.us", ".azure.cn")


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
        one up to the longest.
    max_wait : float
        A server that says "too many requests" (HTTP 429) is waited for, as long as it asks; if it
        asks for longer than these seconds, or has answered nothing for as long, it is set aside.
    """

    connect: float = 10.0
    read: float = 300.0
    total: float = 600.0
    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 60.0
    max_wait: float = 600.0

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        # Written so that NaN, which compares as false, is refused too.
        for name, value in vars(self).items():
            if not 0 < value < float("inf"):
                raise InputError(f"limit {name} must be positive and finite; received {value!r}.")


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    # scheme, host, port, path: parts of the address; the path begins with a slash and does not end
    # with one
    scheme: str
    host: str
    port: int
    path: str
    version: str = ""  # what follows ``?api-version=`` in addresses of Azure, else empty

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read an address such as ``http://localhost:8000``; one without a path gets ``/v1``.

        Of what may follow a question mark only Azure's ``api-version`` is taken.
        """
        rule = "server must be an address such as http://localhost:8000 or https://host/v1"
        # Addresses are shown in messages and kept in stores; a password must never reach one.
        if "@" in text:
            raise InputError(
                f"{rule}, without name or password. "
                "Put a key into an environment variable and name that variable."
            )
        if not text.lower().startswith(("http://", "https://")):
            raise InputError(
                f"{rule}; what was given begins with neither http:// nor https://, and is not "
                "shown, since it may be a key."
            )
        # What follows a question mark may be a key: it is looked at, and not shown.
        shown = without_keys(text.partition("?")[0].partition("#")[0])
        try:
            parts = urlsplit(text)
            port = parts.port
            query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        except ValueError as error:
            raise InputError(f"{rule}; received {shown!r}: {without_keys(str(error))}.") from error
        if set(query) - {_VERSION} or parts.fragment:
            raise InputError(
                f"{rule}; nothing but api-version may follow a question mark; received {shown!r} "
                "with more, which is not shown. Put a key into an environment variable and name "
                "that variable."
            )
        # What a parser would quietly drop or repair may be an address of somebody else.
        bare = text.isascii() and text.isprintable() and " " not in text
        if parts.scheme not in ("http", "https") or not parts.hostname or not bare:
            raise InputError(f"{rule}; received {shown!r}.")
        # The port is spelt out, so that two ways to write an address are equal.
        return cls(
            parts.scheme,
            parts.hostname,
            port or {"http": 80, "https": 443}[parts.scheme],
            parts.path.rstrip("/") or "/v1",
            query.get(_VERSION, ""),
        )

    @property
    def key_header(self) -> str:
        """The header that a key goes into: Azure has its own."""
        azure = self.host.endswith(_AZURE) or "/openai/deployments/" in f"{self.path}/"
        return "api-key" if azure else "Authorization"

    def url(self, path: str) -> str:
        """Return the whole address of a call."""
        return f"{self}{path}" + (f"?{urlencode({_VERSION: self.version})}" if self.version else "")

    def __str__(self) -> str:
        # Without the version, which changes nothing about the model. Colons of IPv6 would run into
        # that of the port.
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"
