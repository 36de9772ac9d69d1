"""Which label of the realised state is theta = 1: the one whose probability p is."""

from collections.abc import Sequence

from coherence.errors import InputError, closest
from coherence.table.states import KNOWN_PAIRS, folded

_KNOWN = {label: code for pair in KNOWN_PAIRS for code, label in enumerate(pair)}


def positive_state(states: Sequence[str], positive: str | None) -> str | None:
    """Return the state whose probability p is."""
    if positive is not None:
        named = [state for state in states if folded(state) == folded(positive)]
        if not named:
            raise InputError(
                f"positive must be one of the states that were scored; received {positive!r}. "
                f"{closest(positive, states)}"
            )
        return named[0]
    # Yes alone, or against one other: of three, the belief in Yes would leave two unsaid.
    likely = [state for state in states if _KNOWN.get(folded(state)) == 1]
    return likely[0] if len(likely) == 1 and len(states) <= 2 else None


def as_zero_or_one(labels: Sequence[object], positive: str | None) -> list[int | None]:
    """Turn labels of the realised state into 1 for the positive one and 0 for the others."""
    seen = list(dict.fromkeys(str(label) for label in labels if label is not None))
    # A label that never occurs is a slip of the pen; all states would be 0.
    if positive is not None:
        if seen and folded(positive) not in map(folded, seen):
            raise InputError(
                f"positive must be a state that occurs; received {positive!r}. "
                f"{closest(positive, seen)}"
            )
        return [
            None if label is None else int(folded(label) == folded(positive)) for label in labels
        ]
    unknown = [label for label in seen if folded(label) not in _KNOWN]
    if unknown:
        listed = ", ".join([*(repr(label[:40]) for label in seen[:6]), *["..."] * (len(seen) > 6)])
        raise InputError(
            f"theta has the labels {listed}, and nothing says whose probability p is. "
            "Name that label (--positive LABEL), or map another field to theta."
        )
    return [None if label is None else _KNOWN[folded(label)] for label in labels]
