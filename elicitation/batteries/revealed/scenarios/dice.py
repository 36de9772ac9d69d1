"""Dice: the sum of fair dice, alone, after earlier rolls, or with something known about it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from coherence.errors import InputError
from elicitation.batteries.revealed.scenarios.setting import (
    REFERENCE,
    Decomposition,
    Setting,
    Wording,
    condition_truth,
    in_words,
    listed,
    tell_all,
)

ONE_DIE = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "A die has {faces} faces, numbered from 1 to {faces}. Each face is equally likely "
                "to come up."
            ),
            "roll": "The die is rolled.",
            "seen": "Somebody looks at it and says that the result is {facts}.",
            "end": "The result is the number",
            "before": "The die was rolled before, and the result was {result}.",
            "again": "Earlier rolls have no influence on later ones. The die is rolled again.",
            "end again": "The new result is the number",
            "added": "The die is rolled again, and the results of all rolls are added.",
            "end added": "The total is the number",
        },
    ),
    Wording(
        "story",
        {
            "setup": "Mia has a fair die whose {faces} sides carry the numbers 1 to {faces}.",
            "roll": "She throws it.",
            "seen": "She covers it with her hand and only tells us that its number is {facts}.",
            "end": "When we look, the die shows the number",
            "before": "Her last throw gave {result}.",
            "again": "A die has no memory. She throws it once more.",
            "end again": "This time it shows the number",
            "added": "She throws it once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "Fair die, faces 1 to {faces}",
            "roll": "Rolls: one",
            "seen": "Known about the result: {facts}",
            "end": "Result:",
            "before": "Previous result: {result}",
            "again": "Rolls do not influence each other",
            "end again": "Next result:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)
SEVERAL_DICE = (
    Wording(
        REFERENCE,
        {
            "setup": (
                "There are {n} dice. Each die has {faces} faces, numbered from 1 to {faces}, and "
                "each face is equally likely to come up."
            ),
            "roll": "All dice are rolled, and their numbers are added.",
            "seen": "Somebody looks at them and says that the sum is {facts}.",
            "end": "The sum is the number",
            "before": "All dice were rolled before, and the sum was {result}.",
            "again": "Earlier rolls have no influence on later ones. All dice are rolled again.",
            "end again": "The new sum is the number",
            "added": "All dice are rolled again, and the sums of all rolls are added.",
            "end added": "The total is the number",
            "one by one": "The dice are rolled one after the other.",
            "end first": "The first die shows the number",
            "first": (
                "The first die shows {first}. The other dice are rolled too, and the numbers of "
                "all dice are added."
            ),
        },
    ),
    Wording(
        "story",
        {
            "setup": (
                "Mia has {n} fair dice. The {faces} sides of each carry the numbers 1 to {faces}."
            ),
            "roll": "She throws them all and counts the points together.",
            "seen": (
                "She covers them with her hands and only tells us that the points together are "
                "{facts}."
            ),
            "end": "Together the dice show the number",
            "before": "Her last throw of all the dice came to {result}.",
            "again": "Dice have no memory. She throws them all once more.",
            "end again": "This time they come to the number",
            "added": "She throws them all once more and adds this to what she had.",
            "end added": "Altogether she now has the number",
        },
    ),
    Wording(
        "record",
        {
            "setup": "{n} fair dice, faces 1 to {faces} on each, the sum counts",
            "roll": "Rolls: one",
            "seen": "Known about the sum: {facts}",
            "end": "Sum:",
            "before": "Previous sum: {result}",
            "again": "Rolls do not influence each other",
            "end again": "Next sum:",
            "added": "Rolls do not influence each other",
            "end added": "Total of all rolls, the next one included:",
        },
        "\n",
    ),
)


OBSERVATIONS = ("smaller", "larger", "even", "odd", "not first", "not middle")
MOST_FACES = 100
MOST_DICE = 20
"""Settings, and the outcomes of each, grow with the faces: a grid of more would take minutes to lay
out and days to ask."""
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
    if not 1 <= n <= MOST_DICE or not 2 <= faces <= MOST_FACES:
        raise InputError(
            f"dice must be from 1 to {MOST_DICE} and faces from 2 to {MOST_FACES}; received {n} "
            f"and {faces}."
        )
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


def agrees(total: int, observation: str, *, first: int, middle: int) -> bool:
    """Return whether a sum agrees with an observation."""
    if observation not in OBSERVATIONS:
        raise InputError(
            f"observation must be one of {', '.join(OBSERVATIONS)}; received {observation!r}."
        )
    return {
        "smaller": total <= middle,
        "larger": total > middle,
        "even": total % 2 == 0,
        "odd": total % 2 == 1,
        "not first": total != first,
        "not middle": total != middle,
    }[observation]


def setting(n: int, faces: int, previous: int | None = None, *, dependent: bool = False) -> Setting:
    """Return the setting of one roll of `n` dice.

    After an earlier roll its sum is added where the two are `dependent`.
    """
    sums = sum_of_dice(n, faces)
    if previous is None:
        return _told(n, faces, "single", ("setup", "roll"), "end", in_words(sums))
    if previous not in sums:
        raise InputError(f"previous must be a sum from {n} to {n * faces}; received {previous!r}.")
    shift = previous if dependent else 0
    variant, how = ("dependent", "added") if dependent else ("independent", "again")
    parts, truth = ("setup", "before", how), in_words(sums, shift)
    earlier: dict[str, Any] = {"previous": str(previous), "result": previous, "shift": shift}
    return _told(n, faces, variant, parts, f"end {how}", truth, **earlier)


def observed(n: int, faces: int, observations: Sequence[str]) -> Setting:
    """Return the setting of one roll of which something is known."""
    if not observations:
        raise InputError("observations must name at least one; received none. Use setting instead.")
    first, centre = n, middle(n, faces)
    sums = sum_of_dice(n, faces)
    holds = _holds(n, faces, observations)
    phrases = {
        "smaller": f"at most {centre}",
        "larger": f"more than {centre}",
        "even": "even",
        "odd": "odd",
        "not first": f"not {first}",
        "not middle": f"not {centre}",
    }
    # More than two share a row of the summary: the grid has none, a caller may.
    variant = {1: "observation", 2: "two observations"}.get(len(observations), "more observations")
    return _told(
        n,
        faces,
        variant,
        ("setup", "roll", "seen"),
        "end",
        in_words(condition_truth(sums, holds)),
        facts=listed([phrases[fact] for fact in observations]),
        observation=", ".join(observations),
    )


def _holds(n: int, faces: int, observations: Sequence[str]) -> dict[int, bool]:
    """Tell for each sum whether all observations agree with it."""
    centre = middle(n, faces)
    return {
        total: all(agrees(total, fact, first=n, middle=centre) for fact in observations)
        for total in sum_of_dice(n, faces)
    }


def decompose(n: int, faces: int) -> Decomposition:
    """Take one roll of two or more dice apart by the first die."""
    if n < 2:
        raise InputError(f"dice must be at least 2 to be taken apart by the first; received {n}.")
    part = _told(
        n, faces, "first", ("setup", "one by one"), "end first", in_words(sum_of_dice(1, faces))
    )
    rest = sum_of_dice(n - 1, faces)
    given_face = {}
    for face in range(1, faces + 1):
        # All sums of n dice, as in the whole, though some cannot come any more.
        truth = {str(total): rest.get(total - face, Fraction(0)) for total in sum_of_dice(n, faces)}
        given_face[str(face)] = _told(
            n, faces, "given first", ("setup", "one by one", "first"), "end", truth, first=face
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
    previous: str = "",
    shift: int = 0,
    **values: object,
) -> Setting:
    wordings = ONE_DIE if n == 1 else SEVERAL_DICE
    dice = "1 die" if n == 1 else f"{n} dice"
    kind = f"{dice} of {faces} faces"
    details = [observation] if observation else []
    if previous:
        details = [f"after {previous}"]
    elif "first" in values:
        details = [f"given {values['first']}"]
    result = "result" if n == 1 else "sum"
    claims = {
        "end": f"the {result} is {{}}",
        "end again": f"the new {result} is {{}}",
        "end added": "the total is {}",
        "end first": "the first die shows {}",
    }
    values |= {"n": n, "faces": faces}
    return Setting(
        scenario="dice",
        variant=variant,
        group=f"{dice}, {observation or variant}",
        name="/".join(["dice", variant, kind, *details]),
        parameters={
            "n": str(n),
            "faces": str(faces),
            "observation": observation,
            "previous": previous,
        },
        truth=truth,
        texts=tell_all(wordings, (*parts, end), values),
        story=wordings[0].tell(parts, values),
        claim=claims[end],
        previous=previous,
        shift=shift,
        baseline=f"dice/single/{kind}" if previous else "",
    )
