"""Dice: the sum of fair dice, alone, after earlier rolls, or with something known about it."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from elicitation.batteries.revealed.scenarios.setting import (
    Decomposition,
    Setting,
    after,
    condition_truth,
    in_words,
    listed,
    told,
)

# What may be known of a sum: in words, and of which sums, given the first and the middle one.
OBSERVATIONS: dict[str, tuple[str, Callable[[int, int, int], bool]]] = {
    "smaller": ("at most {middle}", lambda total, first, middle: total <= middle),
    "larger": ("more than {middle}", lambda total, first, middle: total > middle),
    "even": ("even", lambda total, first, middle: total % 2 == 0),
    "odd": ("odd", lambda total, first, middle: total % 2 == 1),
    "not first": ("not {first}", lambda total, first, middle: total != first),
    "not middle": ("not {middle}", lambda total, first, middle: total != middle),
}
PAIRS = (
    *(
        (size, other)
        for size in ("smaller", "larger")
        for other in ("even", "odd", "not first", "not middle")
    ),
    ("even", "not first"),
    ("even", "not middle"),
)


def sum_of_dice(n: int, faces: int) -> dict[int, Fraction]:
    """Return the distribution of the sum of fair dice, by convolution."""
    counts = {0: 1}  # ways in which each sum comes about, before any die
    for _ in range(n):
        longer: dict[int, int] = {}
        for total, ways in counts.items():
            for face in range(1, faces + 1):
                longer[total + face] = longer.get(total + face, 0) + ways
        counts = longer
    return {total: Fraction(ways, faces**n) for total, ways in counts.items()}


def middle(n: int, faces: int) -> int:
    """Return the middle of the possible sums, rounded down; "larger" is above it."""
    return (n + n * faces) // 2


def setting(n: int, faces: int, previous: int | None = None, *, dependent: bool = False) -> Setting:
    """Return the setting of one roll of `n` dice.

    After an earlier roll its sum is added where the two are `dependent`.
    """
    sums = sum_of_dice(n, faces)
    if previous is None:
        return _told(n, faces, "single", ("setup", "roll"), "end", in_words(sums))
    return _told(n, faces, **after(sums, previous, dependent=dependent))


def observed(n: int, faces: int, observations: Sequence[str]) -> Setting:
    """Return the setting of one roll of which something is known."""
    bounds = {"first": n, "middle": middle(n, faces)}
    variant = "observation" if len(observations) == 1 else "two observations"
    return _told(
        n,
        faces,
        variant,
        ("setup", "roll", "seen"),
        "end",
        in_words(condition_truth(sum_of_dice(n, faces), _holds(n, faces, observations))),
        facts=listed([OBSERVATIONS[fact][0].format(**bounds) for fact in observations]),
        observation=", ".join(observations),
    )


def _holds(n: int, faces: int, observations: Sequence[str]) -> dict[int, bool]:
    """Tell for each sum whether all observations agree with it."""
    centre = middle(n, faces)
    return {
        total: all(OBSERVATIONS[fact][1](total, n, centre) for fact in observations)
        for total in sum_of_dice(n, faces)
    }


def decompose(n: int, faces: int) -> Decomposition:
    """Take one roll of two or more dice apart by the first die."""
    part = _told(
        n, faces, "first", ("setup", "one by one"), "end first", in_words(sum_of_dice(1, faces))
    )
    rest = sum_of_dice(n - 1, faces)
    given_face = {}
    for face in range(1, faces + 1):
        # All sums of n dice, as in the whole, though some cannot come any more.
        truth = {str(total): rest.get(total - face, Fraction(0)) for total in sum_of_dice(n, faces)}
        given_face[str(face)] = _told(
            n, faces, "given first", ("setup", "one by one", "first"), "end", truth, first=str(face)
        )
    return Decomposition(setting(n, faces), f"first die of {faces} faces", part, given_face)


def grid(n_dice: Sequence[int], faces: Sequence[int]) -> list[Setting]:
    """Return all variants of dice: every previous result, observation and pair of `PAIRS`.

    Of dice with two or three faces some pairs rule out every sum, and the smallest may be the one
    in the middle; such observations are left out.
    """
    known = [*((fact,) for fact in OBSERVATIONS), *PAIRS]
    settings = []
    for n in n_dice:
        for f in faces:
            settings.append(setting(n, f))
            settings += [
                setting(n, f, result, dependent=dependent)
                for dependent in (False, True)
                for result in sum_of_dice(n, f)
            ]
            settings += [
                observed(n, f, observations)
                for observations in known
                if any(_holds(n, f, observations).values())
                # It would be the observation "not first" a second time, word for word.
                and not ("not middle" in observations and middle(n, f) == n)
            ]
    return settings


def _told(
    n: int,
    faces: int,
    variant: str,
    parts: tuple[str, ...],
    end: str,
    truth: dict[str, Fraction],
    *,
    observation: str = "",
    facts: str = "",
    first: str = "",
    previous: str = "",
    shift: int = 0,
) -> Setting:
    dice = "1 die" if n == 1 else f"{n} dice"
    result = "result" if n == 1 else "sum"
    claims = {
        "end": f"the {result} is {{}}",
        "end again": f"the new {result} is {{}}",
        "end added": "the total is {}",
        "end first": "the first die shows {}",
    }
    return told(
        "dice",
        variant,
        f"{dice} of {faces} faces",
        f"{dice}, {observation or variant}",
        wordings="one die" if n == 1 else "several dice",
        parts=parts,
        end=end,
        values={"n": n, "faces": faces, "facts": facts, "first": first, "result": previous},
        truth=truth,
        claim=claims[end],
        details=f"given {first}" if first else observation,
        previous=previous,
        shift=shift,
        n=str(n),
        faces=str(faces),
        observation=observation,
    )
