"""HTTP to one server: JSON out, JSON in, bounded in time and in size.

Whatever goes wrong becomes a `CallError` whose kind says what to do next. What a server sends is
untrusted: it is cut, escaped in messages, never followed to another address, and the key is struck
out of it.
"""

import contextlib
import json
import logging
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, Literal

import httpx

from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.faults import Refusal, plain_line, read_refusal
from elicitation.models.servers.keys import KeyMask
from elicitation.models.servers.streams import BrokenStreamError, assemble, is_stream

Kind = Literal["again", "busy", "address", "request"]
_MAX_BYTES = 16 << 20
_SHOWN = 200
# Timeout, conflict, too early: states that pass.
_PASSING = (408, 409, 425)
_NOT_HERE = (401, 403, 404, 405)


class CallError(Exception):
    """A call that brought no answer.

    Parameters
    ----------
    kind : {"again", "busy", "address", "request"}
        "again" may go well the next time, here or elsewhere; "busy" will go well here after a
        while; "address" will never go well here; "request" is refused for what it says.
    message : str
        What happened, without the address.
    wait : float or None
        Seconds that the server asks to wait.
    status : int or None
        HTTP status, where there was one.
    refusal : Refusal or None
        What the server said, where it said something.
    remedy : str
        What the user can do; empty for the usual advice.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        wait: float | None = None,
        status: int | None = None,
        refusal: Refusal | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        self.kind, self.wait, self.status = kind, wait, status
        self.refusal, self.remedy = refusal, remedy


class Connection:
    """A connection that is kept between calls; for one thread at a time, except `abort`.

    Parameters
    ----------
    address : Address
        The server.
    limits : Limits
        Its timeouts count here.
    key : str or None
        Sent as bearer token, or in the header that Azure has for it.
    """

    def __init__(self, address: Address, *, limits: Limits, key: str | None = None) -> None:
        self.address, self.limits, self._key = address, limits, key
        self._mask = KeyMask(key)
        if key is not None:
            _strike_out_of_logs(key)
        self._socket: socket.socket | None = None
        self._opened = self._expired = self._aborted = False
        # The transport beneath a client of httpx: it follows no redirection, keeps no cookie,
        # unpacks no body (of any size), and takes neither proxy nor key from the environment.
        self._transport = httpx.HTTPTransport(
            verify=_trusted() if address.scheme == "https" else False, trust_env=False
        )
        self._timeouts = httpx.Timeout(limits.read, connect=limits.connect).as_dict()

    def call(self, path: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the object that comes back."""
        self._expired = False
        # The timeouts of httpx count from byte to byte: a trickle would never end.
        watch = threading.Timer(self.limits.total, self._expire)
        watch.daemon = True
        watch.start()
        try:
            response, body = self._exchange(path, payload)
        # The last two: of a host that is no name.
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise CallError("again", self._reason(error)) from error
        finally:
            watch.cancel()
        if response.status_code != 200:
            raise self._refused(response.status_code, response.headers, body)
        data = self._parsed(body, response.headers.get("Content-Type", ""))
        # Gateways have been seen to wrap the error of the server behind them in a success.
        if "choices" not in data and data.get("error"):
            wrapped = data["error"]
            code = wrapped.get("code") if isinstance(wrapped, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise self._refused(status, response.headers, json.dumps(data).encode())
        return data

    def abort(self) -> None:
        """End a call that is under way in another thread, and all later ones."""
        self._aborted = True
        self._shut()

    def close(self) -> None:
        """Close for good."""
        self._transport.close()

    def _exchange(self, path: str, payload: dict[str, Any] | None) -> tuple[httpx.Response, bytes]:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if self._key is not None:
            name = self.address.key_header
            headers[name] = f"Bearer {self._key}" if name == "Authorization" else self._key
        request = httpx.Request(
            "GET" if payload is None else "POST",
            self.address.url(path),
            headers=headers,
            content=None if payload is None else json.dumps(payload).encode(),
            extensions={"timeout": self._timeouts, "trace": self._trace},
        )
        # Set again by `_trace` where this call opens a connection.
        self._opened = False
        try:
            response = self._transport.handle_request(request)
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            if self._opened:
                raise
            # Servers close idle connections when they like: that is no failure, and says nothing
            # about the request.
            response = self._transport.handle_request(request)
        body = bytearray()
        try:
            with contextlib.closing(response):
                for block in response.iter_raw():
                    body += block
                    if len(body) > _MAX_BYTES:
                        raise httpx.ReadError(f"the response exceeds {_MAX_BYTES >> 20} MiB")
        except httpx.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(f"the response broke off: {error}") from error
        if self._expired or self._aborted:  # what looks like the end is our own doing
            raise httpx.ReadError("stopped")
        return response, bytes(body)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the socket of a new connection: httpx has no way to end a call from outside."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._opened = True
            self._socket = info["return_value"].get_extra_info("socket")
            if self._aborted or self._expired:  # while the connection was being made
                self._shut()

    def _expire(self) -> None:
        self._expired = True
        self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            # Wakes the thread that reads. Not SSLSocket.shutdown, which would turn the rest of the
            # stream into plain text.
            with contextlib.suppress(OSError):  # closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _reason(self, error: Exception) -> str:
        if self._aborted:
            return "stopped"
        if self._expired:
            return f"no complete response within {self.limits.total:g} seconds"
        if isinstance(error, httpx.TimeoutException):
            connecting = isinstance(error, httpx.ConnectTimeout)
            seconds = self.limits.connect if connecting else self.limits.read
            return f"no response within {seconds:g} seconds"
        return f"no usable response: {self._shown(str(error) or type(error).__name__)}"

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> CallError:
        message = f"HTTP {status} {httpx.codes.get_reason_phrase(status)}".rstrip()
        if 300 <= status < 400:
            target = self._shown(headers.get("Location", "nowhere"))
            return CallError(
                "address",
                f"{message}, a redirection to {target}; it is not followed. "
                "Give the address itself",
                status=status,
            )
        refusal = read_refusal(self._mask.words(body.decode(errors="backslashreplace")).encode())
        if refusal.message.strip():
            message += f": {self._shown(refusal.message)}"
        # The commonest mistake there is: the variable is set, and not named.
        if status in (401, 403):
            message += (
                " (a key is sent only if the environment variable that holds it is named)"
                if self._key is None
                else " (a key was sent)"
            )
        failed = partial(CallError, wait=told_wait(headers), status=status, refusal=refusal)
        if status == 429:
            # An account without money is refused in the same way, and no wait helps.
            return failed("address" if refusal.spent else "busy", message)
        # Other successes, such as 202 and 204, bring no answer yet.
        if status in _PASSING or status >= 500 or status < 300:
            return failed("again", message)
        # A filter may refuse a question with any of these; the others say nothing of the address.
        if status in _NOT_HERE and not refusal.filtered:
            return failed("address", message)
        return failed("request", message)

    def _parsed(self, body: bytes, content_type: str) -> dict[str, Any]:
        # Deep nesting exhausts the reader's stack, which is no reason to end a session.
        try:
            data = assemble(body) if is_stream(content_type, body) else json.loads(body)
            data = self._mask.data(data)
        except BrokenStreamError as error:
            raise CallError("again", f"{error}: {self._shown(body)}") from error
        except (ValueError, RecursionError) as error:
            raise CallError("again", f"the response is not JSON: {self._shown(body)}") from error
        if not isinstance(data, dict):
            raise CallError("again", f"the response is not a JSON object: {self._shown(body)}")
        return data

    def _shown(self, sent: str | bytes) -> str:
        """Cut and escape what a server sent; servers have been seen to quote the key."""
        text = sent if isinstance(sent, str) else sent.decode(errors="backslashreplace")
        # Struck out before anything is cut: half a key is a key to guess.
        text = plain_line(self._mask.words(text)).strip()
        return text[:_SHOWN].encode("unicode_escape").decode("ascii")


@cache
def _strike_out_of_logs(key: str) -> None:
    """Keep a key that a server repeats in a header out of the HTTP library's own log."""
    mask = KeyMask(key)

    def masked(record: logging.LogRecord) -> bool:
        record.msg = mask.words(str(record.msg))
        return True

    logging.getLogger("httpcore.http11").addFilter(masked)


@cache
def _trusted() -> ssl.SSLContext:
    # The system's certificates, not those that come with httpx: a laboratory may have its own.
    return ssl.create_default_context()


def told_wait(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait."""
    milliseconds = seconds_to_wait(headers.get("retry-after-ms"))
    return (
        seconds_to_wait(headers.get("Retry-After")) if milliseconds is None else milliseconds / 1e3
    )


def seconds_to_wait(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read a Retry-After header (RFC 9110, section 10.2.3)."""
    if value is None:
        return None
    value = value.strip()
    # Digits of other scripts are digits to Python; nine of them are thirty years. Fractions are no
    # part of the standard, and sent all the same.
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", value, re.ASCII):
        return float(value[:9])
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    # "-0000" says that the zone is unknown; the standard wants GMT.
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((until - (now or datetime.now(UTC))).total_seconds(), 0.0)
