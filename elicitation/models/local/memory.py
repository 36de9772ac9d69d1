"""Work in portions that fit into memory: their size is learnt, and halved where it is too large.

accelerate's `find_executable_batch_size` does the same for a training that is begun once: it starts
from the beginning after a failure, forgets what it learnt with the next call, and collects garbage
before each, which takes as long as a question on a processor.
"""

import gc
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from coherence.errors import CoherenceError, InputError

Result = TypeVar("Result")

# On a processor larger portions gain nothing; on an accelerator the size doubles from here until
# memory says no.
_START, _MOST = 16_384, 1 << 22


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory did not suffice."""
    text = str(error)
    # On a processor torch says so in a plain RuntimeError.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in text or "out of memory" in text)
    )


class Portions:
    """The size of a portion of work, learnt from what happened so far.

    None rows leave it to memory.

    Portions that may grow do so while memory suffices.
    """

    def __init__(self, most_rows: int | None, *, grows: bool) -> None:
        if most_rows is not None and most_rows < 1:
            raise InputError(f"batch_size must be positive or None; received {most_rows}.")
        self.most_rows, self.grows = most_rows, grows
        self.cells = _START
        """Tokens in a portion, padding included."""

    def results(
        self,
        sizes: Sequence[int],
        do: Callable[[list[int]], Sequence[Result]],
        *,
        order: Sequence[int] | None = None,
        most_cells: int | None = None,
    ) -> list[Result]:
        """Return the result of every item, worked out portion by portion without gradients.

        The largest come first, or in `order` if their neighbours belong together.
        """
        results: dict[int, Result] = {}
        left = sorted(range(len(sizes)), key=lambda i: -sizes[i]) if order is None else list(order)
        while left:
            width = max(1, sizes[left[0]] if order is None else max(sizes[i] for i in left))
            cells = min(self.cells, most_cells or self.cells)
            rows = left[: min(max(1, cells // width), self.most_rows or len(left))]
            try:
                with torch.inference_mode():
                    results.update(zip(rows, do(rows), strict=True))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                left = left[len(rows) :]
                # Only a portion that used most of the size says that a larger one may fit.
                if self.grows and len(rows) * width > self.cells // 2:
                    self.cells = min(2 * self.cells, _MOST)
                continue
            # Outside the handler, where the failed call's tensors are no longer referred to.
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if len(rows) == 1:
                raise CoherenceError(
                    f"memory does not suffice for a single text of {width} tokens. "
                    "Use a smaller model, dtype or text."
                )
            # From here on no portion is larger than half of what failed.
            self.grows, self.cells = False, max(1, len(rows) * width // 2)
        return [results[i] for i in range(len(sizes))]
