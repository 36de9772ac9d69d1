"""Limits per minute: breaks if more is asked than allowed, or far less."""

import pytest

from coherence.errors import InputError
from elicitation.models.servers.pace import Pace

from .fake_server import Fake, connected, requests


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def run(pace, clock, n, *, prompt=40, answer=30, most=400):
    """Begin n calls as early as allowed, each answered at once; return when they began."""
    began = []
    for _ in range(n):
        clock.now = max(clock.now, pace.free_at)
        began.append(clock.now - 100.0)
        reserved = pace.begin("word" * prompt, most)
        pace.end(reserved, prompt, answer)
    return began


def test_no_minute_has_more_requests_than_allowed():
    clock = Clock()
    began = run(Pace(30, None, clock=clock), clock, 91)
    assert began[-1] == pytest.approx(180.0)
    assert max(sum(start <= other < start + 60 for other in began) for start in began) == 30


def test_tokens_are_counted_as_the_server_counts_them():
    """Reserved by the longest answer at first, and put right by what it took."""
    clock = Clock()
    began = run(Pace(None, 7000, clock=clock), clock, 101)
    assert began[-1] == pytest.approx(100 * 70 / 7000 * 60)
    # A server that counts nothing is taken at the most it may have used.
    clock, pace = Clock(), Pace(None, 600)
    pace = Pace(None, 600, clock=clock)
    pace.end(pace.begin("word" * 40, 60), None, None)
    assert pace.free_at - clock.now == pytest.approx(10.0)


def test_the_stricter_limit_counts_and_none_is_none():
    clock = Clock()
    assert run(Pace(None, None, clock=clock), clock, 50)[-1] == 0.0
    assert run(Pace(60, 1e9, clock=Clock()), Clock(), 1) == [0.0]
    clock = Clock()
    assert run(Pace(60, 700, clock=clock), clock, 11)[-1] == pytest.approx(60.0)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_limits_out_of_range(limit):
    for name, pair in (("requests", (limit, None)), ("tokens", (None, limit))):
        with pytest.raises(InputError, match=f"{name}_per_minute must be positive"):
            Pace(*pair)


def test_a_model_keeps_to_the_limit_of_its_server():
    fake = Fake()
    with connected(fake, requests_per_minute=1200, concurrency=8) as model:
        fake.times.clear()
        model.generate(requests(8))
    # 50 ms between one and the next, whatever stands ready; threads wake a little late.
    assert fake.times[-1] - fake.times[0] >= 0.33
