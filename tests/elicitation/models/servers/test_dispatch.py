"""Servers that fail: breaks if a failure loses an answer, hides its cause, or hangs."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from coherence.errors import CoherenceError, InputError
from elicitation.models.servers.address import Limits
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.server import connect_servers

from .fake_server import (
    QUICK,
    Fake,
    after_opening,
    answer,
    connected,
    echo_text,
    keep,
    probing,
    raw,
    requests,
    serving,
)


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
        assert [reply.text for reply in model.generate(requests(12))] == [
            f"Question {i}?" for i in range(12)
        ]
    opening = sum(probing(body) for _, body in slow.asked)
    assert (
        1 <= len(slow.asked) - opening < 6
    )  # each draws from one queue, so the slow one does less


ROOT = Path(__file__).parents[4]

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
        assert [reply.text for reply in model.generate(requests(4))] == [
            f"Question {i}?" for i in range(4)
        ]
    assert sum(not probing(body) for _, body in fake.asked) in (5, 6)


@pytest.mark.parametrize("name", PASSING)
def test_failures_that_last_end_with_address_and_cause(name):
    fake = Fake(after_opening(lambda body, n: PASSING[name]))
    causes = {
        "500": "HTTP 500 Internal Server Error: Oops",
        "503": "HTTP 503",
        "429": "HTTP 429 Too Many Requests",
        "no choices": "no choices",
        "half an answer": "broke off",
        "no JSON": "not JSON: gateway",
        "no content": r"choices\[0\]\.message\.content",
        "a number": "no string but int",
        "a list": r"not a JSON object: \[1\]",
        "deep": "not JSON",
    }
    with (
        connected(fake, concurrency=1) as model,
        pytest.raises(ServersError, match=r"no server is left.*127\.0\.0\.1:\d+/v1: ") as caught,
    ):
        model.generate(requests(3))
    assert caught.match(causes.get(name, "no usable response|not JSON"))
    assert len(str(caught.value)) < 600
    # A busy server is waited for by the clock, and not given up after so many attempts.
    if name != "429":
        asked = sum(not probing(body) for _, body in fake.asked)
        assert asked in (QUICK.attempts, QUICK.attempts + 1)


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


def test_the_work_of_a_failing_address_goes_to_the_other():
    bad, good = Fake(after_opening(lambda body, n: raw(500, b"broken"))), Fake(echo_text)
    with connected(bad, good, concurrency=2) as model:
        for _ in range(2):
            assert [reply.text for reply in model.generate(requests(30))] == [
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
    assert {i: reply.text for i, reply in answers.items()} == {
        i: f"Question {i}?" for i in range(60)
    }
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


def test_a_slow_server_is_left_for_the_other():
    slow, good = Fake(after_opening(lambda body, n: lambda handler: time.sleep(3))), Fake(echo_text)
    with connected(slow, good, limits=Limits(read=0.3, attempts=1), concurrency=1) as model:
        assert len(model.generate(requests(10))) == 10


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
            "from elicitation.models.base import Request\n"
            "from elicitation.models.servers.server import connect_servers\n"
            f"model = connect_servers({address!r}, 'm')\nprint('ready', flush=True)\n"
            "try:\n    model.generate([Request('?', 0, 5)] * 40)\n"
            "except KeyboardInterrupt:\n    print('stopped')\n"
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
