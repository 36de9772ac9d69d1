"""HTTP to one server: JSON out, JSON in, bounded in time and in size.

Built on the standard library, so that asking a server needs no extra. Whatever goes wrong becomes a
`CallError` whose kind says what to do next. What a server sends is untrusted: it is cut, escaped in
messages, never followed to another address, and the key is struck out of it.
"""

import contextlib
import http.client
import json
import os
import socket
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from coherence.errors import InputError

Kind = Literal["again", "address", "request"]
_MAX_BYTES = 16 << 20
_SHOWN = 200
# Too early, conflict, timeout, too many requests: states that pass.
_PASSING = (408, 409, 425, 429)
_NOT_HERE = (401, 403, 404, 405)


class CallError(Exception):
    """A call that brought no answer.

    Parameters
    ----------
    kind : {"again", "address", "request"}
        "again" may go well the next time, here or elsewhere; "address" will never go well here;
        "request" is refused for what it says.
    message : str
        What happened, without the address.
    wait : float or None
        Seconds that the server asks to wait.
    status : int or None
        HTTP status, where there was one.
    """

    def __init__(
        self, kind: Kind, message: str, *, wait: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.wait, self.status = kind, wait, status


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
        if "@" in text:
            raise InputError(
                f"{rule}, without name or password. Put a key into an environment variable and name that variable."
            )
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise InputError(f"{rule}; received {text!r}: {error}.") from error
        bare = (
            text.isascii()
            and text.isprintable()
            and " " not in text
            and not parts.query
            and not parts.fragment
        )
        if parts.scheme not in ("http", "https") or not parts.hostname or not bare:
            raise InputError(f"{rule}; received {text!r}.")
        return cls(
            parts.scheme,
            parts.hostname,
            port or {"http": 80, "https": 443}[parts.scheme],
            parts.path.rstrip("/") or "/v1",
        )

    def __str__(self) -> str:
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
            f"environment variable {variable} must hold the API key; it is empty or not set. Set it, or leave the variable's name out."
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"environment variable {variable} must hold an API key of printable ASCII characters; it holds others."
        )
    return key


