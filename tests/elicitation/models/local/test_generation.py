"""Drawn answers: breaks if a draw leaves its distribution, or depends on more than its seed."""

import numpy as np
import torch

from elicitation import Request
from elicitation.models.local.generation import Row, draw_tokens


def test_draws_follow_the_softmax_at_the_given_temperature():
    logits = torch.log(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    n = 4000
    for temperature, expected in ((1.0, [0.1, 0.2, 0.3, 0.4]), (0.5, np.array([1, 4, 9, 16]) / 30)):
        rows = [Row(Request("", seed, 1, temperature), frozenset()) for seed in range(n)]
        tokens, logprobs = draw_tokens(logits.expand(n, 4), rows)
        share = np.bincount(tokens, minlength=4) / n
        np.testing.assert_allclose(share, expected, atol=4 * np.sqrt(0.25 / n))
        # Whatever the temperature of the draw, the log-probability is the model's own.
        np.testing.assert_allclose(
            np.exp(logprobs), np.array([0.1, 0.2, 0.3, 0.4])[tokens], rtol=1e-5
        )


def test_a_token_of_probability_zero_is_never_drawn():
    logits = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf])
    rows = [Row(Request("", seed, 1), frozenset()) for seed in range(500)]
    for row, uniform in zip(
        rows, np.r_[0.0, np.nextafter(1.0, 0.0), np.random.default_rng(0).random(498)], strict=True
    ):
        row.uniforms = iter([uniform])
    tokens, _ = draw_tokens(logits.expand(500, 5), rows)
    assert set(tokens) == {1, 3}
