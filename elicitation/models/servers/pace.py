"""Keeping to so many requests and tokens a minute, before a server has to say so.

Calls are spread evenly instead of being let through in bursts: services count over spans shorter
than a minute, too. Tokens are reserved when a call begins, by what answers so far have taken, and
put right when its usage is known.
"""

import time
from collections.abc import Callable

from coherence.errors import InputError

CHARACTERS_PER_TOKEN = 4.0
_MINUTE = 60.0


class Pace:
    """When the next call to an address may begin; to be used under a lock.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : float or None
        Positive; None sets no limit.
    clock : callable
        Seconds on a clock that never goes back.

    Raises
    ------
    InputError
        A limit is not positive.

    Examples
    --------
    >>> pace = Pace(30, None, clock=lambda: 0.0)
    >>> first = pace.begin("A question?", 10)
    >>> pace.free_at
    2.0
    """

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (
            ("requests_per_minute", requests_per_minute),
            ("tokens_per_minute", tokens_per_minute),
        ):
            # Written so that NaN, which compares as false, is refused too.
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be positive and finite; received {value!r}.")
        self._per_request = 0.0 if requests_per_minute is None else _MINUTE / requests_per_minute
        self._per_token = 0.0 if tokens_per_minute is None else _MINUTE / tokens_per_minute
        self._clock = clock
        self._n_answers = self._n_answer_tokens = 0
        self._requests_free_at = self._tokens_free_at = clock()

    @property
    def free_at(self) -> float:
        """Time on the clock from which the next call may begin."""
        return max(self._requests_free_at, self._tokens_free_at)

    def begin(self, text: str, most_tokens: int) -> float:
        """Count a call that begins now."""
        now = self._clock()
        # Before any answer is known, the longest possible one is expected.
        mean = self._n_answer_tokens / self._n_answers if self._n_answers else most_tokens
        reserved = len(text) / CHARACTERS_PER_TOKEN + min(mean, most_tokens)
        self._requests_free_at = max(now, self._requests_free_at) + self._per_request
        self._tokens_free_at = max(now, self._tokens_free_at) + reserved * self._per_token
        return reserved

    def end(self, reserved: float, n_prompt_tokens: int | None, n_tokens: int | None) -> None:
        """Put a reservation right by what the call took, as far as the server counts it."""
        if n_tokens is None:
            return
        self._n_answers += 1
        self._n_answer_tokens += n_tokens
        if n_prompt_tokens is not None:
            taken = n_prompt_tokens + n_tokens
            self._tokens_free_at += (taken - reserved) * self._per_token
