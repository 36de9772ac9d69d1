"""Servers that misbehave, in a thread of the test: breaks if a failure loses an answer, hides its cause, shows the key, or hangs."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Request
from elicitation.models.labels import bound_labels
from elicitation.models.servers.completions import (
    first_lines,
    payload,
    read_answer,
    read_echo,
    read_likely_tokens,
)
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.http import (
    Address,
    CallError,
    Connection,
    Limits,
    read_key,
    seconds_to_wait,
)
from elicitation.models.servers.server import connect_servers
from elicitation.reading.belief import ask_labels, token_belief

ROOT = Path(__file__).parents[2]
QUICK = Limits(connect=2.0, read=2.0, total=4.0, attempts=4, first_wait=0.01, longest_wait=2.0)
KEY = "sk-quite-secret-0123456789"


class Fake:
    """A server whose every reply a function decides; it keeps a record of what it was asked."""

    def __init__(self, reply=None, models=("m",)):
        self.reply, self.models = reply or (lambda body, n: answer("fine")), models
        self.asked, self.headers, self.times = [], [], []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()


def answer(text, **choice):
    message = {"role": "assistant", "content": text}
    return {
        "choices": [
            {"index": 0, "message": message, "text": text, "finish_reason": "stop", **choice}
        ],
        "usage": {"completion_tokens": 3},
    }


def raw(status, body=b"", headers=None, cut=None):
    return {"raw": (status, body, headers or {}, cut)}


@contextmanager
def serving(fake):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            self.send(
                {"object": "list", "data": [{"id": name} for name in fake.models]}
                if fake.models is not None
                else raw(500, b"Oops")
            )

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with fake.lock:
                fake.asked.append((self.path, body))
                fake.headers.append(dict(self.headers))
                fake.times.append(time.monotonic())
                number = len(fake.asked) - 1
                fake.under_way += 1
                fake.most_under_way = max(fake.most_under_way, fake.under_way)
            try:
                reply = fake.reply(body, number)
            finally:
                with fake.lock:
                    fake.under_way -= 1
            self.send(reply)

        def send(self, reply):
            if callable(reply):
                return reply(self)
            status, body, headers, cut = (
                reply["raw"] if "raw" in reply else (200, json.dumps(reply).encode(), {}, None)
            )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[:cut])
            if cut is not None:
                self.close_connection = True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that leave early are what is tested
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def connected(*fakes, **options):
    with serving(fakes[0]) as first:
        if len(fakes) == 1:
            yield connect_servers(first, "m", **{"limits": QUICK, **options})
        else:
            with serving(fakes[1]) as second:
                yield connect_servers([first, second], "m", **{"limits": QUICK, **options})


def requests(n, **options):
    return [Request(f"Question {i}?", 2**62 + i, 7, **options) for i in range(n)]


def keep(stream, kept):
    for i, one in stream:
        kept[i] = one.text


def probing(body):
    return body.get("prompt", body.get("messages", [{}])[0].get("content")) == "Say one word."


def after_opening(reply):
    """Reply well while the server is found out about, and then as told; the number counts from there."""
    count = iter(range(10**6))
    return lambda body, _: answer("fine") if probing(body) else reply(body, next(count))


def echo_text(body, _):
    return answer(body["messages"][0]["content"])


def test_answers_come_in_order_with_what_was_asked():
    fake = Fake(lambda body, n: answer(f"{body['messages'][0]['content']} {body['seed']}"))
    with connected(fake, concurrency=3) as model:
        answers = model.generate([*requests(20, temperature=0.5), Request("Cold?", 0, 5, 0.0)])
    assert [one.text for one in answers[:20]] == [
        f"Question {i}? {i}" for i in range(20)
    ]  # the lower 31 bits of the seed
    assert {one.n_tokens for one in answers} == {3}
    assert {one.logprob for one in answers} == {None}
    path, body = next(
        (path, body) for path, body in fake.asked if body["messages"][0]["content"] == "Question 4?"
    )
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Question 4?"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 4,
    }
    assert fake.asked[-1][1]["temperature"] == 0.0 or any(
        body["temperature"] == 0.0 for _, body in fake.asked
    )
    assert not any("Authorization" in headers for headers in fake.headers)
    with connected(fake) as model:
        assert model.generate([]) == []


def test_completions_send_the_text_as_it_is():
    fake = Fake()
    with connected(fake, api="completions") as model:
        assert model.generate(requests(1))[0].text == "fine"
    path, body = fake.asked[-1]
    assert (path, body["prompt"]) == ("/v1/completions", "Question 0?")
    assert "messages" not in body


def test_a_system_message_opens_every_chat():
    fake = Fake(echo_text)
    with (
        connected(fake, system="Be brief.", identity="lab") as model,
        connected(fake, identity="lab") as plain,
    ):
        fake.reply = lambda body, n: answer(body["messages"][0]["content"])
        assert model.generate(requests(1))[0].text == "Be brief."
        assert fake.asked[-1][1]["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Question 0?"},
        ]
        assert model.fingerprint != plain.fingerprint


def test_as_many_at_once_as_allowed_and_no_more():
    fake = Fake(lambda body, n: time.sleep(0.05) or answer("fine"))
    with connected(fake, concurrency=4) as model:
        fake.most_under_way = 0
        model.generate(requests(16))
    assert fake.most_under_way == 4


def test_two_servers_share_the_work():
    slow = Fake(after_opening(lambda body, n: time.sleep(0.2) or echo_text(body, n)))
    fast = Fake(after_opening(lambda body, n: time.sleep(0.03) or echo_text(body, n)))
    with connected(slow, fast, concurrency=1) as model:
        assert [one.text for one in model.generate(requests(12))] == [
            f"Question {i}?" for i in range(12)
        ]
    opening = sum(probing(body) for _, body in slow.asked)
    assert (
        1 <= len(slow.asked) - opening < 6
    )  # each draws from one queue, so the slow one does less


PASSING = {
    "500": raw(500, b"Oops"),
    "503": raw(503),
    "429": raw(429, b"{}", {"Retry-After": "0"}),
    "half an answer": raw(200, json.dumps(answer("fine")).encode(), cut=20),
    "no answer": lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
    "no JSON": raw(200, b"<html>gateway</html>"),
    "bad UTF-8": raw(200, b'{"choices": "\xff"}'),
    "a list": raw(200, b"[1]"),
    "deep": raw(200, b"[" * 100_000),
    "no choices": {"choices": []},
    "no content": {"choices": [{"message": {"role": "assistant"}}]},
    "a number": answer(7),
    "chunks that break off": raw(
        200, b"5\r\nhello", {"Transfer-Encoding": "chunked", "Content-Length": ""}, cut=8
    ),
    "no HTTP": lambda handler: handler.wfile.write(b"\x16\x03\x01 what?\r\n\r\n"),
}


@pytest.mark.parametrize("name", PASSING)
def test_failures_that_pass_cost_another_attempt_and_no_answer(name):
    fake = Fake(after_opening(lambda body, n: PASSING[name] if n % 3 == 0 else echo_text(body, n)))
    with connected(fake, concurrency=1) as model:
        assert [one.text for one in model.generate(requests(4))] == [
            f"Question {i}?" for i in range(4)
        ]
    assert sum(not probing(body) for _, body in fake.asked) in (5, 6)


@pytest.mark.parametrize("name", PASSING)
def test_failures_that_last_end_with_address_and_cause(name):
    fake = Fake(after_opening(lambda body, n: PASSING[name]))
    causes = {"500": "HTTP 500 Internal Server Error: Oops", "503": "HTTP 503", "429": "HTTP 429 Too Many Requests", "no choices": "no choices",
              "half an answer": "broke off", "no JSON": "not JSON: <html>gateway</html>", "no content": r"choices\[0\]\.message\.content",
              "a number": "no string but int", "a list": r"not a JSON object: \[1\]", "deep": "not JSON"}  # fmt: skip
    with (
        connected(fake, concurrency=1) as model,
        pytest.raises(ServersError, match=r"no server is left.*127\.0\.0\.1:\d+/v1: ") as caught,
    ):
        model.generate(requests(3))
    assert caught.match(causes.get(name, "no usable response|not JSON"))
    assert len(str(caught.value)) < 600
    assert sum(not probing(body) for _, body in fake.asked) in (QUICK.attempts, QUICK.attempts + 1)


@pytest.mark.parametrize("date", [False, True])
def test_the_wait_that_a_server_asks_for_is_kept(date):
    def reply(body, n):
        wait = (
            format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True) if date else "1"
        )
        return raw(429, b"slow down", {"Retry-After": wait}) if n == 0 else echo_text(body, n)

    fake = Fake(after_opening(reply))
    with connected(fake, concurrency=2) as model:
        assert len(model.generate(requests(3))) == 3
    times = [at for at, (_, body) in zip(fake.times, fake.asked, strict=True) if not probing(body)]
    after = [at - times[0] for at in times if at - times[0] > 0.2]
    assert min(after) >= (0.95 if not date else 0.5)  # a date has whole seconds


def test_failures_between_successes_never_add_up():
    fake = Fake(after_opening(lambda body, n: raw(500) if n % 3 == 0 else echo_text(body, n)))
    with connected(fake, concurrency=1) as model:
        assert len(model.generate(requests(15))) == 15
    assert sum(not probing(body) for _, body in fake.asked) - 15 > QUICK.attempts


def test_calls_that_fail_together_count_once():
    together = threading.Barrier(8)

    def reply(body, n):
        if n < 8:
            together.wait(10)
            return raw(503, b"restarting")
        return echo_text(body, n)

    with connected(Fake(after_opening(reply)), concurrency=8) as model:
        assert len(model.generate(requests(16))) == 16


def test_a_wait_of_hours_sets_the_address_aside():
    fake = Fake(after_opening(lambda body, n: raw(429, b"quota", {"Retry-After": "7200"})))
    began = time.monotonic()
    with (
        connected(fake) as model,
        pytest.raises(ServersError, match="HTTP 429 Too Many Requests: quota"),
    ):
        model.generate(requests(2))
    assert time.monotonic() - began < 3


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


def test_the_work_of_a_failing_address_goes_to_the_other():
    bad, good = Fake(after_opening(lambda body, n: raw(500, b"broken"))), Fake(echo_text)
    with connected(bad, good, concurrency=2) as model:
        for _ in range(2):
            assert [one.text for one in model.generate(requests(30))] == [
                f"Question {i}?" for i in range(30)
            ]


def test_a_server_that_dies_is_set_aside_and_nothing_is_lost(caplog):
    good = Fake(lambda body, n: time.sleep(0.01) or echo_text(body, n))
    with serving(good) as alive:
        with serving(Fake(echo_text)) as dying:
            model = connect_servers([dying, alive], "m", limits=QUICK, concurrency=2)
            stream = model.stream_answers(requests(60))
            answers = dict(next(stream) for _ in range(6))
        answers |= dict(stream)
    assert {i: one.text for i, one in answers.items()} == {i: f"Question {i}?" for i in range(60)}
    model_of_none = model.generate
    with pytest.raises(ServersError):
        model_of_none(requests(8))
    assert any("is set aside" in record.message for record in caplog.records)


def test_answers_before_the_end_are_handed_out_first():
    fake = Fake(
        after_opening(lambda body, n: echo_text(body, n) if n < 10 else raw(500, b"out of memory"))
    )
    kept = {}
    with (
        connected(fake, concurrency=2) as model,
        pytest.raises(ServersError, match="out of memory"),
    ):
        keep(model.stream_answers(requests(30)), kept)
    assert len(kept) == 10
    assert all(text == f"Question {i}?" for i, text in kept.items())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InputError),
        (413, InputError),
        (422, InputError),
        (401, ServersError),
        (404, ServersError),
    ],
)
def test_what_will_never_go_well_is_not_tried_again(status, error):
    fake = Fake(after_opening(lambda body, n: raw(status, b'{"error": "too\tlong"}')))
    with (
        connected(fake, concurrency=1) as model,
        pytest.raises(error, match=rf'HTTP {status} .*"too\\tlong"'),
    ):
        model.generate(requests(5))
    assert sum(not probing(body) for _, body in fake.asked) == 1


def test_a_request_that_always_fails_does_not_take_the_server_with_it():
    fake = Fake(
        lambda body, n: (
            raw(500, b"this one")
            if "Question 3?" in str(body)
            else time.sleep(0.03) or echo_text(body, n)
        )
    )
    kept, ends = {}, "(answers other requests, but not one|no server is left).*this one"
    with connected(fake, concurrency=2) as model, pytest.raises(CoherenceError, match=ends):
        keep(model.stream_answers(requests(30)), kept)
    assert sorted(kept) == [i for i in range(30) if i != 3]
    assert sum("Question 3?" in str(body) for _, body in fake.asked) <= 2 * QUICK.attempts


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


def test_a_slow_server_is_left_for_the_other():
    slow, good = Fake(after_opening(lambda body, n: lambda handler: time.sleep(3))), Fake(echo_text)
    with connected(slow, good, limits=Limits(read=0.3, attempts=1), concurrency=1) as model:
        assert len(model.generate(requests(10))) == 10


def test_idle_connections_that_the_server_closed_cost_nothing():
    fake = Fake(
        after_opening(lambda body, n: raw(200, json.dumps(answer("fine")).encode(), cut=10**6))
    )  # closes without saying so
    with connected(fake, concurrency=1, limits=Limits(attempts=1)) as model:
        for _ in range(3):
            assert len(model.generate(requests(2))) == 2
            time.sleep(0.02)


def test_odd_answers_keep_their_text():
    texts = ["", "  \n", "Ja, \u00fc \U0001f642 \u202e \x00", "a\u2028b"]
    fake = Fake(
        after_opening(
            lambda body, n: answer(
                texts[int(body["messages"][0]["content"].split()[1][:-1])], finish_reason="length"
            )
        )
    )
    with connected(fake) as model:
        assert [one.text for one in model.generate(requests(4))] == texts
    assert read_answer("chat", answer(None)).text == ""
    refusal = {
        "choices": [
            {
                "message": {"content": None, "refusal": "I cannot help with that."},
                "finish_reason": "content_filter",
            }
        ]
    }
    assert read_answer("chat", refusal).text == "I cannot help with that."
    # Half of a surrogate pair is valid JSON, and no file takes it.
    assert (
        read_answer("chat", json.loads('{"choices": [{"message": {"content": "a\\ud83d"}}]}')).text
        == "a\ufffd"
    )
    assert (
        read_answer(
            "completions", json.loads('{"choices": [{"text": "\\ud83d\\ude42"}], "usage": null}')
        ).text
        == "\U0001f642"
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("No: 1\nYes: 0\nbye", 2),
        ("\n\na\n \nb\nc\n", 2),
        ("a", 2),
        ("a\nb", 2),
        ("", 1),
        ("a\nb\n", None),
    ],
)
def test_lines_are_cut_like_those_of_local_models(text, lines):
    from elicitation.models.local.sampling import end_of_lines

    assert first_lines(text, lines) == text[: end_of_lines(text, lines)]


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


def test_addresses_are_read_strictly():
    assert (
        str(Address.parse("https://Example.org/openai/v1/")) == "https://example.org:443/openai/v1"
    )
    assert str(Address.parse("http://[::1]:8000")) == "http://[::1]:8000/v1"
    for text in (
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host/v1?key=1",
        "http://ho st",
        "http://host/\n",
        "",
        "http://[::1",
    ):
        with pytest.raises(InputError, match="server must be an address such as"):
            Address.parse(text)
    with pytest.raises(InputError, match="without name or password") as caught:
        Address.parse("http://me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("addresses", "options", "message"),
    [
        ([], {}, "one or more different servers; received none"),
        (["http://a", "http://a:80/v1/"], {}, "one or more different servers"),
        ("http://a", {"concurrency": 0}, "concurrency must be from 1 to 256"),
        ("http://a", {"concurrency": 257}, "concurrency must be from 1 to 256"),
        ("http://a", {"api": "responses"}, "api must be one of chat, completions"),
        ("http://a", {"api": "completions", "system": "Be brief."}, "system needs the chat API"),
        ("http://a", {"model": ""}, "model must be the name"),
    ],
)
def test_options_out_of_range(addresses, options, message):
    with pytest.raises(InputError, match=message):
        connect_servers(addresses, **{"model": "m", **options})


@pytest.mark.parametrize(
    "change", [{"read": 0.0}, {"total": float("inf")}, {"attempts": 0}, {"connect": float("nan")}]
)
def test_limits_out_of_range(change):
    with pytest.raises(InputError, match=f"limit {next(iter(change))} must be positive"):
        Limits(**change)


def test_opening_says_what_is_wrong():
    with pytest.raises(
        ServersError, match=r"http://127\.0\.0\.1:9/v1: no usable response: .*refused"
    ):
        connect_servers("http://127.0.0.1:9", "m", limits=QUICK)
    with pytest.raises(ServersError, match=r"http://a\.\.b:80/v1: no usable response"):
        connect_servers("http://a..b", "m", limits=QUICK)
    unknown = Fake(lambda body, n: raw(404, b"no such model"), models=["llama", "qwen"])
    said = r"does not answer as model 'm' in the chat API: HTTP 404 Not Found: no such model\. It lists 'llama', 'qwen'\."
    for fake, error, message in (
        (unknown, InputError, said),
        (
            Fake(lambda *_: raw(500)),
            InputError,
            "HTTP 500 .*If the model has no chat template, use the completions API",
        ),
        (Fake(lambda *_: raw(401)), InputError, "HTTP 401.*a key is sent only if"),
        (Fake(lambda *_: raw(503, b"loading")), ServersError, "HTTP 503"),
    ):
        with serving(fake) as address, pytest.raises(error, match=message):
            connect_servers(address, "m", limits=QUICK)


def test_opening_bears_what_servers_do(caplog):
    with connected(Fake(models=None)) as model:  # a list of models that fails
        assert model.generate(requests(1))[0].text == "fine"
    with connected(Fake(models=["llama"])):
        assert "answers to model 'm' without listing it. It lists 'llama'." in caplog.text
    loading = Fake(lambda body, n: raw(503, b"loading") if n == 0 else answer("fine"))
    with connected(loading) as model:
        assert model.generate(requests(1))[0].text == "fine"
    with serving(Fake()) as alive:
        model = connect_servers(["http://127.0.0.1:9", alive], "m", limits=QUICK)
        assert "server http://127.0.0.1:9/v1 is set aside" in caplog.text
        assert model.generate(requests(2))[1].text == "fine"


def test_answers_are_keyed_by_first_address_model_and_api():
    with serving(Fake(models=["m", "n"])) as one, serving(Fake(models=["m"])) as two:

        def key(addresses, name="m", **options):
            return connect_servers(addresses, name, limits=QUICK, **options).fingerprint

        alone = key(one)
        assert (
            key([one, two]) == alone == key(one + "/v1/")
        )  # more of the same does not change who answers
        assert (
            len(
                {
                    alone,
                    key(two),
                    key(one, "n"),
                    key(one, api="completions"),
                    key(one, identity="lab"),
                }
            )
            == 5
        )
        assert key(two, identity="lab") == key(one, identity="lab")


def listing(values, *, drawn=None):
    """A chat response with these likely tokens."""
    entries = [
        {"token": token, "logprob": float(np.log(p)), "bytes": None} for token, p in values.items()
    ]
    first = {
        **(
            entries[0] if drawn is None else {"token": drawn[0], "logprob": float(np.log(drawn[1]))}
        ),
        "top_logprobs": entries,
    }
    return answer("Yes", logprobs={"content": [first]})


def test_labels_outside_the_list_are_bounded_and_not_zero():
    values = {" Yes": 0.55, "Yes": 0.05, "No": 0.25, "The": 0.1}
    with connected(
        Fake(lambda body, n: listing(values) if body.get("logprobs") else answer("Yes"))
    ) as model:
        assert model.abilities.n_likely_tokens == 20
        (bounds,) = model.label_bounds(["Does it?"], ("No", "Yes"))
        (other,) = model.label_bounds(["Does it?"], ("Yes", "Perhaps"))
    assert bounds.status == "seen"
    np.testing.assert_allclose([bounds.seen, bounds.remaining, bounds.other], [0.95, 0.05, 0.1])
    np.testing.assert_allclose([bounds.lower, bounds.upper], [[0.25, 0.6], [0.3, 0.65]])
    np.testing.assert_allclose(bounds.share("Yes"), (0.6 / 0.9, 0.65 / 0.9))
    assert (other.status, other.lower[1]) == ("partly", 0.0)
    assert other.upper[1] == pytest.approx(0.05)
    np.testing.assert_allclose(other.share("Yes"), (0.6 / 0.65, 1.0))
    (asked,) = [
        body
        for _, body in [*model_requests(values)]
        if body["messages"][0]["content"] == "Does it?"
    ]
    assert (
        asked["logprobs"],
        asked["top_logprobs"],
        asked["max_tokens"],
        asked["temperature"],
    ) == (True, 20, 1, 1.0)


def model_requests(values):
    fake = Fake(lambda body, n: listing(values) if body.get("logprobs") else answer("Yes"))
    with connected(fake) as model:
        model.label_bounds(["Does it?"], ("No", "Yes"))
    return fake.asked


def test_a_belief_read_from_a_list_keeps_to_its_bounds():
    lists = {
        "Sure?": {"Yes": 0.985, "The": 0.01},
        "So so?": {"Yes": 0.55, "No": 0.44},
        "Perhaps?": {"Yes": 0.6, "The": 0.1},
        "What?": {"The": 0.9},
    }

    def reply(body, n):
        values = lists.get(body["messages"][0]["content"], {"Yes": 0.5, "No": 0.5})
        return listing(values) if body.get("logprobs") else answer("Yes")

    with connected(Fake(reply)) as model:
        bounds, answers = (
            model.label_bounds(list(lists), BELIEF_LABELS),
            ask_labels(model, list(lists)),
        )
    beliefs = [token_belief(one.text) for one in answers]
    for bound, belief in zip(bounds[:2], beliefs[:2], strict=True):
        low, high = bound.share("Yes")
        assert low <= belief.value <= high
    # Too much is on tokens that were not listed, or on none of the labels: no belief, and no zero.
    assert [belief.value for belief in beliefs[2:]] == [None, None]


def test_nothing_listed_is_nothing_known():
    bounds = bound_labels({"The": 0.5, "A": 0.2}, ("No", "Yes"))
    assert bounds.status == "unseen"
    assert bounds.share("Yes") == (0.0, 1.0)
    assert bounds.upper == pytest.approx((0.3, 0.3))
    assert bound_labels({}, ("No", "Yes")).share("No") == (0.0, 1.0)
    # What is left over can go to one other label, not to each of them.
    assert bound_labels({"Yes": 0.5}, ("No", "Yes", "Maybe")).share("Yes") == pytest.approx(
        (0.5, 1.0)
    )
    with pytest.raises(InputError, match="label must be one of No, Yes"):
        bounds.share("Maybe")


def test_spellings_count_and_longer_words_do_not():
    bounds = bound_labels(
        {
            "\u0120Yes": 0.1,
            "\u2581Yes": 0.1,
            "Yes.": 0.1,
            "Yesterday": 0.2,
            "Y": 0.2,
            "": 0.1,
            "YES": 0.1,
        },
        ("No", "Yes"),
    )
    np.testing.assert_allclose(bounds.lower, (0.0, 0.4))
    np.testing.assert_allclose(
        bounds.upper, (0.1 + 0.1, 0.4 + 0.3 + 0.1)
    )  # "Y" may become Yes, "" either, and .1 was not listed
    assert bounds.other == pytest.approx(0.2)
    assert bound_labels({"\ufffd": 0.4}, ("да", "нет")).upper == pytest.approx((1.0, 1.0))
    for labels in (
        ("Yes",),
        ("", "No"),
        ("No ", "Yes"),
        ("No", "Not sure"),
        ("No", "No"),
        ("A", "a"),
    ):
        with pytest.raises(InputError, match="labels must"):
            bound_labels({}, labels)


def test_the_true_share_lies_within_its_bounds_however_short_the_list():
    rng = np.random.default_rng(0)
    tokens = ["Yes", " Yes", "No", "The", "Y", "Nope", "Perhaps", "N"]
    for _ in range(300):
        p = rng.dirichlet(np.full(len(tokens), 0.4))
        # "Y" and "N" go on to a label or to something else.
        goes_on = rng.random(2)
        yes, no = p[0] + p[1] + goes_on[0] * p[4], p[2] + goes_on[1] * p[7]
        order = np.argsort(-p)[: rng.integers(0, len(tokens) + 1)]
        bounds = bound_labels({tokens[i]: float(p[i]) for i in order}, ("No", "Yes"))
        low, high = bounds.share("Yes")
        assert low - 1e-9 <= yes / (yes + no) <= high + 1e-9
        assert bounds.lower[1] - 1e-9 <= yes <= bounds.upper[1] + 1e-9


def test_rounding_beyond_one_does_not_reach_the_bounds():
    bounds = bound_labels({"Yes": 0.81, "No": 0.2}, ("No", "Yes"))
    assert bounds.lower == bounds.upper == pytest.approx((0.2 / 1.01, 0.81 / 1.01))
    assert sum(bounds.lower) <= 1 + 1e-12
    assert bounds.seen == 1.0


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_server_without_log_probabilities_refuses_them(api):
    with connected(Fake(), api=api) as model:
        assert (model.abilities.n_likely_tokens, model.abilities.echo) == (0, False)
        with pytest.raises(
            InputError,
            match=f"do not list likely tokens with their log-probabilities for model 'm' in the {api} API",
        ):
            model.label_bounds(["Does it?"], ("No", "Yes"))
        with pytest.raises(InputError, match="do not echo a prompt with log-probabilities"):
            model.outcome_logprobs(["It is"], [" so"])


def test_the_weakest_server_sets_what_can_be_asked():
    able = Fake(
        lambda body, n: listing({"Yes": 0.5, "No": 0.5}) if body.get("logprobs") else answer("Yes")
    )
    with connected(able, Fake()) as model:
        assert model.abilities.n_likely_tokens == 0


def test_a_shorter_list_is_taken_where_the_long_one_is_refused():
    def reply(body, n):
        k = body.get("top_logprobs", 0)
        return (
            raw(400, b"at most 5")
            if k > 5
            else listing({"Yes": 0.5, "No": 0.25})
            if k
            else answer("Yes")
        )

    with connected(Fake(reply)) as model:
        assert model.abilities.n_likely_tokens == 5


def test_log_probabilities_of_another_shape_are_no_zeros():
    tokens = [
        {"token": "Yes"},
        *(
            {"token": "Yes", "logprob": value, "top_logprobs": []}
            for value in ("high", 0.7, float("nan"), True, None)
        ),
    ]
    for logprobs in ({"content": 7}, [1], *({"content": [token]} for token in tokens)):
        with pytest.raises(CallError, match="another shape"):
            read_likely_tokens("chat", answer("Yes", logprobs=logprobs))
    with pytest.raises(CallError, match="sum to 1.4"):
        read_likely_tokens("chat", listing({"Yes": 0.7, "No": 0.7}))
    for empty in (None, {"content": []}, {"content": None}):
        assert read_likely_tokens("chat", answer("Yes", logprobs=empty)) == {}
    # The drawn token is known even where it is not among the likely ones.
    assert set(
        read_likely_tokens("chat", listing({"Yes": 0.5, "No": 0.2}, drawn=("Well", 0.01)))
    ) == {"Yes", "No", "Well"}
    old = answer(
        "x",
        logprobs={
            "tokens": [" Yes"],
            "token_logprobs": [-0.5],
            "top_logprobs": [{" Yes": -0.5, " No": -1.5}],
            "text_offset": [0],
        },
    )
    assert read_likely_tokens("completions", old) == pytest.approx(
        {" Yes": np.exp(-0.5), " No": np.exp(-1.5)}
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.just(-(10**400)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "token", "tokens", "logprob", "top_logprobs", "token_logprobs", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    logprobs=JSON,
    message=JSON,
    usage=JSON | st.fixed_dictionaries({"prompt_tokens": JSON, "completion_tokens": JSON}),
)
def test_a_response_of_any_shape_is_an_answer_or_a_fault(logprobs, message, usage):
    data = {
        "choices": [{"message": message, "text": message, "logprobs": logprobs}],
        "usage": usage,
    }
    readers = [
        partial(read, api)
        for read in (read_answer, read_likely_tokens)
        for api in ("chat", "completions")
    ]
    for read in [*readers, read_echo]:
        with contextlib.suppress(CallError):
            read(data)


def words(text):
    """A tokenizer that the test can follow: a word with the space before it is a token."""
    return [part for part in text.replace(" ", "\0 ").split("\0") if part]


def scoring(body, n):
    if not body.get("echo"):
        return answer("x")
    tokens = words(body["prompt"])
    values = [None] + [-float(len(token)) for token in tokens[1:]]
    generated = {
        "tokens": [*tokens, " then"],
        "token_logprobs": [*values, -9.0],
        "top_logprobs": None,
        "text_offset": [],
    }
    return {
        **answer(body["prompt"] + " then", logprobs=generated),
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1},
    }


def test_outcomes_are_scored_over_all_of_their_tokens():
    with connected(Fake(scoring), api="completions") as model:
        assert model.abilities.echo
        scores = model.outcome_logprobs(["It is", "They say it is"], [" so", " not so at all"])
        with pytest.raises(InputError, match="must begin with a token of its own"):
            model.outcome_logprobs(["It is"], ["n't"])
        with pytest.raises(InputError, match="must begin with a token of its own"):
            model.outcome_logprobs(["It is"], ["n't so"])
        with pytest.raises(InputError, match="outcomes must be one or more"):
            model.outcome_logprobs(["It is"], [""])
    assert scores == [(-3.0, -4.0 - 3.0 - 3.0 - 4.0)] * 2


def test_payloads_differ_by_api_alone():
    request = Request("Well?", 5, 9, 0.25)
    chat, plain = (
        payload("chat", "m", request, n_logprobs=4),
        payload("completions", "m", request, n_logprobs=4),
    )
    assert (chat.pop("messages"), chat.pop("logprobs"), chat.pop("top_logprobs")) == (
        [{"role": "user", "content": "Well?"}],
        True,
        4,
    )
    assert (plain.pop("prompt"), plain.pop("logprobs")) == ("Well?", 4)
    assert chat == plain


def test_a_stopped_stream_ends_its_calls():
    fake = Fake(
        after_opening(lambda body, n: answer("fine") if n < 2 else lambda handler: time.sleep(8))
    )
    with connected(fake, concurrency=4, limits=Limits()) as model:
        stream = model.stream_answers(requests(50))
        next(stream)
        began = time.monotonic()
        stream.close()
        assert time.monotonic() - began < 3
        for _ in range(100):
            if not any("_work" in str(thread) for thread in threading.enumerate()):
                break
            time.sleep(0.01)
        assert not any("_work" in str(thread) for thread in threading.enumerate())
        assert len(fake.asked) < 15


def _heed_interrupts():
    """Undo what a test run in the background hands down: a child that ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_at_once():
    fake = Fake(after_opening(lambda body, n: lambda handler: time.sleep(30)))
    with serving(fake) as address:
        code = (
            "from elicitation.models.base import Request\nfrom elicitation.models.servers.server import connect_servers\n"
            f"model = connect_servers({address!r}, 'm')\nprint('ready', flush=True)\n"
            "try:\n    model.generate([Request('?', 0, 5)] * 40)\nexcept KeyboardInterrupt:\n    print('stopped')\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_heed_interrupts,
        )
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 20
        while sum(not probing(body) for _, body in fake.asked) < 8:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=20)
    assert (process.returncode, out, errors) == (0, "stopped\n", "")
    assert time.monotonic() - began < 10


