"""What a short list of likely tokens says about labels: bounds, because the list has an end.

A server names the k most likely next tokens. A label whose spellings are not among them has an
unknown probability, not zero: it lies between zero and what the list leaves over. The same holds
for a token that begins a label and may go on otherwise. So every label gets a lower and an upper
bound, and the share of one label among all, which is what a revealed belief is, gets bounds that
follow from them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from coherence.errors import InputError

# Marks that tokenizers put in place of a leading space, where a server shows tokens in their raw
# spelling.
_SPACES = " \t\r\n\u0120\u2581\u010a"


@dataclass(frozen=True)
class LabelBounds:
    """Bounds on the probabilities that the next token is a spelling of each label.

    They are per label, in [0, 1], and not renormalised.
    """

    labels: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def share(self, label: str) -> tuple[float, float]:
        """Return bounds on a label's share among all; (0, 1) where nothing is known."""
        if label not in self.labels:
            raise InputError(f"label must be one of {', '.join(self.labels)}; received {label!r}.")
        i = self.labels.index(label)
        rest_low, rest_high = (
            math.fsum(bound[:i] + bound[i + 1 :]) for bound in (self.lower, self.upper)
        )
        # Tokens outside the list can be given away once, not to every other label.
        rest_high = min(rest_high, 1.0 - self.lower[i])
        # The least share: its own lower bound beside the most that all others can have.
        low = self.lower[i] / (self.lower[i] + rest_high) if self.lower[i] > 0 else 0.0
        high = self.upper[i] / (self.upper[i] + rest_low) if rest_low > 0 else 1.0
        return low, high


def bound_labels(likely: Mapping[str, float], labels: Sequence[str]) -> LabelBounds:
    """Bound the probabilities of labels by a list of likely tokens."""
    check_labels(labels)
    folded = [label.casefold() for label in labels]
    lower, upper = [0.0] * len(labels), [0.0] * len(labels)
    # Summed without rounding: what is left over is a small difference from 1.
    total = math.fsum(likely.values())
    for token, listed in likely.items():
        # A server in half precision may exceed 1 by rounding.
        probability = listed / max(total, 1.0)
        word = token.strip(_SPACES).casefold()
        # "Yes." and "Yes," are the label; "Yesterday" is another word.
        spelt = [
            i
            for i, label in enumerate(folded)
            if word.startswith(label) and not word[len(label) : len(label) + 1].isalnum()
        ]
        # Part of a character may begin any label that is not ASCII.
        begun = [
            i
            for i, label in enumerate(folded)
            if label.startswith(word) or (_broken(word) and not label.isascii())
        ]
        # A token that begins a label may go on to it or to something else: it counts above alone.
        for i in spelt or begun:
            upper[i] += probability
        for i in spelt:
            lower[i] += probability
    remaining = max(1.0 - total, 0.0)
    return LabelBounds(
        tuple(labels),
        tuple(lower),
        tuple(min(value + remaining, 1.0) for value in upper),
    )


def check_labels(labels: Sequence[str]) -> None:
    """Refuse labels that the first token of an answer cannot tell apart."""
    if len(labels) < 2 or any(not label or label != label.strip() for label in labels):
        raise InputError(
            "labels must be two or more words without white space at their ends; "
            f"received {list(labels)}."
        )
    # In both directions: the first token cannot tell "No" from "Not sure" either way round.
    for label, other in permutations(labels, 2):
        if other.casefold().startswith(label.casefold()):
            raise InputError(
                f"labels must not begin with each other; {label!r} does, in {list(labels)}. "
                "Number the labels instead."
            )


def _broken(word: str) -> bool:
    """Whether a token is part of a character: only its bytes are shown."""
    return "\ufffd" in word or word.startswith(("bytes:", "<0x"))
