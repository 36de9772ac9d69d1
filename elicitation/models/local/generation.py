"""Answers drawn token by token: each row from its own generator, until the answer ends.

A draw inverts the cumulative probabilities at a uniform number of the row's own, in double
precision, so that it does not depend on the other rows of a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import torch

from elicitation.models.base import Answer, Request, end_of_lines, first_lines
from elicitation.models.local.forward import ReadingMode, read_texts, require_numbers


@dataclass
class Row:
    """An answer on its way."""

    request: Request  # what is answered
    ends: frozenset[int]  # tokens that end an answer
    beginning: str = ""  # what the answer begins with before the first token is drawn
    # special tokens that open or close a thinking: decoding would leave them out of the answer
    tags: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Philox keyed by the seed: its stream is fixed by specification, on every machine and for
        # every batch.
        generator = np.random.Generator(np.random.Philox(key=self.request.seed))
        self.uniforms: Iterator[float] = iter(generator.random(self.request.max_new_tokens))
        self.tokens: list[int] = []
        self.logprob, self.done = 0.0, False
        # In the words of OpenAI's API; "stop" also where the lines asked for are complete.
        self.finish_reason = "stop"

    def add(self, token: int, logprob: float, tokenizer: Any) -> None:
        """Append a token, and see whether the answer is complete."""
        self.tokens.append(token)
        self.logprob += logprob
        if token in self.ends:
            self.done = True
            return
        if self.request.max_lines is not None:
            self.done = end_of_lines(self._text(tokenizer), self.request.max_lines) is not None
        if not self.done and len(self.tokens) >= self.request.max_new_tokens:
            self.done, self.finish_reason = True, "length"

    def _text(self, tokenizer: Any) -> str:
        # Always the whole answer: a character may take several tokens, and spaces depend on what
        # came before.
        drawn = [token for token in self.tokens if token not in self.ends]
        pieces = [self.beginning]
        for is_tag, run in groupby(drawn, self.tags.__contains__):
            tokens = list(run)
            pieces += (
                [self.tags[token] for token in tokens]
                if is_tag
                else [
                    tokenizer.decode(
                        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
                    )
                ]
            )
        return "".join(pieces)

    def answer(self, tokenizer: Any) -> Answer:
        """Return the answer as it stands."""
        text = first_lines(self._text(tokenizer), self.request.max_lines)
        return Answer(text, self.logprob, len(self.tokens), self.finish_reason)


def draw_tokens(logits: torch.Tensor, rows: list[Row]) -> tuple[list[int], list[float]]:
    """Draw a token per row, each at its own temperature and from its own uniform number."""
    # In double precision a draw is the same whatever the order of summation was.
    scores = logits.double()
    tokens = scores.argmax(-1)
    if any(row.request.temperature > 0 for row in rows):
        temperature = scores.new_tensor([row.request.temperature for row in rows])
        uniform = scores.new_tensor([next(row.uniforms) for row in rows])
        # Rows at temperature 0 take the greedy token below; the clamp keeps theirs finite.
        cumulative = (scores / temperature.clamp(min=1e-6)[:, None]).softmax(-1).cumsum(-1)
        # The last sum is 1 up to rounding; scaled to it, no uniform number lies beyond the last
        # token. A uniform number on a step belongs to the token after it, which has mass.
        level = (uniform * cumulative[:, -1])[:, None]
        drawn = torch.searchsorted(cumulative, level, right=True).squeeze(-1)
        tokens = torch.where(temperature > 0, drawn.clamp(max=scores.shape[-1] - 1), tokens)
    logprobs = scores.log_softmax(-1).gather(-1, tokens[:, None]).squeeze(-1)
    require_numbers(logprobs)
    return tokens.tolist(), logprobs.tolist()


def generate_batch(
    network: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    rows: list[Row],
    reading: ReadingMode,
) -> list[Answer]:
    """Draw the answers of a batch."""
    length = max(map(len, prompts))
    read = read_texts(network, prompts, reading.within(length))
    active = list(range(len(rows)))
    while True:
        tokens, logprobs = draw_tokens(read.logits, [rows[i] for i in active])
        for i, token, logprob in zip(active, tokens, logprobs, strict=True):
            rows[i].add(token, logprob, tokenizer)
        # Rows that are done leave the batch, so that one long answer does not hold the others'
        # memory and time.
        keep = [k for k, i in enumerate(active) if not rows[i].done]
        if not keep:
            return [row.answer(tokenizer) for row in rows]
        if len(keep) < len(active):
            read.keep(keep)
        active = [active[k] for k in keep]
        length += 1
        if reading.within(length) == reading.within(length - 1):
            read.step([tokens[k] for k in keep])
        else:  # from here on every text is read otherwise, from its beginning
            texts = [[*prompts[i], *rows[i].tokens] for i in active]
            read = read_texts(network, texts, reading.within(length))