class Connection:
    """A connection that is kept between calls; for one thread at a time, except `abort`.

    Parameters
    ----------
    address : Address
        The server.
    limits : Limits
        Its timeouts count here.
    key : str or None
        Sent as bearer token.
    """

    def __init__(self, address: Address, *, limits: Limits, key: str | None = None) -> None:
        self.address, self.limits, self._key = address, limits, key
        self._http: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._expired = self._aborted = False

    def call(self, path: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the object that comes back.

        Parameters
        ----------
        path : str
            Below the address's path, such as ``/models``.
        payload : dict or None
            Sent as JSON by POST; None makes it a GET.

        Returns
        -------
        dict
            The JSON object.

        Raises
        ------
        CallError
            Anything else came, or nothing.
        """
        self._expired = False
        watch = threading.Timer(self.limits.total, self._expire)
        watch.daemon = True
        watch.start()
        try:
            try:
                status, headers, body = self._exchange(path, payload)
            except (
                http.client.HTTPException,
                OSError,
                UnicodeError,
            ) as error:  # the last: a host that is no name
                raise CallError("again", self._reason(error)) from error
        except BaseException:
            self.close()
            raise
        finally:
            watch.cancel()
        if status != 200:
            raise self._refused(status, headers, body)
        return self._parsed(body)

    def abort(self) -> None:
        """End a call that is under way in another thread, and all later ones."""
        self._aborted = True
        self._shut()

    def close(self) -> None:
        """Close; the next call opens again."""
        if self._http is not None:
            self._http.close()
        self._http = self._socket = None

    def _exchange(
        self, path: str, payload: dict[str, Any] | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        if self._http is not None:
            try:
                return self._send(self._http, path, payload)
            except (http.client.RemoteDisconnected, ConnectionError):
                # Servers close idle connections when they like: that is no failure, and says
                # nothing about the request.
                self.close()
        return self._send(self._open(), path, payload)

    def _open(self) -> http.client.HTTPConnection:
        if self._aborted:
            raise ConnectionAbortedError("stopped")
        kind = (
            http.client.HTTPSConnection
            if self.address.scheme == "https"
            else http.client.HTTPConnection
        )
        connection = kind(self.address.host, self.address.port, timeout=self.limits.connect)
        connection.connect()
        self._http, self._socket = connection, connection.sock
        if self._aborted or self._expired:  # while the connection was being made
            raise ConnectionAbortedError("stopped")
        connection.sock.settimeout(self.limits.read)
        return connection

    def _send(
        self, connection: http.client.HTTPConnection, path: str, payload: dict[str, Any] | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        body = None if payload is None else json.dumps(payload).encode()
        connection.request(
            "GET" if body is None else "POST", self.address.path + path, body=body, headers=headers
        )
        with connection.getresponse() as response:
            content = bytearray()
            while block := response.read(1 << 16):
                content += block
                if len(content) > _MAX_BYTES:
                    raise http.client.HTTPException(f"the response exceeds {_MAX_BYTES >> 20} MiB")
            if self._expired or self._aborted:  # what looks like the end is our own doing
                raise ConnectionAbortedError("stopped")
            if response.length:
                raise http.client.HTTPException(
                    f"the response broke off {response.length} bytes before its end"
                )
        if response.will_close:
            self.close()
        return response.status, response.headers, bytes(content)

    def _expire(self) -> None:
        self._expired = True
        self._shut()

    def _shut(self) -> None:
        connected = self._socket
        if connected is not None:
            # Wakes the thread that reads. Not SSLSocket.shutdown, which would turn the rest of the
            # stream into plain text.
            with contextlib.suppress(OSError):  # closed already
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _reason(self, error: Exception) -> str:
        if self._aborted:
            return "stopped"
        if self._expired:
            return f"no complete response within {self.limits.total:g} seconds"
        if isinstance(error, TimeoutError):
            return f"no response within {self.limits.connect if self._socket is None else self.limits.read:g} seconds"
        return f"no usable response: {self._shown(str(error) or type(error).__name__)}"

    def _refused(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> CallError:
        message = f"HTTP {status} {http.client.responses.get(status, '')}".rstrip()
        if 300 <= status < 400:
            target = self._shown(headers.get("Location", "nowhere"))
            return CallError(
                "address",
                f"{message}, a redirection to {target}; it is not followed. Give the address itself",
                status=status,
            )
        if body.strip():
            message += f": {self._shown(body.decode(errors='backslashreplace'))}"
        if status in (401, 403):
            message += (
                " (a key is sent only if the environment variable that holds it is named)"
                if self._key is None
                else " (a key was sent)"
            )
        if status in _PASSING or status >= 500 or status < 300:
            return CallError(
                "again", message, wait=seconds_to_wait(headers.get("Retry-After")), status=status
            )
        return CallError("address" if status in _NOT_HERE else "request", message, status=status)

    def _parsed(self, body: bytes) -> dict[str, Any]:
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise CallError(
                "again",
                f"the response is not JSON: {self._shown(body.decode(errors='backslashreplace'))}",
            ) from error
        if not isinstance(data, dict):
            raise CallError(
                "again",
                f"the response is not a JSON object: {self._shown(body.decode(errors='backslashreplace'))}",
            )
        return data

    def _shown(self, text: str) -> str:
        """Cut and escape what a server sent; servers have been seen to quote the key."""
        text = text if self._key is None else text.replace(self._key, "***")
        return text[:_SHOWN].encode("unicode_escape").decode("ascii")


def seconds_to_wait(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read a Retry-After header (RFC 9110, section 10.2.3).

    Parameters
    ----------
    value : str or None
        Seconds or an HTTP date.
    now : datetime or None
        Time to count from, with its zone; None takes the present.

    Returns
    -------
    float or None
        Seconds from now, at least 0; None where the header is missing or makes no sense.

    Examples
    --------
    >>> seconds_to_wait("7")
    7.0
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((until - (now or datetime.now(UTC))).total_seconds(), 0.0)
