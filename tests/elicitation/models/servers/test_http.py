"""Calls to a server: breaks if a body has no bound, a redirection is followed, a key is shown."""

import gzip
import json
import time
from datetime import UTC, datetime

import pytest

from coherence.errors import InputError
from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.http import CallError, Connection, seconds_to_wait
from elicitation.models.servers.keys import read_key
from elicitation.models.servers.server import connect_servers

from .fake_server import QUICK, Fake, after_opening, answer, connected, raw, requests, serving

KEY = "sk-quite-secret-0123456789"


def test_waits_are_read_from_seconds_and_dates():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert seconds_to_wait("Thu, 01 Jan 2026 00:01:30 GMT", now=now) == 90
    assert seconds_to_wait("Thu, 01 Jan 2026 00:01:30 -0000", now=now) == 90
    assert seconds_to_wait("Wed, 31 Dec 2025 00:00:00 GMT", now=now) == 0
    assert [seconds_to_wait(value) for value in ("12", " 0 ", None, "soon", "-3", "1e9", "")] == [
        12,
        0,
        None,
        None,
        None,
        None,
        None,
    ]


def test_redirections_are_not_followed():
    other = Fake()
    with serving(other) as elsewhere:
        fake = Fake(
            after_opening(
                lambda body, n: raw(307, b"", {"Location": f"{elsewhere}/v1/chat/completions"})
            )
        )
        with (
            connected(fake) as model,
            pytest.raises(ServersError, match="a redirection to http.*it is not followed"),
        ):
            model.generate(requests(1))
    assert other.asked == []


def test_bodies_are_cut_and_escaped_in_messages():
    body = b"\x1b[31m\r\n\xff<script>" + "\u202eü".encode() + b"x" * 5000
    fake = Fake(after_opening(lambda _, n: raw(400, body)))
    with connected(fake) as model, pytest.raises(InputError) as caught:
        model.generate(requests(1))
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    assert r"\x1b[31m\r\n\\xff<script>\u202e\xfcxxx" in message
    assert message.count("x" * 150) == 1
    assert len(message) < 500


def test_a_body_without_end_is_bounded(monkeypatch):
    monkeypatch.setattr("elicitation.models.servers.http._MAX_BYTES", 1 << 20)

    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * (1 << 16))

    fake = Fake(after_opening(lambda body, n: flood))
    with connected(fake) as model, pytest.raises(ServersError, match="exceeds 1 MiB"):
        model.generate(requests(1))


def test_silence_and_trickle_end_at_their_limits():
    def trickle(handler):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.02)

    def trickle_of_headers(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        trickle(handler)

    limits = {"connect": 2.0, "attempts": 1}
    for reply, limit, message in (
        (
            lambda handler: time.sleep(3),
            Limits(read=0.3, total=5.0, **limits),
            "no response within 0.3 seconds",
        ),
        (trickle, Limits(read=5.0, total=0.5, **limits), "no complete response within 0.5 seconds"),
        (
            trickle_of_headers,
            Limits(read=5.0, total=0.5, **limits),
            "no complete response within 0.5 seconds",
        ),
    ):
        began = time.monotonic()
        with connected(
            Fake(after_opening(lambda body, n, reply=reply: reply)), limits=limit
        ) as model:
            with pytest.raises(ServersError, match=message):
                model.generate(requests(1))
            assert time.monotonic() - began < 2.5


def test_idle_connections_that_the_server_closed_cost_nothing():
    fake = Fake(
        after_opening(lambda body, n: raw(200, json.dumps(answer("fine")).encode(), cut=10**6))
    )  # closes without saying so
    with connected(fake, concurrency=1, limits=Limits(attempts=1)) as model:
        for _ in range(3):
            assert len(model.generate(requests(2))) == 2
            time.sleep(0.02)


def test_the_key_is_sent_and_never_shown(monkeypatch, caplog):
    monkeypatch.setenv("MY_KEY", KEY)
    fake = Fake(
        after_opening(
            lambda body, n: raw(
                500 if n else 200, f"Incorrect API key: {KEY}".encode() + b"." * 300
            )
        )
    )
    with (
        caplog.at_level("DEBUG"),
        connected(fake, key_variable="MY_KEY") as model,
        pytest.raises(ServersError, match=r"Incorrect API key: \*\*\*") as caught,
    ):
        model.generate(requests(1))
    assert {headers["Authorization"] for headers in fake.headers} == {f"Bearer {KEY}"}
    shown = str(caught.value) + caplog.text + repr(vars(model)) + model.fingerprint
    assert "quite-secret" not in shown
    for value in ("", "  ", "a\nb", "schlüssel"):
        monkeypatch.setenv("MY_KEY", value)
        with pytest.raises(InputError, match="environment variable MY_KEY must hold") as refused:
            read_key("MY_KEY")
        assert not value.strip() or value not in str(refused.value)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="empty or not set"):
        connect_servers("http://127.0.0.1:9", "m", key_variable="MY_KEY")


def test_a_connection_that_was_stopped_stays_stopped():
    with serving(Fake()) as address:
        connection = Connection(Address.parse(address), limits=QUICK)
        assert connection.call("/models")["data"] == [{"id": "m"}]
        connection.abort()
        with pytest.raises(CallError, match="stopped"):
            connection.call("/models")


def test_nothing_but_the_question_is_sent_and_no_proxy_sees_it(monkeypatch):
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # nobody listens there
    cookie = raw(200, b"{}", {"Set-Cookie": "visitor=7"})
    fake = Fake(lambda body, n: cookie)
    with serving(fake) as address:
        connection = Connection(Address.parse(address), limits=QUICK)
        for _ in range(2):
            assert connection.call("/chat/completions", {"a": [1, "\u00fc"]}) == {}
        connection.close()
    expected = {
        "Host": address.removeprefix("http://"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": "20",
    }
    assert fake.headers == [expected, expected]
    assert fake.asked == [("/v1/chat/completions", {"a": [1, "\u00fc"]})] * 2


def test_a_packed_body_is_not_unpacked():
    packed = raw(
        200, gzip.compress(b" " * (1 << 20) + b"{}", mtime=0), {"Content-Encoding": "gzip"}
    )
    with serving(Fake(lambda body, n: packed)) as address:
        connection = Connection(Address.parse(address), limits=QUICK)
        with pytest.raises(CallError, match="the response is not JSON"):
            connection.call("/chat/completions", {})
        connection.close()
