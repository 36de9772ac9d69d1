"""Repetitions of a question, and the action that stands beside a belief.

An answer is known by task, model, context and repetition. Nothing is dropped: an action whose
belief was not asked keeps a row of its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from coherence.decoding.decode import worst
from coherence.errors import InputError
from coherence.importing.cells import as_number

_REFERENCE = "standard"
_MISSING = (None, "")  # tables write what is missing as an empty cell
_Key = tuple[str, str, str, int]


def number_repetitions(rows: list[dict[str, object]], *, counted: bool) -> None:
    """Fill in the repetition of rows that have a context."""
    seen: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        if row.get("context") in _MISSING:
            continue
        question = tuple(
            row.get(name) for name in ("task", "model", "prompt", "context", "z", "z_state")
        )
        if counted or row.get("rep") is None:
            row["rep"] = seen[question]
        seen[question] += 1


def _key(row: Mapping[str, object]) -> _Key:
    rep, context = row.get("rep"), row.get("context")
    number = as_number(rep)
    # Repetitions are counted; a fraction is some other field, taken for them.
    if number is None or number % 1:
        raise InputError(
            f"rep must be a whole number; received {rep!r} in context {context!r}. "
            "Map another field to rep."
        )
    return (str(row.get("task")), str(row.get("model")), str(context), int(number))


def refuse_doubles(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> None:
    """Raise if an answer occurs twice."""
    counts = Counter(
        (tuple(row.get(name) for name in names), _key(row))
        for row in rows
        if row.get("context") not in _MISSING
    )
    twice = [key for (_, key), count in counts.items() if count > 1]
    if twice:
        _, model, context, rep = twice[0]
        raise InputError(
            f"{len(twice)} answers occur more than once, the first is context {context!r}, "
            f"repetition {rep}, model {model!r}. Leave out the file that repeats them, or import "
            "models that the logs do not name one by one, each with --model."
        )


def _asks_for_action(row: Mapping[str, object], reference: object) -> bool:
    return row.get("prompt") == reference and row.get("z") in _MISSING


def join_actions(
    beliefs: list[dict[str, object]], actions: list[dict[str, object]]
) -> tuple[list[dict[str, object]], list[str]]:
    """Put actions onto the belief rows of the reference wording."""
    prompts = list(dict.fromkeys(row.get("prompt") for row in beliefs))
    reference = _REFERENCE if _REFERENCE in prompts else prompts[0]
    if any(row.get("context") in _MISSING for row in (*beliefs, *actions)):
        raise InputError(
            "beliefs and actions are joined by their samples, and some answers have no context. "
            "Map one in both: --map context=FIELD."
        )
    # What is left here after the loop found no belief.
    waiting = {_key(row): row for row in actions}
    joined, alone = [], []
    for row in beliefs:
        # Other wordings and rows given z ask for the belief alone.
        asks = _asks_for_action(row, reference)
        partner = waiting.pop(_key(row), None) if asks else None
        if partner is not None:
            # Where both logs have a column, the belief log's value stands unless it is missing.
            stated = {column: value for column, value in row.items() if value is not None}
            status = worst([str(partner["status"]), str(row["status"])])
            row = {**partner, **stated, "status": status}
        elif asks:
            alone.append(_key(row))
        joined.append(row)
    # A belief that is missing cannot be read either; a row of its own keeps the action.
    joined += [
        {**row, "prompt": reference, "status": worst(["unparsed", str(row["status"])])}
        for row in waiting.values()
    ]
    lines = [
        f"{what} ({len(keys)}): {_listed(keys)}"
        for keys, what in (
            (alone, "beliefs without an action"),
            (list(waiting), "actions without a belief, each a row that is at best unparsed"),
        )
        if keys
    ]
    # Nothing joined at all is a wrong key, not a study with holes.
    if len(waiting) == len(actions):
        raise InputError(
            f"no answer of the action log belongs to one of the belief log. {'; '.join(lines)}. "
            "Map what they share: --map context=FIELD."
        )
    return joined, lines


def _listed(keys: Sequence[_Key]) -> str:
    shown = ", ".join(f"{context} repetition {rep}" for *_, context, rep in keys[:5])
    return shown + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
