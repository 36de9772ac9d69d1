"""Drawing the tokens of an answer: each row from its own generator, in double precision, until the answer ends.

A draw inverts the cumulative probabilities at a uniform number of the row's own, so that it does
not depend on the other rows of a batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from elicitation.models.base import Answer, Request


@dataclass
class Row:
    """An answer on its way.

    Parameters
    ----------
    request : Request
        What is answered.
    ends : frozenset of int
        Tokens that end an answer.
    beginning : str
        What the answer begins with before the first token is drawn.
    """

    request: Request
    ends: frozenset[int]
    beginning: str = ""

    def __post_init__(self) -> None:
        # Philox keyed by the seed: its stream is fixed by specification, on every machine and for
        # every batch.
        self.uniforms: Iterator[float] = iter(
            np.random.Generator(np.random.Philox(key=self.request.seed)).random(
                self.request.max_new_tokens
            )
        )
        self.tokens: list[int] = []
        self.logprob, self.done = 0.0, False

    def add(self, token: int, logprob: float, tokenizer: Any) -> None:
        """Append a token, and see whether the answer is complete."""
        self.tokens.append(token)
        self.logprob += logprob
        if token in self.ends:
            self.done = True
            return
        if self.request.max_lines is not None:
            self.done = end_of_lines(self._text(tokenizer), self.request.max_lines) is not None
        self.done |= len(self.tokens) >= self.request.max_new_tokens

    def _text(self, tokenizer: Any) -> str:
        # Always the whole answer: a character may take several tokens, and spaces depend on what
        # came before.
        said: str = tokenizer.decode(
            [token for token in self.tokens if token not in self.ends],
            skip_special_tokens=True,
            clean_up_tokenization_spaces=False,
        )
        return self.beginning + said

    def answer(self, tokenizer: Any) -> Answer:
        """Return the answer as it stands."""
        text = self._text(tokenizer)
        return Answer(
            text[: end_of_lines(text, self.request.max_lines)], self.logprob, len(self.tokens)
        )


def end_of_lines(text: str, max_lines: int | None) -> int | None:
    """Return where the `max_lines`-th line with visible characters ends, or None while it is not complete."""
    if max_lines is None:
        return None
    position = seen = 0
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        seen += bool(line.strip())
        if seen == max_lines:
            return position
    return None


def draw(logits: torch.Tensor, rows: list[Row]) -> tuple[list[int], list[float]]:
    """Draw one token per row, each at its own temperature and from its own uniform number."""
    scores = (
        logits.double()
    )  # in double precision a draw is the same whatever the order of summation was
    tokens = scores.argmax(-1)
    if any(row.request.temperature > 0 for row in rows):
        temperature = torch.tensor(
            [row.request.temperature for row in rows], dtype=torch.double, device=scores.device
        )
        uniform = torch.tensor(
            [next(row.uniforms) for row in rows], dtype=torch.double, device=scores.device
        )
        cumulative = (scores / temperature.clamp(min=1e-6)[:, None]).softmax(-1).cumsum(-1)
        drawn = (
            torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)
            .squeeze(-1)
            .clamp(max=scores.shape[-1] - 1)
        )
        tokens = torch.where(temperature > 0, drawn, tokens)
    logprobs = scores.log_softmax(-1).gather(-1, tokens[:, None]).squeeze(-1)
    return tokens.tolist(), logprobs.tolist()