def test_a_connection_that_was_stopped_stays_stopped():
    with serving(Fake()) as address:
        connection = Connection(Address.parse(address), limits=QUICK)
        assert connection.call("/models")["data"] == [{"id": "m"}]
        connection.abort()
        with pytest.raises(CallError, match="stopped"):
            connection.call("/models")


def test_a_session_with_servers_keeps_what_it_has(asia, cases, tmp_path):
    from elicitation.session.plan import Design
    from elicitation.session.session import elicit
    from elicitation.store import AnswerStore

    good = Fake(
        lambda body, n: answer(
            "No: 0.40\nYes: 0.60\n" if "Brier" in str(body) else "Can decide: Yes\nDecision: Yes"
        )
    )
    design = Design(reps=1, iterated=False)
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        failing = Fake(
            after_opening(lambda body, n: good.reply(body, n) if n < 30 else raw(500, b"gone"))
        )
        with serving(failing) as address:
            model = connect_servers(address, "m", identity="lab", limits=QUICK)
            with pytest.raises(ServersError, match="gone"):
                elicit(model, asia, cases, store, design=design, batch_size=10)
        kept = len(store)
        assert kept == 30
        with serving(good) as address:
            model = connect_servers(address, "m", identity="lab", limits=QUICK)
            runs, tally = elicit(model, asia, cases, store, design=design)
    assert (tally.reused, tally.asked) == (30, tally.total - 30)
    assert set(runs["model"]) == {"m"}
    assert set(runs.loc[runs["prompt"] == "mse", "p"]) == {0.6}
    database = sqlite3.connect(tmp_path / "answers.sqlite")
    assert database.execute("SELECT DISTINCT model FROM answers").fetchall() == [("m",)]
    database.close()
    assert os.path.getsize(tmp_path / "answers.sqlite") > 0
