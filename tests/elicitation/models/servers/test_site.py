"""Standing of an address: breaks if a busy server is given up, or a dead one is waited for."""

import random

import pytest

from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.http import CallError
from elicitation.models.servers.pace import Pace
from elicitation.models.servers.site import Site

from .fake_server import Fake, after_opening, answer, connected, echo_text, raw, requests


def site(**limits):
    pace = Pace(None, None, clock=lambda: 0.0)
    return Site(Address.parse("http://host"), limits=Limits(**limits), pace=pace)


def busy(wait=None):
    return CallError("busy", "HTTP 429 Too Many Requests", wait=wait, status=429)


def test_a_wait_that_is_asked_for_is_kept_and_costs_no_standing(caplog):
    one, now = site(), 0.0
    # A limit per minute, hit again and again, with answers in between.
    for _ in range(40):
        one.failed(busy(wait=59.0), began=now, now=now + 1)
        assert one.aside is None
        assert one.free_at() == now + 60.0
        now += 60.0
        one.succeeded()
    assert one.failures == 0
    assert "is busy, and waited for" in caplog.text


def test_without_a_word_on_it_the_wait_grows_and_has_an_end():
    random.seed(3)
    one, now, waits = site(), 0.0, []
    while one.aside is None:
        one.failed(busy(), began=now, now=now)
        waits.append(one.free_at() - now)
        now = one.free_at()
    # Half a second, doubled to a minute at most, each varied by half; ten minutes in all.
    assert len(waits) > 12
    assert all(w <= 90 for w in waits)
    assert 0.25 <= waits[0] <= 0.75
    assert 500 < sum(waits[:-1]) <= 600
    assert "later than --max-wait 600 allows" in str(one.aside)


def test_workers_that_are_refused_together_wait_once():
    one = site()
    for _ in range(8):
        one.failed(busy(), began=0.0, now=0.1)
    assert one.free_at() < 1.0


def test_a_wait_beyond_the_longest_ends_it_at_once_with_the_option_for_it():
    one = site(max_wait=60)
    one.failed(busy(wait=3600.0), began=0.0, now=1.0)
    assert "asks to wait 3600 s, more than --max-wait 60 allows" in str(one.aside)


def test_a_busy_server_is_not_given_up_and_loses_nothing():
    """Twelve refusals in a row, twice as many as failures are borne; with and without a wait."""
    for headers in ({"retry-after-ms": "20"}, {"Retry-After": "0.02"}, {}):
        fake = Fake(
            after_opening(
                lambda body, n, headers=headers: (
                    raw(429, b'{"error": {"message": "slow down"}}', headers)
                    if n < 12 or n % 5 == 0
                    else echo_text(body, n)
                )
            )
        )
        quick = Limits(connect=2, read=2, attempts=3, first_wait=0.001, longest_wait=0.02)
        with connected(fake, limits=quick, concurrency=4) as model:
            answers = model.generate(requests(20))
        assert [reply.text for reply in answers] == [f"Question {i}?" for i in range(20)]


def test_an_empty_account_is_not_waited_for():
    spent = (
        '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    )
    fake = Fake(after_opening(lambda body, n: raw(429, spent, {"Retry-After": "1"})))
    with connected(fake) as model, pytest.raises(ServersError, match="exceeded your current quota"):
        model.generate(requests(1))


def test_a_busy_start_is_waited_out():
    fake = Fake(lambda body, n: raw(429, b"", {"retry-after-ms": "5"}) if n < 6 else answer("fine"))
    with connected(fake) as model:
        assert model.generate(requests(1))[0].text == "fine"


def test_the_work_of_a_busy_server_goes_to_the_other():
    full = Fake(after_opening(lambda body, n: raw(429, b"", {"Retry-After": "1"})))
    free = Fake(echo_text)
    with connected(full, free, concurrency=2) as model:
        assert len(model.generate(requests(20))) == 20
